/* SPDX-License-Identifier: BSD-2-Clause */
/* Two adapters and a network that loses, doubles, delays and reorders: whatever it does, every
 * request ends well, once, in order, and leaves the right bytes and sums. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"
#include "util/alloc.h"
#include "util/rand.h"

#include <errno.h>
#include <string.h>

enum { SIDES = 2, QPS = 3, FLYING_MAX = 512, OPS = 60, MTU = 256, ROOM = 4096, SLOTS = OPS };
enum { SEEDS = 40, DEPTH = 8, DEPTH_MAX = 20, INLINE_MAX = 16 };

struct flying {
	bool used;
	ps_t at;
	uint32_t to;
	uint8_t ecn;
	struct wire_pkt pkt;
	uint8_t bytes[MTU];
};

struct side {
	struct hca_device *dev;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_qp *qps[QPS];
	struct hca_mr *source, *sink, *counter;
	uint64_t sends_done[QPS], recvs_done[QPS], sends_posted[QPS], recvs_posted[QPS];
	uint64_t counters[QPS];
	uint32_t depths[QPS];
	uint8_t *from, *to;
};

static struct side sides[SIDES];
static struct flying flying[FLYING_MAX];
static uint64_t seed, added[SIDES][QPS];
static struct util_rand draws;
static uint8_t memory[SIDES][2][QPS * SLOTS * ROOM];
static struct {
	enum hca_wr_opcode opcode;
	uint32_t length;
} ops[SIDES][QPS][OPS];

static uint32_t draw(uint32_t limit)
{
	return (uint32_t)util_rand_below(&draws, limit);
}

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	struct side *side = world;
	uint32_t qp = wc->qpn & 15;

	(void)cq, (void)now;
	if (wc->status != HCA_WC_SUCCESS)
		fail_msg("seed %llu: status %d", (unsigned long long)seed, wc->status);
	if (wc->opcode >= HCA_WC_RECV)
		assert_int_equal(wc->wr_id, side->recvs_done[qp]++);
	else
		assert_int_equal(wc->wr_id, side->sends_done[qp]++);
}

static void on_async(void *world, void *owner, int event, ps_t now)
{
	(void)world, (void)owner, (void)now;
	assert_int_equal(event, 4); /* COMM_EST */
}

/* Of what is asked for, half is not there. */
static void *take_scarce(struct hca_room *room, size_t bytes)
{
	(void)room;
	return draw(2) ? util_alloc(bytes) : NULL;
}

static void give_back_scarce(struct hca_room *room, void *piece, size_t bytes)
{
	(void)room, (void)bytes;
	util_free(piece);
}

static struct hca_room scarce_room = {take_scarce, give_back_scarce};

static const struct hca_observer observer = {on_wc, unheard_cq_event, unheard_place, on_async};

static struct hca_mr *region(struct side *side, uint64_t iova, void *host, uint64_t length)
{
	const struct hca_mr_params params = {.ops = &hca_mem_host,
					     .iova = iova,
					     .length = length,
					     .access = 15,
					     .address = (uintptr_t)host};
	struct hca_mr *mr = NULL;

	assert_int_equal(hca_mr_create(side->dev, side->pd, &params, &mr), 0);
	return mr;
}

static void connect_qp(struct side *side, uint32_t i, uint32_t s)
{
	const struct hca_qp_init init = {.type = HCA_QPT_RC,
					 .pd = side->pd,
					 .send_cq = side->cq,
					 .recv_cq = side->cq,
					 .cap = {DEPTH, 8, 2, 2, INLINE_MAX},
					 .signal_all = true,
					 .qpn = 0x100 + s * 16 + i};
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT,
				   .access = 15,
				   .mtu = MTU,
				   .dest_qpn = 0x100 + !s * 16 + i,
				   .sq_psn = 0xfffff0 + s * 8 + i,
				   .rq_psn = 0xfffff0 + !s * 8 + i,
				   .timeout = 2,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .min_rnr_timer = 1,
				   .max_rd_atomic = 3,
				   .max_dest_rd_atomic = 3,
				   .path = {.priority = (uint8_t)i}};
	static const uint32_t masks[] = {0, 0x39, 0x129181, 0x12e01};

	side->depths[i] = DEPTH;
	assert_int_equal(hca_qp_create(side->dev, &init, &side->qps[i]), 0);
	for (int state = 1; state <= 3; state++) {
		attr.state = (enum hca_qp_state)state;
		assert_int_equal(hca_qp_modify(side->dev, side->qps[i], &attr, masks[state], 0), 0);
	}
}

static void start(const struct cc_ops *cc, enum hca_retransmit retransmit, struct hca_room *room)
{
	struct hca_device_params params = {
		.key = {seed, 0},
		.observer = &observer,
		.room = room,
		.profile = {.line_rate_bps = 100000000000,
			    .mtu_max = 4096,
			    .retransmit = retransmit,
			    .rto_low = 100 * PS_US,
			    .rto_high = 320 * PS_US,
			    .psn_window = 24,
			    .ack_every = 5,
			    .cc = cc,
			    .cnp_enabled = true,
			    .cnp_interval = 4 * PS_US,
			    .cnp_keeps_marks = seed % 2,
			    .wire_overhead = 66,
			    .qp_max = 4,
			    .cq_max = 1,
			    .mr_max = 4,
			    .pd_max = 1,
			    .wr_max = DEPTH_MAX,
			    .sge_max = 2,
			    .cqe_max = 64,
			    .inline_max = INLINE_MAX,
			    .rd_atomic_max = 3,
			    .ack_priority = 5},
	};

	params.profile.cc_params = cc_dcqcn_params(100000000000);
	params.profile.cc_params.mtu_bytes = MTU;
	params.profile.cc_params.swift = cc_swift_defaults(2 * PS_US);
	params.profile.cc_params.swift.min_cwnd = 1 << 15;
	params.profile.cc_params.dctcp = cc_dctcp_defaults(100000000000);
	/* A lower rate would have READ responses further apart than the ACK timeout. */
	params.profile.cc_params.rate_min_bps = 2000000000;
	memset(sides, 0, sizeof(sides));
	memset(flying, 0, sizeof(flying));
	memset(added, 0, sizeof(added));
	for (uint32_t s = 0; s < SIDES; s++) {
		struct side *side = &sides[s];

		params.key[1] = s;
		params.world = side;
		side->dev = hca_device_create(&params);
		assert_int_equal(hca_pd_create(side->dev, &side->pd), 0);
		assert_int_equal(hca_cq_create(side->dev, 64, NULL, &side->cq), 0);
		for (uint32_t i = 0; i < sizeof(memory[s][0]); i++) {
			memory[s][0][i] = (uint8_t)(i * 7 + i / 251 + s * 101);
			memory[s][1][i] = 0xee;
		}
		side->source = region(side, 0x10000, memory[s][0], sizeof(memory[s][0]));
		side->sink = region(side, 0x10000000, memory[s][1], sizeof(memory[s][1]));
		side->counter = region(side, 0x20000000, side->counters, sizeof(side->counters));
	}
	for (uint32_t s = 0; s < SIDES; s++)
		for (uint32_t i = 0; i < QPS; i++)
			connect_qp(&sides[s], i, s);
}

/* A send queue that is full may grow, whatever is under way. */
static void grow(struct side *side, uint32_t i)
{
	const uint32_t depth = side->depths[i] + draw(4);
	const int ret = hca_qp_grow_send(side->dev, side->qps[i], depth);

	assert_int_equal(ret, depth > DEPTH_MAX ? -EINVAL : 0);
	if (ret == 0)
		side->depths[i] = depth;
}

/* The n-th request of a QP moves bytes between the n-th slots of both sides. */
static void post(uint32_t s, uint32_t i, ps_t now)
{
	static const enum hca_wr_opcode choice[] = {HCA_WR_SEND, HCA_WR_RDMA_WRITE,
						    HCA_WR_RDMA_READ, HCA_WR_ATOMIC_FETCH_AND_ADD,
						    HCA_WR_RDMA_WRITE_WITH_IMM};
	struct side *side = &sides[s], *peer = &sides[!s];
	uint32_t n = (uint32_t)side->sends_posted[i];
	uint64_t slot = (uint64_t)(i * SLOTS + n) * ROOM;
	struct hca_sge sge = {0x10000 + slot, 0, side->source->lkey};
	struct hca_send_wr wr = {.wr_id = n,
				 .sge = &sge,
				 .sge_count = 1,
				 .opcode = choice[draw(5)],
				 .flags = draw(4) ? 0 : HCA_SEND_FENCE,
				 .remote_addr = 0x10000000 + slot,
				 .rkey = peer->sink->rkey};

	sge.length = draw(3) ? draw(ROOM / 2) : draw(4) ? draw(ROOM) : draw(INLINE_MAX + 1);
	if (wr.opcode == HCA_WR_RDMA_READ) {
		wr.remote_addr = 0x10000 + slot;
		wr.rkey = peer->source->rkey;
		sge.addr = 0x10000000 + slot + ROOM / 2;
		sge.lkey = side->sink->lkey;
		sge.length %= ROOM / 2;
	} else if (wr.opcode == HCA_WR_ATOMIC_FETCH_AND_ADD) {
		wr.remote_addr = 0x20000000 + 8 * i;
		wr.rkey = peer->counter->rkey;
		wr.compare_add = n + 1;
		sge.length = 8;
		sge.addr = 0x10000000 + slot + ROOM / 2;
		sge.lkey = side->sink->lkey;
	} else {
		sge.length %= ROOM / 2;
		if (sge.length <= INLINE_MAX) {
			wr.flags |= HCA_SEND_INLINE;
			sge.addr = (uintptr_t)memory[s][0] + slot;
		}
	}
	if (hca_qp_post_send(side->dev, side->qps[i], &wr, now) != 0) {
		if (draw(4) == 0)
			grow(side, i);
		return;
	}
	if (wr.opcode == HCA_WR_ATOMIC_FETCH_AND_ADD)
		added[!s][i] += n + 1;
	ops[s][i][n].opcode = wr.opcode;
	ops[s][i][n].length = sge.length;
	side->sends_posted[i]++;
}

/* Receives in the order in which the far end will use them: it is known what it has posted. */
static void post_recv(uint32_t s, uint32_t i, ps_t now)
{
	struct side *side = &sides[s], *peer = &sides[!s];
	uint32_t seen = 0;

	for (uint32_t n = 0; n < peer->sends_posted[i]; n++) {
		struct hca_sge sge = {0x10000000 + (uint64_t)(i * SLOTS + n) * ROOM, ROOM / 2,
				      side->sink->lkey};
		const struct hca_recv_wr wr = {seen, &sge, 1};

		if (ops[!s][i][n].opcode != HCA_WR_SEND &&
		    ops[!s][i][n].opcode != HCA_WR_RDMA_WRITE_WITH_IMM)
			continue;
		if (seen++ < side->recvs_posted[i])
			continue;
		if (hca_qp_post_recv(side->dev, side->qps[i], &wr, now) == 0)
			side->recvs_posted[i]++;
		return;
	}
}

static void fly(const struct wire_pkt *pkt, uint32_t to, ps_t at)
{
	for (uint32_t i = 0; i < FLYING_MAX; i++) {
		struct flying *f = &flying[i];

		if (f->used)
			continue;
		f->used = true;
		f->at = at;
		f->to = to;
		f->ecn = draw(10) ? WIRE_ECT0 : WIRE_CE;
		f->pkt = *pkt;
		f->pkt.payload = f->bytes;
		memcpy(f->bytes, pkt->payload, pkt->length);
		return;
	}
}

static void network_takes(const struct wire_pkt *pkt, uint32_t to, ps_t now, bool faulty)
{
	ps_t at = now + PS_US;

	if (faulty && draw(100) < 4)
		return;
	if (faulty && draw(100) < 4)
		at += draw(20) * PS_US;
	fly(pkt, to, at);
	if (faulty && draw(100) < 4)
		fly(pkt, to, at + draw(30) * PS_US);
}

static bool all_done(void)
{
	for (uint32_t s = 0; s < SIDES; s++)
		for (uint32_t i = 0; i < QPS; i++)
			if (sides[s].sends_done[i] < OPS)
				return false;
	return true;
}

static void step(ps_t now, bool faulty)
{
	uint8_t bytes[MTU];
	struct wire_pkt pkt = {.payload = bytes};
	struct hca_wc wc[64];
	struct hca_tx tx;

	for (uint32_t i = 0; i < FLYING_MAX; i++) {
		const struct hca_rx rx = {.ecn = flying[i].ecn};

		if (!flying[i].used || flying[i].at > now)
			continue;
		flying[i].used = false;
		hca_input(sides[flying[i].to].dev, &flying[i].pkt, &rx, now);
	}
	for (uint32_t s = 0; s < SIDES; s++) {
		uint32_t i = draw(QPS);

		hca_cq_poll(sides[s].cq, 64, wc);
		if (sides[s].sends_posted[i] < OPS)
			post(s, i, now);
		if (draw(3) == 0)
			post_recv(s, draw(QPS), now);
		pkt.payload = bytes;
		if (hca_output(sides[s].dev, faulty && draw(8) == 0 ? draw(256) : 0xff, &pkt, &tx,
			       now))
			network_takes(&pkt, !s, now, faulty);
	}
}

static void check_bytes(void)
{
	for (uint32_t s = 0; s < SIDES; s++)
		for (uint32_t i = 0; i < QPS; i++) {
			assert_int_equal(sides[s].counters[i], added[s][i]);
			for (uint32_t n = 0; n < OPS; n++) {
				size_t slot = (size_t)(i * SLOTS + n) * ROOM;
				uint32_t length = ops[s][i][n].length;
				bool read = ops[s][i][n].opcode == HCA_WR_RDMA_READ;
				const uint8_t *there = memory[read ? s : !s][1] + slot;

				if (ops[s][i][n].opcode == HCA_WR_ATOMIC_FETCH_AND_ADD)
					continue;
				there += read ? ROOM / 2 : 0;
				assert_memory_equal(there, memory[read ? !s : s][0] + slot, length);
				if (length < ROOM / 2)
					assert_int_equal(there[length], 0xee);
			}
		}
}

/* What is rare takes more seeds. Where messages begin anew some seeds beyond these end with retries
 * exceeded, which is their livelock (about one in a thousand); with the others none of 20,000
 * does. */
static void soak_in(struct hca_room *room, const struct cc_ops *cc, enum hca_retransmit retransmit,
		    uint64_t seeds)
{
	const char *stepped = getenv("SEED_STEP"); /* N: each Nth, where a processor is emulated */
	const uint64_t step_of_seeds = stepped ? strtoull(stepped, NULL, 10) : 1;
	ps_t now = 0;

	assert_true(step_of_seeds > 0);
	for (seed = step_of_seeds; seed <= seeds; seed += step_of_seeds) {
		uint32_t steps = 0;

		draws = (struct util_rand){.seed = seed};
		start(cc, retransmit, room);
		for (now = 0; !all_done(); now += 50 * PS_NS) {
			step(now, steps < 3000);
			if (++steps > 2000000)
				fail_msg("seed %llu hangs", (unsigned long long)seed);
		}
		check_bytes();
		for (uint32_t s = 0; s < SIDES; s++)
			hca_device_destroy(sides[s].dev);
	}
}

static void soak(const struct cc_ops *cc, enum hca_retransmit retransmit, uint64_t seeds)
{
	soak_in(NULL, cc, retransmit, seeds);
}

static void test_every_request_ends_well_in_a_bad_network(void **state)
{
	(void)state;
	soak(&cc_none, HCA_GO_BACK_N, SEEDS);
}

static void test_and_also_when_paced(void **state)
{
	(void)state;
	soak(&cc_dcqcn, HCA_GO_BACK_N, SEEDS);
}

static void test_and_also_when_messages_begin_anew(void **state)
{
	(void)state;
	soak(&cc_none, HCA_GO_BACK_0, SEEDS);
	soak(&cc_dcqcn, HCA_GO_BACK_0, SEEDS);
}

static void test_and_also_when_packets_are_taken_early(void **state)
{
	(void)state;
	soak(&cc_none, HCA_SELECTIVE, 300);
	soak(&cc_dcqcn, HCA_SELECTIVE, SEEDS);
}

static void test_and_also_where_room_is_scarce(void **state)
{
	(void)state;
	soak_in(&scarce_room, &cc_none, HCA_SELECTIVE, SEEDS);
	soak_in(&scarce_room, &cc_swift, HCA_SELECTIVE, SEEDS);
}

static void test_and_also_with_a_window(void **state)
{
	(void)state;
	soak(&cc_swift, HCA_GO_BACK_N, SEEDS);
	soak(&cc_swift, HCA_SELECTIVE, SEEDS);
	soak(&cc_dctcp, HCA_GO_BACK_0, SEEDS);
}

RUN(T(test_every_request_ends_well_in_a_bad_network), T(test_and_also_when_paced),
    T(test_and_also_when_messages_begin_anew), T(test_and_also_when_packets_are_taken_early),
    T(test_and_also_with_a_window), T(test_and_also_where_room_is_scarce))
