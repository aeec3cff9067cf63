/* SPDX-License-Identifier: BSD-2-Clause */

/* Every rank from 1 on READs rank 0's memory in pieces of many lengths, then rank 0 READs the same
 * pieces from each of them; every byte is checked. The region is what others read (a pattern of
 * the rank), then room for what was read. */
#include "tests/programs/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECES = 9, TOTAL = 1 + 2 + 3 + 255 + 1024 + 1025 + 4096 + 4097 + 20000 };
static const uint32_t pieces[PIECES] = {1, 2, 3, 255, 1024, 1025, 4096, 4097, 20000};

static int read_all(struct prog_qp *qp, uint8_t *bytes)
{
	const struct vb_prog *prog = qp->ctx->prog;
	uint32_t offsets[PIECES], offset = 0;
	struct ibv_wc wc;

	memset(bytes + TOTAL, 0xee, TOTAL);
	for (uint32_t i = 0; i < PIECES; i++) {
		offsets[i] = offset;
		if (prog_post_send(qp, (struct prog_send){.wr_id = i,
							  .opcode = IBV_WR_RDMA_READ,
							  .bytes = bytes + TOTAL + offset,
							  .length = pieces[i],
							  .remote_offset = offset}) != 0)
			return -1;
		offset += pieces[i];
	}
	for (uint32_t i = 0; i < PIECES; i++) {
		if (prog_poll(qp->ctx, &wc) != 0 || wc.wr_id != i)
			return -1;
		/* Not every adapter says how much a READ brought; the work request does. */
		wc.byte_len = pieces[i];
		prog->report(prog, qp->peer, 0, &wc, bytes + TOTAL + offsets[i]);
	}
	return prog_check(prog, "read", bytes + TOTAL, TOTAL, (uint64_t)qp->peer);
}

static int run_all(const struct vb_prog *prog, struct prog_ctx *ctx, struct prog_qp *qps,
		   uint8_t *bytes)
{
	int qp_count = prog->rank == 0 ? prog->size - 1 : 1;
	char key[32];

	prog_fill(bytes, TOTAL, (uint64_t)prog->rank);
	if (prog_open(ctx, prog, PIECES + 1, bytes, 2 * (size_t)TOTAL) != 0)
		return -1;
	for (int i = 0; i < qp_count; i++)
		if (prog_qp_open(&qps[i], ctx,
				 (struct prog_qp_params){.peer = prog->rank == 0 ? i + 1 : 0,
							 .send_depth = PIECES,
							 .recv_depth = 1}) != 0)
			return -1;
	if (prog_connect(qps, qp_count) != 0)
		return -1;
	if (prog->rank != 0) {
		snprintf(key, sizeof(key), "has read/%d", prog->rank);
		if (read_all(&qps[0], bytes) != 0 || prog->put(prog, key, NULL, 0) != 0)
			return -1;
	}
	for (int i = 0; prog->rank == 0 && i < qp_count; i++) {
		snprintf(key, sizeof(key), "has read/%d", i + 1);
		if (prog->get(prog, key, NULL, 0) != 0 || read_all(&qps[i], bytes) != 0)
			return -1;
	}
	return prog_close(ctx, qps, qp_count);
}

int prog_main(const struct vb_prog *prog)
{
	struct prog_ctx ctx;
	struct prog_qp *qps = calloc((size_t)prog->size, sizeof(*qps));
	uint8_t *bytes = calloc(2, TOTAL);
	int ret = -1;

	if (bytes && qps)
		ret = run_all(prog, &ctx, qps, bytes);
	free(bytes);
	free(qps);
	return ret;
}
