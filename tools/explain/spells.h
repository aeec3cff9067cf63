/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SPELLS_H
#define TOOLS_SPELLS_H

/* What machines did while their adapters sent, or took in too slowly: had their switches pause, or
 * lost packets for want of room. Of each the spell in
 * which it did most of that, to the microsecond. What a program does before and between is not in
 * it: a spell ends where nothing of the kind comes for 100 us, which is far more than a round
 * trip. */
#include "models/input/bad.h"
#include "tools/explain/limit.h"
#include "tools/observe/events.h"

struct spell {
	struct machine_watch now, most; /* the one that lasts or ended last; the one that counts */
	uint64_t now_weight, most_weight; /* bytes, or looks that found a pause begin or end */
	ps_t last_at;			  /* that something of it was seen */
	uint32_t count;
	bool is_due; /* to be looked at once more */
};

struct spells {
	struct events_listener listener;
	const struct events *events; /* NULL: nobody listened */
	struct machines machines;
	uint32_t host_count;	   /* which the fabric, that may be gone first, had */
	struct spell *pausing;	   /* by machine; losses are as pauses */
	bool *has_lost;		   /* by machine */
	struct spell *sending;	   /* by place in the host table */
	bool *is_touched;	   /* by machine: it paused, let go or lost since the last look */
	const struct spell **last; /* by machine: that which ended last; NULL: none has */
	uint64_t *sent_bytes;	   /* by place in the host table, at the last look */
	ps_t due;		   /* the next look; PS_NEVER: nothing will happen any more */
};

/* Before the run. -ENOMEM; can be finished in any case. */
int spells_start(struct spells *spells, struct events *events);
void spells_fini(struct spells *spells); /* zeroed: allowed */

/* After it: what lasts has lasted until now. */
void spells_end(struct spells *spells); /* zeroed: allowed */
/* What held @host up in the spell in which it sent most; why it took packets in
 * slowly in the one in which it had its switch pause, or lost, most. False: nothing is known. */
bool spells_limit_of_sender(const struct spells *spells, struct host *host,
			    struct limit *ret_limit);
bool spells_limit_of_receiver(const struct spells *spells, struct host *host,
			      struct limit *ret_limit);
/* By its port, in the spell in which it sent most: bytes on the wire. Of a host that has one. */
uint64_t spells_sent(const struct spells *spells, struct host *host);
/* Over which time that is: "the time from its first pause to its last", or, where there were more
 * such spells, which one. */
const char *spells_time(const struct spells *spells, const struct limit *limit,
			struct bad_text *ret_text);

#endif
