/* SPDX-License-Identifier: BSD-2-Clause */

/* Topologies: names of nodes and links, whatever order they come in. */
#include "tests/test.h"

#include "models/topology/topology.h"
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

/* A link by any of its names, and by no other. */
static void test_links_are_found_by_all_their_names(void **state)
{
	static const char *const names[][2] = {
		{"h-1.nic1-s-0#0", "h-1.nic1-s-0#0"},
		{"h-1.nic1-s-0", "h-1.nic1-s-0#0"},
		{"s-0-h-1.nic1", "h-1.nic1-s-0#0"},
		{"h-1-s-0#0", "h-1-s-0#0"},
		{"h-1-s-0", "h-1-s-0#0"},
		{"h-1-s-0#1", "h-1-s-0#1"},
		{"s-0-h-1#1", "h-1-s-0#1"},
		{"h-1.nic0-s-0", "h-1-s-0#0"},
		{"h-1.nic0-s-0#1", "h-1-s-0#1"},
		{"s-0-h-1.nic0#1", "h-1-s-0#1"},
	};
	static const char *const none[] = {"",
					   "-",
					   "h-1",
					   "h-1-s-0#2",
					   "h-1.nic2-s-0",
					   "h-1-s-0.nic0",
					   "h-1.nic0.nic0-s-0",
					   "h-1.nic0-",
					   "h-1#0-s-0"};
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_add_node(&topology, "h-1", false), 0);
	assert_int_equal(topology_add_node(&topology, "s-0", true), 0);
	assert_int_equal(topology_add_nic(&topology, 0), 0);
	for (uint32_t i = 0; i < 3; i++) {
		const struct topology_link link = {
			.a = i == 2 ? 2 : 0, .b = 1, .rate_bps = 1000 + i, .delay = 1};

		assert_int_equal(topology_add_link(&topology, &link), 0);
	}
	assert_int_equal(topology_name_links(&topology), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct topology_link *link = topology_find_link(&topology, names[i][0]);

		assert_non_null(link);
		assert_string_equal(link->name, names[i][1]);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_null(topology_find_link(&topology, none[i]));
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
	static const uint32_t orders[][4] = {
		{0, 1, 2, 3}, {3, 2, 1, 0}, {1, 3, 0, 2}, {2, 0, 3, 1}};

	(void)state;
	for (size_t o = 0; o < 4; o++) {
		struct topology topology = three_nodes();

		for (int i = 0; i < 4; i++)
			switch (orders[o][i]) {
			case 0:
				add(&topology, A, B, 100, 5);
				break;
			case 1:
				add(&topology, B, A, 100, 7);
				break;
			case 2:
				add(&topology, A, B, 200, 1);
				break;
			default:
				add(&topology, A, C, 1, 1);
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

/* ---- shapes: counts and greatest distances follow from the formulas beside them ---- */

/* Links of the shortest way between two hosts, over switches only; fails where there is none. */
static uint32_t distance(const struct topology *topology, uint32_t from, uint32_t to)
{
	uint32_t far[256], changed = 1;

	assert_true(topology->node_count <= 256);
	for (uint32_t i = 0; i < topology->node_count; i++)
		far[i] = i == from ? 0 : 1000;
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < 2 * topology->link_count; i++) {
			const struct topology_link *link = &topology->links[i / 2];
			const uint32_t a = i % 2 ? link->b : link->a, b = i % 2 ? link->a : link->b;

			if ((a == from || topology->nodes[a].is_switch) && far[a] + 1 < far[b]) {
				far[b] = far[a] + 1;
				changed = 1;
			}
		}
	}
	assert_true(far[to] < 1000);
	return far[to];
}

static uint32_t between(const struct topology *topology, const char *a, const char *b)
{
	return distance(topology, (uint32_t)topology_find(topology, a),
			(uint32_t)topology_find(topology, b));
}

struct shape {
	uint32_t hosts, switches, links, diameter;
};

/* And that every host has one link, and every link its rate. */
static void assert_shape(struct topology *topology, struct shape want)
{
	struct shape is = {.links = topology->link_count};

	for (uint32_t i = 0; i < topology->node_count; i++) {
		is.hosts += !topology->nodes[i].is_switch;
		is.switches += topology->nodes[i].is_switch;
		if (!topology->nodes[i].is_switch)
			assert_int_equal(links_of(topology, topology->nodes[i].name), 1);
	}
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const bool fabric =
			topology->nodes[link->a].is_switch && topology->nodes[link->b].is_switch;

		assert_int_equal(link->rate_bps, fabric ? 100 : 25);
		assert_int_equal(link->delay, 3);
	}
	for (uint32_t i = 0; i < topology->node_count; i++)
		for (uint32_t j = i + 1; j < topology->node_count; j++) {
			uint32_t far;

			if (topology->nodes[i].is_switch || topology->nodes[j].is_switch)
				continue;
			far = distance(topology, i, j);
			is.diameter = far > is.diameter ? far : is.diameter;
		}
	assert_int_equal(is.hosts, want.hosts);
	assert_int_equal(is.switches, want.switches);
	assert_int_equal(is.links, want.links);
	assert_int_equal(is.diameter, want.diameter);
	assert_int_equal(topology_name_links(topology), 0);
}

static void test_dumbbell(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_dumbbell(&topology, 3, speed), 0);
	assert_shape(&topology, (struct shape){6, 2, 6 + 1, 3});
	assert_int_equal(between(&topology, "h0", "h2"), 2);
	assert_int_equal(between(&topology, "h2", "h3"), 3);
	topology_fini(&topology);
}

/* 4 servers of 2 NICs, units of 2: 2 x 2 leaves of 2 hosts, each to 3 spines. */
static void test_rail(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_rail(&topology, (struct topology_rail){4, 2, 2, 3, false}, speed),
			 0);
	assert_shape(&topology, (struct shape){8, 4 + 3, 8 + 4 * 3, 4});
	assert_int_equal(links_of(&topology, "su1r0"), 2 + 3);
	assert_int_equal(between(&topology, "h2g1", "h3g1"), 2); /* a rail of a unit */
	assert_int_equal(between(&topology, "h1g1", "h2g1"), 4); /* of two units */
	assert_int_equal(between(&topology, "h1g0", "h1g1"), 4); /* two rails of a server */
	assert_int_equal(between(&topology, "h1g0", "su0r0"), 1);
	topology_fini(&topology);
}

/* n (n - 1) / 2 links between n switches. */
static void test_full_mesh(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_full_mesh(&topology, 5, 2, speed), 0);
	assert_shape(&topology, (struct shape){10, 5, 10 + 10, 3});
	assert_int_equal(links_of(&topology, "s4"), 2 + 4);
	topology_fini(&topology);
}

/* A dimension of n > 2 places has a link a switch and takes n / 2 steps at most; one of two has
 * half of that and takes one. And two to the hosts. */
static void test_torus(void **state)
{
	static const uint32_t flat[] = {3, 5}, deep[] = {4, 4, 2};
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_torus(&topology, flat, 2, 2, speed), 0);
	assert_shape(&topology, (struct shape){30, 15, 30 + 2 * 15, 1 + 2 + 2});
	assert_int_equal(links_of(&topology, "s2_4"), 2 + 4);
	assert_int_equal(between(&topology, "s0_0", "s2_4"), 2); /* round both ends */
	assert_int_equal(between(&topology, "s0_0", "s1_2"), 3);
	topology_fini(&topology);
	assert_int_equal(topology_torus(&topology, deep, 3, 1, speed), 0);
	assert_shape(&topology, (struct shape){32, 32, 32 + 2 * 32 + 16, 2 + 2 + 1 + 2});
	assert_int_equal(links_of(&topology, "s3_0_1"), 1 + 5);
	assert_int_equal(between(&topology, "h31", "s3_3_1"), 1);
	topology_fini(&topology);
}

/* Of group "gN", the links that go to group "gM". */
static uint32_t links_between(const struct topology *topology, const char *one, const char *other)
{
	const size_t n = strlen(one), m = strlen(other);
	uint32_t count = 0;

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const char *a = topology->nodes[topology->links[i].a].name;
		const char *b = topology->nodes[topology->links[i].b].name;

		count += strncmp(a, one, n) == 0 && strncmp(b, other, m) == 0;
		count += strncmp(b, one, n) == 0 && strncmp(a, other, m) == 0;
	}
	return count;
}

/* Kim et al. 2008, 3.1: a = 4, p = h = 2 gives at most g = a h + 1 = 9 groups, N = a p g = 72
 * hosts, routers of radix p + a - 1 + h = 7, and ways of at most local, global, local. */
static void test_dragonfly(void **state)
{
	struct topology topology = {0};

	(void)state;
	assert_int_equal(
		topology_dragonfly(&topology, (struct topology_dragonfly){4, 2, 2, 9}, speed), 0);
	assert_shape(&topology, (struct shape){72, 36, 72 + 9 * 6 + 9 * 8 / 2, 3 + 2});
	for (uint32_t i = 72; i < 108; i++)
		assert_int_equal(links_of(&topology, topology.nodes[i].name), 7);
	assert_int_equal(links_between(&topology, "g0r", "g8r"), 1);
	assert_int_equal(links_between(&topology, "g3r", "g4r"), 1);
	topology_fini(&topology);
	/* Three groups of 8 links: 4 to each of the two others, one of each router: global and
	 * local. */
	assert_int_equal(
		topology_dragonfly(&topology, (struct topology_dragonfly){4, 2, 2, 3}, speed), 0);
	assert_shape(&topology, (struct shape){24, 12, 24 + 3 * 6 + 3 * 4, 2 + 2});
	for (uint32_t i = 24; i < 36; i++)
		assert_int_equal(links_of(&topology, topology.nodes[i].name), 7);
	assert_int_equal(links_between(&topology, "g0r", "g2r"), 4);
	topology_fini(&topology);
}

/* The shape of fat.txt of the HPCC simulator: 320 hosts, 20 + 20 + 16 switches, 480 links. And two
 * tiers with two links between each two switches. */
static void test_clos(void **state)
{
	struct topology_clos clos = {
		.pods = 5,
		.edges = 4,
		.aggregations = 4,
		.cores = 16,
		.hosts_per_edge = 16,
		.host = {25, 3, 1},
		.edge = {100, 3, 1},
		.core = {100, 3, 1},
	};
	struct topology topology = {0};

	(void)state;
	assert_int_equal(topology_clos(&topology, &clos), 0);
	assert_int_equal(topology.node_count, 320 + 56);
	assert_int_equal(topology.link_count, 480);
	assert_int_equal(links_of(&topology, "p4e3"), 16 + 4);
	assert_int_equal(links_of(&topology, "p0a0"), 4 + 4);
	assert_int_equal(links_of(&topology, "c15"), 5);
	topology_fini(&topology);
	clos = (struct topology_clos){
		.pods = 1,
		.edges = 3,
		.aggregations = 2,
		.hosts_per_edge = 2,
		.host = {25, 3, 1},
		.edge = {100, 3, 2},
	};
	assert_int_equal(topology_clos(&topology, &clos), 0);
	assert_shape(&topology, (struct shape){6, 5, 6 + 3 * 2 * 2, 4});
	topology_fini(&topology);
}

RUN(T(test_names_of_nodes_are_unique), T(test_links_are_found_by_all_their_names),
    T(test_the_smaller_name_comes_first), T(test_parallel_links_are_numbered_by_what_they_are),
    T(test_errors_of_a_link_tell_it_apart), T(test_names_of_ports_name_the_link),
    T(test_a_given_name_stays), T(test_star), T(test_leaf_spine), T(test_fat_tree), T(test_clos),
    T(test_dumbbell), T(test_rail), T(test_full_mesh), T(test_torus), T(test_dragonfly))
