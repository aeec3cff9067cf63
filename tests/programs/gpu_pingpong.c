/* SPDX-License-Identifier: BSD-2-Clause */

/* Ping-pong from GPU to GPU: rank 0 sends bytes=8 of its GPU's memory to that of rank 1, which
 * sends back what has come; rounds=10 times. With WRITEs between the GPUs, or with staged=1 through
 * pinned memory of the hosts: copied there, written to the other host, and copied to the GPU, in
 * chunks of chunk=BYTES (0: all at once), of which one is copied while others are on their way.
 * gpu=0: the GPU of both. A line "pingpong BYTES NS": half a round trip in
 * the mean. Every byte that comes back is one of those that were sent in its round. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>

enum { CHUNKS_MAX = 1024, AHEAD = 2 /* chunks that are copied from the GPU */ };

struct pingpong {
	const struct vb_prog *prog;
	uint32_t bytes, chunk, chunks;
	bool staged;
	CUdeviceptr out, in;		 /* of the GPU, one behind the other */
	uint8_t *pinned_out, *pinned_in; /* the same of the host */
	CUstream down, up;		 /* from the GPU, and to it */
	CUevent copied[CHUNKS_MAX];
	struct prog_ctx ctx;
	struct prog_qp qp;
	uint32_t sent, received; /* completions that came */
};

static uint32_t length_of(const struct pingpong *p, uint32_t nth)
{
	const uint32_t at = nth * p->chunk;

	return p->bytes - at < p->chunk ? p->bytes - at : p->chunk;
}

/* ---- one way ---- */

/* Until so many writes are over, and as many have come. */
static bool await(struct pingpong *p, uint32_t sent, uint32_t received)
{
	struct ibv_wc wc;

	while (p->sent < sent || p->received < received) {
		if (prog_poll(&p->ctx, &wc) != 0)
			return false;
		if (wc.opcode == IBV_WC_RDMA_WRITE) {
			p->sent++;
			continue;
		}
		p->received++;
		if (prog_post_recv(&p->qp, 0, NULL, 0) != 0)
			return false;
	}
	return true;
}

static bool write_chunk(struct pingpong *p, uint32_t nth, uint8_t *from)
{
	const uint32_t at = nth * p->chunk;

	return prog_post_send(&p->qp, (struct prog_send){.wr_id = nth,
							 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
							 .bytes = from + at,
							 .length = length_of(p, nth),
							 .remote_offset = p->bytes + at}) == 0;
}

static bool fetch_chunk(struct pingpong *p, uint32_t nth, CUdeviceptr from)
{
	const uint32_t at = nth * p->chunk;

	return GPU_DO(p->prog, cuMemcpyDtoHAsync(p->pinned_out + at, from + at, length_of(p, nth),
						 p->down)) &&
	       GPU_DO(p->prog, cuEventRecord(p->copied[nth], p->down));
}

/* What is at @from in the GPU's memory. */
static bool send_from(struct pingpong *p, CUdeviceptr from)
{
	uint32_t fetched = 0;

	if (!p->staged)
		return write_chunk(p, 0, (uint8_t *)(uintptr_t)from);
	for (uint32_t i = 0; i < p->chunks; i++) {
		while (fetched < p->chunks && fetched < i + AHEAD)
			if (!fetch_chunk(p, fetched++, from))
				return false;
		if (!GPU_DO(p->prog, cuEventSynchronize(p->copied[i])) ||
		    !write_chunk(p, i, p->pinned_out))
			return false;
	}
	return true;
}

/* The message of round @round is in the memory of the GPU. */
static bool receive(struct pingpong *p, uint32_t round)
{
	const uint32_t before = round * p->chunks;

	for (uint32_t i = 0; i < p->chunks; i++)
		if (!await(p, 0, before + i + 1) ||
		    (p->staged && !GPU_DO(p->prog, cuMemcpyHtoDAsync(p->in + i * p->chunk,
								     p->pinned_in + i * p->chunk,
								     length_of(p, i), p->up))))
			return false;
	if (p->staged)
		return GPU_DO(p->prog, cuStreamSynchronize(p->up));
	return GPU_DO(p->prog,
		      cuFlushGPUDirectRDMAWrites(CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
						 CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER));
}

/* ---- rounds ---- */

/* Rank 0: how long it took, or 0. */
static uint64_t ping(struct pingpong *p, uint32_t round, uint8_t *bytes)
{
	uint64_t began, took;

	prog_fill(bytes, p->bytes, round);
	if (!GPU_DO(p->prog, cuMemcpyHtoD(p->out, bytes, p->bytes)))
		return 0;
	began = vb_now_ps();
	if (!send_from(p, p->out) || !receive(p, round))
		return 0;
	took = vb_now_ps() - began;
	if (!GPU_DO(p->prog, cuMemcpyDtoH(bytes, p->in, p->bytes)) ||
	    prog_check(p->prog, "what came back", bytes, p->bytes, round) != 0)
		return 0;
	return took;
}

static bool play(struct pingpong *p)
{
	const uint32_t rounds = (uint32_t)prog_arg(p->prog, "rounds", 10);
	uint8_t *bytes = malloc(p->bytes);
	uint64_t sum = 0, took = 1;

	for (uint32_t i = 0; bytes && i < rounds && took > 0; i++) {
		if (p->prog->rank == 1)
			took = receive(p, i) && send_from(p, p->in);
		else
			took = ping(p, i, bytes);
		sum += took;
	}
	if (bytes && took > 0 && p->prog->rank == 0)
		prog_say(p->prog, "pingpong %u %.0f", p->bytes, (double)sum / rounds / 2000);
	free(bytes);
	return bytes && took > 0 && await(p, rounds * p->chunks, 0);
}

/* ---- what it takes ---- */

static bool open_gpu(struct pingpong *p)
{
	const unsigned int yes = 1;

	if (!gpu_open(p->prog, (int)prog_arg(p->prog, "gpu", 0)) ||
	    !GPU_DO(p->prog, cuMemAlloc(&p->out, 2 * (size_t)p->bytes)) ||
	    !GPU_DO(p->prog,
		    cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p->out)) ||
	    !GPU_DO(p->prog, cuMemAllocHost((void **)&p->pinned_out, 2 * (size_t)p->bytes)) ||
	    !GPU_DO(p->prog, cuStreamCreate(&p->down, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(p->prog, cuStreamCreate(&p->up, CU_STREAM_NON_BLOCKING)))
		return false;
	p->in = p->out + p->bytes;
	p->pinned_in = p->pinned_out + p->bytes;
	for (uint32_t i = 0; i < p->chunks; i++)
		if (!GPU_DO(p->prog, cuEventCreate(&p->copied[i], CU_EVENT_DISABLE_TIMING)))
			return false;
	return true;
}

static bool open_qp(struct pingpong *p)
{
	const struct prog_qp_params params = {.peer = 1 - p->prog->rank,
					      .send_depth = 2 * p->chunks,
					      .recv_depth = 2 * p->chunks};
	void *bytes = p->staged ? p->pinned_out : (void *)(uintptr_t)p->out;

	if (prog_open(&p->ctx, p->prog, (int)(4 * p->chunks), bytes, 2 * (size_t)p->bytes) != 0 ||
	    prog_qp_open(&p->qp, &p->ctx, params) != 0)
		return false;
	for (uint32_t i = 0; i < 2 * p->chunks; i++)
		if (prog_post_recv(&p->qp, 0, NULL, 0) != 0)
			return false;
	return prog_connect(&p->qp, 1) == 0;
}

static bool run(struct pingpong *p)
{
	return open_gpu(p) && open_qp(p) && play(p) && prog_close(&p->ctx, &p->qp, 1) == 0 &&
	       GPU_DO(p->prog, cuMemFreeHost(p->pinned_out)) && GPU_DO(p->prog, cuMemFree(p->out));
}

int prog_main(const struct vb_prog *prog)
{
	struct pingpong *p;
	int ret = -1;

	if (!prog_takes(prog, "rounds gpu bytes staged chunk"))
		return -1;
	if (prog->size < 2 || prog->rank >= 2)
		return prog_idle(prog);
	p = calloc(1, sizeof(*p));
	if (!p)
		return -1;
	p->prog = prog;
	p->bytes = (uint32_t)prog_arg(prog, "bytes", 8);
	p->staged = prog_arg(prog, "staged", 0) != 0;
	p->chunk = p->staged ? (uint32_t)prog_arg(prog, "chunk", 0) : 0;
	p->chunk = p->chunk > 0 ? p->chunk : p->bytes;
	p->chunks = p->bytes > 0 ? (p->bytes + p->chunk - 1) / p->chunk : 0;
	gpu_heading(prog, "pingpong BYTES NS");
	if (p->bytes > 0 && p->chunks <= CHUNKS_MAX)
		ret = run(p) ? 0 : -1;
	else if (prog->rank == 0)
		prog_say(prog, "bytes=%u: expected 1 at least, in at most %d chunks of chunk=N",
			 p->bytes, CHUNKS_MAX);
	free(p);
	return ret;
}
