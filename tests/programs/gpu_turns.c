/* SPDX-License-Identifier: BSD-2-Clause */

/* Managed memory that CPU and GPU write in turns: a counter in each of its pages, bytes=65536 of
 * them, rounds=40 times. advice=1: it is to stay with the CPU, and be reached from there by the
 * GPU. Each rank by itself; says "turn NS", the mean. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <string.h>

enum { PAGE = 4096 };

static bool take(const struct vb_prog *prog, size_t bytes, CUdeviceptr *ret_memory)
{
	const CUmemLocation cpu = {.type = CU_MEM_LOCATION_TYPE_HOST};
	const CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

	if (!GPU_DO(prog, cuMemAllocManaged(ret_memory, bytes, CU_MEM_ATTACH_GLOBAL)))
		return false;
	memset((void *)(uintptr_t)*ret_memory, 0, bytes);
	if (!prog_arg(prog, "advice", 0))
		return true;
	return GPU_DO(prog,
		      cuMemAdvise(*ret_memory, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu)) &&
	       GPU_DO(prog, cuMemAdvise(*ret_memory, bytes, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu));
}

/* The GPU sets all bytes, and the CPU adds one to the first of each page. */
static bool turn(const struct vb_prog *prog, CUdeviceptr memory, size_t bytes, int round)
{
	volatile uint8_t *at = (volatile uint8_t *)(uintptr_t)memory;

	if (!GPU_DO(prog, cuMemsetD8(memory, (unsigned char)round, bytes)) ||
	    !GPU_DO(prog, cuCtxSynchronize()))
		return false;
	for (size_t i = 0; i < bytes; i += PAGE) {
		if (at[i] != (uint8_t)round)
			return false;
		at[i]++;
	}
	return true;
}

int prog_main(const struct vb_prog *prog)
{
	const size_t bytes = prog_arg(prog, "bytes", 65536);
	const int rounds = (int)prog_arg(prog, "rounds", 40);
	CUdeviceptr memory;
	uint64_t began;

	if (!prog_takes(prog, "advice bytes rounds") || !gpu_open(prog, 0) ||
	    !take(prog, bytes, &memory))
		return -1;
	gpu_heading(prog, "turn NS");
	began = vb_now_ps();
	for (int round = 1; round <= rounds; round++)
		if (!turn(prog, memory, bytes, round))
			return -1;
	prog_say(prog, "turn %.0f", (double)(vb_now_ps() - began) / rounds / 1000);
	return GPU_DO(prog, cuMemFree(memory)) ? 0 : -1;
}
