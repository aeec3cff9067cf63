/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena report: the run again, and its page with the packets of some flows. */
#include "tools/expect/expect.h"
#include "tools/observe/progress.h"
#include "tools/replay.h"
#include "tools/report/report.h"
#include "tools/result/folder.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { WORST = 8 }; /* flows whose packets are shown where none are named */

struct choice {
	uint64_t flows[PACKET_FLOWS_MAX];
	uint32_t count;
};

struct rerun {
	const char *name;
	struct replay replay;
	struct sampler sampler;
	struct pause_tree pauses;
	struct packet_log packets;
	struct result result;
	struct advice advice;
};

/* ---- the run ---- */

static int rerun_refuse(const struct rerun *rerun, int error)
{
	if (error)
		command_say("%s: %s", rerun->name, strerror(-error));
	return error ? COMMAND_BROKEN : COMMAND_DONE;
}

static struct result_source rerun_source_of(const struct rerun *rerun, double began)
{
	const struct replay *replay = &rerun->replay;

	return (struct result_source){.scenario = &replay->scenario,
				      .fabric = &replay->fabric,
				      .traffic = replay->traffic,
				      .log = replay->log,
				      .programs = replay->ranks.runs,
				      .version = command_version,
				      .wall_s = progress_clock() - began};
}

/* @choice: whose packets are kept; NULL: only the result is wanted. */
static int rerun_once(struct rerun *rerun, const struct choice *choice)
{
	struct replay *replay = &rerun->replay;
	const double began = progress_clock();
	struct result_source source;
	int ret = replay_build(replay);

	if (ret)
		return ret;
	if (choice) {
		ret = sampler_start(&rerun->sampler, &replay->fabric);
		if (!ret && replay->scenario.switches.fc == SCENARIO_FC_PFC)
			ret = pause_tree_start(&rerun->pauses, &replay->events);
		ret = ret ? ret
			  : packet_log_start(&rerun->packets, &replay->events, choice->flows,
					     choice->count);
	}
	ret = ret ? ret : replay_run(replay);
	if (ret)
		return rerun_refuse(rerun, ret);
	source = rerun_source_of(rerun, began);
	if (choice)
		sampler_end(&rerun->sampler, result_time(&source));
	pause_tree_end(&rerun->pauses, result_time(&source));
	ret = result_collect(&source, &rerun->result);
	if (!ret && choice)
		ret = advice_make(
			&(struct advice_source){&rerun->result, replay->traffic, &rerun->pauses},
			&rerun->advice);
	return rerun_refuse(rerun, ret ? ret : expect_judge(&rerun->result));
}

static void rerun_fini(struct rerun *rerun)
{
	result_free(&rerun->result);
	packet_log_fini(&rerun->packets);
	pause_tree_fini(&rerun->pauses);
	sampler_fini(&rerun->sampler);
	replay_fini(&rerun->replay);
	*rerun = (struct rerun){.name = rerun->name};
}

static void rerun_warn_of_change(const struct rerun *rerun)
{
	const char *change = replay_change(&rerun->replay, rerun->result.digest,
					   replay_is_fixed(&rerun->replay));

	if (change)
		command_say("%s: %s", rerun->name, change);
}

/* ---- which flows ---- */

static int bad_flows(const char *text, uint64_t count)
{
	struct bad_text found;

	fprintf(stderr,
		"verbena report: --flows: found %s, expected at most %d numbers such as 3,17, each "
		"below %" PRIu64 "\n",
		bad_quote(&found, text, strlen(text)), PACKET_FLOWS_MAX, count);
	return COMMAND_BAD;
}

static int rerun_read_flows(const char *text, uint64_t count, struct choice *ret_choice)
{
	for (const char *at = text;; at++) {
		char *end;
		const unsigned long long flow = strtoull(at, &end, 10);

		if (*at < '0' || *at > '9' || (*end && *end != ',') || flow >= count ||
		    ret_choice->count == PACKET_FLOWS_MAX)
			return bad_flows(text, count);
		ret_choice->flows[ret_choice->count++] = flow;
		if (*end == '\0')
			return COMMAND_DONE;
		at = end;
	}
}

static bool has(const struct choice *choice, uint64_t flow)
{
	for (uint32_t i = 0; i < choice->count; i++)
		if (choice->flows[i] == flow)
			return true;
	return false;
}

static bool is_worse(const struct result_flow *a, const struct result_flow *b)
{
	if (a->ok != b->ok)
		return b->ok;
	return a->slowdown > b->slowdown;
}

/* The worst of @class, of all where it is NULL, that is not among them yet. */
static void add_worst(const struct result *result, const char *class, struct choice *choice)
{
	const struct result_flow *worst = NULL;

	for (uint64_t i = 0; i < result->flow_count; i++) {
		const struct result_flow *flow = &result->flows[i];

		if ((!class || flow->class_name == class) && (!worst || is_worse(flow, worst)) &&
		    !has(choice, flow->id))
			worst = flow;
	}
	if (worst && choice->count < PACKET_FLOWS_MAX)
		choice->flows[choice->count++] = worst->id;
}

static int rerun_choose(struct rerun *rerun, const struct command_options *options,
			struct choice *ret_choice)
{
	const struct scenario *scenario = &rerun->replay.scenario;
	int ret;

	if (options->flows)
		return rerun_read_flows(options->flows, scenario->flow_count, ret_choice);
	if (scenario->flow_count == 0)
		return COMMAND_DONE;
	ret = rerun_once(rerun, NULL);
	for (int i = 0; i < WORST && !ret; i++)
		add_worst(&rerun->result, NULL, ret_choice);
	for (uint32_t i = 0; i < rerun->result.class_count && !ret; i++)
		add_worst(&rerun->result, rerun->result.classes[i].name, ret_choice);
	rerun_fini(rerun);
	return ret ? ret : replay_open(&rerun->replay, rerun->name, options);
}

/* ---- the page ---- */

static bool is_folder(const char *name)
{
	struct stat stat_of;

	return stat(name, &stat_of) == 0 && S_ISDIR(stat_of.st_mode);
}

static int rerun_write_report(FILE *file, const void *owner)
{
	return report_write(owner, file);
}

static struct report report_of(const struct rerun *rerun)
{
	return (struct report){.result = &rerun->result,
			       .sampler = &rerun->sampler,
			       .pauses = &rerun->pauses,
			       .packets = &rerun->packets,
			       .advice = &rerun->advice};
}

static int one(struct rerun *rerun, const struct command_options *options,
	       const struct folder *folder)
{
	struct choice choice = {.count = 0};
	int ret = rerun_choose(rerun, options, &choice);

	rerun->replay.rows_in = folder->path;
	ret = ret ? ret : rerun_once(rerun, &choice);
	if (!ret)
		rerun_warn_of_change(rerun);
	return ret;
}

static int rerun_open_folder(struct folder *folder, const struct rerun *rerun,
			     const struct command_options *options)
{
	const char *out = options->out ? options->out : is_folder(rerun->name) ? rerun->name : NULL;

	return folder_open(folder, out, rerun->replay.scenario.name);
}

static int open_one(struct rerun *rerun, const char *name, const struct command_options *options)
{
	int ret;

	rerun->name = name;
	ret = replay_open(&rerun->replay, name, options);
	return ret ? ret : expect_check(&rerun->replay.scenario);
}

static int page_of_one(struct rerun *rerun, const struct command_options *options)
{
	struct folder folder;
	struct report report;
	int ret = rerun_open_folder(&folder, rerun, options);

	ret = ret ? ret : one(rerun, options, &folder);
	if (!ret) {
		report = report_of(rerun);
		ret = folder_put(&folder, "report.html", rerun_write_report, &report);
	}
	if (!ret)
		command_line(stdout, "report: %s/report.html", folder.path);
	folder_close(&folder);
	return ret;
}

struct both {
	struct report reports[2];
	const char *names[2];
};

static int write_both(FILE *file, const void *owner)
{
	const struct both *both = owner;

	return report_write_pair(both->reports, both->names, file);
}

static int page_of_two(struct rerun *rerun, const struct command_options *options)
{
	struct both both;
	struct folder folder;
	char name[256];
	int ret;

	snprintf(name, sizeof(name), "%.100s-and-%.100s", rerun[0].replay.scenario.name,
		 rerun[1].replay.scenario.name);
	ret = folder_open(&folder, options->out, name);
	for (int i = 0; i < 2 && !ret; i++)
		ret = one(&rerun[i], options, &folder);
	for (int i = 0; i < 2 && !ret; i++) {
		both.reports[i] = report_of(&rerun[i]);
		both.names[i] = rerun[i].name;
	}
	ret = ret ? ret : folder_put(&folder, "report.html", write_both, &both);
	if (!ret)
		command_line(stdout, "report: %s/report.html", folder.path);
	folder_close(&folder);
	return ret;
}

static int report_rerun(const struct command_options *options)
{
	struct rerun rerun[2] = {{.name = NULL}};
	int ret = 0;

	for (uint32_t i = 0; i < options->arg_count && !ret; i++)
		ret = open_one(&rerun[i], options->args[i], options);
	if (!ret)
		ret = options->arg_count == 2 ? page_of_two(rerun, options)
					      : page_of_one(&rerun[0], options);
	for (int i = 0; i < 2; i++)
		rerun_fini(&rerun[i]);
	return ret;
}

const struct command command_report = {
	.name = "report",
	.arguments = "RUN [RUN]",
	.summary = "the page of a run, with the packets of some flows; of two, side by side",
	.help = "Runs RUN again, the folder of a run or a scenario, and writes its report.html "
		"anew, with a\n"
		"ladder of the packets of the flows that fared worst, or of those that --flows "
		"names. It goes\n"
		"into the folder of the run, or --out. Of two runs: what differs, and both pages "
		"in one.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_OUT |
		   COMMAND_FLOWS,
	.args_min = 1,
	.args_max = 2,
	.run = report_rerun,
};
