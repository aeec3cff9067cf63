/* SPDX-License-Identifier: BSD-2-Clause */

/* A ring all-reduce of count=65536 words over gpus=0 (all) GPUs of each rank's machine: each GPU
 * passes a part on to the next one, which adds its own, until every part has been everywhere, and
 * then once more what came out. From one GPU to the next of a machine it is a copy, from the last
 * one of a machine to the first one of the next rank's an RDMA WRITE over every adapter, between
 * the memories of the GPUs. float=1: of floats. The sum of every word on every GPU is checked. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 16, RAILS_MAX = 16, AHEAD = 8 };

struct rail {
	struct prog_ctx ctx;
	struct prog_qp qps[2]; /* to the next rank; from the one before, if that is another one */
	struct ibv_mr *source; /* memory of the last GPU */
	int sent, received;
};

struct ring {
	const struct vb_prog *prog;
	int gpus, rails, qp_count;
	uint64_t all;	/* GPUs of all ranks */
	uint64_t words; /* of a part, of which each GPU has @all */
	bool floats;
	CUdeviceptr memory[GPUS_MAX]; /* the parts, and what comes of each step behind them */
	CUcontext contexts[GPUS_MAX];
	CUstream streams[GPUS_MAX];
	CUfunction reduce[GPUS_MAX];
	struct rail rail[RAILS_MAX];
};

static uint64_t part_bytes(const struct ring *ring)
{
	return 4 * ring->words;
}

/* Of one GPU: all parts, and room for one a step. */
static uint64_t memory_bytes(const struct ring *ring)
{
	return part_bytes(ring) * (2 * ring->all - 1);
}

/* ---- values ---- */

/* Small whole numbers, whose sums are exact as floats as well. */
static uint32_t value_of(uint64_t place, uint64_t i)
{
	return (uint32_t)((i * 2654435761u + place * 97) % 10007);
}

static void put_word(const struct ring *ring, uint32_t *word, uint32_t value)
{
	const float number = (float)value;

	if (ring->floats)
		memcpy(word, &number, sizeof(*word));
	else
		*word = value;
}

static bool fill(const struct ring *ring, int gpu, uint32_t *words)
{
	const uint64_t place = (uint64_t)(ring->prog->rank * ring->gpus + gpu);

	for (uint64_t i = 0; i < ring->all * ring->words; i++)
		put_word(ring, &words[i], value_of(place, i));
	return GPU_DO(ring->prog,
		      cuMemcpyHtoD(ring->memory[gpu], words, ring->all * part_bytes(ring))) &&
	       GPU_DO(ring->prog, cuCtxSynchronize());
}

static bool is_sum(const struct ring *ring, int gpu, uint32_t *words)
{
	if (!GPU_DO(ring->prog, cuCtxSetCurrent(ring->contexts[gpu])) ||
	    !GPU_DO(ring->prog,
		    cuMemcpyDtoH(words, ring->memory[gpu], ring->all * part_bytes(ring))))
		return false;
	for (uint64_t i = 0; i < ring->all * ring->words; i++) {
		uint32_t sum = 0, wanted;

		for (uint64_t place = 0; place < ring->all; place++)
			sum += value_of(place, i);
		put_word(ring, &wanted, sum);
		if (words[i] != wanted) {
			prog_say(ring->prog, "GPU %d: word %llu is not the sum", gpu,
				 (unsigned long long)i);
			return false;
		}
	}
	return true;
}

/* ---- GPUs ---- */

static bool open_gpu(struct ring *ring, int gpu, uint32_t *words)
{
	const struct vb_prog *prog = ring->prog;
	const unsigned int sync = 1;
	CUmodule module;

	return gpu_open(prog, gpu) && GPU_DO(prog, cuCtxGetCurrent(&ring->contexts[gpu])) &&
	       GPU_DO(prog, cuMemAlloc(&ring->memory[gpu], memory_bytes(ring))) &&
	       GPU_DO(prog, cuPointerSetAttribute(&sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS,
						  ring->memory[gpu])) &&
	       GPU_DO(prog, cuStreamCreate(&ring->streams[gpu], CU_STREAM_NON_BLOCKING)) &&
	       GPU_DO(prog, cuModuleLoadData(&module, VB_KERNELS_PTX)) &&
	       GPU_DO(prog,
		      cuModuleGetFunction(&ring->reduce[gpu], module,
					  ring->floats ? "vb_reduce_f32" : "vb_reduce_u32")) &&
	       fill(ring, gpu, words);
}

static bool synchronize(const struct ring *ring)
{
	for (int gpu = 0; gpu < ring->gpus; gpu++)
		if (!GPU_DO(ring->prog, cuStreamSynchronize(ring->streams[gpu])))
			return false;
	return true;
}

/* ---- rails ---- */

static bool open_rail(struct ring *ring, int nth)
{
	const struct vb_prog *prog = ring->prog;
	struct rail *rail = &ring->rail[nth];
	const int peers[2] = {(prog->rank + 1) % prog->size,
			      (prog->rank + prog->size - 1) % prog->size};

	ring->qp_count = peers[0] == peers[1] ? 1 : 2;
	if (prog_open_device(&rail->ctx, prog, nth, (void *)(uintptr_t)ring->memory[0],
			     memory_bytes(ring)) != 0)
		return false;
	rail->source = ibv_reg_mr(rail->ctx.pd, (void *)(uintptr_t)ring->memory[ring->gpus - 1],
				  memory_bytes(ring), IBV_ACCESS_LOCAL_WRITE);
	if (!rail->source)
		return false;
	for (int i = 0; i < ring->qp_count; i++)
		if (prog_qp_open(&rail->qps[i], &rail->ctx,
				 (struct prog_qp_params){.peer = peers[i],
							 .nth = nth,
							 .send_depth = 2,
							 .recv_depth = AHEAD}) != 0)
			return false;
	for (int i = 0; i < AHEAD; i++)
		if (prog_post_recv(&rail->qps[ring->qp_count - 1], 0,
				   (void *)(uintptr_t)ring->memory[0], 0) != 0)
			return false;
	return prog_connect(rail->qps, ring->qp_count) == 0;
}

/* The share of one rail of what goes to the next rank. */
static bool send_on(struct ring *ring, int nth, uint64_t from, uint64_t to)
{
	const uint64_t words = ring->words / (uint64_t)ring->rails, first = words * (uint64_t)nth;
	struct rail *rail = &ring->rail[nth];
	struct ibv_sge sge = {
		.addr = ring->memory[ring->gpus - 1] + from + 4 * first,
		.length = (uint32_t)(4 * (nth == ring->rails - 1 ? ring->words - first : words)),
		.lkey = rail->source->lkey};
	struct ibv_send_wr wr = {.sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;

	wr.imm_data = htonl(1);
	wr.wr.rdma.remote_addr = rail->qps[0].remote.addr + to + 4 * first;
	wr.wr.rdma.rkey = rail->qps[0].remote.rkey;
	return ibv_post_send(rail->qps[0].qp, &wr, &bad) == 0;
}

/* Until what was sent in the steps up to @step is over, and as much has come. */
static bool await(struct ring *ring, int nth, int step)
{
	struct rail *rail = &ring->rail[nth];
	struct ibv_wc wc;

	while (rail->sent <= step || rail->received <= step) {
		if (prog_poll(&rail->ctx, &wc) != 0)
			return false;
		if (wc.opcode == IBV_WC_RDMA_WRITE) {
			rail->sent++;
			continue;
		}
		rail->received++;
		if (prog_post_recv(&rail->qps[ring->qp_count - 1], 0,
				   (void *)(uintptr_t)ring->memory[0], 0) != 0)
			return false;
	}
	return true;
}

/* ---- the ring ---- */

/* The part that the GPU @gpu of this rank passes on in @step. */
static uint64_t part_of(const struct ring *ring, int gpu, uint64_t step)
{
	const uint64_t place = (uint64_t)(ring->prog->rank * ring->gpus + gpu);

	/* Behind the first round each has one part whole: the one behind its place. */
	return (place + (step >= ring->all - 1) + 2 * ring->all - step % (ring->all - 1)) %
	       ring->all;
}

static bool pass_on(struct ring *ring, uint64_t step)
{
	const bool adds = step < ring->all - 1;
	const int last = ring->gpus - 1;

	for (int gpu = 0; gpu <= last; gpu++) {
		const uint64_t from = part_of(ring, gpu, step) * part_bytes(ring);
		const uint64_t to = adds ? (ring->all + step) * part_bytes(ring) : from;
		const int next = gpu == last ? 0 : gpu + 1;

		if (gpu == last && ring->prog->size > 1) {
			for (int nth = 0; nth < ring->rails; nth++)
				if (!send_on(ring, nth, from, to))
					return false;
			continue;
		}
		if (!GPU_DO(ring->prog,
			    cuMemcpyPeerAsync(ring->memory[next] + to, ring->contexts[next],
					      ring->memory[gpu] + from, ring->contexts[gpu],
					      part_bytes(ring), ring->streams[gpu])))
			return false;
	}
	for (int nth = 0; ring->prog->size > 1 && nth < ring->rails; nth++)
		if (!await(ring, nth, (int)step))
			return false;
	return synchronize(ring);
}

/* What has come is added to each GPU's own. */
static bool add(struct ring *ring, uint64_t step)
{
	if (!GPU_DO(ring->prog, cuCtxSetCurrent(ring->contexts[0])) ||
	    !GPU_DO(ring->prog,
		    cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
					       CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER)))
		return false;
	for (int gpu = 0; gpu < ring->gpus; gpu++) {
		/* That which the one before has passed on. */
		const uint64_t part = (part_of(ring, gpu, step) + ring->all - 1) % ring->all;
		CUdeviceptr to = ring->memory[gpu] + part * part_bytes(ring);
		CUdeviceptr from = ring->memory[gpu] + (ring->all + step) * part_bytes(ring);
		void *args[] = {&to, &from, &ring->words};

		if (!GPU_DO(ring->prog, cuLaunchKernel(ring->reduce[gpu], 132, 1, 1, 1024, 1, 1, 0,
						       ring->streams[gpu], args, NULL)))
			return false;
	}
	return synchronize(ring);
}

static bool run(struct ring *ring, uint32_t *words)
{
	const uint64_t steps = ring->all - 1;
	uint64_t began;

	for (int gpu = 0; gpu < ring->gpus; gpu++)
		if (!open_gpu(ring, gpu, words))
			return false;
	for (int nth = 0; ring->prog->size > 1 && nth < ring->rails; nth++)
		if (!open_rail(ring, nth))
			return false;
	if (prog_barrier(ring->prog, "allreduce/begin") != 0)
		return false;
	began = vb_now_ps();
	for (uint64_t step = 0; step < 2 * steps; step++)
		if (!pass_on(ring, step) || (step < steps && !add(ring, step)))
			return false;
	prog_say(ring->prog, "allreduce of %llu bytes over %llu GPUs: %.0f ns",
		 (unsigned long long)(ring->all * part_bytes(ring)), (unsigned long long)ring->all,
		 (double)(vb_now_ps() - began) / 1000);
	for (int gpu = 0; gpu < ring->gpus; gpu++)
		if (!is_sum(ring, gpu, words))
			return false;
	return prog_barrier(ring->prog, "allreduce/end") == 0;
}

static bool close_all(struct ring *ring)
{
	bool is_well = true;

	for (int nth = 0; ring->prog->size > 1 && nth < ring->rails; nth++)
		is_well &= ibv_dereg_mr(ring->rail[nth].source) == 0 &&
			   prog_destroy(&ring->rail[nth].ctx, ring->rail[nth].qps,
					ring->qp_count) == 0;
	for (int gpu = 0; gpu < ring->gpus; gpu++)
		is_well &= GPU_DO(ring->prog, cuMemFree(ring->memory[gpu]));
	return is_well;
}

int prog_main(const struct vb_prog *prog)
{
	struct ring *ring = calloc(1, sizeof(*ring));
	uint32_t *words = NULL;
	bool is_well = false;

	if (ring && prog_takes(prog, "gpus float count") && GPU_DO(prog, cuInit(0)) &&
	    GPU_DO(prog, cuDeviceGetCount(&ring->gpus))) {
		const int most = (int)prog_arg(prog, "gpus", 0);

		ring->prog = prog;
		ring->gpus = most > 0 && most < ring->gpus ? most : ring->gpus;
		ring->gpus = ring->gpus < GPUS_MAX ? ring->gpus : (int)GPUS_MAX;
		ring->rails = prog_count_devices(prog);
		ring->rails = ring->rails < RAILS_MAX ? ring->rails : (int)RAILS_MAX;
		ring->floats = prog_arg(prog, "float", 0) != 0;
		ring->all = (uint64_t)ring->gpus * (uint64_t)prog->size;
		ring->words = prog_arg(prog, "count", 65536) / ring->all;
		words = malloc(ring->all * part_bytes(ring) + 4);
		is_well = words && ring->all > 1 && run(ring, words) && close_all(ring);
		if (ring->all < 2)
			prog_say(prog, "found one GPU in all, expected 2 at least");
	}
	free(words);
	free(ring);
	return is_well ? 0 : -1;
}
