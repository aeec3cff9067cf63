/* SPDX-License-Identifier: BSD-2-Clause */

/* Two programs of one machine: rank 0 has memory of the GPU, and rank 1 knows its address, which is
 * none of its own: as between processes nothing is there, before rank 1 has asked for a GPU and
 * after it. A line for each check, "ok" or "not". */
#include "include/verbena/cuda_kernel.h"
#include "tests/programs/gpu.h"

#include <errno.h>

enum { BLOCK = 2 << 20, PAGE = 4096 };

struct apart {
	const struct vb_prog *prog;
	struct ibv_pd *pd;
	CUdeviceptr theirs[2]; /* plain memory, and what is mapped by a handle */
	int failed;
};

static bool is_registered(struct apart *a, CUdeviceptr address)
{
	struct ibv_mr *mr;

	errno = 0;
	mr = ibv_reg_mr(a->pd, (void *)(uintptr_t)address, PAGE, IBV_ACCESS_LOCAL_WRITE);
	if (mr)
		(void)ibv_dereg_mr(mr);
	return mr || errno != EFAULT;
}

static bool is_exported(CUdeviceptr address)
{
	int fd = -1;

	return cuMemGetHandleForAddressRange(&fd, address, PAGE,
					     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
					     0) != CUDA_ERROR_INVALID_VALUE;
}

/* The kernel takes its context along. */
static CUresult fill(CUdeviceptr address)
{
	uint64_t count = 1;
	uint32_t value = 7;
	void *args[] = {&address, &value, &count};
	CUmodule module;
	CUfunction f;

	if (cuModuleLoadData(&module, VB_KERNELS_PTX) != CUDA_SUCCESS ||
	    cuModuleGetFunction(&f, module, "vb_fill") != CUDA_SUCCESS ||
	    cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) != CUDA_SUCCESS)
		return CUDA_ERROR_NOT_FOUND;
	return cuCtxSynchronize();
}

static int strange(struct apart *a)
{
	const struct vb_prog *prog = a->prog;
	CUdeviceptr own;

	if (prog->get(prog, "address", a->theirs, sizeof(a->theirs)) != 0)
		return -1;
	GPU_CHECK(a, !is_registered(a, a->theirs[0]), "one without a GPU registers nothing there");
	GPU_CHECK(a, !is_registered(a, a->theirs[1]), "nor what is mapped");
	if (!gpu_open(prog, 0) || !GPU_DO(prog, cuMemAlloc(&own, BLOCK)))
		return -1;
	GPU_CHECK(a, is_registered(a, own) && is_exported(own), "its own memory, yes");
	GPU_CHECK(a, !is_registered(a, a->theirs[0]) && !is_registered(a, a->theirs[1]),
		  "and still not the other's");
	GPU_CHECK(a, !is_exported(a->theirs[0]) && !is_exported(a->theirs[1]),
		  "which is not exported");
	GPU_CHECK(a, fill(own) == CUDA_SUCCESS, "a kernel writes its own");
	GPU_CHECK(a, fill(a->theirs[0]) == CUDA_ERROR_ILLEGAL_ADDRESS, "and strays elsewhere");
	return prog->put(prog, "looked", NULL, 0);
}

/* Memory of a handle at an address of its own. */
static CUdeviceptr map(const struct vb_prog *prog)
{
	const CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					  .location.type = CU_MEM_LOCATION_TYPE_DEVICE,
					  .allocFlags.gpuDirectRDMACapable = 1};
	const CUmemAccessDesc access = {.location.type = CU_MEM_LOCATION_TYPE_DEVICE,
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	return GPU_DO(prog, cuMemCreate(&handle, BLOCK, &prop, 0)) &&
			       GPU_DO(prog, cuMemAddressReserve(&address, BLOCK, 0, 0, 0)) &&
			       GPU_DO(prog, cuMemMap(address, BLOCK, 0, handle, 0)) &&
			       GPU_DO(prog, cuMemSetAccess(address, BLOCK, &access, 1))
		       ? address
		       : 0;
}

static int own(struct apart *a)
{
	const struct vb_prog *prog = a->prog;
	CUdeviceptr memory[2];
	uint8_t byte = 1;

	if (!gpu_open(prog, 0) || !GPU_DO(prog, cuMemAlloc(&memory[0], BLOCK)))
		return -1;
	memory[1] = map(prog);
	GPU_CHECK(a, memory[1] && is_registered(a, memory[1]) && is_exported(memory[1]),
		  "what is mapped is for adapters");
	(void)cuMemsetD8(memory[0], 0, BLOCK);
	(void)cuCtxSynchronize();
	if (prog->put(prog, "address", memory, sizeof(memory)) != 0 ||
	    prog->get(prog, "looked", NULL, 0) != 0)
		return -1;
	GPU_CHECK(a, cuMemcpyDtoH(&byte, memory[0], 1) == CUDA_SUCCESS && byte == 0,
		  "nobody has written there");
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct apart a = {.prog = prog};
	struct prog_ctx ctx;
	uint8_t bytes[64];
	int ret;

	if (!prog_takes(prog, "") || prog_open(&ctx, prog, 16, bytes, sizeof(bytes)) != 0)
		return -1;
	a.pd = ctx.pd;
	ret = prog->rank == 0 ? own(&a) : strange(&a);
	if (prog_close(&ctx, NULL, 0) != 0)
		return -1;
	return ret == 0 && a.failed == 0 ? 0 : -1;
}
