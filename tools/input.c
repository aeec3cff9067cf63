/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/command.h"

#include <errno.h>

void command_print_bad(struct bad_list *errors, bool quiet)
{
	bad_list_sort(errors);
	for (uint32_t i = 0; i < errors->count; i++)
		if (!errors->lines[i].warning || !quiet)
			fprintf(stderr, "%s%s\n", errors->lines[i].warning ? "warning: " : "",
				errors->lines[i].text);
}

int command_read(const char *path, const struct command_options *options,
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

int command_open_programs(const char *path, const struct scenario *scenario,
			  struct program *ret_programs)
{
	int ret = COMMAND_DONE;

	for (uint32_t i = 0; i < scenario->program_count; i++) {
		const struct scenario_program *program = &scenario->programs[i];
		char error[PROGRAM_ERROR_MAX];

		if (program_open(&ret_programs[i], program->run, error) == 0)
			continue;
		fprintf(stderr, "%s:1: programs.%u.run: found \"%s\", expected a program (%s)\n",
			path, i, program->run, error);
		ret = COMMAND_BAD;
	}
	return ret;
}
