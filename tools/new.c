/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena new: a folder to begin with, from the files of the template. */
#include "tools/command.h"
#include "tools/share.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NAME_MAX_BYTES = 60 };
static const char placeholder[] = "@NAME@";

/* Of the template, NULL: a folder; and in the new folder. */
static const struct part {
	const char *from, *to;
	mode_t mode;
} parts[] = {{"program.c", "@NAME@.c", 0666},
	     {"scenario.yaml", "scenario.yaml", 0666},
	     {"processes.sh", "processes.sh", 0777},
	     {"meson.build", "meson.build", 0666},
	     {"README.md", "README.md", 0666},
	     {"gitignore", ".gitignore", 0666},
	     {NULL, ".github", 0777},
	     {NULL, ".github/workflows", 0777},
	     {"workflow.yml", ".github/workflows/test.yml", 0666}};

/* It is the name of a file, a scenario, a project and a job. */
static bool new_name_is_good(const char *name)
{
	size_t length = 0;

	if (!isalpha((unsigned char)name[0]))
		return false;
	while (isalnum((unsigned char)name[length]) || name[length] == '_' || name[length] == '-')
		length++;
	return name[length] == '\0' && length <= NAME_MAX_BYTES;
}

/* @text with @name wherever it says @NAME@. */
static void put_named(FILE *file, const char *text, const char *name)
{
	for (const char *at; (at = strstr(text, placeholder)) != NULL;
	     text = at + strlen(placeholder))
		fprintf(file, "%.*s%s", (int)(at - text), text, name);
	fputs(text, file);
}

/* 0, or -errno of either file. */
static int copy_part(const char *from, const char *to, const char *name, mode_t mode)
{
	FILE *in = fopen(from, "re"), *out;
	char *line = NULL;
	size_t room = 0;
	int ret;

	if (!in)
		return -errno;
	out = fopen(to, "wxe");
	ret = out ? 0 : -errno;
	while (!ret && getline(&line, &room, in) >= 0)
		put_named(out, line, name);
	if (!ret && (ferror(in) || ferror(out)))
		ret = -EIO;
	if (out && fclose(out) != 0 && !ret)
		ret = -errno;
	if (!ret && mode & 0111) {
		const mode_t mask = umask(0);

		umask(mask);
		ret = chmod(to, mode & ~mask) != 0 ? -errno : 0;
	}
	free(line);
	fclose(in);
	return ret;
}

static int make_part(const struct part *part, const char *name)
{
	static const struct share_room template = {"template", "docs/template"};
	char from[PATH_MAX], to[PATH_MAX];
	int ret;

	snprintf(to, sizeof(to), "%s/%s", name, part->to);
	if (strcmp(part->to, "@NAME@.c") == 0)
		snprintf(to, sizeof(to), "%s/%s.c", name, name);
	if (!part->from)
		ret = mkdir(to, part->mode) != 0 ? -errno : 0;
	else
		ret = share_find(&template, part->from, from)
			      ? copy_part(from, to, name, part->mode)
			      : -ENOENT;
	if (!ret)
		return COMMAND_DONE;
	command_say("%s: %s", to, strerror(-ret));
	return COMMAND_BROKEN;
}

static int new_make(const struct command_options *options)
{
	const char *name = options->args[0];
	int ret = COMMAND_DONE;

	if (!new_name_is_good(name)) {
		command_say("new: found \"%s\", expected a name that begins with a letter, of at "
			    "most %d letters, digits, - and _",
			    name, NAME_MAX_BYTES);
		return COMMAND_BAD;
	}
	if (mkdir(name, 0777) != 0) {
		command_say("new: %s: %s", name, strerror(errno));
		return errno == EEXIST ? COMMAND_BAD : COMMAND_BROKEN;
	}
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]) && !ret; i++)
		ret = make_part(&parts[i], name);
	if (!ret && !options->quiet)
		printf("%s: a program, its scenario and their tests. Next:\n"
		       "  cd %s && verbena run scenario.yaml\n"
		       "  meson setup build && meson test -C build\n",
		       name, name);
	return ret;
}

const struct command command_new = {
	.name = "new",
	.arguments = "NAME",
	.summary = "a folder to begin with: program, scenario, tests",
	.help = "Writes the folder NAME: a program for libibverbs, a scenario that runs it in "
		"virtual time with\n"
		"what is expected of it, a meson.build that tests both this and the program as "
		"processes, and\n"
		"a workflow for CI.\n",
	.options = COMMAND_QUIET,
	.args_min = 1,
	.args_max = 1,
	.run = new_make,
};
