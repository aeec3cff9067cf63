/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena explain: the run again, and what it tells. */
#include "tools/explain/explain.h"

#include "tools/replay.h"
#include "tools/result/back.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* "17", or "wr17". Whether there is such a request only the run tells. */
static bool explain_key_of(const char *text, const struct scenario *scenario,
			   struct subject *ret_key)
{
	if (!subject_read(&text, ret_key) || *text)
		return false;
	if (ret_key->is_request)
		return scenario->program_count > 0 && ret_key->number < INT64_MAX;
	return ret_key->number < scenario->flow_count ||
	       (scenario->stream_count > 0 && ret_key->number < INT64_MAX);
}

static void explain_warn_of_change(const struct replay *replay)
{
	const char *change =
		replay_change(replay, sim_digest(replay->fabric.sim), replay_is_fixed(replay));

	if (replay->is_cut)
		replay_warn_of_cut(replay, sim_now(replay->fabric.sim));
	if (change)
		command_say("%s: %s", replay->name, change);
}

/* As the report page has it. */
static int advise(struct replay *replay)
{
	struct result_source source;
	struct pause_tree pauses = {.events = NULL};
	struct spells spells = {.events = NULL};
	struct result result = {.scenario = NULL};
	struct advice advice;
	int ret = replay_build(replay), error = 0;

	if (ret)
		return ret;
	if (replay->scenario.switches.fc == SCENARIO_FC_PFC)
		error = pause_tree_start(&pauses, &replay->events);
	error = error ? error : spells_start(&spells, &replay->events);
	error = error ? error : replay_run(replay);
	if (!error) {
		source = replay_source(replay);
		spells_end(&spells);
		pause_tree_end(&pauses, result_time(&source));
		error = result_collect(&source, &result);
		error = error ? error
			      : advice_make(&(struct advice_source){.result = &result,
								    .traffic = replay->traffic,
								    .pauses = &pauses,
								    .spells = &spells},
					    &advice);
	}
	if (error) {
		command_say("%s: %s", replay->name, strerror(-error));
		ret = COMMAND_BROKEN;
	} else {
		explain_warn_of_change(replay);
		explain_cure(&advice, replay->name);
	}
	result_free(&result);
	pause_tree_fini(&pauses);
	spells_fini(&spells);
	return ret;
}

/* @key NULL: the question is not about one. */
static int explain_answer(struct replay *replay, int question, const struct subject *key)
{
	struct explain explain;
	char text[SUBJECT_MAX], expected[96];
	int ret = replay_build(replay), error;

	if (ret)
		return ret;
	error = explain_start(&explain, &replay->events, key);
	error = error ? error : replay_run(replay);
	spells_end(&explain.spells);
	if (!error && key)
		account_find(explain.account);
	if (error) {
		command_say("%s: %s", replay->name, strerror(-error));
		ret = COMMAND_BROKEN;
	} else if (key && !account_is_there(explain.account)) {
		subject_name(key, text);
		if (key->is_request)
			snprintf(expected, sizeof(expected),
				 "a work request of requests.csv, of which there are %" PRIu64
				 ", from wr0 on",
				 request_log_count(replay->ranks.requests));
		ret = usage(text, key->is_request
					  ? expected
					  : "the number of a flow that has begun, as in flows.csv");
	} else {
		explain_warn_of_change(replay);
		questions[question].say(&explain);
	}
	explain_fini(&explain);
	return ret;
}

/* Of a run in a folder: its flow with the largest slowdown or, where there are none, the work
 * request that took longest. */
static int choose_slowest(const char *run, struct subject *ret_key)
{
	int64_t number = -1;
	int ret = back_worst(run, &number);

	*ret_key = (struct subject){.is_request = !ret && number < 0};
	if (!ret && number < 0)
		ret = back_slowest_request(run, &number);
	ret_key->number = (uint64_t)number;
	if (!ret && number < 0)
		return usage("no flow and no work request that has ended",
			     "RUN FLOW or RUN wrN, or the folder of a run in which one has ended");
	return ret;
}

static int explain_run(const struct command_options *options)
{
	const int question = find_question(options);
	const bool has_flow = options->arg_count == 2;
	struct replay replay;
	struct bad_text found;
	struct subject key = {.is_request = false};
	int ret;

	if (question < 0)
		return usage(options->why ? bad_quote(&found, options->why, strlen(options->why))
					  : "no question",
			     "--why pfc, ecn, drop, slow, deadlock or cure");
	if (has_flow && !questions[question].of_flow)
		return usage("a flow", "none, but with --why slow");
	ret = replay_check_settings("explain", options, 1);
	if (ret)
		return ret;
	if (questions[question].of_flow && !has_flow && access(options->args[0], F_OK) == 0) {
		ret = choose_slowest(options->args[0], &key);
		if (ret)
			return ret;
	}
	ret = replay_open(&replay, options->args[0], options);
	if (!ret)
		replay_warn_of_edits(&replay, options);
	if (!ret && has_flow && !explain_key_of(options->args[1], &replay.scenario, &key))
		ret = usage(bad_quote(&found, options->args[1], strlen(options->args[1])),
			    "the number of a flow, as in flows.csv, or a work request such as wr3, "
			    "as in requests.csv");
	if (!ret)
		ret = questions[question].say
			      ? explain_answer(&replay, question,
					       questions[question].of_flow ? &key : NULL)
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
		"time of FLOW went (slow; a number of flows.csv, or a work request such as wr3 of\n"
		"requests.csv; without it of the flow that fared worst: the first that failed or "
		"did not\n"
		"end, or else the one with the largest slowdown; without flows of the request that "
		"took\n"
		"longest), which ports wait for each other (deadlock), or how near it came to it; "
		"and what\n"
		"would cure it, with the keys of the scenario to change "
		"(cure).\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_WHY,
	.args_min = 1,
	.args_max = 2,
	.run = explain_run,
};
