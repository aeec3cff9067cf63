/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <string.h>

/* What makes GPUDirect RDMA: dma-bufs of device memory, and the flush of what others wrote there.
 */

enum { HOST_PAGE = 4096 };

struct gpu *cuda_exportable(CUdeviceptr address, uint64_t bytes, uint64_t *ret_target)
{
	struct gpu *gpu = cuda_gpu_of(address);
	const struct gpu_stretch *stretch;
	const struct gpu_view *view;

	*ret_target = address;
	if (!gpu)
		return NULL;
	if (gpu_memory_has(&gpu->memory, address))
		return cuda_is_mapped(cuda_program(), gpu, address, bytes) ? gpu : NULL;
	stretch = gpu_views_stretch(cuda_views(), address);
	view = gpu_views_behind(cuda_views(), address);
	if (!stretch || stretch->owner != cuda_program() ||
	    (view && view->kind == GPU_VIEW_IMPORT && view->address <= address))
		return NULL;
	return gpu_views_resolve(cuda_views(), address, bytes, &gpu, ret_target) ? gpu : NULL;
}

/* What is a GPU's own address is one of an allocation. */
static bool begins_in_memory(const struct gpu *gpu, CUdeviceptr address)
{
	struct gpu *found;

	return !gpu_memory_has(&gpu->memory, address) || cuda_find(address, &found);
}

/* The descriptor is the caller's. Any device memory, be the range beyond what was allocated, as far
 * as there is memory at all: as measured, where it begins in an allocation. */
CUDA_PUBLIC CUresult cuMemGetHandleForAddressRange(void *ret_handle, CUdeviceptr address,
						   size_t bytes, CUmemRangeHandleType type,
						   unsigned long long flags)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu *gpu;
	uint64_t target;
	int fd;

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu = cuda_exportable(address, bytes, &target);
	if (!ret_handle || type != CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD || !gpu ||
	    !begins_in_memory(gpu, address) || address % HOST_PAGE != 0 || bytes % HOST_PAGE != 0 ||
	    !gpu_memory_is_mapped(&gpu->memory, target, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	if (flags == CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (gpu_backend()->export_range(gpu, target, bytes, &fd) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu_backend()->pass(gpu->profile->export);
	memcpy(ret_handle, &fd, sizeof(fd));
	return CUDA_SUCCESS;
}

/* A read pushes before it what was written by others: where the device promises that order to
 * itself, and nobody else looks, there is nothing to do. */
CUDA_PUBLIC CUresult cuFlushGPUDirectRDMAWrites(CUflushGPUDirectRDMAWritesTarget target,
						CUflushGPUDirectRDMAWritesScope scope)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu *gpu;
	ps_t began;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (target != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX ||
	    (scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER &&
	     scope != CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES))
		return CUDA_ERROR_INVALID_VALUE;
	gpu = context->streams.gpu;
	began = gpu_backend()->now();
	gpu_backend()->pass(gpu->profile->flush_own);
	if (gpu->writes_ordering < (uint32_t)scope)
		gpu_backend()->read(gpu);
	gpu->counts.flushes++;
	gpu->counts.flush_time += gpu_backend()->now() - began;
	return CUDA_SUCCESS;
}
