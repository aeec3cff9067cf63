/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* Access of kernels to the memory of other GPUs. Copies between GPUs need none of it. */

static bool may_reach(const struct gpu *gpu, const struct gpu *other)
{
	return bus_may_read(gpu->bus, gpu->part, other->part) &&
	       bus_may_write(gpu->bus, gpu->part, other->part);
}

CUDA_PUBLIC CUresult cuDeviceCanAccessPeer(int *ret_can, CUdevice device, CUdevice peer)
{
	struct gpu *gpu, *other;
	CUresult ret = cuda_device(device, &gpu);

	if (ret == CUDA_SUCCESS)
		ret = cuda_device(peer, &other);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (!ret_can)
		return CUDA_ERROR_INVALID_VALUE;
	*ret_can = gpu != other && may_reach(gpu, other);
	return CUDA_SUCCESS;
}

/* The context that is current, and the GPU of the other one. */
static CUresult find_both(CUcontext peer, struct CUctx_st **ret_context, struct gpu **ret_gpu)
{
	const CUresult ret = cuda_current(ret_context);
	struct CUctx_st *known;

	if (ret != CUDA_SUCCESS)
		return ret;
	known = gpu_program_next(cuda_program(), NULL);
	while (known && known != peer)
		known = gpu_program_next(cuda_program(), known);
	if (!known)
		return CUDA_ERROR_INVALID_CONTEXT;
	if (known->users == 0)
		return CUDA_ERROR_CONTEXT_IS_DESTROYED;
	*ret_gpu = known->streams.gpu;
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags)
{
	struct CUctx_st *context;
	struct gpu *other;
	CUresult ret = cuda_current(&context);
	uint64_t *word, bit;

	if (ret == CUDA_SUCCESS)
		ret = flags == 0 ? find_both(peer, &context, &other) : CUDA_ERROR_INVALID_VALUE;
	if (ret != CUDA_SUCCESS)
		return ret;
	if (other == context->streams.gpu || !may_reach(context->streams.gpu, other))
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	word = &context->peers[cuda_number(other) / 64];
	bit = UINT64_C(1) << cuda_number(other) % 64;
	if (*word & bit)
		return CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
	*word |= bit;
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return CUDA_SUCCESS;
}

CUDA_PUBLIC CUresult cuCtxDisablePeerAccess(CUcontext peer)
{
	struct CUctx_st *context;
	struct gpu *other;
	const CUresult ret = find_both(peer, &context, &other);
	uint64_t *word, bit;

	if (ret != CUDA_SUCCESS)
		return ret;
	word = &context->peers[cuda_number(other) / 64];
	bit = UINT64_C(1) << cuda_number(other) % 64;
	if (!(*word & bit))
		return CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
	*word &= ~bit;
	gpu_backend()->pass(context->streams.gpu->profile->query);
	return CUDA_SUCCESS;
}
