/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_SERIES_FLOWS_H
#define TOOLS_SERIES_FLOWS_H

/* Flows over time, as CSV: what each sent in an interval, at which rate, what of it began its last
 * hop, what was marked and sent again. A row where anything of that is not 0. Intervals are
 * exact. */
#include "models/input/bad.h"
#include "tools/observe/events.h"
#include "tools/result/folder.h"

enum { SERIES_FLOWS_MAX = 10000 };

struct series_flow {
	uint64_t number, sent_bytes, arrived_bytes;
	uint32_t sent_packets, resent_packets, marked_packets;
	bool active; /* in this interval */
};

struct series_flows {
	struct events_listener listener;
	const struct events *events;
	const struct folder *folder;
	struct part out;
	struct series_flow *flows; /* in order of number */
	uint64_t flow_count, active_count;
	ps_t interval, last, due;
};

/* @text: "all", or numbers of flows as in flows.csv, "3,7,10-20". True, or @ret_why says what is
 * wrong. Can be finished in any case. */
bool series_flows_check(struct series_flows *series, const char *text,
			const struct scenario *scenario, struct bad_text *ret_why);
/* It is checked. @folder stays the caller's. COMMAND_DONE or COMMAND_BROKEN, with a line on
 * stderr. */
int series_flows_open(struct series_flows *series, const struct folder *folder, ps_t interval);
void series_flows_start(struct series_flows *series, struct events *events); /* before the run */
/* After the run, which ended at @at. As series_flows_open(); not open: allowed. */
int series_flows_close(struct series_flows *series, ps_t at);
void series_flows_fini(struct series_flows *series); /* zeroed: allowed */

#endif
