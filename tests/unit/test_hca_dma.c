/* SPDX-License-Identifier: BSD-2-Clause */
/* The adapter before a memory side that answers only when it is told to: what is handed over, what
 * waits for what. */
#include "tests/hca_connect.h"
#include "tests/test.h"
#include "tests/unit/hca_test.h"

#include <string.h>

enum {
	UC_TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN,
	UC_TO_RTS = HCA_QP_STATE | HCA_QP_SQ_PSN,
	UD_TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_QKEY,
	MTU = 256,
	QPN = 0x11,
};
#define TIMEOUT (2 * 4096000 * (ps_t)(1 << 4)) /* code 4 */

static struct hca_dma handed[32];
static uint32_t handed_count, wc_count, event_count, place_count;
static uint32_t released = UINT32_MAX;
static uint8_t memory[2048], room[WIRE_MTU_MAX];
static struct hca_device *dev;
static struct hca_pd *pd;
static struct hca_cq *cq;
static struct hca_mr *mr;
static struct hca_qp *qp;

static void on_wc(void *world, struct hca_cq *of, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)of, (void)wc, (void)now;
	wc_count++;
}

static void on_cq_event(void *world, void *owner, ps_t now)
{
	(void)world, (void)owner, (void)now;
	event_count++;
}

static void on_place(void *world, const struct hca_mr *of, uint64_t offset, uint32_t length,
		     bool is_word, ps_t now)
{
	(void)world, (void)of, (void)offset, (void)length, (void)is_word, (void)now;
	place_count++;
}

static void hand(void *world, const struct hca_dma *dma, const uint8_t *bytes)
{
	(void)world, (void)bytes;
	assert_in_range(handed_count, 0, 31);
	handed[handed_count++] = *dma;
}

static void release(void *world, uint32_t region)
{
	(void)world;
	released = region;
}

static const struct hca_observer observer = {on_wc, on_cq_event, on_place, unheard_async};
static const struct hca_dma_ops ops = {.name = "told", .hand = hand, .release = release};
static const struct hca_dma_ops even = {
	.name = "even", .is_even = true, .hand = hand, .release = release};
static const struct hca_dma_ops doorbells = {
	.name = "doorbells", .has_doorbells = true, .hand = hand, .release = release};
static const struct hca_dma_ops *side = &ops;

static void connect_qp(enum hca_qp_type type)
{
	const bool is_rc = type == HCA_QPT_RC, is_ud = type == HCA_QPT_UD;
	const struct hca_qp_init init = {.type = type,
					 .pd = pd,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = {8, 8, 4, 4, 64},
					 .signal_all = true,
					 .qpn = QPN};
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT,
				   .access = 14,
				   .mtu = MTU,
				   .dest_qpn = 0x22,
				   .sq_psn = 100,
				   .rq_psn = 200,
				   .timeout = 4,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .max_rd_atomic = 4,
				   .max_dest_rd_atomic = 4,
				   .port = 1};

	assert_int_equal(hca_qp_create(dev, &init, &qp), 0);
	assert_int_equal(hca_qp_modify(dev, qp, &attr, is_ud ? UD_TO_INIT : TO_INIT, 0), 0);
	attr.state = HCA_QPS_RTR;
	assert_int_equal(hca_qp_modify(dev, qp, &attr,
				       is_ud   ? HCA_QP_STATE
				       : is_rc ? TO_RTR
					       : UC_TO_RTR,
				       0),
			 0);
	attr.state = HCA_QPS_RTS;
	assert_int_equal(hca_qp_modify(dev, qp, &attr, is_rc ? TO_RTS : UC_TO_RTS, 0), 0);
}

static int open_device(const struct cc_ops *cc, uint32_t ack_every)
{
	const struct hca_device_params params = {
		.key = {1, 7},
		.observer = &observer,
		.dma = side,
		.profile = {.line_rate_bps = 100000000000u,
			    .mtu_max = MTU,
			    .psn_window = 64,
			    .ack_every = ack_every,
			    .ack_on_data_priority = true,
			    .cc = cc,
			    .qp_max = 8,
			    .cq_max = 4,
			    .mr_max = 8,
			    .pd_max = 2,
			    .wr_max = 64,
			    .sge_max = 4,
			    .cqe_max = 64,
			    .inline_max = 64,
			    .rd_atomic_max = 4},
	};
	const struct hca_mr_params region = {.ops = &hca_mem_host,
					     .iova = 0x1000,
					     .length = sizeof(memory),
					     .access = 15,
					     .address = (uintptr_t)memory};

	handed_count = wc_count = event_count = place_count = 0;
	memset(room, '-', sizeof(room));
	memset(memory, 'm', sizeof(memory));
	dev = hca_device_create(&params);
	return !dev || hca_pd_create(dev, &pd) || hca_cq_create(dev, 16, NULL, &cq) ||
	       hca_mr_create(dev, pd, &region, &mr);
}

static int setup(void **state)
{
	(void)state;
	return open_device(&cc_none, 64);
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(dev);
	return 0;
}

static int post(enum hca_wr_opcode opcode, const struct hca_sge *sge, uint32_t count)
{
	const struct wire_path path = {.ttl = 64};
	const struct hca_send_wr wr = {
		.opcode = opcode, .sge = sge, .sge_count = count, .path = &path};

	return hca_qp_post_send(dev, qp, &wr, 0);
}

static void post_bytes(enum hca_wr_opcode opcode, uint32_t length)
{
	const struct hca_sge sge = {.addr = 0x1000, .length = length, .lkey = mr->lkey};

	assert_int_equal(post(opcode, &sge, 1), 0);
}

static bool decide(struct wire_pkt *pkt, struct hca_dma_ticket *ticket, ps_t now)
{
	struct hca_tx tx;

	*pkt = (struct wire_pkt){.payload = room};
	return hca_dma_output(dev, 0xff, pkt, &tx, ticket, now);
}

static struct hca_dma_ticket decided(ps_t now)
{
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	assert_true(decide(&pkt, &ticket, now));
	return ticket;
}

static void bring(struct wire_pkt pkt, ps_t now)
{
	pkt.dest_qpn = QPN;
	pkt.rkey = mr->rkey;
	pkt.payload = room;
	hca_input(dev, &pkt, &(struct hca_rx){0}, now);
}

static void bring_write(uint32_t psn)
{
	bring((struct wire_pkt){.opcode = WIRE_WRITE_ONLY,
				.psn = psn,
				.va = 0x1000,
				.length = 8,
				.dma_length = 8,
				.ack_req = true},
	      0);
}

/* A READ of 8 bytes comes, and its response is decided. */
static void answer_read(uint32_t psn, struct wire_pkt *pkt, struct hca_dma_ticket *ticket)
{
	bring(
		(struct wire_pkt){
			.opcode = WIRE_READ_REQUEST, .psn = psn, .va = 0x1000, .dma_length = 8},
		0);
	assert_true(decide(pkt, ticket, 0));
	assert_int_equal(pkt->opcode, WIRE_READ_RESPONSE_ONLY);
}

static void bring_add(uint32_t psn)
{
	bring((struct wire_pkt){.opcode = WIRE_FETCH_ADD,
				.psn = psn,
				.va = 0x1008,
				.has_rare = true,
				.rare = {.swap_add = 2, .pkey = WIRE_PKEY_DEFAULT}},
	      0);
}

static void bring_nak(uint32_t psn, uint8_t syndrome, ps_t now)
{
	bring((struct wire_pkt){.opcode = WIRE_ACKNOWLEDGE,
				.psn = psn,
				.word = wire_aeth(syndrome, 0)},
	      now);
}

static void test_a_packet_is_decided_and_its_bytes_are_asked_for(void **state)
{
	const struct hca_sge sge[] = {{0x1010, 20, mr->lkey}, {0x1100, 30, mr->lkey}};
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	connect_qp(HCA_QPT_RC);
	assert_int_equal(post(HCA_WR_SEND, sge, 2), 0);
	assert_true(decide(&pkt, &ticket, 0));
	assert_int_equal(pkt.length, 50);
	assert_int_equal(room[0], '-');
	assert_int_equal(handed_count, 2);
	assert_int_equal(handed[0].kind, HCA_DMA_FETCH);
	assert_int_equal(handed[0].address, (uintptr_t)memory + 0x10);
	assert_int_equal(handed[0].at, 0);
	assert_int_equal(handed[1].address, (uintptr_t)memory + 0x100);
	assert_int_equal(handed[1].at, 20);
	assert_int_equal(handed[1].length, 30);
	assert_false(handed[1].fenced);
}

/* One of its pieces may not be read: none is. */
static void test_nothing_is_asked_for_where_a_piece_is_refused(void **state)
{
	const struct hca_sge sge[] = {{0x1010, 20, mr->lkey}, {0x1100, 30, mr->lkey ^ 0x100}};
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	connect_qp(HCA_QPT_RC);
	assert_int_equal(post(HCA_WR_SEND, sge, 2), 0);
	assert_false(decide(&pkt, &ticket, 0));
	for (uint32_t i = 0; i < handed_count; i++)
		assert_int_equal(handed[i].kind, HCA_DMA_COMPLETE);
}

static void test_counters_and_the_timer_begin_on_the_wire(void **state)
{
	const struct hca_counters *c = hca_device_counters(dev);
	struct hca_dma_ticket ticket;

	(void)state;
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 40);
	ticket = decided(0);
	assert_int_equal(c->tx_packets, 0);
	assert_int_equal(c->tx_bytes, 0);
	assert_true(hca_next_at(dev, 0xff) == PS_NEVER);
	assert_true(hca_dma_start(dev, &ticket, 5 * PS_US));
	assert_int_equal(c->tx_packets, 1);
	assert_int_equal(c->tx_bytes, 40);
	assert_true(hca_next_at(dev, 0xff) == 5 * PS_US + TIMEOUT);
}

/* What waits is not overdue, however long: only what is on the wire can be. */
static void test_an_ack_of_all_that_is_on_the_wire_stops_the_timer(void **state)
{
	struct hca_dma_ticket first, second;

	(void)state;
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 40);
	post_bytes(HCA_WR_SEND, 40);
	first = decided(0);
	second = decided(0);
	assert_true(hca_dma_start(dev, &first, 0));
	bring_nak(100, WIRE_SYN_ACK_UNLIMITED, PS_US);
	hca_advance(dev, PS_S);
	assert_int_equal(hca_device_counters(dev)->local_ack_timeout_err, 0);
	assert_true(hca_dma_start(dev, &second, PS_S));
	assert_true(hca_next_at(dev, 0xff) == PS_S + TIMEOUT);
}

static void test_what_was_fetched_before_a_nak_still_goes_out(void **state)
{
	struct hca_dma_ticket tickets[3];
	uint64_t retransmitted = hca_device_counters(dev)->packets_retransmitted;

	(void)state;
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 3 * MTU);
	for (int i = 0; i < 3; i++)
		tickets[i] = decided(0);
	assert_true(hca_dma_start(dev, &tickets[0], 0));
	assert_true(hca_dma_start(dev, &tickets[1], 0));
	bring_nak(100, WIRE_NAK_PSN_SEQ, PS_US);
	assert_true(hca_dma_start(dev, &tickets[2], PS_US));
	tickets[0] = decided(PS_US);
	assert_int_equal(hca_device_counters(dev)->packets_retransmitted, retransmitted);
	assert_true(hca_dma_start(dev, &tickets[0], 2 * PS_US));
	assert_int_equal(hca_device_counters(dev)->packets_retransmitted, retransmitted + 1);
}

static void test_nothing_of_a_queue_pair_that_is_no_more_starts(void **state)
{
	const uint64_t before = hca_device_counters(dev)->tx_packets;
	struct hca_dma_ticket ticket;

	(void)state;
	for (int way = 0; way < 3; way++) {
		const struct hca_qp_attr attr = {.state = way ? HCA_QPS_ERR : HCA_QPS_RESET};

		connect_qp(HCA_QPT_RC);
		post_bytes(HCA_WR_SEND, 40);
		ticket = decided(0);
		if (way < 2)
			assert_int_equal(hca_qp_modify(dev, qp, &attr, HCA_QP_STATE, 0), 0);
		hca_qp_destroy(dev, way == 2 ? qp : NULL);
		assert_false(hca_dma_start(dev, &ticket, 0));
		if (way == 2) /* nor does the next one of that number send it */
			connect_qp(HCA_QPT_RC);
		assert_false(hca_dma_start(dev, &ticket, 0));
		hca_qp_destroy(dev, qp);
	}
	assert_int_equal(hca_device_counters(dev)->tx_packets, before);
}

static void test_a_completion_is_there_when_memory_shows_it(void **state)
{
	const struct hca_sge sge = {0x1000, 64, mr->lkey};
	const struct hca_recv_wr wr = {.wr_id = 9, .sge = &sge, .sge_count = 1};
	struct hca_wc wc;

	(void)state;
	connect_qp(HCA_QPT_RC);
	hca_cq_arm(cq, HCA_CQ_ARM_SOLICITED);
	assert_int_equal(hca_qp_post_recv(dev, qp, &wr, 0), 0);
	bring(
		(struct wire_pkt){
			.opcode = WIRE_SEND_ONLY, .psn = 200, .length = 8, .solicited = true},
		0);
	assert_int_equal(memory[0], 'm');
	assert_int_equal(handed_count, 2);
	assert_int_equal(handed[0].kind, HCA_DMA_PLACE);
	assert_int_equal(handed[1].kind, HCA_DMA_COMPLETE);
	assert_true(handed[1].fenced);
	assert_true(handed[1].sequence > handed[0].sequence);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 0);
	assert_int_equal(wc_count + event_count + place_count, 0);
	hca_dma_completed(dev, handed[1].cqn, PS_US);
	assert_int_equal(wc_count, 1);
	assert_int_equal(event_count, 1);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	assert_int_equal(wc.flags, 0);
}

static void test_a_completion_for_a_queue_that_is_gone(void **state)
{
	(void)state;
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 8);
	assert_int_equal(hca_qp_modify(dev, qp, &(struct hca_qp_attr){.state = HCA_QPS_ERR},
				       HCA_QP_STATE, 0),
			 0);
	assert_int_equal(handed[0].kind, HCA_DMA_COMPLETE);
	hca_qp_destroy(dev, qp);
	assert_int_equal(hca_cq_destroy(dev, cq), 0);
	hca_dma_completed(dev, handed[0].cqn, PS_US);
	assert_int_equal(wc_count, 0);
}

/* The queue has 16 places: those that memory does not show yet are taken, too. */
static void test_a_queue_is_full_of_what_is_on_its_way(void **state)
{
	const struct hca_qp_attr err = {.state = HCA_QPS_ERR};

	(void)state;
	for (int i = 0; i < 3; i++) {
		connect_qp(HCA_QPT_RC);
		for (int n = 0; n < 8; n++)
			post_bytes(HCA_WR_SEND, 8);
		assert_int_equal(hca_qp_modify(dev, qp, &err, HCA_QP_STATE, 0), 0);
		hca_qp_destroy(dev, qp);
	}
	assert_int_equal(handed_count, 16);
}

static void test_an_ack_waits_for_no_memory_and_a_read_does(void **state)
{
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	connect_qp(HCA_QPT_RC);
	bring_write(200);
	assert_true(decide(&pkt, &ticket, 0));
	assert_int_equal(pkt.opcode, WIRE_ACKNOWLEDGE);
	answer_read(201, &pkt, &ticket);
	assert_int_equal(handed_count, 2);
	assert_int_equal(handed[1].kind, HCA_DMA_FETCH);
	assert_true(handed[1].fenced);
}

static void test_an_atomic_answers_with_the_word_that_was_read(void **state)
{
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	connect_qp(HCA_QPT_RC);
	bring_add(200);
	assert_int_equal(handed_count, 1);
	assert_int_equal(handed[0].kind, HCA_DMA_ATOMIC);
	assert_true(handed[0].fenced);
	bring_write(201); /* its ACK comes behind */
	assert_true(hca_next_at(dev, 0xff) == PS_NEVER);
	assert_int_equal(hca_dma_atomic(dev, &handed[0], 40, PS_US), 42);
	assert_true(decide(&pkt, &ticket, PS_US));
	assert_int_equal(pkt.opcode, WIRE_ATOMIC_ACKNOWLEDGE);
	assert_int_equal(pkt.va, 40);
	assert_true(decide(&pkt, &ticket, PS_US));
	assert_int_equal(pkt.opcode, WIRE_ACKNOWLEDGE);
}

/* One that comes twice before its word is there is executed once. */
static void test_an_atomic_again_before_its_word_is_there(void **state)
{
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	connect_qp(HCA_QPT_RC);
	bring_add(200);
	bring_add(200);
	assert_int_equal(handed_count, 1);
	assert_true(hca_next_at(dev, 0xff) == PS_NEVER);
	hca_dma_atomic(dev, &handed[0], 40, 0);
	assert_true(decide(&pkt, &ticket, 0));
	assert_int_equal(pkt.va, 40);
	assert_false(decide(&pkt, &ticket, 0));
}

/* It was taken: it is executed. Nobody hears of it, least of all the next connection. */
static void test_the_word_of_an_atomic_whose_connection_is_no_more(void **state)
{
	(void)state;
	connect_qp(HCA_QPT_RC);
	bring_add(200);
	hca_qp_destroy(dev, qp);
	assert_int_equal(hca_dma_atomic(dev, &handed[0], 40, 0), 42);
	connect_qp(HCA_QPT_RC);
	bring_add(200);
	assert_int_equal(hca_dma_atomic(dev, &handed[0], 50, 0), 52);
	assert_true(hca_next_at(dev, 0xff) == PS_NEVER);
}

static void test_an_unreliable_send_is_done_when_it_starts(void **state)
{
	struct hca_dma_ticket first, second;

	(void)state;
	connect_qp(HCA_QPT_UC);
	post_bytes(HCA_WR_SEND, MTU + 1);
	first = decided(0);
	second = decided(0);
	assert_true(hca_dma_start(dev, &first, 0));
	assert_int_equal(handed_count, 2); /* fetches */
	assert_true(hca_dma_start(dev, &second, 0));
	assert_int_equal(handed_count, 3);
	assert_int_equal(handed[2].kind, HCA_DMA_COMPLETE);
}

/* One that is longer than the MTU is no packet, and is done behind those that wait for the port. */
static void test_a_datagram_that_is_none_is_done_in_its_turn(void **state)
{
	struct hca_dma_ticket first, last;

	(void)state;
	connect_qp(HCA_QPT_UD);
	post_bytes(HCA_WR_SEND, 8);
	post_bytes(HCA_WR_SEND, MTU + 1);
	post_bytes(HCA_WR_SEND, 9);
	first = decided(0);
	last = decided(0);
	assert_int_equal(last.length, 9);
	assert_int_equal(handed_count, 2);
	assert_true(hca_dma_start(dev, &first, 0));
	assert_int_equal(handed_count, 4);
	assert_true(hca_dma_start(dev, &last, 0));
	assert_int_equal(handed_count, 5);
	assert_int_equal(handed[4].kind, HCA_DMA_COMPLETE);
}

/* One that cannot be sent fails behind those that wait for the port. */
static void test_an_unreliable_send_fails_in_its_turn(void **state)
{
	const struct hca_sge bad = {0x1000, 8, mr->lkey ^ 0x100};
	struct hca_dma_ticket ticket, none;
	struct wire_pkt pkt;
	struct hca_wc wc;

	(void)state;
	connect_qp(HCA_QPT_UC);
	post_bytes(HCA_WR_SEND, 8);
	assert_int_equal(post(HCA_WR_SEND, &bad, 1), 0);
	ticket = decided(0);
	assert_false(decide(&pkt, &none, 0));
	assert_int_equal(handed_count, 1);
	assert_true(hca_dma_start(dev, &ticket, 0));
	assert_int_equal(handed_count, 3);
	hca_dma_completed(dev, handed[1].cqn, 0);
	hca_dma_completed(dev, handed[2].cqn, 0);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.status, HCA_WC_LOC_PROT_ERR);
	assert_int_equal(hca_qp_state_of(dev, QPN), HCA_QPS_SQE);
}

static ps_t heard_rtt;
static uint32_t heard_count;

static void begin(struct cc_flow *flow, const struct cc_params *params)
{
	(void)flow, (void)params;
}

static void advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	(void)flow, (void)params, (void)now;
}

static void hear_ack(struct cc_flow *flow, const struct cc_params *params, const struct cc_ack *ack)
{
	(void)flow, (void)params;
	heard_rtt = ack->rtt;
	heard_count++;
}

/* Karn's rule: of a packet that was sent twice nobody knows which one the ACK is of. A round trip
 * begins on the wire. */
static void test_only_what_was_sent_once_gives_a_round_trip(void **state)
{
	static const struct cc_ops listener = {.name = "listener",
					       .takes_acks = true,
					       .init = begin,
					       .advance = advance,
					       .on_ack = hear_ack};
	struct hca_dma_ticket ticket;

	hca_device_destroy(dev);
	assert_int_equal(open_device(&listener, 2), 0);
	(void)state;
	heard_count = 0;
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 4 * MTU);
	for (uint32_t i = 0; i < 3; i++) { /* of which only the second asks for an ACK */
		ticket = decided(0);
		assert_true(ticket.is_timed == (i == 1));
		assert_true(hca_dma_start(dev, &ticket, 0));
	}
	bring_nak(101, WIRE_NAK_PSN_SEQ, PS_US);
	for (uint32_t i = 0; i < 2; i++) { /* and now the third */
		ticket = decided(PS_US);
		assert_true(ticket.again && !ticket.is_timed);
		assert_true(hca_dma_start(dev, &ticket, 2 * PS_US));
	}
	bring_nak(102, WIRE_SYN_ACK_UNLIMITED, 3 * PS_US);
	assert_int_equal(heard_count, 1);
	assert_int_equal(heard_rtt, 0);
	ticket = decided(3 * PS_US);
	assert_true(ticket.is_timed && !ticket.again);
	assert_true(hca_dma_start(dev, &ticket, 4 * PS_US));
	bring_nak(103, WIRE_SYN_ACK_UNLIMITED, 11 * PS_US);
	assert_int_equal(heard_count, 2);
	assert_int_equal(heard_rtt, 7 * PS_US);
}

static void test_memory_is_let_go_before_its_region_is(void **state)
{
	(void)state;
	assert_int_equal(released, UINT32_MAX);
	assert_int_equal(hca_mr_destroy(dev, mr), 0);
	assert_int_equal(released, 0);
}

/* Of memory without bytes: what is sent says it, what is placed is told; only what has to wait for
 * something else is handed over. */
static void test_over_an_even_bus_only_what_waits_is_handed_over(void **state)
{
	const struct hca_mr_params params = {
		.ops = &hca_mem_synthetic, .iova = 0x1000, .length = 256, .access = 15};
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	hca_device_destroy(dev);
	side = &even;
	assert_int_equal(open_device(&cc_none, 64), 0);
	side = &ops;
	assert_int_equal(hca_mr_destroy(dev, mr), 0);
	assert_int_equal(hca_mr_create(dev, pd, &params, &mr), 0);
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 40);
	assert_true(decide(&pkt, &ticket, 0));
	assert_true(pkt.synthetic);
	pkt = (struct wire_pkt){.opcode = WIRE_WRITE_ONLY,
				.psn = 200,
				.dest_qpn = QPN,
				.va = 0x1000,
				.rkey = mr->rkey,
				.length = 8,
				.dma_length = 8,
				.synthetic = true,
				.pattern = wire_pattern(0, 0)};
	hca_input(dev, &pkt, &(struct hca_rx){0}, 0);
	pkt.payload = room;
	assert_int_equal(place_count, 1);
	assert_int_equal(handed_count, 0);
	answer_read(201, &pkt, &ticket);
	assert_int_equal(handed_count, 1);
	assert_true(handed[0].fenced);
}

static void open_with_doorbells(enum hca_qp_type type)
{
	hca_device_destroy(dev);
	side = &doorbells;
	assert_int_equal(open_device(&cc_none, 64), 0);
	side = &ops;
	connect_qp(type);
}

static bool sends_nothing(void)
{
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	return !decide(&pkt, &ticket, 0);
}

/* The adapter knows a request once it is told so, and then all before it. */
static void test_a_request_is_sent_once_it_is_known(void **state)
{
	(void)state;
	open_with_doorbells(HCA_QPT_RC);
	for (uint32_t i = 0; i < 3; i++)
		post_bytes(HCA_WR_SEND, 8 + i);
	assert_true(sends_nothing());
	assert_int_equal(handed_count, 3);
	assert_int_equal(handed[1].kind, HCA_DMA_DOORBELL);
	assert_int_equal(handed[1].length, 64); /* control and one piece: half a block */
	hca_dma_posted(dev, &handed[1], 0);
	hca_dma_posted(dev, &handed[0], 0);
	assert_int_equal(decided(0).length, 8);
	assert_int_equal(decided(0).length, 9);
	assert_true(sends_nothing());
	hca_dma_posted(dev, &handed[2], 0);
	assert_int_equal(decided(0).length, 10);
}

/* Control, remote address and three pieces are five segments: two blocks. */
static void test_a_long_request_takes_more_blocks(void **state)
{
	const struct hca_sge piece = {.addr = 0x1000, .length = 8, .lkey = mr->lkey};
	const struct hca_sge three[] = {piece, piece, piece};

	(void)state;
	open_with_doorbells(HCA_QPT_RC);
	assert_int_equal(post(HCA_WR_RDMA_WRITE, three, 3), 0);
	assert_int_equal(post(HCA_WR_SEND, three, 3), 0);
	assert_int_equal(handed[0].length, 128);
	assert_int_equal(handed[1].length, 64);
}

/* A doorbell that was rung before its queue pair began anew says nothing of what is posted since.
 */
static void test_a_doorbell_of_before_says_nothing(void **state)
{
	const struct hca_qp_attr reset = {.state = HCA_QPS_RESET};

	(void)state;
	open_with_doorbells(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 8);
	assert_int_equal(hca_qp_modify(dev, qp, &reset, HCA_QP_STATE, 0), 0);
	hca_qp_destroy(dev, qp);
	connect_qp(HCA_QPT_RC);
	post_bytes(HCA_WR_SEND, 9);
	hca_dma_posted(dev, &handed[0], 0);
	assert_true(sends_nothing());
	hca_dma_posted(dev, &handed[1], 0);
	assert_int_equal(decided(0).length, 9);
}

/* What was flushed before the adapter knew of it is over. */
static void test_what_is_flushed_unknown_is_over(void **state)
{
	const struct hca_qp_attr rts = {.state = HCA_QPS_RTS};
	const struct hca_sge bad = {0x1000, 8, mr->lkey ^ 0x100};
	struct hca_dma_ticket ticket;
	struct wire_pkt pkt;

	(void)state;
	open_with_doorbells(HCA_QPT_UC);
	assert_int_equal(post(HCA_WR_SEND, &bad, 1), 0);
	post_bytes(HCA_WR_SEND, 8);
	hca_dma_posted(dev, &handed[0], 0);
	assert_false(decide(&pkt, &ticket, 0));
	assert_int_equal(hca_qp_state_of(dev, QPN), HCA_QPS_SQE);
	assert_int_equal(hca_qp_modify(dev, qp, &rts, HCA_QP_STATE, 0), 0);
	assert_true(sends_nothing());
	hca_dma_posted(dev, &handed[1], 0);
	assert_true(sends_nothing());
	handed_count = 0;
	post_bytes(HCA_WR_SEND, 9);
	hca_dma_posted(dev, &handed[0], 0);
	assert_int_equal(decided(0).length, 9);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_a_packet_is_decided_and_its_bytes_are_asked_for),
    S(test_nothing_is_asked_for_where_a_piece_is_refused),
    S(test_counters_and_the_timer_begin_on_the_wire),
    S(test_an_ack_of_all_that_is_on_the_wire_stops_the_timer),
    S(test_what_was_fetched_before_a_nak_still_goes_out),
    S(test_nothing_of_a_queue_pair_that_is_no_more_starts),
    S(test_a_completion_is_there_when_memory_shows_it),
    S(test_a_completion_for_a_queue_that_is_gone), S(test_a_queue_is_full_of_what_is_on_its_way),
    S(test_an_ack_waits_for_no_memory_and_a_read_does),
    S(test_an_atomic_answers_with_the_word_that_was_read),
    S(test_an_atomic_again_before_its_word_is_there),
    S(test_the_word_of_an_atomic_whose_connection_is_no_more),
    S(test_an_unreliable_send_is_done_when_it_starts),
    S(test_a_datagram_that_is_none_is_done_in_its_turn),
    S(test_an_unreliable_send_fails_in_its_turn),
    S(test_only_what_was_sent_once_gives_a_round_trip),
    S(test_memory_is_let_go_before_its_region_is),
    S(test_over_an_even_bus_only_what_waits_is_handed_over),
    S(test_a_request_is_sent_once_it_is_known), S(test_a_long_request_takes_more_blocks),
    S(test_a_doorbell_of_before_says_nothing), S(test_what_is_flushed_unknown_is_over))
