/* SPDX-License-Identifier: BSD-2-Clause */

/* Managed memory and the room that it takes, on a GPU of 16 MiB: each rank by itself, a line for
 * each check, "ok" or "not". beside=1: on the bus instead; lines "NAME - NS" of a copy alone and
 * beside pages that come or go. around=1: pages go from one GPU to another one. */
#include "include/verbena/verbena.h"
#include "tests/programs/managed.h"

#include <stdlib.h>
#include <string.h>

enum { BLOCK = 2 << 20, BLOCKS = 8, MORE = 12, PAGE = 4096, LARGE = 32 << 20, STEP_NS = 100 };

struct full {
	const struct vb_prog *prog;
	int failed;
};

static uint64_t now(void)
{
	return vb_now_ps() / 1000;
}

static CUdeviceptr take(size_t blocks)
{
	return managed_take(blocks * BLOCK);
}

/* Of the GPU's memory, in blocks. */
static size_t left(void)
{
	return gpu_free_bytes() / BLOCK;
}

/* A GPU writes there; in ns, beside what it takes where the page is there already. */
static uint64_t touch(CUdeviceptr address, size_t bytes, uint8_t value)
{
	uint64_t start = now(), first;

	(void)cuMemsetD8Async(address, value, bytes, NULL);
	(void)cuCtxSynchronize();
	first = now() - start;
	start = now();
	(void)cuMemsetD8Async(address, value, bytes, NULL);
	(void)cuCtxSynchronize();
	first -= now() - start < first ? now() - start : first;
	return first < STEP_NS ? 0 : first;
}

/* All of each, in order: numbers as bytes. */
static void touch_all(CUdeviceptr memory, size_t blocks)
{
	for (size_t i = 0; i < blocks; i++)
		(void)cuMemsetD8Async(memory + i * BLOCK, (unsigned char)(i + 1), BLOCK, NULL);
	(void)cuCtxSynchronize();
}

static bool is_all(CUdeviceptr memory, size_t blocks)
{
	for (size_t i = 0; i < blocks * BLOCK; i += 64)
		if (*managed_at(memory + i) != i / BLOCK + 1)
			return false;
	return true;
}

/* ---- room ---- */

static void room(struct full *f)
{
	const CUdeviceptr memory = take(4);

	GPU_CHECK(f, left() == BLOCKS, "what nobody touches takes nothing");
	*managed_at(memory) = 1;
	GPU_CHECK(f, left() == BLOCKS, "nor does what a CPU touches");
	(void)touch(memory + 70000, 4, 1);
	GPU_CHECK(f, left() == BLOCKS - 1, "a page takes a block of the GPU's memory");
	(void)touch(memory, BLOCK, 1);
	GPU_CHECK(f, left() == BLOCKS - 1, "and others come into it");
	(void)touch(memory + 3 * BLOCK, 4, 1);
	(void)cuMemPrefetchAsync(memory + BLOCK, BLOCK, gpu, 0, NULL);
	(void)cuCtxSynchronize();
	GPU_CHECK(f, left() == BLOCKS - 3, "each block for itself, prefetched or not");
	(void)cuMemPrefetchAsync(memory, 4 * BLOCK, cpu, 0, NULL);
	(void)cuCtxSynchronize();
	GPU_CHECK(f, left() == BLOCKS - 3, "it stays taken when pages go");
	(void)cuMemFree(memory);
	GPU_CHECK(f, left() == BLOCKS, "until they are given back");
}

/* ---- eviction ---- */

/* Whether the GPU has all of it. */
static bool has(CUdeviceptr memory, size_t block)
{
	return touch(memory + block * BLOCK, BLOCK, (uint8_t)(block + 1)) == 0;
}

static void evicts(struct full *f)
{
	const CUdeviceptr memory = take(MORE);
	uint64_t time;

	touch_all(memory, MORE);
	GPU_CHECK(f, left() == 0, "a GPU is full");
	GPU_CHECK(f, has(memory, 4) && has(memory, 11), "what came last is there");
	/* A fault in it counts, a touch does not: 4 is the next one that goes, then 5. */
	*managed_at(memory + 4 * BLOCK) = 5;
	(void)touch(memory + 4 * BLOCK, 4, 5);
	time = touch(memory, BLOCK, 1);
	/* 84 or so, and 2 MiB to the host at 83 Gb/s. */
	GPU_CHECK(f, time > 380000 && time < 500000, "a fault waits for what goes");
	GPU_CHECK(f, has(memory, 4), "what something came to stays");
	GPU_CHECK(f, !has(memory, 5), "what nothing came to for longest goes");
	/* 6 went for 5. */
	(void)cuMemPrefetchAsync(memory + 9 * BLOCK, BLOCK, cpu, 0, NULL);
	(void)cuCtxSynchronize();
	time = touch(memory + 6 * BLOCK, BLOCK, 7);
	GPU_CHECK(f, time > 170000 && time < 290000, "what has no page goes first, at once");
	GPU_CHECK(f, has(memory, 7) && has(memory, 8), "and others stay");
	GPU_CHECK(f, is_all(memory, MORE), "bytes are as they were");
	(void)cuMemFree(memory);
}

static void gives_way(struct full *f)
{
	const CUdeviceptr memory = take(BLOCKS);
	CUdeviceptr device = 0, rest = 0;
	uint64_t start;

	touch_all(memory, BLOCKS);
	start = now();
	GPU_CHECK(f, cuMemAlloc(&device, 3 * BLOCK) == CUDA_SUCCESS && left() == 0,
		  "pages give way to what is allocated");
	/* 49 us, and 6 MiB. */
	GPU_CHECK(f, now() - start > 600000 && now() - start < 700000, "which takes its time");
	GPU_CHECK(f, !has(memory, 0), "those that came first");
	GPU_CHECK(f, cuMemAlloc(&rest, 5 * BLOCK) == CUDA_SUCCESS, "all of them");
	GPU_CHECK(f, cuMemAlloc(&(CUdeviceptr){0}, BLOCK) == CUDA_ERROR_OUT_OF_MEMORY,
		  "and no more");
	(void)touch(memory, BLOCK, 1);
	GPU_CHECK(f, left() == 0 && is_all(memory, BLOCKS),
		  "then a GPU writes into the host's memory");
	*managed_at(memory) = 9;
	GPU_CHECK(f, touch(memory, BLOCK, 1) == 0, "and goes on doing so");
	(void)cuMemFree(rest);
	(void)cuMemPrefetchAsync(memory, BLOCK, gpu, 0, NULL);
	(void)cuCtxSynchronize();
	GPU_CHECK(f, left() == 4 && is_all(memory, BLOCKS), "until there is room");
	(void)cuMemFree(memory);
	(void)cuMemFree(device);
}

/* ---- on the bus ---- */

struct beside {
	CUdeviceptr managed, device;
	void *pinned;
	CUstream copies, other;
	CUevent start, end;
};

/* How long the copies took. */
static void say(const struct full *f, const struct beside *b, const char *name)
{
	float ms = 0;

	(void)cuEventSynchronize(b->end);
	(void)cuEventElapsedTime(&ms, b->start, b->end);
	prog_say(f->prog, "%s - %llu", name, (unsigned long long)(ms * 1e6f));
}

/* A copy to the GPU, as long as pages come. */
static void to_gpu(const struct full *f, const struct beside *b, const char *name, bool comes)
{
	const uint64_t start = now();

	if (comes)
		(void)cuMemsetD8Async(b->managed, 2, LARGE, b->other);
	(void)cuEventRecord(b->start, b->copies);
	(void)cuMemcpyHtoDAsync(b->device, b->pinned, LARGE, b->copies);
	(void)cuEventRecord(b->end, b->copies);
	(void)cuCtxSynchronize();
	say(f, b, name);
	if (comes)
		prog_say(f->prog, "comes - %llu", (unsigned long long)(now() - start));
}

/* And one to the host, as long as a CPU pulls pages. */
static void to_host(const struct full *f, const struct beside *b, const char *name, bool goes)
{
	(void)cuEventRecord(b->start, b->copies);
	(void)cuMemcpyDtoHAsync(b->pinned, b->device, LARGE, b->copies);
	(void)cuEventRecord(b->end, b->copies);
	for (int i = 0; goes && i < LARGE; i += PAGE)
		(void)*managed_at(b->managed + (CUdeviceptr)i);
	(void)cuCtxSynchronize();
	say(f, b, name);
}

static void beside(const struct full *f)
{
	struct beside b;

	(void)cuMemAllocManaged(&b.managed, LARGE, CU_MEM_ATTACH_GLOBAL);
	(void)cuMemAlloc(&b.device, LARGE);
	(void)cuMemAllocHost(&b.pinned, LARGE);
	(void)cuStreamCreate(&b.copies, CU_STREAM_NON_BLOCKING);
	(void)cuStreamCreate(&b.other, CU_STREAM_NON_BLOCKING);
	(void)cuEventCreate(&b.start, 0);
	(void)cuEventCreate(&b.end, 0);
	for (int i = 0; i < LARGE; i += PAGE)
		*managed_at(b.managed + (CUdeviceptr)i) = 1;
	to_gpu(f, &b, "to_gpu", false);
	to_gpu(f, &b, "to_gpu_beside", true);
	to_host(f, &b, "to_host", false);
	to_host(f, &b, "to_host_beside", true);
}

/* From one GPU to the other and back to the host. */
static void around(struct full *f)
{
	CUdeviceptr memory = 0;
	CUmemLocation other = gpu;

	other.id = 1;
	(void)cuMemAllocManaged(&memory, LARGE, CU_MEM_ATTACH_GLOBAL);
	prog_fill((void *)(uintptr_t)memory, LARGE, 3);
	(void)cuMemPrefetchAsync(memory, LARGE, gpu, 0, NULL);
	(void)cuMemPrefetchAsync(memory, LARGE, other, 0, NULL);
	(void)cuCtxSynchronize();
	GPU_CHECK(f, prog_check(f->prog, "around", (void *)(uintptr_t)memory, LARGE, 3) == 0,
		  "bytes that were with two GPUs");
	vb_sleep_ns(1);
}

int prog_main(const struct vb_prog *prog)
{
	struct full f = {.prog = prog};

	if (!prog_takes(prog, "beside around") || !gpu_open(prog, 0))
		return -1;
	if (prog_arg(prog, "beside", 0)) {
		beside(&f);
		return 0;
	}
	if (prog_arg(prog, "around", 0)) {
		around(&f);
		return f.failed == 0 ? 0 : -1;
	}
	room(&f);
	evicts(&f);
	gives_way(&f);
	return f.failed == 0 ? 0 : -1;
}
