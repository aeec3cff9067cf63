/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_STOPS_H
#define TOOLS_EXPLAIN_STOPS_H

/* When each port of a fabric could not send a priority, for questions about time gone by. */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

struct stops {
	struct stop_list {
		struct stop {
			ps_t from, until; /* PS_NEVER: it lasts */
			ps_t before;	  /* of all stops before this one, in sum */
		} * stops;
		uint32_t count, room;
	} * lists; /* by port, then priority */
	uint32_t list_count, priority_count;
};

/* -ENOMEM; can be finished in any case. */
int stops_init(struct stops *stops, uint32_t port_count, uint32_t priority_count);
void stops_fini(struct stops *stops); /* zeroed: allowed */

/* In order of time. -ENOMEM. */
int stops_begin(struct stops *stops, uint32_t port, uint8_t priority, ps_t at);
void stops_end(struct stops *stops, uint32_t port, uint8_t priority, ps_t at);

bool stops_lasts(const struct stops *stops, uint32_t port, uint8_t priority);
/* How much of [@from, @to) it could not send; no later than what is known. */
ps_t stops_between(const struct stops *stops, uint32_t port, uint8_t priority, ps_t from, ps_t to);

#endif
