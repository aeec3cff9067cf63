/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

/* What a person sees while a run lasts, on stderr and only on a terminal; and the signals that end
 * it at the next window. */
#include "models/fabric/fabric.h"

struct progress {
	struct fabric_watcher watcher;
	bool shown, visible;
	ps_t until; /* PS_NEVER: not known */
	double began, last;
	uint32_t windows;
	uint64_t last_hops;
};

void progress_start(struct progress *progress, struct fabric *fabric, ps_t until, bool quiet);
void progress_end(struct progress *progress); /* takes the line away */

double progress_clock(void); /* seconds, of a clock that only goes on */
int progress_signal(void);   /* that has asked for the end; 0: none */

#endif
