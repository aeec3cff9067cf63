/* SPDX-License-Identifier: BSD-2-Clause */

/* Two hundred calls that cannot be served, one after the other: each says so as the manual pages of
 * rdma-core have it - an errno returned, or NULL or -1 with errno set - and nothing comes of it:
 * all objects still work at the end. A line for each that answers otherwise, and "bad calls N,
 * wrong M". */
#define _GNU_SOURCE /* strerrorname_np() */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verbena/program.h>

enum {
	BYTES = 8192,
	REMOTE = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
};
enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		 IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
	UC_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
	UD_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
	UD_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN,
};

struct bad {
	const struct vb_prog *prog;
	struct ibv_context *context;
	struct ibv_device_attr limits;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp_attr attr; /* good for every transition */
	char *memory;
	int count, wrong;
};

static void judge(struct bad *bad, const char *what, unsigned long detail, int wanted, int found)
{
	char line[200];

	bad->count++;
	if (wanted == found)
		return;
	bad->wrong++;
	snprintf(line, sizeof(line), "%s %#lx: found %s, expected %s", what, detail,
		 found ? strerrorname_np(found) : "success", strerrorname_np(wanted));
	bad->prog->say(bad->prog, line);
}

/* Of a call that gives a pointer. */
static void none(struct bad *bad, const char *what, unsigned long detail, int wanted,
		 const void *given)
{
	judge(bad, what, detail, wanted, given ? 0 : errno ? errno : -1);
	errno = 0;
}

/* ---- queue pairs ---- */

static struct ibv_qp *make_qp(struct bad *bad, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr init = {
		.qp_type = type, .send_cq = bad->cq, .recv_cq = bad->cq, .cap = {4, 4, 2, 2, 64}};

	return ibv_create_qp(bad->pd, &init);
}

static int go(struct bad *bad, struct ibv_qp *qp, enum ibv_qp_state state, int mask)
{
	struct ibv_qp_attr attr = bad->attr;

	attr.qp_state = state;
	return ibv_modify_qp(qp, &attr, mask);
}

static const int masks_rc[] = {IBV_QP_STATE, TO_INIT,	   TO_RTR,	TO_RTS,
			       IBV_QP_STATE, IBV_QP_STATE, IBV_QP_STATE};
static const int masks_uc[] = {IBV_QP_STATE, TO_INIT,	   UC_RTR,	UD_RTS,
			       IBV_QP_STATE, IBV_QP_STATE, IBV_QP_STATE};
static const int masks_ud[] = {IBV_QP_STATE, UD_INIT,	   IBV_QP_STATE, UD_RTS,
			       IBV_QP_STATE, IBV_QP_STATE, IBV_QP_STATE};

/* To @state on the shortest way. */
static void bring(struct bad *bad, struct ibv_qp *qp, const int *masks, enum ibv_qp_state state)
{
	int ret = go(bad, qp, IBV_QPS_RESET, IBV_QP_STATE);
	const int last = state == IBV_QPS_SQD	? IBV_QPS_RTS
			 : state == IBV_QPS_ERR ? IBV_QPS_RESET
						: (int)state;

	for (int s = IBV_QPS_INIT; ret == 0 && s <= last; s++)
		ret = go(bad, qp, (enum ibv_qp_state)s, masks[s]);
	if (ret == 0 && last != (int)state)
		ret = go(bad, qp, state, IBV_QP_STATE);
	if (ret != 0)
		bad->prog->say(bad->prog, "a queue pair does not come to where it should"),
			bad->wrong++;
}

/* Every transition that there is none of, every attribute that is missing and every one that may
 * not be there. */
static void transitions(struct bad *bad, enum ibv_qp_type type, const int *masks)
{
	static const struct {
		enum ibv_qp_state from;
		int never[5]; /* ends with -1 */
	} table[] = {{IBV_QPS_RESET, {IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, -1}},
		     {IBV_QPS_INIT, {IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, -1}},
		     {IBV_QPS_RTR, {IBV_QPS_INIT, IBV_QPS_SQD, IBV_QPS_SQE, -1}},
		     {IBV_QPS_RTS, {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE, -1}},
		     {IBV_QPS_SQD, {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE, -1}},
		     {IBV_QPS_ERR, {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, -1}}};
	struct ibv_qp *qp = make_qp(bad, type);

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bring(bad, qp, masks, table[i].from);
		for (const int *to = table[i].never; *to >= 0; to++)
			judge(bad, "ibv_modify_qp: transition",
			      (unsigned long)(table[i].from << 4 | *to), EINVAL,
			      go(bad, qp, (enum ibv_qp_state) * to, masks[*to]));
	}
	for (int s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
		bring(bad, qp, masks, (enum ibv_qp_state)(s - 1));
		for (int bit = IBV_QP_CUR_STATE; bit <= IBV_QP_DEST_QPN; bit <<= 1)
			if (masks[s] & bit)
				judge(bad, "ibv_modify_qp: without attribute",
				      (unsigned long)(s << 24 | bit), EINVAL,
				      go(bad, qp, (enum ibv_qp_state)s, masks[s] & ~bit));
	}
	bring(bad, qp, masks, IBV_QPS_RESET);
	for (int bit = IBV_QP_AV; bit <= IBV_QP_DEST_QPN; bit <<= 1)
		if (bit != IBV_QP_QKEY && bit != IBV_QP_PORT && !(masks[IBV_QPS_INIT] & bit))
			judge(bad, "ibv_modify_qp: with attribute", (unsigned long)bit,
			      bit & (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE) ? EOPNOTSUPP : EINVAL,
			      go(bad, qp, IBV_QPS_INIT, masks[IBV_QPS_INIT] | bit));
	ibv_destroy_qp(qp);
}

static void attributes(struct bad *bad)
{
	struct ibv_qp *qp = make_qp(bad, IBV_QPT_RC);
	struct ibv_qp_attr good = bad->attr;

	bad->attr.port_num = 0;
	judge(bad, "ibv_modify_qp: port", 0, EINVAL, go(bad, qp, IBV_QPS_INIT, TO_INIT));
	bad->attr.port_num = 2;
	judge(bad, "ibv_modify_qp: port", 2, EINVAL, go(bad, qp, IBV_QPS_INIT, TO_INIT));
	bad->attr = good;
	bad->attr.pkey_index = 9999;
	judge(bad, "ibv_modify_qp: P_Key", 9999, EINVAL, go(bad, qp, IBV_QPS_INIT, TO_INIT));
	bad->attr = good;
	bad->attr.cur_qp_state = IBV_QPS_RTS;
	judge(bad, "ibv_modify_qp: current state", 3, EINVAL,
	      go(bad, qp, IBV_QPS_INIT, TO_INIT | IBV_QP_CUR_STATE));
	bad->attr = good;
	bring(bad, qp, masks_rc, IBV_QPS_INIT);
	bad->attr.path_mtu = (enum ibv_mtu)0;
	judge(bad, "ibv_modify_qp: MTU", 0, EINVAL, go(bad, qp, IBV_QPS_RTR, TO_RTR));
	bad->attr.path_mtu = (enum ibv_mtu)6;
	judge(bad, "ibv_modify_qp: MTU", 6, EINVAL, go(bad, qp, IBV_QPS_RTR, TO_RTR));
	bad->attr = good;
	bad->attr.max_dest_rd_atomic = 255;
	judge(bad, "ibv_modify_qp: resources", 255, EINVAL, go(bad, qp, IBV_QPS_RTR, TO_RTR));
	bad->attr = good;
	bad->attr.ah_attr.is_global = 0;
	judge(bad, "ibv_modify_qp: no GRH", 0, EINVAL, go(bad, qp, IBV_QPS_RTR, TO_RTR));
	bad->attr = good;
	bad->attr.ah_attr.grh.sgid_index = 200;
	judge(bad, "ibv_modify_qp: GID", 200, EINVAL, go(bad, qp, IBV_QPS_RTR, TO_RTR));
	bad->attr = good;
	bring(bad, qp, masks_rc, IBV_QPS_RTR);
	bad->attr.max_rd_atomic = 255;
	judge(bad, "ibv_modify_qp: depth", 255, EINVAL, go(bad, qp, IBV_QPS_RTS, TO_RTS));
	bad->attr = good;
	ibv_destroy_qp(qp);
}

static void creation(struct bad *bad)
{
	static const enum ibv_qp_type odd[] = {(enum ibv_qp_type)0, (enum ibv_qp_type)5,
					       (enum ibv_qp_type)99};
	const struct ibv_qp_init_attr good = {.qp_type = IBV_QPT_RC,
					      .send_cq = bad->cq,
					      .recv_cq = bad->cq,
					      .cap = {4, 4, 2, 2, 64}};
	struct ibv_qp_init_attr init = good;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		init.qp_type = odd[i];
		none(bad, "ibv_create_qp: type", odd[i], EOPNOTSUPP, ibv_create_qp(bad->pd, &init));
	}
	init = good, init.send_cq = NULL;
	none(bad, "ibv_create_qp: no CQ to send", 0, EINVAL, ibv_create_qp(bad->pd, &init));
	init = good, init.recv_cq = NULL;
	none(bad, "ibv_create_qp: no CQ to receive", 0, EINVAL, ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_send_wr = (uint32_t)bad->limits.max_qp_wr + 1;
	none(bad, "ibv_create_qp: sends", init.cap.max_send_wr, EINVAL,
	     ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_recv_wr = (uint32_t)bad->limits.max_qp_wr + 1;
	none(bad, "ibv_create_qp: receives", init.cap.max_recv_wr, EINVAL,
	     ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_send_sge = (uint32_t)bad->limits.max_sge + 1;
	none(bad, "ibv_create_qp: pieces", init.cap.max_send_sge, EINVAL,
	     ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_recv_sge = (uint32_t)bad->limits.max_sge + 1;
	none(bad, "ibv_create_qp: pieces", init.cap.max_recv_sge, EINVAL,
	     ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_inline_data = 1 << 20;
	none(bad, "ibv_create_qp: inline", init.cap.max_inline_data, EINVAL,
	     ibv_create_qp(bad->pd, &init));
	init = good, init.cap.max_send_wr = UINT32_MAX;
	none(bad, "ibv_create_qp: sends", UINT32_MAX, EINVAL, ibv_create_qp(bad->pd, &init));
}

/* ---- posts ---- */

static int post(struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_send_wr *first_bad = NULL;
	const int ret = ibv_post_send(qp, &wr, &first_bad);

	return ret != 0 && first_bad != &wr ? -1 : ret; /* which it was is told */
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr wr)
{
	struct ibv_recv_wr *first_bad = NULL;
	const int ret = ibv_post_recv(qp, &wr, &first_bad);

	return ret != 0 && first_bad != &wr ? -1 : ret;
}

static void posts(struct bad *bad, enum ibv_qp_type type, const int *masks)
{
	struct ibv_sge sge[3] = {{(uintptr_t)bad->memory, 8, bad->mr->lkey},
				 {(uintptr_t)bad->memory, 8, bad->mr->lkey},
				 {(uintptr_t)bad->memory, 8, bad->mr->lkey}};
	const struct ibv_send_wr good = {.sg_list = sge, .num_sge = 1, .opcode = IBV_WR_SEND};
	static const enum ibv_wr_opcode odd[] = {(enum ibv_wr_opcode)10, (enum ibv_wr_opcode)11,
						 (enum ibv_wr_opcode)99, (enum ibv_wr_opcode) - 1};
	static const enum ibv_wr_opcode reliable[] = {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP,
						      IBV_WR_ATOMIC_FETCH_AND_ADD};
	struct ibv_qp *qp = make_qp(bad, type);
	struct ibv_send_wr wr = good;

	judge(bad, "ibv_post_recv: RESET", type, EINVAL,
	      post_recv(qp, (struct ibv_recv_wr){.sg_list = sge, .num_sge = 1}));
	for (int s = IBV_QPS_RESET; s <= IBV_QPS_RTR; s++) {
		bring(bad, qp, masks, (enum ibv_qp_state)s);
		judge(bad, "ibv_post_send: state", (unsigned long)s, EINVAL, post(qp, good));
	}
	bring(bad, qp, masks, IBV_QPS_RTS);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		wr.opcode = odd[i];
		judge(bad, "ibv_post_send: opcode", (unsigned long)odd[i], EINVAL, post(qp, wr));
	}
	wr = good, wr.num_sge = 3;
	judge(bad, "ibv_post_send: pieces", 3, EINVAL, post(qp, wr));
	wr.num_sge = -1;
	judge(bad, "ibv_post_send: pieces", (unsigned long)-1, EINVAL, post(qp, wr));
	wr = good, wr.send_flags = IBV_SEND_INLINE, sge[0].length = 4096;
	judge(bad, "ibv_post_send: inline", 4096, EINVAL, post(qp, wr));
	sge[0].length = 8;
	for (size_t i = 0; i < sizeof(reliable) / sizeof(reliable[0]) && type != IBV_QPT_RC; i++) {
		wr = good, wr.opcode = reliable[i];
		judge(bad, "ibv_post_send: not of RC", reliable[i], EINVAL, post(qp, wr));
	}
	if (type == IBV_QPT_UD) {
		wr = good, wr.opcode = IBV_WR_RDMA_WRITE;
		judge(bad, "ibv_post_send: WRITE of UD", 0, EINVAL, post(qp, wr));
		wr = good, wr.wr.ud.ah = NULL;
		judge(bad, "ibv_post_send: no address", 0, EINVAL, post(qp, wr));
	}
	if (type == IBV_QPT_RC) {
		wr = good, wr.opcode = IBV_WR_RDMA_READ, wr.send_flags = IBV_SEND_INLINE;
		judge(bad, "ibv_post_send: READ inline", 0, EINVAL, post(qp, wr));
		wr = good, wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, sge[0].length = 4;
		judge(bad, "ibv_post_send: atomic of", 4, EINVAL, post(qp, wr));
		sge[0].length = 8;
	}
	judge(bad, "ibv_post_recv: pieces", 3, EINVAL,
	      post_recv(qp, (struct ibv_recv_wr){.sg_list = sge, .num_sge = 3}));
	for (int i = 0; i < 4; i++)
		post_recv(qp, (struct ibv_recv_wr){.sg_list = sge, .num_sge = 1});
	judge(bad, "ibv_post_recv: full", 4, ENOMEM,
	      post_recv(qp, (struct ibv_recv_wr){.sg_list = sge, .num_sge = 1}));
	ibv_destroy_qp(qp);
}

/* ---- the other objects ---- */

static void memory(struct bad *bad)
{
	static const int rights[] = {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC,
				     IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
				     IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ};
	struct ibv_alloc_dm_attr dm = {.length = SIZE_MAX};
	struct ibv_sge sge = {(uintptr_t)bad->memory, BYTES, bad->mr->lkey ^ 0x5500};
	struct ibv_pd *pd = ibv_alloc_pd(bad->context);
	struct ibv_mr *mr = ibv_reg_mr(pd, bad->memory, BYTES, REMOTE);

	for (size_t i = 0; i < sizeof(rights) / sizeof(rights[0]); i++) {
		none(bad, "ibv_reg_mr: rights", (unsigned long)rights[i], EINVAL,
		     ibv_reg_mr(bad->pd, bad->memory, BYTES, rights[i]));
		judge(bad, "ibv_rereg_mr: rights", (unsigned long)rights[i], EINVAL,
		      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, rights[i]) ? errno
											     : 0);
	}
	judge(bad, "ibv_rereg_mr: flags", 0x80, EINVAL,
	      ibv_rereg_mr(mr, 0x80, NULL, NULL, 0, 0) ? errno : 0);
	judge(bad, "ibv_rereg_mr: no domain", 0, EINVAL,
	      ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_PD, NULL, NULL, 0, 0) ? errno : 0);
	judge(bad, "ibv_dealloc_pd: in use", 0, EBUSY, ibv_dealloc_pd(pd));
	judge(bad, "ibv_advise_mr: advice", 99, EOPNOTSUPP,
	      ibv_advise_mr(bad->pd, (enum ibv_advise_mr_advice)99, 0, &sge, 1));
	judge(bad, "ibv_advise_mr: flags", 0x80, EINVAL,
	      ibv_advise_mr(bad->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0x80, &sge, 1));
	judge(bad, "ibv_advise_mr: none", 0, EINVAL,
	      ibv_advise_mr(bad->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, NULL, 0));
	none(bad, "ibv_alloc_dm: bytes", dm.length, ENOMEM, ibv_alloc_dm(bad->context, &dm));
	dm = (struct ibv_alloc_dm_attr){.length = 64, .comp_mask = 0x80};
	none(bad, "ibv_alloc_dm: mask", 0x80, EINVAL, ibv_alloc_dm(bad->context, &dm));
	none(bad, "ibv_import_mr", 0, ENOENT, ibv_import_mr(bad->pd, UINT32_MAX));
	ibv_dereg_mr(mr);
	ibv_dealloc_pd(pd);
}

static void device_memory(struct bad *bad)
{
	struct ibv_alloc_dm_attr attr = {.length = 256};
	struct ibv_dm *dm = ibv_alloc_dm(bad->context, &attr);

	judge(bad, "ibv_memcpy_to_dm: beyond", 257, EFAULT,
	      ibv_memcpy_to_dm(dm, 0, bad->memory, 260));
	judge(bad, "ibv_memcpy_to_dm: behind", 300, EFAULT,
	      ibv_memcpy_to_dm(dm, 300, bad->memory, 4));
	judge(bad, "ibv_memcpy_from_dm: beyond", 253, EFAULT,
	      ibv_memcpy_from_dm(bad->memory, dm, 256, 4));
	none(bad, "ibv_reg_dm_mr: beyond", 257, EINVAL,
	     ibv_reg_dm_mr(bad->pd, dm, 0, 257, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED));
	none(bad, "ibv_reg_dm_mr: behind", 300, EINVAL,
	     ibv_reg_dm_mr(bad->pd, dm, 300, 4, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED));
	ibv_free_dm(dm);
}

static void completion_queues(struct bad *bad)
{
	struct ibv_cq_init_attr_ex ex = {.cqe = 4, .wc_flags = (uint64_t)1 << 40};
	struct ibv_modify_cq_attr modify = {.attr_mask = 0x80};
	struct ibv_cq *cq = ibv_create_cq(bad->context, 4, NULL, NULL, 0);
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp *qp = ibv_create_qp(bad->pd, &init);

	none(bad, "ibv_create_cq: entries", 0, EINVAL,
	     ibv_create_cq(bad->context, 0, NULL, NULL, 0));
	none(bad, "ibv_create_cq: entries", (unsigned long)-1, EINVAL,
	     ibv_create_cq(bad->context, -1, NULL, NULL, 0));
	none(bad, "ibv_create_cq: entries", (unsigned long)bad->limits.max_cqe + 1, EINVAL,
	     ibv_create_cq(bad->context, bad->limits.max_cqe + 1, NULL, NULL, 0));
	none(bad, "ibv_create_cq: vector", 99, EINVAL,
	     ibv_create_cq(bad->context, 4, NULL, NULL, 99));
	none(bad, "ibv_create_cq: vector", (unsigned long)-1, EINVAL,
	     ibv_create_cq(bad->context, 4, NULL, NULL, -1));
	none(bad, "ibv_create_cq_ex: fields", 40, EOPNOTSUPP, ibv_create_cq_ex(bad->context, &ex));
	ex = (struct ibv_cq_init_attr_ex){.cqe = 0};
	none(bad, "ibv_create_cq_ex: entries", 0, EINVAL, ibv_create_cq_ex(bad->context, &ex));
	ex = (struct ibv_cq_init_attr_ex){.cqe = 4, .comp_mask = 0x8000};
	none(bad, "ibv_create_cq_ex: mask", 0x8000, EINVAL, ibv_create_cq_ex(bad->context, &ex));
	judge(bad, "ibv_resize_cq: entries", 0, EINVAL, ibv_resize_cq(cq, 0));
	judge(bad, "ibv_resize_cq: entries", (unsigned long)bad->limits.max_cqe + 1, EINVAL,
	      ibv_resize_cq(cq, bad->limits.max_cqe + 1));
	judge(bad, "ibv_modify_cq: mask", 0x80, EINVAL, ibv_modify_cq(cq, &modify));
	judge(bad, "ibv_destroy_cq: in use", 0, EBUSY, ibv_destroy_cq(cq));
	ibv_destroy_qp(qp);
	ibv_destroy_cq(cq);
}

static void shared_receives(struct bad *bad)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 4, .max_sge = 2}};
	struct ibv_sge sge[3] = {{(uintptr_t)bad->memory, 8, bad->mr->lkey}};
	struct ibv_recv_wr wr = {.sg_list = sge, .num_sge = 3}, *first_bad;
	struct ibv_srq_attr attr = {.srq_limit = 99};
	struct ibv_srq *srq = ibv_create_srq(bad->pd, &init);
	struct ibv_qp_init_attr qp_init = {.qp_type = IBV_QPT_UC,
					   .send_cq = bad->cq,
					   .recv_cq = bad->cq,
					   .cap = {1, 1, 1, 1, 0}};
	struct ibv_qp *qp;

	qp_init.srq = srq;
	none(bad, "ibv_create_qp: UC with an SRQ", 0, EINVAL, ibv_create_qp(bad->pd, &qp_init));
	qp_init.qp_type = IBV_QPT_RC;
	qp = ibv_create_qp(bad->pd, &qp_init);
	judge(bad, "ibv_destroy_srq: in use", 0, EBUSY, ibv_destroy_srq(srq));
	judge(bad, "ibv_post_recv: of an SRQ", 0, EINVAL,
	      post_recv(qp, (struct ibv_recv_wr){.sg_list = sge, .num_sge = 1}));
	judge(bad, "ibv_modify_srq: limit", 99, EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	attr = (struct ibv_srq_attr){.max_wr = (uint32_t)bad->limits.max_srq_wr + 1};
	judge(bad, "ibv_modify_srq: size", attr.max_wr, EINVAL,
	      ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	judge(bad, "ibv_modify_srq: mask", 0x80, EINVAL, ibv_modify_srq(srq, &attr, 0x80));
	judge(bad, "ibv_post_srq_recv: pieces", 3, EINVAL, ibv_post_srq_recv(srq, &wr, &first_bad));
	wr.num_sge = 1;
	for (int i = 0; i < 4; i++)
		ibv_post_srq_recv(srq, &wr, &first_bad);
	judge(bad, "ibv_post_srq_recv: full", 4, ENOMEM, ibv_post_srq_recv(srq, &wr, &first_bad));
	ibv_destroy_qp(qp);
	ibv_destroy_srq(srq);
	init.attr.max_wr = (uint32_t)bad->limits.max_srq_wr + 1;
	none(bad, "ibv_create_srq: size", init.attr.max_wr, EINVAL, ibv_create_srq(bad->pd, &init));
	init.attr.max_wr = 0;
	none(bad, "ibv_create_srq: size", 0, EINVAL, ibv_create_srq(bad->pd, &init));
	init.attr.max_wr = 4, init.attr.max_sge = (uint32_t)bad->limits.max_srq_sge + 1;
	none(bad, "ibv_create_srq: pieces", init.attr.max_sge, EINVAL,
	     ibv_create_srq(bad->pd, &init));
}

static void ports(struct bad *bad)
{
	static const int odd[] = {0, 2, 255};
	struct ibv_port_attr attr;
	struct ibv_gid_entry entry;
	union ibv_gid gid;
	__be16 pkey;
	struct ibv_ah_attr ah = bad->attr.ah_attr;

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		const uint8_t port = (uint8_t)odd[i];

		judge(bad, "ibv_query_port", port, EINVAL,
		      ibv_query_port(bad->context, port, &attr));
		judge(bad, "ibv_query_gid: port", port, EINVAL,
		      ibv_query_gid(bad->context, port, 0, &gid) ? errno : 0);
		judge(bad, "ibv_query_pkey: port", port, EINVAL,
		      ibv_query_pkey(bad->context, port, 0, &pkey) ? errno : 0);
		judge(bad, "ibv_query_gid_ex: port", port, EINVAL,
		      ibv_query_gid_ex(bad->context, port, 0, &entry, 0));
		ah.port_num = port;
		none(bad, "ibv_create_ah: port", port, EINVAL, ibv_create_ah(bad->pd, &ah));
	}
	judge(bad, "ibv_query_gid: index", (unsigned long)-1, EINVAL,
	      ibv_query_gid(bad->context, 1, -1, &gid) ? errno : 0);
	judge(bad, "ibv_query_gid: index", 9999, ENOENT, /* no such file of sysfs */
	      ibv_query_gid(bad->context, 1, 9999, &gid) ? errno : 0);
	judge(bad, "ibv_query_pkey: index", 9999, EINVAL,
	      ibv_query_pkey(bad->context, 1, 9999, &pkey) ? errno : 0);
	judge(bad, "ibv_query_pkey: index", (unsigned long)-1, EINVAL,
	      ibv_query_pkey(bad->context, 1, -1, &pkey) ? errno : 0);
	judge(bad, "ibv_query_gid_ex: index", 9999, EINVAL,
	      ibv_query_gid_ex(bad->context, 1, 9999, &entry, 0));
	if (ibv_query_port(bad->context, 1, &attr) == 0 && attr.gid_tbl_len > 4)
		judge(bad, "ibv_query_gid_ex: empty", 4, ENODATA,
		      ibv_query_gid_ex(bad->context, 1, 4, &entry, 0));
	judge(bad, "ibv_query_gid_ex: flags", 0x80, EINVAL,
	      ibv_query_gid_ex(bad->context, 1, 0, &entry, 0x80));
	ah = bad->attr.ah_attr;
	ah.is_global = 0;
	none(bad, "ibv_create_ah: no GRH", 0, EINVAL, ibv_create_ah(bad->pd, &ah));
	ah = bad->attr.ah_attr;
	ah.grh.sgid_index = 200;
	none(bad, "ibv_create_ah: GID", 200, EINVAL, ibv_create_ah(bad->pd, &ah));
}

static bool set_up(struct bad *bad)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	union ibv_gid gid;

	bad->context = list && list[0] ? ibv_open_device(list[0]) : NULL;
	ibv_free_device_list(list);
	if (!bad->context || ibv_query_device(bad->context, &bad->limits) != 0)
		return false;
	bad->pd = ibv_alloc_pd(bad->context);
	bad->cq = ibv_create_cq(bad->context, 64, NULL, NULL, 0);
	bad->memory = calloc(1, BYTES);
	bad->mr = ibv_reg_mr(bad->pd, bad->memory, BYTES, REMOTE);
	bad->attr = (struct ibv_qp_attr){
		.port_num = 1,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = 2,
		.max_dest_rd_atomic = 1,
		.max_rd_atomic = 1,
		.min_rnr_timer = 12,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.ah_attr = {.is_global = 1, .port_num = 1, .grh = {.hop_limit = 64}}};
	/* An address in both worlds: the fabric's has one, the process' is behind its link-local.
	 */
	bad->attr.ah_attr.grh.sgid_index =
		ibv_query_gid(bad->context, 1, 1, &gid) == 0 && gid.global.interface_id ? 1 : 0;
	return bad->mr && ibv_query_gid(bad->context, 1, bad->attr.ah_attr.grh.sgid_index,
					&bad->attr.ah_attr.grh.dgid) == 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct bad bad = {.prog = prog};
	char line[64];

	if (!set_up(&bad))
		return 1;
	errno = 0;
	transitions(&bad, IBV_QPT_RC, masks_rc);
	transitions(&bad, IBV_QPT_UC, masks_uc);
	transitions(&bad, IBV_QPT_UD, masks_ud);
	attributes(&bad);
	creation(&bad);
	posts(&bad, IBV_QPT_RC, masks_rc);
	posts(&bad, IBV_QPT_UC, masks_uc);
	posts(&bad, IBV_QPT_UD, masks_ud);
	memory(&bad);
	device_memory(&bad);
	completion_queues(&bad);
	shared_receives(&bad);
	ports(&bad);
	judge(&bad, "ibv_dealloc_pd: in use", 1, EBUSY, ibv_dealloc_pd(bad.pd));
	ibv_dereg_mr(bad.mr);
	free(bad.memory);
	snprintf(line, sizeof(line), "bad calls %d, wrong %d", bad.count, bad.wrong);
	prog->say(prog, line);
	return ibv_destroy_cq(bad.cq) || ibv_dealloc_pd(bad.pd) || ibv_close_device(bad.context) ||
	       bad.wrong;
}

#ifdef WITH_LIBIBVERBS /* and nothing of Verbena, as other people's programs */
static void say_to_stdout(const struct vb_prog *prog, const char *line)
{
	(void)prog;
	puts(line);
}

int main(void)
{
	const struct vb_prog prog = {.bytes = sizeof(prog), .size = 1, .say = say_to_stdout};

	return prog_main(&prog);
}
#else
VB_MAIN(prog_main)
#endif
