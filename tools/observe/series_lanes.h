/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SERIES_LANES_H
#define TOOLS_SERIES_LANES_H

/* The lanes of machines over time, as CSV, in the intervals of tools/observe/series.h: how many
 * bursts began and what they carry, for how much of the interval the lane was taken (all its links
 * together; and the share that this is of the time that they all have), for how long something
 * waited for nothing but credits, and replays. A row where anything of that is not 0. */
#include "tools/observe/machines.h"
#include "tools/result/folder.h"

struct series_lanes {
	struct machines machines; /* none: there is no file */
	const struct folder *folder;
	struct part out;
	ps_t until;		    /* of the scenario */
	struct bus_way_stats *seen; /* of each way of each machine */
};

/* Makes the file, if hosts have machines. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int series_lanes_open(struct series_lanes *series, const struct folder *folder,
		      const struct scenario *scenario);
/* Before the run. -ENOMEM. */
int series_lanes_start(struct series_lanes *series, const struct scenario *scenario,
		       const struct fabric *fabric);
/* The rows of an interval from @last to @at. */
void series_lanes_put(struct series_lanes *series, ps_t last, ps_t at);
/* Whether a burst is longer on any lane than up to @at. */
bool series_lanes_are_busy(const struct series_lanes *series, ps_t at);
/* After the run, of which the last thing at a port happened at @at, with the rows from @last to the
 * end. As series_lanes_open(); not open: allowed. */
int series_lanes_close(struct series_lanes *series, ps_t last, ps_t at);
void series_lanes_fini(struct series_lanes *series); /* zeroed: allowed */

#endif
