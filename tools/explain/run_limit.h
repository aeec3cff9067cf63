/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_RUN_LIMIT_H
#define TOOLS_EXPLAIN_RUN_LIMIT_H

/* What held an adapter up over a whole run. */
#include "tools/explain/limit.h"
#include "tools/result/result.h"

/* After the run, as limit_find(). False as well: @host has no machine. */
bool run_limit_find(const struct result *result, const struct machines *machines, struct host *host,
		    bool sends, struct limit *ret_limit);
/* limit_reason() of an adapter that took packets in slowly, for free(); NULL: nothing is known. */
char *run_limit_reason(const struct result *result, const struct machines *machines,
		       struct host *host);

#endif
