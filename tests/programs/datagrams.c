/* SPDX-License-Identifier: BSD-2-Clause */

/* Datagrams: each rank has one UD queue pair and sends to every other one. One of them has the
 * wrong Q_Key and never arrives; the last is answered, by an address handle made from its header.
 * The region is what is sent, and behind it a place for each that comes. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRH = 40, LENGTH_MAX = 1024, PLACE = GRH + LENGTH_MAX, COUNT = 4, ANSWER = 100, WRONG = 50 };
static const uint32_t lengths[COUNT] = {1, 0, LENGTH_MAX, 333};

struct address { /* on the rendezvous */
	union ibv_gid gid;
	uint32_t qpn, qkey;
};

struct party {
	struct prog_ctx ctx;
	struct ibv_qp *qp;
	struct address *peers;
	struct ibv_ah **handles;
	struct ibv_wc *asked; /* to be answered, from whom ever */
	int asked_count;
	uint8_t *region;
	int places, sends, recvs; /* sends and recvs: still to come */
};

static int failed(const struct party *party, const char *what)
{
	prog_say(party->ctx.prog, "rank %d: %s: %s", party->ctx.prog->rank, what, strerror(errno));
	return -1;
}

static uint64_t seed_of(int from, int to, uint32_t index)
{
	return (uint64_t)from * 10000 + (uint64_t)to * 1000 + index;
}

static int post_places(struct party *party)
{
	for (int i = 0; i < party->places; i++) {
		struct ibv_sge sge = {.addr = (uintptr_t)party->region + (size_t)(i + 1) * PLACE,
				      .length = PLACE,
				      .lkey = party->ctx.mr->lkey};
		struct ibv_recv_wr wr = {.wr_id = (uint64_t)i, .sg_list = &sge, .num_sge = 1}, *bad;

		if (ibv_post_recv(party->qp, &wr, &bad) != 0)
			return failed(party, "ibv_post_recv");
	}
	return 0;
}

/* Everybody listens before anybody sends. */
static int meet(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	const struct address own = {.gid = party->ctx.gid,
				    .qpn = party->qp->qp_num,
				    .qkey = 0x1000 + (uint32_t)prog->rank};
	char key[32];

	snprintf(key, sizeof(key), "ud/%d", prog->rank);
	if (prog->put(prog, key, &own, sizeof(own)) != 0)
		return -1;
	for (int peer = 0; peer < prog->size; peer++) {
		if (peer == prog->rank)
			continue;
		snprintf(key, sizeof(key), "ud/%d", peer);
		if (prog->get(prog, key, &party->peers[peer], sizeof(own)) != 0)
			return -1;
		party->handles[peer] = prog_ah(&party->ctx, &party->peers[peer].gid);
		if (!party->handles[peer])
			return -1;
	}
	return 0;
}

static int sender_of(const struct party *party, const struct ibv_wc *wc)
{
	int peer = 0;

	while (peer < party->ctx.prog->size && party->peers[peer].qpn != wc->src_qp)
		peer++;
	return peer;
}

/* Told without its header, whose addresses are this world's, and by what the sender calls it. */
static int arrived(struct party *party, const struct ibv_wc *wc)
{
	const struct vb_prog *prog = party->ctx.prog;
	const uint8_t *bytes = party->region + (wc->wr_id + 1) * PLACE + GRH;
	const int peer = sender_of(party, wc);
	struct ibv_wc told = *wc;

	if (peer == prog->size || !(wc->wc_flags & IBV_WC_GRH) || wc->byte_len < GRH) {
		prog_say(prog, "rank %d: a datagram from nowhere", prog->rank);
		return -1;
	}
	told.wr_id = ntohl(wc->imm_data);
	told.byte_len = wc->byte_len - GRH;
	prog->report(prog, peer, 0, &told, bytes);
	party->recvs--;
	if (told.wr_id == COUNT - 1)
		party->asked[party->asked_count++] = *wc;
	return prog_check(prog, "datagram", bytes, told.byte_len,
			  seed_of(peer, prog->rank, (uint32_t)told.wr_id));
}

/* The next completion; what it brought is checked and told. */
static int turn(struct party *party)
{
	struct ibv_wc wc;

	if (prog_poll(&party->ctx, &wc) != 0)
		return -1;
	if (wc.opcode & IBV_WC_RECV)
		return arrived(party, &wc);
	party->sends--;
	return 0;
}

static int send_one(struct party *party, int peer, struct ibv_ah *ah, uint32_t index,
		    uint32_t length)
{
	const struct vb_prog *prog = party->ctx.prog;
	const struct address *to = &party->peers[peer];
	struct ibv_sge sge = {
		.addr = (uintptr_t)party->region, .length = length, .lkey = party->ctx.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = seed_of(prog->rank, peer, index),
				 .sg_list = &sge,
				 .num_sge = length != 0,
				 .opcode = IBV_WR_SEND_WITH_IMM,
				 .send_flags = IBV_SEND_SIGNALED,
				 .imm_data = htonl(index),
				 .wr.ud = {.ah = ah,
					   .remote_qpn = to->qpn,
					   .remote_qkey = to->qkey + (index == WRONG)}},
			   *bad;

	prog_fill(party->region, length, wr.wr_id);
	if (ibv_post_send(party->qp, &wr, &bad) != 0)
		return failed(party, "ibv_post_send");
	/* Until it is gone the bytes are the adapter's. */
	for (party->sends++; party->sends > 0;)
		if (turn(party) != 0)
			return -1;
	return 0;
}

static int answer(struct party *party)
{
	struct ibv_wc *wc = &party->asked[--party->asked_count];
	struct ibv_grh *grh = (void *)(party->region + (wc->wr_id + 1) * PLACE);
	struct ibv_ah *ah = ibv_create_ah_from_wc(party->ctx.pd, wc, grh, 1);

	if (!ah)
		return failed(party, "ibv_create_ah_from_wc");
	if (send_one(party, sender_of(party, wc), ah, ANSWER, 64) != 0)
		return -1;
	return ibv_destroy_ah(ah) != 0 ? failed(party, "ibv_destroy_ah") : 0;
}

static int talk(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;

	for (int i = 1; i < prog->size; i++) {
		const int peer = (prog->rank + i) % prog->size;

		if (send_one(party, peer, party->handles[peer], WRONG, 10) != 0)
			return -1;
		for (uint32_t k = 0; k < COUNT; k++)
			if (send_one(party, peer, party->handles[peer], k, lengths[k]) != 0)
				return -1;
	}
	while (party->recvs > 0 || party->asked_count > 0)
		if (party->asked_count > 0 ? answer(party) != 0 : turn(party) != 0)
			return -1;
	return 0;
}

static int leave(struct party *party)
{
	const struct vb_prog *prog = party->ctx.prog;
	struct prog_qp qp = {.ctx = &party->ctx, .qp = party->qp};

	for (int peer = 0; peer < prog->size; peer++)
		if (peer != prog->rank && ibv_destroy_ah(party->handles[peer]) != 0)
			return failed(party, "ibv_destroy_ah");
	return prog_close(&party->ctx, &qp, 1);
}

int prog_main(const struct vb_prog *prog)
{
	const int expected = (prog->size - 1) * (COUNT + 1);
	const size_t bytes = (size_t)(expected + 1) * PLACE;
	struct party party = {.places = expected, .recvs = expected};
	int ret = -1;

	if (prog->size < 2)
		return prog_idle(prog);
	party.region = calloc(1, bytes);
	party.peers = calloc((size_t)prog->size, sizeof(*party.peers));
	party.handles = calloc((size_t)prog->size, sizeof(struct ibv_ah *));
	party.asked = calloc((size_t)prog->size, sizeof(*party.asked));
	if (party.region && party.peers && party.handles && party.asked &&
	    prog_open(&party.ctx, prog, 2 * expected + 64, party.region, bytes) == 0 &&
	    prog_ud_open(&party.ctx, 0x1000 + (uint32_t)prog->rank, (uint32_t)expected,
			 &party.qp) == 0 &&
	    post_places(&party) == 0 && meet(&party) == 0 && talk(&party) == 0)
		ret = leave(&party);
	free(party.region);
	free(party.peers);
	free(party.handles);
	free(party.asked);
	return ret;
}
