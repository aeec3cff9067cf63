/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SERIES_H
#define TOOLS_SERIES_H

/* Every port and priority over time, and every lane of machines, as CSV: of a port what it sent in
 * an interval, at which rate, what waited at its end, how long it was paused, and what was marked,
 * dropped and paused. A row where anything of that is not 0. Intervals are exact. */
#include "tools/observe/series_engines.h"
#include "tools/observe/series_lanes.h"

struct series_port;

struct series {
	struct fabric_watcher watcher;
	const struct fabric *fabric;
	const struct folder *folder;
	struct part out;
	struct series_port *ports; /* in order of node and link */
	uint32_t port_count;
	struct series_lanes lanes;
	struct series_engines engines;
	ps_t interval, due, last;
};

/* @folder stays the caller's. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int series_open(struct series *series, const struct folder *folder, const struct scenario *scenario,
		ps_t interval);
/* Before the run. -ENOMEM. */
int series_start(struct series *series, const struct scenario *scenario, struct fabric *fabric);
/* After the run, of which the last thing happened at @at. As series_open(); not open: allowed. */
int series_close(struct series *series, ps_t at);
void series_fini(struct series *series); /* zeroed: allowed */

#endif
