/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/machines.h"

#include <errno.h>
#include <stdlib.h>

static int machines_order(const void *a, const void *b)
{
	const struct machine_seen *x = a, *y = b;

	return x->host < y->host ? -1 : x->host > y->host;
}

static uint32_t count_machines(const struct scenario *scenario)
{
	uint32_t count = 0;

	for (uint32_t m = 0; m < scenario->machine_count; m++)
		for (uint32_t a = 0; a < scenario->machines[m].adapter_count; a++)
			count += scenario->machines[m].adapters[a].nic == 0;
	return count;
}

/* First adapters come first in the host table, in order of their names. */
int machines_init(struct machines *machines, const struct scenario *scenario,
		  const struct fabric *fabric)
{
	*machines = (struct machines){
		.all = calloc((size_t)count_machines(scenario) + 1, sizeof(*machines->all))};
	if (!machines->all)
		return -ENOMEM;
	for (uint32_t m = 0; m < scenario->machine_count; m++) {
		const struct scenario_machine *is = &scenario->machines[m];

		for (uint32_t a = 0; a < is->adapter_count; a++) {
			const struct scenario_adapter *adapter = &is->adapters[a];

			if (adapter->nic == 0)
				machines->all[machines->count++] = (struct machine_seen){
					.name = scenario->topology.nodes[adapter->node].name,
					.host = adapter->host,
					.is = is,
					.bus = fabric ? fabric->table.hosts[adapter->host]->dma->bus
						      : NULL};
		}
	}
	qsort(machines->all, machines->count, sizeof(*machines->all), machines_order);
	return 0;
}

void machines_fini(struct machines *machines)
{
	free(machines->all);
	*machines = (struct machines){.all = NULL};
}

const struct machine_seen *machines_of(const struct machines *machines, struct host *host)
{
	const struct machine_seen wanted = {.host = host_first(host)->number};

	return bsearch(&wanted, machines->all, machines->count, sizeof(wanted), machines_order);
}

struct bus_way_stats machine_way_stats(const struct machine_seen *machine, uint32_t way, ps_t at)
{
	return bus_way_stats_at(machine->bus, machine_way_from(machine->is, way),
				machine_way_to(machine->is, way), at);
}
