/* SPDX-License-Identifier: BSD-2-Clause */

/* verbena completion: for each shell the few lines of tools/completion/ that ask "verbena
 * completion words" and hand on what it says. */
#include "tools/completion.h"

#include "tools/command.h"

#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *text;
} shells[] = {
#include "completion_shells.inc"
};

static int complete(const struct command_options *options)
{
	if (strcmp(options->args[0], "words") == 0) {
		completion_words(options->args + 1, options->arg_count - 1);
		return COMMAND_DONE;
	}
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		if (strcmp(options->args[0], shells[i].name) != 0 || options->arg_count > 1)
			continue;
		fputs(shells[i].text, stdout);
		return COMMAND_DONE;
	}
	command_say("completion: found \"%s\", expected bash or zsh", options->args[0]);
	return COMMAND_BAD;
}

const struct command command_completion = {
	.name = "completion",
	.arguments = "bash|zsh",
	.summary = "what makes a shell complete these words",
	.help = "Prints the completion of this command for a shell: . <(verbena completion bash). "
		"It asks\n"
		"\"verbena completion words -- WORD...\" what the last word may become.\n",
	.args_min = 1,
	.args_max = UINT32_MAX,
	.run = complete,
};
