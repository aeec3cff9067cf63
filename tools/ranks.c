/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ranks.h"

#include "models/program/spin.h"
#include "tools/command.h"
#include "tools/guard.h"
#include "tools/load.h"
#include "tools/memory.h"
#include "tools/result/output.h"
#include "tools/run.h"
#include "tools/symbol.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void on_report(void *owner, int rank, int peer, int nth_qp, const struct ibv_wc *wc,
		      const void *bytes)
{
	(void)owner;
	(void)rank;
	(void)peer;
	(void)nth_qp;
	(void)wc;
	(void)bytes; /* program_result() counts them */
}

static void on_say(void *owner, int rank, const char *line)
{
	const struct scenario_program *program = owner;

	flockfile(stderr);
	fprintf(stderr, "%s, rank %d: ", program->name, rank);
	output_line(line, stderr);
	fputc('\n', stderr);
	funlockfile(stderr);
}

/* --quiet: whoever wants to know runs the same once more without it. */
static void on_hush(void *owner, int rank, const char *line)
{
	(void)owner;
	(void)rank;
	(void)line;
}

/* Nothing that a spinning program has begun can be ended in good order. */
static void on_spin(void *owner, const struct spin_report *report)
{
	char text[1024];

	(void)owner;
	symbol_spin(report, text, sizeof(text));
	command_say("%s", text);
	run_rescue();
	_exit(COMMAND_BROKEN);
}

int ranks_open(struct ranks *ranks, const char *path, const struct scenario *scenario, bool quiet)
{
	const size_t count = scenario->program_count;

	*ranks = (struct ranks){.scenario = scenario, .quiet = quiet};
	ranks->programs = calloc(count + 1, sizeof(*ranks->programs));
	ranks->runs = calloc(count + 1, sizeof(*ranks->runs));
	ranks->hosts = calloc(count + 1, sizeof(*ranks->hosts));
	ranks->spaces = calloc(count + 1, sizeof(*ranks->spaces));
	if (count > 0)
		guard_begin(quiet, run_rescue);
	if (ranks->programs && ranks->runs && ranks->hosts && ranks->spaces)
		return command_open_programs(path, scenario, ranks->programs);
	command_say("no memory");
	return COMMAND_BROKEN;
}

static int start_program(struct ranks *ranks, struct fabric *fabric, uint32_t number)
{
	struct scenario_program *program = &ranks->scenario->programs[number];
	struct host **hosts = calloc((size_t)program->host_count + 1, sizeof(struct host *));
	struct program_run_params params = {
		.main = ranks->programs[number].main,
		.name = program->name,
		.hosts = hosts,
		.size = program->host_count,
		.arg_count = (int)program->arg_count,
		.args = (const char *const *)program->args,
		.start_at = program->start_at,
		.first_space = ranks->spaces[number],
		.has_spaces = ranks->has_spaces,
		.fixed = ranks->programs[number].fixed,
		.watcher = {on_report, ranks->quiet ? on_hush : on_say, program},
	};

	ranks->hosts[number] = hosts;
	if (!hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < program->host_count; i++)
		hosts[i] = fabric->table.hosts[program->hosts[i]];
	return program_start(&params, &ranks->runs[number]);
}

static int ranks_compare_names(const void *left, const void *right)
{
	const struct scenario_program *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

/* In order of their names, in which they are the same however the scenario lists them. */
static int number_spaces(struct ranks *ranks, uint32_t *ret_count)
{
	const struct scenario *scenario = ranks->scenario;
	const uint32_t count = scenario->program_count;
	const struct scenario_program **sorted = calloc((size_t)count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &scenario->programs[i];
	qsort(sorted, count, sizeof(*sorted), ranks_compare_names);
	*ret_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		ranks->spaces[sorted[i] - scenario->programs] = *ret_count;
		*ret_count += sorted[i]->host_count;
	}
	free(sorted);
	return 0;
}

static int give_spaces(struct ranks *ranks)
{
	const struct scenario *scenario = ranks->scenario;
	const char *why = "a library or a limit is in the way";
	static uint32_t run; /* of this process */
	uint32_t count;
	bool is_first = true, fixed;
	int ret = number_spaces(ranks, &count);

	if (ret)
		return ret;
	run++;
	for (uint32_t i = 0; i < scenario->program_count; i++)
		is_first = load_use(ranks->programs[i].module, run) && is_first;
	ret = is_first ? memory_open(count, PROGRAM_STACK_BYTES) : -EBUSY;
	ranks->has_spaces = fixed = ret == 0;
	for (uint32_t i = 0; i < scenario->program_count; i++)
		fixed = fixed && ranks->programs[i].fixed;
	if (ret == -EEXIST)
		why = "something else is where it should be";
	else if (ret == -ENOSPC)
		why = "they have too many ranks";
	if (!fixed && !ranks->quiet && space_is_supported())
		command_say("the memory of programs does not lie where it does in other runs (%s): "
			    "where they send addresses, the digest is of this run alone",
			    why);
	return 0;
}

int ranks_start(struct ranks *ranks, struct fabric *fabric, uint32_t thread_count)
{
	int ret;

	if (ranks->scenario->program_count == 0)
		return 0;
	ranks->spin = spin_create(thread_count, SPIN_LIMIT_MS, on_spin, NULL);
	if (!ranks->spin)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		fabric->hosts[i].params.spin = ranks->spin;
	ret = give_spaces(ranks);
	for (uint32_t i = 0; i < ranks->scenario->program_count && !ret; i++)
		ret = start_program(ranks, fabric, i);
	return ret;
}

void ranks_stop(struct ranks *ranks)
{
	spin_destroy(ranks->spin);
	ranks->spin = NULL;
}

void ranks_fini(struct ranks *ranks)
{
	for (uint32_t i = 0; ranks->scenario && i < ranks->scenario->program_count; i++) {
		if (ranks->runs)
			program_stop(ranks->runs[i]);
		if (ranks->programs)
			program_close(&ranks->programs[i]);
		if (ranks->hosts)
			free(ranks->hosts[i]);
	}
	free(ranks->programs);
	free(ranks->runs);
	free(ranks->hosts);
	free(ranks->spaces);
	*ranks = (struct ranks){.scenario = NULL};
}
