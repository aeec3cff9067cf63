/* SPDX-License-Identifier: BSD-2-Clause */

/* A CPU that maps a GPU's memory, as GDRCopy has it: lines "pin NS", "map NS", "info NS", "unmap
 * NS" and "unpin NS" of 64 KiB, then for each size from 1 byte to bytes=131072 "write BYTES NS" and
 * "read BYTES NS"; what was written is what copies of the GPU bring, and the other way round. Then
 * what is refused. Each rank by itself. */
#include "include/verbena/gdrapi.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct mapped {
	const struct vb_prog *prog;
	size_t bytes;
	CUdeviceptr memory;
	gdr_t gdr;
	gdr_mh_t handle;
	uint8_t *at, *host, *other;
	int failed;
};

#define TIMED(m, name, call)                                                                       \
	do {                                                                                       \
		const uint64_t began = vb_now_ps();                                                \
                                                                                                   \
		GPU_CHECK(m, (call) == 0, name);                                                   \
		prog_say((m)->prog, "%s %.0f", name, (double)(vb_now_ps() - began) / 1000);        \
	} while (0)

/* One size both ways, from a byte that is no line's first. */
static bool move(struct mapped *m, size_t bytes, size_t from)
{
	const uint64_t began = vb_now_ps();
	uint64_t written;

	prog_fill(m->host, (uint32_t)bytes, (uint32_t)bytes);
	if (gdr_copy_to_mapping(m->handle, m->at + from, m->host, bytes) != 0)
		return false;
	written = vb_now_ps();
	m->prog->sleep_ns(m->prog, 10000);
	if (!GPU_DO(m->prog, cuMemcpyDtoH(m->other, m->memory + from, bytes)) ||
	    memcmp(m->host, m->other, bytes) != 0)
		return false;
	prog_fill(m->host, (uint32_t)bytes, (uint32_t)bytes + 1);
	if (!GPU_DO(m->prog, cuMemcpyHtoD(m->memory + from, m->host, bytes)) ||
	    !GPU_DO(m->prog, cuCtxSynchronize()))
		return false;
	memset(m->other, 0, bytes);
	prog_say(m->prog, "write %zu %.0f", bytes, (double)(written - began) / 1000);
	written = vb_now_ps();
	if (gdr_copy_from_mapping(m->handle, m->other, m->at + from, bytes) != 0)
		return false;
	prog_say(m->prog, "read %zu %.0f", bytes, (double)(vb_now_ps() - written) / 1000);
	return memcmp(m->host, m->other, bytes) == 0;
}

static void refusals(struct mapped *m)
{
	const unsigned long memory = (unsigned long)m->memory;
	gdr_mh_t none = {.h = 1}, within;
	CUdeviceptr managed;
	void *at;

	GPU_CHECK(m, gdr_copy_to_mapping(none, m->at, m->host, 1) == EINVAL, "a copy of nothing");
	GPU_CHECK(m, gdr_copy_to_mapping(m->handle, m->at + m->bytes, m->host, 1) == EINVAL,
		  "a copy beyond the mapping");
	GPU_CHECK(m, gdr_copy_from_mapping(m->handle, m->host, m->at - 1, 1) == EINVAL,
		  "a copy from before the mapping");
	GPU_CHECK(m, gdr_map(m->gdr, m->handle, &at, m->bytes) == EAGAIN, "mapped twice");
	GPU_CHECK(m,
		  gdr_pin_buffer(m->gdr, (unsigned long)(uintptr_t)m->host, 4096, 0, 0, &none) ==
			  EINVAL,
		  "host memory");
	GPU_CHECK(m,
		  cuMemAllocManaged(&managed, 65536, CU_MEM_ATTACH_GLOBAL) == CUDA_SUCCESS &&
			  gdr_pin_buffer(m->gdr, (unsigned long)managed, 65536, 0, 0, &none) ==
				  EINVAL &&
			  cuMemFree(managed) == CUDA_SUCCESS,
		  "managed memory");
	GPU_CHECK(m,
		  gdr_pin_buffer(m->gdr, memory + 4096, 4096, 0, 0, &within) == 0 &&
			  gdr_map(m->gdr, within, &at, 4096) == EINVAL &&
			  gdr_unpin_buffer(m->gdr, within) == 0 &&
			  gdr_unpin_buffer(m->gdr, within) == EINVAL,
		  "mapped from within a page");
}

/* Pages are pinned, be there nothing at the start of the first. */
static void pins_behind_a_gap(struct mapped *m)
{
	CUdeviceptr first, second;
	gdr_mh_t handle;

	GPU_CHECK(m,
		  cuMemAlloc(&first, 512) == CUDA_SUCCESS &&
			  cuMemAlloc(&second, 512) == CUDA_SUCCESS && second % 65536 != 0 &&
			  cuMemFree(first) == CUDA_SUCCESS &&
			  gdr_pin_buffer(m->gdr, second, 512, 0, 0, &handle) == 0 &&
			  gdr_unpin_buffer(m->gdr, handle) == 0 &&
			  cuMemFree(second) == CUDA_SUCCESS,
		  "what lies behind a gap is pinned");
}

static bool run(struct mapped *m)
{
	gdr_info_t info;

	m->gdr = gdr_open();
	if (!m->gdr || !GPU_DO(m->prog, cuMemAlloc(&m->memory, m->bytes)))
		return false;
	TIMED(m, "pin", gdr_pin_buffer(m->gdr, m->memory, 65536, 0, 0, &m->handle));
	TIMED(m, "map", gdr_map(m->gdr, m->handle, (void **)&m->at, 65536));
	TIMED(m, "info", gdr_get_info(m->gdr, m->handle, &info));
	GPU_CHECK(m,
		  info.va == m->memory && info.mapped_size == 65536 && info.page_size == 65536 &&
			  info.mapped && info.wc_mapping,
		  "what is mapped");
	TIMED(m, "unmap", gdr_unmap(m->gdr, m->handle, m->at, 65536));
	TIMED(m, "unpin", gdr_unpin_buffer(m->gdr, m->handle));
	if (gdr_pin_buffer(m->gdr, m->memory, m->bytes, 0, 0, &m->handle) != 0 ||
	    gdr_map(m->gdr, m->handle, (void **)&m->at, m->bytes) != 0)
		return false;
	for (size_t bytes = 1; bytes <= m->bytes; bytes *= 2)
		GPU_CHECK(m, move(m, bytes, 0), "moved");
	GPU_CHECK(m, move(m, 1000, 61), "moved from within a line");
	refusals(m);
	pins_behind_a_gap(m);
	GPU_CHECK(m, cuMemFree(m->memory) == CUDA_SUCCESS, "memory that is mapped goes");
	GPU_CHECK(m, gdr_copy_to_mapping(m->handle, m->at, m->host, 1) == EINVAL,
		  "a copy to what is gone");
	GPU_CHECK(m, gdr_close(m->gdr) == 0 && gdr_close(m->gdr) == EINVAL, "closed once");
	return m->failed == 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct mapped m = {.prog = prog, .bytes = prog_arg(prog, "bytes", 131072)};
	bool is_well = false;

	if (!prog_takes(prog, "bytes"))
		return -1;
	GPU_CHECK(&m, !gdr_open(), "nothing to open before cuInit");
	gpu_heading(prog, "pin, map, info, unmap, unpin NS; write, read BYTES NS");
	m.bytes = (m.bytes + 65535) / 65536 * 65536;
	m.host = malloc(m.bytes);
	m.other = malloc(m.bytes);
	if (m.host && m.other && m.bytes > 0)
		is_well = gpu_open(prog, 0) && run(&m);
	free(m.host);
	free(m.other);
	return is_well ? 0 : -1;
}
