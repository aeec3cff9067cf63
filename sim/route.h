/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_ROUTE_H
#define SIM_ROUTE_H

/* Shortest paths over any graph of switches, with equal-cost sets. Hosts that hang on one switch by
 * one link each form a group: an address is (group, place in the group), and a switch's table has
 * one 16-bit entry a group. Groups are numbered by the names of their switches, places by the names
 * of their links, so addresses are facts of the model. Hosts do not forward. */
#include "sim/sim.h"

struct sim_routes;

/* A table as a switch reads it. */
struct sim_route_table {
	const uint16_t *groups; /* entry by group */
	const uint16_t *local;	/* port by place, of the switch's own group */
	const uint16_t *sets;	/* equal-cost sets: count, then ports in order of link name */
	uint64_t key;		/* of the choice: from the seed and the switch's name */
	const uint64_t *tree;	/* of a switch: ports that multicast goes by, a bit each */
	uint32_t group_count, local_count;
	uint32_t own_group; /* UINT32_MAX: none */
};

enum {
	SIM_ROUTE_SET = 0x8000, /* the rest is the place of a set */
	SIM_ROUTE_LOCAL = 0xfffe,
	SIM_ROUTE_NONE = 0xffff,
	SIM_ROUTE_WEIGHT_MAX = 32, /* times that a port may stand in a set */
	SIM_ROUTE_HERE = 0xffff,   /* a place that no host has: the group's switch itself */
	/* A group that no hosts form: what is for it is multicast. It goes by one tree over
	 * the switches, so that each host that can be reached gets one copy. The
	 * root is a switch from which the farthest host is nearest, the first of those by name;
	 * the way there the shortest, over the first link by name. Switches that lead to no
	 * further host are not in it. */
	SIM_ROUTE_MCAST = 0xffff,
};

static inline uint32_t sim_address(uint32_t group, uint32_t local)
{
	return group << 16 | local;
}

static inline bool sim_address_is_mcast(uint32_t address)
{
	return address >> 16 == SIM_ROUTE_MCAST;
}

static inline bool sim_route_is_in_tree(const struct sim_route_table *table, uint32_t port)
{
	return table->tree[port / 64] >> port % 64 & 1;
}

/* A node whose ops are @switch_ops forwards, all others are hosts. @sim is sealed.
 * -ENOMEM; -E2BIG: more than 65,000 groups or sets of one switch. */
int sim_routes_create(const struct sim *sim, const struct sim_node_ops *switch_ops,
		      struct sim_routes **ret_routes);
/* Before switches are given their tables: ports of an equal-cost set are taken by their rates, as
 * weighted ECMP has it. To the nearest of 32 parts. -ENOMEM, -E2BIG. */
int sim_routes_weigh(struct sim_routes *routes);
/* Before switches are given their tables: all choose by one hash, so that those of the next tier
 * see only flows that made the same choice (polarisation). */
void sim_routes_polarise(struct sim_routes *routes);
/* From now on @at, a switch, sends everything for the group of @to (a host, or a switch with hosts)
 * out of @port, whatever the shortest way. -EINVAL: @to has no group. */
int sim_route_override(struct sim_routes *routes, const struct sim_node *at,
		       const struct sim_node *to, uint32_t port);
/* The routes that hold without @cuts, the sending ends of links that are out of order: shortest
 * ways over what is left, with the addresses, weights and hashes of @routes and all its overrides
 * but those out of a cut port. -ENOMEM, -E2BIG. */
int sim_routes_without(const struct sim_routes *routes, const struct sim_port *const *cuts,
		       uint32_t count, struct sim_routes **ret_routes);
void sim_routes_destroy(struct sim_routes *routes); /* NULL allowed */

uint32_t sim_route_address(const struct sim_routes *routes, const struct sim_node *host);
const struct sim_route_table *sim_route_table_of(const struct sim_routes *routes,
						 const struct sim_node *node);
/* Links that a frame takes (with several ways the first); UINT32_MAX: it never comes there. */
uint32_t sim_route_hops(const struct sim_routes *routes, const struct sim_node *from,
			const struct sim_node *to);

/* One of @count, by hash: scaled, so none is favoured. */
static inline uint32_t sim_route_pick(uint64_t key, uint32_t flow_hash, uint32_t count)
{
	const u128 x = (u128)(key ^ flow_hash) * 0xd6e8feb86659fd93u;
	const uint64_t fold = (uint64_t)x ^ (uint64_t)(x >> 64);

	return (uint32_t)((fold >> 32) * count >> 32);
}

/* All ports towards @dst, in order of their links' names; one alone is put into @only. 0: no
 * way. */
static inline uint32_t sim_route_set(const struct sim_route_table *table, uint32_t dst,
				     const uint16_t **ret_set, uint16_t *only)
{
	const uint32_t group = dst >> 16, place = dst & 0xffff;
	const uint32_t entry = group < table->group_count ? table->groups[group] : SIM_ROUTE_NONE;

	*ret_set = only;
	if (entry == SIM_ROUTE_NONE || (entry == SIM_ROUTE_LOCAL && place >= table->local_count))
		return 0;
	if (entry < SIM_ROUTE_SET || entry == SIM_ROUTE_LOCAL) {
		*only = entry < SIM_ROUTE_SET ? (uint16_t)entry : table->local[place];
		return 1;
	}
	*ret_set = table->sets + (entry - SIM_ROUTE_SET) + 1;
	return table->sets[entry - SIM_ROUTE_SET];
}

/* The port towards @dst; UINT32_MAX: no way there. */
static inline uint32_t sim_route_port(const struct sim_route_table *table, uint32_t dst,
				      uint32_t flow_hash)
{
	const uint32_t group = dst >> 16, place = dst & 0xffff;
	const uint16_t *set;
	uint32_t entry;

	if (__builtin_expect(group >= table->group_count, 0))
		return UINT32_MAX;
	entry = table->groups[group];
	if (entry < SIM_ROUTE_SET)
		return entry;
	if (entry == SIM_ROUTE_LOCAL)
		return place < table->local_count ? table->local[place] : UINT32_MAX;
	if (__builtin_expect(entry == SIM_ROUTE_NONE, 0))
		return UINT32_MAX;
	set = table->sets + (entry - SIM_ROUTE_SET);
	return set[1 + sim_route_pick(table->key, flow_hash, set[0])];
}

#endif
