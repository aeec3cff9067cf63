/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <errno.h>
#include <string.h>

/* Device memory: given out, taken back, copied and set. Pages that nobody has written read as zero.
 */

struct gpu *cuda_gpu_of(CUdeviceptr address)
{
	for (uint32_t i = 0; i < gpu_backend()->count(); i++) {
		struct gpu *gpu = gpu_backend()->gpu(i);

		if (gpu_memory_has(&gpu->memory, address))
			return gpu;
	}
	return NULL;
}

CUDA_PUBLIC CUresult cuMemAlloc(CUdeviceptr *ret_address, size_t bytes)
{
	struct gpu *gpu;
	const CUresult ret = cuda_current(&gpu);
	uint64_t address;
	int error;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = 0;
	error = gpu_memory_take(&gpu->memory, bytes, &address);
	if (error != 0)
		return error == -EINVAL ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY;
	gpu_backend()->pass(bytes <= GPU_MEMORY_SMALL ? gpu->profile->alloc
						      : gpu->profile->alloc_blocks);
	*ret_address = address;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemFree(CUdeviceptr address)
{
	const struct gpu_allocation *allocation;
	struct gpu *gpu;
	ps_t time;

	if (!cuda_program())
		return CUDA_ERROR_NOT_INITIALIZED;
	if (address == 0)
		return CUDA_SUCCESS;
	gpu = cuda_gpu_of(address);
	allocation = gpu ? gpu_memory_find(&gpu->memory, address) : NULL;
	if (!allocation || allocation->address != address)
		return CUDA_ERROR_INVALID_VALUE;
	time = allocation->bytes <= GPU_MEMORY_SMALL ? gpu->profile->free
						     : gpu->profile->free_blocks;
	(void)gpu_memory_drop(&gpu->memory, address);
	gpu_backend()->pass(time);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemGetInfo(size_t *ret_free, size_t *ret_total)
{
	struct gpu *gpu;
	const CUresult ret = cuda_current(&gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
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
	struct gpu *gpu;
	const CUresult ret = cuda_current(&gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu = cuda_gpu_of(address);
	allocation = gpu ? gpu_memory_find(&gpu->memory, address) : NULL;
	if (!allocation)
		return CUDA_ERROR_NOT_FOUND;
	if (ret_base)
		*ret_base = allocation->address;
	if (ret_bytes)
		*ret_bytes = allocation->bytes;
	return CUDA_SUCCESS;
}

/* [@address, @address + @bytes) is in one allocation. */
static CUresult find_range(CUdeviceptr address, size_t bytes, struct gpu **ret_gpu)
{
	const struct gpu_allocation *allocation;
	const CUresult ret = cuda_current(ret_gpu);

	if (ret != CUDA_SUCCESS || bytes == 0)
		return ret;
	*ret_gpu = cuda_gpu_of(address);
	allocation = *ret_gpu ? gpu_memory_find(&(*ret_gpu)->memory, address) : NULL;
	if (!allocation || bytes > allocation->bytes - (address - allocation->address))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* The time that so many bytes take to the GPU. */
static void bring(struct gpu *gpu, size_t bytes)
{
	const struct gpu_profile *profile = gpu->profile;

	if (bytes > profile->push_bytes) {
		gpu_backend()->pass(profile->copy_to);
		gpu_backend()->move(gpu, GPU_TO_DEVICE, bytes);
		return;
	}
	gpu_backend()->pass(profile->copy_pushed +
			    util_tx_time((uint32_t)bytes, profile->push_bps));
	gpu_backend()->move(gpu, GPU_PUSHED, bytes);
}

CUDA_PUBLIC CUresult cuMemcpyHtoD(CUdeviceptr to, const void *from, size_t bytes)
{
	struct gpu *gpu;
	const CUresult ret = find_range(to, bytes, &gpu);

	if (ret != CUDA_SUCCESS || bytes == 0)
		return ret;
	if (!from)
		return CUDA_ERROR_INVALID_VALUE;
	bring(gpu, bytes);
	memcpy(gpu_at(gpu, to), from, bytes);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemcpyDtoH(void *to, CUdeviceptr from, size_t bytes)
{
	struct gpu *gpu;
	const CUresult ret = find_range(from, bytes, &gpu);

	if (ret != CUDA_SUCCESS || bytes == 0)
		return ret;
	if (!to)
		return CUDA_ERROR_INVALID_VALUE;
	gpu_backend()->pass(gpu->profile->copy_from);
	memcpy(to, gpu_at(gpu, from), bytes);
	gpu_backend()->move(gpu, GPU_FROM_DEVICE, bytes);
	return CUDA_SUCCESS;
}

/* Within one GPU. */
CUDA_PUBLIC CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, size_t bytes)
{
	struct gpu *gpu, *other;
	CUresult ret = find_range(to, bytes, &gpu);

	if (ret == CUDA_SUCCESS)
		ret = find_range(from, bytes, &other);
	if (ret != CUDA_SUCCESS || bytes == 0)
		return ret;
	if (gpu != other)
		return CUDA_ERROR_NOT_SUPPORTED;
	memmove(gpu_at(gpu, to), gpu_at(gpu, from), bytes);
	gpu_backend()->pass(gpu->profile->copy_within);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t bytes)
{
	struct gpu *gpu;
	const CUresult ret = find_range(to, bytes, &gpu);

	if (ret != CUDA_SUCCESS || bytes == 0)
		return ret;
	memset(gpu_at(gpu, to), value, bytes);
	gpu_backend()->pass(gpu->profile->set);
	return CUDA_SUCCESS;
}
