/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "tools/result/output.h"

/* Names of parts are letters, digits, - and _. */

static void print_part(const struct scenario_part *part)
{
	printf("\t\"%s\" ", part->name);
	if (part->kind == SCENARIO_SOCKET)
		printf("[shape=box3d, label=\"%s\\nNUMA %u\"]\n", part->name, part->numa);
	else if (part->kind == SCENARIO_PCIE_SWITCH)
		printf("[style=filled]\n");
	else if (part->kind == SCENARIO_NVSWITCH)
		printf("[shape=hexagon, style=filled]\n");
	else
		printf("[shape=ellipse]\n");
}

void inside_print_dot(const struct scenario_machine *machine, const char *title)
{
	char text[INSIDE_LANE_MAX], rate[OUTPUT_TEXT_MAX];

	printf("graph \"%s\" {\n\tlabel=\"%s\"\n\tnode [shape=box]\n", title, title);
	for (uint32_t i = 0; i < machine->part_count; i++)
		print_part(&machine->parts[i]);
	for (uint32_t i = 0; i < machine->lane_count; i++) {
		const struct bus_lane_params *lane = &machine->lanes[i];

		printf("\t\"%s\" -- \"%s\" [label=\"%s, %s/s\"]\n", machine->parts[lane->a].name,
		       machine->parts[lane->b].name, inside_lane_text(machine, i, text),
		       output_bytes(inside_lane_rate(&lane->link), rate));
	}
	printf("}\n");
}
