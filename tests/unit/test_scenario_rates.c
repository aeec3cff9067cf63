/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports that differ by the rate of their link (switch.by_rate). */
#include "tests/unit/scenario_test.h"

#include "sim/switch.h"
#include "util/text.h"

/* A sender of 400 Gbit/s and three receivers: slower than all that is listed, between two of them,
 * and as the last. Nothing slows the sender down. */
#define THREE                                                                                      \
	"version: 1\ntopology: {hosts: \"h[0-3]\", switches: s0, links: [{a: h0, b: s0, rate: "    \
	"400Gbps}, {a: h1, b: s0, rate: 10Gbps}, {a: h2, b: s0, rate: 25Gbps}, {a: h3, b: s0, "    \
	"rate: 100Gbps}]}\nnic: {cc: dcqcn, cc_params: {min_rate: 400Gbps}}\n"

static uint32_t marked_to(const char *host, const char *switches)
{
	struct world w;
	char text[800];
	uint32_t marked = 0;

	util_text(text, sizeof(text),
		  THREE "switch: %s\ntraffic: [{pattern: incast, from: h0, to: %s, size: "
			"819200B}]\n",
		  switches, host);
	world_build(&w, text, 1);
	assert_int_equal(fabric_run(&w.fabric, w.scenario.until), 0);
	assert_int_equal(w.scenario.flows[0].status, TRAFFIC_OK);
	for (uint32_t port = 0; port < 4; port++)
		marked += sim_switch_class(w.fabric.switches[0], port, 3)->marked;
	world_end(&w);
	return marked;
}

#define LISTED                                                                                     \
	"by_rate: [{rate: 100Gbps, kmin: 200000B, kmax: 200000B}, {rate: 20Gbps, kmin: 100000B, "  \
	"kmax: 100000B}]"

/* 200 packets, the first of 4194 bytes on the wire and the others of 4178, come back to back. A
 * packet is marked if it leaves behind more than the threshold: a model of one queue in twenty
 * lines of Python says which do. */
static void each_port_marks_by_its_own_thresholds(void **state)
{
	(void)state;
	assert_int_equal(marked_to("h1", "{ecn: {kmin: 300000B, kmax: 300000B}, " LISTED "}"), 126);
	assert_int_equal(marked_to("h2", "{ecn: {kmin: 300000B, kmax: 300000B}, " LISTED "}"), 174);
	assert_int_equal(marked_to("h3", "{ecn: {kmin: 300000B, kmax: 300000B}, " LISTED "}"), 136);
}

/* What belongs to marks and pauses goes where they are off. */
static void rates_may_be_those_of_what_is_off(void **state)
{
	(void)state;
	assert_int_equal(
		marked_to("h2", "{ecn: {kmin: 300000B, kmax: 300000B}, pfc: off, by_rate: [{rate: "
				"20Gbps, kmin: 100000B, kmax: 100000B, alpha: 1}]}\nswitches: "
				"[{names: s0, ecn: off, buffer: 16MiB}]"),
		0);
}

/* What an entry leaves out is not the next slower one's. */
static void what_a_rate_leaves_out_is_the_switches(void **state)
{
	(void)state;
	assert_int_equal(marked_to("h3", "{ecn: {kmin: 300000B, kmax: 300000B}, by_rate: [{rate: "
					 "20Gbps, kmin: 100000B, kmax: 100000B}, {rate: "
					 "50Gbps}]}"),
			 104);
	/* Of the others, too, where one differs. */
	assert_int_equal(marked_to("h2", "{ecn: {kmin: 300000B, kmax: 300000B}, " LISTED
					 "}\nswitches: [{names: s0, buffer: 16MiB}]"),
			 174);
}

static uint64_t limit_at(const struct world *w, uint32_t port, uint8_t priority)
{
	const struct sim_fc *fc = sim_switch_fc(w->fabric.switches[0]);

	return fc->ops->limit(fc, port, priority);
}

#define SHARES                                                                                     \
	"buffer: 4MiB, alpha: 1/16, pfc: {priorities: [3, 4], headroom: 100000B}, by_rate: "       \
	"[{rate: 100Gbps, alpha: 1/4}, {rate: 20Gbps, alpha: 1/8}, {rate: 400Gbps, alpha: 1}]"

/* 4 MiB less eight headrooms are 3394304 bytes. The ports are in the order of the links. */
static void each_port_pauses_at_its_own_share(void **state)
{
	struct world w;

	(void)state;
	world_build(&w, THREE "switch: {" SHARES "}\n", 1);
	for (uint8_t q = 3; q < 5; q++) {
		assert_int_equal(limit_at(&w, 0, q), 3394304);
		assert_int_equal(limit_at(&w, 1, q), 212144);
		assert_int_equal(limit_at(&w, 2, q), 424288);
		assert_int_equal(limit_at(&w, 3, q), 848576);
	}
	world_end(&w);
	/* A class that has its own keeps it at every port. */
	world_build(&w,
		    THREE "switch: {" SHARES ", classes: [{priorities: [4], alpha: 1/2}, "
			  "{priorities: [3], reserve: 1000B}]}\n",
		    1);
	/* Four reserves of 1000 bytes less. */
	for (uint32_t port = 0; port < 4; port++)
		assert_int_equal(limit_at(&w, port, 4), 1695152);
	assert_int_equal(limit_at(&w, 1, 3), 211894);
	assert_int_equal(limit_at(&w, 3, 3), 847576);
	world_end(&w);
}

static uint32_t pauses_at(const struct world *w, uint32_t port)
{
	return sim_fc_lane(sim_switch_fc(w->fabric.switches[0]), port, 3)->pauses_sent;
}

/* 3.5 MB come from h3 and h2 each for h1, which takes 10 Gbit/s. What each may hold: a tenth of
 * what is free, or all of it. */
static void run_two_senders(struct world *w, const char *of_100, const char *of_25)
{
	char text[800];

	util_text(text, sizeof(text),
		  THREE
		  "switch: {buffer: 16MiB, alpha: 8, pfc: {headroom: 100000B}, by_rate: [{rate: "
		  "100Gbps, alpha: %s}, {rate: 25Gbps, alpha: %s}]}\ntraffic: [{pattern: "
		  "incast, to: h1, from: [h2, h3], size: 3500000B}]\n",
		  of_100, of_25);
	world_build(w, text, 1);
	assert_int_equal(fabric_run(&w->fabric, w->scenario.until), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(w->scenario.flows[i].status, TRAFFIC_OK);
	assert_int_equal(sim_switch_fc(w->fabric.switches[0])->dropped_headroom, 0);
}

static void only_the_port_with_the_small_share_pauses(void **state)
{
	struct world w;

	(void)state;
	run_two_senders(&w, "1", "1/10");
	assert_int_equal(pauses_at(&w, 3), 0);
	assert_true(pauses_at(&w, 2) > 0);
	world_end(&w);
	run_two_senders(&w, "1/10", "1");
	assert_true(pauses_at(&w, 3) > 0);
	assert_int_equal(pauses_at(&w, 2), 0);
	world_end(&w);
}

RUN(T(each_port_marks_by_its_own_thresholds), T(rates_may_be_those_of_what_is_off),
    T(what_a_rate_leaves_out_is_the_switches), T(each_port_pauses_at_its_own_share),
    T(only_the_port_with_the_small_share_pauses))
