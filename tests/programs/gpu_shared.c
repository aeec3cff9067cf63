/* SPDX-License-Identifier: BSD-2-Clause */

/* A ring of the programs of one machine: each passes memory to the next by a descriptor, which maps
 * it and reads what its neighbour has written; and several attributes of pointers at once. Codes
 * and times as measured on an H100 (driver 580.159.04). A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK = 2 << 20, BYTES = 2 * BLOCK };

static const CUmemAllocationHandleType as_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

struct shared {
	const struct vb_prog *prog;
	CUmemGenericAllocationHandle handle, plain;
	CUdeviceptr memory;
	int fd, theirs;
	int failed;
};

static CUmemAllocationProp prop_of(CUmemAllocationHandleType types)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				    .requestedHandleTypes = types};

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return prop;
}

static CUdeviceptr map(CUmemGenericAllocationHandle handle)
{
	CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = 0;

	access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	if (cuMemAddressReserve(&address, BYTES, 0, 0, 0) != CUDA_SUCCESS ||
	    cuMemMap(address, BYTES, 0, handle, 0) != CUDA_SUCCESS ||
	    cuMemSetAccess(address, BYTES, &access, 1) != CUDA_SUCCESS)
		return 0;
	return address;
}

static void unmap(CUdeviceptr address)
{
	(void)cuMemUnmap(address, BYTES);
	(void)cuMemAddressFree(address, BYTES);
}

static uint8_t byte_at(CUdeviceptr address)
{
	uint8_t byte = 0;

	(void)cuMemcpyDtoH(&byte, address, 1);
	return byte;
}

static CUresult import_fd(CUmemGenericAllocationHandle *ret_handle, int fd)
{
	return cuMemImportFromShareableHandle(ret_handle, (void *)(intptr_t)fd, as_fd);
}

/* ---- several attributes at once ---- */

struct several {
	CUcontext context;
	CUdeviceptr device;
	void *host;
	unsigned int type;
	int ordinal;
};

static CUresult ask(struct several *ret, CUdeviceptr address)
{
	CUpointer_attribute which[] = {
		CU_POINTER_ATTRIBUTE_CONTEXT, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
		CU_POINTER_ATTRIBUTE_HOST_POINTER, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
		CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};

	memset(ret, 0x5a, sizeof(*ret));
	return cuPointerGetAttributes(
		5, which,
		(void *[]){&ret->context, &ret->device, &ret->host, &ret->type, &ret->ordinal},
		address);
}

static void attributes(struct shared *s)
{
	CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUpointer_attribute)77};
	CUdeviceptr device = 0;
	struct several of;
	CUcontext current;
	void *pinned;
	int local = 0;

	(void)cuCtxGetCurrent(&current);
	(void)cuMemAlloc(&device, 100);
	(void)cuMemAllocHost(&pinned, 100);
	GPU_CHECK(s,
		  ask(&of, device + 5) == CUDA_SUCCESS && of.context == current &&
			  of.device == device + 5 && !of.host && of.type == CU_MEMORYTYPE_DEVICE &&
			  of.ordinal == 0,
		  "all attributes of a pointer, those that it has not are null");
	GPU_CHECK(s,
		  ask(&of, (CUdeviceptr)(uintptr_t)pinned) == CUDA_SUCCESS && of.host == pinned &&
			  of.type == CU_MEMORYTYPE_HOST,
		  "of pinned memory");
	GPU_CHECK(s,
		  ask(&of, (CUdeviceptr)(uintptr_t)&local) == CUDA_SUCCESS && !of.context &&
			  !of.device && !of.host && of.type == 0 && of.ordinal == CU_DEVICE_INVALID,
		  "nothing of what nobody knows, which is no error");
	GPU_CHECK(s,
		  cuPointerGetAttributes(0, which, (void *[]){&local}, device) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuPointerGetAttributes(2, which, (void *[]){&local, &local}, device) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuPointerGetAttributes(1, NULL, (void *[]){&local}, device) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuPointerGetAttributes(1, which, NULL, device) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "but none, or one that there is not, is");
	(void)cuMemFree(device);
	(void)cuMemFreeHost(pinned);
}

/* ---- descriptors ---- */

static void exports(struct shared *s)
{
	const CUmemAllocationProp passable = prop_of(as_fd), own = prop_of(CU_MEM_HANDLE_TYPE_NONE);
	uint64_t before;
	int again = -1;

	(void)cuMemCreate(&s->handle, BYTES, &passable, 0);
	(void)cuMemCreate(&s->plain, BYTES, &own, 0);
	s->memory = map(s->handle);
	GPU_CHECK(s, s->memory != 0, "memory with a handle");
	GPU_CHECK(s,
		  cuMemExportToShareableHandle(&s->fd, s->plain, as_fd, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemExportToShareableHandle(&s->fd, s->handle, as_fd, 1) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemExportToShareableHandle(NULL, s->handle, as_fd, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemExportToShareableHandle(&s->fd, s->handle + 100, as_fd, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMemExportToShareableHandle(&s->fd, s->handle, CU_MEM_HANDLE_TYPE_FABRIC,
						       0) == CUDA_ERROR_INVALID_VALUE,
		  "what is not exported");
	before = vb_now_ps();
	GPU_CHECK(s,
		  cuMemExportToShareableHandle(&s->fd, s->handle, as_fd, 0) == CUDA_SUCCESS &&
			  gpu_took(before, 870, 874),
		  "it has a descriptor, after 872 us");
	GPU_CHECK(s, (fcntl(s->fd, F_GETFD) & FD_CLOEXEC) != 0, "closed by exec");
	GPU_CHECK(s,
		  cuMemExportToShareableHandle(&again, s->handle, as_fd, 0) == CUDA_SUCCESS &&
			  again != s->fd && close(again) == 0,
		  "each time another one");
	(void)cuMemsetD8(s->memory, (unsigned char)(s->prog->rank + 1), BYTES);
	(void)cuCtxSynchronize();
}

static int pass(struct shared *s)
{
	const struct vb_prog *prog = s->prog;
	char key[32];

	(void)snprintf(key, sizeof(key), "fd %d", prog->rank);
	if (prog->put(prog, key, &s->fd, sizeof(s->fd)) != 0)
		return -1;
	(void)snprintf(key, sizeof(key), "fd %d", (prog->rank + prog->size - 1) % prog->size);
	return prog->get(prog, key, &s->theirs, sizeof(s->theirs)) == 0 ? 0 : -1;
}

static void refuses(struct shared *s)
{
	CUmemGenericAllocationHandle handle;
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int fd;

	GPU_CHECK(s,
		  import_fd(&handle, null) == CUDA_ERROR_UNKNOWN &&
			  import_fd(&handle, 999) == CUDA_ERROR_UNKNOWN,
		  "no other file is imported");
	GPU_CHECK(s,
		  cuMemGetHandleForAddressRange(&fd, s->memory, BYTES,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						0) == CUDA_SUCCESS &&
			  import_fd(&handle, fd) == CUDA_ERROR_UNKNOWN,
		  "nor is a dma-buf");
	GPU_CHECK(s,
		  import_fd(NULL, s->theirs) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemImportFromShareableHandle(&handle, (void *)(intptr_t)s->theirs,
							 CU_MEM_HANDLE_TYPE_FABRIC) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "nor in another way");
	(void)close(fd);
	(void)close(null);
}

static void imports(struct shared *s)
{
	const struct vb_prog *prog = s->prog;
	const int from = (prog->rank + prog->size - 1) % prog->size;
	const int to = (prog->rank + 1) % prog->size;
	CUmemGenericAllocationHandle handle = 0, again = 0;
	CUmemAllocationProp prop;
	CUdeviceptr address;
	uint64_t before = vb_now_ps();
	size_t bytes;
	int fd;

	GPU_CHECK(s, import_fd(&handle, s->theirs) == CUDA_SUCCESS && gpu_took(before, 78, 80),
		  "a neighbour's is imported, in 79 us");
	GPU_CHECK(s, import_fd(&again, s->theirs) == CUDA_SUCCESS && again != handle,
		  "twice, as two handles");
	GPU_CHECK(s,
		  cuMemGetAllocationPropertiesFromHandle(&prop, handle) == CUDA_SUCCESS &&
			  prop.requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE &&
			  cuMemExportToShareableHandle(&fd, handle, as_fd, 0) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "not to be passed on");
	refuses(s);
	address = map(handle);
	GPU_CHECK(s, address != 0 && byte_at(address + BYTES - 1) == from + 1,
		  "it is mapped and read");
	(void)cuMemsetD8(address, (unsigned char)(100 + prog->rank), BYTES);
	(void)cuCtxSynchronize();
	(void)prog_barrier(prog, "written");
	GPU_CHECK(s, byte_at(s->memory + BLOCK) == 100 + to, "and written by a neighbour");
	(void)prog_barrier(prog, "read");
	bytes = gpu_free_bytes();
	(void)prog_barrier(prog, "free");
	unmap(s->memory);
	GPU_CHECK(s, cuMemRelease(s->handle) == CUDA_SUCCESS && close(s->fd) == 0,
		  "whoever exported it lets it go");
	(void)prog_barrier(prog, "gone");
	GPU_CHECK(s, gpu_free_bytes() == bytes && byte_at(address) == 100 + prog->rank,
		  "and it stays for whoever imported it");
	GPU_CHECK(s, import_fd(&again, s->theirs) == CUDA_ERROR_UNKNOWN,
		  "without its descriptor no more");
	(void)prog_barrier(prog, "stays");
	GPU_CHECK(s, cuMemRelease(handle) == CUDA_SUCCESS && byte_at(address) == 100 + prog->rank,
		  "and for as long as it is mapped");
	unmap(address);
	(void)prog_barrier(prog, "one");
	GPU_CHECK(s, gpu_free_bytes() == bytes, "as long as one handle is left");
	(void)prog_barrier(prog, "left");
	(void)cuMemRelease(again);
	(void)prog_barrier(prog, "none");
	GPU_CHECK(s, gpu_free_bytes() == bytes + (size_t)prog->size * BYTES, "then it is free");
	(void)prog_barrier(prog, "over"); /* who ends gives back what else it has */
}

int prog_main(const struct vb_prog *prog)
{
	struct shared s = {.prog = prog};

	if (!prog_takes(prog, "") || !gpu_open(prog, 0))
		return -1;
	attributes(&s);
	exports(&s);
	if (pass(&s) != 0)
		return -1;
	imports(&s);
	return s.failed == 0 ? 0 : -1;
}
