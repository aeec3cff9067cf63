/* SPDX-License-Identifier: BSD-2-Clause */

/* Every rank from 1 on writes count=8 messages of bytes=30000 each to its own part of rank 0's
 * memory, all at once; the last one carries an immediate, after which rank 0 checks every byte. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <stdlib.h>

struct incast {
	struct prog_ctx ctx;
	struct prog_qp *qps;
	int qp_count;
	uint8_t *bytes;
	uint32_t length, count;
};

static int receive(struct incast *in, struct prog_pending *pending)
{
	const struct vb_prog *prog = in->ctx.prog;
	size_t part = (size_t)in->length * in->count;

	while (pending->recvs > 0) {
		struct ibv_wc wc;
		int r;

		if (prog_poll(&in->ctx, &wc) != 0)
			return -1;
		for (r = 0; r < in->qp_count && in->qps[r].qp->qp_num != wc.qp_num; r++)
			;
		if (r == in->qp_count || wc.byte_len != in->length ||
		    ntohl(wc.imm_data) != (uint32_t)r + 1)
			return -1;
		prog->report(prog, in->qps[r].peer, 0, &wc,
			     in->bytes + ((size_t)r + 1) * part - in->length);
		/* What came before it on this QP is in place as well. */
		if (prog_check(prog, "part", in->bytes + (size_t)r * part, part, (uint64_t)r + 1) !=
		    0)
			return -1;
		pending->recvs--;
	}
	return 0;
}

static int post_all(struct incast *in, struct prog_pending *pending)
{
	const struct vb_prog *prog = in->ctx.prog;
	size_t part = (size_t)in->length * in->count;

	prog_fill(in->bytes, part, (uint64_t)prog->rank);
	for (uint32_t k = 0; k < in->count; k++) {
		size_t offset = (size_t)k * in->length;
		bool is_last = k + 1 == in->count;

		if (prog_post_send(
			    &in->qps[0],
			    (struct prog_send){.wr_id = k,
					       .opcode = is_last ? IBV_WR_RDMA_WRITE_WITH_IMM
								 : IBV_WR_RDMA_WRITE,
					       .bytes = in->bytes + offset,
					       .length = in->length,
					       .remote_offset =
						       (size_t)(prog->rank - 1) * part + offset,
					       .imm = (uint32_t)prog->rank}) != 0)
			return -1;
		pending->sends++;
	}
	return 0;
}

static int run(const struct vb_prog *prog, struct incast *in, size_t region)
{
	struct prog_pending pending = {0};

	if (prog_open(&in->ctx, prog, (int)in->count + prog->size, in->bytes, region) != 0)
		return -1;
	for (int i = 0; i < in->qp_count; i++) {
		if (prog_qp_open(&in->qps[i], &in->ctx,
				 (struct prog_qp_params){.peer = prog->rank == 0 ? i + 1 : 0,
							 .send_depth = in->count,
							 .recv_depth = 1}) != 0)
			return -1;
		if (prog->rank == 0 && prog_post_recv(&in->qps[i], 100 + (uint64_t)i, NULL, 0) != 0)
			return -1;
		pending.recvs += prog->rank == 0;
	}
	if (prog_connect(in->qps, in->qp_count) != 0)
		return -1;
	if (prog->rank == 0
		    ? receive(in, &pending) != 0
		    : post_all(in, &pending) != 0 || prog_drain(&in->qps[0], NULL, &pending) != 0)
		return -1;
	return prog_close(&in->ctx, in->qps, in->qp_count);
}

int prog_main(const struct vb_prog *prog)
{
	struct incast in = {.length = (uint32_t)prog_arg(prog, "bytes", 30000),
			    .count = (uint32_t)prog_arg(prog, "count", 8),
			    .qp_count = prog->rank == 0 ? prog->size - 1 : 1};
	size_t region = (size_t)in.length * in.count * (size_t)in.qp_count;
	int ret = -1;

	if (prog->size < 2)
		return prog_idle(prog);
	in.bytes = calloc(1, region);
	in.qps = calloc((size_t)in.qp_count, sizeof(*in.qps));
	if (in.bytes && in.qps)
		ret = run(prog, &in, region);
	free(in.bytes);
	free(in.qps);
	return ret;
}
