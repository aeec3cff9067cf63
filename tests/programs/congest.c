/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/programs/congest.h"

#include "sim/fault.h"
#include "sim/switch.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static uint32_t number_of(const struct fabric *fabric, uint32_t i)
{
	char name[16];

	snprintf(name, sizeof(name), "h%u", i);
	return fabric_host(fabric, name)->number;
}

static int start_flows(struct congest *congest, const struct congest_params *params)
{
	const uint32_t others = params->background_bytes ? params->hosts - params->ranks : 0;
	uint64_t count = 0;

	congest->flows = calloc((size_t)others * params->ranks + 1, sizeof(*congest->flows));
	if (!congest->flows)
		return -ENOMEM;
	for (uint32_t i = 0; i < others; i++)
		for (uint32_t rank = 0; rank < params->ranks; rank++)
			congest->flows[count++] = (struct traffic_flow){
				.src = number_of(congest->fabric, params->ranks + i),
				.dst = number_of(congest->fabric, rank),
				.bytes = params->background_bytes,
				.start_at = 50 * PS_US,
			};
	return traffic_create(congest->fabric, congest->flows, count, &congest->traffic);
}

static int lose(struct congest *congest, uint64_t ppm)
{
	const struct sim_fault_params params = {.loss_ppb = (uint32_t)(ppm * 1000)};
	const struct sim *sim = congest->fabric->sim;
	uint32_t ports = 0, n = 0;

	for (uint32_t i = 0; i < sim_node_count(sim); i++)
		ports += sim_node_at(sim, i)->port_count;
	congest->faults = calloc(ports, sizeof(*congest->faults));
	if (!congest->faults)
		return -ENOMEM;
	for (uint32_t i = 0; ppm > 0 && i < sim_node_count(sim); i++) {
		struct sim_node *node = sim_node_at(sim, i);

		for (uint32_t port = 0; port < node->port_count; port++)
			sim_fault_attach(&congest->faults[n++], &node->ports[port], &params);
	}
	return 0;
}

int congest_start(struct congest *congest, struct fabric *fabric,
		  const struct congest_params *params)
{
	int ret;

	*congest = (struct congest){.fabric = fabric};
	ret = start_flows(congest, params);
	return ret ? ret : lose(congest, params->loss_ppm);
}

void congest_print(const struct congest *congest)
{
	const struct fabric *fabric = congest->fabric;
	const struct traffic_sums sums = traffic_sums(congest->traffic);
	uint64_t pauses = 0, marked = 0, dropped = 0, lost = 0;

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		dropped += fc->dropped_buffer + fc->dropped_headroom;
		for (uint32_t port = 0; port < fc->node->port_count; port++) {
			pauses += sim_fc_gate(fc, port)->controls_sent;
			for (uint8_t p = 0; p < SIM_PRIORITIES; p++)
				marked += sim_fc_class(fc, port, p)->marked;
			if (fc->node->ports[port].fault)
				lost += fc->node->ports[port].fault->lost;
		}
	}
	fprintf(stderr, "flows: %llu/%llu pauses: %llu marked: %llu dropped: %llu lost: %llu\n",
		(unsigned long long)sums.completed, (unsigned long long)sums.posted,
		(unsigned long long)pauses, (unsigned long long)marked, (unsigned long long)dropped,
		(unsigned long long)lost);
}

void congest_fini(struct congest *congest)
{
	free(congest->flows);
	free(congest->faults);
}
