/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/watch.h"

#include "tools/command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Before there are programs, which may not have standard output. */
static int open_trace(struct trace *trace, bool json)
{
	const int fd = dup(json ? STDERR_FILENO : STDOUT_FILENO);

	trace->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (trace->file)
		return COMMAND_DONE;
	command_say("--trace: %s", strerror(errno));
	return COMMAND_BROKEN;
}

static int close_trace(struct trace *trace)
{
	FILE *file = trace->file;
	bool is_good;

	if (!file)
		return COMMAND_DONE;
	trace->file = NULL;
	is_good = !ferror(file);
	if (fclose(file) == 0 && is_good)
		return COMMAND_DONE;
	command_say("--trace: it could not be written");
	return COMMAND_BROKEN;
}

int watch_check(struct watch *watch, const struct command_options *options,
		const struct scenario *scenario)
{
	struct bad_text why;

	*watch = (struct watch){.has_trace = options->trace,
				.has_breakpoint = options->break_on,
				.has_perfetto = options->perfetto,
				.has_flows = options->series_flows};
	if (options->trace && (!event_filter_parse(options->trace, &watch->trace.filter, &why) ||
			       !event_filter_check(&watch->trace.filter, scenario, &why))) {
		command_say("--trace: %s", why.text);
		return COMMAND_BAD;
	}
	if (options->break_on &&
	    !breakpoint_parse(&watch->breakpoint, options->break_on, scenario, &why)) {
		command_say("--break-on: %s", why.text);
		return COMMAND_BAD;
	}
	if (options->perfetto && scenario->stream_count > 0 && options->json && !options->out) {
		fputs("verbena: --perfetto: expected --out, since flows are streamed and --json "
		      "alone "
		      "keeps nothing of them\n",
		      stderr);
		return COMMAND_BAD;
	}
	if (options->series_flows &&
	    !series_flows_check(&watch->flows, options->series_flows, scenario, &why)) {
		command_say("--series-flows: %s", why.text);
		return COMMAND_BAD;
	}
	if (options->pcap_port && !topology_find_link(&scenario->topology, options->pcap_port)) {
		command_say("--pcap-port: found \"%s\", expected the name of a link",
			    options->pcap_port);
		return COMMAND_BAD;
	}
	if (options->pcap && named_check("--pcap", options->pcap) != COMMAND_DONE)
		return COMMAND_BAD;
	if (options->perfetto && named_check("--perfetto", options->perfetto) != COMMAND_DONE)
		return COMMAND_BAD;
	return watch->has_trace ? open_trace(&watch->trace, options->json) : COMMAND_DONE;
}

int watch_open(struct watch *watch, const struct command_options *options,
	       const struct folder *folder)
{
	int ret = COMMAND_DONE;

	if (watch->has_perfetto)
		ret = perfetto_open(&watch->perfetto, options->perfetto);
	if (!ret && watch->has_flows)
		ret = series_flows_open(&watch->flows, folder, options->series);
	return ret;
}

int watch_attach(struct watch *watch, const struct scenario *scenario, struct fabric *fabric,
		 const struct traffic *traffic, bool files)
{
	const bool with_frames = watch->has_trace || watch->has_breakpoint || watch->has_perfetto ||
				 watch->has_flows;
	const bool pauses = files && scenario->switches.fc == SCENARIO_FC_PFC;
	const bool machines = files && scenario->machine_count > 0;
	int ret;

	if (!with_frames && !pauses && !machines)
		return 0;
	ret = with_frames ? events_attach(&watch->events, scenario, fabric, traffic)
			  : events_attach_pauses(&watch->events, scenario, fabric);
	if (!ret && pauses)
		ret = pause_tree_start(&watch->pauses, &watch->events);
	if (!ret && machines)
		ret = spells_start(&watch->spells, &watch->events);
	if (ret)
		return ret;
	if (watch->has_trace)
		trace_start(&watch->trace, &watch->events);
	if (watch->has_flows)
		series_flows_start(&watch->flows, &watch->events);
	if (watch->has_perfetto)
		ret = perfetto_start(&watch->perfetto, &watch->events);
	if (watch->has_breakpoint)
		breakpoint_start(&watch->breakpoint, &watch->events);
	return ret;
}

int watch_close(struct watch *watch, const struct flow_log *log)
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
	if (series_flows_close(&watch->flows, sim_now(watch->events.fabric->sim)) != COMMAND_DONE)
		ret = COMMAND_BROKEN;
	if (perfetto_close(&watch->perfetto, log) != COMMAND_DONE ||
	    close_trace(&watch->trace) != COMMAND_DONE)
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
	pause_tree_fini(&watch->pauses);
	spells_fini(&watch->spells);
	series_flows_fini(&watch->flows);
	if (watch->trace.file)
		fclose(watch->trace.file);
	events_fini(&watch->events);
}
