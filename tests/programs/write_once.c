/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 writes bytes=10000 bytes to rank 1 with one RDMA WRITE and says so on the board; rank 1
 * checks every byte. Other ranks do nothing. */
#include "tests/programs/util.h"

#include <stdlib.h>
#include <string.h>

static int talk(struct prog_qp *qp, uint8_t *bytes, uint32_t length)
{
	const struct prog *prog = qp->ctx->prog;
	struct ibv_wc wc;

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
	if (prog_poll_report(qp, &wc, NULL) != 0)
		return -1;
	return prog->put(prog, "written", "", 0);
}

int prog_main(const struct prog *prog)
{
	uint32_t length = (uint32_t)prog_arg(prog, "bytes", 10000);
	uint8_t *bytes = calloc(1, length);
	struct prog_ctx ctx;
	struct prog_qp qp;
	struct ibv_mr *mr;
	int ret = -1;

	if (prog->rank < 2 && bytes && prog_open(&ctx, prog, 16) == 0) {
		mr = prog_reg(&ctx, bytes, length);
		if (mr &&
		    prog_qp_open(&qp, &ctx,
				 (struct prog_qp_params){.peer = 1 - prog->rank,
							 .send_depth = 1,
							 .recv_depth = 1,
							 .mr = mr}) == 0 &&
		    prog_qp_connect(&qp) == 0)
			ret = talk(&qp, bytes, length);
		/* The peer's acknowledgements may have been lost: it needs this end until it is
		 * done. */
		if (ret == 0)
			ret = prog_barrier(prog, "end");
		if (ret == 0)
			ret = prog_qp_close(&qp) || ibv_dereg_mr(mr) || prog_close(&ctx);
	} else if (prog->rank >= 2) {
		ret = prog_barrier(prog, "end");
	}
	free(bytes);
	return ret;
}
