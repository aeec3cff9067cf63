/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: every transition with every attribute, numbers, many QPs and their alarms. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"

#include <errno.h>
#include <string.h>

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
}

enum { QPS_MAX = 2000 };
static const struct hca_observer observer = {on_wc, unheard_cq_event, unheard_place, unheard_async};
static struct hca_device_params params = {
	.key = {1, 2},
	.observer = &observer,
	.profile = {.line_rate_bps = 1000000000,
		    .mtu_max = 2048,
		    .psn_window = 16,
		    .ack_every = 64,
		    .cc = &cc_none,
		    .qp_max = QPS_MAX,
		    .cq_max = 3,
		    .mr_max = 4,
		    .pd_max = 2,
		    .wr_max = 64,
		    .sge_max = 4,
		    .cqe_max = 64,
		    .inline_max = 64,
		    .rd_atomic_max = 4},
};
static struct hca_device *dev;
static struct hca_qp_init init;
static struct hca_qp_attr attr;

static int setup(void **state)
{
	(void)state;
	dev = hca_device_create(&params);
	init = (struct hca_qp_init){.type = HCA_QPT_RC, .cap = {4, 4, 2, 2, 8}};
	attr = (struct hca_qp_attr){.mtu = 1024,
				    .timeout = 1,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .dest_qpn = 5,
				    .max_rd_atomic = 4,
				    .max_dest_rd_atomic = 4};
	return !dev || hca_pd_create(dev, &init.pd) || hca_cq_create(dev, 8, NULL, &init.send_cq) ||
	       hca_cq_create(dev, 8, NULL, &init.recv_cq);
}

static int teardown(void **state)
{
	(void)state;
	hca_device_destroy(dev);
	return 0;
}

static struct hca_qp *create(void)
{
	struct hca_qp *qp = NULL;

	assert_int_equal(hca_qp_create(dev, &init, &qp), 0);
	return qp;
}

/* The table of IBTA 11.2.5.2 for RC, written out a second time, bit by bit. */
enum {
	ST = 1 << 0,
	CUR = 1 << 1,
	NTF = 1 << 2,
	ACC = 1 << 3,
	PKEY = 1 << 4,
	PORT = 1 << 5,
	QKEY = 1 << 6,
	AV = 1 << 7,
	MTU = 1 << 8,
	TMO = 1 << 9,
	RTY = 1 << 10,
	RNR = 1 << 11,
	RQP = 1 << 12,
	RDA = 1 << 13,
	MIN = 1 << 15,
	SQP = 1 << 16,
	DRD = 1 << 17,
	DST = 1 << 20
};
static const uint32_t bits[] = {CUR, NTF, ACC, PKEY, PORT, QKEY, AV,  MTU, TMO,
				RTY, RNR, RQP, RDA,  MIN,  SQP,	 DRD, DST};
enum { BIT_COUNT = sizeof(bits) / sizeof(bits[0]) };

static const struct {
	int from, to;
	uint32_t needs, may;
} table[] = {
	{0, 1, PKEY | PORT | ACC, 0},
	{1, 1, 0, PKEY | PORT | ACC},
	{1, 2, AV | MTU | DST | RQP | DRD | MIN, PKEY | ACC},
	{2, 3, TMO | RTY | RNR | SQP | RDA, CUR | ACC | MIN},
	{3, 3, 0, CUR | ACC | MIN},
	{3, 4, 0, CUR | NTF},
	{4, 3, 0, CUR | ACC | MIN},
	{4, 4, 0, CUR | PORT | AV | TMO | RTY | RNR | RDA | DRD | ACC | PKEY | MIN},
};

static void raise_to(struct hca_qp *qp, int state)
{
	attr.state = HCA_QPS_RESET;
	assert_int_equal(hca_qp_modify(dev, qp, &attr, ST, 0), 0);
	attr.state = HCA_QPS_ERR;
	if (state == HCA_QPS_ERR)
		assert_int_equal(hca_qp_modify(dev, qp, &attr, ST, 0), 0);
	for (int s = 1; state != HCA_QPS_ERR && s <= state; s++) {
		static const uint32_t masks[] = {0, PKEY | PORT | ACC,
						 AV | MTU | DST | RQP | DRD | MIN,
						 TMO | RTY | RNR | SQP | RDA, 0};

		attr.state = (enum hca_qp_state)s;
		assert_int_equal(hca_qp_modify(dev, qp, &attr, ST | masks[s], 0), 0);
	}
}

static int try(struct hca_qp *qp, int from, int to, uint32_t mask)
{
	int error;
	struct hca_qp_attr now;
	struct hca_qp_init made;

	raise_to(qp, from);
	attr.state = (enum hca_qp_state)to;
	error = hca_qp_modify(dev, qp, &attr, ST | mask, 0);
	hca_qp_query(qp, &now, &made);
	assert_int_equal(now.state, error ? from : to);
	assert_int_equal(made.cap.send_depth, 4);
	return error;
}

static const int states[] = {0, 1, 2, 3, 4, 6};

static void test_every_transition_with_every_attribute(void **state)
{
	struct hca_qp *qp = create();

	(void)state;
	for (int f = 0; f < 6; f++) {
		for (int t = 0; t < 7; t++) {
			int from = states[f], to = t < 6 ? states[t] : HCA_QPS_SQE;
			uint32_t needs = 0, may = 0;
			bool allowed = to == HCA_QPS_RESET || to == HCA_QPS_ERR;

			for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
				if (table[i].from != from || table[i].to != to)
					continue;
				allowed = true;
				needs = table[i].needs;
				may = table[i].may;
			}
			assert_int_equal(try(qp, from, to, needs), allowed ? 0 : -EINVAL);
			for (int b = 0; b < BIT_COUNT; b++) {
				bool fits = !(needs & bits[b]) && (may & bits[b]);

				/* One more, or one less. */
				assert_int_equal(try(qp, from, to, needs ^ bits[b]),
						 allowed && fits ? 0 : -EINVAL);
			}
		}
	}
	attr.state = (enum hca_qp_state)7;
	assert_int_equal(hca_qp_modify(dev, qp, &attr, ST, 0), -EINVAL);
}

static void test_values_out_of_range(void **state)
{
	static const uint32_t mtus[] = {0, 128, 255, 300, 4096, 8192};
	const struct hca_qp_attr good = attr;
	struct hca_qp *qp = create();
	const uint32_t rtr = AV | MTU | DST | RQP | DRD | MIN, rts = TMO | RTY | RNR | SQP | RDA;

	(void)state;
	for (size_t i = 0; i < sizeof(mtus) / sizeof(mtus[0]); i++, attr = good) {
		raise_to(qp, HCA_QPS_INIT);
		attr.mtu = mtus[i]; /* 4096: over the device's 2048 */
		attr.state = HCA_QPS_RTR;
		assert_int_equal(hca_qp_modify(dev, qp, &attr, ST | rtr, 0), -EINVAL);
	}
#define REFUSED(from, to, mask, field, value)                                                      \
	do {                                                                                       \
		raise_to(qp, from);                                                                \
		attr.field = value;                                                                \
		attr.state = to;                                                                   \
		assert_int_equal(hca_qp_modify(dev, qp, &attr, ST | (mask), 0), -EINVAL);          \
		attr = good;                                                                       \
	} while (0)
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, dest_qpn, 1 << 24);
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, max_dest_rd_atomic, 5);
	init.dest_rd_atomic_max = 3; /* less than the device's */
	hca_qp_destroy(dev, qp);
	qp = create();
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, max_dest_rd_atomic, 4);
	init.dest_rd_atomic_max = 0;
	hca_qp_destroy(dev, qp);
	qp = create();
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, min_rnr_timer, 32);
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, path.priority, 8);
	REFUSED(HCA_QPS_RTR, HCA_QPS_RTS, rts, max_rd_atomic, 5);
	REFUSED(HCA_QPS_RTR, HCA_QPS_RTS, rts, timeout, 32);
	REFUSED(HCA_QPS_RTR, HCA_QPS_RTS, rts, retry_cnt, 8);
	REFUSED(HCA_QPS_RTR, HCA_QPS_RTS, rts, rnr_retry, 8);
}

/* In a fabric of sixteen, up to 15; what is posted there goes out in it, and in no other. */
static void test_priorities_are_those_of_the_fabric(void **state)
{
	const uint32_t rtr = AV | MTU | DST | RQP | DRD | MIN;
	struct hca_send_wr wr = {.opcode = HCA_WR_SEND};
	const struct hca_qp_attr good = attr;
	uint8_t room[2048];
	struct wire_pkt pkt = {.payload = room};
	struct hca_qp *qp;
	struct hca_tx tx;

	teardown(state);
	params.priority_count = 16;
	assert_int_equal(setup(state), 0);
	params.priority_count = 0;
	qp = create();
	REFUSED(HCA_QPS_INIT, HCA_QPS_RTR, rtr, path.priority, 16);
	attr.path.priority = 11;
	raise_to(qp, HCA_QPS_RTS);
	assert_int_equal(hca_qp_post_send(dev, qp, &wr, 0), 0);
	assert_false(hca_output(dev, 0xffff & ~(1u << 11), &pkt, &tx, 0));
	assert_true(hca_output(dev, 1u << 11, &pkt, &tx, 0));
	assert_int_equal(tx.priority, 11);
}

static void test_what_is_asked_for_is_checked_at_creation(void **state)
{
	const struct hca_qp_init good = init;
	struct hca_qp *qp;

	(void)state;
#define BAD(field, value)                                                                          \
	do {                                                                                       \
		init.field = value;                                                                \
		assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL);                         \
		init = good;                                                                       \
	} while (0)
	BAD(type, (enum hca_qp_type)1); /* management */
	BAD(type, (enum hca_qp_type)5);
	BAD(send_cq, NULL);
	BAD(recv_cq, NULL);
	BAD(pd, NULL);
	BAD(cap.send_depth, 65);
	BAD(cap.recv_depth, 65);
	BAD(cap.send_sge_max, 5);
	BAD(cap.recv_sge_max, 5);
	BAD(dest_rd_atomic_max, 5);
	BAD(cap.inline_max, 65);
	BAD(qpn, 1 << 24);
	init.qpn = 0x1234;
	assert_int_equal(hca_qp_qpn(create()), 0x1234);
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EEXIST);
	assert_int_equal(hca_pd_destroy(dev, init.pd), -EBUSY);
	assert_int_equal(hca_cq_destroy(dev, init.send_cq), -EBUSY);
	assert_int_equal(hca_cq_destroy(dev, init.recv_cq), -EBUSY);
}

static void test_numbers_come_from_key_and_identity(void **state)
{
	uint32_t first, second;

	(void)state;
	init.identity = 77;
	first = hca_qp_qpn(create());
	second = hca_qp_qpn(create()); /* taken: another one, and that the same each time */
	assert_int_not_equal(first, second);
	teardown(NULL);
	setup(NULL);
	init.identity = 76;
	assert_int_not_equal(hca_qp_qpn(create()), first);
	init.identity = 77;
	assert_int_equal(hca_qp_qpn(create()), first);
	assert_int_equal(hca_qp_qpn(create()), second);
	teardown(NULL);
	params.qpn_slot = 5;
	params.qpn_slot_bits = 6;
	setup(NULL);
	for (int i = 0; i < 20; i++)
		assert_int_equal(hca_qp_qpn(create()) >> 18, 5);
	params.qpn_slot = params.qpn_slot_bits = 0;
}

static uint8_t payload[4096];

static bool output(ps_t now, struct wire_pkt *pkt)
{
	struct hca_tx tx;

	pkt->payload = payload;
	return hca_output(dev, 0xff, pkt, &tx, now);
}

/* Two thousand QPs, each with its own timeout, created and destroyed in between: their alarms ring
 * in order, each at its own time. */
static void test_alarms_of_many_qps(void **state)
{
	static struct hca_qp *qps[QPS_MAX];
	static ps_t due[QPS_MAX];
	const struct hca_send_wr wr = {.opcode = HCA_WR_SEND};
	struct wire_pkt pkt;
	uint32_t found, rounds = 0;
	ps_t now, next;

	(void)state;
	for (uint32_t i = 0; i < QPS_MAX; i++) {
		init.qpn = i + 2;
		qps[i] = create();
		attr.timeout = (uint8_t)(1 + i * 7 % 5);
		attr.dest_qpn = i + 2;
		raise_to(qps[i], HCA_QPS_RTS);
	}
	assert_int_equal(hca_qp_create(dev, &init, &qps[0]), -EEXIST);
	init.qpn = 0x800000;
	assert_int_equal(hca_qp_create(dev, &init, &qps[0]), -ENOMEM);
	for (uint32_t i = 0; i < QPS_MAX; i++) {
		assert_int_equal(hca_qp_post_send(dev, qps[i], &wr, PS_MS), 0);
		assert_true(output(PS_MS + i, &pkt));
		assert_int_equal(pkt.dest_qpn, i + 2);
		due[i] = PS_MS + i + ((ps_t)8192000 << (1 + i * 7 % 5));
	}
	for (uint32_t i = 0; i < QPS_MAX; i += 3) {
		hca_qp_destroy(dev, qps[i]);
		due[i] = PS_NEVER;
	}
	for (uint32_t left = QPS_MAX - (QPS_MAX + 2) / 3; left > 0; left--) {
		now = PS_NEVER;
		for (uint32_t i = 0; i < QPS_MAX; i++)
			if (due[i] < now)
				now = due[i];
		for (next = hca_next_at(dev, 0xff); next < now; next = hca_next_at(dev, 0xff)) {
			assert_false(output(next, &pkt));
			assert_true(rounds++ < 10 * QPS_MAX);
		}
		assert_int_equal(next, now);
		assert_true(output(now, &pkt));
		found = pkt.dest_qpn - 2;
		assert_int_equal(due[found], now);
		due[found] = PS_NEVER;
		hca_qp_destroy(dev, qps[found]); /* or it would ring again */
	}
	assert_int_equal(hca_next_at(dev, 0xff), PS_NEVER);
}

/* QPs whose alarms ring at one instant go in an order that is neither that of creation nor that of
 * numbers, and that another instant changes. */
static void test_ties_favour_nobody(void **state)
{
	const struct hca_send_wr wr = {.opcode = HCA_WR_SEND};
	struct wire_pkt pkt;
	uint32_t orders[2][16], same = 0, rising[2] = {0, 0};

	(void)state;
	attr.timeout = 1;
	for (uint32_t i = 0; i < 16; i++) {
		init.qpn = i + 2;
		attr.dest_qpn = i;
		struct hca_qp *qp = create();

		raise_to(qp, HCA_QPS_RTS);
		assert_int_equal(hca_qp_post_send(dev, qp, &wr, 0), 0);
	}
	for (uint32_t i = 0; i < 16; i++)
		assert_true(output(0, &pkt));
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 16; i++) {
			assert_true(output((round + 1) * (ps_t)16384000, &pkt));
			orders[round][i] = pkt.dest_qpn;
			rising[round] += i && orders[round][i] > orders[round][i - 1];
		}
	for (uint32_t i = 0; i < 16; i++)
		same += orders[0][i] == orders[1][i];
	assert_in_range(same, 0, 5);
	assert_in_range(rising[0], 3, 12); /* of 15: sorted would be 15 or 0 */
	assert_in_range(rising[1], 3, 12);
}

/* ---- queue pairs of one half: of the other one there is no memory (address sanitizer) ---- */

static const uint32_t to_rtr = ST | AV | MTU | DST | RQP | DRD | MIN,
		      to_rts = ST | TMO | RTY | RNR | SQP | RDA;

static struct hca_qp *half(enum hca_qp_half of, uint32_t qpn)
{
	init.half = of;
	init.qpn = qpn;
	init.cap = of == HCA_REQUESTER ? (struct hca_qp_cap){1, 0, 1, 0, 8}
				       : (struct hca_qp_cap){0, 4, 0, 1, 0};
	attr.max_dest_rd_atomic = 0;
	attr.access = HCA_ACCESS_REMOTE_WRITE;
	return create();
}

static void step(struct hca_qp *qp, enum hca_qp_state state, uint32_t mask, int want)
{
	attr.state = state;
	assert_int_equal(hca_qp_modify(dev, qp, &attr, mask, 0), want);
}

static void arrive(uint8_t opcode, uint32_t qpn, uint32_t psn, uint8_t ecn)
{
	const struct wire_pkt pkt = {
		.opcode = opcode, .dest_qpn = qpn, .psn = psn, .ack_req = true};
	const struct hca_rx rx = {.ecn = ecn};

	hca_input(dev, &pkt, &rx, 0);
}

static void test_halves_that_cannot_be(void **state)
{
	struct hca_qp *qp;

	(void)state;
	init.half = HCA_REQUESTER;
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL); /* it could receive */
	init.half = HCA_RESPONDER;
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL);
	init.half = (enum hca_qp_half)3;
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL);
	init.half = HCA_REQUESTER;
	init.cap = (struct hca_qp_cap){.send_depth = 1};
	init.type = HCA_QPT_UC;
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL);
	init.half = HCA_RESPONDER;
	init.cap.send_depth = 0;
	assert_int_equal(hca_qp_create(dev, &init, &qp), -EINVAL);
}

/* One request is left on @qp. */
static void flush_and_destroy(struct hca_qp *qp, struct hca_cq *cq)
{
	struct hca_wc wc;

	step(qp, HCA_QPS_ERR, ST, 0);
	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	assert_int_equal(wc.status, HCA_WC_WR_FLUSH_ERR);
	step(qp, HCA_QPS_RESET, ST, 0);
	hca_qp_destroy(dev, qp);
}

static void test_a_responder_alone(void **state)
{
	const struct hca_recv_wr recv = {.wr_id = 9};
	const struct hca_send_wr send = {.opcode = HCA_WR_SEND};
	struct hca_qp *qp = half(HCA_RESPONDER, 77);
	struct hca_qp_attr as;
	struct hca_qp_init made;
	struct wire_pkt pkt;
	struct hca_wc wc;

	(void)state;
	step(qp, HCA_QPS_INIT, ST | PKEY | PORT | ACC, 0);
	assert_int_equal(hca_qp_post_recv(dev, qp, &recv, 0), 0);
	attr.max_dest_rd_atomic = 1; /* READs would have to be paced */
	step(qp, HCA_QPS_RTR, to_rtr, -EINVAL);
	attr.max_dest_rd_atomic = 0;
	step(qp, HCA_QPS_RTR, to_rtr, 0);
	step(qp, HCA_QPS_RTS, to_rts, -EINVAL);
	assert_int_equal(hca_qp_post_send(dev, qp, &send, 0), -EINVAL);
	assert_int_equal(hca_qp_grow_send(dev, qp, 4), -EINVAL);
	arrive(WIRE_SEND_ONLY, 77, 0, WIRE_NOT_ECT);
	assert_true(output(0, &pkt));
	assert_int_equal(pkt.opcode, WIRE_ACKNOWLEDGE);
	assert_int_equal(hca_cq_poll(init.recv_cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 9);
	arrive(WIRE_CNP, 77, 0, WIRE_NOT_ECT);
	assert_int_equal(hca_device_counters(dev)->rp_cnp_ignored, 1);
	arrive(WIRE_ACKNOWLEDGE, 77, 0, WIRE_NOT_ECT);
	assert_int_equal(hca_device_counters(dev)->rx_wrong_state, 1);
	hca_qp_query(qp, &as, &made);
	assert_int_equal(made.half, HCA_RESPONDER);
	assert_int_equal(made.cap.recv_depth, 4);
	assert_int_equal(made.cap.send_depth, 0);
	assert_int_equal(hca_qp_packets_retransmitted(qp), 0);
	hca_device_move_epoch(dev, 0);
	assert_int_equal(hca_qp_post_recv(dev, qp, &recv, 0), 0);
	flush_and_destroy(qp, init.recv_cq);
}

/* What came for it and was not polled nobody can poll any more; what is for others stays. */
static void test_destroyed_with_its_completions(void **state)
{
	const struct hca_recv_wr recv = {.wr_id = 9}, other = {.wr_id = 10};
	struct hca_qp *qp = half(HCA_RESPONDER, 77), *stays = half(HCA_RESPONDER, 79);
	struct hca_wc wc;

	(void)state;
	attr.max_dest_rd_atomic = 0;
	step(qp, HCA_QPS_INIT, ST | PKEY | PORT | ACC, 0);
	step(stays, HCA_QPS_INIT, ST | PKEY | PORT | ACC, 0);
	assert_int_equal(hca_qp_post_recv(dev, qp, &recv, 0), 0);
	assert_int_equal(hca_qp_post_recv(dev, stays, &other, 0), 0);
	step(qp, HCA_QPS_RTR, to_rtr, 0);
	step(stays, HCA_QPS_RTR, to_rtr, 0);
	arrive(WIRE_SEND_ONLY, 77, 0, WIRE_NOT_ECT);
	arrive(WIRE_SEND_ONLY, 79, 0, WIRE_NOT_ECT);
	hca_qp_destroy(dev, qp);
	assert_int_equal(hca_cq_poll(init.recv_cq, 1, &wc), 1);
	assert_int_equal(wc.wr_id, 10);
	assert_int_equal(hca_cq_poll(init.recv_cq, 1, &wc), 0);
	hca_qp_destroy(dev, stays);
}

static void test_a_requester_alone(void **state)
{
	const struct hca_recv_wr recv = {.wr_id = 9};
	const struct hca_send_wr send = {.opcode = HCA_WR_SEND, .flags = HCA_SEND_SIGNALED};
	struct hca_qp *qp = half(HCA_REQUESTER, 78);
	struct hca_qp_attr as;
	struct hca_qp_init made;
	struct wire_pkt pkt;
	struct hca_wc wc;

	(void)state;
	step(qp, HCA_QPS_INIT, ST | PKEY | PORT | ACC, 0);
	step(qp, HCA_QPS_RTR, to_rtr, 0);
	step(qp, HCA_QPS_RTS, to_rts, 0);
	assert_int_equal(hca_qp_post_recv(dev, qp, &recv, 0), -EINVAL);
	assert_int_equal(hca_qp_post_send(dev, qp, &send, 0), 0);
	assert_int_equal(hca_qp_grow_send(dev, qp, 4), 0);
	assert_true(output(0, &pkt));
	arrive(WIRE_SEND_ONLY, 78, 0, WIRE_CE);
	arrive(WIRE_READ_REQUEST, 78, 0, WIRE_CE);
	assert_int_equal(hca_device_counters(dev)->rx_wrong_state, 2);
	assert_false(output(0, &pkt));
	arrive(WIRE_ACKNOWLEDGE, 78, 0, WIRE_CE);
	assert_false(output(0, &pkt));
	assert_int_equal(hca_cq_poll(init.send_cq, 1, &wc), 1);
	assert_int_equal(wc.status, HCA_WC_SUCCESS);
	hca_qp_query(qp, &as, &made);
	assert_int_equal(made.half, HCA_REQUESTER);
	assert_int_equal(made.cap.send_depth, 4);
	assert_int_equal(as.retry_cnt, 7);
	assert_int_equal(hca_qp_post_send(dev, qp, &send, 0), 0);
	flush_and_destroy(qp, init.send_cq);
}

/* Their memory is used again, and begins as new each time. */
static void test_halves_come_and_go(void **state)
{
	struct hca_qp *qps[100];

	(void)state;
	for (uint32_t round = 0; round < 3; round++) {
		for (uint32_t i = 0; i < 100; i++) {
			qps[i] = half(i % 2 ? HCA_REQUESTER : HCA_RESPONDER, 100 + i);
			step(qps[i], HCA_QPS_INIT, ST | PKEY | PORT | ACC, 0);
			step(qps[i], HCA_QPS_RTR, to_rtr, 0);
		}
		for (uint32_t i = 0; i < 100; i++)
			hca_qp_destroy(dev, qps[(i * 37 + round) % 100]);
	}
}

/* How many of 64 messages of one packet leave before an ACK has come. */
static uint32_t under_way(struct hca_qp *qp)
{
	const struct hca_send_wr wr = {.opcode = HCA_WR_SEND};
	struct wire_pkt pkt;
	uint32_t count = 0;

	for (uint32_t i = 0; i < 64; i++)
		assert_int_equal(hca_qp_post_send(dev, qp, &wr, 0), 0);
	while (output(count * PS_US, &pkt))
		count++;
	return count;
}

static void test_a_wide_way_is_for_more_packets(void **state)
{
	struct hca_qp *qp;

	(void)state;
	init.cap.send_depth = 64;
	attr.timeout = 20;
	qp = create();
	raise_to(qp, HCA_QPS_RTS);
	hca_qp_widen(qp, 15);
	assert_int_equal(under_way(qp), 16);
	raise_to(qp, HCA_QPS_RTS);
	hca_qp_widen(qp, 40);
	assert_int_equal(under_way(qp), 40);
	raise_to(qp, HCA_QPS_RTS);
	assert_int_equal(under_way(qp), 16);
}

/* Selective repeat has room for what its window says. */
static void test_no_way_is_wider_than_what_is_remembered(void **state)
{
	const enum hca_retransmit repeat = params.profile.retransmit;
	struct hca_qp *qp;

	teardown(state);
	params.profile.retransmit = HCA_SELECTIVE;
	params.profile.rto_low = params.profile.rto_high = PS_MS;
	assert_int_equal(setup(state), 0);
	params.profile.retransmit = repeat;
	init.cap.send_depth = 64;
	qp = create();
	raise_to(qp, HCA_QPS_RTS);
	hca_qp_widen(qp, 40);
	assert_int_equal(under_way(qp), 16);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_every_transition_with_every_attribute), S(test_values_out_of_range),
    S(test_priorities_are_those_of_the_fabric), S(test_what_is_asked_for_is_checked_at_creation),
    S(test_numbers_come_from_key_and_identity), S(test_alarms_of_many_qps),
    S(test_ties_favour_nobody), S(test_halves_that_cannot_be), S(test_a_responder_alone),
    S(test_destroyed_with_its_completions), S(test_a_requester_alone), S(test_halves_come_and_go),
    S(test_a_wide_way_is_for_more_packets), S(test_no_way_is_wider_than_what_is_remembered))
