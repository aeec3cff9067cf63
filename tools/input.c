/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/profiles/profile.h"
#include "tools/command.h"
#include "tools/compile.h"
#include "tools/incident.h"
#include "tools/play/play.h"
#include "util/alloc.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void command_print_bad(struct bad_list *errors, bool quiet)
{
	bad_list_sort(errors);
	for (uint32_t i = 0; i < errors->count; i++)
		if (!errors->lines[i].warning || !quiet)
			command_line(stderr, "%s%s", errors->lines[i].warning ? "warning: " : "",
				     errors->lines[i].text);
}

void command_name_sets(struct bad_list *errors, const char *file, uint32_t first,
		       const uint32_t *lines, uint32_t count)
{
	for (uint32_t i = 0; i < errors->count; i++) {
		struct bad_line *line = &errors->lines[i];
		const char *rest = strstr(line->text, ": ");
		char *text;

		if (strcmp(line->file, "--set") != 0 || line->line <= first ||
		    line->line > first + count || !rest)
			continue;
		if (asprintf(&text, "%s:%u%s", file, lines[line->line - first - 1], rest) < 0)
			continue;
		util_free(line->text);
		line->text = text;
	}
}

int command_read_at(const char *path, const struct command_options *options,
		    struct scenario *ret_scenario)
{
	struct bad_list errors = {.lines = NULL};
	const int ret = scenario_read(path, &options->overrides, ret_scenario, &errors);

	command_print_bad(&errors, options->quiet);
	bad_list_fini(&errors);
	if (ret == -ENOMEM)
		command_say("%s: not enough memory to read it", path);
	return ret == 0 ? COMMAND_DONE : ret == -ENOMEM ? COMMAND_BROKEN : COMMAND_BAD;
}

/* The name of a run is not yet its folder. */
bool command_run_is_named(const char *name)
{
	char file[PATH_MAX];

	return !strpbrk(name, "/.") && access(name, F_OK) != 0 &&
	       snprintf(file, sizeof(file), "verbena-out/%s/run.json", name) < (int)sizeof(file) &&
	       access(file, F_OK) == 0;
}

/* Of a machine; false: it is none, or there is a file of that name. */
static bool machine_is_named(const char *name)
{
	const struct profile *profile = profile_find(name);

	return profile && profile->is_machine && access(name, F_OK) != 0;
}

int command_read(const char *path, const struct command_options *options,
		 struct scenario *ret_scenario)
{
	const char *found = incident_path(path);
	const char *nearest = found == path ? incident_nearest(path) : NULL;

	if (found == path && machine_is_named(path)) {
		command_line(stderr,
			     "%s: file: found a machine and no file of that name, expected a "
			     "scenario, in which \"machine: %s\" gives it to all hosts; \"verbena "
			     "topo -m %s\" shows it",
			     path, path, path);
		return COMMAND_BAD;
	}
	if (found == path && command_run_is_named(path)) {
		command_line(stderr,
			     "%s: file: found no such file: \"%s\", expected a file that can be "
			     "read, or the folder of a run such as \"verbena-out/%s\"",
			     path, path, path);
		return COMMAND_BAD;
	}
	if (!nearest)
		return command_read_at(found, options, ret_scenario);
	command_line(stderr,
		     "%s: file: found no such file: \"%s\", expected a file that can be read, or "
		     "a known incident such as \"%s\"",
		     path, path, nearest);
	return COMMAND_BAD;
}

/* @ret_program NULL: only whether it could be opened. */
static int open_or_check(const char *path, struct program *ret_program,
			 char ret_error[PROGRAM_ERROR_MAX])
{
	return ret_program ? program_open(ret_program, path, ret_error)
			   : program_check(path, ret_error);
}

bool command_program_name(const char *scenario, const char *run, char ret_name[PATH_MAX])
{
	const char *slash = strrchr(scenario, '/');
	const bool is_path =
		strchr(run, '/') || compile_is_source(run) || program_is_recording(run);
	const int folder = run[0] == '/' || !is_path || !slash ? 0 : (int)(slash + 1 - scenario);

	return snprintf(ret_name, PATH_MAX, "%.*s%s", folder, scenario, run) < PATH_MAX;
}

/* The files of a recording, for free(), each too; NULL: no memory, or a path that is too long. */
static char **recording_paths(const char *scenario, const struct scenario_program *program)
{
	char **paths = calloc((size_t)program->arg_count + 2, sizeof(*paths));
	bool ok = paths != NULL;

	for (uint32_t i = 0; ok && i <= program->arg_count; i++) {
		char path[PATH_MAX];

		ok = command_program_name(scenario, i ? program->args[i - 1] : program->run, path);
		paths[i] = ok ? strdup(path) : NULL;
		ok = paths[i] != NULL;
	}
	return paths;
}

static int open_recording(const char *scenario, const struct scenario_program *program,
			  struct program *ret_program, char ret_error[PROGRAM_ERROR_MAX])
{
	const uint32_t count = program->arg_count + 1;
	char **paths = recording_paths(scenario, program);
	struct play *play = NULL;
	struct bad_text text;
	int ret = paths && paths[count - 1] ? play_open(paths, count, &play) : -ENOMEM;
	const char *lacks = ret ? strerror(-ret) : play_lacks(play, program, &text);

	for (uint32_t i = 0; paths && i < count; i++)
		free(paths[i]);
	free(paths);
	if (lacks) {
		snprintf(ret_error, PROGRAM_ERROR_MAX, "%s", lacks);
		ret = ret ? ret : -EINVAL;
	}
	if (ret || !ret_program)
		play_close(play);
	else
		*ret_program = (struct program){.main = play_main, .fixed = true, .play = play};
	return ret;
}

static int open_program(const char *scenario, const struct scenario_program *program,
			struct program *ret_program, char ret_error[PROGRAM_ERROR_MAX])
{
	char path[PATH_MAX];

	if (program_is_recording(program->run))
		return open_recording(scenario, program, ret_program, ret_error);
	if (command_program_name(scenario, program->run, path))
		return open_or_check(path, ret_program, ret_error);
	snprintf(ret_error, PROGRAM_ERROR_MAX, "its path is too long");
	return -ENOENT;
}

/* What a compiler has said, which comes before the line that says that it is bad. */
static void print_said(struct program *program)
{
	char *rest = NULL;

	for (char *line = program && program->said ? strtok_r(program->said, "\n", &rest) : NULL;
	     line; line = strtok_r(NULL, "\n", &rest))
		command_line(stderr, "%s", line);
	if (program)
		program_close(program);
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
	for (uint32_t i = 0; i < count; i++) {
		struct program *program = &ret_programs[sorted[i] - scenario->programs];

		if (open_program(path, sorted[i], program, error) != 0)
			program_close(program);
	}
	free(sorted);
	return true;
}

int command_open_programs(const char *path, const struct scenario *scenario,
			  struct program *ret_programs)
{
	int ret = scenario->program_count > 0 ? command_need_proc("programs") : COMMAND_DONE;

	if (ret)
		return ret;
	if (ret_programs && !open_all(path, scenario, ret_programs)) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	for (uint32_t i = 0; i < scenario->program_count; i++) {
		const struct scenario_program *program = &scenario->programs[i];
		char error[PROGRAM_ERROR_MAX];

		if (ret_programs && (ret_programs[i].module || ret_programs[i].play))
			continue;
		if (open_program(path, program, ret_programs ? &ret_programs[i] : NULL, error) == 0)
			continue;
		print_said(ret_programs ? &ret_programs[i] : NULL);
		command_line(stderr, "%s: programs.%u.run: found \"%s\", expected a program (%s)",
			     program->where, i, program->run, error);
		ret = COMMAND_BAD;
	}
	return ret;
}
