/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_TRACE_H
#define TOOLS_TRACE_H

/* Events as lines of text, while the run goes on. */
#include "tools/observe/event_text.h"

struct trace {
	struct events_listener listener;
	const struct events *events;
	struct event_filter filter;
	FILE *file;
};

/* @trace->filter and @trace->file are set. */
void trace_start(struct trace *trace, struct events *events);

#endif
