/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_INSIDES_H
#define TOOLS_INSIDES_H

/* The machines that an explanation looks into: those at both ends of a flow or a request while that
 * is under way, and those that have their switch pause, from the first pause to the last, to the
 * microsecond. */
#include "tools/explain/account.h"
#include "tools/explain/limit.h"

struct insides {
	struct machines machines;
	const struct events *events;
	struct machine_watch ends[2]; /* the source's, the target's */
	ps_t due;		      /* the next look; PS_NEVER: nothing will happen any more */
	bool has_looked, is_begun, is_over;
	struct machine_watch *pausing; /* by machine */
	bool *is_touched;	       /* a pause of it has begun or ended in this window */
	uint32_t *touches;
};

/* Before the run. -ENOMEM; can be finished in any case. */
int insides_init(struct insides *insides, const struct events *events);
void insides_fini(struct insides *insides); /* zeroed: allowed */
/* An XOFF or XON of a host. */
void insides_note_pause(struct insides *insides, const struct event *event);
/* After each window; @flow NULL: there is none, or not yet. -ENOMEM. */
int insides_look(struct insides *insides, const struct account_flow *flow);

/* What held the flow up in the machine that sends its data, or that takes them in. False: nothing
 * is known. */
bool insides_limit_of_flow(const struct insides *insides, const struct account_flow *flow,
			   bool sends, struct limit *ret_limit);
/* Why the host of that port took packets in slowly. False: nothing is known. */
bool insides_limit_of_port(const struct insides *insides, uint32_t port, struct limit *ret_limit);

#endif
