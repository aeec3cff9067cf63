/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PAUSE_TREE_H
#define TOOLS_PAUSE_TREE_H

/* How pauses spread: who had whom pause, and which pause had led to it. A place in the tree is a
 * chain of ports from a root; all pauses with that chain are one place, so that memory goes with
 * the number of chains. Of the first single pauses the times are kept, too. */
#include "tools/observe/events.h"

enum {
	PAUSE_PLACES_MAX = 4096,
	PAUSE_DEPTH_MAX =
		32, /* what is deeper goes round in a circle, and is counted at its last place */
	PAUSE_SPANS_MAX = 20000,
};

enum pause_why {
	PAUSE_QUEUE,  /* what came from there passed the threshold, and its way out was free */
	PAUSE_PAUSED, /* the same, and its way out was paused itself: the place above */
	PAUSE_ALONE,  /* no buffer asked for it: a pause storm */
};

struct pause_place {
	int32_t parent; /* -1: a root */
	uint32_t depth; /* of a root 1 */
	uint32_t port;	/* place in events.ports: its node had the other end of its link pause */
	uint8_t priority, why;
	/* Of the first pause: bytes held and threshold; the port with the longest queue of the
	 * priority at that node, and that queue. 0 where @why is PAUSE_ALONE. */
	uint64_t held, limit;
	uint32_t way_out, queue_bytes;
	uint64_t count; /* pauses */
	ps_t first_at,
		last_at; /* begin of the first, end of the last; PS_NEVER: it lasts at the end */
	ps_t total;	 /* from the decision to the one that takes it back */
	int32_t child, next; /* the tree's own */
};

struct pause_span {
	uint32_t place;
	ps_t from, until; /* PS_NEVER: it lasts at the end */
};

struct pause_tree {
	struct events_listener listener;
	const struct events *events;
	struct pause_place *places; /* in order of their first pause: parents before children */
	uint32_t place_count;
	int32_t first_root;
	struct pause_span *spans; /* in order of time */
	uint32_t span_count;
	uint64_t pause_count;
	uint64_t deep_count;	    /* pauses with a longer chain than PAUSE_DEPTH_MAX */
	uint64_t other_count;	    /* pauses without a place, since there were PAUSE_PLACES_MAX */
	struct pause_state *states; /* of each port and priority */
};

/* Before the run. -ENOMEM; can be finished in any case. */
int pause_tree_start(struct pause_tree *tree, struct events *events);
/* After it: what lasts has lasted until @at. */
void pause_tree_end(struct pause_tree *tree, ps_t at);
void pause_tree_fini(struct pause_tree *tree); /* zeroed: allowed */

#endif
