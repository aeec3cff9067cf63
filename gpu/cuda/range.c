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
	*ret_gpu = cuda_gpu_of(address);
	return *ret_gpu ? gpu_memory_find(&(*ret_gpu)->memory, address) : NULL;
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

/* Of those that begin at or below @address the last; @program->pinned_count: none does. */
static size_t last_at(const struct gpu_program *program, uint64_t address)
{
	size_t count = 0;

	while (count < program->pinned_count && program->pinned[count].address <= address)
		count++;
	return count > 0 ? count - 1 : program->pinned_count;
}

const struct gpu_pinned *cuda_find_pinned(const struct gpu_program *program, uint64_t address)
{
	const size_t i = last_at(program, address);
	const struct gpu_pinned *own = &program->pinned[i];

	return i < program->pinned_count && address - own->address < own->bytes ? own : NULL;
}
