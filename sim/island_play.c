/* SPDX-License-Identifier: BSD-2-Clause */

/* What goes on inside an island. There are no windows: whoever has the first thing to do has its
 * turn, and goes on for as long as it hears of nobody else. Another one starts nothing before its
 * own next turn, or before it hears of somebody else's, or while its link is not free; and what it
 * starts takes its way over the link. */
#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>

enum { ROOM = 8 }; /* for so many that arrive, at first */

/* ---- whose turn is next ---- */

/* Something is to be done at @slot at @at, perhaps before all that was known. */
static inline void island_play_advance(struct island *island, uint32_t slot, ps_t at)
{
	ps_t *next = island->next;

	for (uint64_t i = island->count + slot; i > 0 && at < next[i]; i /= 2)
		next[i] = at;
}

/* @slot has had its turn; the next one is at @at. */
static inline void put_back(struct island *island, uint32_t slot, ps_t at)
{
	ps_t *next = island->next;
	uint64_t i = island->count + slot;

	for (next[i] = at; i > 1; next[i] = at) {
		at = next[i ^ 1] < at ? next[i ^ 1] : at;
		i /= 2;
	}
}

/* Whose turn is first. */
static inline uint32_t find_first(const struct island *island)
{
	const uint64_t count = island->count;
	const ps_t *next = island->next, at = next[1];
	uint64_t i = 1;

	while (i < count)
		i = 2 * i + (next[2 * i] != at);
	return (uint32_t)(i - count);
}

/* When the turn of the first of all but @slot is. */
static inline ps_t first_other(const struct island *island, uint32_t slot)
{
	ps_t at = PS_NEVER;

	for (uint64_t i = island->count + slot; i > 1; i /= 2)
		at = island->next[i ^ 1] < at ? island->next[i ^ 1] : at;
	return at;
}

/* ---- what arrives ---- */

/* For @count, and one behind them. 0 or -ENOMEM. */
static __attribute__((noinline)) int make_room(struct arrival **array, uint32_t *max,
					       uint32_t count)
{
	uint32_t more = *max ? *max : ROOM;
	void *grown;

	while (more <= count)
		more *= 2;
	grown = util_realloc(*array, more, sizeof(**array));
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*max = more;
	return 0;
}

void sim_engine_island_post(struct island *island, uint32_t slot, struct sim_pkt *frame, ps_t at)
{
	struct member *member = &island->members[slot];
	uint32_t i = member->inner_count;
	struct arrival *heap;

	CHECK(at >= member->played); /* or it should have been known in that turn */
	frame->at = at;
	if (unlikely(i + 1 == member->inner_max) &&
	    make_room(&member->inner, &member->inner_max, i + 1) != 0) {
		island->own.error = -ENOMEM;
		return;
	}
	heap = member->inner;
	for (; i > 0 && heap[(i - 1) / 2].at > at; i = (i - 1) / 2)
		heap[i] = heap[(i - 1) / 2];
	heap[i] = (struct arrival){at, frame};
	heap[++member->inner_count].at = PS_NEVER;
	island_play_advance(island, slot, at);
}

/* Takes the first out of @heap, of which @count are left. */
static __attribute__((noinline)) void pop(struct arrival *heap, uint32_t count)
{
	const struct arrival last = heap[count];
	uint32_t i = 0, child;

	heap[count].at = PS_NEVER;
	if (count == 0)
		return;
	while ((child = 2 * i + 1) < count) {
		child += heap[child + 1].at < heap[child].at;
		if (heap[child].at >= last.at)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = last;
}

/* What has come from outside in this part of the window: @count of @et->arrivals. */
static void post_outer(struct engine_thread *et, struct island *island, uint32_t slot,
		       uint32_t count)
{
	struct member *member = &island->members[slot];

	CHECK(member->outer_first == member->outer_count);
	if (count == 0)
		return;
	if (count >= member->outer_max &&
	    make_room(&member->outer, &member->outer_max, count) != 0) {
		et->error = -ENOMEM;
		return;
	}
	for (uint32_t i = 0; i < count; i++)
		member->outer[i] = (struct arrival){et->arrivals[i]->at, et->arrivals[i]};
	member->outer[count].at = PS_NEVER;
	member->outer_first = 0;
	member->outer_count = count;
	island_play_advance(island, slot, member->outer[0].at);
}

/* All that arrives before @until goes to own->arrivals. */
static inline uint32_t take_arrivals(struct engine_thread *own, struct member *member, ps_t until)
{
	uint32_t count = 0;

	for (;;) {
		const ps_t inner = member->inner[0].at;
		const struct arrival *outer = &member->outer[member->outer_first];

		if (inner >= until && outer->at >= until)
			return count;
		if (unlikely(count == own->arrivals_max) &&
		    sim_engine_make_room(own, count + 1) != 0) {
			own->error = -ENOMEM;
			return count;
		}
		if (outer->at < inner) {
			own->arrivals[count++] = outer->frame;
			member->outer_first++;
		} else {
			own->arrivals[count++] = member->inner[0].frame;
			pop(member->inner, --member->inner_count);
		}
	}
}

ps_t sim_engine_island_wake(struct island *island, uint32_t slot, ps_t at)
{
	struct member *member = &island->members[slot];

	if (at < member->wake)
		member->wake = at;
	island_play_advance(island, slot, at);
	return member->wake;
}

/* ---- turns ---- */

static void turn(struct island *island, uint32_t slot, ps_t until)
{
	struct engine_thread *own = &island->own;
	struct member *member = &island->members[slot];
	ps_t next, outer;

	own->pub.from = member->played;
	own->pub.until = until;
	member->played = until;
	if (member->wake < until)
		member->wake = PS_NEVER;
	sim_engine_turn(own, own->by_slot[slot], take_arrivals(own, member, until));
	next = member->inner[0].at;
	outer = member->outer[member->outer_first].at;
	next = outer < next ? outer : next;
	put_back(island, slot, member->wake < next ? member->wake : next);
}

static inline ps_t island_play_after(ps_t at, ps_t delay)
{
	return PS_NEVER - at > delay ? at + delay : PS_NEVER;
}

/* The first turn is that of @slot, at @at. When something starts that it hears of by its only link,
 * whose ends are @near and @far: the other one has a turn of its own, or hears of this one, or of a
 * third; and the link is free. */
static inline ps_t answer_starts(const struct island *island, uint32_t slot, ps_t at,
				 const struct sim_port *near, const struct sim_port *far)
{
	const ps_t look = island->look, next = island->next[island->count + near->peer_slot];
	ps_t start = island_play_after(near->free_at > at ? near->free_at : at, look);

	if (next < start)
		start = next;
	if (start > island_play_after(at, look)) {
		const ps_t others = island_play_after(first_other(island, slot), look);

		start = others < start ? others : start;
	}
	return start > far->free_at ? start : far->free_at;
}

/* When it hears of others; or @until. With several links no others are asked: they may have their
 * turns at once. */
static inline ps_t horizon(const struct island *island, uint32_t slot, ps_t at, ps_t until)
{
	const struct member *member = &island->members[slot];
	const ps_t start = member->link_count > 1
				   ? at
				   : answer_starts(island, slot, at, member->near, member->far);
	const ps_t heard = island_play_after(start, island->look);

	return heard < until ? heard : until;
}

/* Up to @until. Returns when there is something to do next. */
static ps_t play(struct island *island, ps_t until)
{
	while (island->own.error == 0) {
		const ps_t at = island->next[1];
		uint32_t slot;

		if (at >= until)
			return at;
		slot = find_first(island);
		turn(island, slot, horizon(island, slot, at, until));
	}
	return PS_NEVER;
}

/* What has come from outside for a part of a window goes to the members. False: nobody has a turn.
 */
static bool take_turns(struct engine_thread *et, struct island *island)
{
	const uint32_t first = island->first_slot;
	bool any = false;

	for (uint32_t w = first / 64; w < (first + island->count + 63) / 64; w++)
		for (uint64_t turns = sim_engine_turns(et, w); turns; turns &= turns - 1) {
			const uint32_t slot = w * 64 + (uint32_t)__builtin_ctzll(turns);

			any = true;
			post_outer(et, island, slot - first, sim_engine_collect(et, slot));
		}
	return any;
}

/* One thread runs both, one after the other: it is either that has the free frames and the room. */
static void hand_over(struct engine_thread *to, struct engine_thread *from)
{
	to->frame_free = from->frame_free;
	to->frame_free_count = from->frame_free_count;
	to->frame_fresh = from->frame_fresh;
	to->frame_end = from->frame_end;
	to->keys = from->keys;
	to->keys_other = from->keys_other;
	to->arrivals = from->arrivals;
	to->arrivals_max = from->arrivals_max;
	to->error = to->error != 0 ? to->error : from->error;
	from->frame_free = NULL;
	from->keys = from->keys_other = NULL;
	from->arrivals = NULL;
	from->arrivals_max = 0;
}

void sim_engine_islands(struct engine_thread *et)
{
	for (uint32_t i = 0; i < et->island_count; i++) {
		struct island *island = &et->islands[i];
		ps_t next;

		if (!take_turns(et, island))
			continue;
		hand_over(&island->own, et);
		next = play(island, et->pub.until);
		hand_over(et, &island->own);
		if (next != PS_NEVER)
			engine_wake(et, island->first_slot,
				    next > et->pub.until ? next : et->pub.until);
	}
}

/* ---- room ---- */

static void find_links(struct member *member, const struct sim_node *node)
{
	for (uint32_t i = 0; i < node->port_count; i++) {
		const struct sim_port *port = &node->ports[i];

		if (!(port->hooked & SIM_HOOK_WITHIN))
			continue;
		member->near = port;
		member->far = &port->peer->ports[port->peer_port];
		member->link_count++;
	}
}

int sim_engine_island_init(struct island *island)
{
	island->members = util_calloc(island->count, sizeof(*island->members));
	island->next = util_alloc(2 * (size_t)island->count * sizeof(*island->next));
	if (!island->members || !island->next)
		return -ENOMEM;
	for (uint32_t i = 0; i < 2 * island->count; i++)
		island->next[i] = PS_NEVER;
	for (uint32_t i = 0; i < island->count; i++) {
		struct member *member = &island->members[i];
		const struct sim_node *node = island->own.by_slot[i];

		member->wake = PS_NEVER;
		find_links(member, node);
		for (const struct part *p = engine_first_part(node->sim, node); p; p = p->next)
			find_links(member, p->node);
		if (make_room(&member->inner, &member->inner_max, 0) != 0 ||
		    make_room(&member->outer, &member->outer_max, 0) != 0)
			return -ENOMEM;
		member->inner[0].at = member->outer[0].at = PS_NEVER;
	}
	return 0;
}

void sim_engine_island_fini(struct island *island)
{
	for (uint32_t i = 0; island->members && i < island->count; i++) {
		util_free(island->members[i].inner);
		util_free(island->members[i].outer);
	}
	util_free(island->members);
	util_free(island->next);
}
