/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena explain: the run again, and what it tells. */
#include "tools/explain/explain.h"

#include "tools/replay.h"
#include "tools/result/back.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *why;
	void (*say)(
		const struct explain *explain); /* NULL: from the result instead of the events */
	bool of_flow;
} questions[] = {{"pfc", explain_pfc, false},		{"ecn", explain_ecn, false},
		 {"drop", explain_drop, false},		{"slow", explain_slow, true},
		 {"deadlock", explain_deadlock, false}, {"cure", NULL, false}};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

const char *explain_question(uint32_t i)
{
	return i < QUESTIONS ? questions[i].why : NULL;
}

static int usage(const char *found, const char *expected)
{
	command_line(stderr, "verbena explain: found %s, expected %s", found, expected);
	return COMMAND_BAD;
}

static int find_question(const struct command_options *options)
{
	for (int i = 0; options->why && i < QUESTIONS; i++)
		if (strcmp(questions[i].why, options->why) == 0)
			return i;
	return -1;
}

static bool explain_flow_of(const char *text, const struct scenario *scenario, int64_t *ret_flow)
{
	char *end;
	const unsigned long long number = strtoull(text, &end, 10);

	*ret_flow = (int64_t)number;
	return *text >= '0' && *text <= '9' && *end == '\0' &&
	       (number < scenario->flow_count ||
		(scenario->stream_count > 0 && number < INT64_MAX));
}

static void explain_warn_of_change(const struct replay *replay)
{
	const char *change =
		replay_change(replay, sim_digest(replay->fabric.sim), replay_is_fixed(replay));

	if (change)
		command_say("%s: %s", replay->name, change);
}

/* As the report page has it. */
static int advise(struct replay *replay)
{
	struct result_source source;
	struct pause_tree pauses = {.events = NULL};
	struct result result = {.scenario = NULL};
	struct advice advice;
	int ret = replay_build(replay), error = 0;

	if (ret)
		return ret;
	if (replay->scenario.switches.fc == SCENARIO_FC_PFC)
		error = pause_tree_start(&pauses, &replay->events);
	error = error ? error : replay_run(replay);
	if (!error) {
		source = (struct result_source){.scenario = &replay->scenario,
						.fabric = &replay->fabric,
						.traffic = replay->traffic,
						.programs = replay->ranks.runs,
						.version = command_version};
		pause_tree_end(&pauses, result_time(&source));
		error = result_collect(&source, &result);
		error = error ? error
			      : advice_make(
					&(struct advice_source){&result, replay->traffic, &pauses},
					&advice);
	}
	if (error) {
		command_say("%s: %s", replay->name, strerror(-error));
		ret = COMMAND_BROKEN;
	} else {
		explain_warn_of_change(replay);
		explain_cure(&advice);
	}
	result_free(&result);
	pause_tree_fini(&pauses);
	return ret;
}

static int explain_answer(struct replay *replay, int question, int64_t flow)
{
	struct explain explain;
	char number[24];
	int ret = replay_build(replay), error;

	if (ret)
		return ret;
	error = explain_start(&explain, &replay->events, flow);
	error = error ? error : replay_run(replay);
	if (error) {
		command_say("%s: %s", replay->name, strerror(-error));
		ret = COMMAND_BROKEN;
	} else if (flow >= 0 && !explain_account_is_there(explain.account)) {
		snprintf(number, sizeof(number), "%" PRId64, flow);
		ret = usage(number, "the number of a flow that has begun, as in flows.csv");
	} else {
		explain_warn_of_change(replay);
		questions[question].say(&explain);
	}
	explain_fini(&explain);
	return ret;
}

static int explain_run(const struct command_options *options)
{
	const int question = find_question(options);
	const bool has_flow = options->arg_count == 2;
	struct replay replay;
	struct bad_text found;
	int64_t flow = -1;
	int ret;

	if (question < 0)
		return usage(options->why ? bad_quote(&found, options->why, strlen(options->why))
					  : "no question",
			     "--why pfc, ecn, drop, slow, deadlock or cure");
	if (has_flow && !questions[question].of_flow)
		return usage("a flow", "none, but with --why slow");
	if (questions[question].of_flow && !has_flow) {
		ret = back_slowest(options->args[0], &flow);
		if (ret)
			return ret;
		if (flow < 0)
			return usage("no flow",
				     "the number of one, RUN FLOW, or the folder of a run "
				     "in which one has ended");
	}
	ret = replay_open(&replay, options->args[0], options);
	if (!ret && has_flow && !explain_flow_of(options->args[1], &replay.scenario, &flow))
		ret = usage(bad_quote(&found, options->args[1], strlen(options->args[1])),
			    "the number of a flow, as in flows.csv");
	if (!ret)
		ret = questions[question].say ? explain_answer(&replay, question, flow)
					      : advise(&replay);
	replay_fini(&replay);
	return ret;
}

const struct command command_explain = {
	.name = "explain",
	.arguments = "RUN|SCENARIO [FLOW]",
	.summary = "why something happened, or did not",
	.help = "Answers from the facts of RUN, the folder of a run or a scenario, which is run "
		"again: who\n"
		"paused whom and why (--why pfc), what was marked (ecn), what was lost (drop), "
		"where the\n"
		"time of FLOW went (slow; without FLOW of the slowest in that folder), which ports "
		"wait for\n"
		"each other (deadlock), or how near it came to it; and what would cure it, with "
		"the keys of\n"
		"the scenario to change (cure).\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_WHY,
	.args_min = 1,
	.args_max = 2,
	.run = explain_run,
};
