/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SERIES_ENGINES_H
#define TOOLS_SERIES_ENGINES_H

/* The engines of GPUs over time, as CSV, in the intervals of tools/observe/series.h: copies that
 * ended, what they had moved, and for how much of the interval the engine had something to do. A
 * row where anything of that is not 0. */
#include "tools/observe/machines.h"
#include "tools/result/folder.h"

struct series_engines {
	struct machines machines; /* none: there is no file */
	const struct folder *folder;
	struct part out;
	struct copy_stats *seen; /* of each engine of each GPU */
};

/* Makes the file, if machines have GPUs. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int series_engines_open(struct series_engines *series, const struct folder *folder,
			const struct scenario *scenario);
/* Before the run. -ENOMEM. */
int series_engines_start(struct series_engines *series, const struct scenario *scenario,
			 const struct fabric *fabric);
/* The rows of an interval from @last to @at. Not open: allowed. */
void series_engines_put(struct series_engines *series, ps_t last, ps_t at);
/* Whether an engine still has something to do at @at. */
bool series_engines_are_busy(const struct series_engines *series, ps_t at);
/* As series_engines_open(), after the run; not open: allowed. */
int series_engines_close(struct series_engines *series, ps_t last, ps_t at);
void series_engines_fini(struct series_engines *series); /* zeroed: allowed */

#endif
