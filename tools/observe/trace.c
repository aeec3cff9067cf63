/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/trace.h"

static int trace_on_event(struct events_listener *listener, const struct event *event)
{
	struct trace *trace = container_of(listener, struct trace, listener);

	if (!event_filter_wants(&trace->filter, trace->events, event))
		return 0;
	event_text(trace->events, event, trace->file);
	fputc('\n', trace->file);
	return 0;
}

void trace_start(struct trace *trace, struct events *events)
{
	trace->events = events;
	trace->listener = (struct events_listener){.on_event = trace_on_event};
	events_listen(events, &trace->listener);
}
