/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <string.h>

/* What the driver says of an address, as measured for memory of a GPU and of the host. */

static CUresult give(void *ret_value, const void *value, size_t bytes)
{
	memcpy(ret_value, value, bytes);
	return CUDA_SUCCESS;
}

static CUresult give_number(void *ret_value, unsigned int number)
{
	return give(ret_value, &number, sizeof(number));
}

static CUresult give_flag(void *ret_value, bool flag)
{
	memset(ret_value, flag, 1);
	return CUDA_SUCCESS;
}

/* What both kinds of memory have. */
struct pointer {
	struct CUctx_st *context;
	struct gpu *gpu; /* NULL: it is the host's */
	bool is_managed;
	uint64_t start, bytes, number;
	const struct gpu_view *view; /* NULL: it is none */
	uint32_t access;	     /* CUmemAccess_flags */
	bool is_registered;	     /* the program's own memory */
	uint64_t target;	     /* where its GPU has it, or the host */
};

uint32_t cuda_access_of(const struct gpu_view *view)
{
	if (!view)
		return CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
	return view->is_closed	    ? CU_MEM_ACCESS_FLAGS_PROT_NONE
	       : view->is_read_only ? CU_MEM_ACCESS_FLAGS_PROT_READ
				    : CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

static CUresult find_pointer(CUdeviceptr address, struct pointer *ret_pointer)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current_any(&context);
	const struct gpu_allocation *managed;
	const struct gpu_pinned *pinned;
	struct cuda_memory memory;

	if (ret != CUDA_SUCCESS)
		return ret;
	managed = cuda_find_managed(address);
	pinned = cuda_find_pinned(cuda_program(), address);
	if (cuda_memory(address, &memory))
		*ret_pointer = (struct pointer){.context = memory.context,
						.gpu = memory.gpu,
						.start = memory.start,
						.bytes = memory.bytes,
						.number = memory.number,
						.target = memory.target,
						.view = memory.view,
						.access = cuda_access_of(memory.view)};
	else if (pinned)
		*ret_pointer = (struct pointer){.context = context,
						.start = pinned->address,
						.bytes = pinned->bytes,
						.number = pinned->number,
						.target = pinned->address,
						.is_registered = pinned->is_registered,
						.access = cuda_is_read_only(pinned) ? 1 : 3};
	else if (managed)
		*ret_pointer = (struct pointer){.context = context,
						.gpu = context->streams.gpu,
						.is_managed = true,
						.start = managed->address,
						.bytes = managed->bytes,
						.number = managed->number,
						.target = managed->address,
						.access = 3};
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

static void *pool_of(const struct gpu_view *view)
{
	return view && view->kind == GPU_VIEW_POOL ? view->object : NULL;
}

/* The blocks that it lies in: those of its own, or of the pool. */
static CUresult give_mapping(void *ret_value, CUpointer_attribute attribute,
			     const struct pointer *pointer)
{
	const uint64_t block = pointer->gpu ? GPU_MEMORY_BLOCK : 4096;
	const struct gpu_stretch *stretch =
		pointer->view && pointer->view->kind != GPU_VIEW_MAPPED
			? gpu_views_stretch(cuda_views(), pointer->start)
			: NULL;
	uint64_t from = pointer->start - pointer->start % block;
	uint64_t bytes = (pointer->start + pointer->bytes + block - 1) / block * block - from;

	/* What the driver gave out of the host's begins no block here, and is as large as some. */
	if (!pointer->gpu && !pointer->is_registered)
		bytes = (bytes + GPU_MEMORY_BLOCK - 1) / GPU_MEMORY_BLOCK * GPU_MEMORY_BLOCK;
	if (stretch) {
		from = stretch->address;
		bytes = stretch->bytes;
	}
	if (attribute == CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR)
		return give(ret_value, &from, sizeof(from));
	return give(ret_value, &bytes, sizeof(bytes));
}

/* What it is a part of: what was mapped, of all the addresses that were reserved with it. */
static CUresult give_range(void *ret_value, CUpointer_attribute attribute,
			   const struct pointer *pointer)
{
	uint64_t from = pointer->start, bytes = pointer->bytes;

	if (pointer->view && pointer->view->kind == GPU_VIEW_MAPPED) {
		from = gpu_views_stretch(cuda_views(), pointer->start)->address;
		bytes = gpu_views_stretch(cuda_views(), pointer->start)->bytes;
	}
	return attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR
		       ? give(ret_value, &from, sizeof(from))
		       : give(ret_value, &bytes, sizeof(bytes));
}

/* Memory that cuMemAlloc() gave out. */
static bool is_plain(const struct pointer *pointer)
{
	return pointer->gpu && !pointer->view && !pointer->is_managed;
}

static CUresult give_attribute(void *ret_value, CUpointer_attribute attribute, CUdeviceptr address,
			       const struct pointer *pointer)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return give(ret_value, &pointer->context, sizeof(pointer->context));
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return give_number(ret_value,
				   pointer->gpu ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		if (pointer->access == 0)
			return CUDA_ERROR_INVALID_VALUE;
		return give(ret_value, &address, sizeof(address));
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (pointer->gpu && !pointer->is_managed)
			return CUDA_ERROR_INVALID_VALUE;
		return give(ret_value, &address, sizeof(address));
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		/* It says so of all memory of a GPU, where it was not set as well. */
		return give_flag(ret_value, pointer->gpu);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return give(ret_value, &pointer->number, sizeof(pointer->number));
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return give_flag(ret_value, pointer->is_managed);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return give_number(
			ret_value,
			cuda_number(pointer->gpu ? pointer->gpu : pointer->context->streams.gpu));
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		return give_range(ret_value, attribute, pointer);
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return give_flag(ret_value, true);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return give_flag(ret_value,
				 pointer->view ? pointer->view->is_rdma : is_plain(pointer));
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		return give_flag(ret_value, is_plain(pointer));
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
		return give(ret_value, &(uint64_t){pointer->view ? pointer->view->handle_types : 0},
			    sizeof(uint64_t));
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		return give_number(ret_value, pointer->access);
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
		return give(ret_value, &(void *){pool_of(pointer->view)}, sizeof(void *));
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
		return give_mapping(ret_value, attribute, pointer);
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
		return give(ret_value, &(uint64_t){pointer->target / GPU_MEMORY_BLOCK},
			    sizeof(uint64_t));
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		/* Those of the kernel's older interface, which there is not: no more is known. */
		if (!pointer->gpu)
			return CUDA_ERROR_INVALID_VALUE;
		return give(ret_value, &(uint64_t){0}, sizeof(uint64_t));
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuPointerGetAttribute(void *ret_value, CUpointer_attribute attribute,
					   CUdeviceptr address)
{
	struct pointer pointer;
	const CUresult ret = find_pointer(address, &pointer);

	if (ret != CUDA_SUCCESS)
		return ret;
	return ret_value ? give_attribute(ret_value, attribute, address, &pointer)
			 : CUDA_ERROR_INVALID_VALUE;
}

/* What an attribute is that has no value; false: there is no such attribute. */
static bool give_none(void *ret_value, CUpointer_attribute attribute)
{
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		(void)give_number(ret_value, (unsigned int)CU_DEVICE_INVALID);
		return true;
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
	case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
		(void)give_number(ret_value, 0);
		return true;
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
	case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
		(void)give_flag(ret_value, false);
		return true;
	case CU_POINTER_ATTRIBUTE_CONTEXT:
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
	case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
	case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
	case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
	case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
	case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
	case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
		(void)give(ret_value, &(uint64_t){0}, sizeof(uint64_t));
		return true;
	}
	return false;
}

/* An address that nobody knows is no error here. */
CUDA_PUBLIC CUresult cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
					    void **ret_values, CUdeviceptr address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current_any(&context);
	struct pointer pointer;
	bool is_known;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (count == 0 || !attributes || !ret_values)
		return CUDA_ERROR_INVALID_VALUE;
	is_known = find_pointer(address, &pointer) == CUDA_SUCCESS;
	for (unsigned int i = 0; i < count; i++) {
		if (!ret_values[i] || !give_none(ret_values[i], attributes[i]))
			return CUDA_ERROR_INVALID_VALUE;
		if (is_known)
			(void)give_attribute(ret_values[i], attributes[i], address, &pointer);
	}
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return CUDA_SUCCESS;
}

/* Calls wait for memory of the host as it is. */
static CUresult set_other(CUdeviceptr address, bool is_sync)
{
	const struct gpu_managed *managed = gpu_backend()->managed(false);
	struct gpu_allocation *allocation =
		cuda_is_managed(address) ? gpu_memory_find(&managed->memory, address) : NULL;

	if (allocation)
		allocation->is_sync = is_sync;
	return allocation || cuda_find_pinned(cuda_program(), address) ? CUDA_SUCCESS
								       : CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
					   CUdeviceptr address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct cuda_memory memory;
	unsigned int flag;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&flag, value, sizeof(flag));
	gpu_backend()->pass(context->streams.gpu->profile->query);
	if (!cuda_memory(address, &memory))
		return set_other(address, flag != 0);
	if (memory.view && memory.view->kind == GPU_VIEW_MAPPED)
		return CUDA_ERROR_NOT_SUPPORTED;
	*memory.is_sync = flag != 0;
	return CUDA_SUCCESS;
}
