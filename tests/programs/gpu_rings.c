/* SPDX-License-Identifier: BSD-2-Clause */

/* All-reduce over rings of the GPUs of one machine, as NCCL does it: kernels that read what came
 * and their own and store the sum into the next GPU's memory. count=1 Mi words; ring0=0x01237654,
 * ring1= and so on to ring7=: the order of the GPUs in each, a hexadecimal digit for each one;
 * none: one ring of all in their order; both=1: each ring in both directions. A line "rings GPUS
 * BYTES NS". Every word is the sum. Each rank by itself. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/sums.h"

#include <stdio.h>
#include <stdlib.h>

enum { GPUS_MAX = 16, RINGS_MAX = 8, PIECE = 4096 /* words */ };

#define PTX                                                                                        \
	".version 6.0\n.target sm_50\n.address_size 64\n"                                          \
	".visible .entry pass(.param .u64 to, .param .u64 keep, .param .u64 a, .param .u64 b,\n"   \
	"\t.param .u64 words)\n{ ret; }\n"

struct rings {
	const struct vb_prog *prog;
	int gpus, count;
	int order[RINGS_MAX][GPUS_MAX];
	uint64_t words; /* of a part: each ring has one for each GPU */
	cuuint32_t *gate;
	CUcontext contexts[GPUS_MAX];
	CUfunction pass[GPUS_MAX];
	CUdeviceptr own[GPUS_MAX], come[GPUS_MAX]; /* parts of all rings */
	CUstream streams[GPUS_MAX][RINGS_MAX];
};

/* ---- the kernel ---- */

/* to = keep = a + b; keep and b may be 0. */
static void pass(struct vb_launch *launch)
{
	const uint64_t to = *(const uint64_t *)launch->args[0];
	const uint64_t keep = *(const uint64_t *)launch->args[1];
	const uint64_t a = *(const uint64_t *)launch->args[2];
	const uint64_t b = *(const uint64_t *)launch->args[3];
	const uint64_t words = *(const uint64_t *)launch->args[4];
	uint32_t sum[PIECE], other[PIECE];

	for (uint64_t at = 0, n; at < words; at += n) {
		n = words - at < PIECE ? words - at : (uint64_t)PIECE;
		(void)vb_kernel_read(launch, sum, a + 4 * at, 4 * n);
		if (b)
			(void)vb_kernel_read(launch, other, b + 4 * at, 4 * n);
		for (uint64_t i = 0; b && i < n; i++)
			sum[i] += other[i];
		(void)vb_kernel_write(launch, to + 4 * at, sum, 4 * n);
		if (keep)
			(void)vb_kernel_write(launch, keep + 4 * at, sum, 4 * n);
	}
}

/* ---- rings ---- */

static bool add_ring(struct rings *r, const int *order, bool backwards)
{
	bool seen[GPUS_MAX] = {false};

	if (r->count == RINGS_MAX)
		return false;
	for (int i = 0; i < r->gpus; i++) {
		const int gpu = order[backwards ? r->gpus - 1 - i : i];

		if (gpu >= r->gpus || seen[gpu])
			return false;
		seen[gpu] = true;
		r->order[r->count][i] = gpu;
	}
	r->count++;
	return true;
}

static bool read_rings(struct rings *r)
{
	for (int nth = 0; nth < RINGS_MAX; nth++) {
		int order[GPUS_MAX];
		char name[16];
		uint64_t digits;

		snprintf(name, sizeof(name), "ring%d", nth);
		digits = prog_arg(r->prog, name, 0);
		if (digits == 0 && nth > 0)
			break;
		for (int i = 0; i < r->gpus; i++)
			order[i] = digits ? (int)(digits >> 4 * (r->gpus - 1 - i) & 0xf) : i;
		if (!add_ring(r, order, false) ||
		    (prog_arg(r->prog, "both", 0) && !add_ring(r, order, true)))
			return false;
	}
	return true;
}

static uint64_t at(const struct rings *r, int ring, int part)
{
	return 4 * r->words * (uint64_t)(ring * r->gpus + part);
}

/* What the GPU at that place of the ring passes on in @step: until all have been to each GPU their
 * sums, then those, which are whole. */
static bool launch(const struct rings *r, int ring, int place, int step)
{
	const bool adds = step < r->gpus - 1;
	const int gpu = r->order[ring][place], next = r->order[ring][(place + 1) % r->gpus];
	const int behind = adds ? step : step - (r->gpus - 1) - 1;
	const int part = (place + 2 * r->gpus - behind) % r->gpus;
	const bool first = step == 0, whole = step == r->gpus - 1;
	CUdeviceptr to = (adds ? r->come[next] : r->own[next]) + at(r, ring, part);
	CUdeviceptr own = r->own[gpu] + at(r, ring, part), keep = whole ? own : 0;
	CUdeviceptr come = (adds && !first) || whole ? r->come[gpu] + at(r, ring, part) : 0;
	uint64_t words = r->words;
	void *args[] = {&to, &keep, &own, &come, &words};
	CUstream stream = r->streams[gpu][ring];

	return GPU_DO(r->prog, cuCtxSetCurrent(r->contexts[gpu])) &&
	       GPU_DO(r->prog,
		      cuStreamWaitValue32(stream, (CUdeviceptr)r->gate, (cuuint32_t)step + 1,
					  CU_STREAM_WAIT_VALUE_GEQ)) &&
	       GPU_DO(r->prog,
		      cuLaunchKernel(r->pass[gpu], 132, 1, 1, 1024, 1, 1, 0, stream, args, NULL));
}

/* How long it took from the gate on, or 0. */
static uint64_t do_step(const struct rings *r, int step)
{
	uint64_t began;

	for (int ring = 0; ring < r->count; ring++)
		for (int place = 0; place < r->gpus; place++)
			if (!launch(r, ring, place, step))
				return 0;
	r->prog->sleep_ns(r->prog, 10000);
	began = vb_now_ps();
	*(volatile cuuint32_t *)r->gate = (cuuint32_t)step + 1;
	for (int gpu = 0; gpu < r->gpus; gpu++)
		for (int ring = 0; ring < r->count; ring++)
			if (!GPU_DO(r->prog, cuStreamSynchronize(r->streams[gpu][ring])))
				return 0;
	return vb_now_ps() - began;
}

/* ---- what it takes ---- */

static bool open_one(struct rings *r, int gpu, uint32_t *words)
{
	const uint64_t all = r->words * (uint64_t)(r->count * r->gpus);
	CUdevice device;
	CUmodule module;

	for (uint64_t i = 0; i < all; i++)
		words[i] = sums_word(gpu, i);
	if (!GPU_DO(r->prog, cuDeviceGet(&device, gpu)) ||
	    !GPU_DO(r->prog, cuDevicePrimaryCtxRetain(&r->contexts[gpu], device)) ||
	    !GPU_DO(r->prog, cuCtxSetCurrent(r->contexts[gpu])) ||
	    !GPU_DO(r->prog, cuMemAlloc(&r->own[gpu], 4 * all)) ||
	    !GPU_DO(r->prog, cuMemAlloc(&r->come[gpu], 4 * all)) ||
	    !GPU_DO(r->prog, cuMemcpyHtoD(r->own[gpu], words, 4 * all)) ||
	    !GPU_DO(r->prog, cuCtxSynchronize()) ||
	    !GPU_DO(r->prog, cuModuleLoadData(&module, PTX)) ||
	    !GPU_DO(r->prog, cuModuleGetFunction(&r->pass[gpu], module, "pass")))
		return false;
	for (int ring = 0; ring < r->count; ring++)
		if (!GPU_DO(r->prog,
			    cuStreamCreate(&r->streams[gpu][ring], CU_STREAM_NON_BLOCKING)))
			return false;
	return true;
}

static bool enable_peers(const struct rings *r)
{
	for (int gpu = 0; gpu < r->gpus; gpu++)
		for (int other = 0; other < r->gpus; other++)
			if (gpu != other &&
			    (!GPU_DO(r->prog, cuCtxSetCurrent(r->contexts[gpu])) ||
			     !GPU_DO(r->prog, cuCtxEnablePeerAccess(r->contexts[other], 0))))
				return false;
	return true;
}

static bool run(struct rings *r, uint32_t *words)
{
	uint64_t sum = 0, took = 1;

	for (int gpu = 0; gpu < r->gpus; gpu++)
		if (!open_one(r, gpu, words))
			return false;
	if (!enable_peers(r) ||
	    !GPU_DO(r->prog, cuMemHostAlloc((void **)&r->gate, sizeof(*r->gate),
					    CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)))
		return false;
	*r->gate = 0;
	for (int step = 0; step < 2 * (r->gpus - 1) && took > 0; step++) {
		took = do_step(r, step);
		sum += took;
	}
	if (took == 0)
		return false;
	prog_say(r->prog, "rings %d %llu %.0f", r->gpus,
		 (unsigned long long)(4 * r->words * (uint64_t)(r->count * r->gpus)),
		 (double)sum / 1000);
	for (int gpu = 0; gpu < r->gpus; gpu++)
		if (!sums_are_there(r->prog, r->gpus, gpu, r->own[gpu], words,
				    r->words * (uint64_t)(r->count * r->gpus)))
			return false;
	return GPU_DO(r->prog, cuMemFreeHost(r->gate));
}

int prog_main(const struct vb_prog *prog)
{
	struct rings *r = calloc(1, sizeof(*r));
	uint32_t *words = NULL;
	bool is_well = false;

	if (r &&
	    prog_takes(prog, "ring0 ring1 ring2 ring3 ring4 ring5 ring6 ring7 both gpus count") &&
	    GPU_DO(prog, cuInit(0)) && GPU_DO(prog, cuDeviceGetCount(&r->gpus)) &&
	    vb_kernel("pass", pass) == 0) {
		const int most = (int)prog_arg(prog, "gpus", GPUS_MAX);

		r->prog = prog;
		r->gpus = r->gpus < most ? r->gpus : most;
		if (r->gpus > 1 && r->gpus <= GPUS_MAX && read_rings(r)) {
			r->words =
				prog_arg(prog, "count", 1 << 20) / (uint64_t)(r->gpus * r->count);
			words = malloc(4 * r->words * (uint64_t)(r->gpus * r->count) + 4);
			gpu_heading(prog, "rings GPUS BYTES NS");
			is_well = words && r->words > 0 && run(r, words);
		} else {
			prog_say(prog, "no such rings of %d GPUs", r->gpus);
		}
	}
	free(words);
	free(r);
	return is_well ? 0 : -1;
}
