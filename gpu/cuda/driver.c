/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/multicast.h"
#include "gpu/cuda/internal.h"

#include <string.h>

/* The driver, and what it says of devices. */

CUDA_PUBLIC CUresult cuInit(unsigned int flags)
{
	struct gpu_thread *thread = gpu_backend()->thread();

	if (flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!thread)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (thread->program->is_initialised)
		return CUDA_SUCCESS;
	if (gpu_backend()->count() == 0)
		return CUDA_ERROR_NO_DEVICE;
	gpu_backend()->pass(gpu_backend()->gpu(0)->profile->init);
	thread->program->is_initialised = true;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuDriverGetVersion(int *ret_version)
{
	const struct gpu_profile *profile =
		gpu_backend()->count() > 0 ? gpu_backend()->gpu(0)->profile : &gpu_h100;

	if (!ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_version = (int)profile->driver_version;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuDeviceGetCount(int *ret_count)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_count)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_count = (int)gpu_backend()->count();
	return CUDA_SUCCESS;
}

/* The same, and the driver is asked about it. */
static CUresult find_device(CUdevice number, struct gpu **ret_gpu)
{
	const CUresult ret = cuda_device(number, ret_gpu);

	if (ret == CUDA_SUCCESS)
		gpu_backend()->pass((*ret_gpu)->profile->query);
	return ret;
}

CUDA_PUBLIC CUresult cuDeviceGet(CUdevice *ret_device, int ordinal)
{
	struct gpu *gpu;
	const CUresult ret = find_device(ordinal, &gpu);

	if (ret == CUDA_SUCCESS && !ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_device = ordinal;
	return ret;
}

CUDA_PUBLIC CUresult cuDeviceGetName(char *ret_name, int room, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = find_device(device, &gpu);

	if (ret == CUDA_SUCCESS && (!ret_name || room <= 0))
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS) {
		strncpy(ret_name, gpu->profile->name, (size_t)room - 1);
		ret_name[room - 1] = '\0';
	}
	return ret;
}

CUDA_PUBLIC CUresult cuDeviceTotalMem(size_t *ret_bytes, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = find_device(device, &gpu);

	if (ret == CUDA_SUCCESS && !ret_bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_bytes = gpu->memory.bytes;
	return ret;
}

static bool attribute_of(const struct gpu *gpu, CUdevice_attribute attribute, int *ret_value)
{
	const struct gpu_profile *profile = gpu->profile;
	const struct {
		CUdevice_attribute attribute;
		uint32_t value;
	} known[] = {
		{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, profile->multiprocessors},
		{CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, gpu->pci_bus},
		{CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID, gpu->pci_device},
		{CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, gpu->pci_domain},
		{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, profile->copy_engines},
		{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, profile->compute_major},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, profile->compute_minor},
		{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
		{CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
		{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
		{CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED, 1},
		{CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS, profile->flush_options},
		{CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, gpu->writes_ordering},
		{CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 1},
		{CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED,
		 bus_has_multicast(gpu->bus, &gpu->part, 1)},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].attribute == attribute) {
			*ret_value = (int)known[i].value;
			return true;
		}
	return false;
}

CUDA_PUBLIC CUresult cuDeviceGetAttribute(int *ret_value, CUdevice_attribute attribute,
					  CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = find_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	return ret_value && attribute_of(gpu, attribute, ret_value) ? CUDA_SUCCESS
								    : CUDA_ERROR_INVALID_VALUE;
}
