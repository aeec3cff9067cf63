/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/pause_tree.h"

#include <errno.h>
#include <stdlib.h>

enum { NONE = -1 };

struct pause_state {		/* of a port and a priority */
	int32_t place;		/* of the pause that its node asks for, or asked for last */
	int32_t span;		/* of that pause; NONE: not kept */
	int32_t shut_by;	/* of the one that has stopped this port; NONE: not known */
	uint32_t unheard;	/* asked for, and the other end has not stopped for it yet */
	bool is_asked, is_shut; /* now */
	ps_t since;
};

static struct pause_state *state_of(const struct pause_tree *tree, uint32_t port, uint8_t priority)
{
	return &tree->states[(size_t)port * tree->events->priority_count + priority];
}

/* ---- places ---- */

static int32_t pause_tree_find(const struct pause_tree *tree, int32_t first, uint32_t port,
			       uint8_t priority)
{
	for (int32_t i = first; i != NONE; i = tree->places[i].next)
		if (tree->places[i].port == port && tree->places[i].priority == priority)
			return i;
	return NONE;
}

static int32_t add_place(struct pause_tree *tree, const struct pause_place *like)
{
	int32_t *first =
		like->parent == NONE ? &tree->first_root : &tree->places[like->parent].child;
	int32_t place = pause_tree_find(tree, *first, like->port, like->priority);

	if (place != NONE || tree->place_count == PAUSE_PLACES_MAX)
		return place;
	place = (int32_t)tree->place_count++;
	tree->places[place] = *like;
	tree->places[place].child = NONE;
	tree->places[place].next = *first;
	*first = place;
	return place;
}

/* Below @parent; a chain that is too long stays where it is. */
static int32_t place_below(struct pause_tree *tree, int32_t parent, struct pause_place *like)
{
	if (parent != NONE && tree->places[parent].depth == PAUSE_DEPTH_MAX) {
		tree->deep_count++;
		return parent;
	}
	like->parent = parent;
	like->depth = parent == NONE ? 1 : tree->places[parent].depth + 1;
	return add_place(tree, like);
}

static void begin_span(struct pause_tree *tree, struct pause_state *state, ps_t at)
{
	state->since = at;
	state->span = NONE;
	tree->pause_count++;
	if (state->place == NONE) {
		tree->other_count++;
		return;
	}
	tree->places[state->place].count++;
	tree->places[state->place].last_at = PS_NEVER;
	if (tree->span_count == PAUSE_SPANS_MAX)
		return;
	state->span = (int32_t)tree->span_count++;
	tree->spans[state->span] = (struct pause_span){(uint32_t)state->place, at, PS_NEVER};
}

static void end_span(struct pause_tree *tree, struct pause_state *state, ps_t at)
{
	if (state->place != NONE) {
		tree->places[state->place].total += at - state->since;
		tree->places[state->place].last_at = at;
	}
	if (state->span != NONE)
		tree->spans[state->span].until = at;
}

/* ---- events ---- */

static void on_xoff(struct pause_tree *tree, const struct event *event)
{
	struct pause_state *state = state_of(tree, event->port, event->priority);
	const struct pause_state *out = state_of(tree, event->word, (uint8_t)event->way_priority);
	/* What a host took in does not wait for its own port. */
	const bool is_host = tree->events->ports[event->port].is_host;
	const int32_t cause = out->is_shut && !is_host ? out->shut_by : NONE;
	struct pause_place like = {
		.port = event->port,
		.priority = event->priority,
		.why = cause == NONE ? PAUSE_QUEUE : PAUSE_PAUSED,
		.held = event->held,
		.limit = event->limit,
		.way_out = event->word,
		.queue_bytes = event->queue_bytes,
		.first_at = event->at,
	};

	if (state->is_asked) /* a storm that a buffer joins */
		end_span(tree, state, event->at);
	state->place = place_below(tree, cause, &like);
	state->is_asked = true;
	state->unheard++;
	begin_span(tree, state, event->at);
}

static void on_shut(struct pause_tree *tree, const struct event *event)
{
	struct pause_state *own = state_of(tree, event->port, event->priority);
	const uint32_t far = tree->events->ports[event->port].far;
	struct pause_state *other = state_of(tree, far, event->priority);
	struct pause_place like = {.port = far,
				   .priority = event->priority,
				   .why = PAUSE_ALONE,
				   .way_out = far,
				   .first_at = event->at};

	if (!other->is_asked && other->unheard == 0) {
		other->place = place_below(tree, NONE, &like);
		other->is_asked = true;
		begin_span(tree, other, event->at);
	}
	other->unheard -= other->unheard > 0;
	own->is_shut = true;
	own->shut_by = other->place;
}

static void on_open(struct pause_tree *tree, const struct event *event)
{
	struct pause_state *own = state_of(tree, event->port, event->priority);
	struct pause_state *other =
		state_of(tree, tree->events->ports[event->port].far, event->priority);

	own->is_shut = false;
	if (!other->is_asked || other->place == NONE ||
	    tree->places[other->place].why != PAUSE_ALONE)
		return;
	other->is_asked = false;
	end_span(tree, other, event->at);
}

static int pause_tree_on_event(struct events_listener *listener, const struct event *event)
{
	struct pause_tree *tree = container_of(listener, struct pause_tree, listener);
	struct pause_state *state = state_of(tree, event->port, event->priority);

	if (event->kind == EVENT_XOFF)
		on_xoff(tree, event);
	else if (event->kind == EVENT_SHUT)
		on_shut(tree, event);
	else if (event->kind == EVENT_OPEN)
		on_open(tree, event);
	else if (event->kind == EVENT_XON && state->is_asked) {
		state->is_asked = false;
		end_span(tree, state, event->at);
	}
	return 0;
}

int pause_tree_start(struct pause_tree *tree, struct events *events)
{
	const size_t states = (size_t)events->port_count * events->priority_count;

	*tree = (struct pause_tree){.events = events, .first_root = NONE};
	tree->places = calloc(PAUSE_PLACES_MAX, sizeof(*tree->places));
	tree->spans = calloc(PAUSE_SPANS_MAX, sizeof(*tree->spans));
	tree->states = calloc(states + 1, sizeof(*tree->states));
	if (!tree->places || !tree->spans || !tree->states)
		return -ENOMEM;
	for (size_t i = 0; i < states; i++)
		tree->states[i].place = tree->states[i].span = tree->states[i].shut_by = NONE;
	tree->listener.on_event = pause_tree_on_event;
	events_listen(events, &tree->listener);
	return 0;
}

void pause_tree_end(struct pause_tree *tree, ps_t at)
{
	const size_t states =
		tree->states ? (size_t)tree->events->port_count * tree->events->priority_count : 0;

	for (size_t i = 0; i < states; i++) {
		const struct pause_state *state = &tree->states[i];

		if (state->is_asked && state->place != NONE && at > state->since)
			tree->places[state->place].total += at - state->since;
	}
}

void pause_tree_fini(struct pause_tree *tree)
{
	free(tree->places);
	free(tree->spans);
	free(tree->states);
	*tree = (struct pause_tree){.events = NULL};
}
