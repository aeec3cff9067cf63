/* SPDX-License-Identifier: BSD-2-Clause */

/* The programs of a plan at work on their adapters, and what they check as they go. They act at
 * instants of their own, after everything else that the host does there. */
#include "tests/hca_connect.h"
#include "tests/swarm/run.h"
#include "util/check.h"
#include "util/siphash.h"

#include <stdlib.h>
#include <string.h>

#define RECV_BIT ((uint64_t)1 << 32)

static struct host_run *host_of(struct side_run *side)
{
	return &side->run->hosts[side->plan->host];
}

static struct side_run *peer_of(struct side_run *side)
{
	return &side->run->sides[side->plan->peer];
}

static void violation(struct side_run *side, const char *what, uint32_t op)
{
	run_violation(side->run, "side %u op %u: %s", (unsigned)(side - side->run->sides), op,
		      what);
}

/* ---- posting ---- */

static uint32_t sge_list(const struct host_run *host, const struct pieces *pieces, uint32_t lkey,
			 bool inlined, struct hca_sge *ret_sge)
{
	for (uint32_t i = 0; i < pieces->count; i++) {
		const uint64_t at = pieces_place(pieces, i);

		ret_sge[i] = (struct hca_sge){
			.addr = inlined ? (uintptr_t)(host->memory + at) : host->iova + at,
			.length = pieces->bytes[i],
			.lkey = lkey,
		};
	}
	return pieces->count;
}

static void reuse(struct side_run *side, uint32_t index)
{
	const struct op *op = &side->plan->ops[index];
	uint8_t bytes[65536];

	if (op->kind > OP_WRITE_IMM || op->relay || side->reused[index])
		return;
	memset(bytes, MEMORY_REUSED, op->bytes);
	pieces_put(&op->local, host_of(side)->memory, bytes, op->bytes);
	side->reused[index] = true;
}

static void post_send(struct side_run *side, ps_t now)
{
	static const enum hca_wr_opcode opcodes[OP_KINDS] = {HCA_WR_SEND,
							     HCA_WR_SEND_WITH_IMM,
							     HCA_WR_SEND_WITH_INV,
							     HCA_WR_RDMA_WRITE,
							     HCA_WR_RDMA_WRITE_WITH_IMM,
							     HCA_WR_RDMA_READ,
							     HCA_WR_ATOMIC_CMP_AND_SWP,
							     HCA_WR_ATOMIC_FETCH_AND_ADD};
	const uint32_t index = side->posted++;
	const struct op *op = &side->plan->ops[index];
	const struct host_run *host = host_of(side);
	const struct host_run *remote = host_of(peer_of(side));
	struct hca_sge sge[PLAN_PIECES_MAX];
	struct hca_send_wr wr = {
		.wr_id = index,
		.opcode = opcodes[op->kind],
		.flags = (op->fence ? HCA_SEND_FENCE : 0u) |
			 (op->signaled ? HCA_SEND_SIGNALED : 0u) |
			 (op->solicited ? HCA_SEND_SOLICITED : 0u) |
			 (op->inlined ? HCA_SEND_INLINE : 0u),
		.sge = sge,
		.imm = op->kind == OP_SEND_INV ? peer_of(side)->inv_rkeys[op->imm] : op->imm,
		.remote_addr = remote->iova + op->remote,
		.rkey = remote->mr->rkey ^ (op->bad_rkey ? 0x5a5a00u : 0),
		.compare_add = op->compare_add,
		.swap = op->swap,
	};

	if (op->gone_rkey)
		wr.rkey = peer_of(side)->inv_rkeys[op->gone];
	if (op->remote == UINT64_MAX)
		wr.remote_addr = remote->iova + remote->bytes - op->bytes + 1;
	wr.sge_count = sge_list(host, &op->local, host->mr->lkey ^ (op->bad_lkey ? 0x5a5a00u : 0),
				op->inlined, sge);
	if (hca_qp_post_send(host->host->hca, side->qp, &wr, now) != 0)
		violation(side, "refused", index);
	if (op->inlined) /* its bytes were taken */
		reuse(side, index);
}

static void post_recv(struct side_run *side, ps_t now)
{
	const uint32_t index = side->recv_posted++;
	const struct host_run *host = host_of(side);
	struct hca_sge sge[PLAN_PIECES_MAX];
	const struct hca_recv_wr wr = {
		.wr_id = RECV_BIT | index,
		.sge = sge,
		.sge_count =
			sge_list(host, &side->plan->recvs[index].local, host->mr->lkey, false, sge),
	};

	if (hca_qp_post_recv(host->host->hca, side->qp, &wr, now) != 0)
		violation(side, "receive refused", index);
}

static bool may_post_send(const struct side_run *side)
{
	const struct side *s = side->plan;

	return !side->failed && side->posted < s->op_count &&
	       side->posted - side->retired < s->send_depth &&
	       (!s->ops[side->posted].barrier || side->retired == side->posted);
}

static bool may_post_recv(const struct side_run *side)
{
	const struct side *s = side->plan;

	return !side->recv_failed && !side->failed && side->recv_posted < s->recv_count &&
	       side->recv_posted - side->recv_done < s->recv_depth;
}

static ps_t recv_at(const struct side_run *side)
{
	return side->plan->recv_start_at + side->recv_posted * side->plan->recv_gap;
}

static void step(struct sim_local_event *event, void *context)
{
	struct side_run *side = container_of(event, struct side_run, event);
	const ps_t now = host_of(side)->host->now;
	ps_t next = PS_NEVER;
	uint32_t posted = 0;

	(void)context;
	while (may_post_recv(side) && recv_at(side) <= now)
		post_recv(side, now);
	if (may_post_recv(side))
		next = recv_at(side);
	while (may_post_send(side) && side->next_post_at <= now && posted < side->plan->burst) {
		post_send(side, now);
		posted++;
	}
	if (posted > 0)
		side->next_post_at = now + side->plan->post_gap + 1;
	if (may_post_send(side) && side->next_post_at < next)
		next = side->next_post_at;
	if (next != PS_NEVER)
		sim_local_schedule(&host_of(side)->host->local, event, next);
}

/* ---- completions ---- */

static void check_read(struct side_run *side, uint32_t index)
{
	const struct op *op = &side->plan->ops[index];
	uint8_t expected[65536], found[65536];

	memory_seen_by_read(side->run, side, index, expected);
	pieces_get(&op->local, host_of(side)->memory, found);
	if (memcmp(expected, found, op->bytes) != 0)
		violation(side, "the READ brought other bytes", index);
}

static void check_success(struct side_run *side, const struct hca_wc *wc, uint32_t index)
{
	static const enum hca_wc_opcode opcodes[OP_KINDS] = {
		HCA_WC_SEND,	   HCA_WC_SEND,	     HCA_WC_SEND,      HCA_WC_RDMA_WRITE,
		HCA_WC_RDMA_WRITE, HCA_WC_RDMA_READ, HCA_WC_COMP_SWAP, HCA_WC_FETCH_ADD};
	const struct op *op = &side->plan->ops[index];

	if (!op->signaled)
		violation(side, "completes without having asked for it", index);
	if (op->fatal)
		violation(side, "succeeds, and must not", index);
	if (wc->opcode != opcodes[op->kind])
		violation(side, "another opcode", index);
	if (op->kind >= OP_READ && wc->byte_len != op->bytes)
		violation(side, "another length", index);
	if (op->kind == OP_READ && !op->fatal)
		check_read(side, index);
	/* With more threads the other host may be anywhere in the window. */
	/* Over a bus an ACK says no more than that memory will have them. */
	if (side->run->options.threads == 1 && !op->fatal && !side->run->has_bus &&
	    !memory_is_placed(side->run, side, index))
		violation(side, "completes before its bytes are in place", index);
}

static void on_send_done(struct side_run *side, const struct hca_wc *wc)
{
	const uint32_t index = (uint32_t)wc->wr_id;

	if (index >= side->posted || index < side->retired) {
		violation(side, "completes twice, or was never posted", index);
		return;
	}
	if (side->failed) {
		if (index != side->retired || wc->status != HCA_WC_WR_FLUSH_ERR)
			violation(side, "is not flushed in its turn", index);
		side->retired = index + 1;
		return;
	}
	for (uint32_t i = side->retired; i < index; i++)
		if (side->plan->ops[i].signaled)
			violation(side, "overtakes another", index);
	if (wc->status == HCA_WC_SUCCESS) {
		check_success(side, wc, index);
	} else {
		side->failed = true;
		side->status = (int)wc->status;
		side->failed_op = index;
		side->failed_at = host_of(side)->host->now;
	}
	for (; side->retired < index + (wc->status == HCA_WC_SUCCESS); side->retired++)
		reuse(side, side->retired);
	side->retired = index + 1;
}

/* The request of the peer that takes this receive. */
static uint32_t taker_of(struct side_run *side, uint32_t index)
{
	const struct side *peer = peer_of(side)->plan;

	for (uint32_t i = 0; i < peer->op_count; i++)
		if ((peer->ops[i].kind <= OP_SEND_INV || peer->ops[i].kind == OP_WRITE_IMM) &&
		    peer->ops[i].recv == index)
			return i;
	CHECK(index < side->plan->recv_count);
	return 0;
}

static void check_receive(struct side_run *side, const struct hca_wc *wc, uint32_t index)
{
	const uint32_t taker = taker_of(side, index);
	const struct op *op = &peer_of(side)->plan->ops[taker];
	const bool is_imm = op->kind == OP_SEND_IMM || op->kind == OP_WRITE_IMM;
	const uint32_t flags = is_imm			 ? HCA_WC_WITH_IMM
			       : op->kind == OP_SEND_INV ? HCA_WC_WITH_INV
							 : 0;

	if (op->fatal)
		violation(side, "is received, and must not", taker);
	if (wc->opcode != (op->kind == OP_WRITE_IMM ? HCA_WC_RECV_RDMA_WITH_IMM : HCA_WC_RECV))
		violation(side, "is received as something else", taker);
	if (wc->byte_len != op->bytes)
		violation(side, "is received with another length", taker);
	if (wc->flags != flags || (is_imm && wc->imm != op->imm) ||
	    (op->kind == OP_SEND_INV && wc->imm != side->inv_rkeys[op->imm]))
		violation(side, "is received with another immediate or key", taker);
	if (side->run->options.threads == 1 && !memory_is_placed(side->run, peer_of(side), taker))
		violation(side, "is received before its bytes are in place", taker);
}

static void on_recv_done(struct side_run *side, const struct hca_wc *wc)
{
	const uint32_t index = (uint32_t)wc->wr_id;

	if (index != side->recv_done || index >= side->recv_posted) {
		violation(side, "receive out of its turn", index);
		return;
	}
	side->recv_done++;
	if (wc->status != HCA_WC_SUCCESS)
		side->recv_failed = true;
	else if (side->recv_failed)
		violation(side, "receive after a failed one", index);
	else
		check_receive(side, wc, index);
}

static void poll(struct sim_local_event *event, void *context)
{
	struct host_run *host = container_of(event, struct host_run, event);
	struct run *run = host->run;
	struct hca_wc wc;

	(void)context;
	while (hca_cq_poll(host->cq, 1, &wc) == 1) {
		const uint32_t number = wc.qpn - run->plan->sides[0].qpn;

		CHECK(number < run->plan->side_count);
		if (wc.wr_id & RECV_BIT)
			on_recv_done(&run->sides[number], &wc);
		else
			on_send_done(&run->sides[number], &wc);
		sim_local_schedule(&host->host->local, &run->sides[number].event, host->host->now);
	}
}

static void on_completion(struct host_client *client, ps_t now)
{
	struct host_run *host = container_of(client, struct host_run, client);

	sim_local_schedule(&host->host->local, &host->event, now);
}

/* ---- the beginning ---- */

static void open_host(struct run *run, uint32_t number)
{
	enum {
		ALL = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ |
		      HCA_ACCESS_REMOTE_ATOMIC
	};
	struct host_run *host = &run->hosts[number];
	struct hca_mr_params region = {.ops = &hca_mem_host, .access = ALL};

	*host = (struct host_run){
		.run = run,
		.host = fabric_host(&run->fabric, run->plan->hosts[number]),
		.bytes = run->plan->memory_bytes[number],
		.iova = (uint64_t)(number + 1) << 40,
		.event = {.key = util_hash_name("poll"), .phase = SIM_LOCAL_PROGRAM, .fn = poll},
		.client = {.on_completion = on_completion},
	};
	host->memory = malloc(host->bytes);
	CHECK(host->memory != NULL);
	memory_fill(run, number, host->memory);
	region.address = (uintptr_t)host->memory;
	region.iova = host->iova;
	region.length = host->bytes;
	CHECK(hca_pd_create(host->host->hca, &host->pd) == 0);
	CHECK(hca_mr_create(host->host->hca, host->pd, &region, &host->mr) == 0);
	CHECK(hca_cq_create(host->host->hca, 4096, NULL, &host->cq) == 0);
	host->client.cq = host->cq;
	host->host->client = &host->client;
}

static void connect_side(struct side_run *side)
{
	enum {
		ALL = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ | HCA_ACCESS_REMOTE_ATOMIC,
	};
	const struct side *s = side->plan, *peer = peer_of(side)->plan;
	struct host *host = host_of(side)->host;
	struct hca_qp_attr attr = {
		.access = ALL,
		.mtu = s->mtu,
		.dest_qpn = peer->qpn,
		.sq_psn = s->sq_psn,
		.rq_psn = peer->sq_psn,
		.timeout = s->timeout,
		.retry_cnt = s->retry_cnt,
		.rnr_retry = s->rnr_retry,
		.min_rnr_timer = s->rnr_timer,
		.max_rd_atomic = s->rd_atomic,
		.max_dest_rd_atomic = s->rd_atomic,
		.port = 1,
		.path = {.ttl = 64, .priority = s->priority},
	};

	host_ip(host_of(peer_of(side))->host, attr.path.dst_ip);
	CHECK(host_resolve(host, &attr.path, s->qpn, peer->qpn) == 0);
	CHECK(hca_connect_rc(host->hca, side->qp, attr) == 0);
}

static void open_side(struct run *run, uint32_t number)
{
	struct side_run *side = &run->sides[number];
	const struct side *s = &run->plan->sides[number];
	struct host_run *host = &run->hosts[s->host];
	const struct hca_qp_init init = {
		.type = HCA_QPT_RC,
		.pd = host->pd,
		.send_cq = host->cq,
		.recv_cq = host->cq,
		.cap = {s->send_depth, s->recv_depth, PLAN_PIECES_MAX, PLAN_PIECES_MAX, 256},
		.qpn = s->qpn,
	};

	*side = (struct side_run){.run = run, .plan = s, .next_post_at = s->start_at};
	CHECK(hca_qp_create(host->host->hca, &init, &side->qp) == 0);
	for (uint32_t i = 0; i < s->inv_count; i++) {
		const struct hca_mr_params region = {.ops = &hca_mem_host,
						     .address = (uintptr_t)host->memory,
						     .iova = host->iova,
						     .length = host->bytes,
						     .is_fast = true,
						     .access = HCA_ACCESS_LOCAL_WRITE |
							       HCA_ACCESS_REMOTE_WRITE};
		struct hca_mr *mr;

		CHECK(hca_mr_create(host->host->hca, host->pd, &region, &mr) == 0);
		side->inv_rkeys[i] = mr->rkey;
	}
	side->event =
		(struct sim_local_event){.key = s->qpn, .phase = SIM_LOCAL_PROGRAM, .fn = step};
	sim_local_schedule(&host->host->local, &side->event, 0);
}

void actors_start(struct run *run)
{
	for (uint32_t i = 0; i < run->plan->host_count; i++)
		open_host(run, i);
	for (uint32_t i = 0; i < run->plan->side_count; i++)
		open_side(run, i);
	for (uint32_t i = 0; i < run->plan->side_count; i++)
		connect_side(&run->sides[i]);
}

/* ---- the end ---- */

static bool dies_by_request(const struct side *s)
{
	for (uint32_t i = 0; i < s->op_count; i++)
		if (s->ops[i].fatal == HCA_WC_REM_ACCESS_ERR ||
		    s->ops[i].fatal == HCA_WC_REM_INV_REQ_ERR)
			return true;
	return false;
}

static uint64_t drops_of(const struct run *run)
{
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < run->fabric.switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(run->fabric.switches[i]);

		dropped += fc->dropped_buffer + fc->dropped_headroom;
	}
	return dropped;
}

/* Whether something can have kept the answers away for as long as it takes to lose patience. Where
 * only faults can, and all of them are past, the next retry must have helped. */
static bool is_disturbed(const struct side_run *side)
{
	const struct run *run = side->run;
	const struct hca_profile *profile = &run->plan->host.profile;
	const ps_t patience =
		2 * (profile->retransmit == HCA_SELECTIVE ? profile->rto_high
							  : (ps_t)8192000 << side->plan->timeout);
	ps_t until = 0;

	if (run->options.oracle || drops_of(run) > 0)
		return true;
	for (uint32_t i = 0; i < run->plan->fault_count; i++) {
		const struct sim_fault_params *p = &run->plan->faults[i].params;

		if (p->control) /* a pause may last without a resume */
			return true;
		until = p->until > until ? p->until : until;
	}
	for (uint32_t i = 0; i < run->plan->down_count; i++) {
		const struct scenario_fault *down = &run->plan->downs[i];
		ps_t all_at = down->until_at + down->delay;

		if (run->plan->reconverge != PS_NEVER)
			all_at += run->plan->reconverge;
		until = all_at > until ? all_at : until;
	}
	if (until == 0)
		return false;
	return side->failed_at < until + patience + PS_MS ||
	       (run->plan->has_ecn && profile->cc->listens) || profile->cc->takes_acks;
}

static bool failure_is_legal(struct side_run *side)
{
	const struct op *op = &side->plan->ops[side->failed_op];

	if (op->fatal && side->status == op->fatal)
		return true;
	switch (side->status) {
	case HCA_WC_RETRY_EXC_ERR:
		return is_disturbed(side) || peer_of(side)->failed || peer_of(side)->recv_failed ||
		       dies_by_request(side->plan);
	case HCA_WC_RNR_RETRY_EXC_ERR:
		return side->plan->rnr_retry < 7;
	case HCA_WC_WR_FLUSH_ERR:
		return dies_by_request(peer_of(side)->plan);
	default:
		return false;
	}
}

void actors_check_done(struct run *run)
{
	for (uint32_t i = 0; i < run->plan->side_count; i++) {
		struct side_run *side = &run->sides[i];
		const struct side *s = side->plan;

		if (side->retired != side->posted)
			violation(side, "never completes", side->retired);
		if ((side->failed || side->recv_failed) && side->recv_done != side->recv_posted)
			violation(side, "receive is not flushed", side->recv_done);
		if (side->failed && !failure_is_legal(side))
			run_violation(run, "side %u op %u: fails with status %d", i,
				      side->failed_op, side->status);
		if (!side->failed && side->posted < s->op_count)
			violation(side, "was never posted", side->posted);
		if (!side->failed && !peer_of(side)->failed && !side->recv_failed &&
		    side->recv_done < s->recv_count)
			violation(side, "receive never completes", side->recv_done);
	}
}
