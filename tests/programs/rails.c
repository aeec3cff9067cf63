/* SPDX-License-Identifier: BSD-2-Clause */

/* Ranks 0 and 1, 2 and 3 and so on write bytes=20000 bytes to each other over every adapter that
 * both have, all at once, and check what came. A last one without a partner does nothing. Where
 * there is one adapter it is no different. */
#include "tests/programs/util.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAILS_MAX = 64 };

struct rail {
	struct prog_ctx ctx;
	struct prog_qp qp;
	uint8_t *out, *in; /* one behind the other */
};

struct rails {
	const struct vb_prog *prog;
	int count, peer;
	uint32_t length; /* of a rail */
	struct rail rails[RAILS_MAX];
};

/* As many as both have. */
static int agree(struct rails *all)
{
	const struct vb_prog *prog = all->prog;
	int own = prog_count_devices(prog), other;
	char key[32];

	snprintf(key, sizeof(key), "rails/%d", prog->rank);
	if (own < 1 || prog->put(prog, key, &own, sizeof(own)) != 0)
		return -1;
	snprintf(key, sizeof(key), "rails/%d", all->peer);
	if (prog->get(prog, key, &other, sizeof(other)) != 0)
		return -1;
	all->count = own < other ? own : other;
	return all->count <= RAILS_MAX ? 0 : -1;
}

static bool has_gid_of_another(const struct rails *all, int r)
{
	const union ibv_gid *own = &all->rails[r].ctx.gid;

	for (int i = 0; i < r; i++)
		if (memcmp(own, &all->rails[i].ctx.gid, sizeof(*own)) == 0)
			return true;
	return false;
}

static int open_rail(struct rails *all, int r, uint8_t *bytes)
{
	const struct prog_qp_params params = {
		.peer = all->peer, .nth = r, .send_depth = 1, .recv_depth = 1};
	struct rail *rail = &all->rails[r];

	rail->out = bytes;
	rail->in = bytes + all->length;
	if (prog_open_device(&rail->ctx, all->prog, r, bytes, 2 * (size_t)all->length) != 0)
		return -1;
	if (has_gid_of_another(all, r)) {
		prog_say(all->prog, "rank %d: adapter %d has the GID of another", all->prog->rank,
			 r);
		return -1;
	}
	if (prog_qp_open(&rail->qp, &rail->ctx, params) != 0 ||
	    prog_post_recv(&rail->qp, 100 + (uint64_t)r, NULL, 0) != 0)
		return -1;
	return prog_connect(&rail->qp, 1);
}

static uint64_t seed_of(int rank, int rail)
{
	return (uint64_t)rank * RAILS_MAX + (uint64_t)rail;
}

static int send_over(struct rails *all, int r)
{
	struct rail *rail = &all->rails[r];

	prog_fill(rail->out, all->length, seed_of(all->prog->rank, r));
	return prog_post_send(&rail->qp, (struct prog_send){.wr_id = (uint64_t)r,
							    .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
							    .bytes = rail->out,
							    .length = all->length,
							    .remote_offset = all->length,
							    .imm = (uint32_t)r});
}

static int await(struct rails *all, int r)
{
	struct prog_pending pending = {.sends = 1, .recvs = 1};
	struct rail *rail = &all->rails[r];

	if (prog_drain(&rail->qp, rail->in, &pending) != 0)
		return -1;
	return prog_check(all->prog, "what came", rail->in, all->length, seed_of(all->peer, r));
}

/* The same on all rails, one after another. */
static int on_each(struct rails *all, int (*what)(struct rails *all, int r))
{
	for (int r = 0; r < all->count; r++)
		if (what(all, r) != 0)
			return -1;
	return 0;
}

static int close_all(struct rails *all)
{
	int ret = prog_close(&all->rails[0].ctx, &all->rails[0].qp, 1);

	for (int r = 1; r < all->count && ret == 0; r++)
		ret = prog_destroy(&all->rails[r].ctx, &all->rails[r].qp, 1);
	return ret;
}

static int run(struct rails *all)
{
	uint8_t *bytes;
	int ret = 0;

	if (agree(all) != 0)
		return -1;
	bytes = calloc((size_t)all->count * 2, all->length);
	if (!bytes)
		return -1;
	for (int r = 0; r < all->count && ret == 0; r++)
		ret = open_rail(all, r, bytes + (size_t)r * 2 * all->length);
	ret = ret ? ret : on_each(all, send_over);
	ret = ret ? ret : on_each(all, await);
	ret = ret ? ret : close_all(all);
	free(bytes);
	return ret;
}

int prog_main(const struct vb_prog *prog)
{
	struct rails *all;
	int ret;

	if ((prog->rank ^ 1) >= prog->size)
		return prog_idle(prog);
	all = calloc(1, sizeof(*all));
	if (!all)
		return -1;
	all->prog = prog;
	all->peer = prog->rank ^ 1;
	all->length = (uint32_t)prog_arg(prog, "bytes", 20000);
	ret = run(all);
	free(all);
	return ret;
}
