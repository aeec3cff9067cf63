/* SPDX-License-Identifier: BSD-2-Clause */

/* Every rank from 1 on sends rank 0 eight messages, all at once; rank 0 has four receives for all
 * of them, which its queue pairs share. It puts none back before the event says that few are left,
 * and finds out of each message whose it is, and which. */
#include "tests/programs/util.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>

enum { COUNT = 8, PLACES = 4, LIMIT = 2, PLACE = 9000 };

/* Of less than a packet, of several, of one, of nothing. */
static const uint32_t lengths[COUNT] = {100, 9000, 1024, 0, 1, 4096, 5000, 17};

struct hub {
	struct prog_ctx ctx;
	struct prog_qp *qps;
	int qp_count;
	struct ibv_srq *srq;
	uint8_t *bytes; /* PLACES times PLACE; elsewhere one message after the other */
};

static int failed(const struct hub *hub, const char *what, int error)
{
	prog_say(hub->ctx.prog, "rank %d: %s: %d", hub->ctx.prog->rank, what, error);
	return -1;
}

static int post(struct hub *hub, uint64_t place)
{
	struct ibv_sge sge = {.addr = (uintptr_t)hub->bytes + place * PLACE,
			      .length = PLACE,
			      .lkey = hub->ctx.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = place, .sg_list = &sge, .num_sge = 1}, *bad;
	int ret = ibv_post_srq_recv(hub->srq, &wr, &bad);

	return ret != 0 ? failed(hub, "ibv_post_srq_recv", ret) : 0;
}

static int share(struct hub *hub)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = PLACES, .max_sge = 1}};
	struct ibv_srq_attr attr = {.srq_limit = LIMIT};
	int ret;

	hub->srq = ibv_create_srq(hub->ctx.pd, &init);
	if (!hub->srq)
		return failed(hub, "ibv_create_srq", errno);
	for (uint64_t place = 0; place < PLACES; place++)
		if (post(hub, place) != 0)
			return -1;
	ret = ibv_modify_srq(hub->srq, &attr, IBV_SRQ_LIMIT);
	return ret != 0 ? failed(hub, "ibv_modify_srq", ret) : 0;
}

/* What came is told by what its sender calls it: which receive it took is another thing each time.
 */
static int receive(struct hub *hub, uint64_t *ret_place)
{
	const struct vb_prog *prog = hub->ctx.prog;
	struct ibv_wc wc;
	const uint8_t *bytes;
	uint32_t index;
	int i = 0;

	if (prog_poll(&hub->ctx, &wc) != 0)
		return -1;
	while (i < hub->qp_count && hub->qps[i].qp->qp_num != wc.qp_num)
		i++;
	index = ntohl(wc.imm_data) % 100;
	if (i == hub->qp_count || wc.wr_id >= PLACES || index >= COUNT ||
	    ntohl(wc.imm_data) / 100 != (uint32_t)hub->qps[i].peer || wc.byte_len != lengths[index])
		return failed(hub, "not what was sent", (int)ntohl(wc.imm_data));
	*ret_place = wc.wr_id;
	bytes = hub->bytes + wc.wr_id * PLACE;
	wc.wr_id = ntohl(wc.imm_data);
	prog->report(prog, hub->qps[i].peer, 0, &wc, bytes);
	return prog_check(prog, "message", bytes, wc.byte_len, wc.wr_id);
}

static int expect_limit(struct hub *hub)
{
	struct ibv_async_event event;
	struct ibv_srq_attr attr;

	do {
		if (ibv_get_async_event(hub->ctx.context, &event) != 0)
			return failed(hub, "ibv_get_async_event", errno);
		ibv_ack_async_event(&event);
	} while (event.event_type != IBV_EVENT_SRQ_LIMIT_REACHED);
	if (event.element.srq != hub->srq || ibv_query_srq(hub->srq, &attr) != 0 ||
	    attr.srq_limit != 0 || attr.max_sge < 1)
		return failed(hub, "ibv_query_srq", (int)attr.srq_limit);
	return 0;
}

static int receive_all(struct hub *hub)
{
	const int all = hub->qp_count * COUNT;
	uint64_t places[PLACES];
	int got = 0;

	for (; got < PLACES; got++)
		if (receive(hub, &places[got]) != 0)
			return -1;
	if (expect_limit(hub) != 0)
		return -1;
	for (int i = 0; i < PLACES; i++)
		if (post(hub, places[i]) != 0)
			return -1;
	for (; got < all; got++)
		if (receive(hub, &places[0]) != 0 || post(hub, places[0]) != 0)
			return -1;
	return 0;
}

static int send_all(struct hub *hub)
{
	const struct vb_prog *prog = hub->ctx.prog;
	struct prog_pending pending = {.sends = COUNT};
	uint8_t *bytes = hub->bytes;

	for (uint32_t k = 0; k < COUNT; k++) {
		const uint32_t name = (uint32_t)prog->rank * 100 + k;

		prog_fill(bytes, lengths[k], name);
		if (prog_post_send(&hub->qps[0], (struct prog_send){.wr_id = k,
								    .opcode = IBV_WR_SEND_WITH_IMM,
								    .bytes = bytes,
								    .length = lengths[k],
								    .imm = name}) != 0)
			return -1;
		bytes += lengths[k];
	}
	return prog_drain(hub->qps, NULL, &pending);
}

static int leave(struct hub *hub)
{
	const struct vb_prog *prog = hub->ctx.prog;
	int ret;

	if (!hub->srq)
		return prog_close(&hub->ctx, hub->qps, hub->qp_count);
	if (prog_idle(prog) != 0)
		return -1;
	if (ibv_destroy_srq(hub->srq) != EBUSY)
		return failed(hub, "ibv_destroy_srq while it is used", 0);
	for (int i = 0; i < hub->qp_count; i++)
		if (ibv_destroy_qp(hub->qps[i].qp) != 0)
			return failed(hub, "ibv_destroy_qp", errno);
	ret = ibv_destroy_srq(hub->srq);
	if (ret != 0)
		return failed(hub, "ibv_destroy_srq", ret);
	return prog_destroy(&hub->ctx, NULL, 0);
}

static int run(const struct vb_prog *prog, struct hub *hub)
{
	if (prog_open(&hub->ctx, prog, PLACES + 2 * COUNT, hub->bytes, (size_t)PLACES * PLACE) != 0)
		return -1;
	if (prog->rank == 0 && share(hub) != 0)
		return -1;
	for (int i = 0; i < hub->qp_count; i++)
		if (prog_qp_open(&hub->qps[i], &hub->ctx,
				 (struct prog_qp_params){.peer = prog->rank == 0 ? i + 1 : 0,
							 .send_depth = COUNT,
							 .srq = hub->srq}) != 0)
			return -1;
	if (prog_connect(hub->qps, hub->qp_count) != 0)
		return -1;
	if (prog->rank == 0 ? receive_all(hub) != 0 : send_all(hub) != 0)
		return -1;
	return leave(hub);
}

int prog_main(const struct vb_prog *prog)
{
	struct hub hub = {.qp_count = prog->rank == 0 ? prog->size - 1 : 1};
	int ret = -1;

	if (prog->size < 2)
		return prog_idle(prog);
	hub.bytes = calloc(PLACES, PLACE);
	hub.qps = calloc((size_t)hub.qp_count, sizeof(*hub.qps));
	if (hub.bytes && hub.qps)
		ret = run(prog, &hub);
	free(hub.bytes);
	free(hub.qps);
	return ret;
}
