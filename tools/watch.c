/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/watch.h"

#include "tools/command.h"

#include <string.h>

int watch_check(struct watch *watch, const struct command_options *options,
		const struct scenario *scenario)
{
	struct bad_text why;

	*watch = (struct watch){.has_trace = options->trace,
				.has_breakpoint = options->break_on,
				.has_perfetto = options->perfetto};
	if (options->trace && (!event_filter_parse(options->trace, &watch->trace.filter, &why) ||
			       !event_filter_check(&watch->trace.filter, scenario, &why))) {
		fprintf(stderr, "verbena: --trace: %s\n", why.text);
		return COMMAND_BAD;
	}
	if (options->break_on &&
	    !breakpoint_parse(&watch->breakpoint, options->break_on, scenario, &why)) {
		fprintf(stderr, "verbena: --break-on: %s\n", why.text);
		return COMMAND_BAD;
	}
	watch->trace.file = options->json ? stderr : stdout;
	return COMMAND_DONE;
}

int watch_open(struct watch *watch, const struct command_options *options)
{
	return watch->has_perfetto ? perfetto_open(&watch->perfetto, options->perfetto)
				   : COMMAND_DONE;
}

int watch_attach(struct watch *watch, const struct scenario *scenario, struct fabric *fabric)
{
	int ret;

	if (!watch->has_trace && !watch->has_breakpoint && !watch->has_perfetto)
		return 0;
	ret = events_attach(&watch->events, scenario, fabric);
	if (ret)
		return ret;
	if (watch->has_trace)
		trace_start(&watch->trace, &watch->events);
	if (watch->has_perfetto)
		ret = perfetto_start(&watch->perfetto, &watch->events);
	if (watch->has_breakpoint)
		breakpoint_start(&watch->breakpoint, &watch->events);
	return ret;
}

int watch_close(struct watch *watch)
{
	int ret = COMMAND_DONE;

	if (!watch->events.source)
		return COMMAND_DONE;
	if (!watch->breakpoint.reached)
		events_end(&watch->events);
	if (watch->has_breakpoint && !watch->breakpoint.reached) {
		command_say("--break-on: %s: it never came to that", watch->breakpoint.text);
		ret = COMMAND_FAILED;
	}
	if (perfetto_close(&watch->perfetto) != COMMAND_DONE)
		ret = COMMAND_BROKEN;
	return ret;
}

bool watch_has_stopped(const struct watch *watch)
{
	return watch->breakpoint.reached;
}

void watch_fini(struct watch *watch)
{
	perfetto_fini(&watch->perfetto);
	events_fini(&watch->events);
}
