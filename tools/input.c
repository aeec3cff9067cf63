/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/command.h"
#include "tools/incident.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

void command_print_bad(struct bad_list *errors, bool quiet)
{
	bad_list_sort(errors);
	for (uint32_t i = 0; i < errors->count; i++)
		if (!errors->lines[i].warning || !quiet)
			command_line(stderr, "%s%s", errors->lines[i].warning ? "warning: " : "",
				     errors->lines[i].text);
}

int command_read(const char *path, const struct command_options *options,
		 struct scenario *ret_scenario)
{
	struct bad_list errors = {.lines = NULL};
	const int ret =
		scenario_read(incident_path(path), &options->overrides, ret_scenario, &errors);

	command_print_bad(&errors, options->quiet);
	bad_list_fini(&errors);
	if (ret == -ENOMEM)
		command_say("%s: not enough memory to read it", path);
	return ret == 0 ? COMMAND_DONE : ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

/* @ret_program NULL: only whether it could be opened. */
static int open_or_check(const char *path, struct program *ret_program,
			 char ret_error[PROGRAM_ERROR_MAX])
{
	return ret_program ? program_open(ret_program, path, ret_error)
			   : program_check(path, ret_error);
}

/* A path in a scenario is relative to it, as that of every file there. */
static int open_program(const char *scenario, const char *run, struct program *ret_program,
			char ret_error[PROGRAM_ERROR_MAX])
{
	const char *slash = strrchr(scenario, '/');
	char path[PATH_MAX];

	if (run[0] == '/' || !strchr(run, '/') || !slash)
		return open_or_check(run, ret_program, ret_error);
	if (snprintf(path, sizeof(path), "%.*s/%s", (int)(slash - scenario), scenario, run) >=
	    (int)sizeof(path)) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "its path is too long");
		return -ENOENT;
	}
	return open_or_check(path, ret_program, ret_error);
}

static int input_compare_runs(const void *left, const void *right)
{
	const struct scenario_program *const *a = left, *const *b = right;

	return strcmp((*a)->run, (*b)->run);
}

/* In order of their names, so that where their modules lie does not depend on that of the
 * scenario's lines. Those that cannot be had are told after that. False: no memory. */
static bool open_all(const char *path, const struct scenario *scenario,
		     struct program *ret_programs)
{
	const uint32_t count = scenario->program_count;
	const struct scenario_program **sorted = calloc((size_t)count + 1, sizeof(*sorted));
	char error[PROGRAM_ERROR_MAX];

	if (!sorted)
		return false;
	for (uint32_t i = 0; i < count; i++)
		sorted[i] = &scenario->programs[i];
	qsort(sorted, count, sizeof(*sorted), input_compare_runs);
	for (uint32_t i = 0; i < count; i++)
		open_program(path, sorted[i]->run, &ret_programs[sorted[i] - scenario->programs],
			     error);
	free(sorted);
	return true;
}

int command_open_programs(const char *path, const struct scenario *scenario,
			  struct program *ret_programs)
{
	int ret = COMMAND_DONE;

	if (ret_programs && !open_all(path, scenario, ret_programs)) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < scenario->program_count; i++) {
		const struct scenario_program *program = &scenario->programs[i];
		char error[PROGRAM_ERROR_MAX];

		if (ret_programs && ret_programs[i].module)
			continue;
		if (open_program(path, program->run, ret_programs ? &ret_programs[i] : NULL,
				 error) == 0)
			continue;
		command_line(stderr, "%s: programs.%u.run: found \"%s\", expected a program (%s)",
			     program->where, i, program->run, error);
		ret = COMMAND_BAD;
	}
	return ret;
}
