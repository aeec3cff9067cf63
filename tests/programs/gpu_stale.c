/* SPDX-License-Identifier: BSD-2-Clause */

/* The wrong program: rank 0 WRITEs bytes=4096 from its host's memory to the GPU of rank 1, with
 * immediate data, rounds=20 times; rank 1 trusts the completion and copies what came to its own
 * memory at once. Where the GPU promises no order (ordering: none) that may be what was there
 * before: then the program fails. flush=1: one call more, and it does not. fail=0: it says so and
 * ends well. */
#include "tests/programs/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct own {
	const struct vb_prog *prog;
	CUdeviceptr memory; /* of rank 1's GPU */
	uint8_t *bytes;	    /* of the host: what is sent, or was copied */
	uint32_t length;
	int stale;
};

static void key_of(char *ret_key, size_t room, int round)
{
	(void)snprintf(ret_key, room, "seen%d", round);
}

static int send_round(struct own *own, struct prog_qp *qp, int round)
{
	struct prog_pending pending = {.sends = 1};
	char key[16];

	memset(own->bytes, round + 1, own->length);
	key_of(key, sizeof(key), round);
	return prog_post_send(qp, (struct prog_send){.wr_id = 1,
						     .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
						     .bytes = own->bytes,
						     .length = own->length}) != 0 ||
			       prog_drain(qp, NULL, &pending) != 0 ||
			       own->prog->get(own->prog, key, NULL, 0) != 0
		       ? -1
		       : 0;
}

static int take_round(struct own *own, struct prog_qp *qp, int round)
{
	const struct vb_prog *prog = own->prog;
	struct prog_pending pending = {.recvs = 1};
	char key[16];

	if (prog_post_recv(qp, 1, NULL, 0) != 0)
		return -1;
	key_of(key, sizeof(key), 1000 + round);
	if (prog->put(prog, key, NULL, 0) != 0 || prog_drain(qp, NULL, &pending) != 0)
		return -1;
	if (prog_arg(prog, "flush", 0) &&
	    !GPU_DO(prog,
		    cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
					       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)))
		return -1;
	if (!GPU_DO(prog, cuMemcpyDtoH(own->bytes, own->memory, own->length)))
		return -1;
	own->stale += own->bytes[own->length - 1] != round + 1;
	key_of(key, sizeof(key), round);
	return prog->put(prog, key, NULL, 0);
}

static int ready(const struct own *own, int round)
{
	char key[16];

	key_of(key, sizeof(key), 1000 + round);
	return own->prog->rank == 1 ? 0 : own->prog->get(own->prog, key, NULL, 0);
}

static int talk(struct own *own, struct prog_ctx *ctx)
{
	const struct vb_prog *prog = own->prog;
	const int rounds = (int)prog_arg(prog, "rounds", 20);
	struct prog_qp qp;
	int ret = prog_qp_open(
		&qp, ctx,
		(struct prog_qp_params){.peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1});

	if (ret == 0)
		ret = prog_connect(&qp, 1);
	for (int round = 0; ret == 0 && round < rounds; round++) {
		ret = ready(own, round);
		if (ret == 0)
			ret = prog->rank == 0 ? send_round(own, &qp, round)
					      : take_round(own, &qp, round);
	}
	if (ret == 0)
		ret = prog_close(ctx, &qp, 1);
	if (own->stale > 0)
		prog_say(prog, "%d of %d were stale", own->stale, rounds);
	return ret == 0 && (own->stale == 0 || !prog_arg(prog, "fail", 1)) ? 0 : -1;
}

int prog_main(const struct vb_prog *prog)
{
	struct own own = {.prog = prog, .length = (uint32_t)prog_arg(prog, "bytes", 4096)};
	struct prog_ctx ctx;
	void *memory;
	int ret;

	if (!prog_takes(prog, "flush rounds fail bytes"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	own.bytes = calloc(1, own.length);
	if (!own.bytes || !gpu_open(prog, 0) || !GPU_DO(prog, cuMemAlloc(&own.memory, own.length)))
		return -1;
	memory = prog->rank == 1 ? (void *)(uintptr_t)own.memory : own.bytes;
	ret = prog_open(&ctx, prog, 16, memory, own.length);
	if (ret == 0)
		ret = talk(&own, &ctx);
	free(own.bytes);
	return ret;
}
