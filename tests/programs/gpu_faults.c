/* SPDX-License-Identifier: BSD-2-Clause */

/* Kernels that touch managed memory: each rank by itself. A line for each check, "ok" or "not";
 * walks page by page, with a line "NAME PAGE NS" for each fault; and what takes a while, in lines
 * "NAME - NS". stray=1: ends with a kernel that touches what was given back. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/managed.h"

#include <string.h>

enum {
	PAGE = 4096,
	MIB = 1 << 20,
	BYTES = 4 * MIB,
	PAGES = BYTES / PAGE,
	LARGE = 64 * MIB,
	STEP_NS = 100,
	ROUNDS = 5,
	BLOCKS = 132,
	THREADS = 1024
};

static const char ptx[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry scan(.param .u64 at, .param .u64 bytes, .param .u64 sum) { ret; }\n"
	".visible .entry fill(.param .u64 at, .param .u64 bytes, .param .u8 value) { ret; }\n";

struct faults {
	const struct vb_prog *prog;
	CUfunction scan, fill, echo;
	CUdeviceptr sum; /* 8 bytes of the GPU */
	int failed;
};

/* ---- kernels ---- */

static uint64_t arg(const struct vb_launch *launch, unsigned int nth)
{
	uint64_t value = 0;

	memcpy(&value, launch->args[nth], launch->arg_bytes[nth]);
	return value;
}

static void scan(struct vb_launch *launch)
{
	const uint64_t from = arg(launch, 0), bytes = arg(launch, 1);
	uint64_t sum = 0;

	for (uint64_t done = 0; done < bytes; done += PAGE) {
		uint8_t page[PAGE];
		const uint64_t length = bytes - done < PAGE ? bytes - done : PAGE;

		if (vb_kernel_read(launch, page, from + done, length) != 0)
			return;
		for (uint64_t i = 0; i < length; i++)
			sum += page[i];
	}
	(void)vb_kernel_write(launch, arg(launch, 2), &sum, sizeof(sum));
}

static void fill(struct vb_launch *launch)
{
	const uint64_t to = arg(launch, 0), bytes = arg(launch, 1);
	uint8_t page[PAGE];

	memset(page, (int)arg(launch, 2), sizeof(page));
	for (uint64_t done = 0; done < bytes; done += PAGE) {
		const uint64_t length = bytes - done < PAGE ? bytes - done : PAGE;

		if (vb_kernel_write(launch, to + done, page, length) != 0)
			return;
	}
}

static bool prepare(struct faults *f)
{
	CUmodule own, builtin;

	return vb_kernel("scan", scan) == 0 && vb_kernel("fill", fill) == 0 &&
	       GPU_DO(f->prog, cuModuleLoadData(&own, ptx)) &&
	       GPU_DO(f->prog, cuModuleLoadData(&builtin, VB_KERNELS_PTX)) &&
	       GPU_DO(f->prog, cuModuleGetFunction(&f->scan, own, "scan")) &&
	       GPU_DO(f->prog, cuModuleGetFunction(&f->fill, own, "fill")) &&
	       GPU_DO(f->prog, cuModuleGetFunction(&f->echo, builtin, "vb_flag_echo")) &&
	       GPU_DO(f->prog, cuMemAlloc(&f->sum, 8));
}

/* One thread, or all that the GPU has at once. */
static void launch(CUfunction function, bool is_wide, void **args)
{
	(void)cuLaunchKernel(function, is_wide ? BLOCKS : 1, 1, 1, is_wide ? THREADS : 1, 1, 1, 0,
			     NULL, args, NULL);
	(void)cuCtxSynchronize();
}

static uint64_t now(void)
{
	return vb_now_ps() / 1000;
}

/* In ns, from the launch until it is known to be over. */
static uint64_t run_scan(struct faults *f, CUdeviceptr from, uint64_t bytes, bool is_wide)
{
	const uint64_t start = now();

	launch(f->scan, is_wide, (void *[]){&from, &bytes, &f->sum});
	return now() - start;
}

static uint64_t run_fill(struct faults *f, CUdeviceptr to, uint64_t bytes, uint8_t value,
			 bool is_wide)
{
	const uint64_t start = now();

	launch(f->fill, is_wide, (void *[]){&to, &bytes, &value});
	return now() - start;
}

/* ---- bytes ---- */

static uint64_t sum_of(const struct faults *f)
{
	uint64_t sum = 0;

	(void)cuMemcpyDtoH(&sum, f->sum, sizeof(sum));
	return sum;
}

static bool is_all(CUdeviceptr memory, size_t bytes, uint8_t value)
{
	for (size_t i = 0; i < bytes; i++)
		if (*managed_at(memory + i) != value)
			return false;
	return true;
}

/* One value for all, whoever writes it: a kernel and the CPU by turns. */
static void coherent(struct faults *f)
{
	const CUdeviceptr memory = managed_take(BYTES);
	bool same = true;

	(void)run_scan(f, memory, BYTES, true);
	GPU_CHECK(f, sum_of(f) == 0, "a kernel finds zero where nobody has written");
	for (uint8_t round = 1; round <= 3; round++) {
		memset((void *)(uintptr_t)memory, round, BYTES);
		(void)run_scan(f, memory, BYTES, true);
		same &= sum_of(f) == (uint64_t)round * BYTES;
		(void)run_fill(f, memory + 100, BYTES - 200, (uint8_t)(round + 10), true);
		same &= is_all(memory, 100, round) &&
			is_all(memory + 100, BYTES - 200, (uint8_t)(round + 10)) &&
			is_all(memory + BYTES - 100, 100, round);
	}
	GPU_CHECK(f, same, "a kernel and the CPU see what the other one has written");
	(void)cuMemFree(memory);
}

/* ---- flags ---- */

/* The CPU sets one and the kernel the other one, on a page each. */
static void ping_pong(struct faults *f)
{
	const CUdeviceptr flags = managed_take(2 * MIB), back = flags + 2 * 16 * PAGE;
	uint32_t count = ROUNDS;
	volatile uint32_t *to = (volatile uint32_t *)(uintptr_t)flags;
	volatile uint32_t *from = (volatile uint32_t *)(uintptr_t)back;
	bool came = true;

	*to = 0;
	*from = 0;
	vb_sleep_ns(1);
	(void)cuLaunchKernel(f->echo, 1, 1, 1, 1, 1, 1, 0, NULL,
			     (void *[]){&(CUdeviceptr){flags}, &(CUdeviceptr){back}, &count}, NULL);
	vb_sleep_ns(1000000);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		*to = i;
		vb_sleep_ns(1000000);
		came &= *from == i;
		vb_sleep_ns(1000000);
	}
	GPU_CHECK(f, came && cuCtxSynchronize() == CUDA_SUCCESS, "flags");
	(void)cuMemFree(flags);
}

/* ---- walks ---- */

struct walk {
	const char *name;
	bool is_write, is_fresh;
	int stride;
};

static uint64_t touch(struct faults *f, CUdeviceptr page, bool is_write)
{
	return is_write ? run_fill(f, page, 4, 1, false) : run_scan(f, page, 4, false);
}

static void take_walk(struct faults *f, const struct walk *w)
{
	const CUdeviceptr memory = managed_take(BYTES), there = managed_take(PAGE);
	uint64_t least;

	(void)touch(f, there, w->is_write);
	least = touch(f, there, w->is_write);
	if (!w->is_fresh)
		(void)cuMemPrefetchAsync(memory, BYTES, cpu, 0, NULL);
	(void)cuCtxSynchronize();
	for (int i = 0; i < PAGES; i++) {
		const int page = i * w->stride % PAGES;
		const uint64_t time = touch(f, memory + (CUdeviceptr)page * PAGE, w->is_write);

		if (time > least + STEP_NS)
			prog_say(f->prog, "%s %d %llu", w->name, page,
				 (unsigned long long)(time - least));
	}
	(void)cuMemFree(memory);
	(void)cuMemFree(there);
}

static void walks(struct faults *f)
{
	static const struct walk all[] = {
		{.name = "read", .stride = 1},
		{.name = "write", .is_write = true, .stride = 1},
		{.name = "fresh", .is_write = true, .is_fresh = true, .stride = 1},
		{.name = "scattered", .stride = 389},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		take_walk(f, &all[i]);
}

/* ---- what takes a while ---- */

static void tell(const struct faults *f, const char *name, uint64_t ns)
{
	prog_say(f->prog, "%s - %llu", name, (unsigned long long)ns);
}

static void cpu_all(CUdeviceptr memory)
{
	for (int i = 0; i < LARGE / PAGE; i++)
		*managed_at(memory + (CUdeviceptr)i * PAGE) = 1;
	vb_sleep_ns(1);
}

static void large(struct faults *f)
{
	CUdeviceptr memory = managed_take(LARGE);

	tell(f, "all_written_fresh", run_fill(f, memory, LARGE, 1, true));
	(void)cuMemFree(memory);
	memory = managed_take(LARGE);
	tell(f, "all_read_fresh", run_scan(f, memory, LARGE, true));
	cpu_all(memory);
	tell(f, "all_read", run_scan(f, memory, LARGE, true));
	tell(f, "all_read_again", run_scan(f, memory, LARGE, true));
	cpu_all(memory);
	tell(f, "all_written", run_fill(f, memory, LARGE, 1, true));
	(void)cuMemFree(memory);
}

static void with_advice(struct faults *f, const char *name, CUmem_advise is, CUmemLocation where)
{
	const CUdeviceptr memory = managed_take(LARGE);

	cpu_all(memory);
	if (is)
		(void)cuMemAdvise(memory, LARGE, is, where);
	prog_say(f->prog, "advice - %s", name);
	tell(f, "first", run_scan(f, memory, LARGE, true));
	tell(f, "again", run_scan(f, memory, LARGE, true));
	tell(f, "write", run_fill(f, memory, LARGE, 1, true));
	(void)cuMemFree(memory);
}

static void run(struct faults *f)
{
	coherent(f);
	ping_pong(f);
	walks(f);
	large(f);
	with_advice(f, "none", (CUmem_advise)0, cpu);
	with_advice(f, "read_mostly", CU_MEM_ADVISE_SET_READ_MOSTLY, cpu);
	with_advice(f, "preferred_cpu", CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu);
	with_advice(f, "accessed_by_gpu", CU_MEM_ADVISE_SET_ACCESSED_BY, gpu);
}

/* Pages are reached whole, as far as something was given out of them. */
static void stray(struct faults *f)
{
	const CUdeviceptr memory = managed_take(100);
	uint64_t bytes = PAGE;

	(void)cuLaunchKernel(f->scan, 1, 1, 1, 1, 1, 1, 0, NULL,
			     (void *[]){&(CUdeviceptr){memory}, &bytes, &f->sum}, NULL);
	GPU_CHECK(f, cuCtxSynchronize() == CUDA_SUCCESS, "all of a page");
	bytes++;
	(void)cuLaunchKernel(f->scan, 1, 1, 1, 1, 1, 1, 0, NULL,
			     (void *[]){&(CUdeviceptr){memory}, &bytes, &f->sum}, NULL);
	GPU_CHECK(f, cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS, "but no byte more");
}

int prog_main(const struct vb_prog *prog)
{
	struct faults f = {.prog = prog};

	if (!prog_takes(prog, "stray") || !gpu_open(prog, 0) || !prepare(&f))
		return -1;
	if (prog_arg(prog, "stray", 0))
		stray(&f);
	else
		run(&f);
	return f.failed == 0 ? 0 : -1;
}
