/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

#include <string.h>

/* Memory and events that the programs of a machine share by handles. */

enum { HOST_PAGE = 4096 };

/* What is in a handle of memory: the same for each export of one allocation. */
struct memory_handle {
	uint64_t address, number, bytes, pages;
	uint32_t place, is_memory;
};
struct event_handle {
	uint64_t number, is_event;
};
enum { IS_MEMORY = 0x766d, IS_EVENT = 0x7665 };

_Static_assert(sizeof(struct memory_handle) <= CU_IPC_HANDLE_SIZE, "it fits");
_Static_assert(sizeof(struct event_handle) <= CU_IPC_HANDLE_SIZE, "it fits");

/* ---- memory ---- */

static uint64_t block_of(uint64_t address)
{
	return address - address % GPU_MEMORY_BLOCK;
}

/* Of the blocks that it lies in. */
static uint64_t block_bytes(uint64_t address, uint64_t bytes)
{
	return block_of(address + bytes + GPU_MEMORY_BLOCK - 1) - block_of(address);
}

CUDA_PUBLIC CUresult cuIpcGetMemHandle(CUipcMemHandle *ret_handle, CUdeviceptr address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct gpu_allocation *allocation;
	struct memory_handle handle;
	struct gpu *gpu;

	if (ret != CUDA_SUCCESS)
		return ret;
	allocation = cuda_find(address, &gpu);
	if (!ret_handle || !allocation)
		return CUDA_ERROR_INVALID_VALUE;
	handle = (struct memory_handle){
		.address = allocation->address,
		.number = allocation->number,
		.bytes = allocation->bytes,
		.pages = block_bytes(allocation->address, allocation->bytes) / HOST_PAGE,
		.place = gpu->place,
		.is_memory = IS_MEMORY};
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle, &handle, sizeof(handle));
	gpu_backend()->pass(allocation->is_shared ? gpu->profile->query : gpu->profile->ipc_get);
	/* Time has passed: it may lie elsewhere in the books. */
	allocation = cuda_find(address, &gpu);
	if (allocation)
		allocation->is_shared = true;
	return CUDA_SUCCESS;
}

/* The GPU that @handle is of; NULL: it is no handle. */
static struct gpu *gpu_of_handle(const struct memory_handle *handle)
{
	return handle->is_memory == IS_MEMORY && handle->place > 0 &&
			       handle->place <= gpu_backend()->count()
		       ? gpu_backend()->gpu(handle->place - 1)
		       : NULL;
}

/* Whether @handle names what another program of the machine has: that which lies there now, and was
 * exported, be the handle of what lay there before: as measured. */
static CUresult check_exported(const struct memory_handle *handle, const struct gpu *gpu)
{
	const struct gpu_allocation *allocation = gpu_memory_find(&gpu->memory, handle->address);
	const struct CUctx_st *owner;

	if (!allocation || allocation->address != handle->address ||
	    allocation->bytes != handle->bytes)
		return CUDA_ERROR_INVALID_VALUE;
	if (!allocation->is_shared)
		return CUDA_ERROR_NOT_PERMITTED;
	owner = allocation->owner;
	return owner->program == cuda_program() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
}

/* What the program has by @handle already; NULL: nothing. Its memory cannot be another's meanwhile,
 * and each handle of it has a place of its own: as measured. */
static struct gpu_view *find_import(const struct gpu *gpu, const struct memory_handle *handle)
{
	const struct gpu_views *views = cuda_views();

	for (size_t i = 0; i < views->count; i++)
		if (views->views[i]->kind == GPU_VIEW_IMPORT && views->views[i]->gpu == gpu &&
		    views->views[i]->owner == cuda_program() &&
		    views->views[i]->target == handle->address &&
		    views->views[i]->exported == handle->number)
			return views->views[i];
	return NULL;
}

static CUresult map_blocks(struct gpu *gpu, const struct memory_handle *handle,
			   struct CUctx_st *context, struct gpu_view **ret_view)
{
	struct gpu_stretch stretch = {.bytes = handle->pages * HOST_PAGE,
				      .owner = cuda_program(),
				      .gpu = gpu,
				      .target = block_of(handle->address)};
	struct gpu_view view = {.bytes = handle->bytes,
				.target = handle->address,
				.number = ++gpu->memory.made,
				.exported = handle->number,
				.gpu = gpu,
				.kind = GPU_VIEW_IMPORT,
				.owner = cuda_program(),
				.object = context};

	if (gpu_views_reserve(cuda_views(), &stretch, GPU_MEMORY_BLOCK, 0, &stretch.address) != 0)
		return CUDA_ERROR_OUT_OF_MEMORY;
	view.address = stretch.address + handle->address % GPU_MEMORY_BLOCK;
	*ret_view = gpu_views_add(cuda_views(), &view);
	if (*ret_view && gpu_memory_hold(&gpu->memory, handle->address, handle->bytes) == 0)
		return CUDA_SUCCESS;
	if (*ret_view)
		gpu_views_remove(cuda_views(), *ret_view);
	gpu_views_give_back(cuda_views(), stretch.address);
	return CUDA_ERROR_OUT_OF_MEMORY;
}

/* All of its blocks have addresses here from now on; as often as it is opened, the same, be it that
 * whoever exported it has given it back meanwhile: as measured. */
CUDA_PUBLIC CUresult cuIpcOpenMemHandle(CUdeviceptr *ret_address, CUipcMemHandle handle,
					unsigned int flags)
{
	const struct gpu_profile *profile;
	struct memory_handle inside;
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);
	struct gpu_program *program;
	struct gpu_view *view;
	struct gpu *gpu;
	ps_t time;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_address || flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&inside, &handle, sizeof(inside));
	gpu = gpu_of_handle(&inside);
	if (!gpu)
		return CUDA_ERROR_INVALID_VALUE;
	view = find_import(gpu, &inside);
	ret = view ? CUDA_SUCCESS : check_exported(&inside, gpu);
	if (ret != CUDA_SUCCESS)
		return ret;
	program = cuda_program();
	profile = gpu->profile;
	time = profile->query;
	if (!view) {
		ret = map_blocks(gpu, &inside, context, &view);
		if (ret != CUDA_SUCCESS)
			return ret;
		time = program->has_imported
			       ? cuda_time(profile->ipc_open, profile->ipc_open_mib, inside.bytes)
			       : profile->ipc_open_first;
		program->has_imported = true;
	}
	view->users++;
	*ret_address = view->address;
	gpu_backend()->pass(time);
	return CUDA_SUCCESS;
}

/* Whoever exported it may have given it back meanwhile: then it is free with the last. */
CUDA_PUBLIC CUresult cuIpcCloseMemHandle(CUdeviceptr address)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	const struct gpu_profile *profile;
	struct cuda_memory memory;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!cuda_memory(address, &memory) || !memory.view || memory.start != address ||
	    memory.view->kind != GPU_VIEW_IMPORT)
		return CUDA_ERROR_INVALID_VALUE;
	profile = memory.gpu->profile;
	if (--memory.view->users > 0) {
		gpu_backend()->pass(profile->query);
		return CUDA_SUCCESS;
	}
	gpu_memory_let_go(&memory.gpu->memory, memory.target, memory.bytes);
	gpu_views_remove(cuda_views(), memory.view);
	gpu_views_give_back(cuda_views(), block_of(address));
	gpu_backend()->pass(cuda_time(profile->ipc_close, profile->ipc_close_mib, memory.bytes));
	return CUDA_SUCCESS;
}

/* ---- events ---- */

/* The calling program has @event. */
static bool has_event(CUevent event)
{
	const struct CUevent_st *own = cuda_program()->events;

	while (own && own != event)
		own = own->next;
	return own;
}

static CUresult share(CUevent event)
{
	struct cuda_shared_event *shared = util_calloc(1, sizeof(*shared));

	if (!shared)
		return CUDA_ERROR_OUT_OF_MEMORY;
	shared->users = 1;
	shared->number = ++cuda_views()->events_made;
	shared->maker = cuda_program();
	shared->mark = event->mark;
	event->mark = NULL;
	event->shared = shared;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuIpcGetEventHandle(CUipcEventHandle *ret_handle, CUevent event)
{
	struct event_handle handle = {.is_event = IS_EVENT};
	struct CUctx_st *context;
	CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!has_event(event) || !(event->flags & CU_EVENT_INTERPROCESS))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!ret_handle)
		return CUDA_ERROR_INVALID_VALUE;
	if (!event->shared)
		ret = share(event);
	if (ret != CUDA_SUCCESS)
		return ret;
	handle.number = event->shared->number;
	memset(ret_handle, 0, sizeof(*ret_handle));
	memcpy(ret_handle, &handle, sizeof(handle));
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return CUDA_SUCCESS;
}

/* That of a program of the machine whose number it is; NULL: nobody has it any more. */
static struct cuda_shared_event *find_shared(uint64_t number)
{
	const struct gpu_program *program = gpu_backend()->program(NULL);

	for (; program; program = gpu_backend()->program(program))
		for (const struct CUevent_st *event = program->events; event; event = event->next)
			if (event->shared && event->shared->number == number)
				return event->shared;
	return NULL;
}

CUDA_PUBLIC CUresult cuIpcOpenEventHandle(CUevent *ret_event, CUipcEventHandle handle)
{
	struct cuda_shared_event *shared;
	struct event_handle inside;
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);
	struct CUevent_st *event;

	if (ret != CUDA_SUCCESS)
		return ret;
	memcpy(&inside, &handle, sizeof(inside));
	shared = inside.is_event == IS_EVENT ? find_shared(inside.number) : NULL;
	if (!ret_event || !shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (shared->maker == cuda_program())
		return CUDA_ERROR_INVALID_CONTEXT;
	event = cuda_event_make(context, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
	if (!event)
		return CUDA_ERROR_OUT_OF_MEMORY;
	shared->users++;
	event->shared = shared;
	*ret_event = event;
	gpu_backend()->pass(context->streams.gpu->profile->event_create);
	return CUDA_SUCCESS;
}
