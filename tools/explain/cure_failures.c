/* SPDX-License-Identifier: BSD-2-Clause */

/* Work requests that ended in error, whatever the fabric did. */
#include "tools/explain/cure_rules.h"

#include "tools/observe/host_index.h"
#include "tools/result/failures.h"

#include <inttypes.h>

static void say_status(struct advice_item *item, const struct advice_run *run,
		       const struct failures *failures, enum hca_wc_status status)
{
	const uint64_t first = failures->first[status];
	const struct request *request = request_log_at(run->result->requests, first);
	struct host *const *hosts = run->fabric->table.hosts;

	advice_say(item,
		   "%" PRIu64 " with %s, the first wr%" PRIu64 " of %s, rank %u, a %s from %s to "
		   "%s: %s.",
		   failures->of[status], failures_name(status), first,
		   run->result->programs[request->program].name, request->rank,
		   request_opcode_name(request->opcode), hosts[request->src]->node.name,
		   host_index_name(run->fabric, request->dst), failures_words(status));
}

void advice_failures(struct advice_run *run)
{
	const struct failures failures = failures_of(run->result);
	struct advice_item *item;

	if (failures.count == 0)
		return;
	item = advice_add(run, "Work requests failed");
	advice_say(item, "%" PRIu64 " work request%s of programs ended in error:", failures.count,
		   failures.count == 1 ? "" : "s");
	for (int status = 0; status < FAILURES_STATUSES; status++)
		if (failures.of[status] > 0 && status != HCA_WC_WR_FLUSH_ERR)
			say_status(item, run, &failures, (enum hca_wc_status)status);
	if (failures.of[HCA_WC_WR_FLUSH_ERR] > 0)
		say_status(item, run, &failures, HCA_WC_WR_FLUSH_ERR);
	advice_say(item, "What became of one: verbena explain RUN wrN --why slow.");
}
