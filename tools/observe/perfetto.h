/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PERFETTO_H
#define TOOLS_PERFETTO_H

/* A timeline in the Chrome trace event format (JSON), which ui.perfetto.dev and chrome://tracing
 * open: a process for each node; flows as spans at their source, ranks of programs
 * as threads, and work requests as spans of theirs by queue pair, pauses as spans at the port that
 * has to wait, queues as counters, and marks, drops, retransmissions and PFC frames as instants.
 * Times are in microseconds, with the picoseconds behind the point. */
#include "tools/observe/events.h"
#include "tools/observe/flow_log.h"
#include "tools/observe/machines.h"
#include "tools/result/named.h"

struct perfetto_lanes {
	struct machines machines;
	struct perfetto_lane {
		ps_t busy;
		uint32_t tenths; /* of a per cent */
	} * seen;		 /* of each way and each engine of each machine */
	ps_t at, due;
};

struct perfetto {
	struct events_listener listener;
	struct perfetto_lanes lanes;
	const struct events *events;
	struct named out;
	bool has_begun;
	uint32_t *process; /* of each port */
	uint32_t *queues;  /* last told, by port and priority */
	uint16_t *shut;	   /* spans of pauses that are open, by port: a mask of priorities */
	ps_t last;
};

/* Begins the file. COMMAND_DONE or COMMAND_BROKEN, with a line on stderr. */
int perfetto_open(struct perfetto *perfetto, const char *path);
int perfetto_start(struct perfetto *perfetto, struct events *events); /* before the run; -ENOMEM */
/* With what became of the flows; @log: those of streams. Whole, or where not all could be written
 * not at all. As perfetto_open(). */
int perfetto_close(struct perfetto *perfetto, const struct flow_log *log);
void perfetto_fini(struct perfetto *perfetto); /* zeroed: allowed */

#endif
