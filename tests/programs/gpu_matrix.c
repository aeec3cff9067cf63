/* SPDX-License-Identifier: BSD-2-Clause */

/* What copies from each GPU to each other one reach, as p2pBandwidthLatencyTest shows it: bytes=64
 * MiB at a time, for each pair a line "uni FROM TO" and "bidir A B" (both ways at once, added) with
 * MB/s, and "latency FROM TO" of 4 bytes in ns, between two events. most=0: only between the first
 * so many GPUs. Each byte that came is the source's. Each rank by itself. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

enum { GPUS_MAX = 16 };

struct gpus {
	const struct vb_prog *prog;
	int count;
	size_t bytes;
	CUcontext contexts[GPUS_MAX];
	CUdeviceptr memory[GPUS_MAX], other[GPUS_MAX];
	CUstream streams[GPUS_MAX];
};

static bool open_each(struct gpus *g)
{
	const struct vb_prog *prog = g->prog;
	const int most = (int)prog_arg(prog, "most", GPUS_MAX);
	CUdevice device;

	if (!GPU_DO(prog, cuInit(0)) || !GPU_DO(prog, cuDeviceGetCount(&g->count)))
		return false;
	g->count = g->count < most ? g->count : most;
	for (int i = 0; i < g->count; i++)
		if (!GPU_DO(prog, cuDeviceGet(&device, i)) ||
		    !GPU_DO(prog, cuDevicePrimaryCtxRetain(&g->contexts[i], device)) ||
		    !GPU_DO(prog, cuCtxSetCurrent(g->contexts[i])) ||
		    !GPU_DO(prog, cuMemAlloc(&g->memory[i], g->bytes)) ||
		    !GPU_DO(prog, cuMemAlloc(&g->other[i], g->bytes)) ||
		    !GPU_DO(prog, cuStreamCreate(&g->streams[i], CU_STREAM_NON_BLOCKING)) ||
		    !GPU_DO(prog, cuMemsetD8(g->memory[i], (unsigned char)(i + 1), g->bytes)))
			return false;
	for (int i = 0; i < g->count; i++)
		if (!GPU_DO(prog, cuCtxSetCurrent(g->contexts[i])) ||
		    !GPU_DO(prog, cuCtxSynchronize()))
			return false;
	return true;
}

static CUresult start(const struct gpus *g, int from, int to, size_t bytes)
{
	return cuMemcpyPeerAsync(g->other[to], g->contexts[to], g->memory[from], g->contexts[from],
				 bytes, g->streams[from]);
}

static bool came(const struct gpus *g, int from, int to)
{
	unsigned char last = 0;

	return GPU_DO(g->prog, cuMemcpyDtoH(&last, g->other[to] + g->bytes - 1, 1)) &&
	       last == from + 1;
}

static bool one_way(const struct gpus *g, int from, int to)
{
	const uint64_t before = vb_now_ps();

	if (!GPU_DO(g->prog, start(g, from, to, g->bytes)) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(g->streams[from])))
		return false;
	prog_say(g->prog, "uni %d %d %.0f", from, to,
		 (double)g->bytes * 1e6 / (double)(vb_now_ps() - before));
	return came(g, from, to);
}

static bool both_ways(const struct gpus *g, int a, int b)
{
	const uint64_t before = vb_now_ps();

	if (!GPU_DO(g->prog, start(g, a, b, g->bytes)) ||
	    !GPU_DO(g->prog, start(g, b, a, g->bytes)) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(g->streams[a])) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(g->streams[b])))
		return false;
	prog_say(g->prog, "bidir %d %d %.0f", a, b,
		 2 * (double)g->bytes * 1e6 / (double)(vb_now_ps() - before));
	return came(g, a, b) && came(g, b, a);
}

static bool latency(const struct gpus *g, int from, int to)
{
	CUevent began, ended;
	float ms;
	bool is_well = GPU_DO(g->prog, cuCtxSetCurrent(g->contexts[from])) &&
		       GPU_DO(g->prog, cuEventCreate(&began, 0)) &&
		       GPU_DO(g->prog, cuEventCreate(&ended, 0)) &&
		       GPU_DO(g->prog, cuEventRecord(began, g->streams[from])) &&
		       GPU_DO(g->prog, start(g, from, to, 4)) &&
		       GPU_DO(g->prog, cuEventRecord(ended, g->streams[from])) &&
		       GPU_DO(g->prog, cuStreamSynchronize(g->streams[from])) &&
		       GPU_DO(g->prog, cuEventElapsedTime(&ms, began, ended));

	if (is_well)
		prog_say(g->prog, "latency %d %d %.0f", from, to, (double)ms * 1e6);
	return is_well && GPU_DO(g->prog, cuEventDestroy(began)) &&
	       GPU_DO(g->prog, cuEventDestroy(ended));
}

int prog_main(const struct vb_prog *prog)
{
	struct gpus g = {.prog = prog, .bytes = prog_arg(prog, "bytes", 64 << 20)};

	if (!open_each(&g))
		return -1;
	for (int from = 0; from < g.count; from++)
		for (int to = 0; to < g.count; to++)
			if (from != to &&
			    (!one_way(&g, from, to) || (from < to && !both_ways(&g, from, to)) ||
			     !latency(&g, from, to)))
				return -1;
	return 0;
}
