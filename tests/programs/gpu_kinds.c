/* SPDX-License-Identifier: BSD-2-Clause */

/* Memory in rows, stream-ordered memory and virtual memory management: codes, order and times as
 * measured on an H100 (driver 580.159.04). A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MIB = 1 << 20, BLOCK = 2 * MIB, CHUNK = 32 * MIB, PAGE = 4096 };

struct kinds {
	const struct vb_prog *prog;
	uint8_t *bytes, *pinned; /* BLOCK each */
	CUstream a, b;
	int failed;
};

static bool took(uint64_t since, uint64_t least_ns, uint64_t most_ns)
{
	const uint64_t time = vb_now_ps() - since;

	return time >= least_ns * 1000 && time <= most_ns * 1000;
}

static uint64_t attribute(CUpointer_attribute what, CUdeviceptr address)
{
	uint64_t value = 0;

	return cuPointerGetAttribute(&value, what, address) == CUDA_SUCCESS ? value : UINT64_MAX;
}

/* ---- rows ---- */

static CUDA_MEMCPY2D rows_of(CUdeviceptr to, size_t pitch, const void *from, size_t from_pitch)
{
	return (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_HOST,
			       .srcHost = from,
			       .srcPitch = from_pitch,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = to,
			       .dstPitch = pitch,
			       .WidthInBytes = 300,
			       .Height = 50};
}

/* 50 rows of 300 bytes at @at, @pitch apart, are those that lie 700 apart in what was filled. */
static bool has_rows(struct kinds *k, CUdeviceptr at, size_t pitch)
{
	uint8_t row[300];

	for (size_t r = 0; r < 50; r++) {
		(void)cuMemcpyDtoH(row, at + r * pitch, sizeof(row));
		for (size_t c = 0; c < sizeof(row); c++)
			if (row[c] != prog_byte(9, r * 700 + c))
				return false;
	}
	(void)k;
	return true;
}

static void rows(struct kinds *k)
{
	CUdeviceptr memory = 0, other;
	size_t pitch = 0;
	CUDA_MEMCPY2D copy;
	CUDA_MEMCPY3D solid = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcPitch = 512,
			       .srcHeight = 10,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = k->bytes,
			       .dstPitch = 100,
			       .dstHeight = 4,
			       .srcY = 2,
			       .srcZ = 1,
			       .WidthInBytes = 100,
			       .Height = 4,
			       .Depth = 2};

	GPU_CHECK(k, cuMemAllocPitch(&memory, &pitch, 0, 1, 4) == CUDA_ERROR_INVALID_VALUE,
		  "no width");
	GPU_CHECK(k, cuMemAllocPitch(&memory, &pitch, 1, 0, 4) == CUDA_ERROR_INVALID_VALUE,
		  "no height");
	GPU_CHECK(k,
		  cuMemAllocPitch(&memory, &pitch, 513, 50, 16) == CUDA_SUCCESS && pitch == 1024 &&
			  cuMemFree(memory) == CUDA_SUCCESS,
		  "rows are multiples of 512 bytes apart");
	(void)cuMemAllocPitch(&memory, &pitch, 300, 50, 4);
	GPU_CHECK(k, pitch == 512, "whatever the size of an element");
	(void)cuMemAlloc(&other, BLOCK);
	prog_fill(k->pinned, BLOCK, 9);
	prog_fill(k->bytes, BLOCK, 9);
	copy = rows_of(memory, pitch, k->pinned, 700);
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_SUCCESS && has_rows(k, memory, pitch),
		  "rows are copied from pinned memory");
	(void)cuMemsetD8(memory, 0, 50 * 512);
	copy = rows_of(memory, pitch, k->bytes, 700);
	GPU_CHECK(k, cuMemcpy2DUnaligned(&copy) == CUDA_SUCCESS && has_rows(k, memory, pitch),
		  "and from memory that is not");
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
			       .srcDevice = memory,
			       .srcPitch = pitch,
			       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
			       .dstDevice = other,
			       .dstPitch = 1000,
			       .WidthInBytes = 300,
			       .Height = 50};
	GPU_CHECK(k,
		  cuMemcpy2DAsync(&copy, k->a) == CUDA_SUCCESS &&
			  cuStreamSynchronize(k->a) == CUDA_SUCCESS && has_rows(k, other, 1000),
		  "within a GPU");
	memset(k->pinned, 0, BLOCK);
	copy = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE,
			       .srcDevice = other,
			       .srcXInBytes = 100,
			       .srcY = 1,
			       .srcPitch = 1000,
			       .dstMemoryType = CU_MEMORYTYPE_HOST,
			       .dstHost = k->pinned,
			       .dstPitch = 200,
			       .WidthInBytes = 200,
			       .Height = 49};
	GPU_CHECK(k,
		  cuMemcpy2D(&copy) == CUDA_SUCCESS && k->pinned[0] == prog_byte(9, 800) &&
			  k->pinned[48 * 200 + 199] == prog_byte(9, 49 * 700 + 299),
		  "and back, from some byte of some row on");
	solid.srcDevice = memory;
	GPU_CHECK(k,
		  cuMemcpy3D(&solid) == CUDA_SUCCESS && k->bytes[0] == prog_byte(9, 12 * 700) &&
			  k->bytes[7 * 100 + 99] == prog_byte(9, 25 * 700 + 99),
		  "slices of rows as well");
	copy = rows_of(memory, 299, k->pinned, 700);
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE, "no rows that overlap");
	copy = rows_of(memory, pitch, k->pinned, 700);
	copy.Height = 0;
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_SUCCESS, "no rows are none");
	copy = rows_of(memory, pitch, k->pinned, 700);
	copy.Height = 51;
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE, "nor beyond the last");
	copy.Height = 1;
	copy.srcPitch = (size_t)1 << 40;
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_SUCCESS, "a pitch may be large");
	copy.srcMemoryType = CU_MEMORYTYPE_ARRAY;
	GPU_CHECK(k, cuMemcpy2D(&copy) == CUDA_ERROR_INVALID_VALUE, "there are no arrays");
	(void)cuMemsetD2D32(memory, 512, 0x01020304, 25, 50);
	(void)cuMemsetD2D16Async(memory + 100, 512, 0x0506, 50, 50, NULL);
	(void)cuMemcpyDtoH(k->bytes, memory, 49 * 512 + 200);
	GPU_CHECK(k,
		  k->bytes[49 * 512 + 99] == 1 && k->bytes[49 * 512 + 100] == 6 &&
			  k->bytes[49 * 512 + 199] == 5 && k->bytes[48 * 512 + 200] != 6,
		  "rows are set");
	GPU_CHECK(k, cuMemsetD2D8(memory, 512, 1, 300, 51) == CUDA_ERROR_INVALID_VALUE,
		  "as many as are");
	(void)cuMemFree(memory);
	(void)cuMemFree(other);
}

/* ---- pools ---- */

static uint64_t of_pool(CUmemoryPool pool, CUmemPool_attribute what)
{
	cuuint64_t value = 0;

	return cuMemPoolGetAttribute(pool, what, &value) == CUDA_SUCCESS ? value : UINT64_MAX;
}

static void pieces(struct kinds *k, CUmemoryPool pool)
{
	const size_t before = gpu_free_bytes();
	CUdeviceptr one, two, three;
	uint64_t start = vb_now_ps();

	GPU_CHECK(k, cuMemAllocAsync(&one, 1, k->a) == CUDA_SUCCESS && took(start, 43000, 58000),
		  "a pool takes its first chunk in 48 us");
	GPU_CHECK(k, gpu_free_bytes() == before - CHUNK, "of 32 MiB");
	start = vb_now_ps();
	GPU_CHECK(k, cuMemAllocAsync(&two, PAGE, k->a) == CUDA_SUCCESS && took(start, 650, 850),
		  "and gives more of it in 0.7 us");
	GPU_CHECK(k, two == one + 512, "in steps of 512 bytes");
	GPU_CHECK(k,
		  of_pool(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) == CHUNK &&
			  of_pool(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) == 1 + PAGE,
		  "it says what it has and what is used");
	GPU_CHECK(k,
		  attribute(CU_POINTER_ATTRIBUTE_CONTEXT, one) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, one) ==
				  (uint64_t)(uintptr_t)pool &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, one) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_MAPPING_SIZE, one) == CHUNK &&
			  attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, one) == 3,
		  "its memory has the attributes of such");
	GPU_CHECK(k, cuMemcpyHtoD(two + PAGE, k->pinned, 1) == CUDA_ERROR_INVALID_VALUE,
		  "nobody writes beyond");
	(void)cuMemcpyHtoDAsync(two, k->pinned, PAGE, k->a);
	start = vb_now_ps();
	GPU_CHECK(k, cuMemFreeAsync(two, k->a) == CUDA_SUCCESS && took(start, 480, 660),
		  "memory is given back in 0.56 us, before the copy is over");
	GPU_CHECK(k, cuStreamQuery(k->a) == CUDA_ERROR_NOT_READY, "which goes on");
	GPU_CHECK(k, cuMemFreeAsync(two, k->a) == CUDA_ERROR_INVALID_VALUE, "once");
	(void)cuMemAllocAsync(&three, PAGE, k->b);
	GPU_CHECK(k, three == two + PAGE, "another stream gets it not yet");
	(void)cuMemFreeAsync(three, k->b);
	(void)cuMemAllocAsync(&three, PAGE, k->a);
	GPU_CHECK(k, three == two, "the same stream does");
	(void)cuMemFreeAsync(three, k->a);
	GPU_CHECK(k, cuMemFree(one) == CUDA_SUCCESS && gpu_free_bytes() == before - CHUNK,
		  "cuMemFree() takes it");
	(void)cuStreamSynchronize(k->a);
	GPU_CHECK(k, gpu_free_bytes() == before, "and the chunk goes back to whoever waits");
	GPU_CHECK(k, cuMemAllocAsync(&one, 0, k->a) == CUDA_SUCCESS && one == 0,
		  "no bytes are nowhere");
	GPU_CHECK(k, cuMemFreeAsync(0, k->a) == CUDA_SUCCESS, "and go back");
	GPU_CHECK(k, cuMemAllocAsync(&one, (size_t)1 << 40, k->a) == CUDA_ERROR_OUT_OF_MEMORY,
		  "1 TiB is nowhere");
	GPU_CHECK(k,
		  cuMemFreeAsync((CUdeviceptr)(uintptr_t)k->pinned, k->a) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "pinned memory is not a pool's");
}

static void pools(struct kinds *k)
{
	const CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
				      .handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
				      .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE}};
	const size_t before = gpu_free_bytes();
	cuuint64_t most = UINT64_MAX;
	CUmemoryPool pool, own, is;
	CUdeviceptr one;
	int reuse = 0;

	(void)cuDeviceGetDefaultMemPool(&pool, 0);
	GPU_CHECK(k, cuDeviceGetMemPool(&is, 0) == CUDA_SUCCESS && is == pool,
		  "a device has a pool");
	GPU_CHECK(k,
		  cuMemPoolGetAttribute(pool, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC, &reuse) ==
				  CUDA_SUCCESS &&
			  reuse == 1 && of_pool(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD) == 0,
		  "which keeps nothing");
	pieces(k, pool);
	GPU_CHECK(k, cuMemPoolCreate(&own, &props) == CUDA_SUCCESS, "a program makes its own");
	GPU_CHECK(k, cuDeviceSetMemPool(0, own) == CUDA_SUCCESS, "for a device");
	(void)cuMemPoolSetAttribute(own, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most);
	(void)cuMemAllocAsync(&one, CHUNK + 1, k->a);
	GPU_CHECK(k,
		  attribute(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, one) == (uint64_t)(uintptr_t)own &&
			  attribute(CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, one) == 1,
		  "and has memory from there");
	GPU_CHECK(k, gpu_free_bytes() == before - 2 * CHUNK, "in chunks");
	(void)cuMemFreeAsync(one, k->a);
	(void)cuStreamSynchronize(k->a);
	GPU_CHECK(k, gpu_free_bytes() == before - 2 * CHUNK, "it keeps what it was told to");
	GPU_CHECK(k,
		  cuMemPoolTrimTo(own, 2 * CHUNK) == CUDA_SUCCESS &&
			  gpu_free_bytes() == before - 2 * CHUNK,
		  "and no less");
	GPU_CHECK(k,
		  cuMemPoolTrimTo(own, CHUNK) == CUDA_SUCCESS &&
			  of_pool(own, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= CHUNK,
		  "than that");
	GPU_CHECK(k, cuMemPoolTrimTo(own, 0) == CUDA_SUCCESS && gpu_free_bytes() == before,
		  "until it is told otherwise");
	GPU_CHECK(k, of_pool(own, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) == 2 * CHUNK,
		  "and knows its most");
	(void)cuMemAllocFromPoolAsync(&one, 1, own, k->a);
	GPU_CHECK(k, cuMemPoolDestroy(own) == CUDA_SUCCESS, "it is destroyed");
	GPU_CHECK(k, cuDeviceGetMemPool(&is, 0) == CUDA_SUCCESS && is == pool,
		  "the first one is back");
	GPU_CHECK(k, cuMemcpyHtoD(one, k->pinned, 1) == CUDA_SUCCESS, "what it gave is there");
	(void)cuMemFreeAsync(one, k->a);
	(void)cuStreamSynchronize(k->a);
	GPU_CHECK(k, gpu_free_bytes() == before, "and goes back with it");
	GPU_CHECK(k, cuMemPoolDestroy(pool) == CUDA_ERROR_INVALID_VALUE, "the first one stays");
}

/* ---- virtual memory management ---- */

static CUmemAllocationProp prop_of(bool rdma)
{
	return (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
				     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				     .allocFlags = {.gpuDirectRDMACapable = rdma}};
}

static CUresult reserve(CUdeviceptr *ret_address, size_t bytes, size_t alignment)
{
	return cuMemAddressReserve(ret_address, bytes, alignment, 0, 0);
}

static void refusals(struct kinds *k)
{
	CUmemAllocationProp prop = prop_of(false);
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	GPU_CHECK(k,
		  cuMemCreate(&handle, 0, &prop, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemCreate(&handle, 64 << 10, &prop, 0) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemCreate(&handle, BLOCK, &prop, 1) == CUDA_ERROR_INVALID_VALUE,
		  "memory comes in blocks");
	GPU_CHECK(k, cuMemCreate(&handle, (size_t)1 << 40, &prop, 0) == CUDA_ERROR_OUT_OF_MEMORY,
		  "as far as there is some");
	prop.location.id = 9;
	GPU_CHECK(k, cuMemCreate(&handle, BLOCK, &prop, 0) == CUDA_ERROR_INVALID_DEVICE,
		  "of a device that there is");
	prop = prop_of(false);
	prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	GPU_CHECK(k, cuMemCreate(&handle, BLOCK, &prop, 0) == CUDA_ERROR_NOT_PERMITTED,
		  "of no fabric");
	GPU_CHECK(k,
		  reserve(&address, 12345, 0) == CUDA_ERROR_INVALID_VALUE &&
			  reserve(&address, 0, 0) == CUDA_ERROR_INVALID_VALUE &&
			  reserve(&address, 64 << 10, 0) == CUDA_ERROR_INVALID_VALUE &&
			  reserve(&address, BLOCK, 3) == CUDA_ERROR_INVALID_VALUE,
		  "addresses as well");
}

static void exports(struct kinds *k, CUdeviceptr address)
{
	int fd = -1;

	GPU_CHECK(k,
		  cuMemGetHandleForAddressRange(&fd, address + BLOCK, 2 * BLOCK,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						0) == CUDA_SUCCESS,
		  "a dma-buf goes over the edge between two");
	(void)close(fd);
	GPU_CHECK(k,
		  cuMemGetHandleForAddressRange(&fd, address + 2 * BLOCK, 2 * BLOCK,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						0) == CUDA_ERROR_INVALID_VALUE,
		  "not over a hole");
}

static void touches(struct kinds *k, CUdeviceptr address)
{
	const CUmemAccessDesc all = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
				     .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	unsigned long long access = 9;
	uint64_t start;
	uint8_t byte = 0;

	GPU_CHECK(k, cuMemcpyHtoD(address, k->pinned, 1) == CUDA_ERROR_INVALID_VALUE,
		  "nobody touches what is mapped");
	GPU_CHECK(k,
		  attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) == UINT64_MAX &&
			  attribute(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, address) == 0 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address) ==
				  1 &&
			  cuMemGetAddressRange(NULL, &(size_t){0}, address) == CUDA_ERROR_NOT_FOUND,
		  "its attributes say so");
	GPU_CHECK(k,
		  cuMemSetAccess(address + 4 * BLOCK, BLOCK, &all, 1) == CUDA_ERROR_INVALID_VALUE,
		  "what is not mapped is not opened");
	start = vb_now_ps();
	GPU_CHECK(k,
		  cuMemSetAccess(address + 2 * BLOCK, BLOCK, &all, 1) == CUDA_SUCCESS &&
			  took(start, 27000, 33000),
		  "access to a block takes 28 us");
	GPU_CHECK(k, cuMemSetAccess(address, 3 * BLOCK, &all, 1) == CUDA_SUCCESS, "to two at once");
	GPU_CHECK(k,
		  cuMemGetAccess(&access, &all.location, address) == CUDA_SUCCESS && access == 3 &&
			  attribute(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, address) == address &&
			  attribute(CU_POINTER_ATTRIBUTE_CONTEXT, address) == 0,
		  "then it is memory");
	GPU_CHECK(k,
		  attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE, address) == 1 &&
			  attribute(CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE,
				    address + 2 * BLOCK) == 0,
		  "for adapters as it was made");
	(void)cuMemsetD8(address, 3, 3 * BLOCK);
	GPU_CHECK(k, cuMemcpyDtoH(&byte, address + 3 * BLOCK - 1, 1) == CUDA_SUCCESS && byte == 3,
		  "which is touched over the edge between two");
	GPU_CHECK(k,
		  cuPointerSetAttribute(&(unsigned){1}, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
					address) == CUDA_ERROR_NOT_SUPPORTED,
		  "its calls wait for nothing");
	GPU_CHECK(k, cuMemFree(address) == CUDA_ERROR_INVALID_VALUE, "and it is not freed so");
}

static void mappings(struct kinds *k)
{
	CUmemAllocationProp prop = prop_of(true), other = prop_of(false), is;
	CUmemGenericAllocationHandle two, one, again;
	const size_t before = gpu_free_bytes();
	uint64_t start = vb_now_ps();
	CUdeviceptr address;
	size_t grain = 0;

	GPU_CHECK(k,
		  cuMemGetAllocationGranularity(&grain, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
				  CUDA_SUCCESS &&
			  grain == BLOCK,
		  "blocks are of 2 MiB");
	GPU_CHECK(k,
		  cuMemCreate(&two, 2 * BLOCK, &prop, 0) == CUDA_SUCCESS &&
			  took(start, 25000, 29000),
		  "memory is made in 27 us");
	(void)cuMemCreate(&one, BLOCK, &other, 0);
	GPU_CHECK(k, gpu_free_bytes() == before - 3 * BLOCK, "and taken");
	GPU_CHECK(k, reserve(&address, 8 * BLOCK, 0) == CUDA_SUCCESS && address % BLOCK == 0,
		  "addresses are reserved");
	GPU_CHECK(k,
		  cuMemcpyHtoD(address, k->pinned, 1) == CUDA_ERROR_INVALID_VALUE &&
			  attribute(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, address) == UINT64_MAX,
		  "and are nothing");
	GPU_CHECK(k,
		  cuMemMap(address, 2 * BLOCK, 64 << 10, two, 0) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMemMap(address, BLOCK, 0, two, 0) == CUDA_ERROR_NOT_SUPPORTED,
		  "no part of it is mapped");
	start = vb_now_ps();
	GPU_CHECK(k,
		  cuMemMap(address, 2 * BLOCK, 0, two, 0) == CUDA_SUCCESS &&
			  took(start, 1000, 1900),
		  "all of it is, in 1.2 us");
	GPU_CHECK(k, cuMemMap(address + BLOCK, BLOCK, 0, one, 0) == CUDA_ERROR_INVALID_VALUE,
		  "not where something is");
	GPU_CHECK(k, cuMemMap(address + 2 * BLOCK, BLOCK, 0, one, 0) == CUDA_SUCCESS,
		  "but beside it");
	touches(k, address);
	exports(k, address);
	GPU_CHECK(k,
		  cuMemGetAllocationPropertiesFromHandle(&is, two) == CUDA_SUCCESS &&
			  is.allocFlags.gpuDirectRDMACapable == 1,
		  "a handle has its properties");
	GPU_CHECK(k,
		  cuMemRelease(two) == CUDA_SUCCESS &&
			  cuMemRelease(two) == CUDA_ERROR_INVALID_VALUE,
		  "it is released once");
	GPU_CHECK(k, cuMemcpyHtoD(address, k->pinned, 1) == CUDA_SUCCESS, "its memory is there");
	GPU_CHECK(k,
		  cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)(address + 5)) ==
				  CUDA_SUCCESS &&
			  again == two,
		  "as long as it is mapped it can be had again");
	GPU_CHECK(k, cuMemAddressFree(address, 8 * BLOCK) == CUDA_ERROR_INVALID_VALUE,
		  "addresses stay while something is there");
	start = vb_now_ps();
	GPU_CHECK(k,
		  cuMemUnmap(address + 2 * BLOCK, BLOCK) == CUDA_SUCCESS &&
			  took(start, 19000, 22000),
		  "a block goes in 20 us");
	GPU_CHECK(k, cuMemUnmap(address, BLOCK) == CUDA_ERROR_INVALID_VALUE,
		  "no half of a mapping");
	GPU_CHECK(k, cuMemUnmap(address, 2 * BLOCK) == CUDA_SUCCESS, "all of it");
	GPU_CHECK(k, cuMemcpyHtoD(address, k->pinned, 1) == CUDA_ERROR_INVALID_VALUE,
		  "nothing is there");
	start = vb_now_ps();
	GPU_CHECK(k, cuMemRelease(one) == CUDA_SUCCESS && took(start, 13900, 14600),
		  "a block is free in 14 us");
	GPU_CHECK(k, gpu_free_bytes() == before - 2 * BLOCK, "for others");
	GPU_CHECK(k, cuMemRelease(again) == CUDA_SUCCESS && gpu_free_bytes() == before,
		  "as is the other");
	GPU_CHECK(k,
		  cuMemAddressFree(address, BLOCK) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemAddressFree(address, 8 * BLOCK) == CUDA_SUCCESS,
		  "addresses go as they came");
}

int prog_main(const struct vb_prog *prog)
{
	struct kinds k = {.prog = prog, .bytes = calloc(1, BLOCK)};

	if (!prog_takes(prog, "") || !k.bytes || !gpu_open(prog, 0) ||
	    !GPU_DO(prog, cuMemAllocHost((void **)&k.pinned, BLOCK)) ||
	    !GPU_DO(prog, cuStreamCreate(&k.a, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(prog, cuStreamCreate(&k.b, CU_STREAM_NON_BLOCKING))) {
		free(k.bytes);
		return -1;
	}
	rows(&k);
	pools(&k);
	refusals(&k);
	mappings(&k);
	(void)cuMemFreeHost(k.pinned);
	free(k.bytes);
	return k.failed == 0 ? 0 : -1;
}
