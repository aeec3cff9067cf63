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

void sim_local_init(struct sim_local *local, uint64_t seed, uint64_t node_id)
{
	*local = (struct sim_local){.seed = seed, .node = node_id};
}

void sim_local_schedule(struct sim_local *local, struct sim_local_event *event, ps_t at)
{
	sim_local_cancel(local, event);
	event->at = at;
	event->is_mixed = false;
	event->pending = true;
	event->child = NULL;
	local->root = meld(local, local->root, detach(event));
}

void sim_local_cancel(struct sim_local *local, struct sim_local_event *event)
{
	struct sim_local_event *rest;

	if (!event->pending)
		return;
	event->pending = false;
	rest = meld_all(local, event->child);
	if (event == local->root) {
		local->root = rest;
		return;
	}
	if (event->prev->child == event)
		event->prev->child = event->next;
	else
		event->prev->next = event->next;
	if (event->next)
		event->next->prev = event->prev;
	local->root = meld(local, local->root, rest);
}

struct sim_local_event *sim_local_pop(struct sim_local *local, ps_t at, enum sim_local_phase phase)
{
	struct sim_local_event *event = local->root;

	if (!event || event->at != at || event->phase != phase)
		return NULL;
	sim_local_cancel(local, event);
	return event;
}
