/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/command.h"
#include "tools/expect/expect.h"
#include "util/alloc.h"

static int check_one(const char *path, const struct command_options *options)
{
	struct scenario scenario;
	int ret = command_read(path, options, &scenario), expects;

	if (ret)
		return ret;
	ret = command_open_programs(path, &scenario, NULL);
	expects = expect_check(&scenario);
	ret = expects > ret ? expects : ret;
	if (!ret && !options->quiet)
		command_line(stdout,
			     "%s: ok: %u nodes, %u links, %llu flows, %u programs, %u faults, %u "
			     "expectations",
			     path, scenario.topology.node_count, scenario.topology.link_count,
			     (unsigned long long)scenario.flow_count, scenario.program_count,
			     scenario.fault_count, scenario.expect_count);
	scenario_fini(&scenario);
	return ret;
}

static int print_schema(void)
{
	char *text;

	if (scenario_schema_text(&text) != 0) {
		command_say("no memory");
		return COMMAND_BROKEN;
	}
	fputs(text, stdout);
	util_free(text);
	return COMMAND_DONE;
}

static int tools_check(const struct command_options *options)
{
	int ret = options->schema ? print_schema() : COMMAND_DONE;

	for (uint32_t i = 0; i < options->arg_count; i++) {
		const int one = check_one(options->args[i], options);

		ret = one > ret ? one : ret;
	}
	return ret;
}

const struct command command_check = {
	.name = "check",
	.arguments = "FILE...",
	.summary = "say what is wrong with scenarios",
	.help = "Reads scenarios and all that they name, and runs nothing. Every error is a line "
		"on\n"
		"stderr: FILE:LINE: KEY: found X, expected Y. Exit status: 0 all good, 2 not.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_SCHEMA,
	.args_min = 1,
	.args_max = UINT32_MAX,
	.run = tools_check,
};
