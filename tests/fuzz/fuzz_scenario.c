/* SPDX-License-Identifier: BSD-2-Clause */
/* The scenario reader over any bytes: an error is reported or a sound scenario comes out, the same
 * one each time. Files that it names are not there. */
#include "gpu/bus/bus.h"
#include "models/program/task.h"
#include "models/scenario/read.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

enum { INPUT_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

/* A bus can be made of it, unless its buffers take much memory. */
static void is_bus(const struct scenario_machine *machine)
{
	struct sim_local local;
	uint64_t headers = 0;
	struct bus *bus;

	for (uint32_t i = 0; i < machine->lane_count; i++)
		for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
			headers += machine->lanes[i].room[kind].headers;
	if (headers > 10000)
		return;
	sim_local_init(&local, 0, 0);
	CHECK(bus_create(&local, NULL, machine->params, machine->part_count, machine->lanes,
			 machine->lane_count, &bus) == 0);
	bus_destroy(bus);
}

static void are_machines(const struct scenario *s, uint32_t hosts)
{
	for (uint32_t i = 0; i < s->machine_count; i++) {
		const struct scenario_machine *machine = &s->machines[i];

		CHECK(machine->nic_count > 0 && machine->graph.parts == machine->params);
		for (uint32_t n = 0; n < machine->nic_count; n++) {
			const struct host_bus *nic = &machine->nics[n];

			CHECK(nic->nic < machine->part_count && nic->memory < machine->part_count);
			CHECK(machine->parts[nic->nic].kind == SCENARIO_ADAPTER);
			CHECK(machine->parts[nic->memory].kind == SCENARIO_SOCKET);
		}
		for (uint32_t a = 0; a < machine->adapter_count; a++) {
			CHECK(machine->adapters[a].host < hosts);
			CHECK(machine->adapters[a].nic < machine->nic_count);
		}
		is_bus(machine);
	}
}

static void is_sound(const struct scenario *s)
{
	uint32_t hosts = 0;

	for (uint32_t i = 0; i < s->topology.node_count; i++)
		hosts += !s->topology.nodes[i].is_switch;
	CHECK(hosts > 0);
	for (uint32_t i = 0; i < s->topology.link_count; i++) {
		CHECK(s->topology.links[i].name && s->topology.links[i].rate_bps > 0);
		CHECK(s->topology.links[i].delay > 0);
	}
	for (uint64_t i = 0; i < s->flow_count; i++) {
		const struct traffic_flow *flow = &s->flows[i];

		CHECK(flow->src < hosts && flow->dst < hosts && flow->src != flow->dst);
		CHECK(flow->bytes > 0 && flow->class_index < s->class_count);
		CHECK(flow->priority < s->priority_count);
	}
	for (uint32_t i = 0; i < s->program_count; i++)
		for (uint32_t rank = 0; rank < s->programs[i].host_count; rank++)
			CHECK(s->programs[i].hosts[rank] < hosts);
	for (uint32_t i = 0; i < s->fault_count; i++)
		CHECK(s->faults[i].link && s->faults[i].num <= s->faults[i].den);
	for (uint32_t i = 0; i < s->forget_count; i++) {
		const struct scenario_forget *forget = &s->forgets[i];

		CHECK(s->topology.nodes[forget->at].is_switch && forget->host < hosts);
		CHECK(forget->from_at < forget->until_at);
	}
	are_machines(s, hosts);
}

/* What is printed is one line of text. */
static void are_lines(const struct bad_list *errors)
{
	for (uint32_t i = 0; i < errors->count; i++)
		for (const char *c = errors->lines[i].text; *c; c++)
			CHECK((unsigned char)*c >= ' ' && *c != 0x7f);
}

static int once(const uint8_t *data, size_t size, uint64_t *ret_hash)
{
	struct bad_list errors = {0};
	struct scenario scenario;
	const int ret = scenario_parse("/nowhere/fuzz.yaml", (const char *)data, size, NULL,
				       &scenario, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	are_lines(&errors);
	if (ret == 0) {
		is_sound(&scenario);
		*ret_hash = scenario.hash;
		scenario_fini(&scenario);
	}
	bad_list_fini(&errors);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint64_t first = 0, second = 0;

	if (size > INPUT_MAX)
		return 0;
	if (once(data, size, &first) == 0 && once(data, size, &second) == 0)
		CHECK(first == second);
	return 0;
}
