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
	uint64_t start, bytes, number;
};

static CUresult find_pointer(CUdeviceptr address, struct pointer *ret_pointer)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current_any(&context);
	const struct gpu_allocation *allocation;
	const struct gpu_pinned *pinned;
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	allocation = cuda_find(address, &gpu);
	pinned = cuda_find_pinned(cuda_program(), address);
	if (allocation)
		*ret_pointer =
			(struct pointer){.context = cuda_program()->contexts[cuda_number(gpu)],
					 .gpu = gpu,
					 .start = allocation->address,
					 .bytes = allocation->bytes,
					 .number = allocation->number};
	else if (pinned)
		*ret_pointer = (struct pointer){.context = context,
						.start = pinned->address,
						.bytes = pinned->bytes,
						.number = pinned->number};
	else
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuPointerGetAttribute(void *ret_value, CUpointer_attribute attribute,
					   CUdeviceptr address)
{
	struct pointer pointer;
	const CUresult ret = find_pointer(address, &pointer);
	size_t bytes;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		return give(ret_value, &pointer.context, sizeof(pointer.context));
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return give_number(ret_value,
				   pointer.gpu ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return give(ret_value, &address, sizeof(address));
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		if (pointer.gpu)
			return CUDA_ERROR_INVALID_VALUE;
		return give(ret_value, &address, sizeof(address));
	case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
		/* It says so of all memory of a GPU, where it was not set as well. */
		return give_flag(ret_value, pointer.gpu);
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return give(ret_value, &pointer.number, sizeof(pointer.number));
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		return give_flag(ret_value, false);
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return give_number(ret_value, cuda_number(pointer.context->streams.gpu));
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return give(ret_value, &pointer.start, sizeof(pointer.start));
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		bytes = pointer.bytes;
		return give(ret_value, &bytes, sizeof(bytes));
	case CU_POINTER_ATTRIBUTE_MAPPED:
		return give_flag(ret_value, true);
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		return give_flag(ret_value, pointer.gpu);
	}
	return CUDA_ERROR_INVALID_VALUE;
}

CUDA_PUBLIC CUresult cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
					   CUdeviceptr address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu_allocation *allocation;
	struct gpu *gpu;
	unsigned int flag;

	if (ret != CUDA_SUCCESS)
		return ret;
	allocation = cuda_find(address, &gpu);
	if (!value || !allocation || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&flag, value, sizeof(flag));
	allocation->is_sync = flag != 0;
	gpu_backend()->pass(gpu->profile->query);
	return CUDA_SUCCESS;
}
