/* SPDX-License-Identifier: BSD-2-Clause */

/* Codes and values that are asked for at edges: as measured on an H100 (driver 580.159.04). lost=0:
 * which kernel loses the context at the end: 1 one that writes what was mapped to be read, 2 what
 * was registered so; 3: a stream. A line for each check, "ok" or "not". */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, BLOCK = 2 * MIB, CHUNK = 32 * MIB, PAGE = 4096 };

static const CUmemLocation gpu = {.type = CU_MEM_LOCATION_TYPE_DEVICE};
static const CUmemAllocationProp of_gpu = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
					   .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
static const CUresult invalid = CUDA_ERROR_INVALID_VALUE;

struct codes {
	const struct vb_prog *prog;
	uint8_t *pinned, *pages; /* BLOCK; 4 pages, the last of which is only read */
	CUdeviceptr memory;	 /* BLOCK */
	CUstream s;
	int failed;
};

static uint64_t attribute(CUpointer_attribute what, CUdeviceptr address)
{
	uint64_t value = 0;

	return cuPointerGetAttribute(&value, what, address) == CUDA_SUCCESS ? value : UINT64_MAX;
}

static CUdeviceptr at(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

/* ---- memory of the host ---- */

static void host_memory(struct codes *c)
{
	uint8_t *last = c->pages + 3 * PAGE;
	void *none = c;

	GPU_CHECK(c,
		  cuMemHostAlloc(&none, 0, 0) == CUDA_SUCCESS &&
			  cuMemAllocHost(&none, 0) == CUDA_SUCCESS,
		  "no bytes of the host are given out");
	GPU_CHECK(c,
		  cuMemHostRegister(c->pinned, PAGE, 0) == invalid &&
			  cuMemHostRegister(c->pinned + BLOCK - PAGE, 2 * PAGE, 0) == invalid,
		  "what the driver gave out is not registered");
	GPU_CHECK(c, cuMemHostRegister(last, PAGE, 0) == invalid,
		  "nor what may only be read, if it is to be written");
	GPU_CHECK(c,
		  cuMemHostRegister(last, PAGE, CU_MEMHOSTREGISTER_READ_ONLY) == CUDA_SUCCESS &&
			  cuMemcpyHtoD(c->memory, last, PAGE) == CUDA_SUCCESS &&
			  cuMemHostUnregister(last) == CUDA_SUCCESS,
		  "but to be read");
	(void)cuMemHostRegister(c->pages, PAGE, CU_MEMHOSTREGISTER_READ_ONLY);
	GPU_CHECK(c,
		  cuMemsetD8(at(c->pages), 3, 64) == invalid &&
			  cuMemcpyDtoH(c->pages, c->memory, 64) == invalid,
		  "then nobody writes it");
	(void)cuMemHostUnregister(c->pages);
}

/* ---- attributes of pointers ---- */

static void attributes(struct codes *c)
{
	CUdeviceptr managed, one, two;

	(void)cuMemAlloc(&one, 1000);
	(void)cuMemAlloc(&two, 1000);
	(void)cuMemAllocManaged(&managed, PAGE, CU_MEM_ATTACH_GLOBAL);
	(void)cuMemHostRegister(c->pages, 2 * PAGE, 0);
	GPU_CHECK(c,
		  attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at(c->pinned)) == BLOCK &&
			  attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, at(c->pages)) == 2 * PAGE,
		  "pinned memory lies in blocks, where the driver gave it out");
	GPU_CHECK(c,
		  attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, one) ==
				  attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, two) &&
			  attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, one) !=
				  attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, c->memory) &&
			  attribute(CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID, at(c->pinned)) !=
				  UINT64_MAX,
		  "blocks have an identity");
	GPU_CHECK(c,
		  attribute(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, one) == 1 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, managed) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE, at(c->pinned)) ==
				  0,
		  "plain memory may be decompressed to");
	GPU_CHECK(c,
		  attribute(CU_POINTER_ATTRIBUTE_P2P_TOKENS, managed) != UINT64_MAX &&
			  attribute(CU_POINTER_ATTRIBUTE_P2P_TOKENS, at(c->pinned)) == UINT64_MAX,
		  "what a GPU has has tokens");
	GPU_CHECK(c,
		  cuPointerSetAttribute(&(unsigned){1}, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					at(c->pinned)) == CUDA_SUCCESS &&
			  cuPointerSetAttribute(&(unsigned){1}, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
						managed) == CUDA_SUCCESS &&
			  cuPointerSetAttribute(&(unsigned){1}, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
						at(c->pages + 3 * PAGE)) == invalid,
		  "calls may be made to wait for all that the driver knows");
	(void)cuMemsetD8(managed, 1, PAGE);
	GPU_CHECK(c, cuStreamQuery(NULL) == CUDA_SUCCESS, "and wait for managed memory");
	(void)cuMemHostUnregister(c->pages);
	(void)cuMemFree(managed);
	(void)cuMemFree(two);
	(void)cuMemFree(one);
}

/* ---- streams, events, advice ---- */

static void streams(struct codes *c)
{
	CUdeviceptr managed;
	CUevent event;

	(void)cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	GPU_CHECK(c,
		  cuStreamWaitEvent(c->s, event, CU_EVENT_WAIT_EXTERNAL) ==
				  CUDA_ERROR_ILLEGAL_STATE &&
			  cuStreamWaitEvent(c->s, event, 2) == invalid,
		  "only who captures waits for what is outside");
	GPU_CHECK(c,
		  cuStreamWaitValue32(c->s, c->memory, 0, CU_STREAM_WAIT_VALUE_FLUSH) ==
				  CUDA_ERROR_NOT_SUPPORTED &&
			  cuStreamWaitValue64(c->s, c->memory, 0, CU_STREAM_WAIT_VALUE_FLUSH) ==
				  CUDA_ERROR_NOT_SUPPORTED,
		  "no stream flushes writes of others");
	(void)cuEventDestroy(event);
	(void)cuMemAllocManaged(&managed, BLOCK, CU_MEM_ATTACH_GLOBAL);
	GPU_CHECK(c,
		  cuMemAdvise(managed, BLOCK, CU_MEM_ADVISE_SET_PREFERRED_LOCATION,
			      (CUmemLocation){.type = gpu.type, .id = 9}) == invalid &&
			  cuMemPrefetchAsync(managed, BLOCK,
					     (CUmemLocation){.type = gpu.type, .id = 9}, 0,
					     NULL) == CUDA_ERROR_INVALID_DEVICE,
		  "advice of no such device is invalid, a prefetch there has none");
	(void)cuMemFree(managed);
}

/* ---- rows ---- */

static void rows(struct codes *c)
{
	CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			      .srcHost = c->pinned,
			      .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			      .dstDevice = c->memory,
			      .dstPitch = 512,
			      .WidthInBytes = 100,
			      .Height = 3};
	CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = c->pinned,
			       .srcPitch = 128,
			       .srcLOD = 1,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = c->memory,
			       .dstPitch = 512,
			       .dstHeight = 4,
			       .WidthInBytes = 100,
			       .Height = 2,
			       .Depth = 2};
	uint8_t byte = 0;

	prog_fill(c->pinned, PAGE, 3);
	GPU_CHECK(c,
		  cuMemcpy2D(&copy) == CUDA_SUCCESS &&
			  cuMemcpyDtoH(&byte, c->memory + 2 * 512 + 99, 1) == CUDA_SUCCESS &&
			  byte == prog_byte(3, 299),
		  "without a pitch rows lie side by side");
	GPU_CHECK(c,
		  cuMemcpy3D(&solid) == CUDA_SUCCESS &&
			  cuMemcpyDtoH(&byte, c->memory + 5 * 512, 1) == CUDA_SUCCESS &&
			  byte == prog_byte(3, 3 * 128),
		  "as slices do without a height, and mipmaps there are none");
}

/* ---- pools ---- */

static uint64_t of_pool(CUmemoryPool pool, CUmemPool_attribute what)
{
	cuuint64_t value = 0;

	return cuMemPoolGetAttribute(pool, what, &value) == CUDA_SUCCESS ? value : UINT64_MAX;
}

static void pools(struct codes *c)
{
	CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED, .location = gpu};
	cuuint64_t most = UINT64_MAX;
	CUmemoryPool pool, own;
	CUdeviceptr one;
	CUevent event;

	(void)cuDeviceGetDefaultMemPool(&pool, 0);
	props.location.id = 5;
	GPU_CHECK(c, cuMemPoolCreate(&own, &props) == invalid, "no pool of no device");
	props.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_INVALID};
	GPU_CHECK(c, cuMemPoolCreate(&own, &props) == invalid, "nor of nowhere");
	GPU_CHECK(c, cuDeviceSetMemPool(5, pool) == invalid, "nor for one");
	(void)cuEventCreate(&event, CU_EVENT_DISABLE_TIMING);
	(void)cuMemAllocAsync(&one, MIB, c->s);
	(void)cuMemFreeAsync(one, c->s);
	(void)cuEventRecord(event, c->s);
	GPU_CHECK(c, of_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK,
		  "a pool keeps what was given back");
	(void)cuEventSynchronize(event);
	GPU_CHECK(c, of_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == 0,
		  "until somebody has waited for an event, be it over");
	(void)cuEventDestroy(event);
	props.location = gpu;
	(void)cuMemPoolCreate(&own, &props);
	(void)cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most);
	(void)cuMemAllocFromPoolAsync(&one, MIB, own, c->s);
	(void)cuMemFreeAsync(one, c->s);
	(void)cuStreamSynchronize(c->s);
	(void)cuMemPoolTrimTo(own, 1);
	GPU_CHECK(c, of_pool(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK,
		  "no more goes than may");
	(void)cuMemPoolDestroy(own);
}

/* ---- virtual memory management ---- */

static CUresult creates(CUmemAllocationProp prop)
{
	CUmemGenericAllocationHandle handle;

	return cuMemCreate(&handle, BLOCK, &prop, 0);
}

static void properties(struct codes *c)
{
	CUmemAllocationProp prop = of_gpu;
	size_t grain = 0;

	prop.location.type = CU_MEM_LOCATION_TYPE_INVALID;
	GPU_CHECK(c,
		  creates(prop) == invalid &&
			  cuMemGetAllocationGranularity(&grain, &prop, 0) == CUDA_SUCCESS &&
			  grain == BLOCK,
		  "memory of nowhere has blocks");
	prop.location = (CUmemLocation){.type = CU_MEM_LOCATION_TYPE_HOST_NUMA, .id = 7};
	GPU_CHECK(c, creates(prop) == invalid, "none of no such node");
	prop = of_gpu;
	prop.requestedHandleTypes = 2;
	GPU_CHECK(c, creates(prop) == invalid, "none for another system");
	prop = of_gpu;
	prop.win32HandleMetaData = &prop;
	GPU_CHECK(c, creates(prop) == invalid, "nor with what that has");
	prop = of_gpu;
	prop.location.id = 9;
	GPU_CHECK(c,
		  creates(prop) == CUDA_ERROR_INVALID_DEVICE &&
			  cuMemCreate(&(CUmemGenericAllocationHandle){0}, 3 * MIB, &prop, 0) ==
				  invalid,
		  "its size is looked at first");
}

static CUresult sets(CUdeviceptr address, int flags, int device)
{
	const CUmemAccessDesc access = {.location = {.type = gpu.type, .id = device},
					.flags = (CUmemAccess_flags)flags};

	return cuMemSetAccess(address, BLOCK, &access, 1);
}

static void accesses(struct codes *c, CUdeviceptr address)
{
	unsigned long long access = 9;
	uint64_t before;

	GPU_CHECK(c, sets(address, 2, 0) == invalid && sets(address, 3, 9) == invalid,
		  "no such access, none of such a device");
	GPU_CHECK(c,
		  sets(address, CU_MEM_ACCESS_FLAGS_PROT_READ, 0) == CUDA_SUCCESS &&
			  cuMemGetAccess(&access, &gpu, address) == CUDA_SUCCESS && access == 1 &&
			  attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address) == 1,
		  "memory may be opened to be read");
	GPU_CHECK(c,
		  cuMemcpyDtoH(c->pages, address, 64) == CUDA_SUCCESS &&
			  cuMemcpyHtoD(address, c->pages, 64) == invalid &&
			  cuMemsetD8(address, 1, 64) == invalid,
		  "and is not written then");
	before = vb_now_ps();
	GPU_CHECK(c,
		  sets(address, CU_MEM_ACCESS_FLAGS_PROT_READ, 0) == CUDA_SUCCESS &&
			  gpu_took(before, 0, 1),
		  "to say so once more takes no time");
	GPU_CHECK(c,
		  cuMemGetAccess(&access, &gpu, c->memory) == CUDA_SUCCESS && access == 0 &&
			  (access = 9, cuMemGetAccess(&access, &gpu, at(c->pinned))) ==
				  CUDA_SUCCESS &&
			  access == 0 &&
			  (access = 9, cuMemGetAccess(&access, &gpu, 64)) == invalid && access == 0,
		  "what was not mapped has no access, though it is open");
	GPU_CHECK(c,
		  attribute(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, address) == address - BLOCK &&
			  attribute(CU_POINTER_ATTRIBUTE_RANGE_SIZE, address) == 4 * BLOCK &&
			  attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, address) == BLOCK,
		  "what is mapped is a part of what was reserved");
}

static void mappings(struct codes *c)
{
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr address = 0;
	uint64_t before;

	(void)cuMemAddressReserve(&address, 4 * BLOCK, 0, 0, 0);
	(void)cuMemCreate(&handle, BLOCK, &of_gpu, 0);
	GPU_CHECK(c, cuMemMap(address, 0, 0, handle, 0) == invalid, "nothing is not mapped");
	(void)cuMemMap(address + BLOCK, BLOCK, 0, handle, 0);
	accesses(c, address + BLOCK);
	GPU_CHECK(c, cuMemUnmap(address + BLOCK, BLOCK / 2) == invalid, "no half of it goes");
	GPU_CHECK(c, cuMemUnmap(address, 4 * BLOCK) == CUDA_SUCCESS,
		  "all of it does, whatever is beside it");
	GPU_CHECK(c, cuMemUnmap(address + BLOCK, BLOCK) == CUDA_SUCCESS, "or nothing");
	(void)cuMemMap(address, BLOCK, 0, handle, 0);
	before = vb_now_ps();
	GPU_CHECK(c, cuMemUnmap(address, BLOCK) == CUDA_SUCCESS && gpu_took(before, 0, 1),
		  "what nobody could touch goes at once");
	(void)cuMemRelease(handle);
	GPU_CHECK(c, cuMemAddressFree(address, 4 * BLOCK) == CUDA_SUCCESS, "and its addresses");
}

/* ---- modules ---- */

static void modules(struct codes *c)
{
	CUmodule module;
	CUfunction function = NULL;
	int arch = 0;

#define PTX(text) cuModuleLoadData(&module, ".version 8.0\n.target sm_60\n.address_size " text)
	GPU_CHECK(c, PTX("32\n.entry x() { ret; }") == CUDA_ERROR_INVALID_PTX,
		  "no addresses of 32 bits");
	GPU_CHECK(c, PTX("64\n.entry x() { ret; } .entry x() { ret; }") == CUDA_ERROR_INVALID_PTX,
		  "no two of one name");
	GPU_CHECK(c,
		  PTX("64\n.entry x() { ret; } .entry y() { ret; }") == CUDA_SUCCESS &&
			  cuModuleGetFunction(&function, module, "y") == CUDA_SUCCESS &&
			  cuFuncGetAttribute(&arch, CU_FUNC_ATTRIBUTE_PTX_VERSION, function) ==
				  CUDA_SUCCESS &&
			  arch == 60 && cuModuleUnload(module) == CUDA_SUCCESS,
		  "a kernel says for which GPU it was made");
#undef PTX
}

/* ---- what loses the context ---- */

static void stream_loses(struct codes *c)
{
	(void)cuMemHostRegister(c->pages, PAGE, CU_MEMHOSTREGISTER_READ_ONLY);
	GPU_CHECK(c, cuStreamWriteValue32(NULL, at(c->pages), 9, 0) == CUDA_SUCCESS,
		  "a stream is told to write what is only read");
	GPU_CHECK(c, cuCtxSynchronize() == CUDA_ERROR_LAUNCH_FAILED && c->pages[0] == 1,
		  "and fails, and has written nothing");
}

static void loses(struct codes *c, uint64_t which)
{
	CUmemGenericAllocationHandle handle = 0;
	CUdeviceptr to = at(c->pages);
	CUfunction fill = NULL;
	uint32_t value = 9;
	uint64_t count = 4;
	CUmodule module;

	(void)cuModuleLoadData(&module, VB_KERNELS_PTX);
	(void)cuModuleGetFunction(&fill, module, "vb_fill");
	if (which == 1) {
		(void)cuMemAddressReserve(&to, BLOCK, 0, 0, 0);
		(void)cuMemCreate(&handle, BLOCK, &of_gpu, 0);
		(void)cuMemMap(to, BLOCK, 0, handle, 0);
		(void)sets(to, CU_MEM_ACCESS_FLAGS_PROT_READ, 0);
	} else {
		(void)cuMemHostRegister(c->pages, PAGE, CU_MEMHOSTREGISTER_READ_ONLY);
	}
	GPU_CHECK(c,
		  cuLaunchKernel(fill, 1, 1, 1, 1, 1, 1, 0, NULL, (void *[]){&to, &value, &count},
				 NULL) == CUDA_SUCCESS &&
			  cuCtxSynchronize() == CUDA_ERROR_ILLEGAL_ADDRESS,
		  "a kernel that writes what is only read fails");
	GPU_CHECK(c, c->pages[0] == 1, "and has written nothing");
}

int prog_main(const struct vb_prog *prog)
{
	struct codes c = {.prog = prog,
			  .pages = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)};

	if (!prog_takes(prog, "lost") || c.pages == MAP_FAILED || !gpu_open(prog, 0) ||
	    !GPU_DO(prog, cuMemAllocHost((void **)&c.pinned, BLOCK)) ||
	    !GPU_DO(prog, cuMemAlloc(&c.memory, BLOCK)) ||
	    !GPU_DO(prog, cuStreamCreate(&c.s, CU_STREAM_NON_BLOCKING)))
		return -1;
	memset(c.pages, 1, (size_t)4 * PAGE);
	(void)mprotect(c.pages + 3 * PAGE, PAGE, PROT_READ);
	if (prog_arg(prog, "lost", 0) == 3) {
		stream_loses(&c);
	} else if (prog_arg(prog, "lost", 0)) {
		loses(&c, prog_arg(prog, "lost", 0));
	} else {
		host_memory(&c);
		attributes(&c);
		streams(&c);
		rows(&c);
		pools(&c);
		properties(&c);
		mappings(&c);
		modules(&c);
	}
	(void)munmap(c.pages, (size_t)4 * PAGE);
	return c.failed == 0 ? 0 : -1;
}
