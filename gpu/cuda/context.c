/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"
#include "util/alloc.h"

/* Primary contexts, one a device, and the ones that each thread has pushed: the last is current. */

static struct CUctx_st *create_context(struct gpu *gpu)
{
	struct CUctx_st *context = util_calloc(1, sizeof(*context));

	if (!context || gpu_start(gpu) != 0) {
		util_free(context);
		return NULL;
	}
	context->streams = (struct gpu_context){.gpu = gpu,
						.changed = gpu_backend()->changed,
						.call = gpu_backend()->call,
						.stored = gpu_backend()->stored};
	context->program = cuda_program();
	context->legacy = gpu_stream_create(&context->streams, GPU_LEGACY);
	if (context->legacy)
		return context;
	util_free(context);
	return NULL;
}

void gpu_program_fini(struct gpu_program *program)
{
	for (uint32_t i = 0; i < GPU_MAX; i++) {
		if (!program->contexts[i])
			continue;
		gpu_context_fini(&program->contexts[i]->streams);
		util_free(program->contexts[i]);
	}
	while (program->events) {
		struct CUevent_st *event = program->events;

		program->events = event->next;
		gpu_mark_put(event->mark);
		util_free(event);
	}
	util_free(program->pinned);
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
		*context = create_context(gpu);
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
	for (uint32_t i = 0; i < gpu_backend()->count(); i++)
		if (context && context == program->contexts[i])
			return true;
	return false;
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
	if (cuda_rest(context))
		gpu_backend()->pass(context->streams.gpu->profile->costs[GPU_MARK].notice);
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return cuda_state(&context->streams);
}
