/* SPDX-License-Identifier: BSD-2-Clause */
/* Payloads that stay where they are: which are lent, what becomes of one that is not to be had, and
 * that a program gets back nothing that somebody may still read. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"
#include "transport/hca/loan.h"

#include <string.h>

enum {
	TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
	TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
		 HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
	TO_RTS = HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
		 HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC,
	MTU = 2048,
	LENGTH = 3 * MTU,
	RIGHTS = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ,
};

/* One end; both are in this process, so that what is lent is at hand. */
struct end {
	struct hca_lender lender;
	struct hca_device *dev;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_qp *qp;
	struct hca_mr *mr;
	uint8_t bytes[LENGTH];
	uint32_t wc_count, pull_count, pulls_refused, revoked_at; /* at: completions until then */
	uint32_t at_hand_count;
	enum hca_wc_status status;
	bool was_revoked, has_all;
};
static struct end ends[2];
static uint32_t apart_count, packet_count;

static void on_wc(void *world, struct hca_cq *of, const struct hca_wc *wc, ps_t now)
{
	struct end *end = world;

	(void)of, (void)now;
	end->wc_count++;
	end->status = wc->status;
}

static const struct hca_observer observer = {on_wc, unheard_cq_event, unheard_place, unheard_async};

static bool on_pull(struct hca_lender *lender, uint64_t address, uint8_t *to, uint32_t length,
		    uint8_t *tail)
{
	struct end *end = container_of(lender, struct end, lender);

	if (end->pulls_refused > 0) {
		end->pulls_refused--;
		return false;
	}
	end->pull_count++;
	memcpy(to, hca_mem_host_at(address), length);
	memcpy(tail, hca_mem_host_at(address) + length, HCA_LOAN_TAIL);
	return true;
}

static const uint8_t *on_at_hand(struct hca_lender *lender, uint64_t address, uint32_t length)
{
	struct end *end = container_of(lender, struct end, lender);

	(void)length;
	if (!end->has_all)
		return NULL;
	end->at_hand_count++;
	return hca_mem_host_at(address);
}

static void on_revoke(struct hca_lender *lender, const struct wire_path *path, uint32_t dest_qpn)
{
	struct end *end = container_of(lender, struct end, lender);

	(void)path, (void)dest_qpn;
	end->was_revoked = true;
	end->revoked_at = end->wc_count;
}

static void open_end(struct end *end, uint32_t qpn)
{
	const struct hca_device_params params = {.key = {qpn, 7},
						 .observer = &observer,
						 .lender = &end->lender,
						 .world = end,
						 .profile = {.line_rate_bps = 100000000000u,
							     .mtu_max = MTU,
							     .psn_window = 64,
							     .ack_every = 64,
							     .cc = &cc_none,
							     .qp_max = 8,
							     .cq_max = 4,
							     .mr_max = 8,
							     .pd_max = 2,
							     .wr_max = 16,
							     .sge_max = 4,
							     .cqe_max = 64,
							     .inline_max = 64,
							     .rd_atomic_max = 4}};
	struct hca_mr_params region = {.ops = &hca_mem_program,
				       .iova = (uintptr_t)end->bytes,
				       .length = LENGTH,
				       .access = RIGHTS,
				       .address = (uintptr_t)end->bytes};
	struct hca_qp_init init = {
		.type = HCA_QPT_RC, .cap = {8, 8, 4, 4, 64}, .signal_all = true, .qpn = qpn};
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT,
				   .access = RIGHTS,
				   .mtu = MTU,
				   .dest_qpn = 0x33 - qpn,
				   .sq_psn = 100,
				   .rq_psn = 100,
				   .timeout = 4,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 4,
				   .max_dest_rd_atomic = 4,
				   .port = 1};

	*end = (struct end){.lender = {.lends = true,
				       .pull = on_pull,
				       .at_hand = on_at_hand,
				       .revoke = on_revoke}};
	end->dev = hca_device_create(&params);
	assert_non_null(end->dev);
	assert_int_equal(hca_pd_create(end->dev, &end->pd), 0);
	assert_int_equal(hca_cq_create(end->dev, 32, NULL, &end->cq), 0);
	assert_int_equal(hca_mr_create(end->dev, end->pd, &region, &end->mr), 0);
	init.pd = end->pd;
	init.send_cq = init.recv_cq = end->cq;
	assert_int_equal(hca_qp_create(end->dev, &init, &end->qp), 0);
	assert_int_equal(hca_qp_modify(end->dev, end->qp, &attr, TO_INIT, 0), 0);
	attr.state = HCA_QPS_RTR;
	assert_int_equal(hca_qp_modify(end->dev, end->qp, &attr, TO_RTR, 0), 0);
	attr.state = HCA_QPS_RTS;
	assert_int_equal(hca_qp_modify(end->dev, end->qp, &attr, TO_RTS, 0), 0);
}

static int setup(void **state)
{
	(void)state;
	apart_count = packet_count = 0;
	open_end(&ends[0], 0x11);
	open_end(&ends[1], 0x22);
	for (uint32_t i = 0; i < LENGTH; i++)
		ends[0].bytes[i] = (uint8_t)(i * 13 + i / 256);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(ends[0].dev);
	hca_device_destroy(ends[1].dev);
	return 0;
}

/* Packets go to and fro until there are none. */
static void run(ps_t now)
{
	static uint8_t room[WIRE_MTU_MAX];
	const struct hca_rx rx = {.ecn = 0};
	bool moved = true;

	while (moved) {
		moved = false;
		for (int i = 0; i < 2; i++) {
			struct wire_pkt pkt = {.payload = room};
			struct hca_tx tx;

			if (!hca_output(ends[i].dev, 0xff, &pkt, &tx, now))
				continue;
			moved = true;
			packet_count++;
			apart_count += pkt.apart;
			hca_input(ends[!i].dev, &pkt, &rx, now);
		}
		now += PS_US;
	}
}

static void post(enum hca_wr_opcode opcode, uint32_t length, struct end *from, struct end *to)
{
	const struct hca_sge sge = {
		.addr = (uintptr_t)from->bytes, .length = length, .lkey = from->mr->lkey};
	const struct hca_send_wr wr = {.opcode = opcode,
				       .sge = &sge,
				       .sge_count = 1,
				       .remote_addr = (uintptr_t)to->bytes,
				       .rkey = to->mr->rkey};

	assert_int_equal(hca_qp_post_send(from->dev, from->qp, &wr, 0), 0);
}

static void assert_all_came(void)
{
	assert_memory_equal(ends[0].bytes, ends[1].bytes, LENGTH);
}

static void test_a_write_is_lent(void **state)
{
	(void)state;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	run(0);
	assert_int_equal(apart_count, 3);
	assert_int_equal(ends[1].pull_count, 3);
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
}

static void test_what_is_at_hand_is_not_asked_for(void **state)
{
	(void)state;
	ends[1].has_all = true;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	run(0);
	assert_int_equal(apart_count, 3);
	assert_int_equal(ends[1].pull_count, 0);
	assert_int_equal(ends[1].at_hand_count, 3);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
}

static void test_a_read_is_lent(void **state)
{
	(void)state;
	post(HCA_WR_RDMA_READ, LENGTH, &ends[1], &ends[0]);
	run(0);
	assert_int_equal(apart_count, 3);
	assert_int_equal(ends[1].status, HCA_WC_SUCCESS);
	assert_all_came();
}

static void test_what_is_short_or_for_others_is_not(void **state)
{
	(void)state;
	post(HCA_WR_RDMA_WRITE, HCA_LOAN_LEAST - 1, &ends[0], &ends[1]);
	run(0);
	ends[0].lender.lends = false;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	run(PS_MS);
	assert_int_equal(apart_count, 0);
	assert_int_equal(ends[0].wc_count, 2);
	assert_all_came();
}

/* Refused twice: into the memory, and beside it. The packet is as if it were lost, and its bytes go
 * with it the second time. */
static void test_what_is_not_to_be_had_comes_as_bytes(void **state)
{
	(void)state;
	ends[1].pulls_refused = 2;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	run(0);
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
	assert_in_range(apart_count, 1, 3);
	assert_int_equal(hca_device_counters(ends[0].dev)->packet_seq_err, 1);
}

static void test_answers_that_are_not_to_be_had_come_as_bytes(void **state)
{
	(void)state;
	ends[1].pulls_refused = 2;
	post(HCA_WR_RDMA_READ, LENGTH, &ends[1], &ends[0]);
	run(0);
	assert_int_equal(ends[1].wc_count, 1);
	assert_int_equal(ends[1].status, HCA_WC_SUCCESS);
	assert_all_came();
}

/* A key that is wrong is found before anything is read. */
static void test_checks_come_first(void **state)
{
	(void)state;
	ends[1].mr->rkey ^= 1;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	run(0);
	assert_int_equal(ends[1].pull_count, 0);
	assert_int_equal(ends[0].status, HCA_WC_REM_ACCESS_ERR);
}

static void test_nothing_is_given_back_before_it_is_revoked(void **state)
{
	const struct hca_qp_attr attr = {.state = HCA_QPS_ERR};

	(void)state;
	post(HCA_WR_RDMA_WRITE, LENGTH, &ends[0], &ends[1]);
	ends[0].was_revoked = false;
	assert_int_equal(hca_qp_modify(ends[0].dev, ends[0].qp, &attr, HCA_QP_STATE, 0), 0);
	assert_int_equal(ends[0].wc_count, 1);
	assert_true(ends[0].was_revoked);
	assert_int_equal(ends[0].revoked_at, 0);
	ends[1].was_revoked = false;
	assert_int_equal(hca_mr_destroy(ends[1].dev, ends[1].mr), 0);
	assert_true(ends[1].was_revoked);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BOTH(test_a_write_is_lent),
		WITH_BOTH(test_what_is_at_hand_is_not_asked_for),
		WITH_BOTH(test_a_read_is_lent),
		WITH_BOTH(test_what_is_short_or_for_others_is_not),
		WITH_BOTH(test_what_is_not_to_be_had_comes_as_bytes),
		WITH_BOTH(test_answers_that_are_not_to_be_had_come_as_bytes),
		WITH_BOTH(test_checks_come_first),
		WITH_BOTH(test_nothing_is_given_back_before_it_is_revoked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
