/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INSIDES_H
#define TOOLS_INSIDES_H

/* The machines at both ends of a flow or a request while that is under way, to the microsecond. */
#include "tools/explain/account.h"
#include "tools/explain/limit.h"

struct insides_rank { /* of a program */
	uint32_t program, rank;
	uint64_t request; /* that ended last; UINT64_MAX: none */
	ps_t ended_at;
	struct machine_watch watch; /* since its last request ended */
};

struct insides {
	struct machines machines;
	const struct events *events;
	struct machine_watch ends[2]; /* the source's, the target's */
	/* Of each rank of programs on a machine with GPUs: since its last request ended. */
	struct insides_rank *ranks;
	uint32_t rank_count;
	uint64_t requests_seen;	      /* all before that have ended */
	bool asks_before, has_before; /* the question is about a request; and it was posted */
	struct machine_watch before;  /* from there until then */
	uint64_t last_request; /* which ended there; UINT64_MAX: none, it is the run's begin */
	ps_t due;	       /* the next look; PS_NEVER: nothing will happen any more */
	bool has_looked, is_begun, is_over;
};

/* Before the run. -ENOMEM; can be finished in any case. */
int insides_init(struct insides *insides, const struct events *events);
void insides_fini(struct insides *insides); /* zeroed: allowed */
/* After each window; @flow NULL: there is none, or not yet. -ENOMEM. */
int insides_look(struct insides *insides, const struct account_flow *flow);

/* What held the flow up in the machine that sends its data, or that takes them in. False: nothing
 * is known. */
bool insides_limit_of_flow(const struct insides *insides, const struct account_flow *flow,
			   bool sends, struct limit *ret_limit);
/* What its machine did before the request was posted, since the last one of the same rank had
 * ended; NULL: nothing is known. */
const struct machine_watch *insides_before(const struct insides *insides);
/* And while it was under way: in the machine of its source, or of its target. NULL: as above. */
const struct machine_watch *insides_meanwhile(const struct insides *insides, bool is_target);

#endif
