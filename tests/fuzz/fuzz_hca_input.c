/* SPDX-License-Identifier: BSD-2-Clause */
/* One adapter among hostile peers: packets of any kind at any time to queue pairs in several
 * states, between posts, changes of state, regions that vanish and ports that are paused. Every
 * work request completes at most once, a silent adapter does not ask to be called at once, and no
 * packet carries more than the MTU. The bytes are a list of steps; the last one chooses how the
 * adapter retransmits, what congestion control it has, and whether there are memory windows. */
#include "transport/hca/device.h"
#include "transport/wire/psn.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

/* Three queue pairs of RC, one of UC and one of UD; where they share receives the first and the
 * last have those of one queue, and the second and the third are of XRC, where the adapter has
 * that. */
enum {
	QPS = 5,
	UC = 3,
	UD = 4,
	MRS = 3,
	MWS = 2,
	MTU = 256,
	ROOM = 2048,
	WRS = 4096,
	FIRST_QPN = 0x10,
	STEPS_MAX = 600
};
enum { RIGHTS = 15 | HCA_ACCESS_MW_BIND | HCA_ACCESS_FLUSH_GLOBAL | HCA_ACCESS_FLUSH_PERSISTENT };
enum {
	QP_MASK_INIT = 0x39,
	QP_MASK_RTR = 0x129181,
	QP_MASK_RTS = 0x12e01,
	UC_MASK_RTR = 0x101181,
	UD_MASK_INIT = 0x71,
	UNRELIABLE_MASK_RTS = 0x10001,
	XRC_MASK_RTS = 0x10201,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct world {
	const uint8_t *at, *end;
	struct hca_device *dev;
	struct hca_pd *pds[2];
	struct hca_cq *cq;
	struct hca_qp *qps[QPS];
	struct hca_mr *mrs[MRS];
	struct hca_mw *mws[MWS]; /* one of each type, where it @has_windows */
	uint8_t *memory, *payload;
	uint8_t done[WRS]; /* by wr_id */
	uint32_t posted;
	bool shares, has_xrc, has_windows;
	struct hca_srq *srq, *xrc_srq;
	struct hca_xrcd *xrcd;
	ps_t now;
};

static uint32_t take(struct world *w, uint32_t bytes)
{
	uint32_t value = 0;

	for (; bytes > 0 && w->at < w->end; bytes--)
		value = value << 8 | *w->at++;
	return value;
}

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	struct world *w = world;

	(void)cq, (void)now;
	CHECK(wc->wr_id < w->posted);
	CHECK(w->done[wc->wr_id] == 0);
	w->done[wc->wr_id] = 1;
}

static void on_cq_event(void *world, void *owner, ps_t now)
{
	(void)world, (void)owner, (void)now;
}

static void on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		     bool is_word, ps_t now)
{
	(void)world, (void)is_word, (void)now;
	CHECK(offset <= mr->length);
	CHECK(length <= mr->length - offset);
}

static void on_async(void *world, void *owner, int event, ps_t now)
{
	(void)world, (void)owner, (void)event, (void)now;
}

static const struct hca_observer observer = {on_wc, on_cq_event, on_place, on_async};

/* Two regions of bytes, the second of another protection domain, and a synthetic one. */
static void create_mr(struct world *w, uint32_t i)
{
	const struct hca_mr_params params = {
		.ops = i == 2 ? &hca_mem_synthetic : &hca_mem_host,
		.iova = i == 1 ? UINT64_MAX - ROOM + 1 : 0x1000,
		.length = ROOM,
		.access = w->has_windows && i == 0 ? RIGHTS : 15,
		.address = i == 2 ? 0 : (uintptr_t)(w->memory + i * ROOM),
		.stream = 7,
	};

	if (!w->mrs[i])
		CHECK(hca_mr_create(w->dev, w->pds[i == 1], &params, &w->mrs[i]) == 0);
}

static void destroy_mr(struct world *w, uint32_t i)
{
	if (!w->mrs[i])
		return;
	if (hca_mr_destroy(w->dev, w->mrs[i]) == 0)
		w->mrs[i] = NULL;
	else
		CHECK(w->has_windows);
}

static void create_windows(struct world *w)
{
	for (uint32_t i = 0; w->has_windows && i < MWS; i++)
		CHECK(hca_mw_create(w->dev, w->pds[0], i ? HCA_MW_TYPE_2 : HCA_MW_TYPE_1,
				    &w->mws[i]) == 0);
}

static void modify(struct world *w, uint32_t i, uint32_t state)
{
	static const uint32_t masks[][7] = {
		{1, QP_MASK_INIT, QP_MASK_RTR, QP_MASK_RTS, 1, 1, 1},
		{1, QP_MASK_INIT, UC_MASK_RTR, UNRELIABLE_MASK_RTS, 1, 1, 1},
		{1, UD_MASK_INIT, 1, UNRELIABLE_MASK_RTS, 1, 1, 1},
		{1, QP_MASK_INIT, UC_MASK_RTR, QP_MASK_RTS, 1, 1, 1},
		{1, QP_MASK_INIT, QP_MASK_RTR, XRC_MASK_RTS, 1, 1, 1},
	};
	const uint32_t kind = i >= UC ? i - UC + 1 : w->has_xrc && i > 0 ? i + 2 : 0;
	const struct hca_qp_attr attr = {
		.state = (enum hca_qp_state)state,
		.access = w->has_windows ? RIGHTS : 15,
		.mtu = MTU,
		.dest_qpn = 0x22,
		.sq_psn = 0xfffffe,
		.rq_psn = 0xfffffe,
		.timeout = (uint8_t)i,
		.retry_cnt = 3,
		.rnr_retry = i == 1 ? 7 : 1,
		.min_rnr_timer = 1,
		.max_rd_atomic = 2,
		.max_dest_rd_atomic = (uint8_t)(i < UC ? 3 - i : 0),
		.path = {.priority = (uint8_t)i},
	};

	/* With what the state needs, or as one who has nothing to say but the state. */
	if (hca_qp_modify(w->dev, w->qps[i], &attr, masks[kind][state % 7], w->now) != 0)
		(void)hca_qp_modify(w->dev, w->qps[i], &attr, 1, w->now);
}

static void create_xrc_srq(struct world *w)
{
	const struct hca_srq_init init = {
		.pd = w->pds[0], .depth = 6, .sge_max = 3, .xrcd = w->xrcd, .cq = w->cq};

	CHECK(hca_srq_create(w->dev, &init, &w->xrc_srq) == 0);
}

static void create_shared(struct world *w)
{
	const struct hca_srq_init init = {.pd = w->pds[0], .depth = 6, .sge_max = 3};
	const struct hca_xrcd_init domain = {.is_shared = false};

	CHECK(hca_srq_create(w->dev, &init, &w->srq) == 0);
	w->has_xrc = hca_xrcd_open(w->dev, &domain, &w->xrcd) == 0;
	if (w->has_xrc)
		create_xrc_srq(w);
}

static void create_qp(struct world *w, uint32_t i)
{
	struct hca_qp_init init = {.type = i == UC   ? HCA_QPT_UC
					   : i == UD ? HCA_QPT_UD
						     : HCA_QPT_RC,
				   .pd = w->pds[0],
				   .send_cq = w->cq,
				   .recv_cq = w->cq,
				   .cap = {5, 3, 3, 3, 32},
				   .signal_all = i != 1,
				   .qpn = FIRST_QPN + i};

	if (w->shares && (i == 0 || i == UD))
		init.srq = w->srq;
	if (w->has_xrc && i == 1) {
		init.type = HCA_QPT_XRC_SEND;
		init.half = HCA_REQUESTER;
		init.recv_cq = NULL;
		init.cap.recv_depth = init.cap.recv_sge_max = 0;
	} else if (w->has_xrc && i == 2) {
		init = (struct hca_qp_init){
			.type = HCA_QPT_XRC_RECV, .xrcd = w->xrcd, .qpn = FIRST_QPN + i};
	}
	CHECK(hca_qp_create(w->dev, &init, &w->qps[i]) == 0);
	for (uint32_t state = HCA_QPS_INIT; state <= HCA_QPS_RTS - (i == 2); state++)
		modify(w, i, state);
}

/* Mostly one that exists. */
static void choose_place(struct world *w, uint64_t *ret_va, uint32_t *ret_key)
{
	uint32_t choice = take(w, 1);
	const struct hca_mr *mr = w->mrs[choice % MRS];

	*ret_va = 0x1000 + take(w, 2) % (ROOM + 256);
	*ret_key = choice << 24;
	if (mr) {
		*ret_va += mr->iova - 0x1000;
		*ret_key = mr->rkey ^ (choice >> 7);
	}
	if (w->has_windows && choice & 0x20)
		*ret_key = hca_mw_rkey(w->mws[choice & 1]) ^ (choice >> 7);
	if (choice & 0x40)
		*ret_va = (uint64_t)take(w, 4) << 32 | take(w, 4);
}

static void input(struct world *w)
{
	struct wire_pkt pkt = {.opcode = (uint8_t)take(w, 1)};
	uint32_t flags = take(w, 1), length = take(w, 1);
	const struct wire_path path = {.src_ip = {[10] = 0xff, [11] = 0xff}, .ttl = 64};
	struct hca_rx rx = {.ecn = (uint8_t)(flags >> 6)};
	static const uint16_t lengths[] = {0, 1, MTU - 1, MTU, MTU + 1, 8, WIRE_MTU_MAX, 65535};

	pkt.dest_qpn = FIRST_QPN + (flags & 3);
	if ((pkt.opcode & 0xe0) == WIRE_UD && flags & 8)
		pkt.dest_qpn = FIRST_QPN + UD;
	pkt.solicited = flags & 4;
	pkt.ack_req = flags & 8;
	pkt.synthetic = flags & 16;
	pkt.psn = flags & 32 ? take(w, 3) : (0xfffffe + take(w, 1)) & WIRE_U24_MAX;
	pkt.length = length < 8 ? lengths[length] : (uint16_t)length;
	choose_place(w, &pkt.va, &pkt.rkey);
	pkt.dma_length = length & 128 ? take(w, 4) : take(w, 2);
	if (length == 9) /* what a packet of that many bytes claims to be */
		pkt.dma_length = pkt.length;
	pkt.word = take(w, 4);
	if (pkt.synthetic)
		pkt.pattern = wire_pattern(7, pkt.va - 0x1000);
	if (wire_ops[pkt.opcode].seth ||
	    wire_ops[pkt.opcode].sacketh) { /* fields of 24 and 32 bits */
		pkt.rkey &= WIRE_U24_MAX;
		pkt.va &= UINT32_MAX;
	}
	pkt.fecn = (pkt.becn = flags & 1 && pkt.opcode == WIRE_CNP) || length == 10;
	pkt.has_rare = pkt.opcode == WIRE_COMPARE_SWAP || pkt.opcode == WIRE_FETCH_ADD;
	if (length % 16 == 11) { /* in-band telemetry */
		pkt.has_rare = true;
		pkt.rare = (struct wire_rare){.pkey = WIRE_PKEY_DEFAULT, .has_int = true};
		pkt.rare.hop_count = (uint8_t)(take(w, 1) % (WIRE_INT_HOPS + 1));
		for (uint32_t i = 0; i < pkt.rare.hop_count; i++)
			pkt.rare.hops[i] = (uint64_t)take(w, 4) << 32 | take(w, 4);
	} else if (pkt.has_rare)
		pkt.rare = (struct wire_rare){.swap_add = take(w, 1),
					      .compare = take(w, 1),
					      .pkey = flags & 4 ? 0x7fff : WIRE_PKEY_DEFAULT};
	if ((pkt.opcode & 0xe0) == WIRE_UD && !(flags & 16)) {
		pkt.has_rare = true;
		pkt.rare =
			(struct wire_rare){.qkey = (flags & 0xc4) == 4, .pkey = WIRE_PKEY_DEFAULT};
		rx.path = flags & 4 ? NULL : &path;
	}
	if (w->has_xrc && (pkt.opcode & 0xe0) == WIRE_XRC && !(flags & 16)) {
		pkt.has_rare = true;
		pkt.rare.pkey = WIRE_PKEY_DEFAULT;
		pkt.rare.xrc_srqn = hca_srq_number(w->xrc_srq) ^ (length == 12);
	}
	pkt.payload = malloc(pkt.length ? pkt.length : 1);
	CHECK(pkt.payload != NULL);
	memset(pkt.payload, 'x', pkt.length);
	hca_input(w->dev, &pkt, &rx, w->now);
	free(pkt.payload);
}

static void output(struct world *w, uint32_t count, uint32_t priorities)
{
	struct wire_pkt pkt = {.payload = w->payload};
	struct hca_tx tx;
	int silent = 0;

	for (; count > 0; count--) {
		if (!hca_output(w->dev, priorities, &pkt, &tx, w->now)) {
			if (hca_next_at(w->dev, priorities) > w->now)
				return;
			/* What it did may have work at this very instant: a completion queue that
			 * overflows fails its queue pairs. */
			CHECK(silent++ < 2);
			continue;
		}
		silent = 0;
		CHECK(pkt.length <= MTU);
		CHECK(pkt.psn <= WIRE_U24_MAX);
		CHECK(pkt.dest_qpn == 0x22);
		pkt.payload = w->payload;
	}
}

/* Returns how many. */
static uint32_t choose_sges(struct world *w, struct hca_sge *ret_sge, bool atomic)
{
	uint32_t choice = take(w, 1), count = choice & 3;

	for (uint32_t i = 0; i < count; i++) {
		choose_place(w, &ret_sge[i].addr, &ret_sge[i].lkey);
		ret_sge[i].length = choice & 128 ? take(w, 4) : take(w, 1) * 4;
	}
	if (atomic && count > 0)
		ret_sge[0].length = 8;
	return atomic && count > 1 ? 1 : count;
}

/* A window on some of a region, mostly of the one that may be bound. */
static void choose_window(struct world *w, struct hca_send_wr *wr)
{
	const uint32_t choice = take(w, 1);
	const struct hca_mr *mr = w->mrs[choice & 64 ? 1 : 0];

	wr->imm = hca_mw_rkey(w->mws[choice & 1]);
	wr->rkey = (wr->imm & ~0xffu) | ((wr->imm + 1) & 0xff);
	wr->compare_add = choice & 128 ? 0 : 1 + take(w, 2) % ROOM;
	wr->swap = (uint64_t)(choice >> 1 & 15) << 32 | (mr ? mr->lkey : 7);
	wr->remote_addr = mr ? mr->iova : 0;
	wr->sge_count = 0;
}

static void post(struct world *w, uint32_t i)
{
	static const enum hca_wr_opcode annex[] = {HCA_WR_FLUSH, HCA_WR_ATOMIC_WRITE};
	const uint32_t opcode = take(w, 1) % 12;
	struct hca_sge sge[3] = {{0}};
	struct wire_path path = {.ttl = 64};
	struct hca_send_wr wr = {.wr_id = w->posted, .sge = sge, .compare_add = 1, .swap = 2};

	wr.opcode = opcode < 10 ? (enum hca_wr_opcode)opcode : annex[opcode - 10];
	wr.flags = take(w, 1) & 7; /* INLINE would need addresses that exist */
	wr.sge_count = choose_sges(w, sge,
				   wr.opcode == HCA_WR_ATOMIC_CMP_AND_SWP ||
					   wr.opcode == HCA_WR_ATOMIC_FETCH_AND_ADD);
	choose_place(w, &wr.remote_addr, &wr.rkey);
	wr.imm = wr.rkey;
	path.priority = wr.rkey & 7;
	wr.path = i == UD ? &path : NULL;
	wr.dest_qpn = 0x22;
	wr.srqn = wr.rkey >> 7;
	if (w->has_windows && wr.opcode == HCA_WR_BIND_MW)
		choose_window(w, &wr);
	if (wr.opcode == HCA_WR_FLUSH) {
		wr.sge_count = 0;
		wr.compare_add = 8;
		wr.swap = wr.rkey & 3;
	}
	w->posted++;
	if (hca_qp_post_send(w->dev, w->qps[i], &wr, w->now) != 0)
		w->posted--;
}

static void post_recv(struct world *w, uint32_t i)
{
	struct hca_sge sge[3] = {{0}};
	struct hca_recv_wr wr = {.wr_id = w->posted, .sge = sge};
	int done;

	wr.sge_count = choose_sges(w, sge, false);
	w->posted++;
	if (w->shares && i == 0)
		done = hca_srq_post_recv(w->dev, w->srq, &wr);
	else if (w->has_xrc && i == 2)
		done = hca_srq_post_recv(w->dev, w->xrc_srq, &wr);
	else
		done = hca_qp_post_recv(w->dev, w->qps[i], &wr, w->now);
	if (done != 0)
		w->posted--;
}

static void step(struct world *w)
{
	/* Mostly RC, as when there was nothing else: what the corpus found then it finds now. */
	uint32_t choice = take(w, 1), i = choice / 16 == 14   ? UC
					  : choice / 16 == 15 ? UD
							      : choice / 16 % UC;
	struct hca_wc wc[4];

	switch (choice % 16) {
	case 0:
		output(w, take(w, 1), 0xff);
		break;
	case 1:
		w->now += (ps_t)1000 << take(w, 1) % 32;
		break;
	case 2:
		post(w, i);
		break;
	case 3:
		post_recv(w, i);
		break;
	case 4:
		modify(w, i, take(w, 1) % 8);
		break;
	case 5:
		destroy_mr(w, i % MRS);
		break;
	case 6:
		create_mr(w, i % MRS);
		break;
	case 7:
		if (w->has_xrc && i == 2) {
			CHECK(hca_srq_destroy(w->dev, w->xrc_srq) == 0);
			create_xrc_srq(w);
			break;
		}
		hca_qp_destroy(w->dev, w->qps[i]);
		create_qp(w, i);
		break;
	case 8:
		(void)hca_cq_poll(w->cq, 4, wc);
		hca_cq_arm(w->cq, HCA_CQ_ARM_ANY);
		break;
	case 9:
		output(w, 3, take(w, 1));
		break;
	case 10:
		hca_advance(w->dev, w->now);
		break;
	default:
		input(w);
	}
}

static void start(struct world *w, uint8_t choice)
{
	static const enum hca_retransmit retransmits[] = {HCA_GO_BACK_N, HCA_SELECTIVE,
							  HCA_GO_BACK_0};
	static const struct cc_ops *const controls[] = {&cc_dcqcn, &cc_hpcc, &cc_swift, &cc_timely};
	struct hca_device_params params = {
		.key = {1, 2},
		.observer = &observer,
		.world = w,
		.profile = {.line_rate_bps = 100000000000,
			    .mtu_max = MTU,
			    .psn_window = 8,
			    .ack_every = 3,
			    .cc = &cc_dcqcn,
			    .cc_params = cc_dcqcn_params(100000000000),
			    .cnp_enabled = true,
			    .cnp_interval = 4 * PS_US,
			    .wire_overhead = 66,
			    .qp_max = QPS,
			    .cq_max = 1,
			    .mr_max = MRS,
			    .pd_max = 2,
			    .srq_max = 2,
			    .wr_max = 8,
			    .sge_max = 3,
			    .cqe_max = 64,
			    .inline_max = 32,
			    .rd_atomic_max = 4},
	};

	params.profile.retransmit = retransmits[choice % 3];
	params.profile.rto_low = 100 * PS_US;
	params.profile.rto_high = 320 * PS_US;
	params.profile.cc = controls[choice / 3 % 4];
	params.profile.cc_params.hpcc = cc_hpcc_defaults(100000000000, 10 * PS_US);
	params.profile.cc_params.swift = cc_swift_defaults(10 * PS_US);
	params.profile.cc_params.timely = cc_timely_defaults(false);
	params.profile.cc_params.mtu_bytes = MTU;
	w->has_windows = choice / 24 % 2 == 1;
	if (w->has_windows && choice / 48 % 2 == 1)
		params.profile.statuses = HCA_STATUSES_RXE;
	w->dev = hca_device_create(&params);
	CHECK(w->dev != NULL);
	w->memory = calloc(2, ROOM);
	w->payload = malloc(MTU);
	CHECK(w->memory != NULL);
	CHECK(w->payload != NULL);
	CHECK(hca_pd_create(w->dev, &w->pds[0]) == 0);
	CHECK(hca_pd_create(w->dev, &w->pds[1]) == 0);
	CHECK(hca_cq_create(w->dev, 64, NULL, &w->cq) == 0);
	for (uint32_t i = 0; i < MRS; i++)
		create_mr(w, i);
	create_windows(w);
	w->shares = choice / 12 % 2 == 1;
	if (w->shares)
		create_shared(w);
	for (uint32_t i = 0; i < QPS; i++)
		create_qp(w, i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct world w = {.at = data, .end = data + size};

	start(&w, size > 0 ? data[size - 1] : 0);
	for (int i = 0; i < STEPS_MAX && w.at < w.end && w.posted < WRS; i++)
		step(&w);
	for (int i = 0; i < 4; i++, w.now += PS_MS)
		output(&w, 64, 0xff);
	hca_device_destroy(w.dev);
	free(w.memory);
	free(w.payload);
	return 0;
}
