/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/kernel.h"
#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

/* Launches: what may be launched, and what it is given. */

enum { THREADS_MAX = 1024, BLOCKS_OF_ONE_MAX = 32 };

static bool is_shape(const struct CUfunc_st *function, const struct cuda_shape *shape)
{
	static const uint32_t grid_most[3] = {INT32_MAX, UINT16_MAX, UINT16_MAX};
	static const uint32_t block_most[3] = {1024, 1024, 64};

	for (int i = 0; i < 3; i++)
		if (shape->grid[i] == 0 || shape->grid[i] > grid_most[i] || shape->block[i] == 0 ||
		    shape->block[i] > block_most[i])
			return false;
	return (uint64_t)shape->block[0] * shape->block[1] * shape->block[2] <= THREADS_MAX &&
	       shape->shared_bytes <= function->dynamic_shared;
}

/* All its blocks at once. */
static bool is_cooperative(const struct gpu_profile *profile, const struct cuda_shape *shape)
{
	const uint32_t each = profile->resident_threads / cuda_product(shape->block);

	return cuda_product(shape->grid) <=
	       profile->multiprocessors * (each < BLOCKS_OF_ONE_MAX ? each : BLOCKS_OF_ONE_MAX);
}

/* All values as one buffer, which may be short, but not long: as measured. What is missing is 0. */
static CUresult take_buffer(const struct CUfunc_st *function, void **extra, uint8_t *values)
{
	const void *buffer = NULL, *size = NULL;
	size_t bytes = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (*extra == CU_LAUNCH_PARAM_BUFFER_POINTER)
			buffer = extra[1];
		else if (*extra == CU_LAUNCH_PARAM_BUFFER_SIZE)
			size = extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (!size || !buffer)
		return function->param_bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	memcpy(&bytes, size, sizeof(bytes));
	if (bytes > function->param_bytes)
		return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
	memcpy(values, buffer, bytes);
	return CUDA_SUCCESS;
}

/* Each value, or all of them. */
static CUresult take_values(const struct CUfunc_st *function, void **parameters, void **extra,
			    uint8_t *values)
{
	if (!parameters)
		return extra ? take_buffer(function, extra, values) : CUDA_SUCCESS;
	for (uint32_t i = 0; i < function->param_count; i++)
		memcpy(values + function->offsets[i], parameters[i], function->sizes[i]);
	return CUDA_SUCCESS;
}

static vb_kernel_fn *function_of(const char *name)
{
	for (const struct cuda_named *named = cuda_program()->kernels; named; named = named->next)
		if (strcmp(named->name, name) == 0)
			return named->fn;
	return cuda_builtin(name) ? cuda_builtin(name) : cuda_builtin_float(name);
}

/* Said once for each program. */
static CUresult nobody_knows(const char *name)
{
	static const char before[] = "kernel ", behind[] = ": nobody has said what it does "
							   "(vb_kernel); it is not run";
	struct gpu_program *program = cuda_program();
	const size_t most = 160, length = strlen(name) < most ? strlen(name) : most;
	char line[sizeof(before) + sizeof(behind) + 160];

	if (program->has_said)
		return CUDA_ERROR_NOT_SUPPORTED;
	program->has_said = true;
	memcpy(line, before, sizeof(before) - 1);
	memcpy(line + sizeof(before) - 1, name, length);
	memcpy(line + sizeof(before) - 1 + length, behind, sizeof(behind));
	gpu_backend()->say(line);
	return CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult tell(struct gpu_stream *stream, const struct CUfunc_st *function,
		     const struct cuda_shape *shape, void **parameters, void **extra)
{
	vb_kernel_fn *fn = function_of(function->name);
	struct gpu_command *command;
	struct cuda_kernel *own;
	CUresult ret;

	if (!fn)
		return nobody_knows(function->name);
	command = cuda_command(GPU_KERNEL);
	own = cuda_kernel_make(function, shape);
	if (!command || !own) {
		util_free(command);
		util_free(own);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	own->fn = fn;
	own->context = container_of(stream->context, struct CUctx_st, streams);
	ret = take_values(function, parameters, extra, own->values);
	if (ret != CUDA_SUCCESS) {
		util_free(command);
		util_free(own);
		return ret;
	}
	command->kernel = &own->kernel;
	cuda_tell(stream, command);
	return CUDA_SUCCESS;
}

static CUresult launch(CUfunction handle, const struct cuda_shape *shape, CUstream stream_handle,
		       void **parameters, void **extra, bool is_together)
{
	struct gpu_stream *stream;
	const CUresult ret = cuda_stream(stream_handle, &stream);
	const struct CUfunc_st *function;

	if (ret != CUDA_SUCCESS)
		return ret;
	function = cuda_function(handle);
	if (!function)
		return CUDA_ERROR_INVALID_HANDLE;
	if (!is_shape(function, shape) || (function->param_count > 0 && !parameters && !extra))
		return CUDA_ERROR_INVALID_VALUE;
	if (is_together && !is_cooperative(stream->context->gpu->profile, shape))
		return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return tell(stream, function, shape, parameters, extra);
}

CUDA_PUBLIC CUresult cuLaunchKernel(CUfunction function, unsigned int grid_x, unsigned int grid_y,
				    unsigned int grid_z, unsigned int block_x, unsigned int block_y,
				    unsigned int block_z, unsigned int shared_bytes,
				    CUstream stream, void **parameters, void **extra)
{
	const struct cuda_shape shape = {.grid = {grid_x, grid_y, grid_z},
					 .block = {block_x, block_y, block_z},
					 .shared_bytes = shared_bytes};

	return launch(function, &shape, stream, parameters, extra, false);
}

CUDA_PUBLIC CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned int grid_x,
					       unsigned int grid_y, unsigned int grid_z,
					       unsigned int block_x, unsigned int block_y,
					       unsigned int block_z, unsigned int shared_bytes,
					       CUstream stream, void **parameters)
{
	const struct cuda_shape shape = {.grid = {grid_x, grid_y, grid_z},
					 .block = {block_x, block_y, block_z},
					 .shared_bytes = shared_bytes};

	return launch(function, &shape, stream, parameters, NULL, true);
}
