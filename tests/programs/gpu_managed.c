/* SPDX-License-Identifier: BSD-2-Clause */

/* Managed memory: each rank by itself. A line for each check, "ok" or "not"; walks over it page by
 * page, by GPU and CPU, with a line "NAME PAGE NS" for each fault; and what takes a while, in lines
 * "NAME NS". */
#include "include/verbena/verbena.h"
#include "tests/programs/managed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PAGE = 4096,
	MIB = 1 << 20,
	BYTES = 4 * MIB,
	PAGES = BYTES / PAGE,
	LARGE = 64 * MIB,
	STEP_NS = 100
};

struct managed {
	const struct vb_prog *prog;
	struct ibv_pd *pd;
	int failed;
};

/* ---- codes ---- */

static void codes(struct managed *m)
{
	const CUdeviceptr memory = managed_take(10000), next = managed_take(1);
	CUdeviceptr other = 0;
	CUmemLocation none = gpu;

	none.id = 7;
	GPU_CHECK(m, memory && next == memory + 10240, "it is given out in steps of 512 bytes");
	GPU_CHECK(m,
		  cuMemAllocManaged(&other, 0, CU_MEM_ATTACH_GLOBAL) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemAllocManaged(&other, 1, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemAllocManaged(&other, 1, CU_MEM_ATTACH_SINGLE) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemAllocManaged(&other, (size_t)1 << 50, CU_MEM_ATTACH_GLOBAL) ==
				  CUDA_ERROR_OUT_OF_MEMORY,
		  "what is not given out");
	GPU_CHECK(m, cuMemFree(memory + 512) == CUDA_ERROR_INVALID_VALUE, "nor taken back");
	GPU_CHECK(m,
		  cuMemPrefetchAsync(memory, 10001, gpu, 0, NULL) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemPrefetchAsync((CUdeviceptr)(uintptr_t)&other, 8, gpu, 0, NULL) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemPrefetchAsync(memory, 10000, gpu, 1, NULL) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemPrefetchAsync(memory, 10000, none, 0, NULL) ==
				  CUDA_ERROR_INVALID_DEVICE,
		  "what is not prefetched");
	(void)cuMemAlloc(&other, MIB);
	GPU_CHECK(m,
		  cuMemAdvise(other, MIB, CU_MEM_ADVISE_SET_READ_MOSTLY, cpu) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "memory of a GPU takes no advice");
	GPU_CHECK(m, cuMemsetD8(memory, 1, 10001) == CUDA_ERROR_INVALID_VALUE,
		  "nor set past its end");
	GPU_CHECK(m,
		  cuMemHostRegister((void *)(uintptr_t)memory, 4096, 0) == CUDA_ERROR_INVALID_VALUE,
		  "nor registered as host memory");
	GPU_CHECK(m,
		  cuMemGetHandleForAddressRange(&(int){0}, memory, 4096,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						0) == CUDA_ERROR_INVALID_VALUE,
		  "nor exported");
	errno = 0;
	GPU_CHECK(m,
		  !ibv_reg_mr(m->pd, (void *)(uintptr_t)memory, 4096, IBV_ACCESS_LOCAL_WRITE) &&
			  errno == EFAULT,
		  "nor registered with an adapter");
	GPU_CHECK(m,
		  cuMemFree(memory) == CUDA_SUCCESS &&
			  cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE,
		  "it is taken back once");
	(void)cuMemFree(other);
	(void)cuMemFree(next);
}

static bool has(CUpointer_attribute attribute, CUdeviceptr address, CUdeviceptr value, size_t bytes)
{
	CUdeviceptr is = 0;

	return cuPointerGetAttribute(&is, attribute, address) == CUDA_SUCCESS &&
	       memcmp(&is, &value, bytes) == 0;
}

static void attributes(struct managed *m)
{
	const CUdeviceptr memory = managed_take(3 * MIB);
	CUdeviceptr start = 0;
	CUcontext context;
	size_t bytes = 0;

	(void)cuCtxGetCurrent(&context);
	GPU_CHECK(m,
		  has(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory + 5, CU_MEMORYTYPE_DEVICE, 4) &&
			  has(CU_POINTER_ATTRIBUTE_IS_MANAGED, memory + 5, 1, 1) &&
			  has(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, memory + 5, memory + 5, 8) &&
			  has(CU_POINTER_ATTRIBUTE_HOST_POINTER, memory + 5, memory + 5, 8) &&
			  has(CU_POINTER_ATTRIBUTE_CONTEXT, memory, (uintptr_t)context, 8) &&
			  has(CU_POINTER_ATTRIBUTE_MAPPED, memory, 1, 1) &&
			  has(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, memory, 0, 1) &&
			  has(CU_POINTER_ATTRIBUTE_RANGE_SIZE, memory, 3 * MIB, 8),
		  "attributes of its pointers");
	GPU_CHECK(m,
		  cuMemGetAddressRange(&start, &bytes, memory + 100) == CUDA_SUCCESS &&
			  start == memory && bytes == 3 * MIB,
		  "where it begins and ends");
	(void)cuMemFree(memory);
	GPU_CHECK(m,
		  cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, memory) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "and once it is taken back");
}

static int told(CUmem_range_attribute attribute, CUdeviceptr address, size_t bytes)
{
	int value = 77;

	return cuMemRangeGetAttribute(&value, sizeof(value), attribute, address, bytes) ==
			       CUDA_SUCCESS
		       ? value
		       : 77;
}

static void advice(struct managed *m)
{
	const CUdeviceptr memory = managed_take(MIB);
	int devices[3];

	(void)cuMemAdvise(memory, MIB / 2, CU_MEM_ADVISE_SET_READ_MOSTLY, cpu);
	GPU_CHECK(m,
		  told(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB / 2) == 1 &&
			  told(CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, memory, MIB) == 0,
		  "what is read mostly");
	(void)cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu);
	GPU_CHECK(
		m,
		told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB) == CU_DEVICE_CPU &&
			cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu) == 0 &&
			told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB) == 0 &&
			cuMemAdvise(memory, 1, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, gpu) == 0 &&
			told(CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, memory, MIB) ==
				CU_DEVICE_INVALID,
		"where it is preferred");
	(void)cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, gpu);
	(void)cuMemAdvise(memory, MIB, CU_MEM_ADVISE_SET_ACCESSED_BY, cpu);
	GPU_CHECK(m,
		  cuMemRangeGetAttribute(devices, sizeof(devices),
					 CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, memory,
					 MIB) == CUDA_SUCCESS &&
			  devices[0] == CU_DEVICE_CPU && devices[1] == 0 &&
			  devices[2] == CU_DEVICE_INVALID,
		  "who accesses it");
	(void)cuMemPrefetchAsync(memory, MIB, gpu, 0, NULL);
	(void)cuCtxSynchronize();
	GPU_CHECK(m, told(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION, memory, MIB) == 0,
		  "where it was prefetched to");
	(void)cuMemFree(memory);
}

/* ---- bytes ---- */

/* One value for all, whoever writes it. */
static void coherent(struct managed *m)
{
	const CUdeviceptr memory = managed_take(BYTES);
	uint8_t *pageable = malloc(BYTES);
	CUdeviceptr device = 0;
	bool same = pageable != NULL;

	(void)cuMemAlloc(&device, BYTES);
	for (int i = 0; i < BYTES; i += 509)
		same &= *managed_at(memory + (unsigned int)i) == 0;
	GPU_CHECK(m, same, "what nobody has written is zero");
	prog_fill((void *)(uintptr_t)memory, BYTES, 5);
	(void)cuMemcpyDtoD(device, memory, BYTES);
	(void)cuMemsetD8(memory, 9, BYTES);
	(void)cuCtxSynchronize();
	GPU_CHECK(m, *managed_at(memory + 70000) == 9 && *managed_at(memory + BYTES - 1) == 9,
		  "a GPU sets it");
	(void)cuMemcpyDtoD(memory, device, BYTES);
	(void)cuCtxSynchronize();
	GPU_CHECK(m, prog_check(m->prog, "within", (void *)(uintptr_t)memory, BYTES, 5) == 0,
		  "and copies to and from it");
	(void)cuMemcpyDtoH(pageable, memory, BYTES);
	GPU_CHECK(m, prog_check(m->prog, "to the host", pageable, BYTES, 5) == 0,
		  "to the host, too");
	prog_fill(pageable, BYTES, 6);
	(void)cuMemcpyHtoD(memory, pageable, BYTES);
	(void)cuCtxSynchronize();
	GPU_CHECK(m, prog_check(m->prog, "from the host", (void *)(uintptr_t)memory, BYTES, 6) == 0,
		  "and from there");
	(void)cuMemcpy((CUdeviceptr)(uintptr_t)pageable, memory + 1, 1000);
	GPU_CHECK(m, memcmp(pageable, (void *)(uintptr_t)(memory + 1), 1000) == 0,
		  "whatever it is called");
	GPU_CHECK(m,
		  cuStreamWriteValue32(NULL, memory + 8192, 4711, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuStreamWaitValue32(NULL, memory + 8192, 0, 0) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "but no stream writes or awaits a value there");
	(void)cuMemFree(memory);
	GPU_CHECK(m, managed_take(BYTES) == memory && *managed_at(memory + 70000) == 0,
		  "the next one finds zeroes");
	(void)cuMemFree(memory);
	(void)cuMemFree(device);
	free(pageable);
}

/* ---- walks ---- */

static uint64_t now(void)
{
	return vb_now_ps() / 1000;
}

/* In ns, beside what it takes where the page is there already. */
static uint64_t gpu_touch(CUdeviceptr address)
{
	const uint64_t start = now();

	(void)cuMemsetD8Async(address, 1, PAGE, NULL);
	(void)cuCtxSynchronize();
	return now() - start;
}

static uint64_t cpu_touch(CUdeviceptr address, bool is_write)
{
	const uint64_t start = now();

	if (is_write)
		*managed_at(address) = 1;
	else
		(void)*managed_at(address);
	return now() - start;
}

static void to(CUdeviceptr memory, size_t bytes, CUmemLocation where)
{
	(void)cuMemPrefetchAsync(memory, bytes, where, 0, NULL);
	(void)cuCtxSynchronize();
}

/* Of a page that a GPU has. */
static uint64_t gpu_least(void)
{
	const CUdeviceptr memory = managed_take(PAGE);
	uint64_t least;

	(void)gpu_touch(memory);
	least = gpu_touch(memory);
	(void)cuMemFree(memory);
	return least;
}

struct walk {
	const char *name;
	bool by_gpu, is_write, is_backwards, is_fresh;
	int stride; /* odd, if more than 1: all pages, in another order */
};

static void take_walk(const struct managed *m, const struct walk *w)
{
	const CUdeviceptr memory = managed_take(BYTES);
	const uint64_t least = w->by_gpu ? gpu_least() : 0;

	if (!w->is_fresh)
		to(memory, BYTES, w->by_gpu ? cpu : gpu);
	for (int i = 0; i < PAGES; i++) {
		const int page = (w->is_backwards ? PAGES - 1 - i : i) * w->stride % PAGES;
		const CUdeviceptr address = memory + (CUdeviceptr)page * PAGE;
		const uint64_t time =
			w->by_gpu ? gpu_touch(address) : cpu_touch(address, w->is_write);

		if (time > least + STEP_NS)
			prog_say(m->prog, "%s %d %llu", w->name, page,
				 (unsigned long long)(time - least));
	}
	(void)cuMemFree(memory);
}

static void walks(const struct managed *m)
{
	static const struct walk all[] = {
		{.name = "gpu", .by_gpu = true, .stride = 1},
		{.name = "gpu_fresh", .by_gpu = true, .is_fresh = true, .stride = 1},
		{.name = "gpu_backwards", .by_gpu = true, .is_backwards = true, .stride = 1},
		{.name = "gpu_scattered", .by_gpu = true, .stride = 389},
		{.name = "cpu", .stride = 1},
		{.name = "cpu_write", .is_write = true, .stride = 1},
		{.name = "cpu_fresh", .is_write = true, .is_fresh = true, .stride = 1},
		{.name = "cpu_scattered", .stride = 389},
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		take_walk(m, &all[i]);
}

/* ---- what takes a while ---- */

static void tell(const struct managed *m, const char *name, uint64_t since)
{
	prog_say(m->prog, "%s - %llu", name, (unsigned long long)(now() - since));
}

static void set_all(CUdeviceptr memory)
{
	(void)cuMemsetD8(memory, 3, LARGE);
	(void)cuCtxSynchronize();
}

static void cpu_all(CUdeviceptr memory, bool is_write)
{
	for (int i = 0; i < LARGE / PAGE; i++) {
		if (is_write)
			*managed_at(memory + (CUdeviceptr)i * PAGE) = 1;
		else
			(void)*managed_at(memory + (CUdeviceptr)i * PAGE);
	}
}

static void read_all(CUdeviceptr device, CUdeviceptr memory)
{
	(void)cuMemcpyDtoD(device, memory, LARGE);
	(void)cuCtxSynchronize();
}

static void large(const struct managed *m)
{
	CUdeviceptr memory = managed_take(LARGE), device = 0;
	uint64_t start = now();

	(void)cuMemAlloc(&device, LARGE);
	start = now();
	set_all(memory);
	tell(m, "set_fresh", start);
	start = now();
	cpu_all(memory, false);
	tell(m, "cpu_reads", start);
	start = now();
	read_all(device, memory);
	tell(m, "copy_from_cpu", start);
	start = now();
	read_all(device, memory);
	tell(m, "copy_from_gpu", start);
	start = now();
	to(memory, LARGE, cpu);
	tell(m, "prefetch_to_cpu", start);
	start = now();
	to(memory, LARGE, gpu);
	tell(m, "prefetch_to_gpu", start);
	start = now();
	to(memory, LARGE, gpu);
	tell(m, "prefetch_there", start);
	to(memory, LARGE, cpu);
	start = now();
	(void)cuMemPrefetchAsync(memory, LARGE, gpu, 0, NULL);
	tell(m, "prefetch_call", start);
	(void)cuCtxSynchronize();
	start = now();
	(void)cuMemFree(memory);
	tell(m, "free", start);
	(void)cuMemFree(device);
}

/* As the table of advice has it: 64 MiB with the CPU, which a GPU reads twice and the CPU reads,
 * and which a GPU writes and the CPU writes. */
static void with_advice(const struct managed *m, const char *name, CUmem_advise is,
			CUmemLocation where)
{
	CUdeviceptr memory = managed_take(LARGE), device = 0;
	uint64_t start;

	(void)cuMemAlloc(&device, LARGE);
	cpu_all(memory, true);
	if (is)
		(void)cuMemAdvise(memory, LARGE, is, where);
	prog_say(m->prog, "advice - %s", name);
	start = now();
	read_all(device, memory);
	tell(m, "first", start);
	start = now();
	read_all(device, memory);
	tell(m, "again", start);
	start = now();
	cpu_all(memory, false);
	tell(m, "cpu_read", start);
	start = now();
	set_all(memory);
	tell(m, "write", start);
	start = now();
	cpu_all(memory, true);
	tell(m, "cpu_write", start);
	(void)cuMemFree(memory);
	(void)cuMemFree(device);
}

/* ---- rows ---- */

enum { ROW = 40000, STEP = 2 * MIB, ROWS = 8, FIRST = 5000 };

/* Rows of ROW bytes, STEP from each other: whether a GPU has both ends of each, and nothing half
 * way to the next. */
static bool has_rows(CUdeviceptr memory)
{
	const uint64_t least = gpu_least() + STEP_NS;
	bool has = true;

	for (int i = 0; i < ROWS; i++) {
		const CUdeviceptr row = memory + FIRST + (CUdeviceptr)i * STEP;

		has &= gpu_touch(row - row % PAGE) <= least &&
		       gpu_touch((row + ROW - 1) - (row + ROW - 1) % PAGE) <= least &&
		       gpu_touch(memory + (CUdeviceptr)i * STEP + STEP / 2) > least;
	}
	return has;
}

enum way { SET, FROM_DEVICE, TO_DEVICE, FROM_HOST, TO_HOST };

static bool rows_go(enum way way, uint8_t *pageable)
{
	const bool comes = way == FROM_DEVICE || way == FROM_HOST;
	const bool is_host = way == FROM_HOST || way == TO_HOST;
	const CUdeviceptr memory = managed_take((size_t)ROWS * STEP);
	CUdeviceptr device = 0;
	CUDA_MEMCPY2D copy = {.WidthInBytes = ROW, .Height = ROWS};
	bool has;

	(void)cuMemAlloc(&device, (size_t)ROWS * ROW);
	copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
	copy.srcDevice = comes ? device : memory + FIRST;
	copy.dstDevice = comes ? memory + FIRST : device;
	copy.srcPitch = comes ? ROW : STEP;
	copy.dstPitch = comes ? STEP : ROW;
	if (is_host && comes) {
		copy.srcMemoryType = CU_MEMORYTYPE_HOST;
		copy.srcHost = pageable;
	} else if (is_host) {
		copy.dstMemoryType = CU_MEMORYTYPE_HOST;
		copy.dstHost = pageable;
	}
	if (way == SET)
		(void)cuMemsetD2D8(memory + FIRST, STEP, 1, ROW, ROWS);
	else
		(void)cuMemcpy2D(&copy);
	(void)cuCtxSynchronize();
	has = has_rows(memory);
	(void)cuMemFree(memory);
	(void)cuMemFree(device);
	return has;
}

/* What lies in rows is touched where they lie, in as many pieces as it goes. */
static void rows(struct managed *m)
{
	uint8_t *pageable = calloc(ROWS, ROW);

	GPU_CHECK(m, rows_go(SET, NULL), "rows that are set");
	GPU_CHECK(m, rows_go(FROM_DEVICE, NULL) && rows_go(TO_DEVICE, NULL),
		  "rows that are copied within a GPU");
	GPU_CHECK(m, pageable && rows_go(FROM_HOST, pageable) && rows_go(TO_HOST, pageable),
		  "rows that come from the host and go there");
	free(pageable);
}

/* It ends what others have of the page, and that is all. */
static void first_write(struct managed *m)
{
	const CUdeviceptr memory = managed_take(PAGE);
	uint64_t ns;

	(void)cuMemAdvise(memory, PAGE, CU_MEM_ADVISE_SET_READ_MOSTLY, cpu);
	to(memory, PAGE, gpu);
	ns = cpu_touch(memory, true);
	GPU_CHECK(m, ns >= 13000 && ns <= 15000 && cpu_touch(memory, true) == 0,
		  "a first write of what is read mostly copies nothing");
	(void)cuMemFree(memory);
}

static void ping_pong(const struct managed *m)
{
	const CUdeviceptr memory = managed_take(PAGE);
	const uint64_t least = gpu_least();

	*managed_at(memory) = 1;
	for (int i = 0; i < 30; i++) {
		const uint64_t to_gpu = gpu_touch(memory) - least;

		prog_say(m->prog, "ping %d %llu", i, (unsigned long long)to_gpu);
		prog_say(m->prog, "pong %d %llu", i, (unsigned long long)cpu_touch(memory, true));
	}
	(void)cuMemFree(memory);
}

static void run(struct managed *m)
{
	codes(m);
	attributes(m);
	advice(m);
	coherent(m);
	first_write(m);
	rows(m);
	walks(m);
	large(m);
	with_advice(m, "none", (CUmem_advise)0, cpu);
	with_advice(m, "read_mostly", CU_MEM_ADVISE_SET_READ_MOSTLY, cpu);
	with_advice(m, "preferred_cpu", CU_MEM_ADVISE_SET_PREFERRED_LOCATION, cpu);
	with_advice(m, "preferred_gpu", CU_MEM_ADVISE_SET_PREFERRED_LOCATION, gpu);
	with_advice(m, "accessed_by_gpu", CU_MEM_ADVISE_SET_ACCESSED_BY, gpu);
	with_advice(m, "accessed_by_cpu", CU_MEM_ADVISE_SET_ACCESSED_BY, cpu);
	ping_pong(m);
}

/* wild=1: ends with a touch of what was taken back. */
int prog_main(const struct vb_prog *prog)
{
	struct managed m = {.prog = prog};
	static uint8_t bytes[64];
	struct prog_ctx ctx;
	CUdeviceptr memory;

	if (!prog_takes(prog, "wild") || !gpu_open(prog, 0) ||
	    prog_open(&ctx, prog, 4, bytes, sizeof(bytes)) != 0)
		return -1;
	m.pd = ctx.pd;
	if (prog_arg(prog, "wild", 0)) {
		memory = managed_take(MIB);
		*managed_at(memory) = 1;
		(void)cuMemFree(memory);
		*managed_at(memory) = 2;
	}
	gpu_heading(prog, "NAME PAGE NS; NAME - NS");
	run(&m);
	return prog_destroy(&ctx, NULL, 0) == 0 && m.failed == 0 ? 0 : -1;
}
