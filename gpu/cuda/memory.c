/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <errno.h>

/* Device memory: given out and taken back. Pages that nobody has written read as zero. */

CUDA_PUBLIC CUresult cuMemAlloc(CUdeviceptr *ret_address, size_t bytes)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu *gpu;
	uint64_t address;
	int error;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address)
		return CUDA_ERROR_INVALID_VALUE;
	gpu = context->streams.gpu;
	*ret_address = 0;
	gpu_backend()->collect(gpu);
	error = gpu_memory_take(&gpu->memory, bytes, &address);
	if (error != 0)
		return error == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	gpu_backend()->pass(bytes <= GPU_MEMORY_SMALL ? gpu->profile->alloc
						      : gpu->profile->alloc_blocks);
	*ret_address = address;
	return CUDA_SUCCESS;
}

/* Waits for all that runs there: as measured. */
CUDA_PUBLIC CUresult cuMemFree(CUdeviceptr address)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_allocation *allocation;
	const struct CUctx_st *context;
	struct gpu *gpu;
	uint64_t bytes;
	ps_t time;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (address == 0)
		return CUDA_SUCCESS;
	if (!cuda_find(address, &gpu))
		return CUDA_ERROR_INVALID_VALUE;
	context = cuda_program()->contexts[cuda_number(gpu)];
	if (context)
		(void)cuda_rest(context);
	if (context && cuda_state(&context->streams) != CUDA_SUCCESS)
		return cuda_state(&context->streams);
	allocation = cuda_find(address, &gpu);
	if (!allocation || allocation->address != address)
		return CUDA_ERROR_INVALID_VALUE;
	time = allocation->bytes <= GPU_MEMORY_SMALL ? gpu->profile->free
						     : gpu->profile->free_blocks;
	bytes = allocation->bytes;
	if (gpu_memory_drop(&gpu->memory, address) == 0)
		gpu_backend()->freed(gpu, address, bytes);
	gpu_backend()->pass(time);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemGetInfo(size_t *ret_free, size_t *ret_total)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu = context->streams.gpu;
	gpu_backend()->collect(gpu);
	if (ret_free)
		*ret_free = gpu_memory_free_bytes(&gpu->memory);
	if (ret_total)
		*ret_total = gpu->memory.bytes;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemGetAddressRange(CUdeviceptr *ret_base, size_t *ret_bytes,
					  CUdeviceptr address)
{
	const struct gpu_allocation *allocation;
	const struct gpu_pinned *pinned;
	struct CUctx_st *context;
	struct gpu *gpu;
	const CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_base && !ret_bytes)
		return CUDA_SUCCESS;
	allocation = cuda_find(address, &gpu);
	pinned = cuda_find_pinned(cuda_program(), address);
	if (!allocation && !pinned)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_base)
		*ret_base = allocation ? allocation->address : pinned->address;
	if (ret_bytes)
		*ret_bytes = allocation ? allocation->bytes : pinned->bytes;
	return CUDA_SUCCESS;
}
