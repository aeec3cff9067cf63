/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <errno.h>

/* Device memory: given out and taken back. Pages that nobody has written read as zero. */

CUresult cuda_take(CUdeviceptr *ret_address, size_t bytes)
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
	error = gpu_memory_take(&gpu->memory, bytes, context, &address);
	if (error != 0)
		return error == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	cuda_make_room(gpu);
	gpu_backend()->pass(bytes <= GPU_MEMORY_SMALL ? gpu->profile->alloc
						      : gpu->profile->alloc_blocks);
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemAlloc(CUdeviceptr *ret_address, size_t bytes)
{
	return cuda_take(ret_address, bytes);
}

/* What came from a pool goes back to it. */
static CUresult free_view(CUdeviceptr address)
{
	struct cuda_memory memory;

	if (!cuda_memory(address, &memory) || !memory.view || memory.start != address ||
	    memory.view->kind != GPU_VIEW_POOL)
		return CUDA_ERROR_INVALID_VALUE;
	for (struct CUctx_st *context = gpu_program_next(cuda_program(), NULL); context;
	     context = gpu_program_next(cuda_program(), context))
		if (context->streams.gpu == memory.gpu)
			(void)cuda_rest(context);
	if (!cuda_memory(address, &memory) || !memory.view || memory.start != address)
		return CUDA_ERROR_INVALID_VALUE;
	cuda_pool_free(memory.view, NULL);
	gpu_backend()->pass(memory.gpu->profile->free);
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
	if (cuda_is_managed(address))
		return cuda_free_managed(address);
	allocation = cuda_find(address, &gpu);
	if (!allocation)
		return free_view(address);
	(void)cuda_rest(allocation->owner);
	allocation = cuda_find(address, &gpu);
	if (!allocation || allocation->address != address)
		return CUDA_ERROR_INVALID_VALUE;
	context = allocation->owner;
	if (cuda_state(&context->streams) != CUDA_SUCCESS)
		return cuda_state(&context->streams);
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
		*ret_free = gpu_memory_free_bytes(&gpu->memory) - gpu->memory.lent;
	if (ret_total)
		*ret_total = gpu->memory.bytes;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemGetAddressRange(CUdeviceptr *ret_base, size_t *ret_bytes,
					  CUdeviceptr address)
{
	const struct gpu_allocation *managed;
	const struct gpu_pinned *pinned;
	struct cuda_memory memory;
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	bool is_known;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_base && !ret_bytes)
		return CUDA_SUCCESS;
	managed = cuda_find_managed(address);
	is_known = cuda_memory(address, &memory) && !(memory.view && memory.view->is_closed);
	if (managed) {
		memory.start = managed->address;
		memory.bytes = managed->bytes;
		is_known = true;
	}
	pinned = cuda_find_pinned(cuda_program(), address);
	if (!is_known && !pinned)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_base)
		*ret_base = is_known ? memory.start : pinned->address;
	if (ret_bytes)
		*ret_bytes = is_known ? memory.bytes : pinned->bytes;
	return CUDA_SUCCESS;
}

void cuda_forget_memory(const struct CUctx_st *context)
{
	struct gpu *gpu = context->streams.gpu;
	const struct gpu_allocation *allocation;

	while ((allocation = gpu_memory_of(&gpu->memory, context))) {
		const uint64_t address = allocation->address, bytes = allocation->bytes;

		if (gpu_memory_drop(&gpu->memory, address) == 0)
			gpu_backend()->freed(gpu, address, bytes);
	}
}
