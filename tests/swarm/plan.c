/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/swarm/plan.h"

#include "util/siphash.h"

#include <stdio.h>
#include <string.h>

const char *const plan_op_names[OP_KINDS] = {
	[OP_SEND] = "send",	   [OP_SEND_IMM] = "send_imm",	 [OP_SEND_INV] = "send_inv",
	[OP_WRITE] = "write",	   [OP_WRITE_IMM] = "write_imm", [OP_READ] = "read",
	[OP_CAS] = "compare_swap", [OP_FADD] = "fetch_add",
};
const char *const plan_fault_names[FAULT_KINDS] = {
	[FAULT_LOSS] = "loss",	     [FAULT_CORRUPT] = "corrupt", [FAULT_DUPLICATE] = "duplicate",
	[FAULT_REORDER] = "reorder", [FAULT_DELAY] = "delay",	  [FAULT_DROP] = "drop",
	[FAULT_DOWN] = "down",
};

/* Steele, Lea, Flood, OOPSLA 2014: the finaliser of SplitMix. */
static uint64_t mix(uint64_t z)
{
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

uint64_t draw_below(struct draw *draw, uint64_t limit)
{
	draw->state += 0x9e3779b97f4a7c15u;
	return (uint64_t)((u128)mix(draw->state ^ mix(draw->seed)) * limit >> 64);
}

uint64_t draw_range(struct draw *draw, uint64_t first, uint64_t last)
{
	return first + draw_below(draw, last - first + 1);
}

bool draw_one_in(struct draw *draw, uint64_t n)
{
	return draw_below(draw, n) == 0;
}

void plan_bytes(uint64_t key, uint64_t from, uint8_t *ret_bytes, uint64_t count)
{
	uint64_t word = 0;

	for (uint64_t i = from; i < from + count; i++) {
		if (i == from || i % 8 == 0)
			word = mix((key + 1) * 0x9e3779b97f4a7c15u + i / 8);
		ret_bytes[i - from] = (uint8_t)(word >> 8 * (i % 8));
	}
}

uint64_t pieces_place(const struct pieces *pieces, uint32_t piece)
{
	uint64_t at = pieces->at;

	for (uint32_t i = 0; i < piece; i++)
		at += pieces->bytes[i] + (uint64_t)PLAN_GUARD_BYTES;
	return at;
}

void pieces_get(const struct pieces *pieces, const uint8_t *memory, uint8_t *ret_bytes)
{
	for (uint32_t i = 0; i < pieces->count; i++) {
		memcpy(ret_bytes, memory + pieces_place(pieces, i), pieces->bytes[i]);
		ret_bytes += pieces->bytes[i];
	}
}

void pieces_put(const struct pieces *pieces, uint8_t *memory, const uint8_t *bytes, uint32_t count)
{
	for (uint32_t i = 0; i < pieces->count && count > 0; i++) {
		const uint32_t part = pieces->bytes[i] < count ? pieces->bytes[i] : count;

		memcpy(memory + pieces_place(pieces, i), bytes, part);
		bytes += part;
		count -= part;
	}
}

void plan_make(struct plan *plan, uint64_t seed)
{
	struct draw network = {.seed = seed, .state = 1},
		    programs = {.seed = seed, .state = 1ull << 32},
		    classes = {.seed = seed, .state = 1ull << 33},
		    rewrites = {.seed = seed, .state = 1ull << 34},
		    forgets = {.seed = seed, .state = 1ull << 35};

	memset(plan, 0, sizeof(*plan));
	plan->seed = seed;
	plan_network(plan, &network);
	plan_programs(plan, &programs);
	plan_widen(plan, &classes);
	plan_rewrites(plan, &rewrites);
	plan_forgets(plan, &forgets);
}

void plan_fini(struct plan *plan)
{
	topology_fini(&plan->topology);
}

static void print_side(const struct plan *plan, uint32_t i)
{
	const struct side *s = &plan->sides[i];

	printf("side %u of %u on %s: qpn %u mtu %u prio %u timeout %u retry %u rnr %u/%u rd %u "
	       "depth %u/%u burst %u\n",
	       i, s->peer, plan->hosts[s->host], s->qpn, s->mtu, s->priority, s->timeout,
	       s->retry_cnt, s->rnr_retry, s->rnr_timer, s->rd_atomic, s->send_depth, s->recv_depth,
	       s->burst);
	for (uint32_t n = 0; n < s->op_count; n++) {
		const struct op *op = &s->ops[n];

		printf("  %u %s bytes %u psn +%u pieces %u remote %#llx recv %u%s%s%s%s%s%s\n", n,
		       plan_op_names[op->kind], op->bytes, op->psn, op->local.count,
		       (unsigned long long)op->remote, op->recv, op->signaled ? " signaled" : "",
		       op->fence ? " fence" : "", op->inlined ? " inline" : "",
		       op->barrier ? " barrier" : "", op->shared ? " shared" : "",
		       op->fatal ? " FATAL" : "");
	}
}

void plan_print(const struct plan *plan)
{
	static const char *const fc[] = {"none", "pfc", "credit"};
	const struct hca_profile *p = &plan->host.profile;

	printf("seed %llu: %u hosts, %u links, priorities %u, flow control %s, buffer %llu, cc %s, "
	       "retransmit %d, "
	       "window %u, ack_every %u, ecn %d, ipv6 %d\n",
	       (unsigned long long)plan->seed, plan->host_count, plan->topology.link_count,
	       plan->priority_count, fc[plan->fc], (unsigned long long)plan->buffer_bytes,
	       p->cc->name, (int)p->retransmit, p->psn_window, p->ack_every, plan->has_ecn,
	       plan->ipv6);
	if (plan->has_bus)
		printf("bus: %u bytes wait in each priority\n", plan->bus_tx_bytes);
	for (uint32_t i = 0; i < plan->fault_count; i++) {
		const struct plan_fault *f = &plan->faults[i];

		printf("fault on %s%s: loss %u corrupt %u dup %u reorder %u ppb, delay %llu, "
		       "listed %u, "
		       "from %llu until %llu%s\n",
		       plan->topology.links[f->link].name, f->backwards ? " backwards" : "",
		       f->params.loss_ppb, f->params.corrupt_ppb, f->params.duplicate_ppb,
		       f->params.reorder_ppb, (unsigned long long)f->params.delay,
		       f->params.lost_count, (unsigned long long)f->params.from,
		       (unsigned long long)f->params.until, f->params.control ? " control" : "");
	}
	for (uint32_t i = 0; i < plan->down_count; i++) {
		const struct scenario_fault *f = &plan->downs[i];

		printf("%s down%s%s: from %llu until %llu, known after %llu, to all after %llu\n",
		       f->link, f->direction ? " from " : "", f->direction ? f->direction : "",
		       (unsigned long long)f->from_at, (unsigned long long)f->until_at,
		       (unsigned long long)f->delay, (unsigned long long)plan->reconverge);
	}
	for (uint32_t i = 0; i < plan->rewrite_count; i++) {
		const struct net_rewrite *rule = &plan->rewrites[i];

		printf("%s: from %s to %s priorities 0x%02x become %u\n", rule->at,
		       rule->in ? rule->in : "any", rule->out ? rule->out : "any", rule->from,
		       rule->to);
	}
	for (uint32_t i = 0; i < plan->forget_count; i++)
		printf("%s forgets %s from %llu until %llu, floods classes 0x%04x\n",
		       plan->forgets[i].at, plan->forgets[i].host,
		       (unsigned long long)plan->forgets[i].from,
		       (unsigned long long)plan->forgets[i].until, plan->more.floods);
	if (plan->more.balance == SIM_BALANCE_WEAVE)
		printf("conweave: reply %llu busy %llu resume %llu inactive %llu\n",
		       (unsigned long long)plan->more.conweave.reply,
		       (unsigned long long)plan->more.conweave.busy,
		       (unsigned long long)plan->more.conweave.resume,
		       (unsigned long long)plan->more.conweave.expiry);
	for (uint32_t i = 0; i < plan->side_count; i++)
		print_side(plan, i);
}
