/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "tools/inside/path.h"

#include <string.h>

enum { NARROWEST = 4 }; /* NODE */

/* What stands at the head of each column: GPUs and adapters in order of their numbers, which have
 * rows, too, then sockets. */
struct heads {
	uint32_t parts[BUS_PARTS_MAX];
	uint32_t count, row_count, gpu_count;
};

static int column_width(const struct scenario_machine *machine, uint32_t part)
{
	const int length = (int)strlen(machine->parts[part].name);

	return length > NARROWEST ? length : NARROWEST;
}

static void find_heads(const struct scenario_machine *machine, struct heads *ret_heads)
{
	ret_heads->count = 0;
	for (uint32_t n = 0; n < machine->gpu_count; n++)
		ret_heads->parts[ret_heads->count++] = machine->gpu_parts[n];
	ret_heads->gpu_count = ret_heads->count;
	for (uint32_t n = 0; n < machine->nic_count; n++)
		ret_heads->parts[ret_heads->count++] = machine->nics[n].nic;
	ret_heads->row_count = ret_heads->count;
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET)
			ret_heads->parts[ret_heads->count++] = i;
}

/* Between two GPUs. */
static bool has_xgmi(const struct scenario_machine *machine, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < machine->lane_count; i++) {
		const struct bus_lane_params *lane = &machine->lanes[i];

		if (lane->link.kind == BUS_NVLINK && inside_lane_is_xgmi(machine, i) &&
		    ((lane->a == a && lane->b == b) || (lane->a == b && lane->b == a)))
			return true;
	}
	return false;
}

static void print_cell(const struct scenario_machine *machine, const struct inside_way *ways,
		       uint32_t row, uint32_t column)
{
	const uint32_t links = row == column ? 0 : inside_nvlinks(machine, row, column);
	char text[16];

	if (links > 0 && has_xgmi(machine, row, column))
		snprintf(text, sizeof(text), "XGMI");
	else if (links > 0)
		snprintf(text, sizeof(text), "NV%u", links);
	else
		snprintf(text, sizeof(text), "%s", inside_path_name(inside_path_of(&ways[column])));
	printf("  %-*s", column_width(machine, column), text);
}

/* Flows have another memory than programs. */
static bool has_flow_memory(const struct scenario_machine *machine)
{
	for (uint32_t n = 0; n < machine->nic_count; n++)
		if (machine->nics[n].flow_place > 0)
			return true;
	return false;
}

static void print_memory(const struct scenario_machine *machine, uint32_t numa,
			 const struct host_bus *nic)
{
	const char *memory = machine->parts[nic->memory].name, *of_flows = memory;

	if (nic->flow_place > 0)
		of_flows = machine->parts[machine->gpu_parts[nic->flow_place - 1]].name;
	printf("  %-13u", numa);
	if (has_flow_memory(machine))
		printf("  %-6s  %s\n", memory, of_flows);
	else
		printf("  %s\n", memory);
}

/* @nic: NULL of a GPU. */
static void matrix_print_row(const struct scenario_machine *machine, const struct heads *heads,
			     uint32_t row, const struct host_bus *nic, int width)
{
	struct inside_way ways[BUS_PARTS_MAX];
	uint32_t numa;

	inside_ways(machine, row, ways);
	numa = machine->parts[inside_nearest_socket(machine, ways)].numa;
	printf("%-*s", width, machine->parts[row].name);
	for (uint32_t i = 0; i < heads->count; i++)
		print_cell(machine, ways, row, heads->parts[i]);
	if (nic)
		print_memory(machine, numa, nic);
	else
		printf("  %u\n", numa);
}

/* ---- what is near ---- */

static bool way_is_nearer(const struct inside_way *way, const struct inside_way *than)
{
	const enum inside_path path = inside_path_of(way), other = inside_path_of(than);

	return path != other ? path < other : way->lanes < than->lanes;
}

/* Of each GPU all adapters than which none is nearer. */
static void print_nearest(const struct scenario_machine *machine, int width)
{
	struct inside_way ways[BUS_PARTS_MAX];

	if (machine->gpu_count > 0)
		printf("\nNearest adapters:\n\n");
	for (uint32_t g = 0; g < machine->gpu_count; g++) {
		const struct inside_way *best = NULL;
		const char *before = "";

		inside_ways(machine, machine->gpu_parts[g], ways);
		for (uint32_t n = 0; n < machine->nic_count; n++)
			if (!best || way_is_nearer(&ways[machine->nics[n].nic], best))
				best = &ways[machine->nics[n].nic];
		printf("  %-*s  ", width, machine->parts[machine->gpu_parts[g]].name);
		for (uint32_t n = 0; n < machine->nic_count; n++) {
			const uint32_t nic = machine->nics[n].nic;

			if (way_is_nearer(best, &ways[nic]))
				continue;
			printf("%s%s", before, machine->parts[nic].name);
			before = ", ";
		}
		printf(" (%s)\n", inside_path_name(inside_path_of(best)));
	}
}

/* In the order of nvidia-smi: the farthest first. */
static void print_legend(const struct scenario_machine *machine)
{
	bool has[2] = {false, false}; /* NVLink, xGMI */

	printf("\nLegend:\n\n  %-4s = %s\n", inside_path_name(INSIDE_SELF),
	       inside_path_meaning(INSIDE_SELF));
	for (int path = INSIDE_PATHS - 1; path > INSIDE_SELF; path--)
		printf("  %-4s = %s\n", inside_path_name((enum inside_path)path),
		       inside_path_meaning((enum inside_path)path));
	for (uint32_t i = 0; i < machine->lane_count; i++)
		if (machine->lanes[i].link.kind == BUS_NVLINK)
			has[inside_lane_is_xgmi(machine, i)] = true;
	if (has[false])
		printf("  NV#  = over # links of NVLink\n");
	if (has[true])
		printf("  XGMI = over xGMI from GPU to GPU\n");
}

void inside_print_matrix(const struct scenario_machine *machine)
{
	struct heads heads;
	int width = 0;

	find_heads(machine, &heads);
	for (uint32_t i = 0; i < heads.row_count; i++)
		if (column_width(machine, heads.parts[i]) > width)
			width = column_width(machine, heads.parts[i]);
	printf("%-*s", width, "");
	for (uint32_t i = 0; i < heads.count; i++)
		printf("  %-*s", column_width(machine, heads.parts[i]),
		       machine->parts[heads.parts[i]].name);
	printf("  NUMA Affinity  Memory%s\n", has_flow_memory(machine) ? "  Memory of flows" : "");
	for (uint32_t i = 0; i < heads.row_count; i++) {
		const bool is_gpu = i < heads.gpu_count;
		const uint32_t nic = i - heads.gpu_count;

		matrix_print_row(machine, &heads, heads.parts[i],
				 is_gpu ? NULL : &machine->nics[nic], width);
	}
	print_nearest(machine, width);
	inside_print_gdr(machine, width);
	print_legend(machine);
}
