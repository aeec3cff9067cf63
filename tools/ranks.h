/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RANKS_H
#define TOOLS_RANKS_H

/* The programs of a scenario, as tasks on the hosts of its fabric. */
#include "models/scenario/scenario.h"
#include "tools/program.h"

struct ranks {
	const struct scenario *scenario;
	struct program *programs; /* as many as the scenario has */
	struct program_run **runs;
	struct host ***hosts; /* of the ranks of each */
	uint32_t *spaces;     /* of each, the number of its first */
	uint32_t rank_count;  /* of all programs */
	bool has_spaces;
	struct spin *spin;
	struct request_log *requests; /* of theirs; NULL: there are no programs */
	bool quiet;		      /* what they say is not shown */
};

/* Loads them; from here to guard_end() standard output is kept from them. @path is that of the
 * scenario. COMMAND_DONE, COMMAND_BAD or COMMAND_BROKEN, with lines on stderr; can be finished in
 * any case. */
int ranks_open(struct ranks *ranks, const char *path, const struct scenario *scenario, bool quiet);
/* Between scenario_build() and fabric_run(). -ENOMEM. */
int ranks_start(struct ranks *ranks, struct fabric *fabric, uint32_t thread_count);
void ranks_stop(struct ranks *ranks); /* after the run; more than once: allowed */
/* After it, while there is a fabric: what programs asked for and a key of the scenario at @path
 * goes before, as warnings. */
void ranks_warn(const struct ranks *ranks, const char *path);
void ranks_fini(struct ranks *ranks); /* once the fabric is gone; zeroed: allowed */

#endif
