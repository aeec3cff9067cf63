/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPLAY_H
#define TOOLS_REPLAY_H

/* A run once more, for questions about it: since it is a function of its scenario, its seed and
 * this version, nobody has to have written down what happened. A run is named by its folder, or by
 * its scenario. */
#include "tools/command.h"
#include "tools/kept.h"
#include "tools/observe/events.h"
#include "tools/observe/flow_log.h"
#include "tools/ranks.h"
#include "tools/result/back.h"
#include "tools/result/copies.h"
#include "tools/result/result.h"

struct replay {
	const char *name; /* as given: folder or scenario */
	char *path;	  /* of the scenario: where programs that it names by a path begin */
	struct kept kept; /* what the folder says; zeroed: it is none */
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
	struct ranks ranks;
	struct events events;
	const char *rows_in;	/* folder for the rows of streamed flows; NULL: they are not kept */
	struct flow_log *log;	/* NULL: no streams, or not kept */
	struct back_run before; /* what the folder says of the run in it */
	bool same_scenario;	/* as that run had */
	bool is_cut; /* by the scenario's key memory: what is known is of the part up to there */
	json_t *baseline; /* which that run was compared with; NULL: none */
};

/* run.json: what a folder says about where it comes from. 0, -ENOMEM, -EIO. */
struct replay_origin {
	const char *path; /* of the scenario, as it was named */
	const struct scenario_overrides *overrides;
	const struct scenario *scenario;
	const struct copies *copies;
	const char *baseline; /* the file; NULL: none */
	json_t *programs;     /* code_describe(), when they were opened */
};
int replay_write(const struct replay_origin *origin, FILE *file);

/* Reads everything; @options: overrides, where @name is a scenario. COMMAND_DONE, or COMMAND_BAD or
 * COMMAND_BROKEN with lines on stderr; can be finished in any case. */
int replay_open(struct replay *replay, const char *name, const struct command_options *options);
/* Says which of the files that the run in the folder has read are others by now where they lie:
 * what is run again is what was run then; and where its programs, which are not kept, are others.
 */
void replay_warn_of_edits(const struct replay *replay, const struct command_options *options);
/* Settings are for scenarios: with the folders of runs alone, which are as they were, they are
 * refused. @count: of the arguments that name runs. COMMAND_DONE, or COMMAND_BAD with a line on
 * stderr. */
int replay_check_settings(const char *command, const struct command_options *options,
			  uint32_t count);
/* Builds it, so that events have ports; listeners come next. As above. @rows_in may be set before.
 */
int replay_build(struct replay *replay);
/* Runs it. 0, also where is_cut is set, or what a listener has returned, or negative errno. */
int replay_run(struct replay *replay);
/* Once it has run: what its result is made from, but for the time that it took. */
struct result_source replay_source(const struct replay *replay);
/* Once it has run: whether the memory of all its programs lay where it does in every run. */
bool replay_is_fixed(const struct replay *replay);
/* Where it has @digest and @is_fixed now: why the run in the folder had another one, as one says it
 * behind "NAME: "; NULL: it had not, or there is none. */
const char *replay_change(const struct replay *replay, uint64_t digest, bool is_fixed);
/* Says that a run which is_cut has ended at @at. */
void replay_warn_of_cut(const struct replay *replay, ps_t at);
void replay_fini(struct replay *replay); /* zeroed: allowed */

#endif
