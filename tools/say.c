/* SPDX-License-Identifier: BSD-2-Clause */

/* What the command says to people: a line at a time, without what a terminal would obey. */
#include "tools/command.h"
#include "tools/result/output.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static void say_put_line(FILE *file, const char *format, va_list args)
{
	char *text = NULL;

	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	output_line(text ? text : "no memory for a message", file);
	fputc('\n', file);
	free(text);
}

void command_line(FILE *file, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say_put_line(file, format, args);
	va_end(args);
}

void command_say(const char *format, ...)
{
	va_list args;

	fputs("verbena: ", stderr);
	va_start(args, format);
	say_put_line(stderr, format, args);
	va_end(args);
}

void command_say_error(const char *path, int error)
{
	struct rlimit limit;

	if (error == ENOMEM && getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
		command_say(
			"%s: %s; this process may have addresses for %llu MiB (ulimit -v), and a "
			"run reserves more than it uses",
			path, strerror(error), (unsigned long long)limit.rlim_cur >> 20);
	else
		command_say("%s: %s", path, strerror(error));
}

int command_need_proc(const char *what)
{
	if (access("/proc/self/exe", F_OK) == 0)
		return COMMAND_DONE;
	command_say("/proc is not mounted, and %s need it", what);
	return COMMAND_BROKEN;
}
