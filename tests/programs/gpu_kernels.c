/* SPDX-License-Identifier: BSD-2-Clause */

/* Kernels: order, codes, faults and results, each rank by itself; a line for each check, "ok" or
 * "not". fault=0: which fault ends it: 0 memory of the host that is not pinned, 1 what was given
 * back, 2 a peer's, 3 a trap. Needs two GPUs that reach each other. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 5000, BYTES = 4 * COUNT };

/* What a compiler makes of kernels, but for what they do. */
static const char ptx[] = ".version 8.0 // of CUDA 12\n.target sm_90, debug\n.address_size 64\n"
			  ".visible .entry twice(\n\t.param .u64 .ptr .global .align 4 at,\n"
			  "\t.param .u32 count)\n{\n\tret;\n}\n"
			  ".entry mixed(.param .u8 a, .param .align 8 .b8 b[16], .param .u16 c,\n"
			  "\t.param .u64 to) { ret; }\n"
			  "/* .entry hidden() */ .entry slow(.param .u64 to) { ret; }\n"
			  ".entry stray(.param .u64 at) { ret; } .entry trap { ret; }\n"
			  ".visible .entry unknown() { ret; }";

struct kernels {
	const struct vb_prog *prog;
	CUcontext contexts[2];
	CUdeviceptr a, b, other;  /* BYTES each; of the second GPU */
	uint32_t *pinned, *plain; /* BYTES each */
	CUstream s, t;
	CUmodule builtin, own;
	int failed;
};

/* ---- kernels of our own ---- */

static uint64_t word_of(const struct vb_launch *launch, unsigned int nth)
{
	uint64_t value = 0;

	memcpy(&value, launch->args[nth], launch->arg_bytes[nth]);
	return value;
}

static void twice(struct vb_launch *launch)
{
	const uint64_t at = word_of(launch, 0);

	for (uint64_t i = 0; i < word_of(launch, 1); i++) {
		uint32_t value;

		if (vb_kernel_read(launch, &value, at + 4 * i, 4) != 0)
			return;
		value *= 2;
		(void)vb_kernel_write(launch, at + 4 * i, &value, 4);
	}
}

/* What it was given, one after the other; and that it sees what it has written. */
static void mixed(struct vb_launch *launch)
{
	uint8_t seen[1 + 16 + 2];
	const uint64_t to = word_of(launch, 3);

	memcpy(seen, launch->args[0], 1);
	memcpy(seen + 1, launch->args[1], 16);
	memcpy(seen + 17, launch->args[2], 2);
	(void)vb_kernel_write(launch, to, seen, sizeof(seen));
	memset(seen, 0, sizeof(seen));
	(void)vb_kernel_read(launch, seen, to, sizeof(seen));
	(void)vb_kernel_write(launch, to + 32, seen, sizeof(seen));
}

/* 1 ms. */
static void slow(struct vb_launch *launch)
{
	const uint32_t value = launch->grid[0] * launch->block[0] + launch->shared_bytes;

	vb_kernel_busy_ns(launch, 1000000);
	(void)vb_kernel_write(launch, word_of(launch, 0), &value, 4);
}

static void stray(struct vb_launch *launch)
{
	uint32_t value = 5;

	(void)vb_kernel_write(launch, word_of(launch, 0), &value, 4);
}

static void trap(struct vb_launch *launch)
{
	vb_kernel_trap(launch);
}

/* ---- launches ---- */

static CUfunction named(struct kernels *k, CUmodule module, const char *name)
{
	CUfunction function = NULL;

	(void)GPU_DO(k->prog, cuModuleGetFunction(&function, module, name));
	return function;
}

static CUresult start(struct kernels *k, CUmodule module, const char *name, CUstream stream,
		      void **args)
{
	return cuLaunchKernel(named(k, module, name), 4, 1, 1, 256, 1, 1, 0, stream, args, NULL);
}

#define ARGS(...) ((void *[]){__VA_ARGS__})

static uint32_t value_at(CUdeviceptr at)
{
	uint32_t value = 0;

	(void)cuMemcpyDtoH(&value, at, sizeof(value));
	return value;
}

static void set_plain(struct kernels *k, CUdeviceptr at, uint32_t seed)
{
	for (uint32_t i = 0; i < COUNT; i++)
		k->plain[i] = i * 2654435761u + seed;
	(void)cuMemcpyHtoD(at, k->plain, BYTES);
	(void)cuCtxSynchronize();
}

static bool has_words(struct kernels *k, CUdeviceptr at, uint32_t factor, uint32_t seed)
{
	(void)cuMemcpyDtoH(k->plain, at, BYTES);
	for (uint32_t i = 0; i < COUNT; i++)
		if (k->plain[i] != factor * (i * 2654435761u) + seed)
			return false;
	return true;
}

static void results(struct kernels *k)
{
	uint64_t count = COUNT, bytes = BYTES - 3, differ = 0;
	uint32_t number = COUNT, value = 77;
	CUdeviceptr host = (CUdeviceptr)(uintptr_t)k->pinned;

	set_plain(k, k->a, 3);
	(void)start(k, k->own, "twice", k->s, ARGS(&k->a, &number));
	(void)cuStreamSynchronize(k->s);
	GPU_CHECK(k, has_words(k, k->a, 2, 6), "a kernel of the program's own does what it says");
	set_plain(k, k->b, 1);
	(void)start(k, k->builtin, "vb_reduce_u32", k->s, ARGS(&k->a, &k->b, &count));
	(void)cuStreamSynchronize(k->s);
	GPU_CHECK(k, has_words(k, k->a, 3, 7), "words are added");
	bytes = BYTES;
	(void)start(k, k->builtin, "vb_copy", k->s, ARGS(&host, &k->a, &bytes));
	(void)cuStreamSynchronize(k->s);
	GPU_CHECK(k, k->pinned[COUNT - 1] == 3 * ((COUNT - 1) * 2654435761u) + 7,
		  "bytes are copied, to the host as well");
	k->pinned[9] ^= 0x01000001;
	(void)start(k, k->builtin, "vb_compare", k->s, ARGS(&host, &k->a, &bytes, &k->b));
	(void)cuStreamSynchronize(k->s);
	(void)cuMemcpyDtoH(&differ, k->b, 8);
	GPU_CHECK(k, differ == 2, "bytes are compared");
	count = COUNT - 1;
	(void)start(k, k->builtin, "vb_fill", k->s, ARGS(&k->a, &value, &count));
	(void)cuStreamSynchronize(k->s);
	GPU_CHECK(k,
		  value_at(k->a) == 77 && value_at(k->a + BYTES - 8) == 77 &&
			  value_at(k->a + BYTES - 4) == 3 * ((COUNT - 1) * 2654435761u) + 7,
		  "words are set, and no more");
}

static void floats(struct kernels *k)
{
	float *x = (float *)(void *)k->plain, y[COUNT], factor = 0.3f;
	uint64_t count = COUNT;
	bool is_same = true;

	for (int i = 0; i < COUNT; i++)
		x[i] = (float)(i - 7) / 3;
	(void)cuMemcpyHtoD(k->a, x, BYTES);
	for (int i = 0; i < COUNT; i++)
		x[i] = 1 / (float)(i + 1);
	(void)cuMemcpyHtoD(k->b, x, BYTES);
	(void)start(k, k->builtin, "vb_axpy", NULL, ARGS(&k->a, &k->b, &factor, &count));
	(void)start(k, k->builtin, "vb_reduce_f32", NULL, ARGS(&k->a, &k->b, &count));
	(void)cuMemcpyDtoH(y, k->a, BYTES);
	for (int i = 0; i < COUNT; i++) {
		const float product = factor * x[i];
		float sum = (float)(i - 7) / 3;

		sum += product;
		sum += x[i];
		is_same &= memcmp(&sum, &y[i], sizeof(sum)) == 0;
	}
	GPU_CHECK(k, is_same, "floats are scaled and added as the host does it");
}

static void arguments(struct kernels *k)
{
	uint8_t a = 0xa1, b[16] = "fifteen letters", seen[64];
	uint16_t c = 0xc3c4;
	struct {
		uint8_t a;
		_Alignas(8) uint8_t b[16];
		_Alignas(2) uint16_t c;
		_Alignas(8) CUdeviceptr to;
	} buffer = {.a = 0xa2, .b = "another fifteen", .c = 0xd5d6, .to = k->a};
	size_t bytes = sizeof(buffer);
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &bytes, CU_LAUNCH_PARAM_END};
	CUfunction function = named(k, k->own, "mixed");

	(void)start(k, k->own, "mixed", NULL, ARGS(&a, b, &c, &k->a));
	a = 0;
	memset(b, 0, sizeof(b));
	(void)cuMemcpyDtoH(seen, k->a, sizeof(seen));
	GPU_CHECK(k,
		  seen[0] == 0xa1 && memcmp(seen + 1, "fifteen letters", 16) == 0 &&
			  memcmp(seen + 17, &c, 2) == 0,
		  "each argument is taken at the call");
	GPU_CHECK(k, memcmp(seen, seen + 32, 19) == 0, "a kernel sees what it has written");
	GPU_CHECK(
		k,
		cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) == CUDA_SUCCESS &&
			cuMemcpyDtoH(seen, k->a, 19) == CUDA_SUCCESS && seen[0] == 0xa2 &&
			memcmp(seen + 1, buffer.b, 16) == 0 && memcmp(seen + 17, &buffer.c, 2) == 0,
		"or all of them from one buffer");
	buffer.a = 0xa3;
	bytes--;
	GPU_CHECK(k,
		  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) ==
				  CUDA_SUCCESS &&
			  cuMemcpyDtoH(seen, k->a, 1) == CUDA_SUCCESS && seen[0] == 0xa3,
		  "which may be short");
	bytes += 2;
	GPU_CHECK(k,
		  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) ==
			  CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
		  "but not long");
	extra[2] = CU_LAUNCH_PARAM_END;
	GPU_CHECK(k,
		  cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "and has a size");
}

static uint64_t until(CUstream stream, uint64_t began)
{
	(void)cuStreamSynchronize(stream);
	return vb_now_ps() - began;
}

static void order(struct kernels *k)
{
	const uint64_t ms = 1000000000;
	CUdeviceptr host = (CUdeviceptr)(uintptr_t)k->pinned;
	uint64_t began = vb_now_ps(), count = 1;
	uint32_t one = 1;

	k->pinned[0] = 0;
	(void)start(k, k->own, "slow", k->s, ARGS(&host));
	GPU_CHECK(k, cuStreamQuery(k->s) == CUDA_ERROR_NOT_READY && vb_now_ps() - began < ms / 10,
		  "a launch returns at once");
	k->prog->sleep_ns(k->prog, 900000);
	GPU_CHECK(k, k->pinned[0] == 0, "what a kernel writes is not there before it ends");
	began = until(k->s, began);
	GPU_CHECK(k, k->pinned[0] == 1024 && began > ms && began < ms + ms / 50, "but then");
	began = vb_now_ps();
	(void)start(k, k->own, "slow", k->s, ARGS(&host));
	(void)start(k, k->builtin, "vb_fill", k->s, ARGS(&host, &one, &count));
	(void)start(k, k->own, "slow", k->s, ARGS(&k->a));
	began = until(k->s, began);
	GPU_CHECK(k, k->pinned[0] == 1 && began > 2 * ms && began < 2 * ms + ms / 25,
		  "in a stream one goes after the other");
	began = vb_now_ps();
	(void)start(k, k->own, "slow", k->s, ARGS(&host));
	(void)start(k, k->own, "slow", k->t, ARGS(&k->a));
	(void)cuStreamSynchronize(k->t);
	began = until(k->s, began);
	GPU_CHECK(k, began > ms && began < ms + ms / 25, "two streams go side by side");
	began = vb_now_ps();
	(void)start(k, k->own, "slow", NULL, ARGS(&host));
	(void)cuModuleUnload(k->own);
	(void)cuModuleLoadData(&k->own, ptx);
	GPU_CHECK(k, cuStreamQuery(NULL) == CUDA_SUCCESS, "loading a module waits for kernels");
}

static void flags(struct kernels *k)
{
	CUdeviceptr host = (CUdeviceptr)(uintptr_t)k->pinned;
	uint32_t value = 9;

	memset(k->pinned, 0, 64);
	(void)cuMemsetD8(k->a, 0, 64);
	(void)start(k, k->builtin, "vb_flag_wait", k->s, ARGS(&host, &value));
	k->prog->sleep_ns(k->prog, 100000);
	GPU_CHECK(k, cuStreamQuery(k->s) == CUDA_ERROR_NOT_READY, "a kernel waits for a flag");
	k->pinned[0] = 8;
	k->prog->sleep_ns(k->prog, 100000);
	GPU_CHECK(k, cuStreamQuery(k->s) == CUDA_ERROR_NOT_READY, "and for no other value");
	k->pinned[0] = 10;
	GPU_CHECK(k, until(k->s, vb_now_ps()) < 10000000, "but also for one behind it");
	(void)start(k, k->builtin, "vb_flag_wait", k->s, ARGS(&k->a, &value));
	(void)start(k, k->builtin, "vb_flag_set", k->t, ARGS(&k->a, &value));
	GPU_CHECK(k, until(k->s, vb_now_ps()) < 20000000, "another kernel may set it");
}

/* As measured. */
static void codes(struct kernels *k)
{
	CUfunction f = named(k, k->own, "slow"), twice_of = named(k, k->own, "twice"), none;
	void **args = ARGS(&k->a);
	CUmodule module;
	int value = 0;

#define LAUNCH(x, y, z, a, b, c, shared, params)                                                   \
	cuLaunchKernel(f, x, y, z, a, b, c, shared, NULL, params, NULL)
	GPU_CHECK(k,
		  LAUNCH(1, 1, 1, 0, 1, 1, 0, args) == CUDA_ERROR_INVALID_VALUE &&
			  LAUNCH(1, 1, 1, 1025, 1, 1, 0, args) == CUDA_ERROR_INVALID_VALUE &&
			  LAUNCH(1, 1, 1, 32, 33, 1, 0, args) == CUDA_ERROR_INVALID_VALUE &&
			  LAUNCH(1, 1, 1, 1, 1, 65, 0, args) == CUDA_ERROR_INVALID_VALUE,
		  "no such block");
	GPU_CHECK(k,
		  LAUNCH(1u << 31, 1, 1, 1, 1, 1, 0, args) == CUDA_ERROR_INVALID_VALUE &&
			  LAUNCH(1, 65536, 1, 1, 1, 1, 0, args) == CUDA_ERROR_INVALID_VALUE &&
			  LAUNCH(0, 1, 1, 1, 1, 1, 0, args) == CUDA_ERROR_INVALID_VALUE,
		  "no such grid");
	GPU_CHECK(k,
		  LAUNCH(1, 1, 1, 1, 1, 1, 49153, args) == CUDA_ERROR_INVALID_VALUE &&
			  cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					     232449) == CUDA_ERROR_INVALID_VALUE &&
			  cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
					     65536) == CUDA_SUCCESS &&
			  LAUNCH(1, 1, 1, 1, 1, 1, 49153, args) == CUDA_SUCCESS,
		  "no more shared memory than that");
	GPU_CHECK(k, LAUNCH(1, 1, 1, 1, 1, 1, 0, NULL) == CUDA_ERROR_INVALID_VALUE,
		  "arguments miss");
	f = NULL;
	GPU_CHECK(k, LAUNCH(1, 1, 1, 1, 1, 1, 0, args) == CUDA_ERROR_INVALID_HANDLE, "no function");
#undef LAUNCH
	GPU_CHECK(k,
		  cuLaunchCooperativeKernel(twice_of, 265, 1, 1, 1024, 1, 1, 0, NULL,
					    ARGS(&k->a, &value)) ==
				  CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE &&
			  cuLaunchCooperativeKernel(twice_of, 264, 1, 1, 1024, 1, 1, 0, NULL,
						    ARGS(&k->a, &value)) == CUDA_SUCCESS,
		  "a cooperative one is not too large");
	GPU_CHECK(k,
		  cuModuleLoadData(&module, "rubbish") == CUDA_ERROR_INVALID_IMAGE &&
			  cuModuleLoadData(&module, "") == CUDA_ERROR_INVALID_IMAGE &&
			  cuModuleLoadData(&module, "\177ELF") == CUDA_ERROR_INVALID_IMAGE,
		  "no image");
	GPU_CHECK(k,
		  cuModuleLoadData(&module, ".version 9.1\n.target sm_50") ==
				  CUDA_ERROR_UNSUPPORTED_PTX_VERSION &&
			  cuModuleLoadData(&module, ".version 9.0\n.target sm_120") ==
				  CUDA_ERROR_INVALID_PTX &&
			  cuModuleLoadData(&module,
					   ".version 9.0\n.target sm_90\n.entry x(.param y)") ==
				  CUDA_ERROR_INVALID_PTX,
		  "no PTX of tomorrow, and no other");
	GPU_CHECK(k,
		  cuModuleGetFunction(&none, k->own, "hidden") == CUDA_ERROR_NOT_FOUND &&
			  cuModuleGetFunction(&none, k->own, NULL) == CUDA_ERROR_INVALID_VALUE &&
			  cuModuleUnload(NULL) == CUDA_ERROR_INVALID_HANDLE,
		  "no such function, no such module");
	GPU_CHECK(k,
		  cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_PTX_VERSION, twice_of) ==
				  CUDA_SUCCESS &&
			  value == 90 &&
			  cuFuncGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK,
					     twice_of) == CUDA_SUCCESS &&
			  value == 1024,
		  "functions have attributes");
	GPU_CHECK(k,
		  start(k, k->own, "unknown", NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED &&
			  start(k, k->own, "unknown", NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED,
		  "what nobody has registered is not run");
	GPU_CHECK(k,
		  cuModuleLoadData(&module, ptx) == CUDA_SUCCESS &&
			  cuModuleGetFunction(&f, module, "slow") == CUDA_SUCCESS &&
			  cuModuleUnload(module) == CUDA_SUCCESS &&
			  cuModuleUnload(module) == CUDA_ERROR_INVALID_HANDLE &&
			  cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) ==
				  CUDA_ERROR_INVALID_HANDLE,
		  "a module that is gone takes its functions along");
	(void)cuCtxSynchronize();
}

static void peers(struct kernels *k)
{
	uint64_t count = COUNT;
	int can = 0;

	GPU_CHECK(k,
		  cuDeviceCanAccessPeer(&can, 0, 1) == CUDA_SUCCESS && can == 1 &&
			  cuDeviceCanAccessPeer(&can, 0, 0) == CUDA_SUCCESS && can == 0,
		  "one GPU can reach the other, and not itself");
	GPU_CHECK(k,
		  cuCtxEnablePeerAccess(k->contexts[0], 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED &&
			  cuCtxEnablePeerAccess(NULL, 0) == CUDA_ERROR_INVALID_CONTEXT &&
			  cuCtxEnablePeerAccess(k->contexts[1], 1) == CUDA_ERROR_INVALID_VALUE &&
			  cuCtxDisablePeerAccess(k->contexts[1]) ==
				  CUDA_ERROR_PEER_ACCESS_NOT_ENABLED,
		  "access is enabled to another one");
	GPU_CHECK(k,
		  cuCtxEnablePeerAccess(k->contexts[1], 0) == CUDA_SUCCESS &&
			  cuCtxEnablePeerAccess(k->contexts[1], 0) ==
				  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED,
		  "once");
	set_plain(k, k->other, 11);
	set_plain(k, k->a, 4);
	(void)start(k, k->builtin, "vb_reduce_u32", k->s, ARGS(&k->other, &k->a, &count));
	(void)cuStreamSynchronize(k->s);
	GPU_CHECK(k, has_words(k, k->other, 2, 15), "and a kernel reads and writes there");
	GPU_CHECK(k, cuCtxDisablePeerAccess(k->contexts[1]) == CUDA_SUCCESS,
		  "until it is disabled");
}

/* What a kernel that fails makes of its context. */
static void faults(struct kernels *k, int which)
{
	CUdeviceptr freed, at[] = {(CUdeviceptr)(uintptr_t)k->plain, 0, k->other};
	const CUresult code = which == 3 ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_ADDRESS;
	CUdeviceptr more = 0;
	CUcontext context;
	CUdevice device;
	CUevent event;
	uint64_t took;

	(void)cuMemAlloc(&freed, 16 << 20);
	(void)cuMemFree(freed);
	at[1] = freed;
	(void)cuEventCreate(&event, 0);
	k->plain[0] = 1;
	took = vb_now_ps();
	GPU_CHECK(k,
		  start(k, k->own, which == 3 ? "trap" : "stray", k->s,
			which == 3 ? NULL : ARGS(&at[which])) == CUDA_SUCCESS &&
			  start(k, k->own, "slow", k->t, ARGS(&k->a)) == CUDA_SUCCESS &&
			  cuEventRecord(event, k->s) == CUDA_SUCCESS &&
			  cuStreamQuery(k->s) == CUDA_ERROR_NOT_READY,
		  "a kernel that fails is launched as others are");
	GPU_CHECK(k, cuStreamSynchronize(k->s) == code, "whoever waits for it hears of it");
	took = vb_now_ps() - took;
	GPU_CHECK(k, took > 106000000000 && took < 184000000000, "a tenth of a second later");
	GPU_CHECK(k,
		  cuMemAlloc(&more, 1) == code && cuStreamSynchronize(k->s) == code &&
			  cuMemFree(k->a) == code && cuStreamQuery(k->t) == code &&
			  cuEventQuery(event) == code && cuEventSynchronize(event) == code &&
			  cuCtxSynchronize() == code && cuMemFreeHost(k->pinned) == code &&
			  cuModuleUnload(k->own) == code &&
			  cuMemcpyDtoH(k->plain, k->a, 4) == code &&
			  cuDevicePrimaryCtxRetain(&context, 0) == code &&
			  cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, k->t, NULL, NULL) == code,
		  "and so does every call that touches the context");
	GPU_CHECK(k,
		  cuDeviceGet(&device, 0) == CUDA_SUCCESS &&
			  cuCtxGetCurrent(&context) == CUDA_SUCCESS &&
			  cuCtxSetCurrent(k->contexts[0]) == CUDA_SUCCESS &&
			  cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, k->a) ==
				  CUDA_SUCCESS,
		  "but no other");
	GPU_CHECK(k, k->plain[0] == 1, "it has written nothing");
	GPU_CHECK(k,
		  cuCtxSetCurrent(k->contexts[1]) == CUDA_SUCCESS &&
			  cuMemcpyDtoH(k->plain, k->other, 4) == CUDA_SUCCESS,
		  "another GPU's context goes on");
}

static bool open_all(struct kernels *k)
{
	const struct vb_prog *prog = k->prog;

	return gpu_open(prog, 1) && GPU_DO(prog, cuCtxGetCurrent(&k->contexts[1])) &&
	       GPU_DO(prog, cuMemAlloc(&k->other, BYTES)) && gpu_open(prog, 0) &&
	       GPU_DO(prog, cuCtxGetCurrent(&k->contexts[0])) &&
	       GPU_DO(prog, cuMemAlloc(&k->a, BYTES)) && GPU_DO(prog, cuMemAlloc(&k->b, BYTES)) &&
	       GPU_DO(prog, cuMemHostRegister(k->pinned, BYTES, 0)) &&
	       GPU_DO(prog, cuStreamCreate(&k->s, CU_STREAM_NON_BLOCKING)) &&
	       GPU_DO(prog, cuStreamCreate(&k->t, CU_STREAM_NON_BLOCKING)) &&
	       GPU_DO(prog, cuModuleLoadData(&k->builtin, VB_KERNELS_PTX)) &&
	       GPU_DO(prog, cuModuleLoadData(&k->own, ptx)) && vb_kernel("twice", twice) == 0 &&
	       vb_kernel("mixed", mixed) == 0 && vb_kernel("slow", slow) == 0 &&
	       vb_kernel("stray", trap) == 0 && vb_kernel("stray", stray) == 0 &&
	       vb_kernel("trap", trap) == 0 && vb_kernel(NULL, trap) != 0;
}

int prog_main(const struct vb_prog *prog)
{
	/* The program's own: a context that is lost gives nothing back. */
	struct kernels k = {.prog = prog, .plain = calloc(1, BYTES), .pinned = calloc(1, BYTES)};

	if (!prog_takes(prog, "fault") || !k.plain || !k.pinned || !open_all(&k)) {
		free(k.pinned);
		free(k.plain);
		return -1;
	}
	results(&k);
	floats(&k);
	arguments(&k);
	order(&k);
	flags(&k);
	codes(&k);
	peers(&k);
	faults(&k, (int)prog_arg(prog, "fault", 0));
	free(k.pinned);
	free(k.plain);
	return k.failed == 0 ? 0 : -1;
}
