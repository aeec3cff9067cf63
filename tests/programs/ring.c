/* SPDX-License-Identifier: BSD-2-Clause */

/* A block of bytes=6000 goes rounds=3 times round all ranks, by WRITE with immediate (write=0: by
 * SEND). It carries its checksum; every rank checks it, mixes its own bytes in and passes it on;
 * rank 0 knows what must come back. The region is room for the block that comes, then the one that
 * goes out. */
#include "tests/programs/util.h"

#include <stdlib.h>
#include <string.h>

struct ring {
	struct prog_ctx ctx;
	struct prog_qp qps[2]; /* from the rank before, to the rank behind */
	uint8_t *in, *out;
	uint32_t length; /* with the checksum in front */
	bool by_write;
	struct prog_pending pending;
};

enum { SUM_BYTES = 8 };

/* FNV-1a, 64 bits, least significant byte first. */
static void put_sum(uint8_t *block, uint32_t length)
{
	uint64_t sum = 0xcbf29ce484222325u;

	for (uint32_t i = SUM_BYTES; i < length; i++)
		sum = (sum ^ block[i]) * 0x100000001b3u;
	for (int i = 0; i < SUM_BYTES; i++)
		block[i] = (uint8_t)(sum >> 8 * i);
}

static bool sum_is_right(const uint8_t *block, uint32_t length, uint8_t *scratch)
{
	memcpy(scratch, block, length);
	put_sum(scratch, length);
	return memcmp(scratch, block, SUM_BYTES) == 0;
}

static void mix(uint8_t *block, uint32_t length, int rank)
{
	for (uint32_t i = SUM_BYTES; i < length; i++)
		block[i] = (uint8_t)(block[i] + prog_byte((uint64_t)rank, i));
	put_sum(block, length);
}

static int expect(struct ring *ring, uint64_t round)
{
	ring->pending.recvs++;
	return prog_post_recv(&ring->qps[0], 1000 + round, ring->in,
			      ring->by_write ? 0 : ring->length);
}

static int pass_on(struct ring *ring, uint64_t round)
{
	ring->pending.sends++;
	return prog_post_send(&ring->qps[1],
			      (struct prog_send){.wr_id = round,
						 .opcode = ring->by_write
								   ? IBV_WR_RDMA_WRITE_WITH_IMM
								   : IBV_WR_SEND_WITH_IMM,
						 .bytes = ring->out,
						 .length = ring->length,
						 .imm = (uint32_t)round});
}

/* The block is in ring->in and what went out before is the program's again. */
static int await(struct ring *ring)
{
	while (ring->pending.recvs > 0 || ring->pending.sends > 0)
		if (prog_turn(ring->qps, 2, ring->in, &ring->pending) != 0)
			return -1;
	/* @out is free: the block is passed on from there. */
	if (sum_is_right(ring->in, ring->length, ring->out))
		return 0;
	prog_say(ring->ctx.prog, "rank %d: a wrong checksum", ring->ctx.prog->rank);
	return -1;
}

/* What rank 0 sends in @round has to come back with every other rank's bytes in it. */
static int compare(struct ring *ring, uint64_t round)
{
	const struct vb_prog *prog = ring->ctx.prog;

	prog_fill(ring->out, ring->length, 5000 + round);
	for (int r = 0; r < prog->size; r++)
		mix(ring->out, ring->length, r);
	if (memcmp(ring->in, ring->out, ring->length) == 0)
		return 0;
	prog_say(prog, "round %d: another block came back", (int)round);
	return -1;
}

static int go_round(struct ring *ring, uint64_t rounds)
{
	int rank = ring->ctx.prog->rank;

	for (uint64_t round = 0; round < rounds; round++) {
		if (rank == 0) {
			prog_fill(ring->out, ring->length, 5000 + round);
			mix(ring->out, ring->length, 0);
			if (pass_on(ring, round) != 0)
				return -1;
		}
		if (await(ring) != 0 || (rank == 0 && compare(ring, round) != 0))
			return -1;
		if (rank != 0) {
			memcpy(ring->out, ring->in, ring->length);
			mix(ring->out, ring->length, rank);
		}
		if (round + 1 < rounds && expect(ring, round + 1) != 0)
			return -1;
		if (rank != 0 && pass_on(ring, round) != 0)
			return -1;
	}
	while (ring->pending.sends > 0)
		if (prog_turn(ring->qps, 2, ring->in, &ring->pending) != 0)
			return -1;
	return 0;
}

static int run(const struct vb_prog *prog, struct ring *ring)
{
	int before = (prog->rank + prog->size - 1) % prog->size;
	int behind = (prog->rank + 1) % prog->size;
	bool two = prog->size == 2;
	/* Between two ranks there are two QPs, called after the one that sends. */
	struct prog_qp_params from = {
		.peer = before, .nth = two ? before : 0, .send_depth = 1, .recv_depth = 2};
	struct prog_qp_params to = {
		.peer = behind, .nth = two ? prog->rank : 0, .send_depth = 2, .recv_depth = 1};

	if (prog_open(&ring->ctx, prog, 16, ring->in, 2 * (size_t)ring->length) != 0 ||
	    prog_qp_open(&ring->qps[0], &ring->ctx, from) != 0 ||
	    prog_qp_open(&ring->qps[1], &ring->ctx, to) != 0 || expect(ring, 0) != 0 ||
	    prog_connect(ring->qps, 2) != 0 || go_round(ring, prog_arg(prog, "rounds", 3)) != 0)
		return -1;
	return prog_close(&ring->ctx, ring->qps, 2);
}

int prog_main(const struct vb_prog *prog)
{
	struct ring ring = {.length = SUM_BYTES + (uint32_t)prog_arg(prog, "bytes", 6000),
			    .by_write = prog_arg(prog, "write", 1) != 0};
	int ret;

	if (prog->size < 2)
		return prog_idle(prog);
	ring.in = calloc(2, ring.length);
	if (!ring.in)
		return -1;
	ring.out = ring.in + ring.length;
	ret = run(prog, &ring);
	free(ring.in);
	return ret;
}
