/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

/* A run once more, for questions about it: since it is a function of its scenario, its seed and
 * this version, nobody has to have written down what happened. A run is named by its folder, or by
 * its scenario. */
#include "tools/command.h"
#include "tools/observe/events.h"
#include "tools/observe/flow_log.h"
#include "tools/ranks.h"
#include "tools/result/back.h"

struct replay {
	const char *name; /* as given: folder or scenario */
	char *path;	  /* of the scenario */
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
	struct ranks ranks;
	struct events events;
	const char *rows_in;	/* folder for the rows of streamed flows; NULL: they are not kept */
	struct flow_log *log;	/* NULL: no streams, or not kept */
	struct back_run before; /* what the folder says of the run in it */
	bool same_scenario;	/* as that run had */
};

/* run.json: what a folder says about where it comes from. 0, -ENOMEM, -EIO. */
int replay_write(const struct command_options *options, const struct scenario *scenario,
		 FILE *file);

/* Reads everything; @options: overrides, where @name is a scenario. COMMAND_DONE, or COMMAND_BAD or
 * COMMAND_BROKEN with lines on stderr; can be finished in any case. */
int replay_open(struct replay *replay, const char *name, const struct command_options *options);
/* Builds it, so that events have ports; listeners come next. As above. @rows_in may be set before.
 */
int replay_build(struct replay *replay);
/* Runs it. 0, or what a listener has returned, or negative errno. */
int replay_run(struct replay *replay);
/* Once it has run: whether the memory of all its programs lay where it does in every run. */
bool replay_is_fixed(const struct replay *replay);
/* Where it has @digest and @is_fixed now: why the run in the folder had another one, as one says it
 * behind "NAME: "; NULL: it had not, or there is none. */
const char *replay_change(const struct replay *replay, uint64_t digest, bool is_fixed);
void replay_fini(struct replay *replay); /* zeroed: allowed */

#endif
