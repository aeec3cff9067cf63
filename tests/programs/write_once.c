/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 writes bytes=10000 bytes to rank 1 with one RDMA WRITE and says so on the rendezvous; rank
 * 1 checks every byte. Other ranks do nothing. */
#include "tests/programs/util.h"

#include <stdlib.h>

static int talk(struct prog_qp *qp, uint8_t *bytes, uint32_t length)
{
	const struct vb_prog *prog = qp->ctx->prog;
	struct prog_pending pending = {.sends = 1};

	if (prog->rank == 1) {
		if (prog->get(prog, "written", NULL, 0) != 0)
			return -1;
		return prog_check(prog, "written", bytes, length, 1);
	}
	prog_fill(bytes, length, 1);
	if (prog_post_send(qp, (struct prog_send){.wr_id = 1,
						  .opcode = IBV_WR_RDMA_WRITE,
						  .bytes = bytes,
						  .length = length}) != 0)
		return -1;
	if (prog_drain(qp, NULL, &pending) != 0)
		return -1;
	return prog->put(prog, "written", NULL, 0);
}

static int run(const struct vb_prog *prog, uint8_t *bytes, uint32_t length)
{
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog_open(&ctx, prog, 16, bytes, length) != 0 ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){
				 .peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1}) != 0 ||
	    prog_connect(&qp, 1) != 0 || talk(&qp, bytes, length) != 0)
		return -1;
	return prog_close(&ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	uint32_t length = (uint32_t)prog_arg(prog, "bytes", 10000);
	uint8_t *bytes;
	int ret;

	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	bytes = calloc(1, length);
	ret = bytes ? run(prog, bytes, length) : -1;
	free(bytes);
	return ret;
}
