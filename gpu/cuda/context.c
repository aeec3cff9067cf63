/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Contexts: the primary one of each device, others that a program makes, and those that each thread
 * has pushed: the last is current. */

/* A primary context says that host memory is mapped, one that was made only what it was made with.
 */
enum { FLAGS_PRIMARY = 8, FLAGS_SCHEDULE = 7, FLAGS_KNOWN = 0xff, API_VERSION = 3020 };
enum { FLAG_COREDUMP = 0x20, FLAG_USER_COREDUMP = 0x40 };

static struct CUctx_st *create_context(struct gpu *gpu, int device)
{
	struct CUctx_st *context = util_calloc(1, sizeof(*context));

	if (!context || gpu_start(gpu) != 0) {
		util_free(context);
		return NULL;
	}
	context->streams = (struct gpu_context){.gpu = gpu,
						.changed = gpu_backend()->changed,
						.call = gpu_backend()->call,
						.stored = gpu_backend()->stored,
						.placed = gpu_backend()->placed};
	context->program = cuda_program();
	context->device = device;
	context->flags = device >= 0 ? FLAGS_PRIMARY : 0;
	context->number = ++cuda_program()->contexts_made;
	context->legacy = gpu_stream_create(&context->streams, GPU_LEGACY);
	if (context->legacy)
		return context;
	util_free(context);
	return NULL;
}

void gpu_program_fini(struct gpu_program *program)
{
	for (struct CUctx_st *context = gpu_program_next(program, NULL), *next; context;
	     context = next) {
		next = gpu_program_next(program, context);
		gpu_context_fini(&context->streams);
		util_free(context);
	}
	while (program->events) {
		struct CUevent_st *event = program->events;

		program->events = event->next;
		gpu_mark_put(event->mark);
		cuda_put_shared(event->shared);
		util_free(event);
	}
	cuda_gdrs_fini(program);
	cuda_pools_fini(program);
	cuda_handles_fini(program);
	cuda_pinned_fini(program);
	cuda_modules_fini(program);
}

CUDA_PUBLIC CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);
	struct CUctx_st **context;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	context = &cuda_program()->contexts[device];
	if (!*context)
		*context = create_context(gpu, device);
	if (!*context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (cuda_state(&(*context)->streams) != CUDA_SUCCESS)
		return cuda_state(&(*context)->streams);
	if ((*context)->users++ == 0)
		gpu_backend()->pass(gpu->profile->retain);
	*ret_context = *context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);
	struct CUctx_st *context;

	if (ret != CUDA_SUCCESS)
		return ret;
	context = cuda_program()->contexts[device];
	if (!context || context->users == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	context->users--;
	return CUDA_SUCCESS;
}

/* Whether @context is one that the program was given, be it over. */
static bool is_context(const struct gpu_program *program, const struct CUctx_st *context)
{
	const struct CUctx_st *known = gpu_program_next(program, NULL);

	while (known && known != context)
		known = gpu_program_next(program, known);
	return known;
}

CUDA_PUBLIC CUresult cuCtxPushCurrent(CUcontext context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(thread->program, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread->depth == GPU_STACK_MAX)
		return CUDA_ERROR_OUT_OF_MEMORY;
	thread->stack[thread->depth++] = context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxPopCurrent(CUcontext *ret_context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (thread->depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	thread->depth--;
	if (ret_context)
		*ret_context = thread->stack[thread->depth];
	return CUDA_SUCCESS;
}

/* Takes the place of the last one; NULL: takes that away. */
CUDA_PUBLIC CUresult cuCtxSetCurrent(CUcontext context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (context && !is_context(thread->program, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	if (thread->depth > 0)
		thread->depth--;
	if (context)
		thread->stack[thread->depth++] = context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_context = thread->depth > 0 ? thread->stack[thread->depth - 1] : NULL;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxGetDevice(CUdevice *ret_device)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (thread->depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (!ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_device = (int)cuda_number(thread->stack[thread->depth - 1]->streams.gpu);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxSynchronize(void)
{
	struct CUctx_st *context;
	const CUresult ret = cuda_current(&context);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (cuda_rest(context)) {
		gpu_backend()->pass(context->streams.gpu->profile->costs[GPU_MARK].notice);
		cuda_wake(&context->streams);
	}
	cuda_pools_trim();
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return cuda_state(&context->streams);
}

/* ---- those that a program makes ---- */

static CUresult make(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
	const unsigned int schedule = flags & FLAGS_SCHEDULE;
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);
	struct gpu_thread *thread = gpu_backend()->thread();
	struct CUctx_st *context, **at;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_context || (flags & ~(unsigned int)FLAGS_KNOWN) || (schedule & (schedule - 1)))
		return CUDA_ERROR_INVALID_VALUE;
	context = thread->depth < GPU_STACK_MAX ? create_context(gpu, -1) : NULL;
	if (!context)
		return CUDA_ERROR_OUT_OF_MEMORY;
	context->flags = flags & ~(unsigned int)FLAG_USER_COREDUMP;
	if (flags & FLAG_USER_COREDUMP) /* as measured */
		context->flags |= FLAG_COREDUMP;
	context->users = 1;
	for (at = &thread->program->made; *at;)
		at = &(*at)->next;
	*at = context;
	thread->stack[thread->depth++] = context;
	gpu_backend()->pass(gpu->profile->context_create);
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device)
{
	return make(ret_context, flags, device);
}

/* Nothing of what @params may ask for is there. */
CUDA_PUBLIC CUresult cuCtxCreate(CUcontext *ret_context, CUctxCreateParams *params,
				 unsigned int flags, CUdevice device)
{
	if (params && params->numExecAffinityParams != 0 && !params->execAffinityParams)
		return CUDA_ERROR_INVALID_VALUE;
	if (params && params->numExecAffinityParams != 0)
		return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
	if (params && params->cigParams)
		return CUDA_ERROR_NOT_SUPPORTED;
	return make(ret_context, flags, device);
}

/* Its memory goes with it, and what its streams were told is done before that. It stays known, as
 * one that is over, and so do its events. */
CUDA_PUBLIC CUresult cuCtxDestroy(CUcontext context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);
	const struct gpu_profile *profile;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!context)
		return CUDA_ERROR_INVALID_VALUE;
	if (!is_context(thread->program, context) || context->users == 0 || context->device >= 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	context->users = 0;
	(void)cuda_rest(context);
	profile = context->streams.gpu->profile;
	cuda_forget_memory(context);
	cuda_forget_host(context);
	for (struct gpu_stream *stream = context->streams.streams, *next; stream; stream = next) {
		next = stream->next;
		gpu_stream_destroy(stream); /* once nobody waits there */
	}
	context->legacy = NULL;
	if (thread->depth > 0 && thread->stack[thread->depth - 1] == context)
		thread->depth--;
	gpu_backend()->pass(profile->context_destroy);
	return CUDA_SUCCESS;
}

/* @context, or the one that is current where it is NULL. */
static CUresult find_context(CUcontext context, struct CUctx_st **ret_context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	*ret_context = context;
	if (!context)
		return cuda_current(ret_context);
	return is_context(thread->program, context) && context->users > 0
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_CONTEXT;
}

CUDA_PUBLIC CUresult cuCtxGetId(CUcontext context, unsigned long long *ret_id)
{
	struct CUctx_st *found;
	CUresult ret = find_context(context, &found);

	if (ret == CUDA_ERROR_INVALID_CONTEXT && is_context(cuda_program(), context))
		ret = CUDA_ERROR_CONTEXT_IS_DESTROYED; /* as measured, and here alone */
	if (ret == CUDA_SUCCESS && !ret_id)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_id = found->number;
	return ret;
}

CUDA_PUBLIC CUresult cuCtxGetFlags(unsigned int *ret_flags)
{
	struct CUctx_st *found;
	const CUresult ret = cuda_current(&found);

	if (ret == CUDA_SUCCESS && !ret_flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_flags = found->flags;
	return ret;
}

CUDA_PUBLIC CUresult cuCtxGetApiVersion(CUcontext context, unsigned int *ret_version)
{
	struct CUctx_st *found;
	const CUresult ret = find_context(context, &found);

	if (ret == CUDA_SUCCESS && !ret_version)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_version = API_VERSION;
	return ret;
}
