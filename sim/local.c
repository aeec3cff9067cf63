/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/local.h"

#include "util/check.h"
#include "util/siphash.h"

enum {
	WORDS = SIM_LOCAL_SLOTS / 64,
	NEAR = 8, /* events of a list that are looked at before another one is put elsewhere */
};
_Static_assert(WORDS == 64, "a bit for each in a word");

/* Apart, so that to compare takes no more than it needs. */
static __attribute__((noinline)) void mix_key(const struct sim_local *local,
					      struct sim_local_event *event)
{
	const uint64_t words[] = {local->node, event->key, event->at};

	if (local->wheel)
		event->mix = util_hash_end(&local->wheel->mix, words + 1, 2);
	else
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
	event->child = event->next = event->prev = NULL;
	*heap = *heap ? meld(local, *heap, event) : event;
}

static void heap_take(const struct sim_local *local, struct sim_local_event **heap,
		      struct sim_local_event *event)
{
	struct sim_local_event *child = event->child;
	struct sim_local_event *rest =
		child && child->next ? meld_all(local, child) : detach(child);

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

/* ---- a slot that is sorted ---- */

/* All of its slot, as one number: the time within the slot, the phase, and most of the mix. */
static void rank_event(const struct sim_local *local, struct sim_local_event *event)
{
	if (!event->is_mixed)
		mix_key(local, event);
	event->rank = event->at << (64 - SIM_LOCAL_SLOT_BITS) |
		      (uint64_t)event->phase << (62 - SIM_LOCAL_SLOT_BITS) |
		      event->mix >> (SIM_LOCAL_SLOT_BITS + 2);
}

/* Of two in order, by next alone. */
static struct sim_local_event *merged(const struct sim_local *local, struct sim_local_event *a,
				      struct sim_local_event *b)
{
	struct sim_local_event *first, **end = &first;

	for (;;) {
		if (a->rank > b->rank || (a->rank == b->rank && before(local, b, a))) {
			struct sim_local_event *swap = a;

			a = b;
			b = swap;
		}
		*end = a;
		end = &a->next;
		a = a->next;
		if (!a) {
			*end = b;
			return first;
		}
	}
}

/* Runs of 1, 2, 4.. are merged as they fill up. */
static struct sim_local_event *list_sorted(const struct sim_local *local,
					   struct sim_local_event *list)
{
	struct sim_local_event *runs[32], *sorted = NULL;
	uint32_t count = 0, i;

	while (list) {
		struct sim_local_event *run = list;

		list = list->next;
		run->next = NULL;
		rank_event(local, run);
		for (i = 0; i < count && runs[i]; i++) {
			run = merged(local, runs[i], run);
			runs[i] = NULL;
		}
		if (i == count)
			CHECK(count++ < 32);
		runs[i] = run;
	}
	for (i = 0; i < count; i++)
		if (runs[i])
			sorted = sorted ? merged(local, runs[i], sorted) : runs[i];
	return sorted;
}

static __attribute__((noinline)) struct sim_local_event *sort_slot(const struct sim_local *local,
								   struct sim_local_event *list)
{
	struct sim_local_event *sorted = list_sorted(local, list), *prev = NULL;

	for (struct sim_local_event *event = sorted; event; event = event->next) {
		event->prev = prev;
		prev = event;
	}
	return sorted;
}

/* ---- a wheel ---- */

static inline uint64_t slot_number(ps_t at)
{
	return at >> SIM_LOCAL_SLOT_BITS;
}

static inline void mark_taken(struct sim_local_wheel *wheel, uint32_t slot)
{
	wheel->taken[slot / 64] |= 1ull << slot % 64;
	wheel->words |= 1ull << slot / 64;
}

static inline void mark_empty(struct sim_local_wheel *wheel, uint32_t slot)
{
	wheel->taken[slot / 64] &= ~(1ull << slot % 64);
	if (!wheel->taken[slot / 64])
		wheel->words &= ~(1ull << slot / 64);
}

static inline uint64_t word_rotated(uint64_t x, uint32_t bits)
{
	return x >> bits % 64 | x << -bits % 64;
}

/* The first slot behind the open one that has any, where one has. */
static inline uint32_t first_taken(const struct sim_local_wheel *wheel)
{
	const uint32_t from = (uint32_t)(wheel->open % SIM_LOCAL_SLOTS), word = from / 64;
	const uint64_t here = wheel->taken[word] >> from % 64;
	uint32_t next;

	if (here)
		return from + (uint32_t)__builtin_ctzll(here);
	next = (word + 1 + (uint32_t)__builtin_ctzll(word_rotated(wheel->words, word + 1))) % WORDS;
	return next * 64 + (uint32_t)__builtin_ctzll(wheel->taken[next]);
}

/* Nothing is left of the open slot: the next one, if there is any. */
static inline void open_next(const struct sim_local *local)
{
	struct sim_local_wheel *wheel = local->wheel;
	struct sim_local_event *list;
	uint32_t slot;

	if (!wheel->words)
		return;
	slot = first_taken(wheel);
	list = wheel->slots[slot];
	wheel->slots[slot] = NULL;
	mark_empty(wheel, slot);
	wheel->open = slot_number(list->at);
	wheel->run = list->next ? sort_slot(local, list) : list;
}

static inline void find_earliest(struct sim_local *local)
{
	struct sim_local_event *run = local->wheel->run, *apart = local->wheel->apart;

	local->root = !apart || (run && before(local, run, apart)) ? run : apart;
}

static inline void slot_push(struct sim_local_wheel *wheel, struct sim_local_event *event)
{
	const uint32_t slot = (uint32_t)(slot_number(event->at) % SIM_LOCAL_SLOTS);
	struct sim_local_event *next = wheel->slots[slot];

	event->prev = NULL;
	event->next = next;
	if (next)
		next->prev = event;
	wheel->slots[slot] = event;
	mark_taken(wheel, slot);
}

static __attribute__((noinline)) void put_apart(const struct sim_local *local,
						struct sim_local_event *event)
{
	event->is_apart = true;
	heap_put(local, &local->wheel->apart, event);
}

/* Between its neighbours in the list in order; false: these are too far from its first one. */
static inline bool list_insert(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_event **at = &local->wheel->run, *prev = NULL;

	for (uint32_t i = 0; i < NEAR; i++) {
		struct sim_local_event *next = *at;

		if (!next || before(local, event, next)) {
			event->prev = prev;
			event->next = next;
			if (next)
				next->prev = event;
			*at = event;
			return true;
		}
		prev = next;
		at = &next->next;
	}
	return false;
}

static inline void wheel_put(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint64_t number = slot_number(event->at);
	const bool has_slot = number - wheel->from < SIM_LOCAL_SLOTS;
	const bool is_behind = wheel->run && number > wheel->open;

	event->is_apart = false;
	if (has_slot && !(is_behind && wheel->words) && list_insert(local, event)) {
		if (!event->next)
			wheel->open = number;
	} else if (has_slot && is_behind) {
		slot_push(wheel, event);
		return;
	} else {
		put_apart(local, event);
	}
	find_earliest(local);
}

/* Its list, of which it is the first, begins with @next. */
static inline void begin_with(struct sim_local *local, const struct sim_local_event *event,
			      struct sim_local_event *next)
{
	struct sim_local_wheel *wheel = local->wheel;
	const uint32_t slot = (uint32_t)(slot_number(event->at) % SIM_LOCAL_SLOTS);

	if (event != wheel->run) {
		wheel->slots[slot] = next;
		if (!next)
			mark_empty(wheel, slot);
		return;
	}
	wheel->run = next;
	if (!next)
		open_next(local);
}

static inline void wheel_take(struct sim_local *local, struct sim_local_event *event)
{
	if (event->is_apart) {
		heap_take(local, &local->wheel->apart, event);
	} else {
		if (event->next)
			event->next->prev = event->prev;
		if (event->prev)
			event->prev->next = event->next;
		else
			begin_with(local, event, event->next);
	}
	if (event == local->root)
		find_earliest(local);
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
	wheel->mix = util_hash_begin((struct util_key){.k0 = local->seed}, &local->node, 1);
}

static inline void local_take(struct sim_local *local, struct sim_local_event *event)
{
	event->pending = false;
	if (local->wheel)
		wheel_take(local, event);
	else
		heap_take(local, &local->root, event);
}

void sim_local_schedule(struct sim_local *local, struct sim_local_event *event, ps_t at)
{
	if (event->pending)
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
	if (event->pending)
		local_take(local, event);
}

struct sim_local_event *sim_local_pop(struct sim_local *local, ps_t at, enum sim_local_phase phase)
{
	struct sim_local_event *event = local->root;

	if (!event || event->at != at || event->phase != phase)
		return NULL;
	if (local->wheel && local->wheel->from < slot_number(at))
		local->wheel->from = slot_number(at);
	local_take(local, event);
	return event;
}
