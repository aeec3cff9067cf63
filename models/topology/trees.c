/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/topology/internal.h"
#include "util/text.h"

#include <errno.h>

int topology_add_nodes(struct topology *topology, const char *prefix, uint32_t count,
		       bool is_switch)
{
	char name[64];
	int ret = 0;

	for (uint32_t i = 0; i < count && !ret; i++) {
		util_text(name, sizeof(name), "%s%u", prefix, i);
		ret = topology_add_node(topology, name, is_switch);
	}
	return ret;
}

int topology_join(struct topology *topology, uint32_t a, uint32_t b, uint64_t rate_bps, ps_t delay)
{
	const struct topology_link link = {.a = a, .b = b, .rate_bps = rate_bps, .delay = delay};

	return topology_add_link(topology, &link);
}

int topology_join_hosts(struct topology *topology, uint32_t host, uint32_t first, uint32_t count,
			uint32_t per_switch, struct topology_speed speed)
{
	int ret = 0;

	for (uint32_t i = 0; i < count * per_switch && !ret; i++)
		ret = topology_join(topology, host + i, first + i / per_switch, speed.host_rate_bps,
				    speed.delay);
	return ret;
}

/* Each of the lower ones to each of the upper ones. */
static int join_all(struct topology *topology, uint32_t lower, uint32_t lower_count, uint32_t upper,
		    uint32_t upper_count, struct topology_speed speed)
{
	int ret = 0;

	for (uint32_t i = 0; i < lower_count * upper_count && !ret; i++)
		ret = topology_join(topology, lower + i / upper_count, upper + i % upper_count,
				    speed.fabric_rate_bps, speed.delay);
	return ret;
}

int topology_star(struct topology *topology, uint32_t hosts, struct topology_speed speed)
{
	const uint32_t first = topology->node_count;
	int ret = topology_add_nodes(topology, "h", hosts, false);

	ret = ret ? ret : topology_add_nodes(topology, "s", 1, true);
	return ret ? ret : topology_join_hosts(topology, first, first + hosts, 1, hosts, speed);
}

int topology_dumbbell(struct topology *topology, uint32_t per_switch, struct topology_speed speed)
{
	const uint32_t first = topology->node_count, left = first + 2 * per_switch;
	int ret = topology_add_nodes(topology, "h", 2 * per_switch, false);

	ret = ret ? ret : topology_add_node(topology, "left", true);
	ret = ret ? ret : topology_add_node(topology, "right", true);
	ret = ret ? ret : topology_join_hosts(topology, first, left, 2, per_switch, speed);
	return ret ? ret : join_all(topology, left, 1, left + 1, 1, speed);
}

int topology_leaf_spine(struct topology *topology, uint32_t leaves, uint32_t spines,
			uint32_t hosts_per_leaf, struct topology_speed speed)
{
	const uint32_t hosts = leaves * hosts_per_leaf, first = topology->node_count;
	const uint32_t leaf = first + hosts;
	int ret = topology_add_nodes(topology, "h", hosts, false);

	ret = ret ? ret : topology_add_nodes(topology, "leaf", leaves, true);
	ret = ret ? ret : topology_add_nodes(topology, "spine", spines, true);
	ret = ret ? ret : topology_join_hosts(topology, first, leaf, leaves, hosts_per_leaf, speed);
	return ret ? ret : join_all(topology, leaf, leaves, leaf + leaves, spines, speed);
}

/* ---- rails ---- */

static int add_machines(struct topology *topology, struct topology_rail rail)
{
	const uint32_t first = topology->node_count;
	char name[32];
	int ret = 0;

	/* A server's adapters lie together, as hosts of servers do. */
	for (uint32_t server = 0; server < rail.servers && !ret; server++) {
		util_text(name, sizeof(name), "h%u", server);
		ret = topology_add_node(topology, name, false);
		for (uint32_t nic = 1; nic < rail.rails && !ret; nic++)
			ret = topology_add_nic(topology, first + server * rail.rails);
	}
	return ret;
}

static int add_servers(struct topology *topology, struct topology_rail rail)
{
	char prefix[32];
	int ret = 0;

	if (rail.machines)
		return add_machines(topology, rail);
	for (uint32_t server = 0; server < rail.servers && !ret; server++) {
		util_text(prefix, sizeof(prefix), "h%ug", server);
		ret = topology_add_nodes(topology, prefix, rail.rails, false);
	}
	return ret;
}

int topology_rail(struct topology *topology, struct topology_rail rail, struct topology_speed speed)
{
	const uint32_t units = (rail.servers - 1) / rail.servers_per_unit + 1;
	const uint32_t first = topology->node_count, leaf = first + rail.servers * rail.rails;
	const uint32_t leaves = units * rail.rails;
	char prefix[32];
	int ret = add_servers(topology, rail);

	for (uint32_t unit = 0; unit < units && !ret; unit++) {
		util_text(prefix, sizeof(prefix), "su%ur", unit);
		ret = topology_add_nodes(topology, prefix, rail.rails, true);
	}
	ret = ret ? ret : topology_add_nodes(topology, "spine", rail.spines, true);
	for (uint32_t i = 0; i < rail.servers * rail.rails && !ret; i++) {
		const uint32_t unit = i / rail.rails / rail.servers_per_unit;

		ret = topology_join(topology, first + i, leaf + unit * rail.rails + i % rail.rails,
				    speed.host_rate_bps, speed.delay);
	}
	return ret ? ret : join_all(topology, leaf, leaves, leaf + leaves, rail.spines, speed);
}

/* ---- three tiers ---- */

static int add_pod(struct topology *topology, const struct topology_clos *clos, uint32_t pod)
{
	char prefix[32];
	int ret;

	util_text(prefix, sizeof(prefix), "p%ue", pod);
	ret = topology_add_nodes(topology, prefix, clos->edges, true);
	util_text(prefix, sizeof(prefix), "p%ua", pod);
	return ret ? ret : topology_add_nodes(topology, prefix, clos->aggregations, true);
}

static int join_bundle(struct topology *topology, uint32_t a, uint32_t b, struct topology_tier tier)
{
	int ret = 0;

	for (uint32_t i = 0; i < tier.bundle && !ret; i++)
		ret = topology_join(topology, a, b, tier.rate_bps, tier.delay);
	return ret;
}

static int wire_pod(struct topology *topology, const struct topology_clos *clos, uint32_t host,
		    uint32_t edge, uint32_t core)
{
	const uint32_t aggregation = edge + clos->edges;
	const uint32_t share = clos->cores / clos->aggregations;
	int ret = 0;

	for (uint32_t i = 0; i < clos->edges * clos->hosts_per_edge && !ret; i++)
		ret = join_bundle(topology, host + i, edge + i / clos->hosts_per_edge, clos->host);
	for (uint32_t i = 0; i < clos->edges * clos->aggregations && !ret; i++)
		ret = join_bundle(topology, edge + i / clos->aggregations,
				  aggregation + i % clos->aggregations, clos->edge);
	/* Aggregation switch number x reaches cores x * share .. x * share + share - 1. */
	for (uint32_t i = 0; i < clos->cores && !ret; i++)
		ret = join_bundle(topology, aggregation + i / share, core + i, clos->core);
	return ret;
}

int topology_clos(struct topology *topology, const struct topology_clos *clos)
{
	const uint32_t per_pod = clos->edges * clos->hosts_per_edge, first = topology->node_count;
	const uint32_t switches = clos->edges + clos->aggregations;
	const uint32_t pods = first + clos->pods * per_pod, core = pods + clos->pods * switches;
	int ret = topology_add_nodes(topology, "h", clos->pods * per_pod, false);

	for (uint32_t pod = 0; pod < clos->pods && !ret; pod++)
		ret = add_pod(topology, clos, pod);
	ret = ret ? ret : topology_add_nodes(topology, "c", clos->cores, true);
	for (uint32_t pod = 0; pod < clos->pods && !ret; pod++)
		ret = wire_pod(topology, clos, first + pod * per_pod, pods + pod * switches, core);
	return ret;
}

int topology_fat_tree(struct topology *topology, uint32_t k, struct topology_speed speed)
{
	const uint32_t half = k / 2;
	const struct topology_tier fabric = {speed.fabric_rate_bps, speed.delay, 1};
	const struct topology_clos clos = {
		.pods = k,
		.edges = half,
		.aggregations = half,
		.cores = half * half,
		.hosts_per_edge = half,
		.host = {speed.host_rate_bps, speed.delay, 1},
		.edge = fabric,
		.core = fabric,
	};

	return k == 0 || k % 2 != 0 ? -EINVAL : topology_clos(topology, &clos);
}
