/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/multicast.h"

#include "gpu/cuda/handle.h"
#include "util/alloc.h"

#include <errno.h>

/* Multicast objects: memory of several GPUs at one address, for kernels that write to all of them
 * at once and read what NVSwitches make of them. What each call takes is that of the like call for
 * memory of one GPU: nobody has measured it. */

enum { RECOMMENDED = 512 << 20 };

/* ---- the object ---- */

/* Whether @gpu may be in a team with those of @team, NULL: with others at all. */
static bool may_join(const struct gpu *gpu, const struct gpu_team *team)
{
	uint32_t parts[GPU_MAX] = {gpu->part}, count = 1;

	for (uint32_t i = 0; team && i < team->count; i++)
		parts[count++] = team->members[i]->part;
	return bus_has_multicast(gpu->bus, parts, count);
}

static bool is_any_capable(void)
{
	for (uint32_t i = 0; i < gpu_backend()->count(); i++)
		if (may_join(gpu_backend()->gpu(i), NULL))
			return true;
	return false;
}

/* Whoever asks of a machine without is told so before anything else: as measured. */
static CUresult enter_capable(void)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	return is_any_capable() ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult check_object(const CUmulticastObjectProp *prop)
{
	const CUresult ret = enter_capable();

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!prop || prop->size == 0 || prop->flags != 0 || prop->numDevices == 0 ||
	    prop->numDevices > gpu_backend()->count() ||
	    (prop->handleTypes & ~(unsigned long long)(CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR |
						       CU_MEM_HANDLE_TYPE_FABRIC)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMulticastGetGranularity(size_t *ret_bytes, const CUmulticastObjectProp *prop,
					       CUmulticastGranularity_flags option)
{
	const CUresult ret = check_object(prop);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_bytes || (option != CU_MULTICAST_GRANULARITY_MINIMUM &&
			   option != CU_MULTICAST_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_bytes = option == CU_MULTICAST_GRANULARITY_MINIMUM ? (size_t)GPU_MEMORY_BLOCK
								: (size_t)RECOMMENDED;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMulticastCreate(CUmemGenericAllocationHandle *ret_handle,
				       const CUmulticastObjectProp *prop)
{
	const CUresult ret = check_object(prop);
	struct cuda_handle *handle;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_handle || prop->size % GPU_MEMORY_BLOCK != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->handleTypes & CU_MEM_HANDLE_TYPE_FABRIC)
		return CUDA_ERROR_NOT_PERMITTED; /* by whom there is not */
	handle = util_calloc(1, sizeof(*handle));
	if (handle)
		handle->team =
			gpu_team_create(++cuda_views()->teams_made, prop->size, prop->numDevices);
	if (!handle || !handle->team) {
		util_free(handle);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	handle->bytes = prop->size;
	handle->prop.requestedHandleTypes = (CUmemAllocationHandleType)prop->handleTypes;
	cuda_add_handle(handle);
	*ret_handle = handle->number;
	gpu_backend()->pass(gpu_backend()->gpu(0)->profile->vmm_create);
	return CUDA_SUCCESS;
}

static CUresult find_team(CUmemGenericAllocationHandle number, struct gpu_team **ret_team)
{
	const CUresult ret = enter_capable();
	const struct cuda_handle *handle;

	if (ret != CUDA_SUCCESS)
		return ret;
	handle = cuda_find_handle(number);
	*ret_team = handle ? handle->team : NULL;
	return *ret_team ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

static CUresult find_both(CUmemGenericAllocationHandle number, CUdevice device,
			  struct gpu_team **ret_team, struct gpu **ret_gpu)
{
	const CUresult ret = find_team(number, ret_team);

	return ret == CUDA_SUCCESS ? cuda_device(device, ret_gpu) : ret;
}

CUDA_PUBLIC CUresult cuMulticastAddDevice(CUmemGenericAllocationHandle number, CUdevice device)
{
	struct gpu_team *team;
	struct gpu *gpu;
	const CUresult ret = find_both(number, device, &team, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!may_join(gpu, team))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (gpu_team_add(team, gpu) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (gpu_team_is_full(team))
		gpu_backend()->wake();
	gpu_backend()->pass(gpu->profile->query);
	return CUDA_SUCCESS;
}

/* ---- its memory ---- */

static bool is_whole(uint64_t offset, uint64_t bytes)
{
	return offset % GPU_MEMORY_BLOCK == 0 && bytes % GPU_MEMORY_BLOCK == 0 && bytes > 0;
}

/* All devices are in it: until then the caller waits. */
static CUresult find_full_team(CUmemGenericAllocationHandle number, struct gpu_team **ret_team)
{
	const CUresult ret = find_team(number, ret_team);

	if (ret != CUDA_SUCCESS)
		return ret;
	(void)cuda_wait_for_team(number);
	return find_team(number, ret_team);
}

static CUresult bind_to(struct gpu_team *team, const struct gpu_binding *binding)
{
	if (!gpu_team_has(team, binding->gpu))
		return CUDA_ERROR_INVALID_DEVICE;
	switch (gpu_team_bind(team, binding)) {
	case 0:
		break;
	case -ENOMEM:
		return CUDA_ERROR_OUT_OF_MEMORY;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	gpu_backend()->pass(binding->gpu->profile->vmm_map);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMulticastBindMem(CUmemGenericAllocationHandle number, size_t offset,
					CUmemGenericAllocationHandle memory, size_t memory_offset,
					size_t bytes, unsigned long long flags)
{
	struct gpu_team *team;
	const CUresult ret = find_full_team(number, &team);
	const struct cuda_handle *of;

	if (ret != CUDA_SUCCESS)
		return ret;
	of = cuda_find_handle(memory);
	if (flags != 0 || !of || !of->gpu || !is_whole(offset, bytes) ||
	    memory_offset % GPU_MEMORY_BLOCK != 0 || memory_offset > of->bytes ||
	    bytes > of->bytes - memory_offset)
		return CUDA_ERROR_INVALID_VALUE;
	return bind_to(team, &(struct gpu_binding){.gpu = of->gpu,
						   .offset = offset,
						   .bytes = bytes,
						   .target = of->target + memory_offset});
}

/* Memory of a handle that is mapped, or of cuMemAlloc(): whole blocks. */
CUDA_PUBLIC CUresult cuMulticastBindAddr(CUmemGenericAllocationHandle number, size_t offset,
					 CUdeviceptr address, size_t bytes,
					 unsigned long long flags)
{
	struct gpu_team *team;
	const CUresult ret = find_full_team(number, &team);
	struct cuda_memory memory;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (flags != 0 || !is_whole(offset, bytes) || !cuda_memory(address, &memory) ||
	    bytes > memory.bytes - (address - memory.start) ||
	    (memory.target + (address - memory.start)) % GPU_MEMORY_BLOCK != 0)
		return CUDA_ERROR_INVALID_VALUE;
	return bind_to(team,
		       &(struct gpu_binding){.gpu = memory.gpu,
					     .offset = offset,
					     .bytes = bytes,
					     .target = memory.target + (address - memory.start)});
}

CUDA_PUBLIC CUresult cuMulticastUnbind(CUmemGenericAllocationHandle number, CUdevice device,
				       size_t offset, size_t bytes)
{
	struct gpu_team *team;
	struct gpu *gpu;
	const CUresult ret = find_both(number, device, &team, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!is_whole(offset, bytes) || gpu_team_unbind(team, gpu, offset, bytes) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	gpu_backend()->pass(gpu->profile->vmm_unmap);
	return CUDA_SUCCESS;
}
