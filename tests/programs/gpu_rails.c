/* SPDX-License-Identifier: BSD-2-Clause */

/* Rank 0 writes bytes=1 MiB from each of its GPUs to the same one of rank 1, all at once, each over
 * an adapter of its own: rails=4 of them at most, of GPUs that lie evenly among all, so that each
 * is near its adapter where a machine has them in that order; shift=1: each goes over the adapter
 * of the next one instead. Lines "rail NTH GPU MB/S" and "rails COUNT MB/S", of all together.
 * Rank 1 checks every byte. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>

enum { RAILS_MAX = 16 };

struct rail {
	struct prog_ctx ctx;
	struct prog_qp qp;
	int gpu;
	CUdeviceptr memory;
};

struct rails {
	const struct vb_prog *prog;
	int count;
	uint32_t length; /* of a rail */
	uint8_t *bytes;
	struct rail rails[RAILS_MAX];
};

/* As many as there are adapters, and GPUs for them. */
static bool choose(struct rails *all)
{
	const struct vb_prog *prog = all->prog;
	const int devices = prog_count_devices(prog), wanted = (int)prog_arg(prog, "rails", 4);
	const int shift = (int)prog_arg(prog, "shift", 0);
	int gpus, step;

	if (devices < 1 || !GPU_DO(prog, cuInit(0)) || !GPU_DO(prog, cuDeviceGetCount(&gpus)))
		return false;
	all->count = devices < wanted ? devices : wanted;
	all->count = all->count < RAILS_MAX ? all->count : (int)RAILS_MAX;
	if (gpus < all->count) {
		prog_say(prog, "%d GPUs for %d adapters", gpus, all->count);
		return false;
	}
	step = gpus > devices ? gpus / devices : 1;
	for (int i = 0; i < all->count; i++)
		all->rails[i].gpu = (i + shift) % (gpus / step) * step;
	return true;
}

static bool open_memory(struct rails *all, struct rail *rail)
{
	const unsigned int yes = 1;

	if (!gpu_open(all->prog, rail->gpu) ||
	    !GPU_DO(all->prog, cuMemAlloc(&rail->memory, all->length)) ||
	    !GPU_DO(all->prog,
		    cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, rail->memory)))
		return false;
	if (all->prog->rank == 1)
		return true;
	prog_fill(all->bytes, all->length, (uint64_t)rail->gpu);
	return GPU_DO(all->prog, cuMemcpyHtoD(rail->memory, all->bytes, all->length));
}

static bool open_rail(struct rails *all, int nth)
{
	struct rail *rail = &all->rails[nth];
	const struct prog_qp_params params = {
		.peer = 1 - all->prog->rank, .nth = nth, .send_depth = 1, .recv_depth = 1};

	return open_memory(all, rail) &&
	       prog_open_device(&rail->ctx, all->prog, nth, (void *)(uintptr_t)rail->memory,
				all->length) == 0 &&
	       prog_qp_open(&rail->qp, &rail->ctx, params) == 0 &&
	       prog_post_recv(&rail->qp, 0, NULL, 0) == 0 && prog_connect(&rail->qp, 1) == 0;
}

/* MB/s. */
static double rate(uint64_t bytes, uint64_t since)
{
	return (double)bytes * 1e6 / (double)(vb_now_ps() - since);
}

static bool send_all(struct rails *all)
{
	const uint64_t began = vb_now_ps();
	struct ibv_wc wc;

	for (int i = 0; i < all->count; i++)
		if (prog_post_send(&all->rails[i].qp,
				   (struct prog_send){.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
						      .bytes = all->rails[i].ctx.mr->addr,
						      .length = all->length}) != 0)
			return false;
	for (int i = 0; i < all->count; i++) {
		if (prog_poll(&all->rails[i].ctx, &wc) != 0)
			return false;
		prog_say(all->prog, "rail %d %d %.0f", i, all->rails[i].gpu,
			 rate(all->length, began));
	}
	prog_say(all->prog, "rails %d %.0f", all->count,
		 rate((uint64_t)all->count * all->length, began));
	return true;
}

static bool check_all(struct rails *all)
{
	struct ibv_wc wc;

	for (int i = 0; i < all->count; i++) {
		struct rail *rail = &all->rails[i];

		if (prog_poll(&rail->ctx, &wc) != 0 || !gpu_open(all->prog, rail->gpu) ||
		    !GPU_DO(all->prog, cuFlushGPUDirectRDMAWrites(
					       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
					       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)) ||
		    !GPU_DO(all->prog, cuMemcpyDtoH(all->bytes, rail->memory, all->length)) ||
		    prog_check(all->prog, "what came", all->bytes, all->length,
			       (uint64_t)rail->gpu) != 0)
			return false;
	}
	return true;
}

static bool run(struct rails *all)
{
	for (int i = 0; i < all->count; i++)
		if (!open_rail(all, i))
			return false;
	if (prog_barrier(all->prog, "rails/begin") != 0 ||
	    !(all->prog->rank == 0 ? send_all(all) : check_all(all)) || prog_idle(all->prog) != 0)
		return false;
	for (int i = 0; i < all->count; i++)
		if (prog_destroy(&all->rails[i].ctx, &all->rails[i].qp, 1) != 0 ||
		    !GPU_DO(all->prog, cuMemFree(all->rails[i].memory)))
			return false;
	return true;
}

int prog_main(const struct vb_prog *prog)
{
	struct rails *all;
	int ret = -1;

	if (!prog_takes(prog, "rails shift bytes"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	all = calloc(1, sizeof(*all));
	if (!all)
		return -1;
	gpu_heading(prog, "rail NTH GPU MB/s; rails COUNT MB/s");
	all->prog = prog;
	all->length = (uint32_t)prog_arg(prog, "bytes", 1 << 20);
	all->bytes = malloc(all->length);
	if (all->bytes && choose(all) && run(all))
		ret = 0;
	free(all->bytes);
	free(all);
	return ret;
}
