/* SPDX-License-Identifier: BSD-2-Clause */

/* All-reduce in NVSwitches, as NCCL calls it NVLS: each GPU reads the sums of its part of all from
 * the switches, and writes them to all through these. gpus=: how many, all unless told; words=1 Mi;
 * chunk=: words of a part at a time, all unless told, with a barrier behind each. A line
 * "multicast GPUS BYTES NS". Every word is the sum. Each rank by itself. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/sums.h"

#include <stdio.h>
#include <stdlib.h>

enum { GPUS_MAX = 16, PIECE = 4096 /* words */, BLOCK = 2 << 20 };

#define PTX                                                                                        \
	".version 8.0\n.target sm_90\n.address_size 64\n"                                          \
	".visible .entry sum(.param .u64 team, .param .u64 flag, .param .u64 own,\n"               \
	"\t.param .u64 words, .param .u64 chunk, .param .u32 gpus)\n{ ret; }\n"

struct sums {
	const struct vb_prog *prog;
	int gpus;
	uint64_t words, chunk, bytes; /* of a part; and of all that a GPU has, with its flag */
	cuuint32_t *gate;
	CUmemGenericAllocationHandle team;
	CUcontext contexts[GPUS_MAX];
	CUfunction sum[GPUS_MAX];
	CUdeviceptr own[GPUS_MAX], all;
	CUstream streams[GPUS_MAX];
};

/* ---- the kernel ---- */

/* A chunk, and how many have done with it. */
static void sum(struct vb_launch *launch)
{
	const uint64_t team = *(const uint64_t *)launch->args[0];
	const uint64_t flag = *(const uint64_t *)launch->args[1];
	const uint64_t own = *(const uint64_t *)launch->args[2];
	const uint64_t words = *(const uint64_t *)launch->args[3];
	const uint64_t chunk = *(const uint64_t *)launch->args[4];
	const uint32_t gpus = *(const uint32_t *)launch->args[5], one = 1;
	const uint64_t from = launch->step * chunk;
	const uint64_t end = words - from < chunk ? words : from + chunk;
	uint32_t piece[PIECE];

	if (from >= words)
		return;
	for (uint64_t at = from, n; at < end; at += n) {
		n = end - at < PIECE ? end - at : (uint64_t)PIECE;
		(void)vb_kernel_multimem_reduce(launch, piece, team + 4 * at, 4 * n, VB_U32,
						VB_ADD);
		(void)vb_kernel_multimem_write(launch, team + 4 * at, piece, 4 * n);
	}
	(void)vb_kernel_multimem_red(launch, flag, &one, sizeof(one), VB_U32, VB_ADD);
	(void)vb_kernel_wait(launch, own, gpus * (launch->step + 1));
}

/* ---- the team ---- */

static CUmemAllocationProp prop_of(int gpu)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = gpu;
	return prop;
}

static bool open_to(const struct sums *s, CUdeviceptr at, int gpu)
{
	const CUmemAccessDesc access = {.location = {CU_MEM_LOCATION_TYPE_DEVICE, gpu},
					.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};

	return GPU_DO(s->prog, cuMemSetAccess(at, s->bytes, &access, 1));
}

static bool bind_memory(struct sums *s, int gpu)
{
	const CUmemAllocationProp prop = prop_of(gpu);
	CUmemGenericAllocationHandle memory;

	return GPU_DO(s->prog, cuMemCreate(&memory, s->bytes, &prop, 0)) &&
	       GPU_DO(s->prog, cuMulticastBindMem(s->team, 0, memory, 0, s->bytes, 0)) &&
	       GPU_DO(s->prog, cuMemAddressReserve(&s->own[gpu], s->bytes, 0, 0, 0)) &&
	       GPU_DO(s->prog, cuMemMap(s->own[gpu], s->bytes, 0, memory, 0)) &&
	       open_to(s, s->own[gpu], gpu) && GPU_DO(s->prog, cuMemRelease(memory));
}

static bool make_team(struct sums *s)
{
	const CUmulticastObjectProp prop = {.numDevices = (unsigned int)s->gpus, .size = s->bytes};

	if (!GPU_DO(s->prog, cuMulticastCreate(&s->team, &prop)))
		return false;
	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!GPU_DO(s->prog, cuMulticastAddDevice(s->team, gpu)))
			return false;
	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!bind_memory(s, gpu))
			return false;
	if (!GPU_DO(s->prog, cuMemAddressReserve(&s->all, s->bytes, 0, 0, 0)) ||
	    !GPU_DO(s->prog, cuMemMap(s->all, s->bytes, 0, s->team, 0)))
		return false;
	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!open_to(s, s->all, gpu))
			return false;
	return true;
}

/* ---- what it takes ---- */

static bool open_one(struct sums *s, int gpu)
{
	CUdevice device;
	CUmodule module;

	return GPU_DO(s->prog, cuDeviceGet(&device, gpu)) &&
	       GPU_DO(s->prog, cuDevicePrimaryCtxRetain(&s->contexts[gpu], device)) &&
	       GPU_DO(s->prog, cuCtxSetCurrent(s->contexts[gpu])) &&
	       GPU_DO(s->prog, cuModuleLoadData(&module, PTX)) &&
	       GPU_DO(s->prog, cuModuleGetFunction(&s->sum[gpu], module, "sum")) &&
	       GPU_DO(s->prog, cuStreamCreate(&s->streams[gpu], CU_STREAM_NON_BLOCKING));
}

static bool fill(const struct sums *s, int gpu, uint32_t *words)
{
	const uint64_t all = s->words * (uint64_t)s->gpus;

	for (uint64_t i = 0; i < all; i++)
		words[i] = sums_word(gpu, i);
	return GPU_DO(s->prog, cuCtxSetCurrent(s->contexts[gpu])) &&
	       GPU_DO(s->prog, cuMemsetD8(s->own[gpu], 0, s->bytes)) &&
	       GPU_DO(s->prog, cuMemcpyHtoD(s->own[gpu], words, 4 * all)) &&
	       GPU_DO(s->prog, cuCtxSynchronize());
}

static bool launch(const struct sums *s, int gpu)
{
	const uint64_t flag = s->bytes - BLOCK;
	CUdeviceptr team = s->all + 4 * s->words * (uint64_t)gpu;
	CUdeviceptr all_flags = s->all + flag, own_flag = s->own[gpu] + flag;
	uint64_t words = s->words, chunk = s->chunk;
	uint32_t gpus = (uint32_t)s->gpus;
	void *args[] = {&team, &all_flags, &own_flag, &words, &chunk, &gpus};

	return GPU_DO(s->prog, cuCtxSetCurrent(s->contexts[gpu])) &&
	       GPU_DO(s->prog, cuStreamWaitValue32(s->streams[gpu], (CUdeviceptr)s->gate, 1,
						   CU_STREAM_WAIT_VALUE_GEQ)) &&
	       GPU_DO(s->prog, cuLaunchKernel(s->sum[gpu], 132, 1, 1, 1024, 1, 1, 0,
					      s->streams[gpu], args, NULL));
}

/* How long all take together, or 0. */
static uint64_t run(struct sums *s, uint32_t *words)
{
	uint64_t began;

	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!open_one(s, gpu))
			return 0;
	if (!make_team(s) ||
	    !GPU_DO(s->prog, cuMemHostAlloc((void **)&s->gate, sizeof(*s->gate),
					    CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)))
		return 0;
	*s->gate = 0;
	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!fill(s, gpu, words) || !launch(s, gpu))
			return 0;
	s->prog->sleep_ns(s->prog, 10000);
	began = vb_now_ps();
	*(volatile cuuint32_t *)s->gate = 1;
	for (int gpu = 0; gpu < s->gpus; gpu++)
		if (!GPU_DO(s->prog, cuStreamSynchronize(s->streams[gpu])))
			return 0;
	return vb_now_ps() - began;
}

int prog_main(const struct vb_prog *prog)
{
	struct sums s = {.prog = prog};
	const uint64_t all = prog_arg(prog, "words", 1 << 20);
	uint64_t took;
	uint32_t *words;
	bool is_well;

	if (!prog_takes(prog, "gpus words chunk") || !GPU_DO(prog, cuInit(0)) ||
	    !GPU_DO(prog, cuDeviceGetCount(&s.gpus)) || vb_kernel("sum", sum) != 0)
		return -1;
	s.gpus = (int)prog_arg(prog, "gpus", (uint64_t)s.gpus);
	s.words = s.gpus > 0 && s.gpus <= GPUS_MAX ? all / (uint64_t)s.gpus : 0;
	s.chunk = prog_arg(prog, "chunk", s.words);
	if (s.words == 0 || s.chunk == 0) {
		prog_say(prog, "no such sums of %d GPUs", s.gpus);
		return -1;
	}
	s.bytes = (4 * all + BLOCK - 1) / BLOCK * BLOCK + BLOCK;
	gpu_heading(prog, "multicast GPUS BYTES NS");
	words = malloc(4 * all);
	took = words ? run(&s, words) : 0;
	is_well = took > 0;
	for (int gpu = 0; is_well && gpu < s.gpus; gpu++)
		is_well = sums_are_there(prog, s.gpus, gpu, s.own[gpu], words,
					 s.words * (uint64_t)s.gpus);
	free(words);
	if (!is_well)
		return -1;
	prog_say(prog, "multicast %d %llu %.0f", s.gpus,
		 (unsigned long long)(4 * s.words * (uint64_t)s.gpus), (double)took / 1000);
	return GPU_DO(prog, cuMemFreeHost(s.gate)) ? 0 : -1;
}
