/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that travel as one: which do, and that nothing but their number on the way is different.
 */
#include "tests/unit/hca_ends.h"
#include "transport/hca/run.h"

#include <string.h>

enum {
	MTU = 1024,
	PACKETS = 40,
	LENGTH = PACKETS * MTU,
	FIRST_PSN = 0xfffff0, /* so that they wrap */
	NOTHING = 0xee,
};

struct end {
	struct hca_lender lender;
	struct hca_end hca;
	uint8_t bytes[LENGTH + MTU];
	uint32_t wc_count, pull_count, wc_length;
	enum hca_wc_status status;
};
static struct end ends[2];
/* Of run(): bytes that there is room for; the unit that is lost, the one that is taken apart. */
static uint32_t room_bytes, lost, apart;
static uint32_t units, packet_count, longest, most_under_way, asked;

static void on_wc(void *world, struct hca_cq *of, const struct hca_wc *wc, ps_t now)
{
	struct end *end = world;

	(void)of, (void)now;
	end->wc_count++;
	end->wc_length = wc->byte_len;
	end->status = wc->status;
}

static const struct hca_observer observer = {on_wc, unheard_cq_event, unheard_place, unheard_async};

static bool on_pull(struct hca_lender *lender, uint64_t address, uint8_t *to, uint32_t length,
		    uint8_t *tail, uint32_t follows)
{
	(void)follows;
	container_of(lender, struct end, lender)->pull_count++;
	memcpy(to, hca_mem_host_at(address), length);
	memcpy(tail, hca_mem_host_at(address) + length, HCA_LOAN_TAIL);
	return true;
}

static const uint8_t *on_at_hand(struct hca_lender *lender, uint64_t address, uint32_t length,
				 const uint8_t *to)
{
	(void)lender, (void)address, (void)length, (void)to;
	return NULL;
}

static void on_revoke(struct hca_lender *lender, const struct wire_path *path, uint32_t dest_qpn)
{
	(void)lender, (void)path, (void)dest_qpn;
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
					      .psn_window = 16,
					      .ack_every = 8,
					      .psn = FIRST_PSN};

	*end = (struct end){
		.lender = {.pull = on_pull, .at_hand = on_at_hand, .revoke = on_revoke}};
	hca_end_open(&end->hca, &params);
}

static int setup(void **state)
{
	(void)state;
	room_bytes = 8 * MTU + 128;
	lost = apart = UINT32_MAX;
	units = packet_count = longest = most_under_way = asked = 0;
	open_end(&ends[0], HCA_END_QPN);
	open_end(&ends[1], HCA_END_OTHER_QPN);
	for (uint32_t i = 0; i < LENGTH + MTU; i++)
		ends[0].bytes[i] = (uint8_t)(i * 13 + i / 256);
	memset(ends[1].bytes, NOTHING, sizeof(ends[1].bytes));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(ends[0].hca.dev);
	hca_device_destroy(ends[1].hca.dev);
	return 0;
}

static void take(struct hca_device *dev, const struct wire_pkt *pkt, ps_t now)
{
	const struct hca_rx rx = {.ecn = 0};

	hca_input_run(dev, pkt, hca_run_packets(dev, pkt), &rx, now);
}

/* What the second end is sent; its answers wait until the first has nothing more to send. */
static uint32_t send_all(ps_t now)
{
	static uint8_t room[16 * MTU];
	uint32_t under_way = 0;
	struct wire_pkt pkt = {.payload = room};
	struct hca_tx tx;

	while (hca_output(ends[0].hca.dev, 0xff, &pkt, &tx, now)) {
		const uint32_t packets = hca_output_run(ends[0].hca.qp, &pkt, room_bytes, now);

		assert_int_equal(hca_run_packets(ends[1].hca.dev, &pkt), packets);
		packet_count += packets;
		asked += pkt.ack_req;
		under_way += packets;
		longest = packets > longest ? packets : longest;
		if (units == apart)
			for (uint32_t i = 0; i < 3; i++) {
				const struct wire_pkt part = hca_run_part(&pkt, packets, i);

				take(ends[1].hca.dev, &part, now);
			}
		if (units++ != lost)
			take(ends[1].hca.dev, &pkt, now);
		pkt.payload = room;
	}
	most_under_way = under_way > most_under_way ? under_way : most_under_way;
	return under_way;
}

static void run(void)
{
	const struct hca_rx rx = {.ecn = 0};
	uint8_t room[MTU];
	ps_t now = 0;

	for (uint32_t idle = 0; idle < 1000; now += 10 * PS_US) {
		struct wire_pkt pkt = {.payload = room};
		struct hca_tx tx;

		idle = send_all(now) > 0 ? 0 : idle + 1;
		while (hca_output(ends[1].hca.dev, 0xff, &pkt, &tx, now))
			hca_input(ends[0].hca.dev, &pkt, &rx, now);
	}
}

static void assert_all_came(uint32_t length)
{
	assert_int_equal(ends[0].status, HCA_WC_SUCCESS);
	assert_memory_equal(ends[0].bytes, ends[1].bytes, length);
	for (uint32_t i = length; i < LENGTH + MTU; i++)
		assert_int_equal(ends[1].bytes[i], NOTHING);
}

/* With 8 to a run and a window of 16: 1 + 8 + 7, 8 + 8, 7 (38 in the middle are 8 + 7 + 8 + 8 +
 * 7), 1. */
static void test_a_write_goes_in_runs(void **state)
{
	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(packet_count, PACKETS);
	assert_int_equal(units, 7);
	assert_int_equal(longest, 8);
	assert_int_equal(most_under_way, 16);
	/* Packets 8, 16, 24 and 32, the first of which is the last but one of its run; and the end.
	 */
	assert_int_equal(asked, 5);
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(hca_device_counters(ends[0].hca.dev)->tx_packets, PACKETS);
	assert_int_equal(hca_device_counters(ends[0].hca.dev)->tx_bytes, LENGTH);
	assert_int_equal(hca_device_counters(ends[1].hca.dev)->rx_packets, PACKETS);
	assert_int_equal(hca_device_counters(ends[1].hca.dev)->rx_bytes, LENGTH);
	assert_int_equal(hca_device_counters(ends[0].hca.dev)->packets_retransmitted, 0);
	assert_all_came(LENGTH);
}

static void test_a_send_goes_into_its_list(void **state)
{
	const uint32_t cut = 3 * MTU + 77;
	const struct hca_sge sges[] = {
		{.addr = (uintptr_t)ends[1].bytes, .length = cut, .lkey = ends[1].hca.mr->lkey},
		{.addr = (uintptr_t)ends[1].bytes + cut,
		 .length = LENGTH - cut,
		 .lkey = ends[1].hca.mr->lkey}};
	const struct hca_recv_wr wr = {.sge = sges, .sge_count = 2};

	(void)state;
	assert_int_equal(hca_qp_post_recv(ends[1].hca.dev, ends[1].hca.qp, &wr, 0), 0);
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_SEND, LENGTH - 5);
	run();
	assert_int_equal(units, 7);
	assert_int_equal(ends[1].wc_count, 1);
	assert_int_equal(ends[1].wc_length, LENGTH - 5);
	assert_all_came(LENGTH - 5);
}

static void test_there_is_room_for_less(void **state)
{
	(void)state;
	room_bytes = 2 * MTU - 1;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(units, PACKETS);
	assert_int_equal(longest, 1);
	assert_all_came(LENGTH);
}

/* A message of two packets has no middle; one of four has two. */
static void test_ends_go_alone(void **state)
{
	(void)state;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, 2 * MTU);
	run();
	assert_int_equal(units, 2);
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, 4 * MTU);
	run();
	assert_int_equal(units, 5);
	assert_all_came(4 * MTU);
}

static void test_a_lost_run_comes_again(void **state)
{
	(void)state;
	lost = 1;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(ends[0].wc_count, 1);
	assert_int_equal(hca_device_counters(ends[0].hca.dev)->packets_retransmitted, 15);
	assert_int_equal(hca_device_counters(ends[1].hca.dev)->out_of_sequence, 7);
	assert_int_equal(packet_count, PACKETS + 15);
	assert_all_came(LENGTH);
}

static void test_a_run_of_which_a_part_has_come(void **state)
{
	(void)state;
	apart = 1;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(hca_device_counters(ends[1].hca.dev)->duplicate_request, 3);
	assert_int_equal(hca_device_counters(ends[1].hca.dev)->out_of_sequence, 0);
	assert_all_came(LENGTH);
}

/* One that goes on beyond what its message said: the packets that belong to it are taken, the next
 * is refused, and nothing else is written. */
static void test_a_run_that_is_too_long(void **state)
{
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_WRITE_FIRST,
			       .psn = FIRST_PSN,
			       .dest_qpn = HCA_END_OTHER_QPN,
			       .length = MTU,
			       .va = (uintptr_t)ends[1].bytes,
			       .rkey = ends[1].hca.mr->rkey,
			       .dma_length = 4 * MTU,
			       .payload = ends[0].bytes};

	(void)state;
	take(ends[1].hca.dev, &pkt, 0);
	pkt = (struct wire_pkt){.opcode = WIRE_RC | WIRE_WRITE_MIDDLE,
				.psn = FIRST_PSN + 1,
				.dest_qpn = HCA_END_OTHER_QPN,
				.length = 8 * MTU,
				.payload = ends[0].bytes + MTU};
	take(ends[1].hca.dev, &pkt, 0);
	ends[0].status = HCA_WC_SUCCESS;
	assert_all_came(3 * MTU);
	assert_int_equal(hca_qp_state_of(ends[1].hca.dev, HCA_END_OTHER_QPN), HCA_QPS_ERR);
}

/* The last timeout of what this end has sent itself is due when the run comes, and goes first. */
static void test_timers_go_before_a_run(void **state)
{
	uint8_t room[MTU];
	struct wire_pkt pkt = {.opcode = WIRE_RC | WIRE_WRITE_FIRST,
			       .psn = FIRST_PSN,
			       .dest_qpn = HCA_END_OTHER_QPN,
			       .length = MTU,
			       .va = (uintptr_t)ends[1].bytes,
			       .rkey = ends[1].hca.mr->rkey,
			       .dma_length = LENGTH,
			       .payload = ends[0].bytes};
	ps_t now = 0;

	(void)state;
	take(ends[1].hca.dev, &pkt, now);
	hca_end_post(&ends[1].hca, &ends[0].hca, HCA_WR_RDMA_WRITE, 1);
	for (uint32_t tries = 0; tries < 8; tries++, now += PS_S) {
		struct wire_pkt sent = {.payload = room};
		struct hca_tx tx;

		assert_true(hca_output(ends[1].hca.dev, 0xff, &sent, &tx, now));
	}
	assert_int_equal(hca_qp_state_of(ends[1].hca.dev, HCA_END_OTHER_QPN), HCA_QPS_RTS);
	pkt = (struct wire_pkt){.opcode = WIRE_RC | WIRE_WRITE_MIDDLE,
				.psn = FIRST_PSN + 1,
				.dest_qpn = HCA_END_OTHER_QPN,
				.length = 8 * MTU,
				.payload = ends[0].bytes + MTU};
	take(ends[1].hca.dev, &pkt, now);
	assert_int_equal(hca_qp_state_of(ends[1].hca.dev, HCA_END_OTHER_QPN), HCA_QPS_ERR);
	assert_int_equal(ends[1].status, HCA_WC_RETRY_EXC_ERR);
	assert_int_equal(ends[1].bytes[MTU], NOTHING);
}

static void test_what_is_no_run(void **state)
{
	static const struct {
		uint8_t opcode;
		uint32_t qpn, length, packets;
	} cases[] = {
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x22, 15 * MTU, 15},
		{WIRE_RC | WIRE_SEND_MIDDLE, 0x22, 2 * MTU, 2},
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x22, 16 * MTU, 0}, /* too many */
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x22, 5 * MTU + 4, 0},
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x22, 4 * MTU - 4,
		 1}, /* a packet, of a wrong length */
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x22, MTU, 1},
		{WIRE_RC | WIRE_WRITE_LAST, 0x22, 2 * MTU, 1},
		{WIRE_RC | WIRE_WRITE_LAST, 0x22, 8 * MTU, 0},
		{WIRE_RC | WIRE_READ_RESPONSE_MIDDLE, 0x22, 2 * MTU, 1},
		{WIRE_UC | WIRE_WRITE_MIDDLE, 0x22, 8 * MTU, 0},
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x23, 2 * MTU, 1}, /* nobody's */
		{WIRE_RC | WIRE_WRITE_MIDDLE, 0x23, 8 * MTU, 0},
		{0xff, 0x22, 8 * MTU, 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct wire_pkt pkt = {.opcode = cases[i].opcode,
					     .dest_qpn = cases[i].qpn,
					     .length = (uint16_t)cases[i].length};

		assert_int_equal(hca_run_packets(ends[1].hca.dev, &pkt), cases[i].packets);
	}
}

/* What stays where it is needs no room: 15 to a run, but for the window. */
static void test_a_lent_run_is_pulled_at_once(void **state)
{
	(void)state;
	ends[0].lender.lends = true;
	room_bytes = 0;
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(longest, 15);
	assert_int_equal(units, 6); /* 1 + 15, 15 + 1, 7 + 1 */
	assert_int_equal(ends[1].pull_count, units);
	assert_all_came(LENGTH);
}

/* A queue pair with a rate of its own has a gap behind each packet. */
static void test_a_rate_is_one_of_packets(void **state)
{
	const struct hca_qp_attr attr = {.rate_limit_kbps = 1000000};

	(void)state;
	assert_int_equal(
		hca_qp_modify(ends[0].hca.dev, ends[0].hca.qp, &attr, HCA_QP_RATE_LIMIT, 0), 0);
	hca_end_post(&ends[0].hca, &ends[1].hca, HCA_WR_RDMA_WRITE, LENGTH);
	run();
	assert_int_equal(longest, 1);
	assert_all_came(LENGTH);
}

#define WITH_BOTH(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BOTH(test_a_write_goes_in_runs),
		WITH_BOTH(test_a_send_goes_into_its_list),
		WITH_BOTH(test_there_is_room_for_less),
		WITH_BOTH(test_ends_go_alone),
		WITH_BOTH(test_a_lost_run_comes_again),
		WITH_BOTH(test_a_run_of_which_a_part_has_come),
		WITH_BOTH(test_a_run_that_is_too_long),
		WITH_BOTH(test_timers_go_before_a_run),
		WITH_BOTH(test_what_is_no_run),
		WITH_BOTH(test_a_lent_run_is_pulled_at_once),
		WITH_BOTH(test_a_rate_is_one_of_packets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
