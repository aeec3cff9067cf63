/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RESULT_INTERNAL_H
#define TOOLS_RESULT_INTERNAL_H

/* The parts of result_collect(): ports, counters and programs; flows and their classes; machines.
 */
#include "tools/observe/request_log.h"
#include "tools/result/result.h"
#include "transport/hca/wr.h"

int result_collect_flows(struct result *result, const struct traffic *traffic); /* -ENOMEM */
/* After the programs; @log NULL: there are none. -ENOMEM. */
int result_collect_requests(struct result *result, struct request_log *log);

/* Without a fabric: their shape, and every number 0. -ENOMEM; freed in any case by: */
int result_collect_machines(struct result *result);
void result_free_machines(struct result *result);

/* As it stands in requests.csv: a status of completions, or what became of it otherwise. */
const char *request_status(const struct request *request);
/* Sorts @values; without any @ret stays as it is. */
void result_times(uint64_t *values, uint64_t count, struct result_times *ret);

#endif
