/* SPDX-License-Identifier: BSD-2-Clause */

/* What a DMA transfer is made of, seen part by part: a copy of bytes=1 MiB from the GPU to pinned
 * memory, of rank 0. Lines "copy PHASE NS":
 *	submit		until the call returns
 *	start		until the first byte is there
 *	transfer	until the last one is
 *	completion	until the word is there that the GPU writes behind it
 *	interrupt	until a thread that slept for it runs; sleep=0: one that polled
 * With a second rank the same of an adapter, "read PHASE NS": an RDMA READ of rank 1's GPU, whose
 * completion is a CQE. Its interrupt, a completion channel's event, is what a second one takes
 * longer for a thread that sleeps through it. */
#include "include/verbena/verbena.h"
#include "tests/programs/gpu.h"

#include <stdlib.h>
#include <string.h>

enum phase { SUBMIT, START, TRANSFER, COMPLETION, INTERRUPT, PHASES };

struct dma {
	const struct vb_prog *prog;
	uint32_t bytes;
	CUdeviceptr source;
	uint8_t *target;	   /* pinned; none of its bytes is what comes */
	uint32_t *word;		   /* behind it */
	uint64_t seen[PHASES + 1]; /* when the call began, and when each phase was over */
};

/* All phases, if none was over before somebody could look. */
static bool say_phases(const struct dma *d, const char *what)
{
	static const char *const names[] = {"submit", "start", "transfer", "completion",
					    "interrupt"};

	for (int i = 0; i < PHASES; i++)
		prog_say(d->prog, "%s %s %.3f", what, names[i],
			 (double)(d->seen[i + 1] - d->seen[i]) / 1000);
	for (int i = 0; i < PHASES; i++)
		if (d->seen[i] == d->seen[i + 1]) {
			prog_say(d->prog, "nobody saw the %s", names[i]);
			return false;
		}
	return prog_check(d->prog, what, d->target, d->bytes, 1) == 0;
}

static void over(struct dma *d, enum phase phase)
{
	d->seen[phase + 1] = vb_now_ps();
}

static void begin(struct dma *d)
{
	for (uint32_t i = 0; i < d->bytes; i++)
		d->target[i] = (uint8_t)~prog_byte(1, i);
	*d->word = 0;
	d->seen[0] = vb_now_ps();
}

static void await_bytes(struct dma *d)
{
	const uint8_t first = (uint8_t)~prog_byte(1, 0);
	const uint8_t last = (uint8_t)~prog_byte(1, d->bytes - 1);

	vb_wait_mem(&d->target[0], &first, 1);
	over(d, START);
	vb_wait_mem(&d->target[d->bytes - 1], &last, 1);
	over(d, TRANSFER);
}

/* ---- by the GPU's copy engine ---- */

static bool copy(struct dma *d)
{
	const unsigned int how = prog_arg(d->prog, "sleep", 1) ? CU_EVENT_BLOCKING_SYNC : 0;
	const uint32_t none = 0;
	CUstream stream;
	CUevent event;

	if (!GPU_DO(d->prog, cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING)) ||
	    !GPU_DO(d->prog, cuEventCreate(&event, how | CU_EVENT_DISABLE_TIMING)))
		return false;
	begin(d);
	if (!GPU_DO(d->prog, cuMemcpyDtoHAsync(d->target, d->source, d->bytes, stream)))
		return false;
	over(d, SUBMIT);
	if (!GPU_DO(d->prog, cuStreamWriteValue32(stream, (CUdeviceptr)(uintptr_t)d->word, 1, 0)) ||
	    !GPU_DO(d->prog, cuEventRecord(event, stream)))
		return false;
	await_bytes(d);
	vb_wait_mem(d->word, &none, sizeof(none));
	over(d, COMPLETION);
	if (!GPU_DO(d->prog, cuEventSynchronize(event)))
		return false;
	over(d, INTERRUPT);
	return say_phases(d, "copy") && GPU_DO(d->prog, cuEventDestroy(event)) &&
	       GPU_DO(d->prog, cuStreamDestroy(stream));
}

/* ---- by an adapter ---- */

static bool post_read(struct dma *d, struct prog_qp *qp)
{
	begin(d);
	return prog_post_send(qp, (struct prog_send){.opcode = IBV_WR_RDMA_READ,
						     .bytes = d->target,
						     .length = d->bytes}) == 0;
}

/* By polling. */
static bool see_read(struct dma *d, struct prog_qp *qp)
{
	struct ibv_wc wc;

	if (!post_read(d, qp))
		return false;
	over(d, SUBMIT);
	await_bytes(d);
	if (prog_poll(qp->ctx, &wc) != 0)
		return false;
	over(d, COMPLETION);
	return true;
}

/* The same again, asleep until the interrupt: what that takes longer. */
static bool sleep_through_read(struct dma *d, struct prog_qp *qp, struct ibv_comp_channel *channel)
{
	const uint64_t polled = d->seen[COMPLETION + 1] - d->seen[0];
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (ibv_req_notify_cq(qp->ctx->cq, 0) != 0 || !post_read(d, qp) ||
	    ibv_get_cq_event(channel, &cq, &context) != 0 || cq != qp->ctx->cq)
		return false;
	d->seen[INTERRUPT + 1] = d->seen[COMPLETION + 1] + vb_now_ps() - d->seen[0] - polled;
	d->seen[0] = d->seen[COMPLETION + 1] - polled;
	ibv_ack_cq_events(cq, 1);
	return prog_poll(qp->ctx, &wc) == 0 && say_phases(d, "read");
}

/* prog_open(), whose CQ has a channel. */
static struct ibv_comp_channel *listen_to(struct prog_ctx *ctx)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(ctx->context);

	if (!channel || ibv_destroy_cq(ctx->cq) != 0)
		return NULL;
	ctx->cq = ibv_create_cq(ctx->context, 16, NULL, channel, 0);
	return ctx->cq ? channel : NULL;
}

static bool with_peer(struct dma *d)
{
	const int peer = 1 - d->prog->rank;
	void *bytes = peer == 1 ? d->target : (void *)(uintptr_t)d->source;
	struct ibv_comp_channel *channel;
	struct prog_ctx ctx;
	struct prog_qp qp;

	if (prog_open(&ctx, d->prog, 16, bytes, d->bytes) != 0)
		return false;
	channel = listen_to(&ctx);
	return channel &&
	       prog_qp_open(&qp, &ctx,
			    (struct prog_qp_params){
				    .peer = peer, .send_depth = 1, .recv_depth = 1}) == 0 &&
	       prog_connect(&qp, 1) == 0 &&
	       (peer == 0 || (see_read(d, &qp) && sleep_through_read(d, &qp, channel))) &&
	       prog_close(&ctx, &qp, 1) == 0 && ibv_destroy_comp_channel(channel) == 0;
}

/* ---- both ---- */

static bool open_memory(struct dma *d)
{
	const unsigned int yes = 1;

	if (!gpu_open(d->prog, (int)prog_arg(d->prog, "gpu", 0)) ||
	    !GPU_DO(d->prog, cuMemAlloc(&d->source, d->bytes)) ||
	    !GPU_DO(d->prog,
		    cuPointerSetAttribute(&yes, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, d->source)) ||
	    !GPU_DO(d->prog, cuMemAllocHost((void **)&d->target, d->bytes)) ||
	    !GPU_DO(d->prog, cuMemAllocHost((void **)&d->word, sizeof(*d->word))))
		return false;
	prog_fill(d->target, d->bytes, 1);
	return GPU_DO(d->prog, cuMemcpyHtoD(d->source, d->target, d->bytes));
}

int prog_main(const struct vb_prog *prog)
{
	struct dma d = {.prog = prog, .bytes = (uint32_t)prog_arg(prog, "bytes", 1 << 20)};

	if (!prog_takes(prog, "sleep gpu bytes"))
		return -1;
	if (prog->rank >= 2)
		return prog_idle(prog);
	gpu_heading(prog, "WHAT PHASE NS");
	if (!open_memory(&d) || (prog->rank == 0 && !copy(&d)) ||
	    (prog->size > 1 && !with_peer(&d)))
		return -1;
	return GPU_DO(prog, cuMemFreeHost(d.word)) && GPU_DO(prog, cuMemFreeHost(d.target)) &&
			       GPU_DO(prog, cuMemFree(d.source))
		       ? 0
		       : -1;
}
