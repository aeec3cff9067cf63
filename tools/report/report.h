/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REPORT_REPORT_H
#define TOOLS_REPORT_REPORT_H

/* report.html: a run on one page, for somebody who never saw Verbena. One file that needs no
 * network: styles, scripts and data are in it. What ran, whether it finished, what was lost, who
 * was paused, where queues grew and what would cure it is there as text; scripts add the drawing of
 * the topology and the charts. The data are in it as JSON, too: element "result" is result.json,
 * element "data" the rest. Names may hold anything (UTF-8): nothing in them becomes markup or
 * script. */
#include "models/fabric/sampler.h"
#include "tools/explain/cure.h"
#include "tools/explain/pause_tree.h"
#include "tools/observe/packet_log.h"
#include "tools/result/result.h"

#include <stdio.h>

struct report {
	const struct result *result;
	const struct sampler *sampler;	  /* NULL: nothing over time */
	const struct pause_tree *pauses;  /* NULL, or never started: nobody listened */
	const struct spells *spells;	  /* the same */
	const struct packet_log *packets; /* the same, of chosen flows */
	const struct advice *advice;	  /* NULL: not asked for */
	/* How commands name it: its folder, or the scenario, then with settings; NULL: nobody
	 * knows. */
	const char *run;
	bool is_scenario;
};

/* -ENOMEM, -EIO. */
int report_write(const struct report *report, FILE *file);
/* Two runs side by side: a table of what differs, and below it both pages, all in one file. As
 * above. */
int report_write_pair(const struct report pair[2], const char *const names[2], FILE *file);

#endif
