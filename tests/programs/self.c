/* SPDX-License-Identifier: BSD-2-Clause */

/* Every rank talks to itself, over one QP whose other end is that QP: SENDs of several lengths, a
 * WRITE with immediate, a READ and an atomic, each checked. The region is what is sent, what comes
 * in (received, written or read), and a word for the atomic. */
#include "tests/programs/util.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES = 20000, LENGTHS = 5 };
static const uint32_t lengths[LENGTHS] = {1, 1024, 4096, 4097, BYTES};

struct self {
	uint8_t out[BYTES], in[BYTES];
	uint64_t word, before;
};

/* With immediate, so that one receive is used up. */
static int bring(struct prog_qp *qp, struct self *self, enum ibv_wr_opcode opcode, uint32_t i)
{
	const struct vb_prog *prog = qp->ctx->prog;
	struct prog_pending pending = {.sends = 1, .recvs = 1};
	const uint32_t length = lengths[i];

	prog_fill(self->out, length, (uint64_t)prog->rank * 100 + i);
	memset(self->in, 0xee, BYTES);
	if (prog_post_recv(qp, 1000 + i, self->in, length) != 0 ||
	    prog_post_send(qp, (struct prog_send){.wr_id = i,
						  .opcode = opcode,
						  .bytes = self->out,
						  .length = length,
						  .remote_offset = offsetof(struct self, in),
						  .imm = i}) != 0 ||
	    prog_drain(qp, self->in, &pending) != 0)
		return -1;
	return prog_check(prog, "from myself", self->in, length, (uint64_t)prog->rank * 100 + i);
}

/* The length is the work request's: not every adapter says it. */
static int fetch(struct prog_qp *qp, struct prog_send send)
{
	const struct vb_prog *prog = qp->ctx->prog;
	struct ibv_wc wc;

	if (prog_post_send(qp, send) != 0 || prog_poll(qp->ctx, &wc) != 0)
		return -1;
	wc.byte_len = send.length;
	prog->report(prog, prog->rank, 0, &wc, send.bytes);
	return 0;
}

static int talk(struct prog_qp *qp, struct self *self)
{
	const struct vb_prog *prog = qp->ctx->prog;

	for (uint32_t i = 0; i < LENGTHS; i++)
		if (bring(qp, self, IBV_WR_SEND_WITH_IMM, i) != 0)
			return -1;
	if (bring(qp, self, IBV_WR_RDMA_WRITE_WITH_IMM, LENGTHS - 1) != 0)
		return -1;
	memset(self->in, 0xee, BYTES);
	if (fetch(qp, (struct prog_send){.wr_id = 100,
					 .opcode = IBV_WR_RDMA_READ,
					 .bytes = self->in,
					 .length = BYTES,
					 .remote_offset = offsetof(struct self, out)}) != 0 ||
	    memcmp(self->in, self->out, BYTES) != 0)
		return -1;
	self->word = 40;
	if (fetch(qp, (struct prog_send){.wr_id = 101,
					 .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					 .bytes = &self->before,
					 .length = sizeof(self->before),
					 .remote_offset = offsetof(struct self, word),
					 .compare_add = 2}) != 0)
		return -1;
	if (self->before == 40 && self->word == 42)
		return 0;
	prog_say(prog, "rank %d: 40 + 2 is %d", prog->rank, (int)self->word);
	return -1;
}

int prog_main(const struct vb_prog *prog)
{
	struct self *self = calloc(1, sizeof(*self));
	struct prog_ctx ctx;
	struct prog_qp qp;
	int ret = -1;

	if (self && prog_open(&ctx, prog, 8, self, sizeof(*self)) == 0 &&
	    prog_qp_open(&qp, &ctx,
			 (struct prog_qp_params){
				 .peer = prog->rank, .send_depth = 2, .recv_depth = 2}) == 0 &&
	    prog_connect(&qp, 1) == 0 && talk(&qp, self) == 0)
		ret = prog_close(&ctx, &qp, 1);
	free(self);
	return ret;
}
