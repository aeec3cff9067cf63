/* SPDX-License-Identifier: BSD-2-Clause */

/* How long copies of several kinds and sizes take: a line for each, KIND BYTES PICOSECONDS. Each
 * rank by itself, most=4194304 bytes at most; bytes=N: to and from of so many alone, and the time
 * of start before. Kinds: to and from (pinned memory, synchronous), to_async (then synchronised),
 * to_events and from_events (between two events), to_row (each of 500 in one stream), from_row;
 * pageable (synchronous, then synchronised), pageable_row; registered and from_registered;
 * within_events, within_async, within_call, set (then synchronised). */
#include "tests/programs/gpu.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROW = 500 };

struct copies {
	const struct vb_prog *prog;
	CUdeviceptr memory, other;
	uint8_t *pinned, *pageable, *registered;
	CUstream stream;
	CUevent start, end;
	size_t bytes;
};

typedef bool copy_fn(const struct copies *c);

static bool to(const struct copies *c)
{
	return cuMemcpyHtoD(c->memory, c->pinned, c->bytes) == CUDA_SUCCESS;
}

static bool from(const struct copies *c)
{
	return cuMemcpyDtoH(c->pinned, c->memory, c->bytes) == CUDA_SUCCESS;
}

static bool to_stream(const struct copies *c)
{
	return cuMemcpyHtoDAsync(c->memory, c->pinned, c->bytes, c->stream) == CUDA_SUCCESS;
}

static bool from_stream(const struct copies *c)
{
	return cuMemcpyDtoHAsync(c->pinned, c->memory, c->bytes, c->stream) == CUDA_SUCCESS;
}

static bool within_stream(const struct copies *c)
{
	return cuMemcpyDtoDAsync(c->other, c->memory, c->bytes, c->stream) == CUDA_SUCCESS;
}

static bool pageable_stream(const struct copies *c)
{
	return cuMemcpyHtoDAsync(c->memory, c->pageable, c->bytes, c->stream) == CUDA_SUCCESS;
}

static bool wait(const struct copies *c)
{
	return cuStreamSynchronize(c->stream) == CUDA_SUCCESS;
}

static bool to_async(const struct copies *c)
{
	return to_stream(c) && wait(c);
}

static bool within_async(const struct copies *c)
{
	return within_stream(c) && wait(c);
}

static bool pageable(const struct copies *c)
{
	return cuMemcpyHtoD(c->memory, c->pageable, c->bytes) == CUDA_SUCCESS &&
	       cuStreamSynchronize(NULL) == CUDA_SUCCESS;
}

static bool registered(const struct copies *c)
{
	return cuMemcpyHtoD(c->memory, c->registered, c->bytes) == CUDA_SUCCESS;
}

static bool from_registered(const struct copies *c)
{
	return cuMemcpyDtoH(c->registered, c->memory, c->bytes) == CUDA_SUCCESS;
}

static bool within_call(const struct copies *c)
{
	return cuMemcpyDtoD(c->other, c->memory, c->bytes) == CUDA_SUCCESS;
}

static bool set(const struct copies *c)
{
	return cuMemsetD8Async(c->memory, 1, c->bytes, c->stream) == CUDA_SUCCESS && wait(c);
}

/* What it takes by the clock of the host, and that nothing of it is under way before and after. */
static bool by_clock(const struct copies *c, const char *kind, copy_fn *copy)
{
	const uint64_t before = vb_now_ps();

	if (!copy(c))
		return false;
	prog_say(c->prog, "%s %zu %" PRIu64, kind, c->bytes, vb_now_ps() - before);
	return cuCtxSynchronize() == CUDA_SUCCESS;
}

/* What it takes by the clock of the GPU. */
static bool by_events(const struct copies *c, const char *kind, copy_fn *copy)
{
	float ms;

	if (cuEventRecord(c->start, c->stream) != CUDA_SUCCESS || !copy(c) ||
	    cuEventRecord(c->end, c->stream) != CUDA_SUCCESS || !wait(c) ||
	    cuEventElapsedTime(&ms, c->start, c->end) != CUDA_SUCCESS)
		return false;
	prog_say(c->prog, "%s %zu %.0f", kind, c->bytes, (double)ms * 1e9);
	return true;
}

static bool in_a_row(const struct copies *c, const char *kind, copy_fn *copy)
{
	const uint64_t before = vb_now_ps();

	for (int i = 0; i < ROW; i++)
		if (!copy(c))
			return false;
	if (!wait(c))
		return false;
	prog_say(c->prog, "%s %zu %" PRIu64, kind, c->bytes, (vb_now_ps() - before) / ROW);
	return true;
}

static bool copy_all(const struct copies *c)
{
	return by_clock(c, "to", to) && by_clock(c, "from", from) &&
	       by_clock(c, "to_async", to_async) && by_events(c, "to_events", to_stream) &&
	       by_events(c, "from_events", from_stream) && by_clock(c, "pageable", pageable) &&
	       by_clock(c, "registered", registered) &&
	       by_clock(c, "from_registered", from_registered) &&
	       by_events(c, "within_events", within_stream) &&
	       by_clock(c, "within_async", within_async) &&
	       by_clock(c, "within_call", within_call) && by_clock(c, "set", set) &&
	       (c->bytes > 256 << 10 ||
		(in_a_row(c, "to_row", to_stream) && in_a_row(c, "from_row", from_stream) &&
		 in_a_row(c, "within_row", within_stream) &&
		 in_a_row(c, "pageable_row", pageable_stream)));
}

static bool open_all(struct copies *c, size_t most)
{
	const struct vb_prog *prog = c->prog;

	c->pageable = calloc(1, most);
	c->registered = calloc(1, most);
	return c->pageable && c->registered && gpu_open(prog, 0) &&
	       GPU_DO(prog, cuMemAlloc(&c->memory, most)) &&
	       GPU_DO(prog, cuMemAlloc(&c->other, most)) &&
	       GPU_DO(prog, cuMemAllocHost((void **)&c->pinned, most)) &&
	       GPU_DO(prog, cuMemHostRegister(c->registered, most, 0)) &&
	       GPU_DO(prog, cuStreamCreate(&c->stream, CU_STREAM_NON_BLOCKING)) &&
	       GPU_DO(prog, cuEventCreate(&c->start, 0)) && GPU_DO(prog, cuEventCreate(&c->end, 0));
}

int prog_main(const struct vb_prog *prog)
{
	static const size_t sizes[] = {4,	  256,	     1 << 10,  4 << 10, 8 << 10,
				       16 << 10,  32 << 10,  64 << 10, 65540,	128 << 10,
				       256 << 10, 512 << 10, 2 << 20,  4 << 20, 8 << 20,
				       32 << 20,  64 << 20,  256 << 20};
	const size_t one = prog_arg(prog, "bytes", 0);
	const size_t most = one > 0 ? one : prog_arg(prog, "most", 4 << 20);
	struct copies c = {.prog = prog};
	bool is_well = prog_takes(prog, "bytes most") && open_all(&c, most);

	c.bytes = one;
	if (is_well)
		gpu_heading(prog, "KIND BYTES PICOSECONDS");
	if (is_well && one > 0)
		prog_say(prog, "start %zu %" PRIu64, one, vb_now_ps());
	if (is_well && one > 0)
		is_well = by_clock(&c, "to", to) && by_clock(&c, "from", from);
	for (size_t i = 0; is_well && one == 0 && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		c.bytes = sizes[i];
		is_well = c.bytes > most || copy_all(&c);
	}
	is_well = is_well && cuStreamDestroy(c.stream) == CUDA_SUCCESS &&
		  cuEventDestroy(c.start) == CUDA_SUCCESS &&
		  cuEventDestroy(c.end) == CUDA_SUCCESS && cuMemFree(c.memory) == CUDA_SUCCESS &&
		  cuMemFree(c.other) == CUDA_SUCCESS && cuMemFreeHost(c.pinned) == CUDA_SUCCESS &&
		  cuMemHostUnregister(c.registered) == CUDA_SUCCESS;
	free(c.pageable);
	free(c.registered);
	return is_well ? 0 : -1;
}
