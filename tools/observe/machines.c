/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/machines.h"

#include "models/machine/managed.h"
#include "tools/inside/inside.h"

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

static struct machine_seen seen_of(const char *name, const struct scenario_machine *is,
				   uint32_t number, const struct fabric *fabric)
{
	const struct host *host = fabric ? fabric->table.hosts[number] : NULL;

	return (struct machine_seen){.name = name,
				     .host = number,
				     .is = is,
				     .managed = host ? host_managed_find(host) : NULL,
				     .gpus = host ? host->gpus : NULL,
				     .bus = host ? host->dma->bus : NULL};
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
				machines->all[machines->count++] =
					seen_of(scenario->topology.nodes[adapter->node].name, is,
						adapter->host, fabric);
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

bool machines_have_gpus(const struct scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->machine_count; i++)
		if (scenario->machines[i].gpu_count > 0)
			return true;
	return false;
}

uint32_t machine_way_links(const struct scenario_machine *machine, uint32_t way)
{
	const struct bus_link *link = &machine->lanes[way / 2].link;

	return link->kind == BUS_NVLINK ? link->nvlink.links : 1;
}

const char *machine_way_mark(const struct scenario_machine *machine, uint32_t way)
{
	if (machine->lanes[way / 2].link.kind != BUS_NVLINK)
		return "";
	return inside_lane_is_xgmi(machine, way / 2) ? " xgmi" : " nvlink";
}

struct bus_way_stats machine_way_stats(const struct machine_seen *machine, uint32_t way, ps_t at)
{
	const uint32_t from = machine_way_from(machine->is, way);
	const uint32_t to = machine_way_to(machine->is, way);

	return machine->is->lanes[way / 2].link.kind == BUS_NVLINK
		       ? bus_nvlink_stats_at(machine->bus, from, to, at)
		       : bus_way_stats_at(machine->bus, from, to, at);
}

/* But of NVLink, of a lane that there is. */
static uint32_t machine_way_between(const struct scenario_machine *machine, uint32_t from,
				    uint32_t to)
{
	uint32_t way = 0;

	while (machine_way_from(machine, way) != from || machine_way_to(machine, way) != to)
		way++;
	return way;
}

uint32_t machine_path(const struct machine_seen *machine, uint32_t from, uint32_t to,
		      uint32_t *ret_ways)
{
	uint32_t parts[BUS_PATH_MAX];
	const uint32_t count = bus_path(machine->bus, from, to, parts) - 1;

	for (uint32_t i = 0; i < count; i++)
		ret_ways[i] = machine_way_between(machine->is, parts[i], parts[i + 1]);
	return count;
}
