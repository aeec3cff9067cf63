/* SPDX-License-Identifier: BSD-2-Clause */

/* Two programs on one GPU: rank 0 ends without giving anything back, and its streams have much to
 * do; rank 1 goes on. What was the other one's is free, but for memory that rank 1 has opened, as
 * long as it has. A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/managed.h"

#include <string.h>

enum { MIB = 1 << 20, EXPORTED = 24 * MIB, OTHER = 8 * MIB, LOOK = 64, LATER_NS = 1000000 };

static bool open_memory(const struct vb_prog *prog, CUdeviceptr *ret_address, CUipcMemHandle handle)
{
	return GPU_DO(prog,
		      cuIpcOpenMemHandle(ret_address, handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS));
}

struct leaves {
	const struct vb_prog *prog;
	struct prog_ctx ctx;
	struct prog_qp qp;
	int failed;
};

static bool connect_to(struct leaves *l, int peer, void *bytes, size_t length)
{
	return prog_open(&l->ctx, l->prog, 4, bytes, length) == 0 &&
	       prog_qp_open(&l->qp, &l->ctx,
			    (struct prog_qp_params){
				    .peer = peer, .send_depth = 1, .recv_depth = 1}) == 0 &&
	       prog_connect(&l->qp, 1) == 0;
}

/* ---- who ends ---- */

static bool take_by_handle(void)
{
	CUmemAllocationProp prop = {.type = CU_MEM_ALLOCATION_TYPE_PINNED};
	CUmemGenericAllocationHandle handle;
	CUdeviceptr address;

	prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
	return cuMemCreate(&handle, OTHER, &prop, 0) == CUDA_SUCCESS &&
	       cuMemAddressReserve(&address, OTHER, 0, 0, 0) == CUDA_SUCCESS &&
	       cuMemMap(address, OTHER, 0, handle, 0) == CUDA_SUCCESS;
}

/* Of each kind something. */
static bool take_memory(CUdeviceptr *ret_exported, CUdeviceptr *ret_other)
{
	CUdeviceptr pooled;

	if (cuMemAlloc(ret_exported, EXPORTED) != CUDA_SUCCESS ||
	    cuMemAlloc(ret_other, OTHER) != CUDA_SUCCESS ||
	    cuMemAllocAsync(&pooled, OTHER, NULL) != CUDA_SUCCESS || !take_by_handle())
		return false;
	(void)cuMemPrefetchAsync(managed_take(OTHER), OTHER, gpu, 0, NULL);
	(void)cuMemsetD8(*ret_exported, 7, EXPORTED);
	(void)cuMemsetD8(*ret_other, 0, OTHER);
	return cuCtxSynchronize() == CUDA_SUCCESS;
}

static void never(void *arg)
{
	*(bool *)arg = true;
}

static int leave(struct leaves *l)
{
	static bool was_called;
	const struct vb_prog *prog = l->prog;
	CUdeviceptr exported, other, theirs;
	CUipcMemHandle handle;
	CUstream waits, copies;
	char word = 0;

	if (prog->get(prog, "ready", &handle, sizeof(handle)) != 0 ||
	    !open_memory(prog, &theirs, handle) || !take_memory(&exported, &other) ||
	    !connect_to(l, 1, (void *)(uintptr_t)other, OTHER) ||
	    !GPU_DO(prog, cuIpcGetMemHandle(&handle, exported)) ||
	    prog->put(prog, "handle", &handle, sizeof(handle)) != 0 ||
	    prog->get(prog, "opened", &word, 1) != 0)
		return -1;
	(void)cuStreamCreate(&waits, CU_STREAM_NON_BLOCKING);
	(void)cuStreamCreate(&copies, CU_STREAM_NON_BLOCKING);
	(void)cuStreamWaitValue32(waits, other, 1, 0);
	(void)cuMemsetD8Async(exported, 9, EXPORTED, waits);
	(void)cuLaunchHostFunc(waits, never, &was_called);
	return cuMemcpyDtoDAsync(other, exported, OTHER, copies) == CUDA_SUCCESS ? 0 : -1;
}

/* ---- who stays ---- */

/* What rank 0 had registered. */
static enum ibv_wc_status read_theirs(struct leaves *l, uint8_t *bytes)
{
	struct ibv_wc wc = {.status = IBV_WC_SUCCESS};

	if (prog_post_send(&l->qp, (struct prog_send){.opcode = IBV_WR_RDMA_READ,
						      .bytes = bytes,
						      .length = LOOK}) != 0)
		return IBV_WC_GENERAL_ERR;
	while (ibv_poll_cq(l->ctx.cq, 1, &wc) == 0)
		;
	return wc.status;
}

static int stay(struct leaves *l)
{
	static uint8_t bytes[LOOK], sevens[LOOK];
	const struct vb_prog *prog = l->prog;
	const size_t all = gpu_free_bytes();
	CUdeviceptr own, import, taken;
	CUipcMemHandle handle;

	memset(sevens, 7, sizeof(sevens));
	if (!GPU_DO(prog, cuMemAlloc(&own, OTHER)) ||
	    !GPU_DO(prog, cuIpcGetMemHandle(&handle, own)) ||
	    prog->put(prog, "ready", &handle, sizeof(handle)) != 0 ||
	    !connect_to(l, 0, bytes, sizeof(bytes)) ||
	    prog->get(prog, "handle", &handle, sizeof(handle)) != 0 ||
	    !open_memory(prog, &import, handle))
		return -1;
	GPU_CHECK(l, gpu_free_bytes() < all - EXPORTED - 4 * OTHER, "the other one has memory");
	GPU_CHECK(l, read_theirs(l, bytes) == IBV_WC_SUCCESS, "which can be read");
	if (prog->put(prog, "opened", "", 1) != 0)
		return -1;
	prog->sleep_ns(prog, LATER_NS);
	(void)cuMemFree(own); /* which the other one had open */
	GPU_CHECK(l, gpu_free_bytes() == all - EXPORTED, "it is free, but for what is open here");
	GPU_CHECK(l, read_theirs(l, bytes) == IBV_WC_REM_ACCESS_ERR, "who registered it is told");
	GPU_CHECK(l,
		  cuMemcpyDtoH(bytes, import, LOOK) == CUDA_SUCCESS &&
			  memcmp(bytes, sevens, LOOK) == 0,
		  "that is as it was: what had not begun is no more");
	GPU_CHECK(l, cuMemAlloc(&taken, all) == CUDA_ERROR_OUT_OF_MEMORY, "and nobody else's");
	GPU_CHECK(l, cuIpcCloseMemHandle(import) == CUDA_SUCCESS && gpu_free_bytes() == all,
		  "once it is closed, all is free");
	GPU_CHECK(l, cuMemAlloc(&taken, all) == CUDA_SUCCESS, "and can be had in one piece");
	GPU_CHECK(l, managed_take(OTHER) != 0, "managed memory, too");
	return l->failed ? -1 : 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct leaves l = {.prog = prog};

	if (!prog_takes(prog, "") || !gpu_open(prog, 0))
		return -1;
	return prog->rank == 0 ? leave(&l) : stay(&l);
}
