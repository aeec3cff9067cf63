/* SPDX-License-Identifier: BSD-2-Clause */

/* A program: rank 0 writes bytes=1000000 bytes of the memory of its GPU to that of rank 1's with
 * one RDMA WRITE, and waits for its completion. */
#include "bench/work.h"
#include "include/verbena/cuda.h"
#include "tests/programs/util.h"

static int open_memory(CUdeviceptr *ret_memory, size_t bytes)
{
	CUcontext context;

	return cuInit(0) == CUDA_SUCCESS && cuDevicePrimaryCtxRetain(&context, 0) == CUDA_SUCCESS &&
			       cuCtxSetCurrent(context) == CUDA_SUCCESS &&
			       cuMemAlloc(ret_memory, bytes) == CUDA_SUCCESS
		       ? 0
		       : -1;
}

static int write_over(struct prog_qp *qp, void *memory, uint32_t bytes)
{
	const struct vb_prog *prog = qp->ctx->prog;
	struct prog_pending pending = {.sends = 1};

	if (prog->rank == 1)
		return prog->get(prog, "written", NULL, 0);
	if (prog_post_send(qp, (struct prog_send){.wr_id = 1,
						  .opcode = IBV_WR_RDMA_WRITE,
						  .bytes = memory,
						  .length = bytes}) != 0 ||
	    prog_drain(qp, NULL, &pending) != 0)
		return -1;
	return prog->put(prog, "written", NULL, 0);
}

int gpu_pair_main(const struct vb_prog *prog)
{
	const uint32_t bytes = (uint32_t)prog_arg(prog, "bytes", 1000000);
	const struct prog_qp_params params = {
		.peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1};
	CUdeviceptr address;
	struct prog_ctx ctx;
	struct prog_qp qp;
	void *memory;

	if (open_memory(&address, bytes) != 0)
		return -1;
	memory = (void *)(uintptr_t)address;
	if (prog_open_device(&ctx, prog, 0, memory, bytes) != 0 ||
	    prog_qp_open(&qp, &ctx, params) != 0 || prog_connect(&qp, 1) != 0 ||
	    write_over(&qp, memory, bytes) != 0)
		return -1;
	return prog_close(&ctx, &qp, 1);
}
