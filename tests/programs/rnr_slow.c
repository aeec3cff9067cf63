/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 SENDs count=12 messages of bytes=3000 to rank 1 at once, which has two receives posted and
 * adds two more only when it has slept sleep_us=3000 after each pair: the sender meets RNR NAKs. */
#include "tests/programs/util.h"

#include <stdlib.h>

enum { PAIR = 2 };

static int send_all(struct prog_qp *qp, uint8_t *bytes, uint32_t length, uint32_t count)
{
	struct prog_pending pending = {.sends = (int)count};

	for (uint32_t i = 0; i < count; i++) {
		prog_fill(bytes + (size_t)i * length, length, i);
		if (prog_post_send(qp, (struct prog_send){.wr_id = i,
							  .opcode = IBV_WR_SEND,
							  .bytes = bytes + (size_t)i * length,
							  .length = length}) != 0)
			return -1;
	}
	return prog_drain(qp, NULL, &pending);
}

static int post_pair(struct prog_qp *qp, uint8_t *bytes, uint32_t length, uint32_t first,
		     uint32_t count)
{
	for (uint32_t i = first; i < first + PAIR && i < count; i++)
		if (prog_post_recv(qp, i, bytes + (size_t)i * length, length) != 0)
			return -1;
	return 0;
}

static int receive_all(struct prog_qp *qp, uint8_t *bytes, uint32_t length, uint32_t count)
{
	const struct vb_prog *prog = qp->ctx->prog;
	uint64_t sleep_us = prog_arg(prog, "sleep_us", 3000);

	for (uint32_t i = 0; i < count; i++) {
		struct prog_pending pending = {.recvs = 1};
		uint8_t *at = bytes + (size_t)i * length;

		if (prog_drain(qp, at, &pending) != 0 || pending.last.wr_id != i ||
		    pending.last.byte_len != length ||
		    prog_check(prog, "message", at, length, i) != 0)
			return -1;
		if (i % PAIR != PAIR - 1)
			continue;
		prog->sleep_ns(prog, sleep_us * 1000);
		if (post_pair(qp, bytes, length, i + 1, count) != 0)
			return -1;
	}
	return 0;
}

static int run(const struct vb_prog *prog, uint8_t *bytes, uint32_t length, uint32_t count)
{
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog_open(&ctx, prog, (int)count, bytes, (size_t)length * count) != 0 ||
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){.peer = 1 - prog->rank,
						 .send_depth = count,
						 .recv_depth = 2 * PAIR}) != 0 ||
	    (prog->rank == 1 && post_pair(&qp, bytes, length, 0, count) != 0) ||
	    prog_connect(&qp, 1) != 0)
		return -1;
	if (prog->rank == 0 ? send_all(&qp, bytes, length, count) != 0
			    : receive_all(&qp, bytes, length, count) != 0)
		return -1;
	return prog_close(&ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	uint32_t length = (uint32_t)prog_arg(prog, "bytes", 3000);
	uint32_t count = (uint32_t)prog_arg(prog, "count", 12);
	uint8_t *bytes;
	int ret;

	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	bytes = calloc(count, length);
	ret = bytes ? run(prog, bytes, length, count) : -1;
	free(bytes);
	return ret;
}
