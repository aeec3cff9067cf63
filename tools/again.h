/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_AGAIN_H
#define TOOLS_AGAIN_H

/* "verbena run RUN": a run of the inputs that the folder of a run has kept, with its seed and what
 * its command line set, and with what this one sets on top. It goes into another folder. */
#include "tools/command.h"
#include "tools/kept.h"

struct again {
	bool is_open;
	struct kept kept;
	struct command_options options; /* those given, with the settings of both */
	char *path;			/* of the scenario, where programs that it names begin */
};

/* Opens it where the run that @options ask for is a folder with a run.json; where it is not,
 * is_open stays false. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with lines on stderr. @again
 * stays where it is, and can be closed in any case. */
int again_open(struct again *again, const struct command_options *options);
/* The same for who runs nothing and leaves the folder as it is. */
int again_open_inputs(struct again *again, const struct command_options *options);
/* Their scenario, of one that is open. enum command_exit, with lines on stderr. */
int again_read(const struct again *again, struct scenario *ret_scenario);
void again_close(struct again *again);

#endif
