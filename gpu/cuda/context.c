/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* Primary contexts, one a device, and the one that is current. */

CUresult cuda_current(struct gpu **ret_gpu)
{
	const struct gpu_program *program = cuda_program();

	if (!program)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!program->current || program->current->users == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_gpu = gpu_backend()->gpu((uint32_t)(program->current - program->contexts));
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuDevicePrimaryCtxRetain(CUcontext *ret_context, CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);
	struct CUctx_st *context;

	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	context = &cuda_program()->contexts[device];
	if (context->users++ == 0)
		gpu_backend()->pass(gpu->profile->retain);
	*ret_context = context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_device(device, &gpu);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (cuda_program()->contexts[device].users == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	cuda_program()->contexts[device].users--;
	return CUDA_SUCCESS;
}

/* Whether @context is one that the program was given, and lives. */
static bool is_context(const struct gpu_program *program, const struct CUctx_st *context)
{
	for (uint32_t i = 0; i < GPU_MAX; i++)
		if (context == &program->contexts[i])
			return context->users > 0;
	return false;
}

CUDA_PUBLIC CUresult cuCtxSetCurrent(CUcontext context)
{
	struct gpu_program *program = cuda_program();

	if (!program)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (context && !is_context(program, context))
		return CUDA_ERROR_INVALID_CONTEXT;
	program->current = context;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxGetCurrent(CUcontext *ret_context)
{
	const struct gpu_program *program = cuda_program();

	if (!program)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (!ret_context)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_context = program->current;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxGetDevice(CUdevice *ret_device)
{
	struct gpu *gpu;
	const CUresult ret = cuda_current(&gpu);

	if (ret == CUDA_SUCCESS && !ret_device)
		return CUDA_ERROR_INVALID_VALUE;
	if (ret == CUDA_SUCCESS)
		*ret_device = (int)(cuda_program()->current - cuda_program()->contexts);
	return ret;
}

/* Whatever is here is over when its call returns. */
CUDA_PUBLIC CUresult cuCtxSynchronize(void)
{
	struct gpu *gpu;
	const CUresult ret = cuda_current(&gpu);

	if (ret == CUDA_SUCCESS)
		gpu_backend()->pass(gpu->profile->query);
	return ret;
}
