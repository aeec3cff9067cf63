/* SPDX-License-Identifier: BSD-2-Clause */
/* What rules do to packets, and those that wait. */
#include "transport/nic/impair.h"

#include "transport/nic/impair_rule.h"
#include "util/check.h"
#include "util/rand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What a draw is for; with the packet's number it names the draw. */
enum purpose {
	DRAW_STATE,
	DRAW_LOSS,
	DRAW_DUPLICATE,
	DRAW_CORRUPT,
	DRAW_REORDER,
	DRAW_ECN,
	DRAW_DELAY,
	DRAW_BIT,
	DRAW_NORMAL, /* twelve of them */
	PURPOSES = DRAW_NORMAL + 12
};

/* A rule at work. */
struct state {
	struct nic_rule rule;
	uint64_t number; /* of the packet at hand */
	uint64_t last[PURPOSES];
	bool is_bad;	 /* gemodel */
	uint32_t in_row; /* delayed since the last one that was not; see gap */
	ps_t free_at;	 /* the rate's */
	uint32_t waiting;
};

struct held {
	ps_t at;
	uint64_t order; /* among those of one instant */
	struct nic_fate fate;
	struct wire_pkt pkt;
	struct wire_path path;
	uint32_t length;
	uint8_t bytes[];
};

struct nic_impair {
	uint64_t seed, order;
	int count;
	struct state states[NIC_RULES_MAX];
	struct nic_impair_board own, *board;
	struct held **heap;
	uint32_t waiting, room;
	bool hurries;
};

int nic_impair_open(const char *text, uint64_t seed, struct nic_impair_board *board,
		    struct nic_impair **ret_impair)
{
	struct nic_rule rules[NIC_RULES_MAX];
	struct nic_impair_bad bad;
	struct nic_impair *impair;
	const int count = nic_rules_parse(text, rules, &bad);

	if (count < 0)
		return count;
	impair = calloc(1, sizeof(*impair));
	if (!impair)
		return -ENOMEM;
	impair->seed = seed;
	impair->count = count;
	impair->board = board ? board : &impair->own;
	for (int i = 0; i < count; i++) {
		impair->states[i].rule = rules[i];
		impair->room += rules[i].limit;
	}
	impair->heap = malloc(impair->room * sizeof(struct held *));
	if (!impair->heap) {
		free(impair);
		return -ENOMEM;
	}
	*ret_impair = impair;
	return 0;
}

void nic_impair_close(struct nic_impair *impair)
{
	if (!impair)
		return;
	while (impair->waiting > 0)
		free(impair->heap[--impair->waiting]);
	free(impair->heap);
	free(impair);
}

/* ---- draws ---- */

static uint64_t impair_draw(const struct nic_impair *impair, const struct state *state,
			    uint32_t purpose)
{
	struct util_rand rand = {.seed = impair->seed,
				 .entity = (uint64_t)(state - impair->states),
				 .purpose = purpose,
				 .counter = state->number};

	return util_rand_next(&rand);
}

/* Each draw is so much of the one before it: tc-netem(8), "correlation". */
static uint64_t correlated(const struct nic_impair *impair, struct state *state,
			   enum purpose purpose, uint64_t correlation)
{
	const uint64_t fresh = impair_draw(impair, state, purpose);
	const u128 sum =
		(u128)fresh * (UINT64_MAX - correlation) + (u128)state->last[purpose] * correlation;

	if (correlation == 0)
		return fresh;
	state->last[purpose] = (uint64_t)(sum / UINT64_MAX);
	return state->last[purpose];
}

static bool is_hit(uint64_t drawn, uint64_t chance)
{
	return drawn < chance || chance == UINT64_MAX;
}

static bool impair_happens(const struct nic_impair *impair, struct state *state,
			   enum purpose purpose, struct nic_rule_draw wanted)
{
	return wanted.chance != 0 &&
	       is_hit(correlated(impair, state, purpose, wanted.correlation), wanted.chance);
}

/* The state of Gilbert and Elliott changes first, and then says how likely the loss is; as
 * linux, net/sched/sch_netem.c: loss_gilb_ell(). */
static bool is_lost(const struct nic_impair *impair, struct state *state)
{
	const struct nic_rule *rule = &state->rule;

	if (!rule->is_gemodel)
		return impair_happens(impair, state, DRAW_LOSS, rule->loss);
	if (is_hit(impair_draw(impair, state, DRAW_STATE),
		   state->is_bad ? rule->bad_to_good : rule->good_to_bad))
		state->is_bad = !state->is_bad;
	return is_hit(impair_draw(impair, state, DRAW_LOSS),
		      state->is_bad ? rule->lost_in_bad : rule->lost_in_good);
}

/* The sum of twelve even draws has a deviation of one, and is no further than six from its mean:
 * near enough to normal. In 2^-32. */
static int64_t normal(const struct nic_impair *impair, const struct state *state)
{
	int64_t sum = -(INT64_C(6) << 32);

	for (uint32_t i = 0; i < 12; i++)
		sum += (int64_t)(impair_draw(impair, state, DRAW_NORMAL + i) >> 32);
	return sum;
}

static ps_t drawn_delay(const struct nic_impair *impair, struct state *state)
{
	const struct nic_rule *rule = &state->rule;
	__int128 off;

	if (rule->jitter == 0)
		return rule->delay;
	if (rule->is_normal)
		off = (__int128)normal(impair, state) * (__int128)rule->jitter >> 32;
	else
		off = (__int128)((u128)correlated(impair, state, DRAW_DELAY,
						  rule->delay_correlation) *
					 2 * rule->jitter >>
				 64) -
		      (__int128)rule->jitter;
	return off < -(__int128)rule->delay ? 0 : (ps_t)((__int128)rule->delay + off);
}

/* ---- one packet ---- */

static enum nic_rule_kind impair_kind(const struct wire_pkt *pkt)
{
	const uint8_t operation = pkt->opcode & 0x1f;

	if (pkt->opcode == WIRE_CNP)
		return NIC_RULE_CNPS;
	return operation == WIRE_ACKNOWLEDGE || operation == WIRE_ATOMIC_ACKNOWLEDGE
		       ? NIC_RULE_ACKS
		       : NIC_RULE_DATA;
}

static bool meets(const struct nic_rule *rule, const struct wire_pkt *pkt,
		  const struct wire_path *path)
{
	return (!rule->has_peer || memcmp(rule->peer, path->dst_ip, 16) == 0) &&
	       (!rule->has_qpn || rule->qpn == pkt->dest_qpn) && (rule->kinds & impair_kind(pkt));
}

static void count(atomic_uint_fast64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static void mark(struct nic_impair *impair, struct state *state, struct nic_impair_counts *counts,
		 const struct wire_pkt *pkt, struct wire_path *path)
{
	if (state->rule.ecn.chance == 0 || impair_kind(pkt) != NIC_RULE_DATA)
		return;
	if (path->ecn == WIRE_NOT_ECT)
		path->ecn = WIRE_ECT0;
	if (!impair_happens(impair, state, DRAW_ECN, state->rule.ecn))
		return;
	path->ecn = WIRE_CE;
	count(&counts->marked);
}

/* With a gap only each so manieth packet is asked; linux, sch_netem.c: netem_enqueue(). */
static ps_t leaves_at(struct nic_impair *impair, struct state *state,
		      struct nic_impair_counts *counts, ps_t now)
{
	const struct nic_rule *rule = &state->rule;
	const bool may_be_early = rule->gap > 0 && state->in_row + 1 >= rule->gap;
	const bool is_early =
		may_be_early && impair_happens(impair, state, DRAW_REORDER, rule->reorder);
	const ps_t delay = is_early ? 0 : drawn_delay(impair, state);

	state->in_row = is_early ? 0 : state->in_row + 1;
	if (is_early)
		count(&counts->early);
	else if (delay > 0)
		count(&counts->delayed);
	return now + delay;
}

void nic_impair_decide(struct nic_impair *impair, const struct wire_pkt *pkt,
		       struct wire_path *path, ps_t now, struct nic_fate *ret_fate)
{
	struct nic_impair_counts *counts;
	struct state *state;
	int i = 0;

	*ret_fate = (struct nic_fate){.rule = -1, .at = now};
	while (i < impair->count && !meets(&impair->states[i].rule, pkt, path))
		i++;
	if (i == impair->count)
		return;
	state = &impair->states[i];
	counts = &impair->board->rules[i];
	state->number++;
	count(&counts->met);
	ret_fate->rule = i;
	ret_fate->lost = is_lost(impair, state);
	if (ret_fate->lost) {
		count(&counts->lost);
		return;
	}
	mark(impair, state, counts, pkt, path);
	ret_fate->doubled = impair_happens(impair, state, DRAW_DUPLICATE, state->rule.duplicate);
	ret_fate->corrupted = impair_happens(impair, state, DRAW_CORRUPT, state->rule.corrupt);
	ret_fate->bit = (uint32_t)impair_draw(impair, state, DRAW_BIT);
	ret_fate->at = leaves_at(impair, state, counts, now);
}

void nic_impair_corrupt(const struct nic_fate *fate, struct nic_slot *slot)
{
	const uint32_t bit = fate->bit % (slot->length * 8);

	if (fate->corrupted)
		slot->buf[bit / 8] ^= (uint8_t)(1 << bit % 8);
}

/* ---- those that wait: a heap ---- */

static bool is_sooner(const struct held *a, const struct held *b)
{
	return a->at != b->at ? a->at < b->at : a->order < b->order;
}

static void heap_push(struct nic_impair *impair, struct held *held)
{
	struct held **heap = impair->heap;
	uint32_t i = impair->waiting++;

	for (; i > 0 && is_sooner(held, heap[(i - 1) / 2]); i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = held;
}

static struct held *heap_pop(struct nic_impair *impair)
{
	struct held **heap = impair->heap, *first = heap[0], *last = heap[--impair->waiting];
	uint32_t i = 0;

	for (;;) {
		uint32_t child = 2 * i + 1;

		if (child >= impair->waiting)
			break;
		child += child + 1 < impair->waiting && is_sooner(heap[child + 1], heap[child]);
		if (is_sooner(last, heap[child]))
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
	return first;
}

/* One behind the other at the rate; what is on the wire besides the slot's bytes counts, too. */
static ps_t serialised(struct state *state, const struct nic_slot *slot, ps_t at)
{
	const uint32_t headers =
		14 + WIRE_UDP_BYTES +
		(wire_path_is_ipv4(&slot->path) ? WIRE_IPV4_BYTES : WIRE_IPV6_BYTES);

	if (state->rule.rate_bps == 0)
		return at;
	state->free_at = at > state->free_at ? at : state->free_at;
	state->free_at += util_tx_time(slot->length + headers, state->rule.rate_bps);
	return state->free_at;
}

static void hold_one(struct nic_impair *impair, const struct nic_fate *fate,
		     const struct nic_slot *slot, const struct wire_pkt *pkt)
{
	struct state *state = &impair->states[fate->rule];
	struct nic_impair_counts *counts = &impair->board->rules[fate->rule];
	struct held *held = NULL;

	if (state->waiting < state->rule.limit)
		held = malloc(sizeof(*held) + slot->length);
	if (!held) {
		count(&counts->over_limit);
		return;
	}
	*held = (struct held){.at = serialised(state, slot, fate->at),
			      .order = impair->order++,
			      .fate = *fate,
			      .pkt = *pkt,
			      .path = slot->path,
			      .length = slot->length};
	memcpy(held->bytes, slot->buf, slot->length);
	state->waiting++;
	heap_push(impair, held);
}

bool nic_impair_hold(struct nic_impair *impair, const struct nic_fate *fate,
		     const struct nic_slot *slot, const struct wire_pkt *pkt, ps_t now)
{
	struct nic_impair_counts *counts;

	if (fate->rule < 0)
		return false;
	counts = &impair->board->rules[fate->rule];
	if (fate->corrupted)
		count(&counts->corrupted);
	if (fate->at <= now && !fate->doubled && impair->states[fate->rule].rule.rate_bps == 0)
		return false;
	hold_one(impair, fate, slot, pkt);
	if (fate->doubled) {
		count(&counts->doubled);
		hold_one(impair, fate, slot, pkt);
	}
	return true;
}

/* The payload lies before padding and ICRC, which are what a packet ends with. */
static const uint8_t *payload_of(const struct wire_pkt *pkt, const struct nic_slot *slot)
{
	const uint32_t padding = -pkt->length & 3;

	CHECK(slot->length >= pkt->length + padding + WIRE_ICRC_BYTES);
	return slot->buf + slot->length - WIRE_ICRC_BYTES - padding - pkt->length;
}

bool nic_impair_release(struct nic_impair *impair, struct nic_slot *slot, struct wire_pkt *ret_pkt,
			struct nic_fate *ret_fate, ps_t now)
{
	struct held *held;

	if (impair->waiting == 0 || (impair->heap[0]->at > now && !impair->hurries))
		return false;
	held = heap_pop(impair);
	impair->states[held->fate.rule].waiting--;
	memcpy(slot->buf, held->bytes, held->length);
	slot->length = held->length;
	slot->path = held->path;
	*ret_pkt = held->pkt;
	ret_pkt->payload = (uint8_t *)(uintptr_t)payload_of(ret_pkt, slot);
	*ret_fate = held->fate;
	free(held);
	return true;
}

ps_t nic_impair_next_at(const struct nic_impair *impair)
{
	return impair->waiting > 0 ? impair->heap[0]->at : PS_NEVER;
}

/* One sum for all keeps the heap's order. */
void nic_impair_move_epoch(struct nic_impair *impair, ps_t by)
{
	for (uint32_t i = 0; i < impair->waiting; i++)
		impair->heap[i]->at -= impair->heap[i]->at > by ? by : impair->heap[i]->at;
	for (int i = 0; i < impair->count; i++)
		impair->states[i].free_at -=
			impair->states[i].free_at > by ? by : impair->states[i].free_at;
}

void nic_impair_hurry(struct nic_impair *impair, bool hurries)
{
	impair->hurries = hurries;
}
