/* SPDX-License-Identifier: BSD-2-Clause */
/* The tree that multicast goes by: every host gets one copy, and no link carries one for nobody. */
#include "tests/unit/scenario_test.h"

#include "sim/port.h"
#include "sim/route.h"
#include "sim/switch.h"

#include <errno.h>
#include <string.h>

#define FABRIC(TOPOLOGY) "version: 1\ntopology: " TOPOLOGY "\n"
#define LEAF_SPINE "{kind: leaf_spine, leaves: 3, spines: 3, hosts_per_leaf: 2}"
enum { NODES_MAX = 400 };

struct walk { /* of one copy to all that can be reached */
	uint32_t hosts, links, farthest;
	uint32_t visits[NODES_MAX]; /* by node->index */
};

static bool is_switch(const struct sim_node *node)
{
	return node->ops == &sim_switch_ops;
}

static bool is_in_tree(const struct sim_routes *routes, const struct sim_node *node, uint32_t port)
{
	return sim_route_is_in_tree(sim_route_table_of(routes, node), port);
}

/* It has come to @node by its port @in. */
static void walk_on(struct walk *walk, const struct sim_routes *routes, const struct sim_node *node,
		    uint32_t in, uint32_t hops)
{
	uint32_t copies = 0;

	assert_true(node->index < NODES_MAX);
	assert_int_equal(++walk->visits[node->index], 1);
	walk->farthest = hops > walk->farthest ? hops : walk->farthest;
	if (!is_switch(node)) {
		walk->hosts++;
		return;
	}
	for (uint32_t p = 0; p < node->port_count; p++) {
		if (p == in || !is_in_tree(routes, node, p))
			continue;
		copies++;
		walk->links++;
		walk_on(walk, routes, node->ports[p].peer, node->ports[p].peer_port, hops + 1);
	}
	assert_true(copies > 0); /* a switch that has it for somebody */
}

static struct walk walk_from(const struct sim_routes *routes, const struct host *host)
{
	const struct sim_port *port = host->node.ports;
	struct walk walk = {.hosts = 1, .links = 1};

	walk.visits[host->node.index] = 1;
	walk_on(&walk, routes, port->peer, port->peer_port, 1);
	return walk;
}

/* From each host to all @reached of them, no further than @farthest links. */
static void assert_reaches(const char *text, uint32_t reached, uint32_t farthest)
{
	uint32_t longest = 0;
	struct world w;

	world_build(&w, text, 1);
	for (uint32_t i = 0; i < w.fabric.host_count; i++) {
		const struct walk walk = walk_from(w.fabric.routes, w.fabric.table.hosts[i]);

		assert_int_equal(walk.hosts, reached);
		longest = walk.farthest > longest ? walk.farthest : longest;
	}
	assert_int_equal(longest, farthest);
	world_end(&w);
}

static void every_host_gets_one_copy(void **state)
{
	(void)state;
	assert_reaches(FABRIC("{kind: star, hosts: 5}"), 5, 2);
	assert_reaches(FABRIC(LEAF_SPINE), 6, 4);
	assert_reaches(FABRIC("{kind: fat_tree, k: 4}"), 16, 6);
	/* Of 4 x 4 switches in rings one is two steps each way from the root, and others three in
	 * all. */
	assert_reaches(FABRIC("{kind: torus, dims: [4, 4], hosts_per_switch: 2}"), 32, 2 + 4 + 3);
	/* Two of three steps, of which one goes to another group. */
	assert_reaches(FABRIC("{kind: dragonfly, h: 2}"), 72, 2 + 6);
}

/* Up and down again by one spine; the others see nothing of it. */
static void one_spine_is_enough(void **state)
{
	struct world w;
	struct walk walk;

	(void)state;
	world_build(&w, FABRIC(LEAF_SPINE), 1);
	walk = walk_from(w.fabric.routes, w.fabric.table.hosts[0]);
	assert_int_equal(walk.links, 6 + 3); /* of all hosts, and of all leaves */
	assert_int_equal(walk.visits[sim_switch_node(fabric_switch(&w.fabric, "spine0"))->index],
			 1);
	assert_int_equal(walk.visits[sim_switch_node(fabric_switch(&w.fabric, "spine1"))->index],
			 0);
	world_end(&w);
}

/* A chain of switches, of which those at the ends have no hosts: b and d have them. */
static void switches_without_hosts_are_left_out(void **state)
{
	struct world w;
	struct walk walk;
	const struct sim_node *a, *c;

	(void)state;
	world_build(&w,
		    FABRIC("{hosts: [h0, h1], switches: [a, b, c, d, e], links: ["
			   "{a: h0, b: b}, {a: h1, b: d}, {a: a, b: b}, "
			   "{a: b, b: c}, {a: c, b: d}, {a: d, b: e}]}"),
		    1);
	walk = walk_from(w.fabric.routes, w.fabric.table.hosts[0]);
	assert_int_equal(walk.hosts, 2);
	assert_int_equal(walk.links, 4);
	a = sim_switch_node(fabric_switch(&w.fabric, "a"));
	c = sim_switch_node(fabric_switch(&w.fabric, "c"));
	assert_int_equal(walk.visits[a->index], 0);
	assert_int_equal(walk.visits[c->index], 1);
	world_end(&w);
}

/* Without the links of its spine the tree goes by another one; a host that is cut off is not in
 * it. */
static void a_tree_avoids_what_is_cut(void **state)
{
	struct sim_routes *routes;
	const struct sim_port *cuts[5];
	struct walk walk;
	struct world w;

	(void)state;
	world_build(&w, FABRIC(LEAF_SPINE), 1);
	cuts[0] = sim_port_find(w.fabric.sim, "leaf0-spine0#0", "leaf0");
	cuts[1] = sim_port_find(w.fabric.sim, "leaf1-spine0#0", "spine0");
	cuts[2] = sim_port_find(w.fabric.sim, "leaf2-spine0#0", "spine0");
	cuts[3] = sim_port_find(w.fabric.sim, "h5-leaf2#0", "h5");
	cuts[4] = sim_port_find(w.fabric.sim, "h5-leaf2#0", "leaf2");
	for (uint32_t i = 0; i < 5; i++)
		assert_non_null(cuts[i]);
	assert_int_equal(sim_routes_without(w.fabric.routes, cuts, 5, &routes), 0);
	walk = walk_from(routes, w.fabric.table.hosts[0]);
	assert_int_equal(walk.hosts, 5);
	assert_int_equal(walk.links, 5 + 3);
	assert_int_equal(walk.visits[sim_switch_node(fabric_switch(&w.fabric, "spine0"))->index],
			 0);
	assert_int_equal(walk.visits[sim_switch_node(fabric_switch(&w.fabric, "spine1"))->index],
			 1);
	sim_routes_destroy(routes);
	world_end(&w);
}

/* One cable less, and there are two fabrics. */
static void each_part_has_a_tree(void **state)
{
	const struct sim_port *cut;
	struct sim_routes *routes;
	struct world w;

	(void)state;
	world_build(&w,
		    FABRIC("{hosts: [h0, h1, h2, h3], switches: [a, b], links: ["
			   "{a: h0, b: a}, {a: h1, b: a}, {a: h2, b: b}, {a: h3, b: b}, "
			   "{a: a, b: b}]}"),
		    1);
	assert_int_equal(walk_from(w.fabric.routes, w.fabric.table.hosts[0]).hosts, 4);
	cut = sim_port_find(w.fabric.sim, "a-b#0", "b");
	assert_non_null(cut);
	assert_int_equal(sim_routes_without(w.fabric.routes, &cut, 1, &routes), 0);
	for (uint32_t i = 0; i < w.fabric.host_count; i++)
		assert_int_equal(walk_from(routes, w.fabric.table.hosts[i]).hosts, 2);
	sim_routes_destroy(routes);
	world_end(&w);
}

static void a_host_hears_no_more_than_its_limit(void **state)
{
	struct host *host;
	struct world w;

	(void)state;
	world_build(&w, FABRIC("{kind: star, hosts: 2}"), 1);
	host = w.fabric.table.hosts[0];
	for (uint32_t i = 0; i < 8192; i++)
		assert_int_equal(host_hear_mcast(host, true), 0);
	assert_int_equal(host_hear_mcast(host, true), -ENOSPC);
	assert_int_equal(host_hear_mcast(host, false), 0);
	assert_int_equal(host_hear_mcast(host, true), 0);
	world_end(&w);
}

/* Nor is there a way to any. */
static void where_credits_are_counted_there_are_no_groups(void **state)
{
	struct wire_path path = {.dst_ip = {[10] = 0xff, 0xff, 239, 1, 2, 3}};
	struct world w;

	(void)state;
	world_build(&w, FABRIC("{kind: star, hosts: 2}") "switch: {credit: {buffer: 64KiB}}\n", 1);
	assert_int_equal(host_hear_mcast(w.fabric.table.hosts[0], true), -ENOSPC);
	assert_int_equal(host_resolve(w.fabric.table.hosts[0], &path, 1, 2), -EHOSTUNREACH);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_host_gets_one_copy),
		cmocka_unit_test(one_spine_is_enough),
		cmocka_unit_test(switches_without_hosts_are_left_out),
		cmocka_unit_test(a_tree_avoids_what_is_cut),
		cmocka_unit_test(each_part_has_a_tree),
		cmocka_unit_test(a_host_hears_no_more_than_its_limit),
		cmocka_unit_test(where_credits_are_counted_there_are_no_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
