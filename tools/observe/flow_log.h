/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_FLOW_LOG_H
#define TOOLS_FLOW_LOG_H

/* What becomes of the flows of streams, of which memory holds only those under way: sums and
 * histograms of each class, and where flows.csv is wanted a row for each in a file without a name,
 * in which their numbers are places. */
#include "models/scenario/scenario.h"

struct flow_log;
struct result_class;

/* @folder: where the rows go; NULL: none are kept. @scenario outlives the log. NULL: no memory, or
 * no such file, and errno says which. */
struct flow_log *flow_log_create(const struct scenario *scenario, const char *folder);
void flow_log_destroy(struct flow_log *log); /* NULL allowed */
/* For scenario_build(). */
struct traffic_listener *flow_log_listener(struct flow_log *log);
/* Before fabric_run(). */
void flow_log_attach(struct flow_log *log, const struct traffic *traffic);

/* Class @number of the scenario, but its name. Percentiles are within 1 / 1024 of the value of
 * their rank, the mean is exact. False: it has no stream. */
bool flow_log_class(const struct flow_log *log, uint32_t number, struct result_class *ret_class);
/* When the last of them ended; 0: none did. */
ps_t flow_log_last_end(const struct flow_log *log);

struct flow_log_row {
	struct traffic_flow flow; /* what is asked for, and what became of it */
	ps_t ideal;
};
/* Every row by its number, from that of the first on. 0, negative errno, or what @each returned. */
int flow_log_rows(const struct flow_log *log,
		  int (*each)(void *owner, uint64_t id, const struct flow_log_row *row),
		  void *owner);

#endif
