/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/fuzz/nic_target.h"

#include "util/check.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	RC_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
		 HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
	UC_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN | HCA_QP_RQ_PSN,
	RC_RTS = HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
		 HCA_QP_SQ_PSN | HCA_QP_MAX_QP_RD_ATOMIC,
	SEND_DEPTH = 64,
	SGES = 16,
	PIECE = 256,	  /* of AREA_LANDS */
	PIECE_USED = 192, /* of it; the rest is a gap */
	ROUNDS_MAX = 20000,
};

const char target_secret[TARGET_SECRET_BYTES + 1] = "\x5bprivate";

void target_ip(unsigned k, uint8_t ret_ip[16])
{
	const unsigned pid = (unsigned)getpid();
	const uint8_t ip[16] = {[10] = 0xff,
				[11] = 0xff,
				[12] = 127,
				[13] = (uint8_t)(64 | (pid >> 14 & 63)),
				[14] = (uint8_t)(pid >> 6),
				[15] = (uint8_t)(pid << 2 | k)};

	memcpy(ret_ip, ip, 16);
}

uint32_t target_qpn(const struct target *t, uint32_t qp)
{
	return hca_qp_qpn(t->qps[qp]);
}

uint64_t target_va(const struct target *t, uint32_t area, uint32_t offset)
{
	return (uintptr_t)t->memory + area * TARGET_AREA + TARGET_MARGIN + offset;
}

/* ---- what there is ---- */

static struct nic *open_nic(unsigned k, enum nic_path path)
{
	struct nic_params params = {
		.addr_count = 1, .shares = true, .loop = NIC_LOOP_EPOLL, .path = path};
	struct nic *nic;

	target_ip(k, params.addr[0]);
	CHECK(nic_open(&params, &nic) == 0);
	CHECK(nic_link_open(nic) == 0); /* without a thread: it goes on where it is told to */
	CHECK(nic->shm != NULL);
	return nic;
}

static void create_regions(struct target *t)
{
	static const uint32_t access[TARGET_AREAS] = {
		[AREA_READABLE] = HCA_ACCESS_REMOTE_READ,
		[AREA_WRITABLE] = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE,
		[AREA_ATOMIC] = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_ATOMIC,
		[AREA_LANDS] = HCA_ACCESS_LOCAL_WRITE,
		[AREA_GONE] = 15,
		[AREA_DOMAIN] = 15};

	t->memory = aligned_alloc(64, TARGET_AREAS * TARGET_AREA);
	t->before = malloc(TARGET_AREAS * TARGET_AREA);
	CHECK(t->memory != NULL && t->before != NULL);
	for (uint32_t i = 0; i < TARGET_AREAS * TARGET_AREA; i++)
		t->memory[i] = (uint8_t)target_secret[i % TARGET_SECRET_BYTES];
	for (uint32_t i = AREA_SOURCE; i < TARGET_AREAS; i++) {
		const struct hca_mr_params params = {.ops = &hca_mem_host,
						     .iova = target_va(t, i, 0),
						     .address = target_va(t, i, 0),
						     .length = TARGET_MIDDLE,
						     .access = access[i]};

		CHECK(hca_mr_create(t->hca, t->pds[i == AREA_DOMAIN], &params, &t->mrs[i]) == 0);
		t->rkeys[i] = t->mrs[i]->rkey;
		if (i == AREA_SOURCE || i == AREA_READABLE || i == AREA_ATOMIC)
			memset(hca_mem_host_at(params.address), (int)i, TARGET_MIDDLE);
	}
	CHECK(hca_mr_destroy(t->hca, t->mrs[AREA_GONE]) == 0);
	memcpy(t->before, t->memory, TARGET_AREAS * TARGET_AREA);
}

static void modify(struct nic *nic, struct hca_qp *qp, const struct hca_qp_attr *attr,
		   uint32_t mask)
{
	CHECK(hca_qp_modify(nic_device(nic), qp, attr, mask, nic_now(nic)) == 0);
}

/* To RTS, with @qpn at host @k, whose first PSN is that of all who send to the target. */
static void connect_qp(struct nic *nic, struct hca_qp *qp, unsigned k, uint32_t qpn,
		       uint8_t timeout, struct wire_path *ret_path)
{
	const enum hca_qp_type type = hca_qp_type_of(qp);
	const bool is_target = k != 0;
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT,
				   .access = 15,
				   .port = 1,
				   .qkey = TARGET_QKEY,
				   .mtu = TARGET_MTU,
				   .dest_qpn = qpn,
				   .rq_psn = is_target ? TARGET_RQ_PSN : TARGET_SQ_PSN,
				   .sq_psn = is_target ? TARGET_SQ_PSN : TARGET_RQ_PSN,
				   .max_dest_rd_atomic = 4,
				   .max_rd_atomic = 4,
				   .min_rnr_timer = 1,
				   .timeout = timeout,
				   .retry_cnt = 3,
				   .rnr_retry = 2,
				   .path = {.ttl = 64}};

	target_ip(k, attr.path.dst_ip);
	nic_lock(nic);
	CHECK(nic_resolve(nic, &attr.path, 1, hca_qp_qpn(qp), qpn) == 0);
	modify(nic, qp, &attr,
	       HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT |
		       (type == HCA_QPT_UD ? HCA_QP_QKEY : HCA_QP_ACCESS_FLAGS));
	attr.state = HCA_QPS_RTR;
	modify(nic, qp, &attr,
	       type == HCA_QPT_RC   ? RC_RTR
	       : type == HCA_QPT_UC ? UC_RTR
				    : HCA_QP_STATE);
	attr.state = HCA_QPS_RTS;
	modify(nic, qp, &attr, type == HCA_QPT_RC ? RC_RTS : HCA_QP_STATE | HCA_QP_SQ_PSN);
	nic_unlock(nic);
	*ret_path = attr.path;
}

static struct hca_qp *create_qp(struct target *t, enum hca_qp_type type, struct hca_cq *cq,
				struct hca_srq *srq)
{
	const struct hca_qp_init init = {.type = type,
					 .pd = t->pds[0],
					 .send_cq = cq,
					 .recv_cq = cq,
					 .srq = srq,
					 .cap = {SEND_DEPTH, SEND_DEPTH, SGES, 2, 0}};
	struct hca_qp *qp;

	CHECK(hca_qp_create(t->hca, &init, &qp) == 0);
	return qp;
}

static struct hca_sge piece_of(struct target *t)
{
	return (struct hca_sge){
		.addr = target_va(t, AREA_LANDS, t->landings++ % (TARGET_MIDDLE / PIECE) * PIECE),
		.length = PIECE_USED,
		.lkey = t->mrs[AREA_LANDS]->lkey};
}

void target_open(struct target *t, uint32_t peer_qpn)
{
	static const enum hca_qp_type types[PEER_QPS] = {HCA_QPT_RC, HCA_QPT_RC, HCA_QPT_UC,
							 HCA_QPT_UD, HCA_QPT_RC};
	struct hca_srq_init srq = {.depth = SEND_DEPTH, .sge_max = 2};
	struct wire_path others;

	*t = (struct target){.nic = open_nic(0, NIC_PATH_AUTO)};
	t->hca = nic_device(t->nic);
	for (int i = 0; i < 2; i++)
		CHECK(hca_pd_create(t->hca, &t->pds[i]) == 0);
	CHECK(hca_cq_create(t->hca, TARGET_WRS, NULL, &t->cq) == 0);
	CHECK(hca_cq_create(t->hca, 4, NULL, &t->others_cq) == 0);
	srq.pd = t->pds[0];
	CHECK(hca_srq_create(t->hca, &srq, &t->srq) == 0);
	create_regions(t);
	for (uint32_t i = 0; i < PEER_QPS; i++) {
		const bool is_others = i == QP_OTHERS;

		t->qps[i] = create_qp(t, types[i], is_others ? t->others_cq : t->cq,
				      i == QP_SHARES ? t->srq : NULL);
		/* One that goes on for ever, and one that repeats and gives up soon. */
		connect_qp(t->nic, t->qps[i], is_others ? 2 : 1, peer_qpn, i == QP_SHARES ? 1 : 0,
			   is_others ? &others : &t->path);
	}
	CHECK(hca_qp_post_recv(t->hca, t->qps[QP_OTHERS], &(struct hca_recv_wr){.sge_count = 0},
			       nic_now(t->nic)) == 0);
}

/* ---- what it does ---- */

void target_post(struct target *t, uint32_t qp, enum hca_wr_opcode opcode, uint32_t pieces,
		 uint32_t peer_qpn)
{
	const bool is_atomic =
		opcode == HCA_WR_ATOMIC_FETCH_AND_ADD || opcode == HCA_WR_ATOMIC_CMP_AND_SWP;
	struct hca_sge sges[SGES];
	struct hca_send_wr wr = {.wr_id = t->posted,
				 .opcode = opcode,
				 .flags = HCA_SEND_SIGNALED,
				 .sge = sges,
				 .sge_count = pieces,
				 .remote_addr = 0x1000,
				 .rkey = 7,
				 .path = qp == QP_UD ? &t->path : NULL,
				 .dest_qpn = peer_qpn,
				 .qkey = TARGET_QKEY};

	CHECK(pieces <= SGES);
	if (opcode == HCA_WR_FLUSH) {
		wr.sge_count = 0;
		wr.compare_add = 64;
		wr.swap = WIRE_FETH_GLOBAL;
	}
	for (uint32_t i = 0; i < pieces; i++)
		sges[i] = (struct hca_sge){.addr = target_va(t, AREA_SOURCE, 0),
					   .length = qp == QP_UD ? 16 : TARGET_MIDDLE,
					   .lkey = t->mrs[AREA_SOURCE]->lkey};
	if (opcode == HCA_WR_RDMA_READ || is_atomic) {
		wr.sge_count = is_atomic || pieces == 1 ? 1 : 2;
		sges[0] = piece_of(t);
		sges[1] = piece_of(t);
	}
	if (is_atomic)
		sges[0].length = 8;
	if (t->posted == TARGET_WRS || qp == QP_OTHERS ||
	    hca_qp_post_send(t->hca, t->qps[qp], &wr, nic_now(t->nic)) != 0)
		return;
	t->posted++;
}

void target_post_recv(struct target *t, uint32_t qp)
{
	const struct hca_sge sges[2] = {piece_of(t), piece_of(t)};
	const struct hca_recv_wr wr = {.wr_id = t->posted, .sge = sges, .sge_count = 2};

	if (t->posted == TARGET_WRS || qp == QP_OTHERS ||
	    (qp == QP_SHARES ? hca_srq_post_recv(t->hca, t->srq, &wr)
			     : hca_qp_post_recv(t->hca, t->qps[qp], &wr, nic_now(t->nic))) != 0)
		return;
	t->posted++;
}

static bool is_status(enum hca_wc_status status)
{
	return status <= HCA_WC_FATAL_ERR && status != 3 && status != 14 && status != 15 &&
	       status != 17 && status != 18;
}

static bool is_own_qpn(const struct target *t, uint32_t qpn)
{
	for (uint32_t i = 0; i < QP_OTHERS; i++)
		if (target_qpn(t, i) == qpn)
			return true;
	return false;
}

void target_poll(struct target *t)
{
	struct hca_wc wc;

	while (hca_cq_poll(t->cq, 1, &wc) == 1) {
		CHECK(is_status(wc.status));
		CHECK(is_own_qpn(t, wc.qpn));
		CHECK(wc.wr_id < t->posted);
		CHECK(t->done[wc.wr_id] == 0);
		t->done[wc.wr_id] = 1;
		if (wc.status == HCA_WC_SUCCESS && wc.opcode == HCA_WC_RECV)
			CHECK(wc.byte_len <= 2 * PIECE_USED);
	}
}

/* ---- what has to hold ---- */

static bool may_change(uint32_t area, uint32_t offset)
{
	if (offset < TARGET_MARGIN || offset >= TARGET_MARGIN + TARGET_MIDDLE)
		return false;
	return area == AREA_WRITABLE || area == AREA_ATOMIC ||
	       (area == AREA_LANDS && (offset - TARGET_MARGIN) % PIECE < PIECE_USED);
}

static void check_memory(const struct target *t)
{
	for (uint32_t i = 0; i < TARGET_AREAS * TARGET_AREA; i++)
		CHECK(t->memory[i] == t->before[i] || may_change(i / TARGET_AREA, i % TARGET_AREA));
}

/* The other peer's queue pair is as it was. */
static void check_others(const struct target *t)
{
	CHECK(hca_cq_is_empty(t->others_cq));
	CHECK(hca_qp_state_of(t->hca, target_qpn(t, QP_OTHERS)) == HCA_QPS_RTS);
}

struct another {
	struct target own; /* nic, hca, pds[0] and cq */
	struct hca_qp *qp, *at_target;
	uint8_t bytes[64];
};

static void another_open(struct another *a, struct target *t)
{
	struct wire_path path;

	a->own.nic = open_nic(2, NIC_PATH_SHM);
	a->own.hca = nic_device(a->own.nic);
	CHECK(hca_pd_create(a->own.hca, &a->own.pds[0]) == 0);
	CHECK(hca_cq_create(a->own.hca, 4, NULL, &a->own.cq) == 0);
	a->qp = create_qp(&a->own, HCA_QPT_RC, a->own.cq, NULL);
	a->at_target = create_qp(t, HCA_QPT_RC, t->others_cq, NULL);
	connect_qp(a->own.nic, a->qp, 0, hca_qp_qpn(a->at_target), 0, &path);
	connect_qp(t->nic, a->at_target, 2, hca_qp_qpn(a->qp), 0, &path);
}

/* One message of 64 bytes. */
static void another_post(struct another *a, struct target *t)
{
	const struct hca_mr_params params = {.ops = &hca_mem_host,
					     .iova = (uintptr_t)a->bytes,
					     .address = (uintptr_t)a->bytes,
					     .length = sizeof(a->bytes)};
	const struct hca_sge into = piece_of(t);
	const struct hca_recv_wr recv = {.wr_id = 1, .sge = &into, .sge_count = 1};
	struct hca_mr *mr;

	memset(a->bytes, 'h', sizeof(a->bytes));
	CHECK(hca_mr_create(a->own.hca, a->own.pds[0], &params, &mr) == 0);
	CHECK(hca_qp_post_recv(t->hca, a->at_target, &recv, nic_now(t->nic)) == 0);
	CHECK(hca_qp_post_send(
		      a->own.hca, a->qp,
		      &(struct hca_send_wr){.wr_id = 2,
					    .opcode = HCA_WR_SEND,
					    .flags = HCA_SEND_SIGNALED,
					    .sge = &(struct hca_sge){(uintptr_t)a->bytes,
								     sizeof(a->bytes), mr->lkey},
					    .sge_count = 1},
		      nic_now(a->own.nic)) == 0);
	for (int i = 0;
	     i < ROUNDS_MAX && (hca_cq_is_empty(t->others_cq) || hca_cq_is_empty(a->own.cq)); i++) {
		(void)nic_turn(a->own.nic, 20000);
		(void)nic_turn(t->nic, 20000);
	}
	CHECK(memcmp(hca_mem_host_at(into.addr), a->bytes, sizeof(a->bytes)) == 0);
}

void target_serve_another(struct target *t)
{
	struct another a = {.qp = NULL};
	struct hca_wc wc;

	target_poll(t);
	check_others(t);
	another_open(&a, t);
	another_post(&a, t);
	CHECK(hca_cq_poll(t->others_cq, 1, &wc) == 1);
	CHECK(wc.status == HCA_WC_SUCCESS && wc.wr_id == 1 && wc.byte_len == sizeof(a.bytes));
	CHECK(hca_cq_poll(a.own.cq, 1, &wc) == 1);
	CHECK(wc.status == HCA_WC_SUCCESS && wc.wr_id == 2);
	check_others(t);
	nic_close(a.own.nic);
}

void target_close(struct target *t)
{
	target_poll(t);
	check_memory(t);
	nic_close(t->nic);
	free(t->memory);
	free(t->before);
}
