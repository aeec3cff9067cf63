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

/* Who has come to each part by fewest ways, in order of those: the way that leads there. */
static void reach_parts(const struct scenario_machine *machine, uint32_t from, int64_t *ret_ways)
{
	uint32_t reached[BUS_PARTS_MAX] = {from}, count = 1;

	for (uint32_t i = 0; i < machine->part_count; i++)
		ret_ways[i] = -1;
	for (uint32_t i = 0; i < count; i++) {
		if (i > 0 && machine->parts[reached[i]].kind == SCENARIO_GPU)
			continue;
		for (uint32_t way = 0; way < machine_ways(machine); way++) {
			const uint32_t to = machine_way_to(machine, way);

			if (machine_way_from(machine, way) != reached[i] || to == from ||
			    ret_ways[to] >= 0)
				continue;
			ret_ways[to] = way;
			reached[count++] = to;
		}
	}
}

uint32_t machine_path(const struct scenario_machine *machine, uint32_t from, uint32_t to,
		      uint32_t *ret_ways)
{
	int64_t ways[BUS_PARTS_MAX];
	uint32_t count = 0;

	reach_parts(machine, from, ways);
	for (uint32_t at = to; at != from; at = machine_way_from(machine, (uint32_t)ways[at])) {
		if (ways[at] < 0 || count == BUS_HOPS_MAX)
			return 0;
		count++;
	}
	for (uint32_t at = to, i = count; i > 0; i--) {
		ret_ways[i - 1] = (uint32_t)ways[at];
		at = machine_way_from(machine, ret_ways[i - 1]);
	}
	return count;
}
