/* SPDX-License-Identifier: BSD-2-Clause */

/* The verbena command: which of its words was said. */
#include "models/program/task.h"
#include "models/program/task_gpu.h"
#include "tools/command.h"
#include "tools/memory.h"
#include "tools/result/junit.h"
#include "tools/run.h"
#include "util/check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct command command_help, command_version_word;

static const struct command *const commands[] = {
	&command_run,	   &command_check,	&command_topo,	    &command_stat,
	&command_diff,	   &command_explain,	&command_report,    &command_sweep,
	&command_exec,	   &command_replay,	&command_devices,   &command_doctor,
	&command_script,   &command_new,	&command_incidents, &command_lesson,
	&command_profiles, &command_completion, &command_help,	    &command_version_word};
enum { COMMAND_COUNT = sizeof(commands) / sizeof(commands[0]) };

/* Programs of a run are tasks. */
const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds,
						  .calloc = memory_calloc,
						  .free = memory_free,
						  .is_elsewhere = task_gpu_is_elsewhere,
						  .find_dmabuf = task_gpu_find_dmabuf};

	return &tasks;
}

/* Instead of util's: what was measured is kept. */
void util_check_failed(const char *cond, const char *file, int line)
{
	fprintf(stderr, "verbena: an internal check failed: %s:%d: %s\n", file, line, cond);
	run_rescue();
	_exit(COMMAND_BROKEN);
}

const struct command *command_at(uint32_t i)
{
	return i < COMMAND_COUNT ? commands[i] : NULL;
}

const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i]->name, name) == 0)
			return commands[i];
	return NULL;
}

static void print_usage(FILE *file)
{
	fputs("usage: verbena COMMAND [OPTION...] [ARGUMENT...]\n\n", file);
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		fprintf(file, "  %-10s %-18s %s\n", commands[i]->name, commands[i]->arguments,
			commands[i]->summary);
}

static int unknown(const char *word)
{
	command_say("found \"%s\", expected a command (see \"verbena help\")", word);
	return COMMAND_BAD;
}

static int help(const char *word)
{
	const struct command *command = word ? command_find(word) : NULL;

	if (!word) {
		print_usage(stdout);
		return COMMAND_DONE;
	}
	if (!command)
		return unknown(word);
	printf("usage: verbena %s [OPTION...] %s\n\n%s\n", command->name, command->arguments,
	       command->help);
	command_print_options(command, stdout);
	return COMMAND_DONE;
}

static int say_help(const struct command_options *options)
{
	return help(options->arg_count > 0 ? options->args[0] : NULL);
}

static const struct command command_help = {
	.name = "help",
	.arguments = "[COMMAND]",
	.summary = "this, or more about a command",
	.help = "Shows the commands, or one of them and its options.\n",
	.args_max = 1,
	.run = say_help,
};

static int say_version(const struct command_options *options)
{
	(void)options;
	printf("verbena %s\n", command_version);
	return COMMAND_DONE;
}

static const struct command command_version_word = {
	.name = "--version",
	.arguments = "",
	.summary = "which version this is",
	.help = "Shows the version.\n",
	.run = say_version,
};

/* Of a command line that is wrong, wherever in it the file was named. */
static void clear_junit(const struct command *command, int argc, char **argv)
{
	for (int i = 1; i < argc && command->options & COMMAND_JUNIT; i++)
		if (strncmp(argv[i], "--junit=", 8) == 0)
			junit_clear(argv[i] + 8);
		else if (strcmp(argv[i], "--junit") == 0 && i + 1 < argc)
			junit_clear(argv[i + 1]);
}

static int verbena_run(const struct command *command, int argc, char **argv)
{
	struct command_options options;
	int ret;

	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
			return help(command->name);
	ret = command_parse(command, argc, argv, &options);
	if (ret)
		clear_junit(command, argc, argv);
	else
		ret = command->run(&options);
	command_options_free(&options);
	return ret;
}

/* What was said on stdout must have arrived. */
static int verbena_finish(int ret)
{
	const int flushed = fflush(stdout);

	if (flushed == 0 && !ferror(stdout))
		return ret;
	if (ret < COMMAND_BROKEN && flushed != 0)
		command_say("stdout: it could not be written: %s", strerror(errno));
	else if (ret < COMMAND_BROKEN)
		command_say("stdout: it could not be written");
	return ret < COMMAND_BROKEN ? COMMAND_BROKEN : ret;
}

/* Where somebody has closed one of the three, the next file would take its number and get what is
 * printed. Standard output stays one that cannot be written, so that it is told. */
static void hold_standard_files(void)
{
	static const int modes[] = {O_RDONLY, O_RDONLY, O_WRONLY};

	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
		    open("/dev/null", modes[fd]) != fd)
			_exit(COMMAND_BROKEN);
}

int main(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : NULL;

	hold_standard_files();
	if (!word) {
		print_usage(stderr);
		return COMMAND_BAD;
	}
	if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0)
		return verbena_finish(help(NULL));
	if (!command_find(word))
		return unknown(word);
	return verbena_finish(verbena_run(command_find(word), argc - 1, argv + 1));
}
