/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/ranks.h"

#include "models/program/spin.h"
#include "models/program/task.h"
#include "tools/command.h"
#include "tools/guard.h"
#include "tools/memory.h"
#include "tools/observe/request_log.h"
#include "tools/play/play.h"
#include "tools/result/output.h"
#include "tools/run.h"
#include "tools/symbol.h"
#include "tools/threads.h"

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

/* By name, before it does what would not be so in virtual time. */
static void ranks_on_refusal(const char *call)
{
	const struct task *task = task_current();

	if (task)
		command_say("%s: program %s calls %s(), which is not served in virtual time",
			    task->host->node.name, task->name, call);
	else
		command_say("a program calls %s() before it runs, which is not served", call);
	run_rescue();
	_exit(COMMAND_BROKEN);
}

static int ranks_compare_names(const void *left, const void *right)
{
	const struct scenario_program *const *a = left, *const *b = right;

	return strcmp((*a)->name, (*b)->name);
}

/* In order of their names, in which they are the same however the scenario lists them. */
static int number_ranks(struct ranks *ranks)
{
	const struct scenario *scenario = ranks->scenario;
	const uint32_t count = scenario->program_count;
	const struct scenario_program **sorted = calloc((size_t)count + 1, sizeof(*sorted));

	if (!sorted)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &scenario->programs[i];
	qsort(sorted, count, sizeof(*sorted), ranks_compare_names);
	ranks->rank_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		ranks->spaces[sorted[i] - scenario->programs] = ranks->rank_count;
		ranks->rank_count += sorted[i]->host_count;
	}
	free(sorted);
	return 0;
}

/* Each rank's own of what its module can change. In order of the names of programs, as their
 * memory.
 */
static int spread_programs(struct ranks *ranks)
{
	const struct scenario *scenario = ranks->scenario;
	char error[PROGRAM_ERROR_MAX] = "not enough memory";
	int ret = number_ranks(ranks);

	for (uint32_t i = 0; i < scenario->program_count && !ret; i++) {
		const struct scenario_program *program = &scenario->programs[i];

		ret = program_spread(&ranks->programs[i], ranks->spaces[i], program->host_count,
				     error);
	}
	if (ret)
		command_say("programs: %s", error);
	return ret ? COMMAND_BROKEN : COMMAND_DONE;
}

int ranks_open(struct ranks *ranks, const char *path, const struct scenario *scenario, bool quiet)
{
	const size_t count = scenario->program_count;
	int ret;

	*ranks = (struct ranks){.scenario = scenario, .quiet = quiet};
	ranks->programs = calloc(count + 1, sizeof(*ranks->programs));
	ranks->runs = calloc(count + 1, sizeof(*ranks->runs));
	ranks->hosts = calloc(count + 1, sizeof(*ranks->hosts));
	ranks->spaces = calloc(count + 1, sizeof(*ranks->spaces));
	if (count > 0)
		guard_begin(quiet, run_rescue);
	threads_on_refusal(ranks_on_refusal);
	if (ranks->programs && ranks->runs && ranks->hosts && ranks->spaces) {
		ret = command_open_programs(path, scenario, ranks->programs);
		return ret ? ret : spread_programs(ranks);
	}
	command_say("no memory");
	return COMMAND_BROKEN;
}

static int start_program(struct ranks *ranks, struct fabric *fabric, uint32_t number)
{
	struct scenario_program *program = &ranks->scenario->programs[number];
	struct host **hosts = calloc((size_t)program->host_count + 1, sizeof(struct host *));
	struct program_run_params params = {
		.program = &ranks->programs[number],
		.name = program->name,
		.hosts = hosts,
		.size = program->host_count,
		.number = number,
		.arg_count = (int)program->arg_count,
		.args = (const char *const *)program->args,
		.start_at = program->start_at,
		.first_space = ranks->spaces[number],
		.has_spaces = ranks->has_spaces,
		.watcher = {on_report, ranks->quiet ? on_hush : on_say, program},
	};

	ranks->hosts[number] = hosts;
	if (!hosts)
		return -ENOMEM;
	for (uint32_t i = 0; i < program->host_count; i++)
		hosts[i] = fabric->table.hosts[program->hosts[i]];
	return program_start(&params, &ranks->runs[number]);
}

static int give_spaces(struct ranks *ranks)
{
	const struct scenario *scenario = ranks->scenario;
	const char *why = "a library or a limit is in the way";
	static uint32_t run; /* of this process */
	bool is_first = true, fixed;
	int ret;

	run++;
	for (uint32_t i = 0; i < scenario->program_count; i++)
		is_first = program_use(&ranks->programs[i], run) && is_first;
	ret = is_first ? memory_open(ranks->rank_count, PROGRAM_STACK_BYTES) : -EBUSY;
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
	ret = request_log_create(ranks->scenario, fabric, program_current, &ranks->requests);
	ret = ret ? ret : give_spaces(ranks);
	for (uint32_t i = 0; i < ranks->scenario->program_count && !ret; i++)
		ret = start_program(ranks, fabric, i);
	return ret;
}

void ranks_stop(struct ranks *ranks)
{
	spin_destroy(ranks->spin);
	ranks->spin = NULL;
}

/* Whether there were too few addresses for the memory of a GPU, and which. */
static bool warn_of_memory(const struct host *host, const char *path)
{
	const struct host_gpus *gpus = host->gpus;

	for (uint32_t i = 0; gpus && i < gpus->count; i++) {
		const struct gpu_memory *memory = &gpus->gpus[i].memory;

		if (memory->reach == memory->bytes)
			continue;
		command_line(
			stderr,
			"warning: %s: addresses for the memory of GPU %u at %s: found %llu MiB, "
			"expected %llu MiB: more is not given out",
			path, i, host->node.name, (unsigned long long)memory->reach >> 20,
			(unsigned long long)memory->bytes >> 20);
		return true;
	}
	return false;
}

static void ranks_warn_of_memory(const struct ranks *ranks, const char *path)
{
	for (uint32_t i = 0; i < ranks->scenario->program_count; i++)
		for (uint32_t k = 0; k < ranks->scenario->programs[i].host_count; k++)
			if (ranks->hosts[i] && warn_of_memory(ranks->hosts[i][k], path))
				return;
}

void ranks_warn(const struct ranks *ranks, const char *path)
{
	ranks_warn_of_memory(ranks, path);
	for (uint32_t i = 0; i < ranks->scenario->program_count; i++)
		for (uint32_t k = 0; k < ranks->scenario->programs[i].host_count; k++) {
			const struct host *host = ranks->hosts[i] ? ranks->hosts[i][k] : NULL;
			const uint8_t code = host ? task_timeout_unheard(host) : 0;

			if (code == 0)
				continue;
			command_line(stderr,
				     "warning: %s: ibv_modify_qp() at %s: found timeout %u, "
				     "expected 0 or any: beside nic.retransmit: selective its "
				     "length is nic.rto_low and nic.rto_high; ignored",
				     path, host->node.name, code);
			return;
		}
}

void ranks_fini(struct ranks *ranks)
{
	for (uint32_t i = 0; ranks->scenario && i < ranks->scenario->program_count; i++) {
		if (ranks->runs)
			program_stop(ranks->runs[i]);
		if (ranks->programs) {
			play_close(ranks->programs[i].play);
			program_close(&ranks->programs[i]);
		}
		if (ranks->hosts)
			free(ranks->hosts[i]);
	}
	free(ranks->programs);
	free(ranks->runs);
	free(ranks->hosts);
	free(ranks->spaces);
	request_log_destroy(ranks->requests);
	*ranks = (struct ranks){.scenario = NULL};
}
