/* SPDX-License-Identifier: BSD-2-Clause */
/* Hosts that a switch has forgotten: where packets for them go, what holds room, and who counts
 * what. A packet of 1024 bytes takes 1106 on the wire: Ethernet with preamble, FCS and gap 38, IPv4
 * 20, UDP 8, BTH 12, ICRC 4; the first of a WRITE has a RETH of 16 besides. */
#include "tests/unit/scenario_test.h"

#include "sim/port.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

#define HEAD "version: 1\nnic: {mtu: 1024, timeout: 0}\n"
#define ONE                                                                                        \
	HEAD "topology: {kind: star, hosts: 4}\n"                                                  \
	     "traffic: [{class: a, pattern: incast, from: h0, to: h1, size: 8KiB}]\n"
#define FORGETS "faults:\n  - {switch: s0, forget: h1}\n"
#define FLOOD "switch: {unknown: flood}\n"
#define PFC(UNKNOWN)                                                                               \
	"switch: {buffer: 2MB, xoff: 40KB, pfc: {priorities: [3]}, unknown: " UNKNOWN "}\n"
/* h3 sends up to a spine and down to leaf0, whose other neighbours are h0, h1 and the other
 * spine. */
#define TREE                                                                                       \
	HEAD "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"             \
	     "traffic: [{class: a, pattern: incast, from: h3, to: h0, size: 8KiB}]\n"              \
	     "faults: [{switch: leaf0, forget: h0}]\n" FLOOD

static void play(struct world *w, const char *text)
{
	world_build(w, text, 1);
	assert_int_equal(fabric_run(&w->fabric, PS_S), 0);
}

static const struct sim_switch_stats *stats_of(const struct world *w, const char *name)
{
	return sim_switch_stats(fabric_switch(&w->fabric, name));
}

static uint64_t not_mine(const struct world *w, const char *name)
{
	return fabric_host(&w->fabric, name)->stats.not_mine;
}

static uint64_t taken(const struct world *w, const char *name)
{
	return hca_device_counters(fabric_host(&w->fabric, name)->hca)->rx_packets;
}

static void what_is_for_it_goes_out_of_every_other_port(void **state)
{
	struct world w;

	(void)state;
	play(&w, ONE FORGETS FLOOD);
	assert_int_equal(stats_of(&w, "s0")->flooded, 8);
	assert_int_equal(stats_of(&w, "s0")->flood_copies, 16);
	assert_int_equal(stats_of(&w, "s0")->dropped_unknown, 0);
	/* Those of the flood and one acknowledgement, which h0 asks for with the last packet. */
	assert_int_equal(stats_of(&w, "s0")->forwarded, 3 * 8 + 1);
	assert_int_equal(sim_port_find(w.fabric.sim, "h0-s0#0", "s0")->sent_packets, 1);
	assert_int_equal(not_mine(&w, "h0"), 0);
	assert_int_equal(not_mine(&w, "h1"), 0);
	assert_int_equal(not_mine(&w, "h2"), 8);
	assert_int_equal(not_mine(&w, "h3"), 8);
	assert_int_equal(taken(&w, "h1"), 8);
	assert_int_equal(taken(&w, "h2") + taken(&w, "h3"), 0);
	assert_true(w.scenario.flows[0].end_at > 0);
	world_end(&w);
}

static void by_default_it_is_dropped(void **state)
{
	struct world w;

	(void)state;
	play(&w, ONE FORGETS);
	assert_int_equal(stats_of(&w, "s0")->dropped_unknown, 8);
	assert_int_equal(stats_of(&w, "s0")->forwarded, 0);
	assert_int_equal(stats_of(&w, "s0")->flooded, 0);
	assert_int_equal(not_mine(&w, "h2"), 0);
	world_end(&w);
}

static void what_is_lossless_may_be_dropped_and_the_rest_flooded(void **state)
{
	struct world w;

	(void)state;
	play(&w, HEAD "topology: {kind: star, hosts: 4}\n" FORGETS PFC(
			 "flood_lossy") "traffic:\n"
					"  - {class: a, pattern: incast, from: h0, to: h1, size: "
					"8KiB, priority: 3}\n"
					"  - {class: b, pattern: incast, from: h2, to: h1, size: "
					"4KiB, priority: 0}\n");
	assert_int_equal(stats_of(&w, "s0")->dropped_unknown, 8);
	assert_int_equal(stats_of(&w, "s0")->flooded, 4);
	assert_int_equal(not_mine(&w, "h0"), 4);
	assert_int_equal(not_mine(&w, "h2"), 0);
	world_end(&w);
}

static void no_copy_goes_on_behind_another_switch(void **state)
{
	struct world w;
	uint64_t ended, up;

	(void)state;
	play(&w, TREE);
	assert_int_equal(stats_of(&w, "leaf0")->flooded, 8);
	assert_int_equal(stats_of(&w, "leaf0")->flood_copies, 16);
	assert_int_equal(not_mine(&w, "h1"), 8);
	assert_int_equal(taken(&w, "h0"), 8);
	ended = stats_of(&w, "spine0")->not_mine + stats_of(&w, "spine1")->not_mine;
	assert_int_equal(ended, 8);
	assert_int_equal(stats_of(&w, "leaf1")->not_mine, 0);
	/* One acknowledgement goes up with the copies, on either way. */
	up = sim_port_find(w.fabric.sim, "leaf0-spine0#0", "leaf0")->sent_packets +
	     sim_port_find(w.fabric.sim, "leaf0-spine1#0", "leaf0")->sent_packets;
	assert_int_equal(up, 8 + 1);
	world_end(&w);
}

static void a_packet_at_the_end_of_its_ttl_is_not_flooded(void **state)
{
	struct world w;

	(void)state;
	play(&w, "version: 1\nnic: {mtu: 1024, timeout: 0, ttl: 2}\n"
		 "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"
		 "traffic: [{class: a, pattern: incast, from: h3, to: h0, size: 8KiB}]\n"
		 "faults: [{switch: leaf0, forget: h0}]\n" FLOOD);
	assert_int_equal(stats_of(&w, "leaf0")->dropped_ttl, 8);
	assert_int_equal(stats_of(&w, "leaf0")->flooded, 0);
	world_end(&w);
}

static void ports_that_are_down_get_no_copy(void **state)
{
	struct world w;

	(void)state;
	play(&w, ONE FORGETS "  - {link: h1-s0, down: yes, detect: 0s}\n"
			     "  - {link: h2-s0, down: yes, detect: 0s}\n" FLOOD);
	assert_int_equal(stats_of(&w, "s0")->flooded, 8);
	assert_int_equal(stats_of(&w, "s0")->flood_copies, 0);
	assert_int_equal(not_mine(&w, "h3"), 8);
	assert_int_equal(sim_port_find(w.fabric.sim, "h2-s0#0", "s0")->sent_packets, 0);
	world_end(&w);
	play(&w, ONE FORGETS "  - {link: h1-s0, down: yes, detect: 0s}\n"
			     "  - {link: h2-s0, down: yes, detect: 0s}\n"
			     "  - {link: h3-s0, down: yes, detect: 0s}\n" FLOOD);
	assert_int_equal(stats_of(&w, "s0")->dropped_unknown, 8);
	assert_int_equal(stats_of(&w, "s0")->flooded, 0);
	world_end(&w);
}

/* 18 packets are twice 19,924 bytes and 19 twice 21,030, of which the last copy, which comes after
 * 40,954 bytes are held, is in the headroom. */
static void each_copy_holds_room_of_its_sender(void **state)
{
	static const char two_stand[] = "  - {link: h1-s0, down: yes, detect: 0s}\n"
					"  - {link: h2-s0, sender: h2, pause: [3]}\n"
					"  - {link: h3-s0, sender: h3, pause: [3]}\n";
	char text[1024];
	struct world w;

	(void)state;
	for (uint32_t packets = 18; packets <= 19; packets++) {
		const struct sim_class *in, *out;
		uint32_t port, other;

		snprintf(text, sizeof(text),
			 HEAD "topology: {kind: star, hosts: 4}\n" FORGETS "%s" PFC(
				 "flood") "traffic: [{class: a, pattern: incast, from: h0, to: h1, "
					  "size: %uKiB, start: 20us}]\nuntil: 100us\n",
			 two_stand, packets);
		world_build(&w, text, 1);
		assert_int_equal(fabric_run(&w.fabric, 100 * PS_US), 0);
		port = sim_port_find(w.fabric.sim, "h0-s0#0", "s0")->index;
		other = sim_port_find(w.fabric.sim, "h2-s0#0", "s0")->index;
		in = sim_switch_class(fabric_switch(&w.fabric, "s0"), port, 3);
		out = sim_switch_class(fabric_switch(&w.fabric, "s0"), other, 3);
		assert_int_equal(out->queue_bytes, 1106 * packets + 16);
		assert_int_equal(in->ingress_bytes, packets == 18 ? 39848 : 40954);
		assert_int_equal(sim_port_find(w.fabric.sim, "h0-s0#0", "h0")->paused,
				 packets == 18 ? 0 : 1 << 3);
		world_end(&w);
	}
}

/* At 100 Gb/s a packet takes 88.48 ns (the RETH of the first one 1.28), and the cable 1 us: before
 * 10 us 101 have come in (1000 + 1.28 + 101 * 88.48 = 9937.76), before 5 us 45 (4982.88). */
static void it_forgets_from_then_until_then(void **state)
{
	static const struct {
		const char *times;
		uint64_t flooded;
	} cases[] = {{"until: 10us", 101},
		     {"from: 5us, until: 10us", 56},
		     {"from: 5us", 955},
		     {"from: 1s", 0}};
	char text[512];
	uint64_t hashes[4];
	struct world w;

	(void)state;
	for (int i = 0; i < 4; i++) {
		snprintf(text, sizeof(text),
			 HEAD "topology: {kind: star, hosts: 4}\n" FLOOD
			      "traffic: [{class: a, pattern: incast, from: h0, to: h1, size: "
			      "1000KiB}]\nfaults: [{switch: s0, forget: h1, %s}]\n",
			 cases[i].times);
		play(&w, text);
		assert_int_equal(stats_of(&w, "s0")->flooded, cases[i].flooded);
		assert_int_equal(taken(&w, "h1"), 1000);
		hashes[i] = w.scenario.hash;
		world_end(&w);
		for (int k = 0; k < i; k++)
			assert_true(hashes[k] != hashes[i]);
	}
}

/* The adapter goes by the MAC before it keeps anything. */
static void a_slow_host_keeps_nothing_of_others(void **state)
{
	struct world w;

	(void)state;
	play(&w, "version: 1\nnic: {mtu: 1024, timeout: 0, rx: {rate: 1Gbps, hosts: h2}}\n"
		 "topology: {kind: star, hosts: 4}\n"
		 "traffic: [{class: a, pattern: incast, from: h0, to: h1, size: "
		 "8KiB}]\n" FORGETS FLOOD);
	assert_int_equal(not_mine(&w, "h2"), 8);
	assert_int_equal(host_rx_stats(fabric_host(&w.fabric, "h2")).bytes_max, 0);
	world_end(&w);
}

/* Acknowledgements and CNPs for a forgotten host are packets as others are. */
static void answers_are_flooded_too(void **state)
{
	struct world w;

	(void)state;
	play(&w, ONE "faults:\n  - {switch: s0, forget: h0}\n" FLOOD);
	assert_int_equal(stats_of(&w, "s0")->flooded, 1);
	assert_int_equal(not_mine(&w, "h1"), 0);
	assert_int_equal(not_mine(&w, "h2"), 1);
	assert_int_equal(not_mine(&w, "h3"), 1);
	assert_int_equal(taken(&w, "h0"), 1);
	world_end(&w);
}

static uint64_t digest_of(const char *text, uint32_t threads)
{
	struct world w;
	uint64_t digest;

	world_build(&w, text, threads);
	assert_int_equal(fabric_run(&w.fabric, PS_S), 0);
	digest = sim_digest(w.fabric.sim);
	world_end(&w);
	return digest;
}

static void threads_and_a_switch_that_never_forgets_change_nothing(void **state)
{
	(void)state;
	assert_true(digest_of(TREE, 1) == digest_of(TREE, 3));
	assert_true(digest_of(ONE, 1) != digest_of(ONE FORGETS FLOOD, 1));
}

static void it_may_find_no_memory(void **state)
{
	struct scenario_options options = {.thread_count = 1};
	struct scenario scenario;
	struct bad_list errors = {0};
	struct traffic *traffic;
	struct fabric fabric;
	int ret = -ENOMEM;

	(void)state;
	assert_int_equal(scenario_parse("t", TREE, strlen(TREE), NULL, &scenario, &errors), 0);
	bad_list_fini(&errors);
	for (unsigned n = 1; ret != 0; n++) {
		util_alloc_fail_after(n);
		ret = scenario_build(&scenario, &options, &fabric, &traffic);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	}
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	scenario_fini(&scenario);
}

RUN(T(what_is_for_it_goes_out_of_every_other_port), T(by_default_it_is_dropped),
    T(what_is_lossless_may_be_dropped_and_the_rest_flooded),
    T(no_copy_goes_on_behind_another_switch), T(a_packet_at_the_end_of_its_ttl_is_not_flooded),
    T(ports_that_are_down_get_no_copy), T(each_copy_holds_room_of_its_sender),
    T(it_forgets_from_then_until_then), T(a_slow_host_keeps_nothing_of_others),
    T(answers_are_flooded_too), T(threads_and_a_switch_that_never_forgets_change_nothing),
    T(it_may_find_no_memory))
