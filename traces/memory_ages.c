/* SPDX-License-Identifier: BSD-2-Clause */

/* The three ages of GPU memory: a CPU writes, a GPU reads all of it and writes it, and the CPU
 * reads it again. How long each step takes with explicit copies of ordinary and of pinned memory,
 * and with managed memory that comes with faults, or is prefetched. Argument: bytes=16777216. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <verbena/cuda.h>
#include <verbena/program.h>

static size_t bytes = 16 << 20;
static CUdeviceptr device, work;
static const CUmemLocation cpu = {.type = CU_MEM_LOCATION_TYPE_HOST};
static const CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE};

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

/* The GPU's part of it, which is a copy into memory of its own, and then another value. */
static void gpu_works(CUdeviceptr memory)
{
	cuMemcpyDtoD(work, memory, bytes);
	cuMemsetD8(memory, 2, bytes);
	cuCtxSynchronize();
}

static int say(const char *name, const double at[4], const unsigned char *memory)
{
	printf("%-9s to the GPU %7.1f us, there %7.1f us, back %7.1f us: %8.1f us\n", name,
	       at[1] - at[0], at[2] - at[1], at[3] - at[2], at[3] - at[0]);
	return memory[bytes - 1] == 2 ? 0 : -1;
}

/* The first and the second age: memory of the host and of the GPU are two things. */
static int copied(const char *name, unsigned char *memory)
{
	double at[4];

	memset(memory, 1, bytes);
	at[0] = now_us();
	cuMemcpyHtoD(device, memory, bytes);
	cuCtxSynchronize();
	at[1] = now_us();
	gpu_works(device);
	at[2] = now_us();
	cuMemcpyDtoH(memory, device, bytes);
	at[3] = now_us();
	return say(name, at, memory);
}

/* The third: one pointer for all, and pages that go where they are touched. */
static int managed(const char *name, int prefetches)
{
	unsigned char *memory;
	CUdeviceptr address;
	unsigned long sum = 0;
	double at[4];

	if (cuMemAllocManaged(&address, bytes, CU_MEM_ATTACH_GLOBAL))
		return -1;
	memory = (unsigned char *)address;
	memset(memory, 1, bytes);
	at[0] = now_us();
	if (prefetches)
		cuMemPrefetchAsync(address, bytes, gpu, 0, NULL);
	cuCtxSynchronize();
	at[1] = now_us();
	gpu_works(address);
	at[2] = now_us();
	if (prefetches)
		cuMemPrefetchAsync(address, bytes, cpu, 0, NULL);
	for (size_t i = 0; i < bytes; i += 4096)
		sum += memory[i];
	at[3] = now_us();
	if (sum != 2 * bytes / 4096 || say(name, at, memory))
		return -1;
	return cuMemFree(address) ? -1 : 0;
}

int prog_main(const struct vb_prog *prog)
{
	unsigned char *pageable;
	void *pinned;
	CUcontext context;
	CUdevice number;
	int failed;

	if (prog->arg_count > 0)
		bytes = strncmp(prog->args[0], "bytes=", 6) == 0
				? strtoul(prog->args[0] + 6, NULL, 10)
				: 0;
	if (prog->arg_count > 1 || bytes == 0 || bytes % 4096 != 0) {
		fprintf(stderr, "found \"%s\", expected bytes=N alone, a multiple of 4096\n",
			prog->args[prog->arg_count - 1]);
		return -1;
	}
	pageable = malloc(bytes);
	if (!pageable || cuInit(0) || cuDeviceGet(&number, 0) ||
	    cuDevicePrimaryCtxRetain(&context, number) || cuCtxSetCurrent(context) ||
	    cuMemAlloc(&device, bytes) || cuMemAlloc(&work, bytes) ||
	    cuMemAllocHost(&pinned, bytes)) {
		fprintf(stderr, "no GPU, or one that has not twice %zu bytes\n", bytes);
		free(pageable);
		return -1;
	}
	failed = copied("pageable", pageable) || copied("pinned", pinned) || managed("faults", 0) ||
		 managed("prefetch", 1);
	free(pageable);
	return failed ? -1 : 0;
}
