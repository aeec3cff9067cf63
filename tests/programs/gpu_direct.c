/* SPDX-License-Identifier: BSD-2-Clause */

/* Device memory as dma-bufs: which ranges can be exported, what holds them, and that rank 0 WRITEs
 * from one to rank 1's. window=0: bytes of BAR1 that the GPU has, if it shows not all of its
 * memory. A line for each check, "ok" or "not". */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 4096, BLOCK = 2 << 20 };

struct direct {
	const struct vb_prog *prog;
	struct ibv_pd *pd;
	int failed;
};

static CUresult export_range(CUdeviceptr address, size_t bytes, int *ret_fd)
{
	*ret_fd = -1;
	return cuMemGetHandleForAddressRange(ret_fd, address, bytes,
					     CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

static bool refuses(CUdeviceptr address, size_t bytes)
{
	int fd;

	return export_range(address, bytes, &fd) == CUDA_ERROR_INVALID_VALUE && fd == -1;
}

static void ranges(struct direct *d)
{
	CUdeviceptr small, large, next;
	void *pinned;
	int fd, again;

	(void)cuMemAlloc(&small, 10000);
	(void)cuMemAlloc(&large, 2 * BLOCK);
	(void)cuMemAlloc(&next, BLOCK);
	(void)cuMemAllocHost(&pinned, PAGE);
	GPU_CHECK(d, export_range(small, 64 << 10, &fd) == CUDA_SUCCESS,
		  "a range may go beyond its allocation, in its block");
	GPU_CHECK(d, lseek(fd, 0, SEEK_END) == 64 << 10, "its descriptor is as large");
	GPU_CHECK(d, fcntl(fd, F_GETFD) == FD_CLOEXEC, "and closed by exec");
	GPU_CHECK(d, export_range(small, 64 << 10, &again) == CUDA_SUCCESS && again != fd,
		  "each export has its own");
	(void)close(fd);
	(void)close(again);
	GPU_CHECK(d, export_range(large, 2 * BLOCK, &fd) == CUDA_SUCCESS && close(fd) == 0,
		  "all of an allocation");
	GPU_CHECK(d, export_range(next - PAGE, 2 * PAGE, &fd) == CUDA_SUCCESS && close(fd) == 0,
		  "and over its edge, where there is another");
	GPU_CHECK(d, refuses(large - PAGE, 2 * PAGE), "from where nothing was given out, none");
	GPU_CHECK(d, refuses(next + BLOCK - PAGE, 2 * PAGE), "not where there is none");
	GPU_CHECK(d, refuses(small + 512, PAGE) && refuses(small, 512), "pages of the host");
	GPU_CHECK(d, refuses(small, 0), "not nothing");
	GPU_CHECK(d, refuses((CUdeviceptr)(uintptr_t)pinned, PAGE), "not memory of the host");
	GPU_CHECK(d,
		  cuMemGetHandleForAddressRange(&fd, large, PAGE,
						CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD,
						1) == CUDA_ERROR_NOT_SUPPORTED,
		  "no mapping over PCIe alone");
	(void)cuMemFree(small);
	(void)cuMemFree(next);
	(void)cuMemFree(large);
	(void)cuMemFreeHost(pinned);
}

static struct ibv_mr *reg(struct direct *d, int fd, uint64_t offset, size_t bytes)
{
	return ibv_reg_dmabuf_mr(d->pd, offset, bytes, 0, fd,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

/* What a descriptor holds. */
static void holds(struct direct *d)
{
	const size_t before = gpu_free_bytes();
	CUdeviceptr memory;
	int fd, copy;

	(void)cuMemAlloc(&memory, 2 * BLOCK);
	(void)export_range(memory, 2 * BLOCK, &fd);
	copy = dup(fd);
	(void)cuMemFree(memory);
	(void)close(fd);
	GPU_CHECK(d, gpu_free_bytes() == before - 2 * BLOCK,
		  "a copy of its descriptor holds memory");
	(void)close(copy);
	GPU_CHECK(d, gpu_free_bytes() == before, "which is free without one");
}

static void lives(struct direct *d)
{
	const size_t before = gpu_free_bytes();
	CUdeviceptr memory;
	struct ibv_mr *mr;
	int fd, copy;

	(void)cuMemAlloc(&memory, 2 * BLOCK);
	GPU_CHECK(d, gpu_free_bytes() == before - 2 * BLOCK, "memory is taken");
	(void)export_range(memory, 2 * BLOCK, &fd);
	copy = dup(fd);
	mr = reg(d, fd, PAGE, BLOCK);
	GPU_CHECK(d, mr, "a dma-buf is registered");
	GPU_CHECK(d, !reg(d, fd, BLOCK, BLOCK + 1) && errno == EINVAL,
		  "no more than there is of it");
	GPU_CHECK(d,
		  cuMemFree(memory) == CUDA_SUCCESS &&
			  cuMemFree(memory) == CUDA_ERROR_INVALID_VALUE,
		  "what was exported can be freed");
	GPU_CHECK(d, gpu_free_bytes() == before - 2 * BLOCK, "and stays taken");
	(void)close(fd);
	GPU_CHECK(d, gpu_free_bytes() == before - 2 * BLOCK,
		  "as long as a copy of its descriptor is open");
	(void)close(copy);
	GPU_CHECK(d, gpu_free_bytes() == before - 2 * BLOCK, "or it is registered");
	GPU_CHECK(d, mr && ibv_dereg_mr(mr) == 0 && gpu_free_bytes() == before, "and no longer");
	fd = open("/dev/null", O_RDWR);
	GPU_CHECK(d, !reg(d, fd, 0, PAGE), "what is no dma-buf is not registered");
	(void)close(fd);
}

/* The window shows so many bytes at once. */
static void windows(struct direct *d, size_t window)
{
	struct ibv_mr *mr, *more;
	CUdeviceptr memory;
	int fd;

	(void)cuMemAlloc(&memory, 4 * window);
	(void)export_range(memory, 4 * window, &fd);
	errno = 0;
	GPU_CHECK(d, !reg(d, fd, 0, window + 1) && errno == ENOMEM, "not more than the window");
	mr = reg(d, fd, PAGE, window - (64 << 10));
	GPU_CHECK(d, mr, "as much as it shows, in pages of 64 KiB");
	GPU_CHECK(d, !reg(d, fd, 2 * window, 1), "and nothing beside that");
	GPU_CHECK(d, mr && ibv_dereg_mr(mr) == 0, "until it is given back");
	mr = ibv_reg_mr(d->pd, (void *)(uintptr_t)memory, window / 2, IBV_ACCESS_LOCAL_WRITE);
	more = reg(d, fd, 3 * window, window / 2);
	GPU_CHECK(d, mr && more, "by pointer as well");
	GPU_CHECK(d, mr && more && ibv_dereg_mr(mr) == 0 && ibv_dereg_mr(more) == 0, "and back");
	(void)close(fd);
	(void)cuMemFree(memory);
}

static bool has_attribute(CUdevice_attribute attribute, uint64_t value)
{
	int is = -1;

	return cuDeviceGetAttribute(&is, attribute, 0) == CUDA_SUCCESS && is == (int)value;
}

static void attributes(struct direct *d)
{
	const struct vb_prog *prog = d->prog;

	GPU_CHECK(
		d,
		has_attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID, prog_arg(prog, "domain", 1)) &&
			has_attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, prog_arg(prog, "bus", 24)) &&
			has_attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
				      prog_arg(prog, "device", 31)),
		"the GPU has its PCI address");
	GPU_CHECK(d, has_attribute(CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, 1), "and dma-bufs");
	GPU_CHECK(d, has_attribute(CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING, 100),
		  "and an order for itself");
}

/* The pages of a region are given back under it: nobody reads or writes there any more. */
static void revoked(struct direct *d)
{
	CUdeviceptr memory;
	struct ibv_mr *mr;

	(void)cuMemAlloc(&memory, BLOCK);
	mr = ibv_reg_mr(d->pd, (void *)(uintptr_t)memory, BLOCK, IBV_ACCESS_LOCAL_WRITE);
	GPU_CHECK(d, mr && cuMemFree(memory) == CUDA_SUCCESS, "registered memory can be freed");
	GPU_CHECK(d, gpu_free_bytes() > 0 && mr && ibv_dereg_mr(mr) == 0,
		  "and deregistered after that");
}

static void flushes(struct direct *d)
{
	const CUflushGPUDirectRDMAWritesTarget here =
		CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX;
	const uint64_t ns = 1000;
	uint64_t began, own;

	GPU_CHECK(d,
		  cuFlushGPUDirectRDMAWrites(here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER) ==
				  CUDA_SUCCESS &&
			  cuFlushGPUDirectRDMAWrites(
				  here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES) ==
				  CUDA_SUCCESS,
		  "writes are flushed");
	began = vb_now_ps();
	(void)cuFlushGPUDirectRDMAWrites(here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
	own = vb_now_ps() - began;
	(void)cuFlushGPUDirectRDMAWrites(here, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_ALL_DEVICES);
	GPU_CHECK(d, own < 100 * ns && vb_now_ps() - began - own > 300 * ns,
		  "by a read where nobody promises their order");
	GPU_CHECK(d,
		  cuFlushGPUDirectRDMAWrites((CUflushGPUDirectRDMAWritesTarget)1,
					     CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER) ==
			  CUDA_ERROR_INVALID_VALUE,
		  "in the context");
}

/* Rank 0 writes from one dma-buf to rank 1's, whose bytes begin at 0 for the adapter; then memory
 * that was registered by pointer and given back is gone for the next WRITE. */
static int talk(struct direct *d, struct prog_ctx *ctx, CUdeviceptr memory, uint8_t *bytes)
{
	const struct vb_prog *prog = d->prog;
	struct prog_pending pending = {.sends = 1};
	struct prog_qp qp;
	int ret = prog_qp_open(
		&qp, ctx,
		(struct prog_qp_params){.peer = 1 - prog->rank, .send_depth = 1, .recv_depth = 1});

	if (ret != 0 || prog_connect(&qp, 1) != 0)
		return -1;
	if (prog->rank == 0) {
		prog_fill(bytes, BLOCK, 3);
		(void)cuMemcpyHtoD(memory, bytes, BLOCK);
		(void)cuCtxSynchronize();
		ret = prog_post_send(&qp, (struct prog_send){.wr_id = 1,
							     .opcode = IBV_WR_RDMA_WRITE,
							     .bytes = NULL,
							     .length = BLOCK}) != 0 ||
		      prog_drain(&qp, NULL, &pending) != 0 || prog->put(prog, "done", NULL, 0) != 0;
	} else {
		ret = prog->get(prog, "done", NULL, 0) != 0 ||
		      cuMemcpyDtoH(bytes, memory, BLOCK) != CUDA_SUCCESS ||
		      prog_check(prog, "written", bytes, BLOCK, 3) != 0;
	}
	GPU_CHECK(d, ret == 0, "a WRITE goes from dma-buf to dma-buf");
	return prog_close(ctx, &qp, 1);
}

static int run(struct direct *d, uint8_t *bytes)
{
	const struct vb_prog *prog = d->prog;
	struct prog_ctx ctx;
	CUdeviceptr memory;
	struct ibv_mr *own;
	int fd, ret;

	if (!gpu_open(prog, 0) || prog_open(&ctx, prog, 16, bytes, BLOCK) != 0)
		return -1;
	d->pd = ctx.pd;
	ranges(d);
	holds(d);
	lives(d);
	if (prog_arg(prog, "window", 0) > 0)
		windows(d, prog_arg(prog, "window", 0));
	flushes(d);
	attributes(d);
	revoked(d);
	if (!GPU_DO(prog, cuMemAlloc(&memory, BLOCK)) || export_range(memory, BLOCK, &fd))
		return -1;
	own = ctx.mr;
	ctx.mr = ibv_reg_dmabuf_mr(ctx.pd, 0, BLOCK, 0, fd,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!ctx.mr || ibv_dereg_mr(own) != 0)
		return -1;
	ret = talk(d, &ctx, memory, bytes);
	(void)close(fd);
	return ret;
}

int prog_main(const struct vb_prog *prog)
{
	struct direct d = {.prog = prog};
	uint8_t *bytes;
	int ret;

	if (!prog_takes(prog, "window domain bus device"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	bytes = calloc(1, BLOCK);
	ret = bytes ? run(&d, bytes) : -1;
	free(bytes);
	return ret == 0 && d.failed == 0 ? 0 : -1;
}
