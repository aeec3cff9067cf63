/* SPDX-License-Identifier: BSD-2-Clause */

/* The programs of a plan: which end of a queue pair does what, and where everything lies in memory.
 * Each stretch of memory has one end that writes it, but for one word of each host that all add to;
 * so what must be where in the end follows from the plan. */
#include "tests/swarm/plan.h"
#include "util/check.h"

#include <string.h>

static uint64_t take(struct plan *plan, uint32_t host, uint64_t bytes)
{
	const uint64_t at = (plan->memory_bytes[host] + 7) / 8 * 8;

	plan->memory_bytes[host] = at + bytes + PLAN_GUARD_BYTES;
	return at;
}

static uint32_t draw_bytes(struct draw *draw, uint32_t mtu, uint32_t max)
{
	uint64_t bytes;

	switch (draw_below(draw, 8)) {
	case 0:
		bytes = 0;
		break;
	case 1:
		bytes = draw_range(draw, 1, 64);
		break;
	case 2:
		bytes = mtu * draw_range(draw, 1, 4);
		break;
	case 3:
		bytes = mtu * draw_range(draw, 1, 4) + draw_range(draw, 0, 2) - 1;
		break;
	case 4:
		bytes = draw_below(draw, max);
		break;
	default:
		bytes = draw_below(draw, 3 * mtu);
	}
	return (uint32_t)(bytes < max ? bytes : max);
}

/* @bytes as a list of pieces, some of them empty, anywhere behind each other. */
static struct pieces draw_pieces(struct plan *plan, struct draw *draw, uint32_t host,
				 uint32_t bytes)
{
	struct pieces p = {.count = (uint32_t)(draw_one_in(draw, 2) ? 1 : draw_range(draw, 1, 4))};
	uint32_t left = bytes;

	if (bytes == 0 && draw_one_in(draw, 2))
		p.count = 0;
	for (uint32_t i = 0; i < p.count; i++) {
		p.bytes[i] = i + 1 == p.count ? left : (uint32_t)draw_below(draw, left + 1);
		left -= p.bytes[i];
	}
	p.at = take(plan, host, bytes + PLAN_PIECES_MAX * (uint64_t)PLAN_GUARD_BYTES) +
	       draw_below(draw, 8);
	return p;
}

static uint32_t bytes_max(uint32_t mtu)
{
	return mtu * 12 < 40000 ? mtu * 12 : 40000;
}

static void lay_out(struct plan *plan, struct draw *draw, struct side *s)
{
	s->slot_bytes = bytes_max(s->mtu);
	s->stable_bytes = bytes_max(s->mtu);
	s->slots = take(plan, s->host, (uint64_t)PLAN_SLOTS * s->slot_bytes) + draw_below(draw, 8);
	s->stable = take(plan, s->host, s->stable_bytes) + draw_below(draw, 8);
	plan->memory_bytes[s->host] += 16;
	s->words = take(plan, s->host, PLAN_WORDS * 8);
}

static void draw_receive(struct plan *plan, struct draw *draw, struct op *op, struct side *peer)
{
	struct recv *recv = &peer->recvs[peer->recv_count];
	uint32_t room = op->kind == OP_WRITE_IMM ? 0 : op->bytes;

	room += draw_one_in(draw, 2) ? (uint32_t)draw_below(draw, 100) : 0;
	recv->bytes = room;
	recv->local = draw_pieces(plan, draw, peer->host, room);
	if (recv->local.count == 0)
		recv->bytes = 0;
	op->recv = peer->recv_count++;
}

struct frozen { /* slots that are being read back */
	uint32_t slots;
};

static void draw_target(struct draw *draw, struct op *op, const struct side *peer,
			struct frozen *frozen)
{
	const uint32_t slot = (uint32_t)draw_below(draw, PLAN_SLOTS);
	const uint32_t room = peer->slot_bytes - op->bytes;

	if (op->kind == OP_READ) {
		op->stable = draw_one_in(draw, 2);
		op->remote = op->stable ? peer->stable + draw_below(draw, peer->stable_bytes -
										  op->bytes + 1)
					: peer->slots + slot * peer->slot_bytes +
						  draw_below(draw, room + 1);
		frozen->slots |= op->stable ? 0 : 1u << slot;
		return;
	}
	if (frozen->slots >> slot & 1) {
		op->bytes = 0;
		op->relay = false;
	}
	op->remote = peer->slots + slot * peer->slot_bytes + draw_below(draw, room + 1);
}

static void draw_atomic(struct plan *plan, struct draw *draw, struct op *op,
			const struct side *peer)
{
	op->bytes = 8;
	op->compare_add = draw_below(draw, 3);
	op->swap = draw_below(draw, 3);
	op->shared = op->kind == OP_FADD && draw_one_in(draw, 2);
	op->remote = op->shared ? plan->shared_word[peer->host]
				: peer->words + 8 * draw_below(draw, PLAN_WORDS);
	if (op->shared)
		op->compare_add = 1 + draw_below(draw, 1000);
}

static bool is_send(enum op_kind kind)
{
	return kind <= OP_SEND_INV;
}

/* A SEND or WRITE of what the READ right before it brings. */
static void relay(const struct plan *plan, const struct side *s, struct op *op)
{
	const struct op *read = op - 1;

	op->relay = true;
	op->fence = true;
	op->bytes = read->bytes;
	op->local = read->local;
	op->key = plan_memory_key(plan, plan->sides[s->peer].host);
	op->key_at = read->remote;
}

static bool may_relay(const struct side *s, const struct op *op)
{
	return s->op_count > 0 && (op->kind <= OP_SEND_IMM || op->kind == OP_WRITE) &&
	       op[-1].kind == OP_READ && op[-1].stable && op[-1].bytes > 0;
}

static void draw_op(struct plan *plan, struct draw *draw, struct side *s, struct frozen *frozen)
{
	struct side *peer = &plan->sides[s->peer];
	struct op *op = &s->ops[s->op_count];

	*op = (struct op){
		.kind = (enum op_kind)draw_below(draw, OP_KINDS),
		.bytes = draw_bytes(draw, s->mtu, bytes_max(s->mtu)),
		.imm = (uint32_t)draw_below(draw, UINT32_MAX),
		.key = plan->seed * 4096 + s->qpn * 64 + s->op_count,
		.fence = draw_one_in(draw, 6),
		.solicited = draw_one_in(draw, 4),
		.barrier = draw_one_in(draw, 10),
		.signaled = draw_one_in(draw, 2),
	};
	if (may_relay(s, op) && !draw_one_in(draw, 3))
		relay(plan, s, op);
	if (op->kind == OP_CAS || op->kind == OP_FADD)
		draw_atomic(plan, draw, op, peer);
	else if (!is_send(op->kind))
		draw_target(draw, op, peer, frozen);
	/* Of two WRITEs to the same bytes the second waits, or either may be placed last. */
	if (plan->host.profile.retransmit == HCA_SELECTIVE &&
	    (op->kind == OP_WRITE || op->kind == OP_WRITE_IMM))
		op->barrier = true;
	if (op->kind == OP_SEND_INV)
		op->imm = peer->inv_count++; /* stands for a region of the peer's */
	if (is_send(op->kind) || op->kind == OP_WRITE_IMM)
		draw_receive(plan, draw, op, peer);
	if (!op->relay)
		op->local = draw_pieces(plan, draw, s->host, op->bytes);
	if (op->kind == OP_CAS || op->kind == OP_FADD) {
		op->local.count = 1;
		op->local.bytes[0] = 8;
	}
	op->inlined =
		!op->relay && op->kind <= OP_WRITE_IMM && op->bytes <= 200 && draw_one_in(draw, 3);
	s->op_count++;
}

static bool has_invalidated(const struct side *s, uint32_t *ret_gone)
{
	for (uint32_t i = 0; i < s->op_count; i++)
		if (s->ops[i].kind == OP_SEND_INV) {
			*ret_gone = s->ops[i].imm;
			return true;
		}
	return false;
}

/* The last of a program may be wrong in a way that must end in one certain status. */
static void draw_fatal(struct plan *plan, struct draw *draw, struct side *s)
{
	struct op *op = &s->ops[s->op_count - 1];
	const bool writes = op->kind == OP_WRITE || op->kind == OP_READ;

	if (!draw_one_in(draw, 6) || op->bytes == 0 || !(writes || is_send(op->kind)))
		return;
	op->signaled = true;
	if (op->kind == OP_WRITE && has_invalidated(s, &op->gone)) {
		op->fatal = HCA_WC_REM_ACCESS_ERR;
		op->gone_rkey = true;
		return;
	}
	if (!op->inlined && op->kind != OP_READ && draw_one_in(draw, 3)) {
		op->fatal = HCA_WC_LOC_PROT_ERR;
		op->bad_lkey = true;
	} else if (writes && draw_one_in(draw, 2)) {
		op->fatal = HCA_WC_REM_ACCESS_ERR;
		op->bad_rkey = true;
	} else if (writes) { /* over the end of the region */
		op->fatal = HCA_WC_REM_ACCESS_ERR;
		op->remote = UINT64_MAX;
	} else {
		struct recv *recv = &plan->sides[s->peer].recvs[op->recv];

		op->fatal = HCA_WC_REM_INV_REQ_ERR;
		recv->bytes = (uint32_t)draw_below(draw, op->bytes);
		recv->local.count = 1;
		recv->local.bytes[0] = recv->bytes;
	}
}

/* A queue of unsignaled requests that is full would never be seen to empty. */
static void number_ops(struct side *s)
{
	uint32_t psn = 0, silent = 0;

	for (uint32_t i = 0; i < s->op_count; i++) {
		struct op *op = &s->ops[i];

		op->psn = psn;
		op->packets = op->bytes ? (op->bytes - 1) / s->mtu + 1 : 1;
		psn += op->packets;
		if (++silent >= s->send_depth || i + 1 == s->op_count || op[1].barrier)
			op->signaled = true;
		silent = op->signaled ? 0 : silent;
	}
}

static void draw_side(struct plan *plan, struct draw *draw, uint32_t number, uint32_t host)
{
	const bool calm = plan->fault_count == 0;
	struct side *s = &plan->sides[number];

	*s = (struct side){
		.host = host,
		.peer = number ^ 1,
		.qpn = 100 + number,
		.sq_psn = (uint32_t)(draw_one_in(draw, 3) ? 0xffffff - draw_below(draw, 20)
							  : draw_below(draw, 1u << 24)),
		.priority = (uint8_t)draw_below(draw, 8),
		.timeout = (uint8_t)(calm ? 16 : draw_range(draw, 5, 10)),
		.retry_cnt = (uint8_t)(draw_one_in(draw, 4) ? draw_below(draw, 8) : 7),
		.rnr_retry = (uint8_t)(draw_one_in(draw, 5) ? draw_below(draw, 7) : 7),
		.rnr_timer = (uint8_t)draw_range(draw, 1, 6),
		.rd_atomic = (uint8_t)draw_range(draw, 1, 4),
		.send_depth = (uint32_t)draw_range(draw, 1, 16),
		.recv_depth = (uint32_t)draw_range(draw, 1, 16),
		.burst = (uint32_t)draw_range(draw, 1, 20),
		.start_at = draw_below(draw, 2) * draw_below(draw, 20000) * PS_NS,
		.post_gap = draw_below(draw, 2) * draw_below(draw, 50) * PS_US,
		.recv_gap = draw_below(draw, 2) * draw_below(draw, 40) * PS_US,
	};
	s->recv_start_at = draw_one_in(draw, 3) ? draw_below(draw, 200) * PS_US : 0;
}

/* Often everybody speaks with one host. */
static void draw_pair(struct plan *plan, struct draw *draw, bool hot)
{
	const uint32_t first = plan->side_count, mtu = 256u << draw_below(draw, 5);
	const uint32_t a = (uint32_t)draw_below(draw, plan->host_count);
	uint32_t b = hot ? 0 : (uint32_t)draw_below(draw, plan->host_count);

	if (a == b && !draw_one_in(draw, 3))
		b = (a + 1) % plan->host_count;
	draw_side(plan, draw, first, a);
	draw_side(plan, draw, first + 1, b);
	plan->sides[first + 1].priority = plan->sides[first].priority;
	plan->side_count += 2;
	for (uint32_t i = first; i < first + 2; i++) {
		plan->sides[i].mtu = mtu;
		lay_out(plan, draw, &plan->sides[i]);
	}
	for (uint32_t i = first; i < first + 2; i++) {
		struct frozen frozen = {0};

		for (uint64_t n = draw_one_in(draw, 5) ? 0 : draw_range(draw, 1, PLAN_OPS_MAX);
		     n > 0; n--)
			draw_op(plan, draw, &plan->sides[i], &frozen);
		if (plan->sides[i].op_count > 0)
			draw_fatal(plan, draw, &plan->sides[i]);
		number_ops(&plan->sides[i]);
	}
}

/* Every end of a queue pair has at most as many READs under way as the other remembers. */
void plan_programs(struct plan *plan, struct draw *draw)
{
	for (uint32_t i = 0; i < plan->host_count; i++) {
		take(plan, i, PLAN_GUARD_BYTES);
		plan->shared_word[i] = take(plan, i, 8);
	}
	const bool hot = draw_one_in(draw, 2);

	for (uint64_t n = draw_range(draw, 1, PLAN_SIDES_MAX / 2); n > 0; n--)
		draw_pair(plan, draw, hot);
	for (uint32_t i = 0; i < plan->side_count; i += 2) {
		struct side *a = &plan->sides[i], *b = a + 1;

		a->rd_atomic = b->rd_atomic =
			a->rd_atomic < b->rd_atomic ? a->rd_atomic : b->rd_atomic;
		CHECK(a->recv_count <= PLAN_OPS_MAX && b->recv_count <= PLAN_OPS_MAX);
	}
}
