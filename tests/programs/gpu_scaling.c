/* SPDX-License-Identifier: BSD-2-Clause */

/* Strong scaling, as molecular dynamics has it: particles=65536 that the GPUs of all ranks share,
 * each of which computes for ns=10 a particle and step, and then gives the face of its cube (32
 * bytes a particle) to the ranks before and behind it: with WRITEs between the GPUs, or with
 * staged=1 through pinned memory of the hosts. steps=10. A line "scaling RANKS NS": one step in the
 * mean. What came with the last one is what the neighbours have made in it. */
#include "include/verbena/cuda_kernel.h"
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

enum { FACES = 2 /* behind, before */, PARTICLE = 32 };

#define PTX                                                                                        \
	".version 6.0\n.target sm_50\n.address_size 64\n"                                          \
	".visible .entry step(.param .u64 faces, .param .u64 words, .param .u32 value,\n"          \
	"\t.param .u64 ns)\n{ ret; }\n"

struct scaling {
	const struct vb_prog *prog;
	bool staged;
	uint64_t face, ns;  /* bytes of one; of a step's computation */
	CUdeviceptr memory; /* faces that go out, then those that come in */
	uint8_t *pinned;    /* the same of the host */
	CUfunction step;
	CUstream stream;
	struct prog_ctx ctx;
	struct prog_qp qps[FACES];
};

/* Faces that go out are of @value. */
static void compute(struct vb_launch *launch)
{
	const uint64_t faces = *(const uint64_t *)launch->args[0];
	const uint64_t words = *(const uint64_t *)launch->args[1];
	const uint32_t value = *(const uint32_t *)launch->args[2];

	for (uint64_t i = 0; i < words; i++)
		(void)vb_kernel_write(launch, faces + 4 * i, &value, 4);
	vb_kernel_busy_ns(launch, *(const uint64_t *)launch->args[3]);
}

static uint32_t value_of(int rank, uint32_t step)
{
	return step << 16 | (uint32_t)rank;
}

static bool send_faces(struct scaling *s)
{
	uint8_t *bytes = s->staged ? s->pinned : (uint8_t *)(uintptr_t)s->memory;

	for (uint32_t i = 0; i < FACES; i++) {
		const struct prog_send send = {.wr_id = i,
					       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
					       .bytes = bytes + i * s->face,
					       .length = (uint32_t)s->face,
					       .remote_offset = (2 * FACES - 1 - i) * s->face};

		if (prog_post_send(&s->qps[i], send) != 0)
			return false;
	}
	return true;
}

/* Until both have gone, and both of the neighbours have come. */
static bool await_faces(struct scaling *s, uint32_t *sent, uint32_t *received, uint32_t step)
{
	struct ibv_wc wc;

	while (*sent < FACES * (step + 1) || *received < FACES * (step + 1)) {
		if (prog_poll(&s->ctx, &wc) != 0)
			return false;
		if (wc.opcode == IBV_WC_RDMA_WRITE) {
			++*sent;
			continue;
		}
		++*received;
		for (uint32_t i = 0; i < FACES; i++)
			if (wc.qp_num == s->qps[i].qp->qp_num &&
			    prog_post_recv(&s->qps[i], 0, NULL, 0) != 0)
				return false;
	}
	return true;
}

static bool do_step(struct scaling *s, uint32_t step, uint32_t *sent, uint32_t *received)
{
	const uint64_t out = FACES * s->face;
	uint32_t value = value_of(s->prog->rank, step);
	uint64_t words = out / 4;
	void *args[] = {&s->memory, &words, &value, &s->ns};

	if (!GPU_DO(s->prog,
		    cuLaunchKernel(s->step, 132, 1, 1, 1024, 1, 1, 0, s->stream, args, NULL)) ||
	    (s->staged &&
	     !GPU_DO(s->prog, cuMemcpyDtoHAsync(s->pinned, s->memory, out, s->stream))) ||
	    !GPU_DO(s->prog, cuStreamSynchronize(s->stream)) || !send_faces(s) ||
	    !await_faces(s, sent, received, step))
		return false;
	if (s->staged)
		return GPU_DO(s->prog, cuMemcpyHtoDAsync(s->memory + out, s->pinned + out, out,
							 s->stream)) &&
		       GPU_DO(s->prog, cuStreamSynchronize(s->stream));
	return GPU_DO(s->prog,
		      cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
						 CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

/* The last word of each face that came. */
static bool has_faces(struct scaling *s, uint32_t step)
{
	const int size = s->prog->size, rank = s->prog->rank;
	/* Its face behind lies where the one behind has it: last. */
	const int from[FACES] = {(rank + 1) % size, (rank + size - 1) % size};
	uint32_t word = 0;

	for (uint32_t i = 0; i < FACES; i++)
		if (!GPU_DO(s->prog,
			    cuMemcpyDtoH(&word, s->memory + (FACES + i + 1) * s->face - 4, 4)) ||
		    word != value_of(from[i], step)) {
			prog_say(s->prog, "found %u in what rank %d sent, expected %u", word,
				 from[i], value_of(from[i], step));
			return false;
		}
	return true;
}

static bool open_all(struct scaling *s)
{
	const struct vb_prog *prog = s->prog;
	const int peers[FACES] = {(prog->rank + 1) % prog->size,
				  (prog->rank + prog->size - 1) % prog->size};
	const size_t bytes = 2 * FACES * s->face;
	const unsigned int yes = 1;
	CUmodule module;

	if (!gpu_open(prog, 0) || !GPU_DO(prog, cuMemAlloc(&s->memory, bytes)) ||
	    !GPU_DO(prog,
		    cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, s->memory)) ||
	    !GPU_DO(prog, cuMemAllocHost((void **)&s->pinned, bytes)) ||
	    !GPU_DO(prog, cuStreamCreate(&s->stream, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(prog, cuModuleLoadData(&module, PTX)) ||
	    !GPU_DO(prog, cuModuleGetFunction(&s->step, module, "step")) ||
	    prog_open(&s->ctx, prog, 8 * FACES,
		      s->staged ? s->pinned : (void *)(uintptr_t)s->memory, bytes) != 0)
		return false;
	for (int i = 0; i < FACES; i++)
		if (prog_qp_open(&s->qps[i], &s->ctx,
				 (struct prog_qp_params){.peer = peers[i],
							 .send_depth = 4,
							 .recv_depth = 4}) != 0 ||
		    prog_post_recv(&s->qps[i], 0, NULL, 0) != 0 ||
		    prog_post_recv(&s->qps[i], 0, NULL, 0) != 0)
			return false;
	return prog_connect(s->qps, FACES) == 0;
}

static bool run(struct scaling *s, uint32_t steps)
{
	uint32_t sent = 0, received = 0;
	uint64_t began;

	if (!open_all(s) || prog_barrier(s->prog, "scaling/begin") != 0)
		return false;
	began = vb_now_ps();
	for (uint32_t step = 0; step < steps; step++)
		if (!do_step(s, step, &sent, &received))
			return false;
	if (s->prog->rank == 0)
		prog_say(s->prog, "scaling %d %.0f", s->prog->size,
			 (double)(vb_now_ps() - began) / steps / 1000);
	return has_faces(s, steps - 1) && prog_close(&s->ctx, s->qps, FACES) == 0 &&
	       GPU_DO(s->prog, cuMemFreeHost(s->pinned)) && GPU_DO(s->prog, cuMemFree(s->memory));
}

int prog_main(const struct vb_prog *prog)
{
	struct scaling s = {.prog = prog};
	uint64_t own, side = 1;
	uint32_t steps;

	if (!prog_takes(prog, "particles ns staged steps") || vb_kernel("step", compute) != 0)
		return -1;
	own = prog_arg(prog, "particles", 65536) / (uint64_t)prog->size;
	steps = (uint32_t)prog_arg(prog, "steps", 10);
	s.staged = prog_arg(prog, "staged", 0) != 0;
	s.ns = own * prog_arg(prog, "ns", 10);
	while ((side + 1) * (side + 1) * (side + 1) <= own)
		side++;
	s.face = PARTICLE * side * side;
	gpu_heading(prog, "scaling RANKS NS");
	if (prog->size > 2 && own > 0 && steps > 0 && steps < 65536)
		return run(&s, steps) ? 0 : -1;
	if (prog->rank == 0)
		prog_say(prog,
			 "expected 3 ranks at least, a particle for each, and 1 to 65535 steps");
	return -1;
}
