/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/run.h"

#include "models/fabric/sampler.h"
#include "tools/again.h"
#include "tools/code.h"
#include "tools/command.h"
#include "tools/expect/expect.h"
#include "tools/explain/cure.h"
#include "tools/guard.h"
#include "tools/observe/capture.h"
#include "tools/observe/capture_link.h"
#include "tools/observe/flow_log.h"
#include "tools/observe/machines.h"
#include "tools/observe/progress.h"
#include "tools/observe/series.h"
#include "tools/observe/watch.h"
#include "tools/ranks.h"
#include "tools/replay.h"
#include "tools/report/report.h"
#include "tools/result/counters.h"
#include "tools/result/failures.h"
#include "tools/result/folder.h"
#include "tools/result/junit.h"
#include "tools/result/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct run {
	const struct command_options *options;
	const char *path;
	struct again again;
	struct scenario scenario;
	char *baseline_file; /* NULL: none is given */
	json_t *baseline;
	json_t *programs;     /* code_describe(); NULL: no files are to be written */
	struct copies copies; /* of what it was read from; zeroed: no files are to be written */
	struct folder folder;
	bool files; /* are to be written */
	struct fabric fabric;
	struct traffic *traffic;
	struct flow_log *log; /* NULL: no streams */
	struct ranks ranks;
	struct progress progress;
	struct capture capture;
	struct capture_link capture_link;
	struct watch watch;
	struct series series;
	struct sampler sampler;
	bool sampled; /* to the end */
	double began;
	bool partial;
};

static struct run *current; /* for run_rescue() */

/* ---- results ---- */

static int write_json(FILE *file, const void *owner)
{
	return output_json(owner, file);
}

static int write_flows(FILE *file, const void *owner)
{
	return output_flows(owner, file);
}

static int write_requests(FILE *file, const void *owner)
{
	output_requests(owner, file);
	return 0;
}

static int write_ports(FILE *file, const void *owner)
{
	output_ports(owner, file);
	return 0;
}

static int write_lanes(FILE *file, const void *owner)
{
	output_lanes(owner, file);
	return 0;
}

static int write_engines(FILE *file, const void *owner)
{
	output_engines(owner, file);
	return 0;
}

static int write_counters(FILE *file, const void *owner)
{
	return counters_write(owner, file);
}

static int write_origin(FILE *file, const void *owner)
{
	const struct run *run = owner;

	const struct replay_origin origin = {.path = run->again.is_open ? run->again.kept.path
									: run->options->args[0],
					     .overrides = &run->options->overrides,
					     .scenario = &run->scenario,
					     .copies = &run->copies,
					     .baseline = run->baseline_file,
					     .programs = run->programs};

	return replay_write(&origin, file);
}

static int tools_run_write_report(FILE *file, const void *owner)
{
	return report_write(owner, file);
}

/* result.json comes last: where something could not be written it says so. */
static int tools_run_write_files(const struct run *run, struct result *result)
{
	const struct advice_source source = {.result = result,
					     .traffic = run->traffic,
					     .pauses = &run->watch.pauses,
					     .spells = &run->watch.spells};
	struct advice advice;
	const struct report report = {.result = result,
				      .sampler = run->sampled ? &run->sampler : NULL,
				      .pauses = &run->watch.pauses,
				      .spells = &run->watch.spells,
				      .advice = &advice,
				      .run = run->folder.path};
	const struct {
		const char *name;
		folder_write_fn *write;
		const void *owner;
	} files[] = {{"flows.csv", write_flows, result},
		     {"requests.csv", write_requests, result},
		     {"ports.csv", write_ports, result},
		     {"lanes.csv", write_lanes, result},
		     {"engines.csv", write_engines, result},
		     {"counters.json", write_counters, result},
		     {"run.json", write_origin, run},
		     {"report.html", tools_run_write_report, &report},
		     {"result.json", write_json, result}};
	int ret = advice_make(&source, &advice) == 0 ? COMMAND_DONE : COMMAND_BROKEN;

	if (ret)
		command_say("not enough memory for advice");
	if (!run->options->series)
		ret = folder_drop(&run->folder, "series.csv") ? COMMAND_BROKEN : ret;
	if (!run->options->series || run->scenario.machine_count == 0)
		ret = folder_drop(&run->folder, "series_lanes.csv") ? COMMAND_BROKEN : ret;
	if (!run->options->series || !machines_have_gpus(&run->scenario))
		ret = folder_drop(&run->folder, "series_engines.csv") ? COMMAND_BROKEN : ret;
	if (!run->options->series_flows)
		ret = folder_drop(&run->folder, "series_flows.csv") ? COMMAND_BROKEN : ret;
	if (copies_write(&run->copies, &run->folder) != COMMAND_DONE) {
		ret = COMMAND_BROKEN;
		result->partial = true;
	}
	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		const bool is_for_nobody =
			(files[i].write == write_lanes && run->scenario.machine_count == 0) ||
			(files[i].write == write_engines && !machines_have_gpus(&run->scenario));
		const int one = is_for_nobody ? folder_drop(&run->folder, files[i].name)
					      : folder_put(&run->folder, files[i].name,
							   files[i].write, files[i].owner);

		ret = ret ? ret : one;
		result->partial = result->partial || ret;
	}
	return ret;
}

static int tools_run_print(const struct run *run, const struct result *result, bool written)
{
	if (run->options->json) {
		if (output_json(result, stdout) == 0)
			return COMMAND_DONE;
		command_say("the result could not be written: %s", strerror(errno));
		return COMMAND_BROKEN;
	}
	if (!run->options->quiet)
		output_table(result, stdout);
	printf("digest: %016llx\n", (unsigned long long)result->digest);
	if (written)
		command_line(stdout, "report: %s/report.html", run->folder.path);
	return COMMAND_DONE;
}

static int judge(const struct result *result)
{
	int ret = COMMAND_DONE;

	for (uint32_t i = 0; i < result->expect_count; i++) {
		const struct result_expect *expect = &result->expects[i];

		if (expect->held || result->partial)
			continue;
		fputs("verbena: expected ", stderr);
		output_line(expect->text, stderr);
		fputs(": found ", stderr);
		output_line(expect->found, stderr);
		fputc('\n', stderr);
		ret = COMMAND_FAILED;
	}
	for (uint32_t i = 0; i < result->program_count; i++) {
		struct bad_text found;

		if (!failures_has_program(result, i))
			continue;
		command_say("program %s: %s", result->programs[i].name,
			    failures_of_ranks(result, i, &found));
		ret = COMMAND_FAILED;
	}
	if (result->flow_sums.mismatch_bytes == 0)
		return ret;
	command_say("%llu bytes of flows are not those that were sent",
		    (unsigned long long)result->flow_sums.mismatch_bytes);
	return COMMAND_BROKEN;
}

static struct result_source tools_run_source_of(const struct run *run)
{
	return (struct result_source){
		.scenario = &run->scenario,
		.fabric = &run->fabric,
		.traffic = run->traffic,
		.log = run->log,
		.programs = run->ranks.runs,
		.requests = run->ranks.requests,
		.version = command_version,
		.partial = run->partial,
		.wall_s = progress_clock() - run->began,
	};
}

static int give_results(struct run *run)
{
	const struct result_source source = tools_run_source_of(run);
	struct result result;
	int ret = COMMAND_BROKEN, printed;

	if (result_collect(&source, &result) != 0 || expect_judge(&result, run->baseline) != 0) {
		command_say("not enough memory for the result");
	} else {
		ret = run->files ? tools_run_write_files(run, &result) : COMMAND_DONE;
		printed = tools_run_print(run, &result, run->files && !ret);
		ret = ret ? ret : printed;
		printed = run->options->junit ? junit_write_run(run->options->junit, &result)
					      : COMMAND_DONE;
		ret = ret ? ret : printed;
		ret = ret ? ret : judge(&result);
	}
	result_free(&result);
	return ret;
}

void run_rescue(void)
{
	struct run *run = __atomic_exchange_n(&current, NULL, __ATOMIC_ACQ_REL);

	if (!run)
		return;
	guard_end();
	progress_end(&run->progress);
	run->partial = true;
	/* They end with the run, which has none. */
	if (run->files && run->options->series) {
		folder_drop(&run->folder, "series.csv");
		folder_drop(&run->folder, "series_flows.csv");
		folder_drop(&run->folder, "series_lanes.csv");
		folder_drop(&run->folder, "series_engines.csv");
	}
	give_results(run);
	fflush(stdout);
}

/* ---- the run ---- */

static int run_fabric(struct run *run)
{
	struct result_source source;
	int ret;

	progress_start(&run->progress, &run->fabric, run->scenario.until, run->options->quiet);
	run->began = run->progress.began;
	__atomic_store_n(&current, run, __ATOMIC_RELEASE);
	ret = fabric_run(&run->fabric, run->scenario.until);
	if (run->log) {
		const int ended = traffic_stream_end(run->traffic);

		ret = ret ? ret : ended;
	}
	__atomic_store_n(&current, NULL, __ATOMIC_RELEASE);
	guard_end();
	source = tools_run_source_of(run);
	sampler_end(&run->sampler, result_time(&source));
	run->sampled = run->files;
	progress_end(&run->progress);
	run->partial = ret != 0 || progress_signal() != 0;
	return ret;
}

static int open_log(struct run *run)
{
	if (run->scenario.stream_count == 0)
		return COMMAND_DONE;
	run->log = flow_log_create(&run->scenario, run->files ? run->folder.path : NULL);
	if (run->log)
		return COMMAND_DONE;
	command_say("%s: %s", run->path, strerror(errno));
	return COMMAND_BROKEN;
}

/* Of a run that was ended where it was asked to: nobody knows what would have come. */
static int not_judged(const struct run *run)
{
	if (!watch_has_stopped(&run->watch) ||
	    (run->scenario.expect_count == 0 && !run->options->junit))
		return COMMAND_DONE;
	command_say("the run ended at the breakpoint: nothing that was expected is judged");
	return COMMAND_FAILED;
}

static int build_and_run(struct run *run)
{
	const struct scenario_options options = {.thread_count = run->options->thread_count,
						 .through_wire = run->options->through_wire,
						 .listener = flow_log_listener(run->log)};
	struct result_source source;
	int ret = scenario_build(&run->scenario, &options, &run->fabric, &run->traffic);
	int results, captured, watched;

	if (!ret && run->log)
		flow_log_attach(run->log, run->traffic);
	ret = ret ? ret : ranks_start(&run->ranks, &run->fabric, run->options->thread_count);
	if (!ret && run->files)
		ret = sampler_start(&run->sampler, &run->fabric);
	ret = ret ? ret
		  : watch_attach(&run->watch, &run->scenario, &run->fabric, run->traffic,
				 run->files);
	if (run->watch.has_trace || run->watch.has_breakpoint || run->watch.has_perfetto)
		run->watch.events.requests = run->ranks.requests;
	if (!ret && run->options->series)
		ret = series_start(&run->series, &run->scenario, &run->fabric);
	/* Last: one that is attached is whole when it is closed, and takes the place of an older
	 * one. */
	if (!ret && run->options->pcap_port)
		ret = capture_link_attach(
			&run->capture_link, &run->fabric,
			topology_find_link(&run->scenario.topology, run->options->pcap_port)->name);
	else if (!ret && run->options->pcap)
		ret = capture_attach(&run->capture, &run->fabric);
	if (ret) {
		command_say_error(run->path, -ret);
		return COMMAND_BROKEN;
	}
	ret = run_fabric(run);
	if (watch_has_stopped(&run->watch))
		ret = 0;
	if (ret == -ENOMEM)
		command_say("the run could not go on: the memory for packets under way is used up; "
			    "the scenario's key memory says how much they may have");
	else if (ret == -ENOBUFS)
		command_say("the run could not go on: more than %d flows of loads are under way at "
			    "once, "
			    "which with their headers are more than the links take",
			    TRAFFIC_LIVE_MAX);
	else if (ret && ret != -EIO) /* that was the capture */
		command_say("the run could not go on: %s", strerror(-ret));
	captured = capture_close(&run->capture); /* says what went wrong with it */
	captured = captured ? captured : capture_link_close(&run->capture_link);
	watched = watch_close(&run->watch, run->log);
	source = tools_run_source_of(run);
	pause_tree_end(&run->watch.pauses, result_time(&source));
	spells_end(&run->watch.spells);
	if (series_close(&run->series, sim_now(run->fabric.sim)) != COMMAND_DONE)
		watched = COMMAND_BROKEN;
	if (!run->options->quiet)
		ranks_warn(&run->ranks, run->path);
	run->partial = run->partial || captured || watched == COMMAND_BROKEN;
	results = give_results(run);
	if (ret || captured || watched == COMMAND_BROKEN || results == COMMAND_BROKEN)
		return COMMAND_BROKEN;
	if (progress_signal())
		return COMMAND_SIGNAL + progress_signal();
	results = results ? results : watched;
	return results ? results : not_judged(run);
}

static void tools_run_fini(struct run *run)
{
	guard_end();
	ranks_stop(&run->ranks);
	sampler_fini(&run->sampler);
	traffic_destroy(run->traffic);
	flow_log_destroy(run->log);
	if (run->fabric.sim)
		fabric_fini(&run->fabric);
	watch_fini(&run->watch);
	series_fini(&run->series);
	folder_close(&run->folder);
	copies_fini(&run->copies);
	json_decref(run->baseline);
	json_decref(run->programs);
	free(run->baseline_file);
	again_close(&run->again);
	ranks_fini(&run->ranks);
	scenario_fini(&run->scenario);
}

static int tools_run_read(struct run *run)
{
	struct command_options options = *run->options;
	const struct copies *kept = &run->again.kept.copies;
	int ret = 0;

	if (run->again.is_open)
		ret = copies_init_again(&run->copies, kept);
	else if (run->files)
		ret = copies_init(&run->copies);
	if (ret) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	options.overrides.source = run->copies.source.read ? &run->copies.source : NULL;
	if (run->again.is_open)
		return command_read_at(kept->all[0].path, &options, &run->scenario);
	return command_read(run->path, &options, &run->scenario);
}

/* Kept with the scenario: the report of the run, made again, judges as the run has. */
static int read_run_baseline(struct run *run)
{
	const char *given = run->options->baseline, *kept = run->again.kept.baseline;
	int ret;

	if (!given && !kept)
		return COMMAND_DONE;
	run->baseline_file = given ? back_baseline_file(given) : strdup(kept);
	if (!run->baseline_file)
		return COMMAND_BROKEN;
	ret = back_baseline(run->copies.source.read ? &run->copies.source : NULL,
			    run->baseline_file, &run->baseline);
	if (!ret && !run->options->quiet)
		back_warn_of_version(run->baseline_file, run->baseline);
	return ret;
}

/* Before anything of them runs, and may be built anew meanwhile. */
static int describe_programs(struct run *run)
{
	if (!run->files && !run->again.is_open)
		return COMMAND_DONE;
	run->programs = code_describe(run->path, &run->scenario);
	if (!run->programs) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	if (run->again.is_open && !run->options->quiet)
		kept_warn_of_programs(&run->again.kept, run->options->args[0], run->programs);
	return COMMAND_DONE;
}

/* A run that is killed leaves nothing, and least of all what the one before it has said. */
static int drop_older_run(const struct folder *folder)
{
	static const char *const names[] = {
		"result.json",	"report.html",	    "flows.csv",	"ports.csv",
		"requests.csv", "counters.json",    "lanes.csv",	"engines.csv",
		"series.csv",	"series_flows.csv", "series_lanes.csv", "series_engines.csv"};
	int ret = COMMAND_DONE;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !ret; i++)
		ret = folder_drop(folder, names[i]);
	return ret ? ret : copies_drop(folder);
}

static int run_scenario(const struct command_options *options)
{
	struct run run = {.options = options,
			  .path = options->args[0],
			  .files = !options->json || options->out};
	int ret = options->junit ? junit_clear(options->junit) : COMMAND_DONE;

	ret = ret ? ret : again_open(&run.again, options);
	if (run.again.is_open) {
		run.options = &run.again.options;
		run.path = run.again.path;
	}
	ret = ret ? ret : tools_run_read(&run);
	ret = ret ? ret : read_run_baseline(&run);
	ret = ret ? ret : expect_check(&run.scenario, run.baseline, false);
	ret = ret ? ret : watch_check(&run.watch, options, &run.scenario);
	ret = ret ? ret : describe_programs(&run);
	ret = ret ? ret : ranks_open(&run.ranks, run.path, &run.scenario, options->quiet);
	if (!ret && run.files)
		ret = folder_open(&run.folder, options->out, run.scenario.name);
	if (!ret && run.files && !options->quiet)
		copies_warn_of_limit(&run.copies, &run.folder);
	ret = ret ? ret : open_log(&run);
	if (!ret && options->pcap)
		ret = options->pcap_port
			      ? capture_link_open(&run.capture_link, options->pcap,
						  options->pcap_snaplen)
			      : capture_open(&run.capture, options->pcap, options->pcap_snaplen);
	if (!ret && options->junit)
		ret = junit_try(options->junit);
	if (!ret && options->junit && run.scenario.expect_count == 0 &&
	    run.scenario.program_count == 0)
		junit_warn_of_nothing(options->junit, run.path);
	if (!ret && run.files)
		ret = drop_older_run(&run.folder);
	ret = ret ? ret : watch_open(&run.watch, options, &run.folder);
	if (!ret && options->series)
		ret = series_open(&run.series, &run.folder, &run.scenario, options->series);
	ret = ret ? ret : build_and_run(&run);
	capture_close(&run.capture);
	capture_link_close(&run.capture_link);
	tools_run_fini(&run);
	return ret;
}

const struct command command_run = {
	.name = "run",
	.arguments = "SCENARIO|RUN",
	.summary = "run a scenario",
	.help = "Runs the scenario in the file SCENARIO, or what the folder RUN has kept of a run, "
		"with its\n"
		"settings and into another folder, and writes result.json, flows.csv, "
		"ports.csv\n"
		"and report.html. Exit status: 0 done, 1 something expected did not hold, 2 bad\n"
		"input (nothing was written), 3 the run could not go on, 128+n ended by signal "
		"n.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_OUT | COMMAND_JSON | COMMAND_JUNIT |
		   COMMAND_PCAP | COMMAND_PCAP_SNAPLEN | COMMAND_UNTIL | COMMAND_THROUGH_WIRE |
		   COMMAND_THREADS | COMMAND_QUIET | COMMAND_TRACE | COMMAND_BREAK_ON |
		   COMMAND_PERFETTO | COMMAND_SERIES | COMMAND_SERIES_FLOWS | COMMAND_PCAP_PORT |
		   COMMAND_BASELINE,
	.args_min = 1,
	.args_max = 1,
	.run = run_scenario,
};
