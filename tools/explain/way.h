/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_WAY_H
#define TOOLS_EXPLAIN_WAY_H

/* The ways of packets through a fabric, from the frames that start at its ports: where they waited,
 * how long, and how much of that because the port was paused. */
#include "tools/explain/stops.h"
#include "tools/observe/events.h"

enum { WAY_HOPS_MAX = 32 };

struct way_view { /* what they are seen by */
	const struct events *events;
	const struct stops *stops;
	/* What data frames have brought onto each wire so far: bytes by port, then priority. */
	const uint64_t *sent;
};

ps_t way_wire_time(const struct way_view *view, const struct event *event);

/* Of one packet. */
struct way {
	struct way_step {
		uint32_t port;
		uint16_t number;	 /* on the link of that port, the low bits */
		ps_t ready_at, start_at; /* could leave, left */
		ps_t paused;		 /* of the time in between */
		/* The priority of most of what its port sent meanwhile, and how much of that. */
		uint8_t before;
		uint64_t before_bytes;
	} steps[WAY_HOPS_MAX];
	uint32_t step_count;
	uint64_t *sent_before; /* of the ports of the node that it is at, once it may leave; the
				* caller's, way_room() of them */
	bool is_ready;
	ps_t ready_at; /* is whole at the node that it comes to, and may leave it */
	uint32_t psn;
};

/* How many numbers sent_before takes in these events. */
size_t way_room(const struct events *events);
/* Before the event at @at is counted in view->sent. */
void way_look(struct way *way, const struct way_view *view, ps_t at);
/* It starts with @event, which is at a host. */
void way_begin(struct way *way, const struct way_view *view, const struct event *event);
/* It goes on with @event, if that is of it: of the same frame, not of another one that looks the
 * same. */
void way_follow(struct way *way, const struct way_view *view, const struct event *event);
/* Where it was seen last; NULL: nowhere. */
const struct way_step *way_last(const struct way *way);
/* Whether it came behind @other to the node where that was seen last, and has left it: a queue
 * keeps its order, so @other was lost there. */
bool way_has_passed(const struct way *way, const struct way *other);
bool way_is_at_host(const struct way *way, const struct way_view *view);

/* Of all packets of one direction. */
struct ways {
	struct way_slot *slots; /* by PSN: packets under way */
	struct way_hop {
		uint32_t port;
		uint64_t count, marks;
		ps_t sum, most, last;
		ps_t paused, last_paused; /* of the sum, of the last */
	} hops[WAY_HOPS_MAX];
	uint32_t hop_count;
};

/* -ENOMEM; can be finished in any case. */
int ways_init(struct ways *ways);
void ways_fini(struct ways *ways); /* zeroed: allowed */
void ways_follow(struct ways *ways, const struct way_view *view, const struct event *event);

#endif
