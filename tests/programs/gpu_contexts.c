/* SPDX-License-Identifier: BSD-2-Clause */

/* Contexts beside the primary one: which codes calls give and how long they take, as was measured
 * on an H100 (driver 580.159.04). A line for each check, "ok" or "not". */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

/* What programs of older Toolkits call cuCtxCreate(). */
CUresult cuCtxCreate_v2(CUcontext *ret_context, unsigned int flags, CUdevice device);

enum { BLOCK = 2 << 20, LONG = 64 << 20 };

static uint8_t own_pages[4096];

struct contexts {
	const struct vb_prog *prog;
	CUcontext primary, second;
	int failed;
};

static CUcontext current(void)
{
	CUcontext context = NULL;

	(void)cuCtxGetCurrent(&context);
	return context;
}

static bool took(uint64_t since, uint64_t least_ms, uint64_t most_ms)
{
	const uint64_t ms = 1000000000, time = vb_now_ps() - since;

	return time >= least_ms * ms && time <= most_ms * ms;
}

static void creates(struct contexts *c)
{
	CUctxCreateParams none = {0}, some = {.numExecAffinityParams = 1};
	uint64_t before = vb_now_ps();
	unsigned long long first = 0, id = 0;
	unsigned int flags = 0, version = 0;
	CUcontext third;

	GPU_CHECK(c, cuCtxCreate(&c->second, NULL, 0, 0) == CUDA_SUCCESS,
		  "a second context is made");
	GPU_CHECK(c, took(before, 96, 127), "in 96 to 127 ms");
	GPU_CHECK(c, current() == c->second && c->second != c->primary, "and is current");
	GPU_CHECK(c, cuCtxGetFlags(&flags) == CUDA_SUCCESS && flags == 0, "it has no flags");
	GPU_CHECK(c,
		  cuCtxGetApiVersion(c->second, &version) == CUDA_SUCCESS && version == 3020 &&
			  cuCtxGetApiVersion(NULL, &version) == CUDA_SUCCESS,
		  "its version is 3020");
	GPU_CHECK(c,
		  cuCtxGetId(c->primary, &first) == CUDA_SUCCESS &&
			  cuCtxGetId(NULL, &id) == CUDA_SUCCESS && id != first,
		  "each has an identity");
	GPU_CHECK(c, cuCtxCreate(&third, &some, 0, 0) == CUDA_ERROR_INVALID_VALUE,
		  "no part of a GPU's processors");
	some.execAffinityParams = (void *)&id;
	GPU_CHECK(c, cuCtxCreate(&third, &some, 0, 0) == CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY,
		  "be it said which");
	GPU_CHECK(c,
		  cuCtxCreate(&third, NULL, 0x40, 0) == CUDA_SUCCESS &&
			  cuCtxGetFlags(&flags) == CUDA_SUCCESS && flags == 0x20,
		  "who may dump its core dumps it");
	(void)cuCtxDestroy(third);
	GPU_CHECK(c,
		  cuCtxCreate(&third, &none, CU_CTX_SCHED_SPIN, 0) == CUDA_SUCCESS &&
			  cuCtxGetFlags(&flags) == CUDA_SUCCESS && flags == CU_CTX_SCHED_SPIN,
		  "one that spins says so");
	before = vb_now_ps();
	GPU_CHECK(c, cuCtxDestroy(third) == CUDA_SUCCESS && took(before, 62, 76),
		  "it goes in 69 ms");
	GPU_CHECK(c, current() == c->second, "and the one below is current");
	GPU_CHECK(c,
		  cuCtxCreate_v2(&third, 0, 0) == CUDA_SUCCESS && current() == third &&
			  cuCtxDestroy(third) == CUDA_SUCCESS,
		  "the older function does the same");
	GPU_CHECK(c,
		  cuCtxCreate(&third, NULL, 0xffff, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuCtxCreate(NULL, NULL, 0, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuCtxCreate(&third, NULL, 3, 0) == CUDA_ERROR_INVALID_VALUE,
		  "no such flags");
	GPU_CHECK(c, cuCtxCreate(&third, NULL, 0, 99) == CUDA_ERROR_INVALID_DEVICE,
		  "no such device");
}

/* The second one is current. */
static void shares(struct contexts *c)
{
	CUdeviceptr memory;
	CUcontext of = NULL;
	CUstream stream;
	CUevent event;
	uint8_t byte = 0;

	(void)cuMemAlloc(&memory, BLOCK);
	GPU_CHECK(c,
		  cuPointerGetAttribute(&of, CU_POINTER_ATTRIBUTE_CONTEXT, memory) ==
				  CUDA_SUCCESS &&
			  of == c->second,
		  "memory is of the context that it was taken in");
	(void)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	(void)cuCtxSetCurrent(c->primary);
	GPU_CHECK(c, current() == c->primary, "the current one is replaced");
	(void)cuEventCreate(&event, 0);
	GPU_CHECK(c, cuMemsetD8Async(memory, 7, BLOCK, stream) == CUDA_SUCCESS,
		  "a stream of another context takes what it is told");
	GPU_CHECK(c, cuEventRecord(event, stream) == CUDA_ERROR_INVALID_HANDLE,
		  "but no event of this one");
	GPU_CHECK(c, cuStreamSynchronize(stream) == CUDA_SUCCESS, "it can be waited for");
	GPU_CHECK(c, cuMemcpyDtoH(&byte, memory, 1) == CUDA_SUCCESS && byte == 7,
		  "and its memory be read");
	(void)cuEventRecord(event, NULL);
	GPU_CHECK(c,
		  cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS &&
			  cuStreamSynchronize(stream) == CUDA_SUCCESS,
		  "it waits for an event of this one");
	GPU_CHECK(c, cuMemFree(memory) == CUDA_SUCCESS, "memory is given back from any context");
	GPU_CHECK(c,
		  cuCtxEnablePeerAccess(c->second, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED &&
			  cuCtxEnablePeerAccess(c->primary, 0) ==
				  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
		  "none of the same device is a peer");
	(void)cuEventDestroy(event);
}

/* Managed memory is given back when no GPU runs anything, of whatever context. */
static void gives_back(struct contexts *c)
{
	CUdeviceptr memory, managed;
	CUstream stream;
	void *pinned;

	(void)cuMemAllocManaged(&managed, BLOCK, CU_MEM_ATTACH_GLOBAL);
	(void)cuMemAllocHost(&pinned, LONG);
	(void)cuCtxPushCurrent(c->second);
	(void)cuMemAlloc(&memory, LONG);
	(void)cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING);
	(void)cuMemcpyHtoDAsync(memory, pinned, LONG, stream);
	(void)cuCtxPopCurrent(NULL);
	GPU_CHECK(c,
		  cuStreamQuery(stream) == CUDA_ERROR_NOT_READY &&
			  cuMemFree(managed) == CUDA_SUCCESS &&
			  cuStreamQuery(stream) == CUDA_SUCCESS,
		  "managed memory is given back behind what any context does");
	(void)cuMemFree(memory);
	(void)cuMemFreeHost(pinned);
}

/* From the call to wait until it returns, in a context made with @flags. */
static uint64_t waits(unsigned int flags, bool of_stream)
{
	CUdeviceptr memory;
	CUcontext context;
	uint64_t start;

	(void)cuCtxCreate(&context, NULL, flags, 0);
	(void)cuMemAlloc(&memory, BLOCK);
	(void)cuMemsetD8Async(memory, 1, BLOCK, NULL);
	start = vb_now_ps();
	(void)(of_stream ? cuStreamSynchronize(NULL) : cuCtxSynchronize());
	start = vb_now_ps() - start;
	(void)cuCtxDestroy(context);
	return start;
}

/* Who sleeps is woken by an interrupt, which takes a server 3 us. */
static void sleeps(struct contexts *c)
{
	const uint64_t interrupt = 3000000, spin = waits(CU_CTX_SCHED_SPIN, false);
	const uint64_t of_stream = waits(CU_CTX_SCHED_SPIN, true);
	CUcontext context;
	uint64_t start;

	GPU_CHECK(c, waits(CU_CTX_SCHED_BLOCKING_SYNC, false) == spin + interrupt,
		  "a context that blocks is woken by an interrupt");
	GPU_CHECK(c, waits(CU_CTX_SCHED_BLOCKING_SYNC, true) == of_stream + interrupt,
		  "as for a stream of it");
	GPU_CHECK(c, waits(CU_CTX_SCHED_YIELD, false) == spin, "one that yields is not");
	(void)cuCtxCreate(&context, NULL, CU_CTX_SCHED_BLOCKING_SYNC, 0);
	start = vb_now_ps();
	(void)cuCtxSynchronize();
	(void)cuStreamSynchronize(NULL);
	GPU_CHECK(c, vb_now_ps() - start < interrupt, "nor one that has nothing to wait for");
	(void)cuCtxDestroy(context);
}

/* What each call says of what a context had that is over. */
static void tells(struct contexts *c, void *pinned, CUmodule module, CUfunction fill)
{
	uint64_t address = 0, count = 0;
	unsigned long long id = 0;
	unsigned int version = 0;
	uint32_t value = 0;

	GPU_CHECK(c,
		  cuMemFreeHost(pinned) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemHostUnregister(own_pages) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
		  "it has no memory of the host any more");
	GPU_CHECK(c,
		  cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL,
				 (void *[]){&address, &value, &count},
				 NULL) == CUDA_ERROR_INVALID_HANDLE &&
			  cuModuleGetFunction(&fill, module, "vb_fill") ==
				  CUDA_ERROR_CONTEXT_IS_DESTROYED &&
			  cuModuleUnload(module) == CUDA_ERROR_CONTEXT_IS_DESTROYED,
		  "its kernels are over with it");
	GPU_CHECK(c,
		  cuCtxGetId(c->second, &id) == CUDA_ERROR_CONTEXT_IS_DESTROYED &&
			  cuCtxGetApiVersion(c->second, &version) == CUDA_ERROR_INVALID_CONTEXT &&
			  cuCtxEnablePeerAccess(c->second, 1) == CUDA_ERROR_INVALID_VALUE,
		  "each call has its own word for that");
}

/* What goes with a context. */
static void ends(struct contexts *c)
{
	CUfunction fill = NULL;
	void *pinned = NULL;
	CUmodule module;
	CUdeviceptr memory;
	size_t before = 0, after = 0;
	CUstream stream;
	CUevent event;

	(void)cuMemGetInfo(&before, NULL);
	(void)cuCtxPushCurrent(c->second);
	(void)cuMemAlloc(&memory, 2 * BLOCK);
	(void)cuStreamCreate(&stream, 0);
	(void)cuEventCreate(&event, 0);
	(void)cuMemAllocHost(&pinned, sizeof(own_pages));
	(void)cuMemHostRegister(own_pages, sizeof(own_pages), 0);
	(void)cuModuleLoadData(&module, VB_KERNELS_PTX);
	(void)cuModuleGetFunction(&fill, module, "vb_fill");
	(void)cuMemsetD8Async(memory, 1, 2 * BLOCK, stream);
	GPU_CHECK(c, cuCtxDestroy(NULL) == CUDA_ERROR_INVALID_VALUE, "no context");
	GPU_CHECK(c, cuCtxDestroy(c->primary) == CUDA_ERROR_INVALID_CONTEXT,
		  "the primary one is not destroyed so");
	GPU_CHECK(c, cuCtxDestroy(c->second) == CUDA_SUCCESS, "the other one is");
	GPU_CHECK(c, current() == c->primary, "below it was the first");
	GPU_CHECK(c,
		  cuCtxDestroy(c->second) == CUDA_ERROR_INVALID_CONTEXT &&
			  cuCtxEnablePeerAccess(c->second, 0) == CUDA_ERROR_CONTEXT_IS_DESTROYED,
		  "once");
	(void)cuMemGetInfo(&after, NULL);
	/* More where a context itself takes some. */
	GPU_CHECK(c, after >= before, "its memory is free");
	GPU_CHECK(c, cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE, "and unknown");
	GPU_CHECK(c, cuStreamQuery(stream) == CUDA_ERROR_INVALID_HANDLE, "as its streams are");
	GPU_CHECK(c, cuEventQuery(event) == CUDA_ERROR_CONTEXT_IS_DESTROYED,
		  "its events are over with it");
	tells(c, pinned, module, fill);
	GPU_CHECK(c, cuCtxSetCurrent(c->second) == CUDA_SUCCESS, "it can be current");
	GPU_CHECK(c, cuMemAlloc(&memory, 1) == CUDA_ERROR_CONTEXT_IS_DESTROYED,
		  "and gives nothing");
	(void)cuCtxSetCurrent(c->primary);
}

int prog_main(const struct vb_prog *prog)
{
	struct contexts c = {.prog = prog};

	if (!prog_takes(prog, "") || !gpu_open(prog, 0))
		return -1;
	c.primary = current();
	creates(&c);
	shares(&c);
	gives_back(&c);
	sleeps(&c);
	ends(&c);
	return c.failed == 0 ? 0 : -1;
}
