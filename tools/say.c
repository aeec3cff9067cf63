/* SPDX-License-Identifier: BSD-2-Clause */

/* What the command says to people: a line at a time, without what a terminal would obey. */
#include "tools/command.h"
#include "tools/result/output.h"

#include <stdarg.h>
#include <stdlib.h>

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
