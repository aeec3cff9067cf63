/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory for what queue pairs with HCA_SELECTIVE know of packets under way: it goes with these,
 * however large the window is, and comes back. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"
#include "transport/wire/psn.h"
#include "util/alloc.h"

#include <malloc.h>

enum { WINDOW = 1 << 15, MTU = 1024, FIRST_PSN = 0xffff00, TO = 0x77 };
enum { ALIVE = 64, ALIVE_BYTES = 4096, PACKETS = 3000, FEW = 16 };

static struct hca_device *dev;
static struct hca_qp_init init;
static struct hca_mr *region;
static size_t taken; /* bytes */
static uint32_t done;

static void *room_take(struct hca_room *room, size_t bytes)
{
	(void)room;
	taken += bytes;
	return util_alloc(bytes);
}

static void room_give_back(struct hca_room *room, void *piece, size_t bytes)
{
	(void)room;
	assert_non_null(piece);
	assert_true(bytes <= taken);
	taken -= bytes;
	util_free(piece);
}

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)now;
	assert_int_equal(wc->status, HCA_WC_SUCCESS);
	done++;
}

static int setup(void **state)
{
	static const struct hca_observer observer = {on_wc, unheard_cq_event, unheard_place,
						     unheard_async};
	const struct hca_mr_params memory = {.ops = &hca_mem_synthetic,
					     .access = HCA_ACCESS_REMOTE_READ,
					     .length = (uint64_t)PACKETS * MTU};
	static struct hca_room room = {room_take, room_give_back};
	const struct hca_device_params params = {
		.observer = &observer,
		.room = &room,
		.profile = {.line_rate_bps = 100000000000,
			    .mtu_max = MTU,
			    .retransmit = HCA_SELECTIVE,
			    .rto_low = PS_MS,
			    .rto_high = PS_MS,
			    .psn_window = WINDOW,
			    .ack_every = 1,
			    .cc = &cc_none,
			    .qp_max = ALIVE,
			    .cq_max = 1,
			    .mr_max = 1,
			    .pd_max = 1,
			    .wr_max = 4,
			    .sge_max = 1,
			    .cqe_max = 64,
			    .rd_atomic_max = 1},
	};

	(void)state;
	taken = done = 0;
	dev = hca_device_create(&params);
	init = (struct hca_qp_init){.type = HCA_QPT_RC,
				    .cap = {.send_depth = 1, .send_sge_max = 1}};
	assert_int_equal(hca_pd_create(dev, &init.pd), 0);
	assert_int_equal(hca_cq_create(dev, 64, NULL, &init.send_cq), 0);
	init.recv_cq = init.send_cq;
	return hca_mr_create(dev, init.pd, &memory, &region);
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(dev);
	return taken > 0;
}

/* Numbers from 1 on. */
static struct hca_qp *connected(void)
{
	static const uint32_t masks[] = {0, 0x39, 0x129181, 0x12e01};
	struct hca_qp_attr attr = {.access = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ,
				   .max_dest_rd_atomic = 1,
				   .mtu = MTU,
				   .dest_qpn = TO,
				   .sq_psn = FIRST_PSN,
				   .rq_psn = FIRST_PSN,
				   .timeout = 14,
				   .retry_cnt = 7};
	struct hca_qp *qp;

	init.qpn++;
	assert_int_equal(hca_qp_create(dev, &init, &qp), 0);
	for (int state = 1; state <= 3; state++) {
		attr.state = (enum hca_qp_state)state;
		assert_int_equal(hca_qp_modify(dev, qp, &attr, masks[state], 0), 0);
	}
	return qp;
}

static size_t allocated(void)
{
	const struct mallinfo2 info = mallinfo2();

	return info.uordblks + info.hblkhd;
}

static void test_who_does_nothing_takes_next_to_nothing(void **state)
{
	const size_t before = allocated();

	(void)state;
	for (uint32_t i = 0; i < ALIVE; i++)
		connected();
	assert_true(allocated() - before < (size_t)ALIVE * ALIVE_BYTES);
	assert_int_equal(taken, 0);
}

/* All that may go. */
static uint32_t send_all(void)
{
	uint8_t bytes[MTU];
	struct wire_pkt pkt = {.payload = bytes};
	struct hca_tx tx;
	uint32_t count = 0;

	while (hca_output(dev, 0xff, &pkt, &tx, 0)) {
		count++;
		pkt.payload = bytes;
	}
	return count;
}

static void post(struct hca_qp *qp, uint32_t packets)
{
	const struct hca_sge sge = {.length = packets * MTU, .lkey = region->lkey};
	const struct hca_send_wr wr = {.opcode = HCA_WR_RDMA_WRITE,
				       .flags = HCA_SEND_SIGNALED,
				       .sge = &sge,
				       .sge_count = 1};

	assert_int_equal(hca_qp_post_send(dev, qp, &wr, 0), 0);
	assert_int_equal(send_all(), packets);
}

/* To the one that is connected: everything before the @count-th packet is here. */
static void acknowledge(uint32_t count)
{
	const struct hca_rx rx = {0};
	const struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_ACKNOWLEDGE,
				     .dest_qpn = init.qpn,
				     .psn = (FIRST_PSN + count - 1) & WIRE_U24_MAX};

	hca_input(dev, &pkt, &rx, 0);
}

/* The first @count packets are not, and the next one is. */
static void lose(uint32_t count)
{
	const struct hca_rx rx = {0};
	const struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_ACKNOWLEDGE | WIRE_IRN,
				     .dest_qpn = init.qpn,
				     .psn = FIRST_PSN,
				     .rkey = (FIRST_PSN + count) & WIRE_U24_MAX,
				     .word = (uint32_t)WIRE_NAK_PSN_SEQ << 24};

	hca_input(dev, &pkt, &rx, 0);
}

static void test_a_requester_knows_of_what_is_under_way(void **state)
{
	struct hca_qp *qp = connected();

	(void)state;
	post(qp, FEW);
	assert_int_equal(taken, 0);
	acknowledge(FEW);
	assert_int_equal(done, 1);
	hca_qp_destroy(dev, qp);
	qp = connected();
	post(qp, PACKETS);
	assert_in_range(taken, PACKETS * sizeof(uint64_t), 4 * PACKETS * sizeof(uint64_t));
	acknowledge(PACKETS - 1);
	assert_int_equal(done, 1);
	assert_true(taken > 0);
	acknowledge(PACKETS);
	assert_int_equal(done, 2);
	assert_int_equal(taken, 0);
}

static void test_a_requester_sends_what_is_lost(void **state)
{
	struct hca_qp *qp = connected();

	(void)state;
	post(qp, PACKETS);
	lose(PACKETS / 2);
	assert_int_equal(send_all(), PACKETS / 2);
	lose(PACKETS / 2 + 1);
	assert_int_equal(send_all(), 0);
	acknowledge(PACKETS);
	assert_int_equal(done, 1);
	assert_int_equal(taken, 0);
}

static void comes(uint32_t number)
{
	const struct hca_rx rx = {0};
	const struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_WRITE_ONLY | WIRE_IRN,
				     .dest_qpn = init.qpn,
				     .psn = (FIRST_PSN + number) & WIRE_U24_MAX};

	hca_input(dev, &pkt, &rx, 0);
}

static void test_a_responder_has_room_while_something_is_missing(void **state)
{
	(void)state;
	connected();
	for (uint32_t i = 1; i < 10; i++)
		comes(i);
	assert_in_range(taken, 10 * sizeof(struct wire_pkt), 32 * sizeof(struct wire_pkt));
	for (uint32_t i = 10; i < PACKETS; i++)
		comes(i);
	assert_in_range(taken, PACKETS * sizeof(struct wire_pkt),
			3 * PACKETS * sizeof(struct wire_pkt));
	assert_int_equal(hca_device_counters(dev)->rx_write_requests, 0);
	comes(0);
	assert_int_equal(hca_device_counters(dev)->rx_write_requests, PACKETS);
	assert_int_equal(taken, 0);
	comes(PACKETS + WINDOW);
	assert_int_equal(taken, 0); /* beyond the window: as if it were lost */
}

/* All PSNs of a READ's response are its own: packets that a peer has sent under them have no turn.
 */
static void test_what_a_read_passes_over_is_forgotten(void **state)
{
	const struct hca_rx rx = {0};
	const struct wire_pkt read = {.opcode = WIRE_RC | WIRE_READ_REQUEST,
				      .dest_qpn = 1,
				      .psn = FIRST_PSN,
				      .rkey = region->rkey,
				      .dma_length = 40 * MTU};

	(void)state;
	connected();
	for (uint32_t i = 1; i < 6; i++)
		comes(i);
	assert_true(taken > 0);
	hca_input(dev, &read, &rx, 0);
	assert_int_equal(hca_device_counters(dev)->rx_read_requests, 1);
	assert_int_equal(taken, 0);
	comes(41);
	comes(40);
	assert_int_equal(taken, 0);
	assert_int_equal(hca_device_counters(dev)->rx_write_requests, 2);
}

static void test_none_comes_behind_the_last(void **state)
{
	(void)state;
	init.request_packets = 2;
	connected();
	comes(1);
	assert_true(taken > 0);
	comes(0);
	assert_int_equal(taken, 0);
	comes(3);
	assert_int_equal(taken, 0);
	init.request_packets = HCA_REQUESTS_NONE;
	connected();
	comes(1);
	assert_int_equal(taken, 0);
}

static void test_what_is_known_goes_with_the_queue_pair(void **state)
{
	struct hca_qp_attr attr = {.state = HCA_QPS_RESET};
	struct hca_qp *qp = connected();

	(void)state;
	post(qp, PACKETS);
	comes(100);
	assert_true(taken > 0);
	assert_int_equal(hca_qp_modify(dev, qp, &attr, HCA_QP_STATE, 0), 0);
	assert_int_equal(taken, 0);
	qp = connected();
	post(qp, PACKETS);
	comes(100);
	assert_true(taken > 0);
	hca_qp_destroy(dev, qp);
	assert_int_equal(taken, 0);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_who_does_nothing_takes_next_to_nothing), S(test_a_requester_knows_of_what_is_under_way),
    S(test_a_requester_sends_what_is_lost), S(test_a_responder_has_room_while_something_is_missing),
    S(test_what_a_read_passes_over_is_forgotten), S(test_none_comes_behind_the_last),
    S(test_what_is_known_goes_with_the_queue_pair))
