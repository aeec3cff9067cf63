/* SPDX-License-Identifier: BSD-2-Clause */

/* Ranks 2n and 2n + 1 write to each other and say so, iters=6 times at most, by extended queue
 * pairs: a WRITE and the SEND behind it are one batch, and completions are read part by part. Where
 * the device stamps them, no completion is older than the one before it. With single=1 no poll is
 * asked for a second completion: rxe in rdma-core before 55 skips one after ibv_next_poll() had
 * found none (its commit b78b414e). */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

enum { TURNS = 6, SLOT = 64, SENT = 48 };

struct memory {
	uint8_t out[TURNS][SLOT], in[TURNS][SLOT], written[TURNS][SLOT];
};

struct player {
	struct prog_ctx ctx;
	struct prog_qp qp;
	struct memory memory;
	struct ibv_cq_ex *cq;
	bool is_stamped, is_single;
	uint64_t stamp, sends, receives; /* so far */
};

static uint64_t seed_of(int rank, uint64_t turn)
{
	return turn * 1000 + (uint64_t)rank + 7;
}

static int cannot(const struct vb_prog *prog, const char *what, int error)
{
	prog_say(prog, "rank %d: %s: %s", prog->rank, what, strerror(error));
	return -1;
}

/* Instead of the queue that prog_open() has made. */
static int extend(struct player *player)
{
	struct prog_ctx *ctx = &player->ctx;
	struct ibv_cq_init_attr_ex attr = {.cqe = 3 * TURNS, .wc_flags = IBV_WC_STANDARD_FLAGS};
	struct ibv_device_attr_ex device;
	int ret = ibv_query_device_ex(ctx->context, NULL, &device);

	if (ret != 0)
		return cannot(ctx->prog, "ibv_query_device_ex", ret);
	player->is_stamped = device.completion_timestamp_mask != 0;
	if (player->is_stamped)
		attr.wc_flags |= IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
	player->cq = ibv_create_cq_ex(ctx->context, &attr);
	if (!player->cq)
		return cannot(ctx->prog, "ibv_create_cq_ex", errno);
	ret = ibv_destroy_cq(ctx->cq);
	ctx->cq = ibv_cq_ex_to_cq(player->cq);
	return ret != 0 ? cannot(ctx->prog, "ibv_destroy_cq", ret) : 0;
}

static int serve(struct player *player, uint64_t turn)
{
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(player->qp.qp);
	const struct vb_prog *prog = player->ctx.prog;
	uint8_t *out = player->memory.out[turn];
	const uint32_t lkey = player->ctx.mr->lkey;
	int ret;

	prog_fill(out, SLOT, seed_of(prog->rank, turn));
	ibv_wr_start(qp);
	qp->wr_id = 100 + turn;
	qp->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_rdma_write(qp, player->qp.remote.rkey,
			  player->qp.remote.addr + offsetof(struct memory, written) + turn * SLOT);
	ibv_wr_set_sge(qp, lkey, (uintptr_t)out, SLOT);
	qp->wr_id = 200 + turn;
	ibv_wr_send_imm(qp, htonl((uint32_t)turn));
	ibv_wr_set_sge(qp, lkey, (uintptr_t)out, SENT);
	ret = ibv_wr_complete(qp);
	return ret != 0 ? cannot(prog, "ibv_wr_complete", ret) : 0;
}

/* The completion at hand. */
static int take(struct player *player)
{
	struct ibv_cq_ex *cq = player->cq;
	const struct vb_prog *prog = player->ctx.prog;
	const uint64_t turn = player->receives;
	struct ibv_wc wc = {.wr_id = cq->wr_id,
			    .status = cq->status,
			    .opcode = ibv_wc_read_opcode(cq),
			    .byte_len = ibv_wc_read_byte_len(cq),
			    .imm_data = ibv_wc_read_imm_data(cq),
			    .qp_num = ibv_wc_read_qp_num(cq),
			    .wc_flags = ibv_wc_read_wc_flags(cq)};
	const bool is_recv = wc.status == IBV_WC_SUCCESS && wc.opcode & IBV_WC_RECV;
	const uint64_t stamp = player->is_stamped ? ibv_wc_read_completion_ts(cq) : 0;

	prog->report(prog, player->qp.peer, 0, &wc, is_recv ? player->memory.in[turn] : NULL);
	if (wc.status != IBV_WC_SUCCESS || stamp < player->stamp)
		return cannot(prog, "a completion", EIO);
	player->stamp = stamp;
	player->sends += !is_recv;
	player->receives += is_recv;
	if (!is_recv)
		return 0;
	if (wc.imm_data != htonl((uint32_t)turn))
		return cannot(prog, "an immediate", EBADMSG);
	return prog_check(prog, "written", player->memory.written[turn], SLOT,
			  seed_of(player->qp.peer, turn));
}

static bool has_had(const struct player *player, uint64_t turn)
{
	return player->sends >= 2 * (turn + 1) && player->receives >= turn + 1;
}

/* Until both requests of @turn are done and its receive has come; the next one may come as well. */
static int await(struct player *player, uint64_t turn)
{
	struct ibv_poll_cq_attr attr = {0};

	while (!has_had(player, turn)) {
		int ret = ibv_start_poll(player->cq, &attr), failed = 0;

		if (ret == ENOENT)
			continue;
		while (ret == 0 && failed == 0) {
			failed = take(player);
			ret = player->is_single || has_had(player, turn)
				      ? ENOENT
				      : ibv_next_poll(player->cq);
		}
		ibv_end_poll(player->cq);
		if (failed != 0 || ret != ENOENT)
			return cannot(player->ctx.prog, "polling", EIO);
	}
	return 0;
}

static int play(struct player *player, const struct vb_prog *prog, uint64_t turns)
{
	if (prog_open(&player->ctx, prog, 1, &player->memory, sizeof(player->memory)) != 0 ||
	    extend(player) != 0 ||
	    prog_qp_open(&player->qp, &player->ctx,
			 (struct prog_qp_params){.peer = prog->rank ^ 1,
						 .send_depth = 2,
						 .recv_depth = TURNS,
						 .send_ops = IBV_QP_EX_WITH_RDMA_WRITE |
							     IBV_QP_EX_WITH_SEND_WITH_IMM}) != 0)
		return -1;
	/* The peer goes on as soon as it has what a turn sends, and sends the next. */
	if (prog_post_recv(&player->qp, 300, player->memory.in[0], SLOT) != 0 ||
	    prog_connect(&player->qp, 1) != 0)
		return -1;
	for (uint64_t turn = 0; turn < turns; turn++) {
		if (turn + 1 < turns &&
		    prog_post_recv(&player->qp, 301 + turn, player->memory.in[turn + 1], SLOT) != 0)
			return -1;
		if (serve(player, turn) != 0 || await(player, turn) != 0)
			return -1;
	}
	return prog_close(&player->ctx, &player->qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	const uint64_t turns = prog_arg(prog, "iters", TURNS);
	struct player player = {.is_single = prog_arg(prog, "single", 0) != 0};

	if ((prog->rank ^ 1) >= prog->size)
		return prog_idle(prog);
	return play(&player, prog, turns < TURNS ? turns : TURNS);
}
