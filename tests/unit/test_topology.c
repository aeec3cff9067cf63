/* SPDX-License-Identifier: BSD-2-Clause */

/* Topologies: names of nodes and links, whatever order they come in. */
#include "tests/test.h"

#include "models/topology.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum { A, B, C };

static struct topology three_nodes(void)
{
	struct topology topology = {0};

	assert_int_equal(topology_add_node(&topology, "beta", true), 0);
	assert_int_equal(topology_add_node(&topology, "alpha", false), 0);
	assert_int_equal(topology_add_node(&topology, "gamma", false), 0);
	return topology;
}

static char *copy(const char *text)
{
	char *bytes = util_alloc(strlen(text) + 1);

	return strcpy(bytes, text);
}

static void add(struct topology *topology, uint32_t a, uint32_t b, uint64_t rate_bps, ps_t delay)
{
	const struct topology_link link = {.a = a, .b = b, .rate_bps = rate_bps, .delay = delay};

	assert_int_equal(topology_add_link(topology, &link), 0);
}

/* Of the link with that rate and delay. */
static const char *name_of(const struct topology *topology, uint64_t rate_bps, ps_t delay)
{
	for (uint32_t i = 0; i < topology->link_count; i++)
		if (topology->links[i].rate_bps == rate_bps && topology->links[i].delay == delay)
			return topology->links[i].name;
	return "";
}

static void test_names_of_nodes_are_unique(void **state)
{
	struct topology topology = three_nodes();

	(void)state;
	assert_int_equal(topology_add_node(&topology, "alpha", true), -EEXIST);
	assert_int_equal(topology_find(&topology, "alpha"), 1);
	assert_int_equal(topology_find(&topology, "delta"), -1);
	assert_int_equal(topology.node_count, 3);
	topology_fini(&topology);
}

static void test_the_smaller_name_comes_first(void **state)
{
	struct topology topology = three_nodes();

	(void)state;
	add(&topology, A, B, 1, 1); /* beta to alpha */
	add(&topology, B, C, 2, 1);
	assert_int_equal(topology_name_links(&topology), 0);
	assert_string_equal(name_of(&topology, 1, 1), "alpha-beta#0");
	assert_string_equal(name_of(&topology, 2, 1), "alpha-gamma#0");
	topology_fini(&topology);
}

static void test_parallel_links_are_numbered_by_what_they_are(void **state)
{
	static const uint32_t orders[][4] = {{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};

	(void)state;
	for (size_t o = 0; o < 4; o++) {
		struct topology topology = three_nodes();

		for (int i = 0; i < 4; i++)
			switch (orders[o][i]) {
			case 0: add(&topology, A, B, 100, 5); break;
			case 1: add(&topology, B, A, 100, 7); break;
			case 2: add(&topology, A, B, 200, 1); break;
			default: add(&topology, A, C, 1, 1);
			}
		assert_int_equal(topology_name_links(&topology), 0);
		assert_string_equal(name_of(&topology, 100, 5), "alpha-beta#0");
		assert_string_equal(name_of(&topology, 100, 7), "alpha-beta#1");
		assert_string_equal(name_of(&topology, 200, 1), "alpha-beta#2");
		assert_string_equal(name_of(&topology, 1, 1), "beta-gamma#0");
		topology_fini(&topology);
	}
}

static void test_errors_of_a_link_tell_it_apart(void **state)
{
	struct topology topology = three_nodes();
	struct topology_link link = {.a = A, .b = B, .rate_bps = 1, .delay = 1};

	(void)state;
	link.error_ppt = 9;
	assert_int_equal(topology_add_link(&topology, &link), 0);
	link.error_ppt = 3;
	assert_int_equal(topology_add_link(&topology, &link), 0);
	assert_int_equal(topology_name_links(&topology), 0);
	assert_string_equal(topology.links[0].name, "alpha-beta#1");
	assert_string_equal(topology.links[1].name, "alpha-beta#0");
	topology_fini(&topology);
}

static void test_names_of_ports_name_the_link(void **state)
{
	(void)state;
	for (int turned = 0; turned < 2; turned++) {
		struct topology topology = three_nodes();
		const struct topology_link link = {
			.a = turned ? B : A,
			.b = turned ? A : B,
			.rate_bps = 1,
			.delay = 1,
			.port_a = copy(turned ? "eth0" : "p7"),
			.port_b = copy(turned ? "p7" : "eth0"),
		};

		assert_int_equal(topology_add_link(&topology, &link), 0);
		assert_int_equal(topology_name_links(&topology), 0);
		assert_string_equal(topology.links[0].name, "alpha.eth0-beta.p7");
		topology_fini(&topology);
	}
}

static void test_a_given_name_stays(void **state)
{
	struct topology topology = three_nodes();
	const struct topology_link link = {
		.name = copy("mine"), .a = A, .b = B, .rate_bps = 1, .delay = 1};

	(void)state;
	assert_int_equal(topology_add_link(&topology, &link), 0);
	assert_int_equal(topology_name_links(&topology), 0);
	assert_string_equal(topology.links[0].name, "mine");
	topology_fini(&topology);
}

static const struct topology_speed speed = {25, 100, 3};

static uint32_t links_of(const struct topology *topology, const char *name)
{
	const int64_t node = topology_find(topology, name);
	uint32_t count = 0;

	assert_true(node >= 0);
	for (uint32_t i = 0; i < topology->link_count; i++)
		count += topology->links[i].a == node || topology->links[i].b == node;
	return count;
}

static void test_star(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_star(&topology, 3, speed), 0);
	assert_int_equal(topology.node_count, 4);
	assert_int_equal(topology.link_count, 3);
	assert_int_equal(links_of(&topology, "s0"), 3);
	assert_int_equal(links_of(&topology, "h2"), 1);
	assert_true(topology.nodes[topology_find(&topology, "s0")].is_switch);
	topology_fini(&topology);
}

static void test_leaf_spine(void **state)
{
	struct topology topology = {0};
	uint32_t fabric = 0;

	(void)state;
	assert_int_equal(topology_leaf_spine(&topology, 3, 2, 4, speed), 0);
	assert_int_equal(topology.node_count, 12 + 3 + 2);
	assert_int_equal(topology.link_count, 12 + 6);
	assert_int_equal(links_of(&topology, "leaf1"), 4 + 2);
	assert_int_equal(links_of(&topology, "spine0"), 3);
	assert_int_equal(topology_name_links(&topology), 0);
	for (uint32_t i = 0; i < topology.link_count; i++) {
		fabric += topology.links[i].rate_bps == 100;
		assert_int_equal(topology.links[i].delay, 3);
	}
	assert_int_equal(fabric, 6);
	assert_string_equal(topology.links[0].name, "h0-leaf0#0");
	assert_string_equal(topology.links[4].name, "h4-leaf1#0");
	topology_fini(&topology);
}

/* Al-Fares et al. 2008, 3: k = 4 has 16 hosts, 20 switches of 4 ports, 48 links. */
static void test_fat_tree(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_fat_tree(&topology, 4, speed), 0);
	assert_int_equal(topology.node_count, 16 + 20);
	assert_int_equal(topology.link_count, 48);
	for (uint32_t i = 0; i < topology.node_count; i++)
		assert_int_equal(links_of(&topology, topology.nodes[i].name),
				 topology.nodes[i].is_switch ? 4 : 1);
	topology_fini(&topology);
	assert_int_equal(topology_fat_tree(&topology, 3, speed), -EINVAL);
	assert_int_equal(topology_fat_tree(&topology, 0, speed), -EINVAL);
}

RUN(T(test_names_of_nodes_are_unique), T(test_the_smaller_name_comes_first),
    T(test_parallel_links_are_numbered_by_what_they_are), T(test_errors_of_a_link_tell_it_apart),
    T(test_names_of_ports_name_the_link), T(test_a_given_name_stays), T(test_star),
    T(test_leaf_spine), T(test_fat_tree))
