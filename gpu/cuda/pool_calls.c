/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "gpu/cuda/pool.h"

/* Stream-ordered memory and its pools, as programs have them. */

static CUresult check_pool(CUmemoryPool pool)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct CUmemPoolHandle_st *known;

	if (ret != CUDA_SUCCESS)
		return ret;
	known = thread->program->pools;
	while (known && known != pool)
		known = known->next;
	return known && !known->is_doomed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuMemAllocFromPoolAsync(CUdeviceptr *ret_address, size_t bytes,
					     CUmemoryPool pool, CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);

	if (ret == CUDA_SUCCESS)
		ret = check_pool(pool);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_address = 0;
	if (bytes > pool->gpu->memory.bytes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	return bytes == 0 ? CUDA_SUCCESS : cuda_pool_take(ret_address, bytes, pool, stream);
}

CUDA_PUBLIC CUresult cuMemAllocAsync(CUdeviceptr *ret_address, size_t bytes, CUstream handle)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);
	struct CUmemPoolHandle_st *pool;

	if (ret != CUDA_SUCCESS)
		return ret;
	pool = cuda_pool_current(stream->context->gpu);
	return pool ? cuMemAllocFromPoolAsync(ret_address, bytes, pool, handle)
		    : CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_PUBLIC CUresult cuMemFreeAsync(CUdeviceptr address, CUstream handle)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(handle, &stream);
	struct cuda_memory memory;

	if (ret != CUDA_SUCCESS || address == 0)
		return ret;
	if (!cuda_memory(address, &memory) || !memory.view || memory.start != address ||
	    memory.view->kind != GPU_VIEW_POOL)
		return CUDA_ERROR_INVALID_VALUE;
	cuda_pool_free(memory.view, stream);
	gpu_backend()->pass(memory.gpu->profile->pool_free);
	return CUDA_SUCCESS;
}

/* ---- pools, for programs ---- */

CUDA_PUBLIC CUresult cuDeviceGetDefaultMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = cuda_pool_default(gpu);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_PUBLIC CUresult cuDeviceGetMemPool(CUmemoryPool *ret_pool, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = cuda_pool_current(gpu);
	return *ret_pool ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUDA_PUBLIC CUresult cuDeviceSetMemPool(CUdevice device, CUmemoryPool pool)
{
	struct gpu *gpu;
	CUresult ret = cuda_device(device, &gpu);

	if (ret == CUDA_SUCCESS)
		ret = check_pool(pool);
	if (ret != CUDA_SUCCESS)
		return ret == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : ret;
	if (pool->gpu != gpu)
		return CUDA_ERROR_INVALID_DEVICE;
	cuda_program()->current[device] = pool;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolCreate(CUmemoryPool *ret_pool, const CUmemPoolProps *props)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_pool || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
		return CUDA_ERROR_INVALID_VALUE;
	if (props->location.type == CU_MEM_LOCATION_TYPE_HOST ||
	    props->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA)
		return CUDA_ERROR_NOT_SUPPORTED; /* here */
	if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    cuda_device(props->location.id, &gpu) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_pool = cuda_pool_make(gpu);
	if (!*ret_pool)
		return CUDA_ERROR_OUT_OF_MEMORY;
	(*ret_pool)->handle_types = props->handleTypes;
	(*ret_pool)->most = props->maxSize;
	gpu_backend()->pass(gpu->profile->pool_create);
	return CUDA_SUCCESS;
}

/* It goes with the last of its memory; its device has the default one again. */
CUDA_PUBLIC CUresult cuMemPoolDestroy(CUmemoryPool pool)
{
	const CUresult ret = check_pool(pool);
	struct CUmemPoolHandle_st **current;
	ps_t time;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (pool->is_default)
		return CUDA_ERROR_INVALID_VALUE;
	current = &cuda_program()->current[cuda_number(pool->gpu)];
	if (*current == pool)
		*current = NULL;
	pool->is_doomed = true;
	time = pool->gpu->profile->pool_destroy;
	gpu_backend()->pass(time + cuda_pools_end());
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolTrimTo(CUmemoryPool pool, size_t bytes)
{
	const CUresult ret = check_pool(pool);

	if (ret == CUDA_SUCCESS)
		gpu_backend()->pass(cuda_pool_trim(pool, bytes));
	return ret;
}

/* Where @attribute is; NULL: nowhere. */
static uint64_t *attribute_of(struct CUmemPoolHandle_st *pool, CUmemPool_attribute attribute)
{
	switch (attribute) {
	case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC:
	case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES:
		return &pool->reuse[attribute - 1];
	case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
		return &pool->threshold;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
		return &pool->reserved;
	case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
		return &pool->reserved_high;
	case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
		return &pool->used;
	case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
		return &pool->used_high;
	}
	return NULL;
}

static bool is_int(CUmemPool_attribute attribute)
{
	return attribute < CU_MEMPOOL_ATTR_RELEASE_THRESHOLD;
}

/* A high mark is set to what there is, by the value 0; what is there is not set. */
CUDA_PUBLIC CUresult cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
					   void *value)
{
	const CUresult ret = check_pool(pool);
	uint64_t *at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = attribute_of(pool, attribute);
	if (!at || !value || attribute == CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT ||
	    attribute == CU_MEMPOOL_ATTR_USED_MEM_CURRENT)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_int(attribute)) {
		*at = *(const int *)value != 0;
	} else if (attribute == CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) {
		*at = *(const cuuint64_t *)value;
	} else if (*(const cuuint64_t *)value != 0) {
		return CUDA_ERROR_INVALID_VALUE;
	} else {
		*at = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH ? pool->used : pool->reserved;
	}
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute,
					   void *ret_value)
{
	const CUresult ret = check_pool(pool);
	const uint64_t *at;

	if (ret != CUDA_SUCCESS)
		return ret;
	at = attribute_of(pool, attribute);
	if (!at || !ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	if (is_int(attribute))
		*(int *)ret_value = (int)*at;
	else
		*(cuuint64_t *)ret_value = *at;
	return CUDA_SUCCESS;
}
