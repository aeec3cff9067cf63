/* SPDX-License-Identifier: BSD-2-Clause */

/* What copies from each GPU to each other one reach, as p2pBandwidthLatencyTest shows it: bytes=64
 * MiB at a time, for each pair a line "uni FROM TO" and "bidir A B" (both ways at once, added) with
 * MB/s, and "latency FROM TO" of 4 bytes in ns, between two events; "each FROM TO" is one of 100
 * that follow each other. "read" and "reads" are "uni" and "bidir" of copies that the GPU does to
 * which the bytes go. most=0: only between the first so many GPUs. The last byte that came is the
 * source's. Each rank by itself. */
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
	cuuint32_t *gate; /* open: 1 */
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

/* Who does the copy: the GPU that has the bytes, or the one that gets them. */
enum who { WRITES, READS };

static CUstream stream_of(const struct gpus *g, int from, int to, enum who who)
{
	return g->streams[who == WRITES ? from : to];
}

static CUresult start(const struct gpus *g, int from, int to, enum who who, size_t bytes)
{
	return cuMemcpyPeerAsync(g->other[to], g->contexts[to], g->memory[from], g->contexts[from],
				 bytes, stream_of(g, from, to, who));
}

static bool came(const struct gpus *g, int from, int to)
{
	unsigned char last = 0;

	return GPU_DO(g->prog, cuMemcpyDtoH(&last, g->other[to] + g->bytes - 1, 1)) &&
	       last == from + 1 && GPU_DO(g->prog, cuMemsetD8(g->other[to], 0, g->bytes)) &&
	       GPU_DO(g->prog, cuCtxSynchronize());
}

static bool one_way(const struct gpus *g, int from, int to, enum who who)
{
	const uint64_t before = vb_now_ps();

	if (!GPU_DO(g->prog, start(g, from, to, who, g->bytes)) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(stream_of(g, from, to, who))))
		return false;
	prog_say(g->prog, "%s %d %d %.0f", who == WRITES ? "uni" : "read", from, to,
		 (double)g->bytes * 1e6 / (double)(vb_now_ps() - before));
	return came(g, from, to);
}

static bool both_ways(const struct gpus *g, int a, int b, enum who who)
{
	const uint64_t before = vb_now_ps();

	if (!GPU_DO(g->prog, start(g, a, b, who, g->bytes)) ||
	    !GPU_DO(g->prog, start(g, b, a, who, g->bytes)) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(g->streams[a])) ||
	    !GPU_DO(g->prog, cuStreamSynchronize(g->streams[b])))
		return false;
	prog_say(g->prog, "%s %d %d %.0f", who == WRITES ? "bidir" : "reads", a, b,
		 2 * (double)g->bytes * 1e6 / (double)(vb_now_ps() - before));
	return came(g, a, b) && came(g, b, a);
}

/* So many copies of a few bytes, all of them told before the first begins: as
 * p2pBandwidthLatencyTest measures 100. */
static bool small(const struct gpus *g, int from, int to, int count, size_t bytes, const char *what)
{
	CUstream stream = g->streams[from];
	CUevent began, ended;
	float ms;
	bool is_well;

	*g->gate = 0;
	is_well = GPU_DO(g->prog, cuCtxSetCurrent(g->contexts[from])) &&
		  GPU_DO(g->prog, cuEventCreate(&began, 0)) &&
		  GPU_DO(g->prog, cuEventCreate(&ended, 0)) &&
		  GPU_DO(g->prog, cuStreamWaitValue32(stream, (CUdeviceptr)g->gate, 1,
						      CU_STREAM_WAIT_VALUE_EQ)) &&
		  GPU_DO(g->prog, cuEventRecord(began, stream));

	for (int i = 0; is_well && i < count; i++)
		is_well = GPU_DO(g->prog, start(g, from, to, WRITES, bytes));
	is_well = is_well && GPU_DO(g->prog, cuEventRecord(ended, stream));
	*(volatile cuuint32_t *)g->gate = 1;
	is_well = is_well && GPU_DO(g->prog, cuStreamSynchronize(stream)) &&
		  GPU_DO(g->prog, cuEventElapsedTime(&ms, began, ended));
	if (is_well)
		prog_say(g->prog, "%s %d %d %.0f", what, from, to, (double)ms * 1e6 / count);
	return is_well && GPU_DO(g->prog, cuEventDestroy(began)) &&
	       GPU_DO(g->prog, cuEventDestroy(ended));
}

static bool measure(const struct gpus *g, int from, int to)
{
	for (enum who who = WRITES; who <= READS; who++)
		if (!one_way(g, from, to, who) || (from < to && !both_ways(g, from, to, who)))
			return false;
	return small(g, from, to, 1, 4, "latency") && small(g, from, to, 100, 16, "each");
}

int prog_main(const struct vb_prog *prog)
{
	struct gpus g = {.prog = prog, .bytes = prog_arg(prog, "bytes", 64 << 20)};

	if (!prog_takes(prog, "most bytes") || !open_each(&g) ||
	    !GPU_DO(prog, cuMemHostAlloc((void **)&g.gate, sizeof(*g.gate),
					 CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)))
		return -1;
	gpu_heading(prog, "uni, bidir, read, reads GPU GPU MB/s; latency, each GPU GPU NS");
	for (int from = 0; from < g.count; from++)
		for (int to = 0; to < g.count; to++)
			if (from != to && !measure(&g, from, to))
				return -1;
	return GPU_DO(prog, cuMemFreeHost(g.gate)) ? 0 : -1;
}
