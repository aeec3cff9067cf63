/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* What an address is. */

struct gpu *cuda_gpu_of(CUdeviceptr address)
{
	for (uint32_t i = 0; i < gpu_backend()->count(); i++) {
		struct gpu *gpu = gpu_backend()->gpu(i);

		if (gpu_memory_has(&gpu->memory, address))
			return gpu;
	}
	return NULL;
}

struct gpu_allocation *cuda_find(CUdeviceptr address, struct gpu **ret_gpu)
{
	struct gpu_allocation *allocation;
	const struct CUctx_st *owner;

	*ret_gpu = cuda_gpu_of(address);
	allocation = *ret_gpu ? gpu_memory_find(&(*ret_gpu)->memory, address) : NULL;
	owner = allocation ? allocation->owner : NULL;
	return owner && owner->program == cuda_program() ? allocation : NULL;
}

CUresult cuda_range(CUdeviceptr address, uint64_t bytes, struct cuda_range *ret_range)
{
	const struct gpu_allocation *allocation = cuda_find(address, &ret_range->gpu);
	const struct gpu_pinned *pinned;

	if (ret_range->gpu) {
		ret_range->kind = CUDA_DEVICE;
		if (!allocation || bytes > allocation->bytes - (address - allocation->address))
			return CUDA_ERROR_INVALID_VALUE;
		ret_range->is_sync = allocation->is_sync;
		ret_range->at = gpu_at(ret_range->gpu, address);
		return CUDA_SUCCESS;
	}
	pinned = cuda_find_pinned(cuda_program(), address);
	ret_range->is_registered = pinned && pinned->is_registered;
	ret_range->kind = pinned ? CUDA_PINNED : CUDA_PAGEABLE;
	ret_range->at = (uint8_t *)(uintptr_t)address;
	if (address == 0 || (pinned && bytes > pinned->bytes - (address - pinned->address)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* How many begin at or below @address. */
static size_t count_to(const struct gpu_program *program, uint64_t address)
{
	size_t low = 0, high = program->pinned_count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (program->pinned[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct gpu_pinned *cuda_find_pinned(const struct gpu_program *program, uint64_t address)
{
	const size_t count = count_to(program, address);
	const struct gpu_pinned *last;

	if (count == 0)
		return NULL;
	last = &program->pinned[count - 1];
	return address - last->address < last->bytes ? last : NULL;
}
