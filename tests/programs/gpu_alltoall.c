/* SPDX-License-Identifier: BSD-2-Clause */

/* Every GPU of the machine sends each other one another part of its memory, of bytes=4 MiB, all of
 * them at once: in round k GPU g sends to the one k behind it, so that nobody receives from two.
 * All streams wait for one word of the host's until they have been told everything. Says "alltoall
 * GPUS MB/S", of what each has sent. Every word that came is the one that was sent there. Each rank
 * by itself. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>

enum { GPUS_MAX = 16 };

struct gpus {
	const struct vb_prog *prog;
	int count;
	size_t bytes; /* of a part */
	uint32_t *words;
	cuuint32_t *gate; /* open: 1 */
	CUcontext contexts[GPUS_MAX];
	CUdeviceptr from[GPUS_MAX], to[GPUS_MAX]; /* a part for each GPU */
	CUstream streams[GPUS_MAX];
};

static uint32_t word_of(int from, int to, size_t i)
{
	return (uint32_t)from << 28 | (uint32_t)to << 24 | (uint32_t)i;
}

static bool open_one(struct gpus *g, int i)
{
	const size_t all = g->bytes * (size_t)g->count;
	CUdevice device;

	for (size_t k = 0; k < all / sizeof(*g->words); k++)
		g->words[k] = word_of(i, (int)(k / (g->bytes / sizeof(*g->words))), k);
	return GPU_DO(g->prog, cuDeviceGet(&device, i)) &&
	       GPU_DO(g->prog, cuDevicePrimaryCtxRetain(&g->contexts[i], device)) &&
	       GPU_DO(g->prog, cuCtxSetCurrent(g->contexts[i])) &&
	       GPU_DO(g->prog, cuMemAlloc(&g->from[i], all)) &&
	       GPU_DO(g->prog, cuMemAlloc(&g->to[i], all)) &&
	       GPU_DO(g->prog, cuStreamCreate(&g->streams[i], CU_STREAM_NON_BLOCKING)) &&
	       GPU_DO(g->prog, cuMemcpyHtoD(g->from[i], g->words, all)) &&
	       GPU_DO(g->prog, cuCtxSynchronize());
}

static bool tell_all(const struct gpus *g)
{
	const size_t bytes = g->bytes;

	for (int round = 0; round < g->count; round++)
		for (int from = 0; from < g->count; from++) {
			const int to = (from + round) % g->count;
			const CUdeviceptr source = g->from[from] + (size_t)to * bytes;
			const CUdeviceptr target = g->to[to] + (size_t)from * bytes;

			if (!GPU_DO(g->prog, round == 0
						     ? cuStreamWaitValue32(g->streams[from],
									   (CUdeviceptr)g->gate, 1,
									   CU_STREAM_WAIT_VALUE_EQ)
						     : cuMemcpyPeerAsync(target, g->contexts[to],
									 source, g->contexts[from],
									 bytes, g->streams[from])))
				return false;
		}
	return true;
}

static bool send_all(const struct gpus *g)
{
	uint64_t before;

	if (!tell_all(g))
		return false;
	before = vb_now_ps();
	*(volatile cuuint32_t *)g->gate = 1;
	for (int i = 0; i < g->count; i++)
		if (!GPU_DO(g->prog, cuStreamSynchronize(g->streams[i])))
			return false;
	prog_say(g->prog, "alltoall %d %.0f", g->count,
		 (double)g->bytes * (g->count - 1) * 1e6 / (double)(vb_now_ps() - before));
	return true;
}

static bool came_to(const struct gpus *g, int to)
{
	const size_t part = g->bytes / sizeof(*g->words);

	if (!GPU_DO(g->prog, cuMemcpyDtoH(g->words, g->to[to], g->bytes * (size_t)g->count)))
		return false;
	for (int from = 0; from < g->count; from++)
		for (size_t i = 0; from != to && i < part; i++)
			if (g->words[(size_t)from * part + i] !=
			    word_of(from, to, (size_t)to * part + i)) {
				prog_say(g->prog, "GPU %d has not what GPU %d sent", to, from);
				return false;
			}
	return true;
}

static int run(struct gpus *g)
{
	for (int i = 0; i < g->count; i++)
		if (!open_one(g, i))
			return -1;
	if (!GPU_DO(g->prog, cuMemHostAlloc((void **)&g->gate, sizeof(*g->gate),
					    CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE)))
		return -1;
	*g->gate = 0;
	if (!send_all(g) || !GPU_DO(g->prog, cuMemFreeHost(g->gate)))
		return -1;
	for (int i = 0; i < g->count; i++)
		if (!came_to(g, i))
			return -1;
	return 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct gpus g = {.prog = prog, .bytes = prog_arg(prog, "bytes", 4 << 20)};
	int ret;

	if (!prog_takes(prog, "bytes") || !GPU_DO(prog, cuInit(0)) ||
	    !GPU_DO(prog, cuDeviceGetCount(&g.count)))
		return -1;
	if (g.count < 2 || g.count > GPUS_MAX || g.bytes < sizeof(*g.words)) {
		prog_say(prog, "not 2 to %d GPUs, or no bytes", GPUS_MAX);
		return -1;
	}
	gpu_heading(prog, "alltoall GPUS MB/s");
	g.bytes -= g.bytes % sizeof(*g.words);
	g.words = malloc(g.bytes * (size_t)g.count);
	ret = g.words ? run(&g) : -1;
	free(g.words);
	return ret;
}
