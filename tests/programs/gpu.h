/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_GPU_H
#define TESTS_PROGRAMS_GPU_H

/* What the test programs for GPUs share. */
#include "include/verbena/cuda.h"
#include "include/verbena/verbena.h"
#include "tests/programs/util.h"

/* False, and a line that says so: @result is not CUDA_SUCCESS. */
static inline bool gpu_did(const struct vb_prog *prog, CUresult result, const char *what)
{
	const char *name = "?";

	if (result == CUDA_SUCCESS)
		return true;
	(void)cuGetErrorName(result, &name);
	prog_say(prog, "%s: %s", what, name);
	return false;
}

/* A call of the driver API that has to go well. */
#define GPU_DO(prog, call) gpu_did(prog, call, #call)

/* The primary context of the GPU @number is current from now on. */
static inline bool gpu_open(const struct vb_prog *prog, int number)
{
	CUcontext context;
	CUdevice device;
	CUresult result;
	int count = 0;

	if (!gpu_did(prog, cuInit(0), "cuInit"))
		return false;
	result = cuDeviceGet(&device, number);
	if (result != CUDA_SUCCESS && cuDeviceGetCount(&count) == CUDA_SUCCESS)
		prog_say(prog, "found gpu=%d, expected 0 to %d", number, count - 1);
	return gpu_did(prog, result, "cuDeviceGet") &&
	       GPU_DO(prog, cuDevicePrimaryCtxRetain(&context, device)) &&
	       GPU_DO(prog, cuCtxSetCurrent(context));
}

static inline int gpu_missed(const struct vb_prog *prog, bool holds, const char *what)
{
	prog_say(prog, "%s %s", holds ? "ok" : "not", what);
	return !holds;
}

/* A line that says whether it @holds. @c: what has the prog, and counts in failed what does not. */
#define GPU_CHECK(c, holds, what) ((c)->failed += gpu_missed((c)->prog, holds, what))

/* Of the current GPU's memory. */
static inline size_t gpu_free_bytes(void)
{
	size_t bytes = 0;

	(void)cuMemGetInfo(&bytes, NULL);
	return bytes;
}

/* Whether that is so long ago, in virtual time; @since as vb_now_ps() has it. */
static inline bool gpu_took(uint64_t since, uint64_t least_us, uint64_t most_us)
{
	const uint64_t us = 1000000, time = vb_now_ps() - since;

	return time >= least_us * us && time <= most_us * us;
}

/* What the lines that follow are, with their units: said once, by rank 0. */
static inline void gpu_heading(const struct vb_prog *prog, const char *text)
{
	if (prog->rank == 0)
		prog_say(prog, "# %s", text);
}

#endif
