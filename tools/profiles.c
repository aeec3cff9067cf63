/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/profiles/profile.h"
#include "tools/command.h"

#include <stdio.h>
#include <string.h>

/* The first line of its text, without the sign of a comment. */
static void profiles_print_summary(const struct profile *profile)
{
	const char *text = profile->text + strspn(profile->text, "# ");

	printf("%-16s %.*s\n", profile->name, (int)strcspn(text, "\n"), text);
}

static int print_profiles(const struct command_options *options)
{
	const struct profile *profile, *nearest;

	for (uint32_t i = 0; options->arg_count == 0 && i < profile_count(); i++)
		profiles_print_summary(profile_at(i));
	if (options->arg_count == 0)
		return COMMAND_DONE;
	profile = profile_find(options->args[0]);
	if (!profile) {
		nearest = profile_nearest(options->args[0]);
		if (nearest)
			command_say("found \"%s\", expected a known profile such as \"%s\"",
				    options->args[0], nearest->name);
		else
			command_say("found \"%s\", expected a profile (see \"verbena profiles\")",
				    options->args[0]);
		return COMMAND_BAD;
	}
	fputs(profile->text, stdout);
	return COMMAND_DONE;
}

const struct command command_profiles = {
	.name = "profiles",
	.arguments = "[PROFILE]",
	.summary = "known machines, switches and adapters",
	.help = "Lists the switches and adapters that \"profiles: [NAME...]\" of a scenario may "
		"name\n"
		"and the machines that \"machine: NAME\" may, or shows what one of them says, each "
		"figure\nwith its source.\n",
	.args_max = 1,
	.run = print_profiles,
};
