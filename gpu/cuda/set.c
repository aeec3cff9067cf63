/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* Memory that is set to one value. Of a GPU's memory the call returns at once; of host memory a
 * synchronous one when it is done. */

CUresult cuda_set(const struct cuda_set *set)
{
	struct gpu_stream *stream;
	CUresult ret = cuda_stream(set->stream, &stream);
	const uint64_t bytes = set->count * set->size;
	struct gpu_command *command;
	struct cuda_range range;

	if (ret != CUDA_SUCCESS || set->count == 0)
		return ret;
	if (set->count > UINT64_MAX / set->size || set->to % set->size != 0)
		return CUDA_ERROR_INVALID_VALUE;
	ret = cuda_range(set->to, set->extent, &range);
	if (ret != CUDA_SUCCESS)
		return ret;
	if (range.kind == CUDA_PAGEABLE || range.is_read_only)
		return CUDA_ERROR_INVALID_VALUE;
	command = cuda_command(bytes <= stream->context->gpu->profile->set_few_bytes ? GPU_SET_FEW
										     : GPU_SET);
	if (!command)
		return CUDA_ERROR_OUT_OF_MEMORY;
	command->bytes = bytes;
	command->to = range.at;
	command->managed_to = range.managed;
	command->to_side = set->side;
	command->pattern = set->pattern;
	command->pattern_bytes = (uint8_t)set->size;
	cuda_hold(stream);
	cuda_tell(stream, command);
	if (set->waits && (range.kind == CUDA_PINNED || range.is_sync))
		cuda_wait(stream);
	cuda_let_go(stream);
	return CUDA_SUCCESS;
}

static CUresult set(CUdeviceptr to, uint32_t pattern, uint32_t size, size_t count, CUstream stream,
		    bool waits)
{
	return cuda_set(&(struct cuda_set){.to = to,
					   .extent = (uint64_t)count * size,
					   .pattern = pattern,
					   .size = size,
					   .count = count,
					   .stream = stream,
					   .waits = waits});
}

CUDA_PUBLIC CUresult cuMemsetD8(CUdeviceptr to, unsigned char value, size_t count)
{
	return set(to, value, 1, count, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD16(CUdeviceptr to, unsigned short value, size_t count)
{
	return set(to, value, 2, count, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD32(CUdeviceptr to, unsigned int value, size_t count)
{
	return set(to, value, 4, count, NULL, true);
}

CUDA_PUBLIC CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count,
				     CUstream stream)
{
	return set(to, value, 1, count, stream, false);
}

CUDA_PUBLIC CUresult cuMemsetD16Async(CUdeviceptr to, unsigned short value, size_t count,
				      CUstream stream)
{
	return set(to, value, 2, count, stream, false);
}

CUDA_PUBLIC CUresult cuMemsetD32Async(CUdeviceptr to, unsigned int value, size_t count,
				      CUstream stream)
{
	return set(to, value, 4, count, stream, false);
}
