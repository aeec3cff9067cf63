/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

/* Why something happened in a run, or did not: what its events tell, in sentences. */
#include "tools/explain/circle.h"
#include "tools/explain/cure.h"
#include "tools/observe/events.h"

struct explain_xoff { /* a buffer had somebody pause */
	ps_t at;
	uint32_t port; /* of the switch; the other end of its link was paused */
	uint8_t priority;
	uint64_t held, limit;
	uint32_t way_out; /* the port of that switch with the longest queue of this priority */
	uint32_t queue_bytes;
	int64_t cause;	 /* the pause that kept @way_out from sending, in explain.xoffs; -1: none */
	bool is_stormed; /* @way_out was kept from sending by who never had a reason of its own */
	uint32_t depth;	 /* pauses that led here, this one and a storm's included */
};

struct explain_port { /* by place in events.ports */
	uint32_t queue_max[SIM_PRIORITIES_MAX];
	int64_t xoff[SIM_PRIORITIES_MAX]; /* the last one, that is not taken back yet; -1: none */
	uint16_t shut;			  /* priorities */
	ps_t shut_since[SIM_PRIORITIES_MAX];
	uint64_t xoffs, marks, drops, retransmissions;
	ps_t first_mark_at, first_drop_at;
	uint32_t first_mark_queue;
	uint8_t first_drop_priority;
};

struct explain_near { /* how near a buffer came to what did not happen */
	uint64_t held, limit;
	ps_t at;
	const char *node, *peer;
	uint8_t priority;
};

struct explain_account; /* of a flow: explain_slow.c */

struct explain {
	struct events_listener listener;
	const struct events *events;
	struct explain_port *ports;
	struct explain_xoff *xoffs;
	uint64_t xoff_count, xoff_room;
	uint64_t cnps;
	struct explain_near pause, buffer;
	struct explain_account *account; /* NULL: of no flow */
};

/* What "verbena explain --why" takes; NULL: no more. */
const char *explain_question(uint32_t i);

/* Before the run. -ENOMEM; can be finished in any case. @flow: whose account is kept; -1: of none.
 */
int explain_start(struct explain *explain, struct events *events, int64_t flow);
void explain_fini(struct explain *explain); /* zeroed: allowed */

/* After it, on stdout. */
void explain_pfc(const struct explain *explain);
void explain_ecn(const struct explain *explain);
void explain_drop(const struct explain *explain);
void explain_slow(const struct explain *explain);
void explain_deadlock(const struct explain *explain);
void explain_cure(const struct advice *advice);

/* After the run, as circle_find(). */
int explain_find_circle(const struct explain *explain, struct circle *ret_circle);

/* For these. */
void explain_time(ps_t at); /* exact */
const char *explain_length(ps_t time);

/* explain_slow.c: NULL: no memory. */
struct explain_account *explain_account_create(const struct events *events, uint64_t flow);
void explain_account_destroy(struct explain_account *account);
/* Before each event, and before the first: one of a stream is not there from the beginning ... */
void explain_account_find(struct explain_account *account, const struct explain_port *ports);
/* ... nor to the end: after each window. */
void explain_account_keep(struct explain_account *account);
bool explain_account_is_there(const struct explain_account *account);
void explain_account_add(struct explain_account *account, const struct event *event);

#endif
