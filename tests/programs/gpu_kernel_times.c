/* SPDX-License-Identifier: BSD-2-Clause */

/* How fast kernels move what is in mapped host memory and in that of their GPU, as measured on an
 * H100: for each kind, number of blocks, threads of a block and bytes that a thread moves at a time
 * a line "KIND BLOCKS THREADS WIDTH MB/s", between two events, less what an empty kernel takes;
 * then "launch NS" and "synchronize NS" of an empty kernel, and "beside NS" and "alone NS" of a
 * copy to the GPU with a kernel that reads beside it and without. Each rank by itself. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES = 8 << 20, DEVICE_BYTES = 64 << 20, PIECE = 64 << 10 };

static const char ptx[] = ".version 8.0\n.target sm_90\n.entry sweep(.param .u64 at,\n"
			  ".param .u64 bytes, .param .u32 width, .param .u32 writes) { ret; }";

struct times {
	const struct vb_prog *prog;
	CUdeviceptr host, device;
	CUfunction sweep;
	CUevent began, ended;
};

static void sweep(struct vb_launch *launch)
{
	static const uint8_t zero[PIECE];
	uint8_t *piece = malloc(PIECE);
	uint32_t width, writes;
	uint64_t at, bytes;

	memcpy(&at, launch->args[0], 8);
	memcpy(&bytes, launch->args[1], 8);
	memcpy(&width, launch->args[2], 4);
	memcpy(&writes, launch->args[3], 4);
	vb_kernel_width(launch, width);
	for (uint64_t done = 0; piece && done < bytes; done += PIECE) {
		if (writes)
			(void)vb_kernel_write(launch, at + done, zero, PIECE);
		else
			(void)vb_kernel_read(launch, piece, at + done, PIECE);
	}
	free(piece);
}

static CUresult start(const struct times *t, CUdeviceptr at, uint64_t bytes, uint32_t shape[3],
		      uint32_t writes, CUstream stream)
{
	void *args[] = {&at, &bytes, &shape[2], &writes};

	return cuLaunchKernel(t->sweep, shape[0], 1, 1, shape[1], 1, 1, 0, stream, args, NULL);
}

static float time_of(struct times *t, CUdeviceptr at, uint64_t bytes, uint32_t shape[3],
		     uint32_t writes)
{
	float ms = 0;

	(void)cuEventRecord(t->began, NULL);
	(void)start(t, at, bytes, shape, writes, NULL);
	(void)cuEventRecord(t->ended, NULL);
	(void)cuCtxSynchronize();
	(void)GPU_DO(t->prog, cuEventElapsedTime(&ms, t->began, t->ended));
	return ms;
}

static void rate(struct times *t, const char *kind, uint32_t blocks, uint32_t threads,
		 uint32_t width)
{
	const bool is_host = kind[0] == 'h', writes = strstr(kind, "write");
	const uint64_t bytes = !is_host					  ? DEVICE_BYTES
			       : threads < 1024 && !writes && blocks < 32 ? HOST_BYTES / 8
									  : HOST_BYTES;
	const CUdeviceptr at = is_host ? t->host : t->device;
	uint32_t shape[3] = {blocks, threads, width};
	const float empty = time_of(t, at, 0, shape, writes);

	prog_say(t->prog, "%s %u %u %u %.0f", kind, blocks, threads, width,
		 (double)bytes / 1e3 / (double)(time_of(t, at, bytes, shape, writes) - empty));
}

static void calls(struct times *t)
{
	uint32_t shape[3] = {132, 1024, 16};
	const uint64_t began = vb_now_ps();
	uint64_t called;

	(void)start(t, t->device, 0, shape, 0, NULL);
	called = vb_now_ps();
	(void)cuStreamSynchronize(NULL);
	prog_say(t->prog, "launch %.0f", (double)(called - began) / 1000);
	prog_say(t->prog, "synchronize %.0f", (double)(vb_now_ps() - began) / 1000);
}

/* With as many bytes each. */
static void beside(struct times *t, const char *name, bool is_beside)
{
	uint32_t shape[3] = {132, 1024, 16};
	CUstream copies, kernels;
	float ms = 0;

	(void)cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING);
	(void)cuStreamCreate(&kernels, CU_STREAM_NON_BLOCKING);
	if (is_beside)
		(void)start(t, t->host, HOST_BYTES, shape, 0, kernels);
	(void)cuEventRecord(t->began, copies);
	(void)cuMemcpyHtoDAsync(t->device, (void *)(uintptr_t)t->host, HOST_BYTES, copies);
	(void)cuEventRecord(t->ended, copies);
	(void)cuCtxSynchronize();
	(void)cuEventElapsedTime(&ms, t->began, t->ended);
	prog_say(t->prog, "%s %.0f", name, (double)ms * 1e6);
}

int prog_main(const struct vb_prog *prog)
{
	static const uint32_t counts[] = {1, 2, 4, 8, 16, 32, 64, 132, 264};
	struct times t = {.prog = prog};
	CUmodule module;
	void *pinned;

	if (!prog_takes(prog, "") || !gpu_open(prog, 0) ||
	    !GPU_DO(prog, cuMemAllocHost(&pinned, HOST_BYTES)) ||
	    !GPU_DO(prog, cuMemHostGetDevicePointer(&t.host, pinned, 0)) ||
	    !GPU_DO(prog, cuMemAlloc(&t.device, DEVICE_BYTES)) ||
	    !GPU_DO(prog, cuEventCreate(&t.began, 0)) ||
	    !GPU_DO(prog, cuEventCreate(&t.ended, 0)) || vb_kernel("sweep", sweep) != 0 ||
	    !GPU_DO(prog, cuModuleLoadData(&module, ptx)) ||
	    !GPU_DO(prog, cuModuleGetFunction(&t.sweep, module, "sweep")))
		return -1;
	gpu_heading(prog, "KIND BLOCKS THREADS BYTES MB/s; launch, synchronize, beside, alone NS");
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		rate(&t, "host_read", counts[i], 32, 16);
		rate(&t, "host_read", counts[i], 1024, 16);
		rate(&t, "host_read", counts[i], 1024, 4);
		rate(&t, "host_write", counts[i], 32, 16);
		rate(&t, "host_write", counts[i], 1024, 16);
		rate(&t, "device_read", counts[i], 1024, 16);
		rate(&t, "device_write", counts[i], 1024, 16);
	}
	calls(&t);
	beside(&t, "alone", false);
	beside(&t, "beside", true);
	return GPU_DO(prog, cuMemFreeHost(pinned)) ? 0 : -1;
}
