/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/path.h"

static const struct {
	const char *name, *meaning;
} paths[INSIDE_PATHS] = {
	[INSIDE_SELF] = {"X", "itself"},
	[INSIDE_PIX] = {"PIX", "through one PCIe switch at most, and no socket"},
	[INSIDE_PXB] = {"PXB", "through several PCIe switches, and no socket"},
	[INSIDE_PHB] = {"PHB", "through a socket, the root of its PCIe (a host bridge)"},
	[INSIDE_NODE] = {"NODE", "through several sockets or host bridges of one NUMA node"},
	[INSIDE_SYS] = {"SYS",
			"through sockets of several NUMA nodes (over UPI, xGMI or the like)"},
};

const char *inside_path_name(enum inside_path path)
{
	return paths[path].name;
}

const char *inside_path_meaning(enum inside_path path)
{
	return paths[path].meaning;
}

/* At the end of @way stands part @at: with the socket that it may be. */
static struct inside_way arrive(const struct scenario_machine *machine, struct inside_way way,
				uint32_t at)
{
	const struct scenario_part *part = &machine->parts[at];

	if (part->kind != SCENARIO_SOCKET)
		return way;
	way.is_far = way.is_far || (way.sockets > 0 && way.numa != part->numa);
	way.numa = part->numa;
	way.sockets++;
	return way;
}

void inside_ways(const struct scenario_machine *machine, uint32_t from, struct inside_way *ret_ways)
{
	for (uint32_t i = 0; i < machine->part_count; i++)
		ret_ways[i] = (struct inside_way){.lanes = UINT32_MAX};
	ret_ways[from] = arrive(machine, (struct inside_way){.lanes = 0}, from);
	/* All others make a tree: each part is come to once, over one of them. */
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < machine->lane_count; i++) {
			const uint32_t ends[] = {machine->lanes[i].a, machine->lanes[i].b};
			const bool turned = ret_ways[ends[0]].lanes == UINT32_MAX;
			const uint32_t near = ends[turned], next = ends[!turned];
			struct inside_way way = ret_ways[near];

			if (machine->lanes[i].link.kind == BUS_NVLINK)
				break; /* so are all behind it */
			if (way.lanes == UINT32_MAX || ret_ways[next].lanes != UINT32_MAX)
				continue;
			way.lanes++;
			way.switches +=
				near != from && machine->parts[near].kind != SCENARIO_SOCKET;
			way.has_bridges |= near != from && machine->parts[near].has_bridges;
			ret_ways[next] = arrive(machine, way, next);
			more = true;
		}
	}
}

/* The part at the other end of a lane of NVLink that @part has; UINT32_MAX: it is none. */
static uint32_t other_end(const struct bus_lane_params *lane, uint32_t part)
{
	if (lane->link.kind != BUS_NVLINK)
		return UINT32_MAX;
	return lane->a == part ? lane->b : lane->b == part ? lane->a : UINT32_MAX;
}

/* One end of a lane of NVLink leads to @part if it is an NVSwitch and the other does, or is @part.
 * True: that was not known. */
static bool find_lead(const struct scenario_machine *machine, uint32_t lane, uint32_t end,
		      uint32_t part, bool *lead)
{
	const uint32_t next = other_end(&machine->lanes[lane], end);

	if (next == UINT32_MAX || lead[end] || machine->parts[end].kind != SCENARIO_NVSWITCH)
		return false;
	lead[end] = next == part || lead[next];
	return lead[end];
}

/* NVSwitches from which @part can be reached. */
static void find_nvswitches(const struct scenario_machine *machine, uint32_t part, bool *ret_lead)
{
	for (uint32_t i = 0; i < machine->part_count; i++)
		ret_lead[i] = false;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t k = 0; k < machine->lane_count; k++) {
			more |= find_lead(machine, k, machine->lanes[k].a, part, ret_lead);
			more |= find_lead(machine, k, machine->lanes[k].b, part, ret_lead);
		}
	}
}

/* Those of @part to NVSwitches that lead to @to. */
static uint32_t switched_links(const struct scenario_machine *machine, uint32_t part, uint32_t to)
{
	bool lead[BUS_PARTS_MAX];
	uint32_t count = 0;

	find_nvswitches(machine, to, lead);
	for (uint32_t k = 0; k < machine->lane_count; k++) {
		const uint32_t next = other_end(&machine->lanes[k], part);

		count += next != UINT32_MAX && lead[next] ? machine->lanes[k].link.nvlink.links : 0;
	}
	return count;
}

uint32_t inside_nvlinks(const struct scenario_machine *machine, uint32_t a, uint32_t b)
{
	uint32_t from_a, from_b;

	for (uint32_t k = 0; k < machine->lane_count; k++)
		if (other_end(&machine->lanes[k], a) == b)
			return machine->lanes[k].link.nvlink.links;
	from_a = switched_links(machine, a, b);
	from_b = switched_links(machine, b, a);
	return from_a < from_b ? from_a : from_b;
}

enum inside_path inside_path_of(const struct inside_way *way)
{
	if (way->lanes == 0)
		return INSIDE_SELF;
	if (way->sockets == 0)
		return way->switches <= 1 ? INSIDE_PIX : INSIDE_PXB;
	if (way->sockets == 1)
		return way->has_bridges ? INSIDE_NODE : INSIDE_PHB;
	return way->is_far ? INSIDE_SYS : INSIDE_NODE;
}

uint32_t inside_nearest_socket(const struct scenario_machine *machine,
			       const struct inside_way *ways)
{
	uint32_t nearest = UINT32_MAX;

	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET &&
		    (nearest == UINT32_MAX || ways[i].lanes < ways[nearest].lanes))
			nearest = i;
	return nearest;
}
