/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/handle.h"
#include "util/alloc.h"

#include <string.h>

/* Virtual memory management: addresses that are reserved, memory that has handles, and which shows
 * at which. A handle is a number; its memory goes with its last user, be that what maps it. */

static const struct gpu_profile *profile_of(const struct gpu *gpu)
{
	return (gpu ? gpu : gpu_backend()->gpu(0))->profile;
}

/* ---- memory ---- */

/* Memory of a GPU, which adapters and other programs may have; none of the host is made here. */
static CUresult check_prop(const CUmemAllocationProp *prop, struct gpu **ret_gpu)
{
	const unsigned int known =
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR | CU_MEM_HANDLE_TYPE_FABRIC | 16;

	if (prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData ||
	    (prop->requestedHandleTypes & ~known))
		return CUDA_ERROR_INVALID_VALUE;
	if (prop->location.type == CU_MEM_LOCATION_TYPE_HOST ||
	    (prop->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA && prop->location.id == 0))
		return CUDA_ERROR_NOT_SUPPORTED;
	if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_INVALID_VALUE;
	return cuda_device(prop->location.id, ret_gpu);
}

/* The same for all there is, be it of a device or not: as measured. */

CUDA_PUBLIC CUresult cuMemGetAllocationGranularity(size_t *ret_bytes,
						   const CUmemAllocationProp *prop,
						   CUmemAllocationGranularity_flags option)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_bytes || !prop ||
	    (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
	     option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
		return CUDA_ERROR_INVALID_VALUE;
	*ret_bytes = GPU_MEMORY_BLOCK;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemCreate(CUmemGenericAllocationHandle *ret_handle, size_t bytes,
				 const CUmemAllocationProp *prop, unsigned long long flags)
{
	struct gpu *gpu;
	struct gpu_thread *thread;
	CUresult ret = cuda_enter(&thread);
	struct cuda_handle *handle;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_handle || !prop || bytes == 0 || bytes % GPU_MEMORY_BLOCK != 0 || flags != 0)
		return CUDA_ERROR_INVALID_VALUE;
	ret = check_prop(prop, &gpu);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (prop->requestedHandleTypes & CU_MEM_HANDLE_TYPE_FABRIC)
		return CUDA_ERROR_NOT_PERMITTED; /* by whom there is not */
	handle = util_calloc(1, sizeof(*handle));
	gpu_backend()->collect(gpu);
	if (!handle || gpu_memory_hide(&gpu->memory, bytes, &handle->target) != 0) {
		util_free(handle);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	handle->gpu = gpu;
	handle->bytes = bytes;
	handle->prop = *prop;
	cuda_add_handle(handle);
	*ret_handle = handle->number;
	cuda_make_room(gpu);
	gpu_backend()->pass(gpu->profile->vmm_create);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemRelease(CUmemGenericAllocationHandle number)
{
	const struct gpu_profile *profile;
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct cuda_handle *handle;
	ps_t time;

	if (ret != CUDA_SUCCESS)
		return ret;
	handle = cuda_find_handle(number);
	if (!handle)
		return CUDA_ERROR_INVALID_VALUE;
	profile = profile_of(handle->gpu);
	time = handle->users == 1 && handle->maps == 0
		       ? cuda_time(profile->vmm_release, profile->vmm_release_mib, handle->bytes)
		       : profile->query;
	handle->users--;
	cuda_handle_let_go(handle);
	gpu_backend()->pass(time);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *ret_prop,
							    CUmemGenericAllocationHandle number)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct cuda_handle *handle;

	if (ret != CUDA_SUCCESS)
		return ret;
	handle = cuda_find_handle(number);
	if (!ret_prop || !handle || handle->team)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_prop = handle->prop;
	return CUDA_SUCCESS;
}

/* What shows a handle's memory, or team, at @address; NULL: nothing. */
static const struct gpu_view *find_mapped(CUdeviceptr address)
{
	const struct gpu_view *view = gpu_views_have(cuda_views(), address)
					      ? gpu_views_find(cuda_views(), address)
					      : NULL;

	return view && view->owner == cuda_program() &&
			       (view->kind == GPU_VIEW_MAPPED || view->kind == GPU_VIEW_MULTICAST)
		       ? view
		       : NULL;
}

/* One more user: also of what was released and is mapped. */
CUDA_PUBLIC CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *ret_handle,
						 void *address)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_view *view;
	struct cuda_handle *handle;

	if (ret != CUDA_SUCCESS)
		return ret;
	view = find_mapped((CUdeviceptr)(uintptr_t)address);
	if (!ret_handle || !view)
		return CUDA_ERROR_INVALID_VALUE;
	handle = view->object;
	handle->users++;
	*ret_handle = handle->number;
	return CUDA_SUCCESS;
}

/* ---- for other programs ---- */

CUDA_PUBLIC CUresult cuMemExportToShareableHandle(void *ret_handle,
						  CUmemGenericAllocationHandle number,
						  CUmemAllocationHandleType type,
						  unsigned long long flags)
{
	const struct cuda_handle *handle;
	const struct gpu_profile *profile;
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct gpu_shared shared;
	int fd;

	if (ret != CUDA_SUCCESS)
		return ret;
	handle = cuda_find_handle(number);
	if (!ret_handle || !handle || flags != 0 ||
	    type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
	    !(handle->prop.requestedHandleTypes & type))
		return CUDA_ERROR_INVALID_VALUE;
	shared = (struct gpu_shared){.gpu = handle->gpu,
				     .team = handle->team,
				     .address = handle->target,
				     .bytes = handle->bytes,
				     .is_rdma = handle->prop.allocFlags.gpuDirectRDMACapable != 0};
	if (gpu_backend()->share(&shared, &fd) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(ret_handle, &fd, sizeof(fd));
	profile = profile_of(handle->gpu);
	gpu_backend()->pass(thread->program->has_exported ? profile->export
							  : profile->vmm_export_first);
	thread->program->has_exported = true;
	return CUDA_SUCCESS;
}

/* One more handle each time, which may not be passed on: as measured. */
CUDA_PUBLIC CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *ret_handle,
						    void *os_handle, CUmemAllocationHandleType type)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct cuda_handle *handle;
	struct gpu_shared shared;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_handle || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
		return CUDA_ERROR_INVALID_VALUE;
	if (!gpu_backend()->find_shared((int)(intptr_t)os_handle, &shared))
		return CUDA_ERROR_UNKNOWN;
	handle = util_calloc(1, sizeof(*handle));
	if (!handle || (shared.gpu &&
			gpu_memory_hold(&shared.gpu->memory, shared.address, shared.bytes) != 0)) {
		util_free(handle);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	*handle = (struct cuda_handle){.gpu = shared.gpu,
				       .team = shared.team,
				       .target = shared.address,
				       .bytes = shared.bytes,
				       .is_imported = true};
	if (shared.team) {
		shared.team->users++;
	} else {
		handle->prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
		handle->prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
		handle->prop.location.id = (int)cuda_number(shared.gpu);
		handle->prop.allocFlags.gpuDirectRDMACapable = shared.is_rdma;
	}
	cuda_add_handle(handle);
	*ret_handle = handle->number;
	gpu_backend()->pass(profile_of(shared.gpu)->vmm_import);
	return CUDA_SUCCESS;
}

/* ---- addresses ---- */

CUDA_PUBLIC CUresult cuMemAddressReserve(CUdeviceptr *ret_address, size_t bytes, size_t alignment,
					 CUdeviceptr address, unsigned long long flags)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct gpu_stretch stretch = {.bytes = bytes};
	uint64_t got;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || bytes == 0 || bytes % GPU_MEMORY_BLOCK != 0 || flags != 0 ||
	    (alignment & (alignment - 1)) != 0)
		return CUDA_ERROR_INVALID_VALUE;
	stretch.owner = thread->program;
	if (gpu_views_reserve(cuda_views(), &stretch,
			      alignment > GPU_MEMORY_BLOCK ? alignment : GPU_MEMORY_BLOCK, address,
			      &got) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	*ret_address = got;
	gpu_backend()->pass(gpu_backend()->gpu(0)->profile->vmm_reserve);
	return CUDA_SUCCESS;
}

/* A stretch that the program has reserved, around the range; NULL: there is none. */
static const struct gpu_stretch *find_reserved(CUdeviceptr address, size_t bytes)
{
	const struct gpu_stretch *stretch = gpu_views_have(cuda_views(), address)
						    ? gpu_views_stretch(cuda_views(), address)
						    : NULL;

	return stretch && !stretch->gpu && stretch->owner == cuda_program() && bytes > 0 &&
			       bytes <= stretch->bytes - (address - stretch->address)
		       ? stretch
		       : NULL;
}

static bool is_empty(CUdeviceptr address, size_t bytes)
{
	const struct gpu_view *view = gpu_views_behind(cuda_views(), address);

	return !view || view->address >= address + bytes;
}

CUDA_PUBLIC CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_stretch *stretch;

	if (ret != CUDA_SUCCESS)
		return ret;
	stretch = find_reserved(address, bytes);
	if (!stretch || stretch->address != address || stretch->bytes != bytes ||
	    !is_empty(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	gpu_views_give_back(cuda_views(), address);
	return CUDA_SUCCESS;
}

/* All of it; nobody may touch it yet. */
static struct gpu_view view_of(struct cuda_handle *handle)
{
	return (struct gpu_view){.bytes = handle->bytes,
				 .target = handle->target,
				 .number = handle->gpu ? ++handle->gpu->memory.made
						       : handle->team->number,
				 .gpu = handle->gpu,
				 .team = handle->team,
				 .kind = handle->gpu ? GPU_VIEW_MAPPED : GPU_VIEW_MULTICAST,
				 .owner = cuda_program(),
				 .object = handle,
				 .handle_types = handle->prop.requestedHandleTypes,
				 .is_closed = true,
				 .is_rdma = handle->prop.allocFlags.gpuDirectRDMACapable != 0};
}

/* All of a handle's memory: as measured. Nobody may touch it yet. */
CUDA_PUBLIC CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
			      CUmemGenericAllocationHandle number, unsigned long long flags)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct cuda_handle *handle;
	struct gpu_view view;

	if (ret != CUDA_SUCCESS)
		return ret;
	handle = cuda_wait_for_team(number);
	if (!handle || bytes == 0 || flags != 0 || address % GPU_MEMORY_BLOCK != 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (offset != 0 || bytes != handle->bytes)
		return CUDA_ERROR_NOT_SUPPORTED;
	if (!find_reserved(address, bytes) || !is_empty(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	view = view_of(handle);
	view.address = address;
	if (!gpu_views_add(cuda_views(), &view))
		return CUDA_ERROR_OUT_OF_MEMORY;
	handle->maps++;
	gpu_backend()->pass(profile_of(handle->gpu)->vmm_map);
	return CUDA_SUCCESS;
}

/* Whole mappings fill the range, of the calling program: the first; NULL: they do not. */
static struct gpu_view *find_mappings(CUdeviceptr address, size_t bytes)
{
	struct gpu_view *first = NULL;

	if (!find_reserved(address, bytes))
		return NULL;
	for (uint64_t at = address; at < address + bytes;) {
		struct gpu_view *view = gpu_views_find(cuda_views(), at);

		if (!view || view->address != at || view->bytes > address + bytes - at)
			return NULL;
		first = first ? first : view;
		at += view->bytes;
	}
	return first;
}

/* Whether the range was reserved, and no mapping goes over its ends. */
static bool is_whole(CUdeviceptr address, size_t bytes)
{
	const struct gpu_view *first = gpu_views_find(cuda_views(), address);
	const struct gpu_view *last = gpu_views_find(cuda_views(), address + bytes - 1);

	return find_reserved(address, bytes) && address % GPU_MEMORY_BLOCK == 0 &&
	       bytes % GPU_MEMORY_BLOCK == 0 && (!first || first->address == address) &&
	       (!last || last->address + last->bytes == address + bytes);
}

/* Somebody may touch it. */
static bool has_opened(const struct gpu_view *view)
{
	return (view->open[0] | view->open[1] | view->open[2] | view->open[3]) != 0;
}

/* Nothing is mapped there any more, in whole or in part: as measured. Memory that nobody could
 * touch goes at once. */
CUDA_PUBLIC CUresult cuMemUnmap(CUdeviceptr address, size_t bytes)
{
	const struct gpu_profile *profile = gpu_backend()->gpu(0)->profile;
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	struct gpu_view *view;
	uint64_t open = 0;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!is_whole(address, bytes))
		return CUDA_ERROR_INVALID_VALUE;
	while ((view = gpu_views_behind(cuda_views(), address)) &&
	       view->address < address + bytes) {
		struct cuda_handle *handle = view->object;

		open += has_opened(view) ? view->bytes : 0;
		if (view->gpu)
			gpu_backend()->freed(view->gpu, view->target, view->bytes);
		gpu_views_remove(cuda_views(), view);
		handle->maps--;
		cuda_handle_let_go(handle);
	}
	gpu_backend()->pass(open == 0		       ? profile->vmm_nothing
			    : open <= GPU_MEMORY_BLOCK ? profile->vmm_unmap
						       : cuda_time(profile->vmm_unmap_more,
								   profile->vmm_unmap_mib, open));
	return CUDA_SUCCESS;
}

/* What @view is for @gpu; whether that is something else from now on. Who reads a team's memory
 * may write it here. */
static bool set_access(struct gpu_view *view, const struct gpu *gpu, CUmemAccess_flags flags)
{
	const uint32_t number = cuda_number(gpu);
	const uint64_t bit = UINT64_C(1) << number % 64;
	const bool is_closed = flags == CU_MEM_ACCESS_FLAGS_PROT_NONE;
	const bool is_read_only = flags == CU_MEM_ACCESS_FLAGS_PROT_READ;
	uint64_t *open = &view->open[number / 64];
	bool changes = is_closed == ((*open & bit) != 0);

	*open = (*open & ~bit) | (is_closed ? 0 : bit);
	if (view->gpu != gpu)
		return changes;
	changes = view->is_closed != is_closed || view->is_read_only != is_read_only;
	view->is_closed = is_closed;
	view->is_read_only = is_read_only;
	return changes;
}

static CUresult check_access(const CUmemAccessDesc *access)
{
	if (access->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
		return CUDA_ERROR_NOT_SUPPORTED;
	return access->location.id < 0 || (uint32_t)access->location.id >= gpu_backend()->count() ||
			       (access->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
				access->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
				access->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

static uint32_t access_of(const struct gpu_view *view, const struct gpu *gpu)
{
	if (view->gpu)
		return view->gpu == gpu ? cuda_access_of(view) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return cuda_team_is_open(view, gpu) ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE
					    : CU_MEM_ACCESS_FLAGS_PROT_NONE;
}

/* Each device may touch memory or not, or read it. */
CUDA_PUBLIC CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes,
				    const CUmemAccessDesc *access, size_t count)
{
	const struct gpu_profile *profile;
	struct gpu_thread *thread;
	CUresult ret = cuda_enter(&thread);
	struct gpu_view *view;
	bool changes = false;

	if (ret != CUDA_SUCCESS)
		return ret;
	view = find_mappings(address, bytes);
	if (!view || !access || count == 0)
		return CUDA_ERROR_INVALID_VALUE;
	profile = profile_of(view->gpu);
	for (size_t i = 0; i < count; i++) {
		ret = check_access(&access[i]);
		if (ret != CUDA_SUCCESS)
			return ret;
		for (uint64_t at = address; at < address + bytes; at += view->bytes) {
			view = gpu_views_find(cuda_views(), at);
			changes |= set_access(view,
					      gpu_backend()->gpu((uint32_t)access[i].location.id),
					      access[i].flags);
		}
	}
	gpu_backend()->pass(
		!changes ? profile->vmm_nothing
		: bytes <= GPU_MEMORY_BLOCK
			? profile->vmm_access
			: cuda_time(profile->vmm_access_more, profile->vmm_access_mib, bytes));
	return CUDA_SUCCESS;
}

/* Of what was mapped; of other memory it says that there is none: as measured. */
CUDA_PUBLIC CUresult cuMemGetAccess(unsigned long long *ret_flags, const CUmemLocation *location,
				    CUdeviceptr address)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_view *view;
	struct cuda_memory memory;
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
	    cuda_device(location->id, &gpu) != CUDA_SUCCESS)
		return CUDA_ERROR_INVALID_VALUE;
	view = find_mapped(address);
	*ret_flags = view ? access_of(view, gpu) : CU_MEM_ACCESS_FLAGS_PROT_NONE;
	return view || cuda_memory(address, &memory) || cuda_find_managed(address) ||
			       cuda_find_pinned(thread->program, address)
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_VALUE;
}
