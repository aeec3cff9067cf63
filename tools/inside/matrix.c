/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "tools/inside/path.h"

#include <string.h>

enum { NARROWEST = 4 }; /* NODE */

/* What stands at the head of each column: adapters in order of their numbers, then sockets. */
struct heads {
	uint32_t parts[BUS_PARTS_MAX];
	uint32_t count;
};

static int column_width(const struct scenario_machine *machine, uint32_t part)
{
	const int length = (int)strlen(machine->parts[part].name);

	return length > NARROWEST ? length : NARROWEST;
}

static void find_heads(const struct scenario_machine *machine, struct heads *ret_heads)
{
	ret_heads->count = 0;
	for (uint32_t n = 0; n < machine->nic_count; n++)
		ret_heads->parts[ret_heads->count++] = machine->nics[n].nic;
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET)
			ret_heads->parts[ret_heads->count++] = i;
}

static void print_adapter(const struct scenario_machine *machine, const struct heads *heads,
			  const struct host_bus *nic, int width)
{
	struct inside_way ways[BUS_PARTS_MAX];

	inside_ways(machine, nic->nic, ways);
	printf("%-*s", width, machine->parts[nic->nic].name);
	for (uint32_t i = 0; i < heads->count; i++)
		printf("  %-*s", column_width(machine, heads->parts[i]),
		       inside_path_name(inside_path_of(&ways[heads->parts[i]])));
	printf("  %-13u  %s\n", machine->parts[inside_nearest_socket(machine, ways)].numa,
	       machine->parts[nic->memory].name);
}

void inside_print_matrix(const struct scenario_machine *machine)
{
	struct heads heads;
	int width = 0;

	find_heads(machine, &heads);
	for (uint32_t n = 0; n < machine->nic_count; n++)
		if (column_width(machine, machine->nics[n].nic) > width)
			width = column_width(machine, machine->nics[n].nic);
	printf("%-*s", width, "");
	for (uint32_t i = 0; i < heads.count; i++)
		printf("  %-*s", column_width(machine, heads.parts[i]),
		       machine->parts[heads.parts[i]].name);
	printf("  NUMA Affinity  Memory\n");
	for (uint32_t n = 0; n < machine->nic_count; n++)
		print_adapter(machine, &heads, &machine->nics[n], width);
	/* In the order of nvidia-smi: the farthest first. */
	printf("\nLegend:\n\n  %-4s = %s\n", inside_path_name(INSIDE_SELF),
	       inside_path_meaning(INSIDE_SELF));
	for (int path = INSIDE_PATHS - 1; path > INSIDE_SELF; path--)
		printf("  %-4s = %s\n", inside_path_name((enum inside_path)path),
		       inside_path_meaning((enum inside_path)path));
}
