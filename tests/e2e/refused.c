/* SPDX-License-Identifier: BSD-2-Clause */

/* Work requests that end in error although their program ends well, in virtual time. Rank 0 posts
 * count=3 of bytes=30000 at once: WRITEs, of which the last goes behind rank 1's region (how=1), or
 * SENDs for which rank 1 has no receive (how=2; how=3: not before wait_us=100 have passed). It then
 * waits for all of them, whatever becomes of them, and says their statuses. Its patience is
 * rnr_retry=1, retry_cnt=1 and timeout=5. */
#include "tests/programs/util.h"

#include <stdlib.h>

enum { WRITES, BEHIND, NO_RECEIVE, LATE_RECEIVE };

/* Another patience than prog_connect() gives, before anything is sent. */
static int connect_again(struct prog_qp *qp)
{
	const struct vb_prog *prog = qp->ctx->prog;
	const int to_init = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	const int to_rtr = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	const int to_rts = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
	const struct {
		enum ibv_qp_state state;
		int mask;
	} steps[] = {{IBV_QPS_RESET, IBV_QP_STATE},
		     {IBV_QPS_INIT, to_init},
		     {IBV_QPS_RTR, to_rtr},
		     {IBV_QPS_RTS, to_rts}};
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (ibv_query_qp(qp->qp, &attr, to_init | to_rtr | to_rts, &init) != 0)
		return -1;
	attr.rnr_retry = (uint8_t)prog_arg(prog, "rnr_retry", 1);
	attr.retry_cnt = (uint8_t)prog_arg(prog, "retry_cnt", 1);
	attr.timeout = (uint8_t)prog_arg(prog, "timeout", 5);
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		attr.qp_state = steps[i].state;
		if (ibv_modify_qp(qp->qp, &attr, steps[i].mask) != 0)
			return -1;
	}
	return 0;
}

static int send_all(struct prog_qp *qp, uint8_t *bytes, uint32_t length, uint64_t how)
{
	const struct vb_prog *prog = qp->ctx->prog;
	const uint64_t count = prog_arg(prog, "count", 3);
	struct ibv_wc wc;

	if (connect_again(qp) != 0)
		return -1;
	for (uint64_t i = 0; i < count; i++)
		if (prog_post_send(
			    qp,
			    (struct prog_send){
				    .wr_id = i,
				    .opcode = how >= NO_RECEIVE ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
				    .bytes = bytes,
				    .length = length,
				    .remote_offset = how == BEHIND && i + 1 == count ? length : 0,
			    }) != 0)
			return -1;
	for (uint64_t i = 0; i < count; i++) {
		while (ibv_poll_cq(qp->ctx->cq, 1, &wc) == 0)
			;
		prog_say(prog, "%s", ibv_wc_status_str(wc.status));
	}
	return prog->put(prog, "ended", NULL, 0);
}

static int receive_all(struct prog_qp *qp, uint8_t *bytes, uint32_t length, uint64_t how)
{
	const struct vb_prog *prog = qp->ctx->prog;

	if (how == LATE_RECEIVE) {
		prog->sleep_ns(prog, 1000 * prog_arg(prog, "wait_us", 100));
		for (uint64_t i = 0; i < prog_arg(prog, "count", 3); i++)
			if (prog_post_recv(qp, i, bytes, length) != 0)
				return -1;
	}
	return prog->get(prog, "ended", NULL, 0);
}

static int run(const struct vb_prog *prog, uint8_t *bytes, uint32_t length, uint64_t how)
{
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog_open(&ctx, prog, 64, bytes, length) != 0 ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){.peer = 1 - prog->rank,
						 .send_depth = 32,
						 .recv_depth = 32}) != 0 ||
	    prog_connect(&qp, 1) != 0)
		return -1;
	if (prog->rank == 0 ? send_all(&qp, bytes, length, how) != 0
			    : receive_all(&qp, bytes, length, how) != 0)
		return -1;
	return prog_close(&ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	const uint32_t length = (uint32_t)prog_arg(prog, "bytes", 30000);
	uint8_t *bytes;
	int ret;

	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	bytes = calloc(1, length);
	ret = bytes ? run(prog, bytes, length, prog_arg(prog, "how", WRITES)) : -1;
	free(bytes);
	return ret;
}
