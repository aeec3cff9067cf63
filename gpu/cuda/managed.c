/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

#include <string.h>

/* Managed memory: given out and taken back, advice, and prefetches. */

CUDA_PUBLIC CUresult cuMemAllocManaged(CUdeviceptr *ret_address, size_t bytes, unsigned int flags)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	const struct gpu_profile *profile;
	struct gpu_managed *managed;
	uint64_t address;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || bytes == 0 ||
	    (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST))
		return CUDA_ERROR_INVALID_VALUE;
	managed = gpu_backend()->managed(true);
	if (!managed || gpu_managed_take(managed, bytes, &address) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	gpu_memory_find(&managed->memory, address)->owner = cuda_program();
	profile = context->streams.gpu->profile;
	gpu_backend()->pass(bytes <= GPU_PAGE ? profile->alloc_managed
					      : profile->alloc_managed_more);
	*ret_address = address;
	return CUDA_SUCCESS;
}

/* Waits for all that runs, on any GPU. */
CUresult cuda_free_managed(CUdeviceptr address)
{
	struct gpu_managed *managed = gpu_backend()->managed(false);
	const struct gpu_allocation *allocation;
	uint64_t bytes;

	for (struct CUctx_st *context = gpu_program_next(cuda_program(), NULL); context;
	     context = gpu_program_next(cuda_program(), context))
		(void)cuda_rest(context);
	allocation = cuda_find_managed(address);
	if (!allocation)
		return CUDA_ERROR_INVALID_VALUE;
	bytes = allocation->bytes;
	if (gpu_managed_drop(managed, address) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	gpu_backend()->pass(gpu_managed_free_time(bytes));
	return CUDA_SUCCESS;
}

/* ---- places ---- */

/* The processor that @location names: a GPU of the machine, or the CPU, of which the machine has
 * one memory here. */
static CUresult find_place(CUmemLocation location, uint32_t *ret_who)
{
	*ret_who = GPU_CPU;
	if (location.type == CU_MEM_LOCATION_TYPE_HOST ||
	    location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
	    location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
		return CUDA_SUCCESS;
	if (location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	if (location.id < 0 || (uint32_t)location.id >= gpu_backend()->count())
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_who = (uint32_t)location.id + 1;
	return CUDA_SUCCESS;
}

static CUresult check_range(CUdeviceptr address, size_t bytes)
{
	return bytes > 0 && cuda_is_managed(address) &&
			       gpu_managed_has(gpu_backend()->managed(false), address, bytes)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}

/* ---- prefetches ---- */

/* As measured: a call that brings more than 2 MiB to a GPU returns after two thirds of its time,
 * one to the CPU when it is done. */
static void wait_for_some(struct gpu_stream *stream, uint32_t who, uint64_t missing, uint64_t bytes)
{
	if (missing > 0 && who == GPU_CPU)
		cuda_wait(stream);
	else if (missing > GPU_MEMORY_BLOCK)
		gpu_backend()->pass(gpu_managed_prefetch_time(who, missing, bytes) / 3 * 2);
}

CUDA_PUBLIC CUresult cuMemPrefetchAsync(CUdeviceptr address, size_t bytes, CUmemLocation location,
					unsigned int flags, CUstream handle)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(handle, &stream);
	struct gpu_command *command;
	uint64_t missing;
	uint32_t who;

	if (ret == CUDA_SUCCESS)
		ret = flags == 0 ? check_range(address, bytes) : CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		ret = find_place(location, &who);
	if (ret != CUDA_SUCCESS)
		return ret;
	command = cuda_command(GPU_PREFETCH);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->managed_to = address;
	command->bytes = bytes;
	command->goal = who;
	missing = gpu_managed_missing(gpu_backend()->managed(false), who, address, bytes);
	cuda_hold(stream);
	cuda_tell(stream, command);
	wait_for_some(stream, who, missing, bytes);
	cuda_let_go(stream);
	return CUDA_SUCCESS;
}

/* ---- advice ---- */

/* Whoever mostly reads, and whatever is taken back, needs no place. */
CUDA_PUBLIC CUresult cuMemAdvise(CUdeviceptr address, size_t bytes, CUmem_advise advice,
				 CUmemLocation location)
{
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);
	uint32_t who = GPU_CPU;

	if (ret == CUDA_SUCCESS)
		ret = check_range(address, bytes);
	if (ret == CUDA_SUCCESS &&
	    (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY))
		ret = CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS &&
	    (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION ||
	     advice == CU_MEM_ADVISE_SET_ACCESSED_BY || advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY))
		ret = find_place(location, &who);
	if (ret != CUDA_SUCCESS) /* as measured: of no such device, too */
		return ret == CUDA_ERROR_INVALID_DEVICE ? CUDA_ERROR_INVALID_VALUE : ret;
	gpu_backend()->pass(context->streams.gpu->profile->query);
	gpu_managed_advise(gpu_backend()->managed(false), address, bytes, (enum gpu_advice)advice,
			   who);
	return CUDA_SUCCESS;
}

/* ---- what was told ---- */

static int device_of(uint32_t place)
{
	return place == 0	      ? CU_DEVICE_INVALID
	       : place == 1 + GPU_CPU ? CU_DEVICE_CPU
				      : (int)place - 2;
}

static int type_of(uint32_t place)
{
	return place == 0	      ? CU_MEM_LOCATION_TYPE_INVALID
	       : place == 1 + GPU_CPU ? CU_MEM_LOCATION_TYPE_HOST
				      : CU_MEM_LOCATION_TYPE_DEVICE;
}

static int id_of(uint32_t place)
{
	return place <= 1 + GPU_CPU ? 0 : device_of(place);
}

static int value_of(const struct gpu_managed_page *page, CUmem_range_attribute attribute)
{
	switch (attribute) {
	case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY:
		return page->is_read_mostly;
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION:
		return device_of(page->preferred);
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION:
		return device_of(page->prefetched);
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE:
		return type_of(page->preferred);
	case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID:
		return id_of(page->preferred);
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE:
		return type_of(page->prefetched);
	case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID:
		return id_of(page->prefetched);
	case CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY:
		break;
	}
	return 0;
}

/* Of pages that differ. */
static int value_of_none(CUmem_range_attribute attribute)
{
	return attribute == CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION ||
			       attribute == CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION
		       ? CU_DEVICE_INVALID
		       : 0;
}

/* Of all pages, or else what says that they differ. */
static int value_of_all(CUmem_range_attribute attribute, uint64_t address, uint64_t bytes)
{
	const struct gpu_managed *managed = gpu_backend()->managed(false);
	const int value = value_of(gpu_managed_page(managed, address), attribute);
	uint64_t at = address - address % GPU_MANAGED_PAGE;

	for (; at < address + bytes; at += GPU_MANAGED_PAGE)
		if (value_of(gpu_managed_page(managed, at), attribute) != value)
			return value_of_none(attribute);
	return value;
}

/* Those that have it for all pages, and CU_DEVICE_INVALID for the rest of @room. */
static void list_accessors(int *ret_devices, size_t room, uint64_t address, uint64_t bytes)
{
	const struct gpu_managed *managed = gpu_backend()->managed(false);
	uint64_t at = address - address % GPU_MANAGED_PAGE, of_all = UINT64_MAX;
	size_t count = 0;

	for (; at < address + bytes; at += GPU_MANAGED_PAGE)
		of_all &= gpu_managed_page(managed, at)->accessed_by;
	for (uint32_t who = 0; who < GPU_MANAGED_OWNERS && count < room; who++)
		if (of_all >> who & 1)
			ret_devices[count++] = device_of(1 + who);
	while (count < room)
		ret_devices[count++] = CU_DEVICE_INVALID;
}

CUDA_PUBLIC CUresult cuMemRangeGetAttribute(void *ret_value, size_t value_bytes,
					    CUmem_range_attribute attribute, CUdeviceptr address,
					    size_t bytes)
{
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);
	int value;

	if (ret == CUDA_SUCCESS)
		ret = check_range(address, bytes);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_value || value_bytes == 0 || value_bytes % sizeof(value) != 0 ||
	    attribute < CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY ||
	    attribute > CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID)
		return CUDA_ERROR_INVALID_VALUE;
	if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
		list_accessors(ret_value, value_bytes / sizeof(value), address, bytes);
		return CUDA_SUCCESS;
	}
	if (value_bytes != sizeof(value))
		return CUDA_ERROR_INVALID_VALUE;
	value = value_of_all(attribute, address, bytes);
	memcpy(ret_value, &value, sizeof(value));
	return CUDA_SUCCESS;
}
