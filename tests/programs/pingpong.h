/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_PINGPONG_H
#define TESTS_PROGRAMS_PINGPONG_H

/* Ranks 2n and 2n + 1 pass bytes=5000 bytes to and fro, iters=10 times, by the operation that the
 * including program is about; every byte is checked. The region is the bytes to send, then room
 * for those that come. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <stdlib.h>

struct game {
	struct prog_qp qp;
	uint8_t *out, *in;
	uint32_t length;
	enum ibv_wr_opcode opcodes[2]; /* SEND or RDMA_WRITE_WITH_IMM, of even and odd turns */
	struct prog_pending pending;
};

/* Each turn of each rank has bytes of its own. */
static uint64_t seed_of(int rank, uint64_t turn)
{
	return turn * 1000 + (uint64_t)rank;
}

static int expect(struct game *game, uint64_t turn)
{
	bool is_send = game->opcodes[turn % 2] == IBV_WR_SEND;

	game->pending.recvs++;
	return prog_post_recv(&game->qp, 1000 + turn, game->in, is_send ? game->length : 0);
}

static int serve(struct game *game, uint64_t turn)
{
	prog_fill(game->out, game->length, seed_of(game->qp.ctx->prog->rank, turn));
	game->pending.sends++;
	return prog_post_send(&game->qp, (struct prog_send){.wr_id = turn,
							    .opcode = game->opcodes[turn % 2],
							    .bytes = game->out,
							    .length = game->length,
							    .remote_offset = game->length,
							    .imm = (uint32_t)turn});
}

static int turn_once(struct game *game)
{
	const struct ibv_wc *wc = &game->pending.last;

	if (prog_turn(&game->qp, 1, game->in, &game->pending) != 0)
		return -1;
	if (!(wc->opcode & IBV_WC_RECV) || wc->byte_len == game->length)
		return 0;
	prog_say(game->qp.ctx->prog, "%u bytes came, not %u", wc->byte_len, game->length);
	return -1;
}

static int play(struct game *game, uint64_t iters)
{
	const struct vb_prog *prog = game->qp.ctx->prog;
	struct prog_pending *pending = &game->pending;
	bool begins = prog->rank % 2 == 0;

	for (uint64_t turn = 0; turn < iters; turn++) {
		if (begins && serve(game, turn) != 0)
			return -1;
		while (pending->recvs > 0)
			if (turn_once(game) != 0)
				return -1;
		if (prog_check(prog, "in", game->in, game->length, seed_of(game->qp.peer, turn)) !=
		    0)
			return -1;
		/* What the peer sends next may come as soon as it has ours. */
		if (turn + 1 < iters && expect(game, turn + 1) != 0)
			return -1;
		if (!begins && serve(game, turn) != 0)
			return -1;
		/* The bytes that go out are the adapter's until it says so. */
		while (pending->sends > 0)
			if (turn_once(game) != 0)
				return -1;
	}
	return 0;
}

static int run(const struct vb_prog *prog, struct game *game, enum ibv_qp_type type)
{
	uint64_t iters = prog_arg(prog, "iters", 10);
	struct prog_ctx ctx;

	if (prog_open(&ctx, prog, 16, game->out, 2 * (size_t)game->length) != 0 ||
	    prog_qp_open(&game->qp, &ctx,
			 (struct prog_qp_params){.peer = prog->rank ^ 1,
						 .send_depth = 2,
						 .recv_depth = 2,
						 .type = type}) != 0 ||
	    expect(game, 0) != 0 || prog_connect(&game->qp, 1) != 0 || play(game, iters) != 0)
		return -1;
	return prog_close(&ctx, &game->qp, 1);
}

static int pingpong(const struct vb_prog *prog, enum ibv_qp_type type, enum ibv_wr_opcode even,
		    enum ibv_wr_opcode odd)
{
	struct game game = {.length = (uint32_t)prog_arg(prog, "bytes", 5000),
			    .opcodes = {even, odd}};
	int ret;

	if ((prog->rank ^ 1) >= prog->size)
		return prog_idle(prog);
	game.out = calloc(2, game.length);
	if (!game.out)
		return -1;
	game.in = game.out + game.length;
	ret = run(prog, &game, type);
	free(game.out);
	return ret;
}

#endif
