/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_H
#define TOOLS_EXPLAIN_H

/* Why something happened in a run, or did not: what its events tell, in sentences. */
#include "tools/explain/account.h"
#include "tools/explain/circle.h"
#include "tools/explain/cure.h"
#include "tools/explain/insides.h"
#include "tools/explain/spells.h"
#include "tools/observe/events.h"

struct explain_xoff {	/* a buffer had somebody pause */
	ps_t at, until; /* until: PS_NEVER: it lasts */
	uint32_t port;	/* of the switch; the other end of its link was paused */
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
	uint64_t pauses; /* PFC frames that it has sent */
	ps_t first_mark_at, first_drop_at, first_pause_at;
	uint32_t first_mark_queue;
	uint8_t first_drop_priority;
	uint16_t first_pause_classes;
};

struct explain_near { /* how near a buffer came to what did not happen */
	uint64_t held, limit;
	ps_t at;
	const char *node, *peer;
	uint8_t priority;
};

struct explain {
	struct events_listener listener;
	const struct events *events;
	struct explain_port *ports;
	struct explain_xoff *xoffs;
	uint64_t xoff_count, xoff_room;
	uint64_t cnps;
	struct explain_near pause, buffer;
	struct account *account; /* NULL: of no flow */
	struct stops stops;	 /* where there is an account */
	struct insides insides;
	struct spells spells;
};

/* What "verbena explain --why" takes; NULL: no more. */
const char *explain_question(uint32_t i);

/* Before the run. -ENOMEM; can be finished in any case. @key: whose account is kept; NULL: of none.
 */
int explain_start(struct explain *explain, struct events *events, const struct subject *key);
void explain_fini(struct explain *explain); /* zeroed: allowed */

/* After it, on stdout. */
void explain_pfc(const struct explain *explain);
void explain_ecn(const struct explain *explain);
void explain_drop(const struct explain *explain);
void explain_slow(const struct explain *explain);
void explain_deadlock(const struct explain *explain);
void explain_cure(const struct advice *advice, const char *name); /* @name: of the run */

/* After the run, as circle_find(). */
int explain_find_circle(const struct explain *explain, struct circle *ret_circle);

/* For these. */
void explain_slow_host(const struct explain *explain, uint32_t port); /* why it paused ... */
void explain_slow_loss(const struct explain *explain, uint32_t port); /* ... or lost */
/* Who is behind @out had it stop, of his own. */
void explain_storm(const struct events_port *out);
void explain_time(ps_t at); /* exact */
const char *explain_length(ps_t time);

#endif
