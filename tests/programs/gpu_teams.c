/* SPDX-License-Identifier: BSD-2-Clause */

/* A team of the GPUs of three programs of one machine: a multicast object that the first makes and
 * passes to the others, what kernels do with its memory, and what is refused. Where no NVSwitch
 * does it, one program: codes as measured on an H100 without (driver 580.159.04). A line for each
 * check, "ok" or "not". */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <string.h>
#include <unistd.h>

enum { BLOCK = 2 << 20, BYTES = 2 * BLOCK, RANKS = 3, LATE_US = 1000 };

static const CUmemAllocationHandleType as_fd = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;

#define PTX                                                                                        \
	".version 8.0\n.target sm_90\n.address_size 64\n"                                          \
	".visible .entry act(.param .u64 team, .param .u64 own, .param .u32 what)\n{ ret; }\n"

struct teams {
	const struct vb_prog *prog;
	CUmemGenericAllocationHandle team, memory;
	CUdeviceptr all, own;
	CUfunction act;
	int failed;
};

/* ---- what kernels do ---- */

enum what { REDUCE, WRITE, RED, READ, WRONG, UNBOUND };

/* What each program has in its memory, and where. In another order the floats are 0 together. */
struct values {
	uint32_t u32;
	int32_t s32;
	uint64_t u64;
	double f64;
	float f32;
	uint32_t written, sum;
};
static const struct values of_rank[RANKS] = {
	{.u32 = 12, .s32 = -5, .u64 = UINT64_C(1) << 40, .f64 = .5, .f32 = 1e8f},
	{.u32 = 10, .s32 = 3, .u64 = UINT64_C(2) << 40, .f64 = 1.5, .f32 = -1e8f},
	{.u32 = 9, .s32 = -7, .u64 = UINT64_C(3) << 40, .f64 = 2.25, .f32 = 1}};

/* What comes of all of them, behind the values. */
struct results {
	uint32_t add, min, max, and, or, xor;
	int32_t s32_min, s32_max;
	uint64_t u64;
	double f64;
	float f32;
};
static const struct results wanted = {.add = 31,
				      .min = 9,
				      .max = 12,
				      .and = 8,
				      .or = 15,
				      .xor = 15,
				      .s32_min = -7,
				      .s32_max = 3,
				      .u64 = UINT64_C(6) << 40,
				      .f64 = 4.25,
				      .f32 = 1};
enum { RESULTS = 4096 };

static void reduce(struct vb_launch *launch, uint64_t team, uint64_t own)
{
	const uint64_t u32 = team + offsetof(struct values, u32);
	const uint64_t s32 = team + offsetof(struct values, s32);
	struct results r;

	memset(&r, 0, sizeof(r));
	(void)vb_kernel_multimem_reduce(launch, &r.add, u32, 4, VB_U32, VB_ADD);
	(void)vb_kernel_multimem_reduce(launch, &r.min, u32, 4, VB_U32, VB_MIN);
	(void)vb_kernel_multimem_reduce(launch, &r.max, u32, 4, VB_U32, VB_MAX);
	(void)vb_kernel_multimem_reduce(launch, &r.and, u32, 4, VB_U32, VB_AND);
	(void)vb_kernel_multimem_reduce(launch, &r.or, u32, 4, VB_U32, VB_OR);
	(void)vb_kernel_multimem_reduce(launch, &r.xor, u32, 4, VB_U32, VB_XOR);
	(void)vb_kernel_multimem_reduce(launch, &r.s32_min, s32, 4, VB_S32, VB_MIN);
	(void)vb_kernel_multimem_reduce(launch, &r.s32_max, s32, 4, VB_S32, VB_MAX);
	(void)vb_kernel_multimem_reduce(launch, &r.u64, team + offsetof(struct values, u64), 8,
					VB_U64, VB_ADD);
	(void)vb_kernel_multimem_reduce(launch, &r.f64, team + offsetof(struct values, f64), 8,
					VB_F64, VB_ADD);
	(void)vb_kernel_multimem_reduce(launch, &r.f32, team + offsetof(struct values, f32), 4,
					VB_F32, VB_ADD);
	(void)vb_kernel_write(launch, own + RESULTS, &r, sizeof(r));
}

static void act(struct vb_launch *launch)
{
	const uint64_t team = *(const uint64_t *)launch->args[0];
	const uint64_t own = *(const uint64_t *)launch->args[1];
	const uint32_t word = 77, one = 1;
	uint32_t got;

	switch (*(const uint32_t *)launch->args[2]) {
	case REDUCE:
		reduce(launch, team, own);
		break;
	case WRITE:
		(void)vb_kernel_multimem_write(launch, team + offsetof(struct values, written),
					       &word, 4);
		break;
	case RED:
		(void)vb_kernel_multimem_red(launch, team + offsetof(struct values, sum), &one, 4,
					     VB_U32, VB_ADD);
		break;
	case READ:
		(void)vb_kernel_read(launch, &got, team, 4);
		break;
	case WRONG:
		(void)vb_kernel_multimem_reduce(launch, &got, team, 4, VB_F32, VB_MIN);
		break;
	case UNBOUND:
		(void)vb_kernel_multimem_reduce(launch, &got, team + BLOCK, 4, VB_U32, VB_ADD);
		break;
	}
}

static CUresult launch(const struct teams *t, enum what what)
{
	uint64_t all = t->all, own = t->own;
	uint32_t number = what;
	void *args[] = {&all, &own, &number};
	const CUresult result = cuLaunchKernel(t->act, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);

	return result == CUDA_SUCCESS ? cuCtxSynchronize() : result;
}

/* ---- the object ---- */

static CUmulticastObjectProp prop_of(unsigned int devices, size_t bytes)
{
	return (CUmulticastObjectProp){.numDevices = devices, .size = bytes, .handleTypes = as_fd};
}

static void makes(struct teams *t)
{
	const CUmulticastObjectProp good = prop_of(RANKS, BYTES), none = prop_of(0, BYTES),
				    many = prop_of(99, BYTES), empty = prop_of(RANKS, 0),
				    part = prop_of(RANKS, BLOCK / 2);
	CUmulticastObjectProp other = good, fabric = good;
	size_t least = 0, most = 0;

	other.flags = 1;
	fabric.handleTypes = CU_MEM_HANDLE_TYPE_FABRIC;
	GPU_CHECK(t,
		  cuMulticastGetGranularity(&least, &good, CU_MULTICAST_GRANULARITY_MINIMUM) ==
				  CUDA_SUCCESS &&
			  cuMulticastGetGranularity(&most, &good,
						    CU_MULTICAST_GRANULARITY_RECOMMENDED) ==
				  CUDA_SUCCESS &&
			  least == BLOCK && most == (size_t)512 << 20,
		  "in blocks of 2 MiB, better of 512");
	GPU_CHECK(t,
		  cuMulticastCreate(&t->team, &none) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, &many) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, &empty) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, &part) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, &other) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, NULL) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(NULL, &good) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastCreate(&t->team, &fabric) == CUDA_ERROR_NOT_PERMITTED,
		  "what is no object");
	GPU_CHECK(t, cuMulticastCreate(&t->team, &good) == CUDA_SUCCESS, "one of three GPUs");
}

static bool pass(struct teams *t)
{
	const struct vb_prog *prog = t->prog;
	int fd = -1;

	if (prog->rank == 0)
		return GPU_DO(prog, cuMemExportToShareableHandle(&fd, t->team, as_fd, 0)) &&
		       prog->put(prog, "team", &fd, sizeof(fd)) == 0;
	return prog->get(prog, "team", &fd, sizeof(fd)) == 0 &&
	       GPU_DO(prog, cuMemImportFromShareableHandle(&t->team, (void *)(intptr_t)fd, as_fd));
}

static bool make_memory(struct teams *t)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	prop.location.id = t->prog->rank;
	return GPU_DO(t->prog, cuMemCreate(&t->memory, BYTES, &prop, 0));
}

/* The first is late, and the others wait for it. */
static void joins(struct teams *t)
{
	const struct vb_prog *prog = t->prog;
	const uint64_t before = vb_now_ps();

	if (prog->rank == 0)
		prog->sleep_ns(prog, 1000 * LATE_US);
	GPU_CHECK(t,
		  cuMulticastAddDevice(t->team, 99) == CUDA_ERROR_INVALID_DEVICE &&
			  cuMulticastAddDevice(t->memory, prog->rank) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastAddDevice(t->team, prog->rank) == CUDA_SUCCESS &&
			  cuMulticastAddDevice(t->team, prog->rank) == CUDA_ERROR_INVALID_VALUE,
		  "a GPU is in it, once");
	GPU_CHECK(t,
		  cuMulticastBindMem(t->team, 0, t->memory, 0, BLOCK, 0) == CUDA_SUCCESS &&
			  gpu_took(before, LATE_US * 3 / 4, 2 * LATE_US),
		  "it has memory, when all are");
	GPU_CHECK(t,
		  cuMulticastAddDevice(t->team, RANKS) == CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, 0, t->memory, BLOCK, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, BYTES, t->memory, 0, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, BLOCK, t->memory, BYTES, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, BLOCK, t->memory, 0, BLOCK / 2, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, BLOCK, t->memory, 0, BLOCK, 1) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindMem(t->team, BLOCK, t->team, 0, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "no fourth, and nothing twice, or beyond");
}

static CUdeviceptr map(const struct teams *t, CUmemGenericAllocationHandle handle)
{
	CUmemAccessDesc access = {.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
	CUdeviceptr address = 0;

	access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	access.location.id = t->prog->rank;
	if (cuMemAddressReserve(&address, BYTES, 0, 0, 0) != CUDA_SUCCESS ||
	    cuMemMap(address, BYTES, 0, handle, 0) != CUDA_SUCCESS ||
	    cuMemSetAccess(address, BYTES, &access, 1) != CUDA_SUCCESS)
		return 0;
	return address;
}

/* The second block of it by its address; not of the last GPU. */
static void binds_address(struct teams *t)
{
	if (t->prog->rank < RANKS - 1)
		GPU_CHECK(t,
			  cuMulticastBindAddr(t->team, BLOCK, t->own + BLOCK, BLOCK, 0) ==
				  CUDA_SUCCESS,
			  "by an address as well");
	GPU_CHECK(t,
		  cuMulticastBindAddr(t->team, BLOCK, t->own + BLOCK + 512, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastBindAddr(t->team, 0, t->all, BLOCK, 0) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "but not by each");
}

static void maps(struct teams *t)
{
	const CUmemLocation own = {CU_MEM_LOCATION_TYPE_DEVICE, t->prog->rank},
			    other = {CU_MEM_LOCATION_TYPE_DEVICE, RANKS};
	CUmemGenericAllocationHandle again;
	unsigned long long flags = 0, none = 9;
	uint32_t word = 1;

	t->own = map(t, t->memory);
	t->all = map(t, t->team);
	GPU_CHECK(t, t->own && t->all, "its memory, and all memory, has an address");
	GPU_CHECK(t,
		  cuMemGetAccess(&flags, &own, t->all) == CUDA_SUCCESS &&
			  flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE &&
			  cuMemGetAccess(&none, &other, t->all) == CUDA_SUCCESS &&
			  none == CU_MEM_ACCESS_FLAGS_PROT_NONE &&
			  cuMemRetainAllocationHandle(&again, (void *)(uintptr_t)t->all) ==
				  CUDA_SUCCESS &&
			  again == t->team && cuMemRelease(again) == CUDA_SUCCESS,
		  "for its own kernels");
	GPU_CHECK(t,
		  cuMemcpyHtoD(t->all, &word, 4) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemcpyDtoH(&word, t->all, 4) == CUDA_ERROR_INVALID_VALUE &&
			  cuMemsetD8(t->all, 1, 4) == CUDA_ERROR_INVALID_VALUE,
		  "and nobody else");
}

static struct values values_of(const struct teams *t)
{
	struct values values = {.u32 = 0};

	(void)cuMemcpyDtoH(&values, t->own, sizeof(values));
	return values;
}

static void computes(struct teams *t)
{
	const struct vb_prog *prog = t->prog;
	struct results results;

	(void)cuMemcpyHtoD(t->own, &of_rank[prog->rank], sizeof(of_rank[0]));
	(void)cuCtxSynchronize();
	(void)prog_barrier(prog, "filled");
	GPU_CHECK(t,
		  launch(t, REDUCE) == CUDA_SUCCESS &&
			  cuMemcpyDtoH(&results, t->own + RESULTS, sizeof(results)) ==
				  CUDA_SUCCESS &&
			  memcmp(&results, &wanted, sizeof(results)) == 0,
		  "what comes of all");
	(void)prog_barrier(prog, "reduced");
	if (prog->rank == 1)
		GPU_CHECK(t, launch(t, WRITE) == CUDA_SUCCESS, "one writes to all");
	(void)prog_barrier(prog, "written");
	GPU_CHECK(t, values_of(t).written == 77, "it is there");
	GPU_CHECK(t, launch(t, RED) == CUDA_SUCCESS, "all add to all at once");
	(void)prog_barrier(prog, "added");
	GPU_CHECK(t, values_of(t).sum == RANKS, "and nothing is lost");
}

/* Memory goes with its last user, and a team with its. */
static void lets_go(struct teams *t)
{
	const struct vb_prog *prog = t->prog;
	const size_t before = gpu_free_bytes();

	(void)cuMemUnmap(t->own, BYTES);
	GPU_CHECK(t, cuMemRelease(t->memory) == CUDA_SUCCESS && gpu_free_bytes() == before,
		  "what is bound stays");
	(void)prog_barrier(prog, "bound");
	GPU_CHECK(t,
		  cuMulticastUnbind(t->team, prog->rank, 0, BLOCK / 2) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastUnbind(t->team, prog->rank, 0, 2 * BYTES) ==
				  CUDA_ERROR_INVALID_VALUE &&
			  cuMulticastUnbind(t->team, 99, 0, BLOCK) == CUDA_ERROR_INVALID_DEVICE &&
			  cuMulticastUnbind(t->team, prog->rank, 0, BLOCK) == CUDA_SUCCESS &&
			  cuMulticastUnbind(t->team, prog->rank, 0, BLOCK) ==
				  CUDA_ERROR_INVALID_VALUE,
		  "until it is unbound");
	GPU_CHECK(t, gpu_free_bytes() == before + (prog->rank < RANKS - 1 ? 0 : BYTES),
		  "all of it");
	(void)prog_barrier(prog, "unbound");
	(void)cuMemUnmap(t->all, BYTES);
	GPU_CHECK(t, cuMemRelease(t->team) == CUDA_SUCCESS, "the team is released");
	(void)prog_barrier(prog, "released");
}

/* Each of another kind, since no context goes on behind that. */
static void strays(struct teams *t)
{
	static const struct {
		enum what what;
		CUresult result;
		const char *name;
	} cases[RANKS] = {{READ, CUDA_ERROR_ILLEGAL_ADDRESS, "no plain read goes there"},
			  {WRONG, CUDA_ERROR_LAUNCH_FAILED, "switches have no least float"},
			  {UNBOUND, CUDA_ERROR_ILLEGAL_ADDRESS, "one has no memory there"}};
	const int rank = t->prog->rank;

	GPU_CHECK(t, launch(t, cases[rank].what) == cases[rank].result, cases[rank].name);
}

static bool has_multicast(void)
{
	int value = 0;

	(void)cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0);
	return value == 1;
}

/* Nothing is looked at before that. */
static void has_none(struct teams *t)
{
	const CUmulticastObjectProp good = prop_of(1, BLOCK), none = prop_of(0, 0);
	size_t bytes = 7;

	GPU_CHECK(t,
		  cuMulticastGetGranularity(&bytes, &good, CU_MULTICAST_GRANULARITY_MINIMUM) ==
				  CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastGetGranularity(NULL, NULL, CU_MULTICAST_GRANULARITY_MINIMUM) ==
				  CUDA_ERROR_NOT_SUPPORTED &&
			  bytes == 7,
		  "no blocks");
	GPU_CHECK(t,
		  cuMulticastCreate(&t->team, &good) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastCreate(&t->team, &none) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastCreate(NULL, NULL) == CUDA_ERROR_NOT_SUPPORTED,
		  "no object");
	GPU_CHECK(t,
		  cuMulticastAddDevice(1, 99) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastBindMem(1, 0, 1, 0, 1, 1) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastBindAddr(1, 0, 1, 1, 1) == CUDA_ERROR_NOT_SUPPORTED &&
			  cuMulticastUnbind(1, 99, 0, 1) == CUDA_ERROR_NOT_SUPPORTED,
		  "nor anything of one");
}

int prog_main(const struct vb_prog *prog)
{
	struct teams t = {.prog = prog};
	size_t bytes;
	CUmodule module;

	if (!prog_takes(prog, "stray"))
		return -1;
	GPU_CHECK(&t,
		  cuMulticastGetGranularity(&bytes, NULL, CU_MULTICAST_GRANULARITY_MINIMUM) ==
			  CUDA_ERROR_NOT_INITIALIZED,
		  "not before cuInit()");
	if (!gpu_open(prog, prog->rank))
		return -1;
	if (!has_multicast()) {
		has_none(&t);
		return t.failed == 0 ? 0 : -1;
	}
	if (vb_kernel("act", act) != 0 || !GPU_DO(prog, cuModuleLoadData(&module, PTX)) ||
	    !GPU_DO(prog, cuModuleGetFunction(&t.act, module, "act")) || !make_memory(&t))
		return -1;
	if (prog->rank == 0)
		makes(&t);
	if (!pass(&t))
		return -1;
	joins(&t);
	maps(&t);
	binds_address(&t);
	(void)prog_barrier(prog, "bound all");
	computes(&t);
	if (prog_arg(prog, "stray", 0))
		strays(&t);
	else
		lets_go(&t);
	return t.failed == 0 ? 0 : -1;
}
