/* SPDX-License-Identifier: BSD-2-Clause */

/* Multicast: each rank sends to one group, in which all but the last are, and each of these hears
 * everybody, itself as well. Then rank 0 leaves, and the last sends once more. The region is a
 * place for each datagram that comes, and behind them what is sent. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { GRH = 40, LENGTH_MAX = 1024, PLACE = GRH + LENGTH_MAX, COUNT = 4, QKEY = 0x2222 };
enum { GROUP_QPN = 0xffffff };
static const uint32_t lengths[COUNT] = {LENGTH_MAX, 1, 0, 333};

struct party {
	struct prog_ctx ctx;
	struct ibv_qp *qp;
	struct ibv_ah *way;
	union ibv_gid group;
	uint8_t *region;
	int places;
};

static int failed(const struct party *party, const char *what, int error)
{
	prog_say(party->ctx.prog, "rank %d: %s: %s", party->ctx.prog->rank, what, strerror(error));
	return -1;
}

/* One that no other program has: of rank 0's address. */
static int agree_on_group(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	const uint8_t *own = party->ctx.gid.raw;

	if (own[10] == 0xff)
		party->group =
			(union ibv_gid){.raw = {[10] = 0xff, 0xff, 239, own[13], own[14], own[15]}};
	else
		party->group = (union ibv_gid){
			.raw = {0xff, 0x15, [12] = own[12], own[13], own[14], own[15]}};
	if (prog->rank == 0)
		return prog->put(prog, "group", &party->group, sizeof(party->group));
	return prog->get(prog, "group", &party->group, sizeof(party->group));
}

static int post_places(struct party *party)
{
	struct prog_qp qp = {.ctx = &party->ctx, .qp = party->qp};

	for (int i = 0; i < party->places; i++)
		if (prog_post_recv(&qp, (uint64_t)i, party->region + (size_t)i * PLACE, PLACE) != 0)
			return -1;
	return 0;
}

static int join(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	const bool is_member = prog->rank < prog->size - 1;
	int error;

	if (prog_ud_open(&party->ctx, QKEY, (uint32_t)party->places, &party->qp) != 0 ||
	    post_places(party) != 0 || agree_on_group(party) != 0)
		return -1;
	error = is_member ? ibv_attach_mcast(party->qp, &party->group, 0) : 0;
	if (error)
		return failed(party, "ibv_attach_mcast", error);
	party->way = prog_ah(&party->ctx, &party->group);
	return party->way ? prog_barrier(prog, "joined") : -1;
}

/* Told by who has sent it, which it says, and without its header, whose addresses are this
 * world's. */
static int arrived(struct party *party, const struct ibv_wc *wc)
{
	const struct vb_prog *prog = party->ctx.prog;
	const uint8_t *bytes = party->region + wc->wr_id * PLACE + GRH;
	const uint32_t said = ntohl(wc->imm_data);
	const int peer = (int)(said / 100);
	struct ibv_wc told = *wc;

	if (peer >= prog->size || !(wc->wc_flags & IBV_WC_GRH) || wc->byte_len < GRH) {
		prog_say(prog, "rank %d: a datagram from nowhere", prog->rank);
		return -1;
	}
	told.wr_id = said;
	told.byte_len = wc->byte_len - GRH;
	prog->report(prog, peer, 0, &told, bytes);
	return prog_check(prog, "multicast", bytes, told.byte_len, said);
}

/* Until so many have come, and gone. */
static int turn(struct party *party, int recvs, int sends)
{
	while (recvs > 0 || sends > 0) {
		struct ibv_wc wc;

		if (prog_poll(&party->ctx, &wc) != 0)
			return -1;
		if (!(wc.opcode & IBV_WC_RECV))
			sends--;
		else if (recvs-- > 0 ? arrived(party, &wc) != 0 : true)
			return failed(party, "a datagram that is not for it", 0);
	}
	return 0;
}

static int send_to_all(struct party *party, uint32_t index, uint32_t length)
{
	uint8_t *bytes = party->region + (size_t)party->places * PLACE + (size_t)index * LENGTH_MAX;
	struct ibv_sge sge = {
		.addr = (uintptr_t)bytes, .length = length, .lkey = party->ctx.mr->lkey};
	const uint32_t said = (uint32_t)party->ctx.prog->rank * 100 + index;
	struct ibv_send_wr wr = {.wr_id = said,
				 .sg_list = &sge,
				 .num_sge = length != 0,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(said),
				 .wr.ud = {party->way, GROUP_QPN, QKEY}},
			   *bad;
	int error;

	prog_fill(bytes, length, said);
	error = ibv_post_send(party->qp, &wr, &bad);
	return error ? failed(party, "ibv_post_send", error) : 0;
}

static int talk(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	const bool is_last = prog->rank == prog->size - 1;
	int error;

	for (uint32_t i = 0; i < COUNT; i++)
		if (send_to_all(party, i, lengths[i]) != 0)
			return -1;
	if (turn(party, is_last ? 0 : prog->size * COUNT, COUNT) != 0 ||
	    prog_barrier(prog, "heard") != 0)
		return -1;
	error = prog->rank == 0 ? ibv_detach_mcast(party->qp, &party->group, 0) : 0;
	if (error)
		return failed(party, "ibv_detach_mcast", error);
	if (prog_barrier(prog, "left") != 0)
		return -1;
	if (is_last && (send_to_all(party, COUNT, 100) != 0 || turn(party, 0, 1) != 0))
		return -1;
	return turn(party, prog->rank == 0 || is_last ? 0 : 1, 0);
}

/* When all others have heard all, nothing is there that has come to who is not in the group. */
static int leave(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	struct prog_qp qp = {.ctx = &party->ctx, .qp = party->qp};
	struct ibv_wc wc;
	int error = 0;

	if (prog_barrier(prog, "done") != 0)
		return -1;
	if (ibv_poll_cq(party->ctx.cq, 1, &wc) != 0)
		return failed(party, "a datagram too many", 0);
	if (prog->rank > 0 && prog->rank < prog->size - 1)
		error = ibv_detach_mcast(party->qp, &party->group, 0);
	if (error)
		return failed(party, "ibv_detach_mcast", error);
	error = ibv_destroy_ah(party->way);
	return error ? failed(party, "ibv_destroy_ah", error) : prog_close(&party->ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	const int expected = prog->size * COUNT + 2;
	const size_t bytes = (size_t)expected * PLACE + (size_t)(COUNT + 1) * LENGTH_MAX;
	struct party party = {.places = expected};
	int ret = -1;

	if (prog->size < 3)
		return prog_idle(prog);
	party.region = calloc(1, bytes);
	if (party.region &&
	    prog_open(&party.ctx, prog, 2 * expected + 64, party.region, bytes) == 0 &&
	    join(&party) == 0 && talk(&party) == 0)
		ret = leave(&party);
	free(party.region);
	return ret;
}
