/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/run_limit.h"

#include <stdlib.h>

bool run_limit_find(const struct result *result, const struct machines *machines, struct host *host,
		    bool sends, struct limit *ret_limit)
{
	const struct machine_seen *machine = machines_of(machines, host);
	const ps_t last = sim_now(result->fabric->sim);
	struct machine_watch watch;
	bool is_known = false;

	if (!machine)
		return false;
	if (machine_watch_init(&watch, machine) == 0) {
		machine_watch_end(&watch, last > result->time ? last : result->time);
		is_known = limit_find(&watch, host, sends, ret_limit);
	}
	machine_watch_fini(&watch);
	return is_known;
}

char *run_limit_reason(const struct result *result, const struct machines *machines,
		       struct host *host)
{
	struct limit limit;
	char *text = NULL;
	size_t length;
	FILE *file;

	if (!run_limit_find(result, machines, host, false, &limit) || limit.kind == LIMIT_NONE)
		return NULL;
	file = open_memstream(&text, &length);
	if (!file)
		return NULL;
	limit_reason(&limit, file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}
