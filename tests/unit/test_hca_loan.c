/* SPDX-License-Identifier: BSD-2-Clause */
/* Payloads that stay where they are: which are lent, what becomes of one that is not to be had, and
 * that a program gets back nothing that somebody may still read. */
#include "tests/unit/hca_ends.h"

#include <string.h>

enum {
	MTU = 2048,
	LENGTH = 3 * MTU,
	PULLS = 8,
};

/* One end; both are in this process, so that what is lent is at hand. */
struct end {
	struct hca_lender lender;
	struct hca_end hca;
	uint8_t bytes[LENGTH];
	uint32_t wc_count, pull_count, pulls_refused, revoked_at; /* at: completions until then */
	uint32_t at_hand_count;
	enum hca_wc_status status;
	uint32_t follows[PULLS];
	bool was_revoked, has_all, is_in_place;
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
		    uint8_t *tail, uint32_t follows)
{
	struct end *end = container_of(lender, struct end, lender);

	end->follows[end->pull_count % PULLS] = follows;
	if (end->pulls_refused > 0) {
		end->pulls_refused--;
		return false;
	}
	end->pull_count++;
	memcpy(to, hca_mem_host_at(address), length);
	memcpy(tail, hca_mem_host_at(address) + length, HCA_LOAN_TAIL);
	return true;
}

static const uint8_t *on_at_hand(struct hca_lender *lender, uint64_t address, uint32_t length,
				 const uint8_t *to)
{
	struct end *end = container_of(lender, struct end, lender);

	if (!end->has_all)
		return NULL;
	end->at_hand_count++;
	if (!end->is_in_place)
		return hca_mem_host_at(address);
	memcpy(end->bytes + (to - end->bytes), hca_mem_host_at(address), length);
	return to;
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
	const struct hca_end_params params = {.observer = &observer,
					      .lender = &end->lender,
					      .world = end,
					      .qpn = qpn,
					      .bytes = end->bytes,
					      .length = sizeof(end->bytes),
					      .mtu = MTU,
					      .psn_window = 64,
					      .ack_every = 64,
					      .psn = 100};

	*end = (struct end){.lender = {.lends = true,
				       .pull = on_pull,
				       .at_hand = on_at_hand,
				       .revoke = on_revoke}};
	hca_end_open(&end->hca, &params);
}

static int setup(void **state)
{
	(void)state;
	apart_count = packet_count = 0;
	open_end(&ends[0], HCA_END_QPN);
	open_end(&ends[1], HCA_END_OTHER_QPN);
	for (uint32_t i = 0; i < LENGTH; i++)
		ends[0].bytes[i] = (uint8_t)(i * 13 + i / 256);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(ends[0].hca.dev);
	hca_device_destroy(ends[1].hca.dev);
	return 0;
}

/* Packets go to and fro, at most so many. */
static void run_some(uint32_t most, ps_t now)
{
	static uint8_t room[WIRE_MTU_MAX];
	const struct hca_rx rx = {.ecn = 0};
	bool moved = true;

	most += packet_count;
	while (moved) {
		moved = false;
		for (int i = 0; i < 2 && packet_count < most; i++) {
			struct wire_pkt pkt = {.payload = room};
			struct hca_tx tx;

			if (!hca_output(ends[i].hca.dev, 0xff, &pkt, &tx, now))
				continue;
			moved = true;
			packet_count++;
			apart_count += pkt.apart;
			hca_input(ends[!i].hca.dev, &pkt, &rx, now);
		}
		now += PS_US;
	}
}

static void run(ps_t now)
{
	run_some(1000, now);
}

static void assert_all_came(void)
{
	assert_memory_equal(ends[0].bytes, ends[1].bytes, LENGTH);
}

static void test_a_write_is_lent(void **state)
{
	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run(0);
	assert_int_equal(apart_count, 3);
	assert_int_equal(ends[1].pull_count, 3);
	assert_int_equal(ends[1].follows[0], LENGTH - MTU);
	assert_int_equal(ends[1].follows[1], LENGTH - 2 * MTU);
	assert_int_equal(ends[1].follows[2], 0);
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
}

/* A region that has become shorter since the message began is not written behind its end. */
static void test_what_follows_ends_with_the_region(void **state)
{
	struct hca_mr *mr = ends[1].hca.mr;

	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run_some(1, 0);
	mr->length = 2 * MTU + 5;
	run_some(1, PS_US);
	assert_int_equal(ends[1].follows[0], LENGTH - MTU);
	assert_int_equal(ends[1].follows[1], 5);
}

static void test_what_is_at_hand_is_not_asked_for(void **state)
{
	(void)state;
	ends[1].has_all = true;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run(0);
	assert_int_equal(apart_count, 3);
	assert_int_equal(ends[1].pull_count, 0);
	assert_int_equal(ends[1].at_hand_count, 3);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
}

static void test_what_is_in_place_stays_there(void **state)
{
	(void)state;
	ends[1].has_all = ends[1].is_in_place = true;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run(0);
	assert_int_equal(ends[1].pull_count, 0);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
}

static void test_a_read_is_lent(void **state)
{
	(void)state;
	hca_end_post(&ends[1].hca, &ends[0].hca, HCA_WR_RDMA_READ, LENGTH);
	run(0);
	assert_int_equal(apart_count, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ends[1].follows[i], 0);
	assert_int_equal(ends[1].status, HCA_WC_SUCCESS);
	assert_all_came();
}

/* Answers that come in the midst of a WRITE, which goes on behind them, are no part of it. */
static void test_nothing_follows_a_read(void **state)
{
	static uint8_t rooms[2][WIRE_MTU_MAX];
	struct wire_pkt kept[2] = {{.payload = rooms[0]}, {.payload = rooms[1]}};
	const struct hca_rx rx = {.ecn = 0};
	struct hca_tx tx;
	uint32_t follow_count = 0;

	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run_some(1, 0);
	for (uint32_t i = 0; i < 2; i++)
		assert_true(hca_output(ends[0].hca.dev, 0xff, &kept[i], &tx, i * PS_US));
	hca_end_post(&ends[1].hca, &ends[0].hca, HCA_WR_RDMA_READ, LENGTH);
	run(2 * PS_US);
	assert_int_equal(ends[1].pull_count, 4);
	for (uint32_t i = 0; i < 2; i++)
		hca_input(ends[1].hca.dev, &kept[i], &rx, PS_MS);
	run(PS_MS);
	assert_int_equal(ends[1].pull_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		follow_count += ends[1].follows[i] > 0;
	assert_int_equal(follow_count, 2);
	assert_all_came();
}

static void test_what_is_short_or_for_others_is_not(void **state)
{
	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, HCA_LOAN_LEAST - 1);
	run(0);
	ends[0].lender.lends = false;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
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
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run(0);
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_all_came();
	assert_in_range(apart_count, 1, 3);
	assert_int_equal(hca_device_counters(ends[0].hca.dev)->packet_seq_err, 1);
}

static void test_answers_that_are_not_to_be_had_come_as_bytes(void **state)
{
	(void)state;
	ends[1].pulls_refused = 2;
	hca_end_post(&ends[1].hca, &ends[0].hca, HCA_WR_RDMA_READ, LENGTH);
	run(0);
	assert_int_equal(ends[1].wc_count, 1);
	assert_int_equal(ends[1].status, HCA_WC_SUCCESS);
	assert_all_came();
}

/* A key that is wrong is found before anything is read. */
static void test_checks_come_first(void **state)
{
	(void)state;
	ends[1].hca.mr->rkey ^= 1;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run(0);
	assert_int_equal(ends[1].pull_count, 0);
	assert_int_equal(ends[0].status, HCA_WC_REM_ACCESS_ERR);
}

static void test_nothing_is_given_back_before_it_is_revoked(void **state)
{
	const struct hca_qp_attr attr = {.state = HCA_QPS_ERR};

	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	ends[0].was_revoked = false;
	assert_int_equal(hca_qp_modify(ends[0].hca.dev, ends[0].hca.qp, &attr, HCA_QP_STATE, 0), 0);
	assert_int_equal(ends[0].wc_count, 1);
	assert_true(ends[0].was_revoked);
	assert_int_equal(ends[0].revoked_at, 0);
	ends[1].was_revoked = false;
	assert_int_equal(hca_mr_destroy(ends[1].hca.dev, ends[1].hca.mr), 0);
	assert_true(ends[1].was_revoked);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BOTH(test_a_write_is_lent),
		WITH_BOTH(test_what_is_at_hand_is_not_asked_for),
		WITH_BOTH(test_what_follows_ends_with_the_region),
		WITH_BOTH(test_what_is_in_place_stays_there),
		WITH_BOTH(test_a_read_is_lent),
		WITH_BOTH(test_nothing_follows_a_read),
		WITH_BOTH(test_what_is_short_or_for_others_is_not),
		WITH_BOTH(test_what_is_not_to_be_had_comes_as_bytes),
		WITH_BOTH(test_answers_that_are_not_to_be_had_come_as_bytes),
		WITH_BOTH(test_checks_come_first),
		WITH_BOTH(test_nothing_is_given_back_before_it_is_revoked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
