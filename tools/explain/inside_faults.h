/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_INSIDE_FAULTS_H
#define TOOLS_EXPLAIN_INSIDE_FAULTS_H

/* What went wrong inside of a machine (machine.faults) while somebody looked, and whether that
 * could be felt. */
#include "models/input/bad.h"
#include "tools/explain/machine_watch.h"

#include <stdio.h>

struct inside_fault_seen {
	const struct bus_fault *fault; /* of several links the first */
	uint32_t links;		       /* of NVLink: so many, ... */
	uint32_t links_all;	       /* ... of these; else 1 of 1 */
	uint32_t way;		       /* that it happened to; of a part: UINT32_MAX */
	ps_t time;		       /* that it lasted while somebody looked, ... */
	ps_t whole;		       /* ... which was so long */
	struct bus_way_stats did; /* @way, in all that time; of a part what it sent most over */
};

/* The next one from *at on, which goes behind it; begins with 0. Of an entry of the list there is
 * one for each direction. False: there are no more. */
bool inside_faults_next(const struct machine_watch *watch, uint32_t *at,
			struct inside_fault_seen *ret_seen);
/* Something was the slower for it: bytes were sent again, or what it lasted is a part of the time
 * that counts. */
bool inside_fault_matters(const struct inside_fault_seen *seen);

/* "the lane sw0 > nic0 (pcie gen 5 x16) was down for ...". */
void inside_fault_say(const struct machine_seen *machine, const struct inside_fault_seen *seen,
		      FILE *file);
/* "machines.0.faults.2.down" */
const char *inside_fault_key(const struct machine_seen *machine,
			     const struct inside_fault_seen *seen, struct bad_text *ret_text);
/* What the link of @way was where generation or width were less for nearly all the time. */
struct bus_link inside_fault_link(const struct bus_link *link,
				  const struct inside_fault_seen *seen);

#endif
