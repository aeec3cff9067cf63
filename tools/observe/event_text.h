/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EVENT_TEXT_H
#define TOOLS_EVENT_TEXT_H

/* Events for people: as a line, and those that somebody wants to see. */
#include "models/input/bad.h"
#include "tools/observe/events.h"

#include <stdio.h>

/* "     12.345678 us  h3 -> s0  RC_WRITE_MIDDLE psn 17 qp 0x12345 ..." and no newline. The time is
 * exact. */
void event_text(const struct events *events, const struct event *event, FILE *file);
/* "12.345678 us": exact. */
void event_time(ps_t at, FILE *file);

/* "port=h0-s0,node=s0,qp=5,flow=3,kind=pause": an event must match each of the keys; of a key that
 * is named more than once, one. A queue pair is meant at either of its ends, a flow, or with wr3 a
 * work request of a program, by its packets and what answers them. Times: "from=10us,until=20us".
 * "all": every event. */
enum {
	EVENT_FILTER_MAX = 16, /* of the values of each key */
	EVENT_FILTER_TEXT_MAX = 128,
};

struct event_filter {
	uint32_t port_count, node_count, qpn_count, flow_count;
	char ports[EVENT_FILTER_MAX][EVENT_FILTER_TEXT_MAX]; /* links */
	char nodes[EVENT_FILTER_MAX][EVENT_FILTER_TEXT_MAX];
	/* What these are called in the run, which has one name for each; set by
	 * event_filter_check(), the scenario's. */
	const char *own_ports[EVENT_FILTER_MAX], *own_nodes[EVENT_FILTER_MAX];
	uint32_t qpns[EVENT_FILTER_MAX];
	struct subject flows[EVENT_FILTER_MAX];
	uint32_t kinds;		    /* bit mask of enum event_kind; 0: all */
	bool marked, retransmitted; /* only those */
	ps_t from, until;
};

/* False: @ret_why says what was found and what was expected. */
bool event_filter_parse(const char *text, struct event_filter *ret_filter,
			struct bad_text *ret_why);
/* Finds what it names, or as above. Before event_filter_wants(). */
bool event_filter_check(struct event_filter *filter, const struct scenario *scenario,
			struct bad_text *ret_why);
bool event_filter_wants(const struct event_filter *filter, const struct events *events,
			const struct event *event);

#endif
