/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/command.h"
#include "tools/expect/expect.h"
#include "tools/play/play.h"
#include "tools/schema_page.h"
#include "tools/sweep/sweep.h"
#include "util/alloc.h"

static int check_one(const char *path, const struct command_options *options)
{
	struct scenario scenario;
	int ret, expects;

	if (program_is_recording(path))
		return play_check(path, options->quiet);
	if (sweep_is_plan(path))
		return sweep_check(path, options);
	ret = command_read(path, options, &scenario);
	if (ret)
		return ret;
	ret = command_open_programs(path, &scenario, NULL);
	expects = expect_check(&scenario, NULL, true);
	ret = expects > ret ? expects : ret;
	if (!ret && !options->quiet)
		command_line(
			stdout,
			"%s: ok: %u node%s, %u link%s, %llu flow%s, %u program%s, %u fault%s, "
			"%u expectation%s",
			path, scenario.topology.node_count, &"s"[scenario.topology.node_count == 1],
			scenario.topology.link_count, &"s"[scenario.topology.link_count == 1],
			(unsigned long long)scenario.flow_count, &"s"[scenario.flow_count == 1],
			scenario.program_count, &"s"[scenario.program_count == 1],
			scenario.fault_count, &"s"[scenario.fault_count == 1],
			scenario.expect_count, &"s"[scenario.expect_count == 1]);
	scenario_fini(&scenario);
	return ret;
}

static int print_schema(bool is_page)
{
	char *text;

	if (is_page) {
		schema_page(stdout);
		return COMMAND_DONE;
	}
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
	int ret = options->schema ? print_schema(options->html) : COMMAND_DONE;

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
	.help = "Reads scenarios, plans of sweeps, recordings (.vbt) and all that they name, and "
		"runs nothing.\n"
		"Every error is a line on stderr: FILE:LINE: KEY: found X, expected Y. Exit "
		"status: 0 all good, 2 not.\n",
	.options = COMMAND_SEED | COMMAND_SET | COMMAND_UNTIL | COMMAND_QUIET | COMMAND_SCHEMA |
		   COMMAND_HTML,
	.args_min = 1,
	.args_max = UINT32_MAX,
	.run = tools_check,
};
