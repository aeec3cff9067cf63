/* SPDX-License-Identifier: BSD-2-Clause */

/* Without GPUDirect: rank 0 copies bytes=4 MiB from the memory of its GPU to that of its host and
 * WRITEs them to rank 1's host, who copies them to its GPU; rounds=8 times, one after the other.
 * pinned=1: the memory of both hosts is registered with the driver, pinned=2: anew each time.
 * direct=1: they go from GPU to GPU instead, if both have their memory registered with the adapter,
 * as libraries do. Rank 0 says "direct MB/S" or "staging MB/S", of all rounds; rank 1 looks at the
 * last byte of each. Other ranks do nothing. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdio.h>
#include <stdlib.h>

struct own {
	const struct vb_prog *prog;
	CUdeviceptr memory; /* of the GPU */
	uint8_t *bytes;	    /* of the host */
	uint32_t length;
	bool is_direct;
};

static void name_round(char *ret_key, size_t room, const char *what, int round)
{
	(void)snprintf(ret_key, room, "%s%d", what, round);
}

static int send_round(struct own *own, struct prog_qp *qp, int round)
{
	const struct vb_prog *prog = own->prog;
	struct prog_pending pending = {.sends = 1};
	char key[24];

	if (!GPU_DO(prog, cuMemsetD8(own->memory, (unsigned char)(round + 1), own->length)) ||
	    !(own->is_direct ? GPU_DO(prog, cuCtxSynchronize())
			     : GPU_DO(prog, cuMemcpyDtoH(own->bytes, own->memory, own->length))) ||
	    prog_post_send(qp, (struct prog_send){.wr_id = 1,
						  .opcode = IBV_WR_RDMA_WRITE,
						  .bytes = own->is_direct
								   ? (void *)(uintptr_t)own->memory
								   : own->bytes,
						  .length = own->length}) != 0 ||
	    prog_drain(qp, NULL, &pending) != 0)
		return -1;
	name_round(key, sizeof(key), "sent", round);
	if (prog->put(prog, key, NULL, 0) != 0)
		return -1;
	name_round(key, sizeof(key), "taken", round);
	return prog->get(prog, key, NULL, 0);
}

static int take_round(struct own *own, int round)
{
	const struct vb_prog *prog = own->prog;
	uint8_t last = 0;
	char key[24];

	name_round(key, sizeof(key), "sent", round);
	if (prog->get(prog, key, NULL, 0) != 0 ||
	    (!own->is_direct &&
	     !GPU_DO(prog, cuMemcpyHtoD(own->memory, own->bytes, own->length))) ||
	    !GPU_DO(prog, cuCtxSynchronize()) ||
	    !GPU_DO(prog, cuMemcpyDtoH(&last, own->memory + own->length - 1, 1)) ||
	    last != round + 1)
		return -1;
	name_round(key, sizeof(key), "taken", round);
	return prog->put(prog, key, NULL, 0);
}

static int pinned_round(struct own *own, struct prog_qp *qp, int round)
{
	const struct vb_prog *prog = own->prog;
	const bool pins = prog_arg(prog, "pinned", 0) == 2;
	int ret;

	if (pins && !GPU_DO(prog, cuMemHostRegister(own->bytes, own->length, 0)))
		return -1;
	ret = prog->rank == 0 ? send_round(own, qp, round) : take_round(own, round);
	return pins && !GPU_DO(prog, cuMemHostUnregister(own->bytes)) ? -1 : ret;
}

static int talk(struct own *own, struct prog_ctx *ctx)
{
	const struct vb_prog *prog = own->prog;
	const int rounds = (int)prog_arg(prog, "rounds", 8);
	struct prog_qp qp;
	uint64_t began;
	int ret = prog_qp_open(
		&qp, ctx,
		(struct prog_qp_params){.peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1});

	if (ret == 0)
		ret = prog_connect(&qp, 1);
	began = vb_now_ps();
	for (int round = 0; ret == 0 && round < rounds; round++)
		ret = pinned_round(own, &qp, round);
	if (ret == 0 && prog->rank == 0)
		prog_say(prog, "%s %.0f", own->is_direct ? "direct" : "staging",
			 (double)own->length * rounds / (double)(vb_now_ps() - began) * 1e6);
	return ret == 0 ? prog_close(ctx, &qp, 1) : -1;
}

/* What the other rank can, too. False: they could not tell each other. */
static bool try_direct(struct own *own, struct prog_ctx *ctx)
{
	const struct vb_prog *prog = own->prog;
	struct ibv_mr *mr = ibv_reg_mr(ctx->pd, (void *)(uintptr_t)own->memory, own->length,
				       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	const uint8_t can = mr != NULL;
	uint8_t other = 0;
	char key[24];

	name_round(key, sizeof(key), "direct", prog->rank);
	if (prog->put(prog, key, &can, sizeof(can)) != 0)
		return false;
	name_round(key, sizeof(key), "direct", 1 - prog->rank);
	if (prog->get(prog, key, &other, sizeof(other)) != 0)
		return false;
	own->is_direct = can && other;
	if (own->is_direct) {
		struct ibv_mr *of_host = ctx->mr;

		ctx->mr = mr;
		return ibv_dereg_mr(of_host) == 0;
	}
	return !mr || ibv_dereg_mr(mr) == 0;
}

static int run(struct own *own)
{
	const struct vb_prog *prog = own->prog;
	const bool pinned = prog_arg(prog, "pinned", 0) == 1;
	struct prog_ctx ctx;

	if (!gpu_open(prog, 0) || !GPU_DO(prog, cuMemAlloc(&own->memory, own->length)) ||
	    (pinned && !GPU_DO(prog, cuMemHostRegister(own->bytes, own->length, 0))) ||
	    prog_open(&ctx, prog, 16, own->bytes, own->length) != 0 ||
	    (prog_arg(prog, "direct", 0) && !try_direct(own, &ctx)) || talk(own, &ctx) != 0)
		return -1;
	return pinned && !GPU_DO(prog, cuMemHostUnregister(own->bytes)) ? -1 : 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct own own = {.prog = prog, .length = (uint32_t)prog_arg(prog, "bytes", 4 << 20)};
	int ret;

	if (!prog_takes(prog, "pinned rounds direct bytes"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	gpu_heading(prog, "direct or staging MB/s");
	own.bytes = calloc(1, own.length);
	ret = own.bytes ? run(&own) : -1;
	free(own.bytes);
	return ret;
}
