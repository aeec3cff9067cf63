/* SPDX-License-Identifier: BSD-2-Clause */
/* Links between switches that go down and come back: what the switches far away make of it. */
#include "tests/unit/scenario_test.h"

#include "sim/port.h"
#include "sim/route.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* Four flows of 20 Gbit/s from leaf0 to leaf1 over two spines; spine0 loses its link to leaf1 from
 * 100 to 1000 us, knows it 10 us later, and everybody 200 us after that. */
#define ALL                                                                                        \
	"topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 8, host_rate: "        \
	"20Gbps}\n"                                                                                \
	"nic: {timeout: 4, retries: 7}\n"                                                          \
	"traffic:\n"                                                                               \
	"  - {class: a, pattern: incast, from: [h0], to: h8, size: 400MB}\n"                       \
	"  - {class: b, pattern: incast, from: [h1], to: h9, size: 400MB}\n"                       \
	"  - {class: c, pattern: incast, from: [h2], to: h10, size: 400MB}\n"                      \
	"  - {class: d, pattern: incast, from: [h3], to: h11, size: 400MB}\n"                      \
	"faults:\n"                                                                                \
	"  - {link: leaf1-spine0, down: yes, from: 100us, until: 1000us, detect: 10us}\n"
#define NET "version: 1\n" ALL
#define RECONVERGE "routing: {reconverge: 200us}\n"
#define SOON "version: 1\n" RECONVERGE ALL

struct seen {
	uint64_t up;	   /* frames that leaf0 has sent to spine0 */
	uint64_t other;	   /* and to spine1 */
	uint64_t down;	   /* that spine0 has sent to leaf1 */
	uint64_t no_route; /* that spine0 had no way for */
	uint64_t digest;
};

static uint64_t sent(const struct fabric *fabric, const char *link, const char *from)
{
	return sim_port_find(fabric->sim, link, from)->sent_packets;
}

/* What has happened up to @until. */
static struct seen play(const char *text, uint32_t threads, ps_t until)
{
	struct world w;
	struct seen seen;

	world_build(&w, text, threads);
	assert_int_equal(fabric_run(&w.fabric, until), 0);
	seen = (struct seen){
		.up = sent(&w.fabric, "leaf0-spine0#0", "leaf0"),
		.other = sent(&w.fabric, "leaf0-spine1#0", "leaf0"),
		.down = sent(&w.fabric, "leaf1-spine0#0", "spine0"),
		.no_route = sim_switch_stats(fabric_switch(&w.fabric, "spine0"))->dropped_route,
		.digest = sim_digest(w.fabric.sim),
	};
	world_end(&w);
	return seen;
}

/* Without it leaf0 sends into the dark all the time. */
static void far_switches_never_learn_by_default(void **state)
{
	const struct seen knows = play(NET, 1, 110 * PS_US), later = play(NET, 1, 400 * PS_US),
			  end = play(NET, 1, 1000 * PS_US);

	(void)state;
	assert_int_equal(knows.no_route, 0);
	assert_true(later.no_route > 0);
	assert_true(end.up > later.up && end.no_route > later.no_route);
}

static void all_switches_learn_after_the_delay(void **state)
{
	const struct seen knows = play(NET RECONVERGE, 1, 110 * PS_US),
			  before = play(NET RECONVERGE, 1, 309 * PS_US),
			  after = play(NET RECONVERGE, 1, 315 * PS_US),
			  end = play(NET RECONVERGE, 1, 1209 * PS_US);

	(void)state;
	assert_int_equal(knows.no_route, 0);
	assert_true(before.no_route > 0);
	assert_int_equal(end.up, after.up);
	assert_int_equal(end.no_route, after.no_route);
	/* At 20 Gbit/s 894 us hold 534.9 frames of 4,178 bytes; two timeouts of 65.536 us may pass
	 * before a flow goes on, which leaves 456.5. */
	assert_in_range(end.other - after.other, 4 * 456, 4 * 536);
}

static void the_link_is_used_again_after_the_delay(void **state)
{
	const struct seen knows = play(NET RECONVERGE, 1, 1209 * PS_US),
			  after = play(NET RECONVERGE, 1, 1500 * PS_US);

	(void)state;
	assert_true(after.up > knows.up && after.down > knows.down);
	assert_int_equal(after.no_route, knows.no_route);
}

static void threads_change_nothing(void **state)
{
	const struct seen one = play(NET RECONVERGE, 1, 1300 * PS_US),
			  three = play(NET RECONVERGE, 3, 1300 * PS_US);

	(void)state;
	assert_true(one.digest == three.digest);
	assert_true(one.digest != play(NET, 1, 1300 * PS_US).digest);
}

/* A fault within a fault, and one that begins where another ends, are nothing of their own. */
static void faults_that_overlap_are_one(void **state)
{
	const struct seen one = play(SOON, 1, 1300 * PS_US),
			  three = play(SOON "  - {link: leaf1-spine0, down: yes, from: 200us, "
					    "until: 600us, detect: 10us}\n"
					    "  - {link: leaf1-spine0, down: yes, from: 600us, "
					    "until: 1000us, detect: 10us}\n",
				       1, 1300 * PS_US);

	(void)state;
	assert_int_equal(one.up, three.up);
	assert_int_equal(one.other, three.other);
	assert_int_equal(one.down, three.down);
	assert_int_equal(one.no_route, three.no_route);
	assert_true(one.digest != three.digest);
}

/* ---- pauses ---- */

static uint64_t completed(const char *text, ps_t until)
{
	struct world w;
	uint64_t count = 0;

	world_build(&w, text, 1);
	assert_int_equal(fabric_run(&w.fabric, until), 0);
	for (uint64_t i = 0; i < w.scenario.flow_count; i++)
		count += w.scenario.flows[i].status == TRAFFIC_OK;
	world_end(&w);
	return count;
}

/* Two leaves to the third over one spine, which pauses one and then the other; the link to the
 * first is down while that is paused, or while it is not. */
static void a_resume_that_was_lost_is_said_again(void **state)
{
	(void)state;
	for (uint32_t from = 300; from < 400; from += 10) {
		char text[700];

		snprintf(text, sizeof(text),
			 "version: 1\n"
			 "topology: {kind: leaf_spine, leaves: 3, spines: 1, hosts_per_leaf: 4}\n"
			 "switch: {pfc: {}, buffer: 1MB}\n"
			 "nic: {cc: none, timeout: 8}\n"
			 "traffic: [{class: a, pattern: incast, from: [\"h[0-7]\"], to: h8, "
			 "size: 4MB}]\n"
			 "faults: [{link: leaf0-spine0, down: yes, from: %uus, until: %uus}]\n",
			 from, from + 50);
		assert_int_equal(completed(text, 10 * PS_MS), 8);
	}
}

/* A host that pauses for ever holds up all behind it, until the link in between is gone: then what
 * waits for the link goes the way of all frames on it, and other flows go on. */
static void what_waits_for_a_dead_link_holds_up_nobody(void **state)
{
#define STORM                                                                                      \
	"version: 1\n"                                                                             \
	"topology: {kind: leaf_spine, leaves: 3, spines: 1, hosts_per_leaf: 4}\n"                  \
	"switch: {pfc: {}, buffer: 1MB}\n"                                                         \
	"nic: {cc: none, timeout: 12}\n"                                                           \
	"traffic:\n"                                                                               \
	"  - {class: dead, pattern: incast, from: [h0], to: h4, size: 4MB}\n"                      \
	"  - {class: victim, pattern: incast, from: [h1], to: h8, size: 4MB}\n"                    \
	"faults:\n"                                                                                \
	"  - {link: h4-leaf1, sender: h4, pause: [3], from: 50us}\n"
	(void)state;
	assert_int_equal(completed(STORM, 5 * PS_MS), 0);
	assert_int_equal(
		completed(STORM "  - {link: leaf1-spine0, down: yes, from: 300us}\n", 5 * PS_MS),
		1);
#undef STORM
}

/* ---- the routes themselves ---- */

static const char triangle[] = "version: 1\n"
			       "topology:\n"
			       "  hosts: [a, b]\n"
			       "  switches: [s0, s1, s2]\n"
			       "  links:\n"
			       "    - {a: a, b: s0}\n"
			       "    - {a: b, b: s1}\n"
			       "    - {a: s0, b: s1}\n"
			       "    - {a: s0, b: s2}\n"
			       "    - {a: s1, b: s2}\n";

static void a_direction_that_is_cut_is_gone_around(void **state)
{
	const struct scenario_options options = {.thread_count = 1};
	struct bad_list errors = {0};
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
	struct sim_routes *around, *both;
	const struct sim_node *a, *b;
	const struct sim_port *cuts[2];

	(void)state;
	assert_int_equal(scenario_parse("t", triangle, strlen(triangle), NULL, &scenario, &errors),
			 0);
	bad_list_fini(&errors);
	assert_int_equal(scenario_build(&scenario, &options, &fabric, &traffic), 0);
	a = &fabric_host(&fabric, "a")->node;
	b = &fabric_host(&fabric, "b")->node;
	cuts[0] = sim_port_find(fabric.sim, "s0-s1#0", "s0");
	cuts[1] = sim_port_find(fabric.sim, "s0-s2#0", "s2");
	assert_int_equal(sim_routes_without(fabric.routes, cuts, 1, &around), 0);
	assert_int_equal(sim_routes_without(fabric.routes, cuts, 2, &both), 0);
	assert_int_equal(sim_route_hops(fabric.routes, a, b), 3);
	assert_int_equal(sim_route_hops(around, a, b), 4);
	assert_int_equal(sim_route_hops(around, b, a), 3);
	assert_int_equal(sim_route_hops(both, a, b), 4);
	sim_routes_destroy(both);
	/* The other way round there is none left. */
	cuts[1] = sim_port_find(fabric.sim, "s0-s2#0", "s0");
	assert_int_equal(sim_routes_without(fabric.routes, cuts, 2, &both), 0);
	assert_int_equal(sim_route_hops(both, a, b), UINT32_MAX);
	assert_int_equal(sim_route_hops(both, b, a), 3);
	sim_routes_destroy(both);
	sim_routes_destroy(around);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	scenario_fini(&scenario);
}

/* An override stays, unless its port is cut. */
static void overrides_stay_where_they_can(void **state)
{
	static const char detour[] = "routing: {ways: [{at: s0, to: b, via: s2}]}\n";
	const struct scenario_options options = {.thread_count = 1};
	struct bad_list errors = {0};
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
	struct sim_routes *without;
	const struct sim_node *a, *b;
	const struct sim_port *cut;
	char text[sizeof(triangle) + sizeof(detour)];

	(void)state;
	snprintf(text, sizeof(text), "%s%s", triangle, detour);
	assert_int_equal(scenario_parse("t", text, strlen(text), NULL, &scenario, &errors), 0);
	bad_list_fini(&errors);
	assert_int_equal(scenario_build(&scenario, &options, &fabric, &traffic), 0);
	a = &fabric_host(&fabric, "a")->node;
	b = &fabric_host(&fabric, "b")->node;
	cut = sim_port_find(fabric.sim, "s1-s2#0", "s1");
	assert_int_equal(sim_routes_without(fabric.routes, &cut, 1, &without), 0);
	assert_int_equal(sim_route_hops(without, a, b), 4);
	sim_routes_destroy(without);
	cut = sim_port_find(fabric.sim, "s0-s2#0", "s0");
	assert_int_equal(sim_routes_without(fabric.routes, &cut, 1, &without), 0);
	assert_int_equal(sim_route_hops(without, a, b), 3);
	sim_routes_destroy(without);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	scenario_fini(&scenario);
}

/* Whatever allocation fails, the build says so and leaves nothing behind (which ASan sees). */
static void a_build_may_find_no_memory(void **state)
{
	static const char text[] = NET RECONVERGE "switch: {balance: conweave, pfc: {}}\n";
	const struct scenario_options options = {.thread_count = 1};
	struct bad_list errors = {0};
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;
	uint64_t failed = 0;
	int ret = -ENOMEM;

	(void)state;
	assert_int_equal(scenario_parse("t", text, strlen(text), NULL, &scenario, &errors), 0);
	bad_list_fini(&errors);
	for (unsigned n = 1; ret != 0; n++, failed++) {
		util_alloc_fail_after(n);
		ret = scenario_build(&scenario, &options, &fabric, &traffic);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	}
	assert_true(failed > 100);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	scenario_fini(&scenario);
}

RUN(T(far_switches_never_learn_by_default), T(all_switches_learn_after_the_delay),
    T(the_link_is_used_again_after_the_delay), T(threads_change_nothing),
    T(faults_that_overlap_are_one), T(a_resume_that_was_lost_is_said_again),
    T(what_waits_for_a_dead_link_holds_up_nobody), T(a_direction_that_is_cut_is_gone_around),
    T(overrides_stay_where_they_can), T(a_build_may_find_no_memory))
