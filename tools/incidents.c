/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena incidents: which there are, and what one says of itself. */
#include "tools/command.h"
#include "tools/incident.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static FILE *open_incident(const char *name)
{
	const char *path = incident_find(name);

	return path ? fopen(path, "re") : NULL;
}

/* What its comments say is seen, line by line, up to why. */
static void incidents_print_summary(void *owner, const char *name)
{
	static const char seen[] = "# Seen: ", why[] = "# Why: ";
	FILE *file = strstr(name, "-cure") ? NULL : open_incident(name);
	char line[256];
	bool found = false;

	(void)owner;
	if (!file)
		return;
	while (fgets(line, sizeof(line), file) && strncmp(line, why, strlen(why)) != 0) {
		if (strncmp(line, seen, strlen(seen)) == 0)
			printf("%-16s %s", name, line + strlen(seen));
		else if (found && line[0] == '#')
			printf("%-16s %s", "", line + strspn(line, "# "));
		found = found || strncmp(line, seen, strlen(seen)) == 0;
	}
	fclose(file);
}

static int print_all(void)
{
	const int error = incident_each(incidents_print_summary, NULL);

	if (error == 0)
		return COMMAND_DONE;
	command_say("the folder of the incidents: %s", strerror(-error));
	return COMMAND_BROKEN;
}

static int print_incidents(const struct command_options *options)
{
	const char *nearest;
	FILE *file;
	char line[256];

	if (options->arg_count == 0)
		return print_all();
	file = open_incident(options->args[0]);
	nearest = file ? NULL : incident_nearest(options->args[0]);
	if (nearest) {
		command_say("found \"%s\", expected a known incident such as \"%s\"",
			    options->args[0], nearest);
		return COMMAND_BAD;
	}
	if (!file) {
		command_say("found \"%s\", expected an incident (see \"verbena incidents\")",
			    options->args[0]);
		return COMMAND_BAD;
	}
	while (fgets(line, sizeof(line), file))
		fputs(line, stdout);
	fclose(file);
	return COMMAND_DONE;
}

const struct command command_incidents = {
	.name = "incidents",
	.arguments = "[INCIDENT]",
	.summary = "known troubles, each with its cure",
	.help = "Lists the incidents that \"verbena run NAME\" runs, each with what one sees; or "
		"shows one\n"
		"of them, with why it comes about and what helps. NAME-cure is the same cured.\n",
	.args_max = 1,
	.run = print_incidents,
};
