/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* How calls begin: who calls, and whether the device and the context are there. */

CUresult cuda_enter(struct gpu_thread **ret_thread)
{
	struct gpu_thread *thread = gpu_backend()->thread();

	if (!thread || !thread->program->is_initialised)
		return CUDA_ERROR_NOT_INITIALIZED;
	if (thread->is_driver)
		return CUDA_ERROR_NOT_PERMITTED;
	*ret_thread = thread;
	return CUDA_SUCCESS;
}

struct gpu_program *cuda_program(void)
{
	return gpu_backend()->thread()->program;
}

uint32_t cuda_number(const struct gpu *gpu)
{
	return gpu->place - 1u;
}

CUresult cuda_state(const struct gpu_context *context)
{
	switch (context->how) {
	case GPU_KERNEL_WELL:
		break;
	case GPU_KERNEL_STRAYED:
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	case GPU_KERNEL_TRAPPED:
		return CUDA_ERROR_LAUNCH_FAILED;
	case GPU_KERNEL_CUT_OFF:
		return CUDA_ERROR_NVLINK_UNCORRECTABLE;
	}
	return CUDA_SUCCESS;
}

CUresult cuda_current(struct CUctx_st **ret_context)
{
	const CUresult ret = cuda_current_any(ret_context);

	return ret == CUDA_SUCCESS ? cuda_state(&(*ret_context)->streams) : ret;
}

CUresult cuda_current_any(struct CUctx_st **ret_context)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (thread->depth == 0)
		return CUDA_ERROR_INVALID_CONTEXT;
	*ret_context = thread->stack[thread->depth - 1];
	return (*ret_context)->users == 0 ? CUDA_ERROR_CONTEXT_IS_DESTROYED : CUDA_SUCCESS;
}

CUresult cuda_device(CUdevice number, struct gpu **ret_gpu)
{
	struct gpu_thread *thread;
	const CUresult ret = cuda_enter(&thread);

	if (ret != CUDA_SUCCESS)
		return ret;
	if (number < 0 || (uint32_t)number >= gpu_backend()->count())
		return CUDA_ERROR_INVALID_DEVICE;
	*ret_gpu = gpu_backend()->gpu((uint32_t)number);
	return CUDA_SUCCESS;
}
