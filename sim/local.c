/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/local.h"

#include "util/check.h"
#include "util/siphash.h"

static uint64_t key_mix(const struct sim_local *local, struct sim_local_event *event)
{
	const uint64_t words[] = {local->node, event->key, event->at};

	if (!event->is_mixed)
		event->mix = util_hash_words((struct util_key){.k0 = local->seed}, words, 3);
	event->is_mixed = true;
	return event->mix;
}

static bool before(const struct sim_local *local, struct sim_local_event *a,
		   struct sim_local_event *b)
{
	uint64_t mix_a, mix_b;

	if (a->at != b->at)
		return a->at < b->at;
	if (a->phase != b->phase)
		return a->phase < b->phase;
	mix_a = key_mix(local, a);
	mix_b = key_mix(local, b);
	if (mix_a != mix_b)
		return mix_a < mix_b;
	CHECK(a->key != b->key); /* or the order is not total */
	return a->key < b->key;
}

/* prev is the left sibling, or the parent of a first child; the root has none. */
static struct sim_local_event *meld(const struct sim_local *local, struct sim_local_event *a,
				    struct sim_local_event *b)
{
	if (!a || !b)
		return a ? a : b;
	if (before(local, b, a)) {
		struct sim_local_event *swap = a;

		a = b;
		b = swap;
	}
	b->prev = a;
	b->next = a->child;
	if (b->next)
		b->next->prev = b;
	a->child = b;
	return a;
}

static struct sim_local_event *detach(struct sim_local_event *event)
{
	if (event)
		event->next = event->prev = NULL;
	return event;
}

static struct sim_local_event *meld_all(const struct sim_local *local,
					struct sim_local_event *first)
{
	struct sim_local_event *pairs = NULL, *root = NULL;

	while (first) {
		struct sim_local_event *a = first, *b = a->next, *pair;

		first = b ? b->next : NULL;
		pair = meld(local, detach(a), detach(b));
		pair->next = pairs;
		pairs = pair;
	}
	while (pairs) {
		struct sim_local_event *pair = pairs;

		pairs = pair->next;
		root = meld(local, root, detach(pair));
	}
	return root;
}

/* ---- a heap ---- */

static void heap_put(const struct sim_local *local, struct sim_local_event **heap,
		     struct sim_local_event *event)
{
	event->child = NULL;
	*heap = meld(local, *heap, detach(event));
}

static void heap_take(const struct sim_local *local, struct sim_local_event **heap,
		      struct sim_local_event *event)
{
	struct sim_local_event *rest = meld_all(local, event->child);

	if (event == *heap) {
		*heap = rest;
		return;
	}
	if (event->prev->child == event)
		event->prev->child = event->next;
	else
		event->prev->next = event->next;
	if (event->next)
		event->next->prev = event->prev;
	*heap = meld(local, *heap, rest);
}

/* ---- a wheel ---- */

static uint32_t wheel_slot(ps_t at)
{
	return (uint32_t)(at >> SIM_LOCAL_SLOT_BITS) % SIM_LOCAL_SLOTS;
}

static void wheel_put(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint32_t slot = wheel_slot(event->at);

	event->is_near = event->at >= wheel->from &&
			 (event->at >> SIM_LOCAL_SLOT_BITS) - (wheel->from >> SIM_LOCAL_SLOT_BITS) <
				 SIM_LOCAL_SLOTS;
	if (event->is_near) {
		heap_put(local, &wheel->slots[slot], event);
		wheel->taken[slot / 64] |= 1ull << slot % 64;
		wheel->words |= 1ull << slot / 64;
	} else {
		heap_put(local, &wheel->far, event);
	}
	if (!local->root || before(local, event, local->root))
		local->root = event;
}

/* The earliest of those in slots, the first of which is that of wheel->from. */
static struct sim_local_event *first_near(const struct sim_local_wheel *wheel)
{
	const uint32_t from = wheel_slot(wheel->from), word = from / 64;
	const uint64_t here = wheel->taken[word] >> from % 64;
	uint64_t behind;
	uint32_t next;

	if (here)
		return wheel->slots[from + (uint32_t)__builtin_ctzll(here)];
	if (!wheel->words)
		return NULL;
	behind = wheel->words >> word >> 1 << word << 1;
	next = (uint32_t)__builtin_ctzll(behind ? behind : wheel->words);
	return wheel->slots[next * 64 + (uint32_t)__builtin_ctzll(wheel->taken[next])];
}

static void wheel_take(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_wheel *wheel = local->wheel;
	struct sim_local_event *near;

	if (event->is_near) {
		const uint32_t slot = wheel_slot(event->at);

		heap_take(local, &wheel->slots[slot], event);
		if (!wheel->slots[slot]) {
			wheel->taken[slot / 64] &= ~(1ull << slot % 64);
			if (!wheel->taken[slot / 64])
				wheel->words &= ~(1ull << slot / 64);
		}
	} else {
		heap_take(local, &wheel->far, event);
	}
	if (event != local->root)
		return;
	near = first_near(wheel);
	local->root = !near || (wheel->far && before(local, wheel->far, near)) ? wheel->far : near;
}

/* ---- either ---- */

void sim_local_init(struct sim_local *local, uint64_t seed, uint64_t node_id)
{
	*local = (struct sim_local){.seed = seed, .node = node_id};
}

void sim_local_set_wheel(struct sim_local *local, struct sim_local_wheel *wheel)
{
	CHECK(!local->root);
	local->wheel = wheel;
}

void sim_local_schedule(struct sim_local *local, struct sim_local_event *event, ps_t at)
{
	sim_local_cancel(local, event);
	event->at = at;
	event->is_mixed = false;
	event->pending = true;
	if (local->wheel)
		wheel_put(local, event);
	else
		heap_put(local, &local->root, event);
}

void sim_local_cancel(struct sim_local *local, struct sim_local_event *event)
{
	if (!event->pending)
		return;
	event->pending = false;
	if (local->wheel)
		wheel_take(local, event);
	else
		heap_take(local, &local->root, event);
}

struct sim_local_event *sim_local_pop(struct sim_local *local, ps_t at, enum sim_local_phase phase)
{
	struct sim_local_event *event = local->root;

	if (!event || event->at != at || event->phase != phase)
		return NULL;
	if (local->wheel && local->wheel->from < at)
		local->wheel->from = at;
	sim_local_cancel(local, event);
	return event;
}
