/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/local.h"

#include "util/check.h"
#include "util/siphash.h"

/* Apart, so that to compare takes no more than it needs. */
static __attribute__((noinline)) void mix_key(const struct sim_local *local,
					      struct sim_local_event *event)
{
	const uint64_t words[] = {local->node, event->key, event->at};

	event->mix = util_hash_words((struct util_key){.k0 = local->seed}, words, 3);
	event->is_mixed = true;
}

static inline bool before(const struct sim_local *local, struct sim_local_event *a,
			  struct sim_local_event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->phase != b->phase)
		return a->phase < b->phase;
	if (!a->is_mixed)
		mix_key(local, a);
	if (!b->is_mixed)
		mix_key(local, b);
	if (a->mix != b->mix)
		return a->mix < b->mix;
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

/* ---- a list in both directions ---- */

static void list_push(struct sim_local_event **list, struct sim_local_event *event)
{
	event->prev = NULL;
	event->next = *list;
	if (*list)
		(*list)->prev = event;
	*list = event;
}

static void list_take(struct sim_local_event **list, struct sim_local_event *event)
{
	if (event->prev)
		event->prev->next = event->next;
	else
		*list = event->next;
	if (event->next)
		event->next->prev = event->prev;
}

/* Of two in order, by next alone. */
static struct sim_local_event *merged(const struct sim_local *local, struct sim_local_event *a,
				      struct sim_local_event *b)
{
	struct sim_local_event *first, **end = &first;

	while (a && b) {
		struct sim_local_event **less = before(local, b, a) ? &b : &a;

		*end = *less;
		end = &(*less)->next;
		*less = *end;
	}
	*end = a ? a : b;
	return first;
}

/* Runs of 1, 2, 4.. are merged as they fill up. */
static struct sim_local_event *list_sorted(const struct sim_local *local,
					   struct sim_local_event *list)
{
	struct sim_local_event *runs[32], *sorted = NULL;
	uint32_t count = 0, i;

	if (!list->next)
		return list;
	while (list) {
		struct sim_local_event *run = list;

		list = list->next;
		run->next = NULL;
		for (i = 0; i < count && runs[i]; i++) {
			run = merged(local, runs[i], run);
			runs[i] = NULL;
		}
		if (i == count)
			CHECK(count++ < 32);
		runs[i] = run;
	}
	for (i = 0; i < count; i++)
		sorted = runs[i] ? merged(local, runs[i], sorted) : sorted;
	return sorted;
}

/* ---- a wheel ---- */

static uint64_t slot_number(ps_t at)
{
	return at >> SIM_LOCAL_SLOT_BITS;
}

/* The first slot behind the open one that has any; SIM_LOCAL_SLOTS: none has. */
static uint32_t first_taken(const struct sim_local_wheel *wheel)
{
	const uint32_t from = (uint32_t)(slot_number(wheel->from) % SIM_LOCAL_SLOTS);
	const uint32_t word = from / 64;
	const uint64_t here = wheel->taken[word] >> from % 64;
	uint64_t behind;
	uint32_t next;

	if (here)
		return from + (uint32_t)__builtin_ctzll(here);
	if (!wheel->words)
		return SIM_LOCAL_SLOTS;
	behind = wheel->words >> word >> 1 << word << 1;
	next = (uint32_t)__builtin_ctzll(behind ? behind : wheel->words);
	return next * 64 + (uint32_t)__builtin_ctzll(wheel->taken[next]);
}

static void mark_empty(struct sim_local_wheel *wheel, uint32_t slot)
{
	wheel->taken[slot / 64] &= ~(1ull << slot % 64);
	if (!wheel->taken[slot / 64])
		wheel->words &= ~(1ull << slot / 64);
}

/* Opens the next slot, if there is one. */
static void wheel_turn(struct sim_local *local)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint32_t slot = first_taken(wheel);
	struct sim_local_event *prev = NULL;

	if (slot == SIM_LOCAL_SLOTS)
		return;
	wheel->run = list_sorted(local, wheel->slots[slot]);
	wheel->slots[slot] = NULL;
	mark_empty(wheel, slot);
	wheel->open = slot_number(wheel->run->at);
	for (struct sim_local_event *event = wheel->run; event; event = event->next) {
		event->prev = prev;
		event->place = SIM_LOCAL_RUN;
		prev = event;
	}
}

static struct sim_local_event *earlier(const struct sim_local *local, struct sim_local_event *a,
				       struct sim_local_event *b)
{
	if (!a || !b)
		return a ? a : b;
	return before(local, b, a) ? b : a;
}

static void wheel_put(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint64_t number = slot_number(event->at);
	const uint32_t slot = (uint32_t)(number % SIM_LOCAL_SLOTS);

	if (event->at < wheel->from || number - slot_number(wheel->from) >= SIM_LOCAL_SLOTS) {
		event->place = SIM_LOCAL_FAR;
		heap_put(local, &wheel->far, event);
	} else if (!wheel->run && !wheel->late) {
		event->place = SIM_LOCAL_RUN;
		wheel->open = number;
		list_push(&wheel->run, event);
	} else if (number <= wheel->open) {
		event->place = SIM_LOCAL_HEAP;
		heap_put(local, &wheel->late, event);
	} else {
		event->place = SIM_LOCAL_SLOT;
		list_push(&wheel->slots[slot], event);
		wheel->taken[slot / 64] |= 1ull << slot % 64;
		wheel->words |= 1ull << slot / 64;
		return;
	}
	local->root = earlier(local, local->root, event);
}

static void wheel_take(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint32_t slot = (uint32_t)(slot_number(event->at) % SIM_LOCAL_SLOTS);

	if (event->place == SIM_LOCAL_RUN) {
		list_take(&wheel->run, event);
	} else if (event->place == SIM_LOCAL_SLOT) {
		list_take(&wheel->slots[slot], event);
		if (!wheel->slots[slot])
			mark_empty(wheel, slot);
		return;
	} else {
		heap_take(local, event->place == SIM_LOCAL_FAR ? &wheel->far : &wheel->late, event);
	}
	if (!wheel->run && !wheel->late)
		wheel_turn(local);
	if (event == local->root)
		local->root = earlier(local, earlier(local, wheel->run, wheel->late), wheel->far);
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
