/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"
#include "tools/inside/path.h"

#include <stdlib.h>
#include <string.h>

/* Distances of an adapter from a GPU as NCCL tells them, the nearer the smaller; it takes GPUDirect
 * RDMA up to one of them, and the way through host memory beyond it (NCCL src/graph/paths.cc). */
enum gdr_level { GDR_LOC, GDR_PIX, GDR_PXB, GDR_P2C, GDR_PHB, GDR_SYS, GDR_LEVELS };

static const char *const level_names[GDR_LEVELS] = {"LOC", "PIX", "PXB", "P2C", "PHB", "SYS"};

/* What people have set for NCCL, by name or as the numbers of its older releases; what it does not
 * know has no effect. By default up to a GPU that is at its socket by C2C. */
static enum gdr_level level_asked(void)
{
	static const enum gdr_level old[] = {GDR_LOC, GDR_PIX, GDR_PXB, GDR_PHB, GDR_SYS, GDR_SYS};
	const char *asked = getenv("NCCL_NET_GDR_LEVEL");

	if (asked && asked[0] >= '0' && asked[0] <= '5' && asked[1] == '\0')
		return old[asked[0] - '0'];
	for (int level = 0; asked && level < GDR_LEVELS; level++)
		if (strcmp(asked, level_names[level]) == 0)
			return (enum gdr_level)level;
	return GDR_P2C;
}

/* Whether the GPU is at its socket by C2C, not by PCIe. */
static bool is_on_c2c(const struct scenario_machine *machine, uint32_t gpu)
{
	char text[INSIDE_LANE_MAX];

	for (uint32_t i = 0; i < machine->lane_count; i++)
		if ((machine->lanes[i].a == gpu || machine->lanes[i].b == gpu) &&
		    strcmp(inside_lane_kind(machine, i, text), "c2c") == 0)
			return true;
	return false;
}

static enum gdr_level level_of(const struct scenario_machine *machine, uint32_t gpu,
			       enum inside_path path)
{
	switch (path) {
	case INSIDE_SELF:
		return GDR_LOC;
	case INSIDE_PIX:
		return GDR_PIX;
	case INSIDE_PXB:
		return GDR_PXB;
	case INSIDE_PHB:
	case INSIDE_NODE:
		return is_on_c2c(machine, gpu) ? GDR_P2C : GDR_PHB;
	case INSIDE_SYS:
	case INSIDE_PATHS:
		break;
	}
	return GDR_SYS;
}

void inside_print_gdr(const struct scenario_machine *machine, int width)
{
	const enum gdr_level most = level_asked();

	if (machine->gpu_count > 0)
		printf("\nNCCL takes GPUDirect RDMA to them up to %s (NCCL_NET_GDR_LEVEL):\n\n",
		       level_names[most]);
	for (uint32_t g = 0; g < machine->gpu_count; g++) {
		const uint32_t gpu = machine->gpu_parts[g];
		struct inside_way ways[BUS_PARTS_MAX];
		enum inside_path best = INSIDE_SYS;
		enum gdr_level level;

		inside_ways(machine, gpu, ways);
		for (uint32_t n = 0; n < machine->nic_count; n++)
			if (inside_path_of(&ways[machine->nics[n].nic]) < best)
				best = inside_path_of(&ways[machine->nics[n].nic]);
		level = level_of(machine, gpu, best);
		printf("  %-*s  %s, %s\n", width, machine->parts[gpu].name, level_names[level],
		       level <= most ? "yes" : "no: through host memory");
	}
}
