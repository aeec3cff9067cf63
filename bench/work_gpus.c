/* SPDX-License-Identifier: BSD-2-Clause */

/* The machines of B1: a GPU and an adapter below a switch below a socket, all of generation 5 x16.
 */
#include "bench/work.h"
#include "models/machine/machine.h"
#include "models/program/space.h"

enum { CPU, SWITCH, NIC, GPU, SECOND, PARTS };

#define LANE(from, to)                                                                             \
	{                                                                                          \
		.a = (from), .b = (to), .delay = 3 * PS_NS,                                        \
		.room = {[BUS_POSTED] = {128, 2048}, [BUS_NON_POSTED] = {128, 0}}, .link.pcie = {  \
			.gen = 5,                                                                  \
			.width = 16,                                                               \
			.mps = 256,                                                                \
			.mrrs = 512,                                                               \
			.dllps = PCIE_DLLPS_BY_BYTES                                               \
		}                                                                                  \
	}

static const struct bus_part_params parts[PARTS] = {
	[CPU] = {.latency = 90 * PS_NS, .is_root = true},
	[SWITCH] = {.latency = 110 * PS_NS},
	[NIC] = {.tags = 512},
	[GPU] = {.latency = 150 * PS_NS, .tags = 512},
	[SECOND] = {.latency = 110 * PS_NS},
};
static const struct bus_lane_params lanes[] = {LANE(CPU, SWITCH), LANE(SWITCH, NIC),
					       LANE(SWITCH, GPU)};
static const struct bus_lane_params far_lanes[] = {LANE(CPU, SWITCH), LANE(SWITCH, NIC),
						   LANE(SWITCH, SECOND), LANE(SECOND, GPU)};
static const struct host_parts graphs[] = {
	{.parts = parts, .lanes = lanes, .part_count = SECOND, .lane_count = 3},
	{.parts = parts, .lanes = far_lanes, .part_count = PARTS, .lane_count = 4}};
static const uint16_t places[] = {GPU};

#define BUS(graph)                                                                                 \
	{                                                                                          \
		.parts = (graph), .nic = NIC, .memory = CPU, .places = places, .place_count = 1,   \
		.blueflame = 256, .tx_bytes = 131072                                               \
	}

const struct host_bus gpus_buses[] = {BUS(&graphs[0]), BUS(&graphs[1])};

static const struct host_gpu_params gpu = {
	.profile = &gpu_h100, .bytes = 1u << 28, .window = 1u << 28, .part = GPU};

const struct fabric_gpus gpus_of[GPUS_NODES] = {
	{.gpus = &gpu, .count = 1, .base = SPACE_GPUS},
	{.gpus = &gpu, .count = 1, .base = SPACE_GPUS + (1u << 28)},
	{.gpus = &gpu, .count = 1, .base = SPACE_GPUS + 2 * (1u << 28)},
};

uint64_t gpus_burst_hops(const struct fabric *fabric)
{
	uint64_t hops = 0;

	for (uint32_t i = 0; i < fabric->host_count; i++) {
		const struct host *host = &fabric->hosts[i];
		const struct host_parts *graph = host->params.bus->parts;

		for (uint32_t k = 0; k < graph->lane_count; k++) {
			const uint32_t a = graph->lanes[k].a, b = graph->lanes[k].b;

			hops += bus_way_stats(host->dma->bus, a, b).bursts +
				bus_way_stats(host->dma->bus, b, a).bursts;
		}
	}
	return hops;
}
