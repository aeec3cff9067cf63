/* SPDX-License-Identifier: BSD-2-Clause */

/* A program: every rank writes bytes=1000000 bytes to the rank behind it with one RDMA WRITE, waits
 * for the completion, hears from the rank before it that its own are there and checks them all.
 * What is checked depends on the writer and on the place. */
#include "tests/programs/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct area { /* what is registered */
	uint64_t *out, *in;
	size_t words;
};

/* A block of words that repeats, with a length that no packet's divides: bytes of another rank or
 * from another place in the message differ. */
enum { BLOCK_WORDS = 513 };

static void make_block(uint64_t block[BLOCK_WORDS], int rank)
{
	for (uint64_t i = 0; i < BLOCK_WORDS; i++)
		block[i] = (i + 1) * 0x9e3779b97f4a7c15u ^ (uint64_t)rank * 0xd6e8feb86659fd93u;
}

static size_t piece(const struct area *area, size_t at)
{
	const size_t left = area->words - at;

	return (left < BLOCK_WORDS ? left : BLOCK_WORDS) * sizeof(uint64_t);
}

static void fill(const struct area *area, int rank)
{
	uint64_t block[BLOCK_WORDS];

	make_block(block, rank);
	for (size_t at = 0; at < area->words; at += BLOCK_WORDS)
		memcpy(area->out + at, block, piece(area, at));
}

static int check(const struct vb_prog *prog, const struct area *area, int rank)
{
	uint64_t block[BLOCK_WORDS];

	make_block(block, rank);
	for (size_t at = 0; at < area->words; at += BLOCK_WORDS)
		if (memcmp(area->in + at, block, piece(area, at)) != 0) {
			prog_say(prog, "rank %d: wrong bytes", prog->rank);
			return -1;
		}
	return 0;
}

static int open_ring(struct prog_ctx *ctx, struct prog_qp qps[2])
{
	const int size = ctx->prog->size, rank = ctx->prog->rank;
	const struct prog_qp_params before = {.peer = (rank + size - 1) % size,
					      .nth = size == 2,
					      .send_depth = 1,
					      .recv_depth = 1};
	const struct prog_qp_params behind = {
		.peer = (rank + 1) % size, .send_depth = 1, .recv_depth = 1};

	if (prog_qp_open(&qps[0], ctx, before) != 0 || prog_qp_open(&qps[1], ctx, behind) != 0)
		return -1;
	return prog_connect(qps, 2);
}

static int talk(struct prog_qp qps[2], const struct area *area)
{
	const struct vb_prog *prog = qps[0].ctx->prog;
	const size_t bytes = area->words * sizeof(uint64_t);
	struct prog_pending pending = {.sends = 1, .recvs = 1};

	if (prog_post_recv(&qps[0], 1, area->in, 0) != 0 ||
	    prog_post_send(&qps[1], (struct prog_send){.wr_id = 2,
						       .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
						       .bytes = area->out,
						       .length = (uint32_t)bytes,
						       .remote_offset = bytes}) != 0)
		return -1;
	while (pending.sends > 0 || pending.recvs > 0)
		if (prog_turn(qps, 2, area->in, &pending) != 0)
			return -1;
	return check(prog, area, qps[0].peer);
}

/* Both neighbours are done with us: no need to wait for all the ring. */
static int part(const struct vb_prog *prog, const struct prog_qp qps[2])
{
	char key[32];
	int ret;

	snprintf(key, sizeof(key), "done/%d", prog->rank);
	ret = prog->put(prog, key, NULL, 0);
	for (int i = 0; i < 2 && ret == 0; i++) {
		snprintf(key, sizeof(key), "done/%d", qps[i].peer);
		ret = prog->get(prog, key, NULL, 0);
	}
	return ret;
}

static int close_all(struct prog_ctx *ctx, struct prog_qp qps[2])
{
	if (ibv_destroy_qp(qps[0].qp) != 0 || ibv_destroy_qp(qps[1].qp) != 0 ||
	    ibv_dereg_mr(ctx->mr) != 0 || ibv_destroy_cq(ctx->cq) != 0 ||
	    ibv_dealloc_pd(ctx->pd) != 0)
		return -1;
	return ibv_close_device(ctx->context);
}

int prog_main(const struct vb_prog *prog)
{
	const size_t words = prog_arg(prog, "bytes", 1000000) / sizeof(uint64_t);
	struct area area = {.out = calloc(2 * words, sizeof(uint64_t)), .words = words};
	struct prog_ctx ctx;
	struct prog_qp qps[2];
	int ret = -1;

	area.in = area.out + words;
	if (area.out) {
		fill(&area, prog->rank);
		if (prog_open(&ctx, prog, 16, area.out, 2 * words * sizeof(uint64_t)) == 0 &&
		    open_ring(&ctx, qps) == 0 && talk(qps, &area) == 0 && part(prog, qps) == 0)
			ret = close_all(&ctx, qps);
	}
	free(area.out);
	return ret;
}
