/* SPDX-License-Identifier: BSD-2-Clause */

/* A flag in mapped host memory, to and fro between a CPU and a kernel that polls: the CPU stores,
 * the kernel sees it and stores, the CPU sees that. rounds=200 of them, each rank by itself; a line
 * "echo NS" with the mean, and "set NS" from the call of a launch until the CPU sees what the
 * kernel stores. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

struct flag {
	const struct vb_prog *prog;
	uint32_t *words; /* pinned: of the CPU, and of the kernel */
	CUdeviceptr ours, theirs;
	CUfunction echo, set;
	CUstream stream;
};

/* Until the kernel has stored something else than @seen. */
static uint32_t await(struct flag *f, uint32_t seen)
{
	vb_wait_mem(&f->words[16], &seen, sizeof(seen));
	return f->words[16];
}

static bool echo(struct flag *f, uint32_t rounds)
{
	void *args[] = {&f->ours, &f->theirs, &rounds};
	uint64_t began, sum = 0;

	f->words[0] = f->words[16] = 0;
	if (!GPU_DO(f->prog, cuLaunchKernel(f->echo, 1, 1, 1, 1, 1, 1, 0, f->stream, args, NULL)))
		return false;
	for (uint32_t i = 1; i <= rounds; i++) {
		/* Never twice at the same time of a poll's way. */
		f->prog->sleep_ns(f->prog, 20000 + 37 * i);
		began = vb_now_ps();
		f->words[0] = i;
		if (await(f, i - 1) != i) {
			prog_say(f->prog, "not %u but %u", i, f->words[16]);
			return false;
		}
		sum += vb_now_ps() - began;
	}
	prog_say(f->prog, "echo %.0f", (double)sum / rounds / 1000);
	return GPU_DO(f->prog, cuStreamSynchronize(f->stream));
}

static bool set(struct flag *f)
{
	uint32_t value = 77;
	void *args[] = {&f->theirs, &value};
	const uint64_t began = vb_now_ps();

	f->words[16] = 0;
	if (!GPU_DO(f->prog, cuLaunchKernel(f->set, 1, 1, 1, 1, 1, 1, 0, f->stream, args, NULL)))
		return false;
	if (await(f, 0) != value)
		return false;
	prog_say(f->prog, "set %.0f", (double)(vb_now_ps() - began) / 1000);
	return GPU_DO(f->prog, cuStreamSynchronize(f->stream));
}

int prog_main(const struct vb_prog *prog)
{
	struct flag f = {.prog = prog};
	CUmodule module;

	if (!prog_takes(prog, "rounds") || !gpu_open(prog, 0) ||
	    !GPU_DO(prog, cuMemAllocHost((void **)&f.words, 4096)) ||
	    !GPU_DO(prog, cuMemHostGetDevicePointer(&f.ours, f.words, 0)) ||
	    !GPU_DO(prog, cuModuleLoadData(&module, VB_KERNELS_PTX)) ||
	    !GPU_DO(prog, cuModuleGetFunction(&f.echo, module, "vb_flag_echo")) ||
	    !GPU_DO(prog, cuModuleGetFunction(&f.set, module, "vb_flag_set")) ||
	    !GPU_DO(prog, cuStreamCreate(&f.stream, CU_STREAM_NON_BLOCKING)))
		return -1;
	gpu_heading(prog, "WHAT NS");
	f.theirs = f.ours + 64;
	if (!echo(&f, (uint32_t)prog_arg(prog, "rounds", 200)) || !set(&f))
		return -1;
	return GPU_DO(prog, cuModuleUnload(module)) && GPU_DO(prog, cuMemFreeHost(f.words)) ? 0
											    : -1;
}
