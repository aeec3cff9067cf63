/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchor A11: flows on equal-cost paths fall like balls into bins. Flows are queue pairs of two
 * hosts, told apart by their UDP source ports alone; every seed has other numbers and other
 * switches. */
#include "sim/route.h"
#include "sim/sim.h"
#include "tests/model/lab.h"
#include "tests/test.h"
#include "util/rand.h"

#include <math.h>
#include <stdio.h>

#define G ((uint64_t)1000000000)
enum { SEEDS = 20000, PATHS_MAX = 32 };

static struct lab lab;

static const struct sim_node *node_named(const char *name)
{
	for (uint32_t i = 0; i < sim_node_count(lab.fabric.sim); i++)
		if (strcmp(sim_node_at(lab.fabric.sim, i)->name, name) == 0)
			return sim_node_at(lab.fabric.sim, i);
	fail_msg("no %s", name);
	return NULL;
}

/* Two leaves, @paths spines between them. */
static void open_leaf_spine(uint32_t paths)
{
	static char names[PATHS_MAX][16];
	static struct lab_link links[2 * PATHS_MAX + 2];
	uint32_t n = 0;

	links[n++] = (struct lab_link){"a", "sx", 100 * G, PS_US};
	links[n++] = (struct lab_link){"b", "sy", 100 * G, PS_US};
	for (uint32_t i = 0; i < paths; i++) {
		snprintf(names[i], sizeof(names[i]), "s%u", i);
		links[n++] = (struct lab_link){"sx", names[i], 100 * G, PS_US};
		links[n++] = (struct lab_link){names[i], "sy", 100 * G, PS_US};
	}
	lab_open(&lab, &(struct lab_params){.links = links, .link_count = n});
}

/* How many of @flows new queue pairs take each port of the first leaf, which is another one each
 * time: its key is drawn, too. */
static void spread(uint32_t flows, struct util_rand *rand, uint32_t *ret_ports)
{
	struct sim_route_table table = *sim_route_table_of(lab.fabric.routes, node_named("sx"));
	const struct host *from = fabric_host(&lab.fabric, "a");
	struct wire_path path = {.ttl = 64};

	table.key = util_rand_next(rand);
	host_ip(fabric_host(&lab.fabric, "b"), path.dst_ip);
	for (uint32_t i = 0; i < flows; i++) {
		uint32_t port;

		assert_int_equal(host_resolve(from, &path, (uint32_t)util_rand_below(rand, 1 << 24),
					      (uint32_t)util_rand_below(rand, 1 << 24)),
				 0);
		port = sim_route_port(&table, path.link_dst, path.link_hash);
		assert_true(port < PATHS_MAX + 1);
		ret_ports[port]++;
	}
}

static void flows_collide_as_often_as_balls(void **state)
{
	/* k! / ((k - f)! k^f), and the expected share of idle paths, (1 - 1/k)^f. */
	static const struct {
		uint32_t paths, flows;
		double free, idle;
	} cases[] = {{4, 4, .09375, .31640625},
		     {8, 8, .0024032592773, .3436089158},
		     {16, 16, -1, .3560741304},
		     {32, 32, -1, .3620552892}};

	(void)state;
	for (size_t c = 0; c < sizeof(cases) / sizeof(*cases); c++) {
		uint32_t without = 0, idle = 0;
		double square = 0, mean, margin;
		const uint32_t k = cases[c].paths;

		open_leaf_spine(k);
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			struct util_rand rand = {.seed = seed, .purpose = 5};
			uint32_t ports[PATHS_MAX + 1] = {0}, empty = k + 1, most = 0;

			spread(cases[c].flows, &rand, ports);
			for (uint32_t p = 0; p <= k; p++) {
				empty -= ports[p] > 0;
				most = ports[p] > most ? ports[p] : most;
			}
			empty--; /* the port of host a, at which none goes out */
			idle += empty;
			square += (double)empty * empty;
			without += most == 1;
		}
		lab_close(&lab);
		mean = (double)idle / SEEDS;
		margin = 1.96 * sqrt((square / SEEDS - mean * mean) / SEEDS);
		if (fabs(mean - k * cases[c].idle) > margin)
			fail_msg("%u paths: %.4f idle, expected %.4f +- %.4f", k, mean,
				 k * cases[c].idle, margin);
		margin = 1.96 * sqrt(cases[c].free * (1 - cases[c].free) * SEEDS);
		if (cases[c].free > 0 && fabs(without - cases[c].free * SEEDS) > margin)
			fail_msg("%u paths: %u without a collision, expected %.1f +- %.1f", k,
				 without, cases[c].free * SEEDS, margin);
	}
}

/* Chi-square of 8 ports, 7 degrees, 99 %: 18.475. Of 400 seeds 4 are above, 9 at most in 99 of 100
 * cases. (Many more flows than the 16,384 source ports there are would go together.) */
static void ports_get_even_shares(void **state)
{
	enum { PATHS = 8, FLOWS = 400 };
	uint32_t above = 0;

	(void)state;
	open_leaf_spine(PATHS);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		struct util_rand rand = {.seed = seed, .purpose = 6};
		uint32_t ports[PATHS_MAX + 1] = {0};
		double chi = 0;

		spread(FLOWS, &rand, ports);
		for (uint32_t p = 0; p <= PATHS; p++)
			if (ports[p] > 0)
				chi += (ports[p] - (double)FLOWS / PATHS) *
				       (ports[p] - (double)FLOWS / PATHS) / ((double)FLOWS / PATHS);
		above += chi > 18.475;
	}
	lab_close(&lab);
	assert_in_range(above, 0, 9);
}

RUN(T(flows_collide_as_often_as_balls), T(ports_get_even_shares))
