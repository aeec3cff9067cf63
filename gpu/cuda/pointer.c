/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <string.h>

/* What the driver says of an address. */

static CUresult give(void *ret_value, const void *value, size_t bytes)
{
	memcpy(ret_value, value, bytes);
	return CUDA_SUCCESS;
}

static CUresult give_number(void *ret_value, unsigned int number)
{
	return give(ret_value, &number, sizeof(number));
}

CUDA_PUBLIC CUresult cuPointerGetAttribute(void *ret_value, CUpointer_attribute attribute,
					   CUdeviceptr address)
{
	const struct gpu_allocation *allocation;
	struct gpu *gpu, *current;
	const CUresult ret = cuda_current(&current);
	CUcontext context;
	size_t bytes;

	if (ret != CUDA_SUCCESS)
		return ret;
	gpu = cuda_gpu_of(address);
	allocation = gpu ? gpu_memory_find(&gpu->memory, address) : NULL;
	if (!allocation || !ret_value)
		return CUDA_ERROR_INVALID_VALUE;
	switch (attribute) {
	case CU_POINTER_ATTRIBUTE_CONTEXT:
		context = &cuda_program()->contexts[gpu->place - 1];
		return give(ret_value, &context, sizeof(context));
	case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
		return give_number(ret_value, CU_MEMORYTYPE_DEVICE);
	case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
		return give(ret_value, &address, sizeof(address));
	case CU_POINTER_ATTRIBUTE_BUFFER_ID:
		return give(ret_value, &allocation->number, sizeof(allocation->number));
	case CU_POINTER_ATTRIBUTE_IS_MANAGED:
		memset(ret_value, 0, 1);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
		return give_number(ret_value, gpu->place - 1u);
	case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
		return give(ret_value, &allocation->address, sizeof(allocation->address));
	case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
		bytes = allocation->bytes;
		return give(ret_value, &bytes, sizeof(bytes));
	case CU_POINTER_ATTRIBUTE_MAPPED:
	case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
		memset(ret_value, 1, 1);
		return CUDA_SUCCESS;
	case CU_POINTER_ATTRIBUTE_HOST_POINTER:
		break;
	}
	return CUDA_ERROR_INVALID_VALUE;
}
