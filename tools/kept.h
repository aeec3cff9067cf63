/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_KEPT_H
#define TOOLS_KEPT_H

/* What the folder of a run says about where it comes from, in its run.json: with it and the copies
 * beside it the run can be had again. */
#include "models/scenario/read.h"
#include "tools/result/copies.h"

struct kept {
	json_t *json;	      /* run.json */
	char *path;	      /* of the scenario, as it was named */
	const char *baseline; /* in @json; NULL: none */
	/* What the command line set. Its texts lie in @json, but the list is this one's. */
	struct scenario_overrides overrides;
	struct copies copies; /* count 0: that run is of a version that kept nothing */
};

/* Of the folder @run, which stays. COMMAND_DONE, or COMMAND_BAD or COMMAND_BROKEN with lines on
 * stderr. @kept stays where it is, and can be closed in any case, as can a zeroed one. */
int kept_open(struct kept *kept, const char *run);
void kept_close(struct kept *kept);
/* Says where its programs, as code_describe() has them, are others than they were in @run. */
void kept_warn_of_programs(const struct kept *kept, const char *run, const json_t *programs);

#endif
