/* SPDX-License-Identifier: BSD-2-Clause */

/* A ring of the programs of one machine: each passes a handle of its memory and one of an event to
 * the next, which reads its neighbour's memory. Codes and times as measured on an H100 (driver
 * 580.159.04). A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 2 << 20, BYTES = 3 * BLOCK, SMALL = 4000 };

struct passed {
	CUipcMemHandle memory, interior, small;
	CUipcEventHandle event;
	CUdeviceptr address, small_address;
};

struct ipc {
	const struct vb_prog *prog;
	CUdeviceptr memory, small;
	CUevent event;
	uint8_t *bytes;
	struct passed own, theirs;
	int failed;
};

static void exports(struct ipc *i)
{
	CUdeviceptr address;
	CUevent event, plain;
	void *pinned;
	uint64_t before = vb_now_ps();

	(void)cuMemAllocHost(&pinned, SMALL);
	(void)cuEventCreate(&plain, CU_EVENT_DISABLE_TIMING);
	before = vb_now_ps();
	GPU_CHECK(i,
		  cuIpcGetMemHandle(&i->own.memory, i->memory) == CUDA_SUCCESS &&
			  gpu_took(before, 19, 25),
		  "memory has a handle, after 22 us");
	before = vb_now_ps();
	GPU_CHECK(i,
		  cuIpcGetMemHandle(&i->own.interior, i->memory + BLOCK + 5) == CUDA_SUCCESS &&
			  gpu_took(before, 0, 1),
		  "what lies in it as well, at once");
	GPU_CHECK(i, memcmp(&i->own.memory, &i->own.interior, sizeof(i->own.memory)) == 0,
		  "the same one");
	GPU_CHECK(i, cuIpcGetMemHandle(&i->own.small, i->small) == CUDA_SUCCESS,
		  "as has a small one");
	GPU_CHECK(i,
		  cuIpcGetMemHandle(&i->own.small, (CUdeviceptr)(uintptr_t)pinned) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuIpcGetMemHandle(&i->own.small, (CUdeviceptr)(uintptr_t)i->bytes) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "no memory of the host");
	GPU_CHECK(i,
		  cuIpcOpenMemHandle(&address, i->own.memory, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS) ==
			  CUDA_ERROR_INVALID_CONTEXT,
		  "nobody opens his own");
	GPU_CHECK(i, cuIpcGetEventHandle(&i->own.event, plain) == CUDA_ERROR_INVALID_HANDLE,
		  "an event that is not for others has none");
	GPU_CHECK(i, cuIpcGetEventHandle(&i->own.event, i->event) == CUDA_SUCCESS, "the other has");
	GPU_CHECK(i, cuIpcOpenEventHandle(&event, i->own.event) == CUDA_ERROR_INVALID_CONTEXT,
		  "for others");
	(void)cuMemFreeHost(pinned);
}

static int pass(struct ipc *i)
{
	const struct vb_prog *prog = i->prog;
	char key[32];

	(void)snprintf(key, sizeof(key), "handle %d", prog->rank);
	if (prog->put(prog, key, &i->own, sizeof(i->own)) != 0)
		return -1;
	(void)snprintf(key, sizeof(key), "handle %d", (prog->rank + prog->size - 1) % prog->size);
	return prog->get(prog, key, &i->theirs, sizeof(i->theirs)) == 0 ? 0 : -1;
}

static CUresult open_it(CUdeviceptr *ret_address, CUipcMemHandle handle)
{
	*ret_address = 0;
	return cuIpcOpenMemHandle(ret_address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

static int attribute(CUpointer_attribute what, CUdeviceptr address)
{
	int value = 0;

	return cuPointerGetAttribute(&value, what, address) == CUDA_SUCCESS ? value & 0xff : -1;
}

static void refuses(struct ipc *i, CUdeviceptr import)
{
	CUipcMemHandle handle;
	CUdeviceptr address;
	int fd;

	GPU_CHECK(i,
		  i->theirs.address == i->memory || cuMemcpyDtoH(i->bytes, i->theirs.address,
								 BLOCK) == CUDA_ERROR_INVALID_VALUE,
		  "another program's address is none here");
	GPU_CHECK(i, cuMemcpyDtoH(i->bytes, import + 1, BYTES) == CUDA_ERROR_INVALID_VALUE,
		  "nobody reads past what was asked for");
	GPU_CHECK(i, cuMemFree(import) == CUDA_ERROR_INVALID_VALUE, "an import is not given back");
	GPU_CHECK(i, cuIpcGetMemHandle(&handle, import) == CUDA_ERROR_INVALID_VALUE,
		  "nor exported once more");
	GPU_CHECK(i,
		  cuMemGetHandleForAddressRange(&fd, import, BLOCK,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						0) == CUDA_ERROR_INVALID_VALUE,
		  "nor as a dma-buf");
	GPU_CHECK(i,
		  attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, import) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, import) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, import) == 2 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, i->memory) ==
				  1,
		  "and says so");
	memset(&handle, 0, sizeof(handle));
	GPU_CHECK(i, open_it(&address, handle) == CUDA_ERROR_INVALID_VALUE, "zeroes are no handle");
	memset(&handle, 0x5a, sizeof(handle));
	GPU_CHECK(i, open_it(&address, handle) == CUDA_ERROR_INVALID_VALUE, "nor is rubbish");
	GPU_CHECK(i, cuIpcOpenMemHandle(&address, i->theirs.memory, 0) == CUDA_ERROR_INVALID_VALUE,
		  "without a flag nothing opens");
	GPU_CHECK(i, cuIpcCloseMemHandle(0) == CUDA_ERROR_INVALID_VALUE, "nothing is not closed");
}

/* Each rank has the same addresses each time: one after the other. */
static CUresult take_in_turn(struct ipc *i, const char *when)
{
	CUresult ret = CUDA_SUCCESS;
	char key[32];

	for (int rank = 0; rank < i->prog->size; rank++) {
		if (rank == i->prog->rank)
			ret = cuMemAlloc(&i->memory, BYTES);
		(void)snprintf(key, sizeof(key), "%s %d", when, rank);
		(void)prog_barrier(i->prog, key);
	}
	return ret;
}

static void imports(struct ipc *i)
{
	const struct vb_prog *prog = i->prog;
	const int from = (prog->rank + prog->size - 1) % prog->size;
	CUdeviceptr import, again, small;
	uint64_t before = vb_now_ps();
	size_t bytes = 0;
	CUevent event;

	GPU_CHECK(i,
		  open_it(&import, i->theirs.memory) == CUDA_SUCCESS && gpu_took(before, 210, 270),
		  "a neighbour's memory is opened, the first after 241 us");
	GPU_CHECK(i, import != i->theirs.address && import % BLOCK == i->theirs.address % BLOCK,
		  "elsewhere");
	GPU_CHECK(i, open_it(&again, i->theirs.interior) == CUDA_SUCCESS && again == import,
		  "the same once more");
	before = vb_now_ps();
	GPU_CHECK(i, open_it(&small, i->theirs.small) == CUDA_SUCCESS && gpu_took(before, 38, 46),
		  "another one after 42 us");
	GPU_CHECK(i, small % BLOCK == i->theirs.small_address % BLOCK, "at its place in its block");
	GPU_CHECK(i, cuMemGetAddressRange(NULL, &bytes, small) == CUDA_SUCCESS && bytes == SMALL,
		  "as large as it is");
	GPU_CHECK(i, cuIpcOpenEventHandle(&event, i->theirs.event) == CUDA_SUCCESS, "and an event");
	GPU_CHECK(i, cuStreamWaitEvent(NULL, event, 0) == CUDA_SUCCESS, "which a stream waits for");
	GPU_CHECK(i,
		  cuMemcpyDtoH(i->bytes, import, BYTES) == CUDA_SUCCESS &&
			  prog_check(prog, "read", i->bytes, BYTES, (uint64_t)from) == 0,
		  "it has the neighbour's bytes");
	GPU_CHECK(i, cuEventElapsedTime(&(float){0}, event, event) == CUDA_ERROR_INVALID_HANDLE,
		  "the event has no time");
	refuses(i, import);
	(void)cuMemsetD8(import + BYTES - 1, (unsigned char)(200 + prog->rank), 1);
	(void)cuCtxSynchronize();
	GPU_CHECK(i, prog_barrier(prog, "written") == 0, "what is written there");
	(void)cuMemcpyDtoH(i->bytes, i->memory + BYTES - 1, 1);
	GPU_CHECK(i, i->bytes[0] == 200 + (prog->rank + 1) % prog->size, "is the neighbour's");
	GPU_CHECK(i, cuIpcCloseMemHandle(import) == CUDA_SUCCESS,
		  "it is closed as often as opened");
	GPU_CHECK(i, cuMemcpyDtoH(i->bytes, import, 1) == CUDA_SUCCESS, "and there till then");
	(void)prog_barrier(prog, "before");
	bytes = gpu_free_bytes();
	(void)prog_barrier(prog, "free");
	GPU_CHECK(i, cuMemFree(i->memory) == CUDA_SUCCESS, "whoever exported it may free it");
	(void)prog_barrier(prog, "freed");
	GPU_CHECK(i, gpu_free_bytes() == bytes, "and it stays taken");
	GPU_CHECK(i, cuMemcpyDtoH(i->bytes, import, BYTES - 1) == CUDA_SUCCESS, "and readable");
	GPU_CHECK(i,
		  open_it(&again, i->theirs.memory) == CUDA_SUCCESS && again == import &&
			  cuIpcCloseMemHandle(import) == CUDA_SUCCESS,
		  "and is opened once more");
	(void)prog_barrier(prog, "close");
	before = vb_now_ps();
	GPU_CHECK(i, cuIpcCloseMemHandle(import) == CUDA_SUCCESS && gpu_took(before, 28, 34),
		  "until the last closes it, in 31 us");
	GPU_CHECK(i, cuIpcCloseMemHandle(import) == CUDA_ERROR_INVALID_VALUE, "once");
	GPU_CHECK(i, cuMemcpyDtoH(i->bytes, import, 1) == CUDA_ERROR_INVALID_VALUE, "it is gone");
	GPU_CHECK(i, open_it(&again, i->theirs.memory) == CUDA_ERROR_INVALID_VALUE,
		  "and is not opened any more");
	(void)prog_barrier(prog, "closed");
	GPU_CHECK(i, gpu_free_bytes() == bytes + (size_t)prog->size * BYTES, "and free");
	(void)prog_barrier(prog, "counted");
	(void)take_in_turn(i, "anew");
	GPU_CHECK(i, open_it(&import, i->theirs.memory) == CUDA_ERROR_NOT_PERMITTED,
		  "what has its place now was not exported");
	(void)prog_barrier(prog, "refused");
	(void)cuIpcGetMemHandle(&i->own.memory, i->memory);
	(void)prog_barrier(prog, "exported");
	GPU_CHECK(i, open_it(&import, i->theirs.memory) == CUDA_SUCCESS,
		  "and is opened, once it is, with the handle of what lay there before");
	(void)cuIpcCloseMemHandle(import);
	(void)cuIpcCloseMemHandle(small);
	(void)cuEventDestroy(event);
}

/* What the neighbour waits for comes behind what it waits for. */
static int run(struct ipc *i)
{
	const struct vb_prog *prog = i->prog;
	void *pinned;

	if (!gpu_open(prog, 0) || !GPU_DO(prog, take_in_turn(i, "at first")) ||
	    !GPU_DO(prog, cuMemAlloc(&i->small, 512)) ||
	    !GPU_DO(prog, cuMemAlloc(&i->small, SMALL)) ||
	    !GPU_DO(prog, cuMemAllocHost(&pinned, BYTES)) ||
	    !GPU_DO(prog,
		    cuEventCreate(&i->event, CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING)))
		return -1;
	i->own.address = i->memory;
	i->own.small_address = i->small;
	exports(i);
	prog_fill(pinned, BYTES, (uint64_t)prog->rank);
	(void)cuMemcpyHtoDAsync(i->memory, pinned, BYTES, NULL);
	(void)cuEventRecord(i->event, NULL);
	if (pass(i) != 0)
		return -1;
	imports(i);
	return cuMemFreeHost(pinned) == CUDA_SUCCESS ? 0 : -1;
}

int prog_main(const struct vb_prog *prog)
{
	struct ipc ipc = {.prog = prog, .bytes = calloc(1, BYTES)};
	const int ret = ipc.bytes && prog_takes(prog, "") ? run(&ipc) : -1;

	free(ipc.bytes);
	return ret == 0 && ipc.failed == 0 ? 0 : -1;
}
