/* SPDX-License-Identifier: BSD-2-Clause */

/* Latency by distance. Within the machine of rank 0: for each two of its GPUs "flag A B NS", half a
 * round trip of a word between two kernels, one of which polls the memory of its GPU while the
 * other one stores there, where they may reach each other. With a second rank, for each adapter and
 * each GPU of that one's machine "read NIC GPU NS" and "write NIC GPU NS": until 8 bytes of that
 * GPU were read over that adapter, or written. "read NIC -1 NS": of the host's memory. rounds=20 of
 * each, the mean. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdio.h>

enum { GPUS_MAX = 16, WORD = 8 };

#define PTX                                                                                        \
	".version 6.0\n.target sm_50\n.address_size 64\n"                                          \
	".visible .entry return_it(.param .u64 own, .param .u64 other, .param .u32 count,\n"       \
	"\t.param .u32 begins)\n{ ret; }\n"

struct distance {
	const struct vb_prog *prog;
	uint32_t rounds;
	int gpus;
	CUcontext contexts[GPUS_MAX];
	CUdeviceptr memory[GPUS_MAX];
	CUfunction return_it[GPUS_MAX];
	CUstream streams[GPUS_MAX];
	uint64_t host; /* a word of its memory */
};

/* ---- between GPUs ---- */

/* own: its word; other: that of the other kernel. Each step stores the number of the round there
 * and waits for it here; the one that does not begin waits first. */
static void return_it(struct vb_launch *launch)
{
	const uint64_t own = *(const uint64_t *)launch->args[0];
	const uint64_t other = *(const uint64_t *)launch->args[1];
	const uint32_t count = *(const uint32_t *)launch->args[2];
	const uint32_t begins = *(const uint32_t *)launch->args[3];
	const uint32_t round = launch->step + begins;

	if (round > 0 && round <= count)
		(void)vb_kernel_write(launch, other, &round, sizeof(round));
	if (launch->step < count)
		(void)vb_kernel_wait(launch, own, launch->step + 1);
}

static bool open_gpus(struct distance *d)
{
	const struct vb_prog *prog = d->prog;
	CUdevice device;
	CUmodule module;

	if (!GPU_DO(prog, cuInit(0)) || !GPU_DO(prog, cuDeviceGetCount(&d->gpus)) ||
	    d->gpus > GPUS_MAX || vb_kernel("return_it", return_it) != 0)
		return false;
	for (int i = 0; i < d->gpus; i++)
		if (!GPU_DO(prog, cuDeviceGet(&device, i)) ||
		    !GPU_DO(prog, cuDevicePrimaryCtxRetain(&d->contexts[i], device)) ||
		    !GPU_DO(prog, cuCtxSetCurrent(d->contexts[i])) ||
		    !GPU_DO(prog, cuMemAlloc(&d->memory[i], GPUS_MAX * WORD)) ||
		    !GPU_DO(prog, cuStreamCreate(&d->streams[i], CU_STREAM_NON_BLOCKING)) ||
		    !GPU_DO(prog, cuModuleLoadData(&module, PTX)) ||
		    !GPU_DO(prog, cuModuleGetFunction(&d->return_it[i], module, "return_it")))
			return false;
	return true;
}

/* Either may store into the other's memory from now on. False: they may not. */
static bool enable(struct distance *d, int from, int to)
{
	int can = 0;

	return GPU_DO(d->prog, cuDeviceCanAccessPeer(&can, from, to)) && can &&
	       GPU_DO(d->prog, cuCtxSetCurrent(d->contexts[from])) &&
	       GPU_DO(d->prog, cuCtxEnablePeerAccess(d->contexts[to], 0));
}

static bool start(struct distance *d, int gpu, int other, uint32_t count, uint32_t begins)
{
	void *args[] = {&d->memory[gpu], &d->memory[other], &count, &begins};

	return GPU_DO(d->prog, cuCtxSetCurrent(d->contexts[gpu])) &&
	       GPU_DO(d->prog, cuMemsetD32(d->memory[gpu], 0, 1)) &&
	       GPU_DO(d->prog, cuCtxSynchronize()) &&
	       GPU_DO(d->prog, cuLaunchKernel(d->return_it[gpu], 1, 1, 1, 1, 1, 1, 0,
					      d->streams[gpu], args, NULL));
}

/* How long that many rounds take in all, launch and end with them. */
static uint64_t play(struct distance *d, int a, int b, uint32_t count)
{
	uint64_t began;

	if (!start(d, b, a, count, 0))
		return 0;
	began = vb_now_ps();
	if (!start(d, a, b, count, 1) || !GPU_DO(d->prog, cuStreamSynchronize(d->streams[a])) ||
	    !GPU_DO(d->prog, cuStreamSynchronize(d->streams[b])))
		return 0;
	return vb_now_ps() - began;
}

static bool flags(struct distance *d)
{
	for (int a = 0; a < d->gpus; a++)
		for (int b = a + 1; b < d->gpus; b++) {
			uint64_t few, many;

			if (!enable(d, a, b) || !enable(d, b, a))
				continue;
			few = play(d, a, b, d->rounds);
			many = play(d, a, b, 2 * d->rounds);
			if (few == 0 || many == 0)
				return false;
			prog_say(d->prog, "flag %d %d %.3f", a, b,
				 (double)(many - few) / d->rounds / 2000);
		}
	return true;
}

/* ---- between adapters and GPUs ---- */

/* The mean of so many, one at a time. */
static bool measure(struct distance *d, struct prog_qp *qp, enum ibv_wr_opcode opcode,
		    const char *what, int nic, int gpu)
{
	uint64_t sum = 0;
	struct ibv_wc wc;

	for (uint32_t i = 0; i < d->rounds; i++) {
		const uint64_t began = vb_now_ps();

		if (prog_post_send(qp, (struct prog_send){.opcode = opcode,
							  .bytes = &d->host,
							  .length = WORD}) != 0 ||
		    prog_poll(qp->ctx, &wc) != 0)
			return false;
		sum += vb_now_ps() - began;
	}
	prog_say(d->prog, "%s %d %d %.3f", what, nic, gpu, (double)sum / d->rounds / 1000);
	if (opcode == IBV_WR_RDMA_READ && d->host != (uint64_t)(gpu + 2)) {
		prog_say(d->prog, "what was read of GPU %d is not its", gpu);
		return false;
	}
	return true;
}

/* Of rank 1: the word of that GPU, or of the host (-1), says which it is. */
static bool prepare(struct distance *d, int gpu)
{
	const uint64_t value = (uint64_t)(gpu + 2);

	d->host = value;
	return gpu < 0 || d->prog->rank == 0 ||
	       (GPU_DO(d->prog, cuCtxSetCurrent(d->contexts[gpu])) &&
		GPU_DO(d->prog, cuMemcpyHtoD(d->memory[gpu], &value, sizeof(value))) &&
		GPU_DO(d->prog, cuCtxSynchronize()));
}

static bool meet(struct distance *d, int nic, int gpu, int nth)
{
	const int rank = d->prog->rank;
	void *bytes = rank == 0 || gpu < 0 ? (void *)&d->host : (void *)(uintptr_t)d->memory[gpu];
	struct prog_ctx ctx;
	struct prog_qp qp;
	char key[32];

	snprintf(key, sizeof(key), "distance/%d", nth);
	return prepare(d, gpu) && prog_open_device(&ctx, d->prog, nic, bytes, WORD) == 0 &&
	       prog_qp_open(&qp, &ctx,
			    (struct prog_qp_params){.peer = 1 - rank,
						    .nth = nth,
						    .send_depth = 1,
						    .recv_depth = 1}) == 0 &&
	       prog_connect(&qp, 1) == 0 &&
	       (rank == 1 || (measure(d, &qp, IBV_WR_RDMA_READ, "read", nic, gpu) &&
			      measure(d, &qp, IBV_WR_RDMA_WRITE, "write", nic, gpu))) &&
	       prog_barrier(d->prog, key) == 0 && prog_destroy(&ctx, &qp, 1) == 0;
}

static bool adapters(struct distance *d)
{
	const int nics = prog_count_devices(d->prog);
	int nth = 0;

	for (int nic = 0; nic < nics; nic++)
		for (int gpu = -1; gpu < d->gpus; gpu++)
			if (!meet(d, nic, gpu, nth++))
				return false;
	return nics > 0;
}

int prog_main(const struct vb_prog *prog)
{
	struct distance d = {.prog = prog, .rounds = (uint32_t)prog_arg(prog, "rounds", 20)};

	if (!prog_takes(prog, "rounds"))
		return -1;
	if (prog->rank >= 2)
		return prog_idle(prog);
	gpu_heading(prog, "flag GPU GPU NS; read or write NIC GPU NS");
	if (!open_gpus(&d) || (prog->rank == 0 && !flags(&d)) || (prog->size > 1 && !adapters(&d)))
		return -1;
	return prog->size > 1 ? prog_idle(prog) : 0;
}
