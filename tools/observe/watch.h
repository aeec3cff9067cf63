/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_WATCH_H
#define TOOLS_WATCH_H

/* What of a run's events the options of the command ask for: --trace, --perfetto, --break-on,
 * --series-flows, and the report, which wants to know of pauses and machines. Where none is given
 * nothing listens. */
#include "tools/explain/pause_tree.h"
#include "tools/explain/spells.h"
#include "tools/observe/breakpoint.h"
#include "tools/observe/perfetto.h"
#include "tools/observe/series_flows.h"
#include "tools/observe/trace.h"

struct watch {
	struct events events;
	struct trace trace;
	struct breakpoint breakpoint;
	struct perfetto perfetto;
	struct pause_tree pauses; /* of a run with PFC and files */
	struct spells spells;	  /* of a run with machines and files */
	struct series_flows flows;
	bool has_trace, has_breakpoint, has_perfetto, has_flows;
};

struct command_options;

/* Before anything is written: COMMAND_DONE or COMMAND_BAD, with a line on stderr. */
int watch_check(struct watch *watch, const struct command_options *options,
		const struct scenario *scenario);
/* Makes the files. COMMAND_DONE or COMMAND_BROKEN. */
int watch_open(struct watch *watch, const struct command_options *options,
	       const struct folder *folder);
/* Before the run; @files: for the report. -ENOMEM. */
int watch_attach(struct watch *watch, const struct scenario *scenario, struct fabric *fabric,
		 const struct traffic *traffic, bool files);
/* After the run; @log: of flows of streams. COMMAND_DONE, COMMAND_FAILED: the breakpoint was never
 * reached, COMMAND_BROKEN. */
int watch_close(struct watch *watch, const struct flow_log *log);
bool watch_has_stopped(const struct watch *watch); /* the run, at the breakpoint */
void watch_fini(struct watch *watch);		   /* zeroed: allowed */

#endif
