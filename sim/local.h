/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_LOCAL_H
#define SIM_LOCAL_H

/* Events inside one node: timers, doorbells, steps of programs, frames on links that do not leave
 * the node. A pairing heap (Fredman, Sedgewick, Sleator, Tarjan 1986) through the events
 * themselves, so nothing is allocated. Order: (time, phase, mix of the key at that time, key).
 *
 * A node in which much happens may have a wheel: what is due within the next microsecond lies in
 * slots of a quarter of a nanosecond, and a slot is sorted when it is the next. As long as there
 * are but a few events they are in one sorted list. The order is the same. */
#include "util/siphash.h"
#include "util/units.h"

#include <stdbool.h>

struct sim_local_event;

enum sim_local_phase {
	SIM_LOCAL_TIMER,
	SIM_LOCAL_PAUSE, /* no event of a model: there a turn ends that goes on later */
	SIM_LOCAL_ARRIVAL,
	SIM_LOCAL_PROGRAM
};

struct sim_local_wheel;

struct sim_local {
	struct sim_local_event *root;  /* the earliest */
	uint64_t seed, node;	       /* of the mix */
	struct sim_local_wheel *wheel; /* NULL: all events are in one heap, that of @root */
};

struct sim_local_event {
	ps_t at;
	uint64_t key; /* a model fact that tells simultaneous events of a phase apart, unique */
	enum sim_local_phase phase : 8;
	bool pending;
	bool is_mixed; /* @mix is that of @at: only events that meet at one time need it */
	bool is_apart; /* of a node with a wheel: it is in its heap */
	uint64_t mix;
	union {
		struct sim_local_event *child; /* in a heap */
		uint64_t rank;		       /* in a slot that is sorted */
	};
	struct sim_local_event *next, *prev;
	void (*fn)(struct sim_local_event *event, void *context);
};

enum { SIM_LOCAL_SLOTS = 4096, SIM_LOCAL_SLOT_BITS = 8 /* 256 ps each */ };

/* Zeroed, in its owner's memory as long as @local, which alone touches it. */
struct sim_local_wheel {
	uint64_t from;		       /* the slot of what came out last, counted from 0 ps on */
	uint64_t open;		       /* up to this one events are in ... */
	struct sim_local_event *run;   /* ... this list, in order, which is empty only if all are */
	struct sim_local_event *apart; /* but for this heap: due beyond the slots, or come late */
	struct util_hash_start mix;    /* of seed and node */
	uint64_t words;		       /* of @taken, which are not 0 */
	uint64_t taken[SIM_LOCAL_SLOTS / 64];
	struct sim_local_event *slots[SIM_LOCAL_SLOTS]; /* behind @open, in no order */
};

void sim_local_init(struct sim_local *local, uint64_t seed, uint64_t node_id);
/* Nothing is pending yet. */
void sim_local_set_wheel(struct sim_local *local, struct sim_local_wheel *wheel);
/* Schedules or moves @event. */
void sim_local_schedule(struct sim_local *local, struct sim_local_event *event, ps_t at);
void sim_local_cancel(struct sim_local *local, struct sim_local_event *event);

/* Takes out the earliest event where it is due at @at in @phase; NULL otherwise. */
struct sim_local_event *sim_local_pop(struct sim_local *local, ps_t at, enum sim_local_phase phase);

#endif
