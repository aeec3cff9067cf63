/* SPDX-License-Identifier: BSD-2-Clause */
/* What a scenario becomes; allocations that fail. (Its keys, one by one: test_scenario_keys.c.) */
#include "tests/unit/scenario_test.h"
#include "util/alloc.h"
#include "util/text.h"

#include <errno.h>
#include <string.h>

#define TOP "version: 1\n"
#define STAR TOP "topology: {kind: star, hosts: 6}\n"
#define LEAF TOP "topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 2}\n"

static void values_arrive_with_their_units(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR
		    "switch: {buffer: 4MiB, latency: 250ns, xoff: 100KB, ecn: {kmin: 1KB, kmax: "
		    "2KiB, pmax: 1/3}, pfc: {priorities: [0, 3], mode: quanta, headroom: 64KiB}}\n"
		    "nic: {mtu: 1024, cc: dcqcn_hpcc, ack_every: message, window: 99, timeout: 9, "
		    "retries: 2, ack_priority: 5, cnp_priority: 4, ip: 6, profile: none}\n"
		    "until: 3ms\noob_delay: 7us\nmemory: 3MiB\nseed: 42\nname: x\n",
		    NULL, &s);
	assert_int_equal(s.switches.buffer_bytes, 4 << 20);
	assert_int_equal(s.switches.latency, 250000);
	assert_int_equal(s.switches.xoff_bytes, 100000);
	/* Two frames below: 1024 and 20 + 14 + 40 + 8 + 12 + 16 + 4 + 4 + 4. */
	assert_int_equal(s.switches.xon_bytes, 100000 - 2 * 1146);
	assert_int_equal(s.switches.fc, SCENARIO_FC_PFC);
	assert_int_equal(s.switches.lossless, 0x09);
	assert_true(s.switches.pfc_quanta && !s.switches.headroom_auto);
	assert_int_equal(s.switches.headroom_bytes, 65536);
	assert_true(s.switches.ecn.enabled);
	assert_int_equal(s.switches.ecn.kmin_bytes, 1000);
	assert_int_equal(s.switches.ecn.kmax_bytes, 2048);
	assert_int_equal(s.switches.ecn.pmax_num, 1);
	assert_int_equal(s.switches.ecn.pmax_den, 3);
	assert_int_equal(s.nic.mtu, 1024);
	assert_int_equal(s.nic.cc, SCENARIO_CC_DCQCN_HPCC);
	assert_int_equal(s.nic.cnp_interval, 4 * PS_US);
	assert_int_equal(s.nic.ack_every, 0);
	assert_int_equal(s.nic.psn_window, 99);
	assert_int_equal(s.nic.timeout, 9);
	assert_int_equal(s.nic.retry_cnt, 2);
	assert_int_equal(s.nic.ack_priority, 5);
	assert_int_equal(s.nic.cnp_priority, 4);
	assert_true(s.nic.ipv6);
	assert_true(s.nic.free_calls);
	assert_int_equal(s.until, 3 * PS_MS);
	assert_int_equal(s.oob_delay, 7 * PS_US);
	assert_int_equal(s.packet_bytes_max, 3 << 20);
	assert_int_equal(s.seed, 42);
	assert_string_equal(s.name, "x");
	scenario_fini(&s);
}

static uint32_t acks(const char *nic)
{
	struct scenario s;
	char text[200];
	uint32_t every;

	util_text(text, sizeof(text), STAR "nic: {%s}\n", nic);
	assert_good(text, NULL, &s);
	every = s.nic.ack_every;
	scenario_fini(&s);
	return every;
}

/* Who goes by ACKs has one a packet, unless the scenario says otherwise. */
static void ACKs_are_as_many_as_are_lived_on(void **state)
{
	static const char *const by_acks[] = {"cc: hpcc",   "cc: swift",
					      "cc: timely", "cc: timely_patched",
					      "cc: dctcp",  "retransmit: selective"};
	static const char *const others[] = {"cc: none", "cc: dcqcn", "cc: dcqcn_nv",
					     "cc: dcqcn_hpcc", "retransmit: go_back_0"};

	(void)state;
	for (size_t i = 0; i < sizeof(by_acks) / sizeof(by_acks[0]); i++)
		assert_int_equal(acks(by_acks[i]), 1);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		assert_int_equal(acks(others[i]), 64);
	assert_int_equal(acks("cc: hpcc, ack_every: 64"), 64);
	assert_int_equal(acks("cc: hpcc, ack_every: message"), 0);
	assert_int_equal(acks("ack_every: auto"), 64);
}

static ps_t round_trip(const char *rest)
{
	struct scenario s;
	char text[400];
	ps_t rtt;

	util_text(text, sizeof(text), STAR "nic: {cc: hpcc}\n%s\n", rest);
	assert_good(text, NULL, &s);
	rtt = s.nic.base_rtt;
	assert_int_equal(s.nic.cc_params.hpcc.base_rtt, rtt);
	scenario_fini(&s);
	return rtt;
}

/* Each switch's own, there and back. */
static void the_longest_round_trip_has_the_latencies_of_switches(void **state)
{
	const ps_t none = round_trip("");

	(void)state;
	assert_true(none > 0);
	assert_int_equal(round_trip("switch: {latency: 1us}") - none, 2 * PS_US);
	assert_int_equal(round_trip("switches: [{names: [s0], latency: 3us}]") - none, 6 * PS_US);
	assert_int_equal(
		round_trip("switch: {latency: 1us}\nswitches: [{names: [s0], latency: 3us}]") -
			none,
		6 * PS_US);
}

/* What the switch makes of priority 3. */
static uint8_t priority_of_3(const char *rest)
{
	struct scenario s;
	char text[400];
	uint8_t priority;

	util_text(text, sizeof(text), STAR "%s\n", rest);
	assert_good(text, NULL, &s);
	assert_true(s.switches.mapped || s.switches.map[3] == 3);
	priority = s.switches.map[3];
	scenario_fini(&s);
	return priority;
}

static void priorities_go_by_what_hosts_send(void **state)
{
	(void)state;
	assert_int_equal(priority_of_3(""), 3);
	assert_int_equal(priority_of_3("switch: {dscp: [{values: [24], priority: 5}]}"), 5);
	assert_int_equal(priority_of_3("switch: {dscp: [{values: [26], priority: 5}]}"), 3);
	assert_int_equal(priority_of_3("switch: {dscp: [{values: [26], priority: 5}]}\n"
				       "nic: {dscp: [0, 8, 16, 26, 32, 40, 48, 56]}"),
			 5);
	/* 46 is in the class of priority 5, wherever hosts use it. */
	assert_int_equal(priority_of_3("nic: {dscp: [0, 8, 16, 46, 32, 40, 48, 56]}"), 5);
	assert_int_equal(priority_of_3("nic: {dscp: [0, 8, 16, 46, 32, 40, 48, 56], vlan: 5}\n"
				       "switch: {pcp: [{values: [1], priority: 0}]}"),
			 3);
	assert_int_equal(priority_of_3("nic: {vlan: 5}\n"
				       "switch: {pcp: [{values: [1, 3], priority: 0}]}"),
			 0);
}

static void what_is_left_out_has_its_default(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR, NULL, &s);
	assert_string_equal(s.name, "test");
	assert_int_equal(s.seed, 1);
	assert_true(s.until == PS_NEVER);
	assert_int_equal(s.oob_delay, 20 * PS_US);
	assert_int_equal(s.packet_bytes_max, (uint64_t)4 << 30);
	assert_int_equal(s.switches.fc, SCENARIO_FC_NONE);
	assert_false(s.switches.ecn.enabled);
	assert_int_equal(s.nic.mtu, 4096);
	assert_int_equal(s.nic.ack_every, 64);
	assert_int_equal(s.nic.ack_priority, -1);
	assert_int_equal(s.flow_count + s.program_count + s.fault_count + s.class_count, 0);
	scenario_fini(&s);
}

/* Host names by position: h0 h1 h10 h11 h2 ... in the table, h0 h1 h2 ... for people. */
static void a_ring_goes_as_people_count(void **state)
{
	static const uint32_t table_of[12] = {0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 2, 3};
	struct scenario s;

	(void)state;
	assert_good(TOP "topology: {kind: star, hosts: 12}\ntraffic: [{pattern: ring, size: 9B}]\n",
		    NULL, &s);
	assert_int_equal(s.flow_count, 12);
	for (uint32_t i = 0; i < 12; i++) {
		assert_int_equal(s.flows[i].src, table_of[i]);
		assert_int_equal(s.flows[i].dst, table_of[(i + 1) % 12]);
		assert_int_equal(s.flows[i].bytes, 9);
		assert_int_equal(s.flows[i].priority, 3);
	}
	scenario_fini(&s);
}

static void a_permutation_moves_everybody(void **state)
{
	uint32_t moved_otherwise = 0, to_first[16] = {0};

	(void)state;
	for (uint64_t seed = 1; seed <= 20; seed++) {
		uint32_t sources = 0, sinks = 0;
		char set[32];
		struct scenario s;

		snprintf(set, sizeof(set), "seed=%llu", (unsigned long long)seed);
		assert_good(TOP "topology: {kind: star, hosts: 16}\n"
				"traffic: [{pattern: permutation, size: 1KB}]\n",
			    set, &s);
		assert_int_equal(s.flow_count, 16);
		for (int i = 0; i < 16; i++) {
			assert_int_not_equal(s.flows[i].src, s.flows[i].dst);
			sources |= 1u << s.flows[i].src;
			sinks |= 1u << s.flows[i].dst;
			moved_otherwise += to_first[i] != s.flows[i].dst;
			to_first[i] = s.flows[i].dst;
		}
		assert_int_equal(sources, 0xffff);
		assert_int_equal(sinks, 0xffff);
		scenario_fini(&s);
	}
	assert_true(moved_otherwise > 200);
}

static void patterns_have_their_pairs(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR
		    "traffic: [{class: b, pattern: all_to_all, size: 1KB, repeat: 3, every: 5us, "
		    "start: 1us}, {class: a, pattern: incast, to: h2, size: 2KB, priority: 1}]\n",
		    NULL, &s);
	assert_int_equal(s.flow_count, 6 * 5 * 3 + 5);
	assert_int_equal(s.class_count, 2);
	assert_string_equal(s.classes[0], "a");
	for (uint64_t i = 0; i < s.flow_count; i++) {
		const struct traffic_flow *flow = &s.flows[i];

		assert_int_not_equal(flow->src, flow->dst);
		if (flow->class_index == 0)
			assert_true(flow->dst == 2 && flow->bytes == 2000 && flow->priority == 1);
		else
			assert_true(flow->start_at == PS_US || flow->start_at == 6 * PS_US ||
				    flow->start_at == 11 * PS_US);
	}
	scenario_fini(&s);
}

/* A host more changes neither when the others send nor how much. */
static void a_load_is_each_hosts_own(void **state)
{
	struct scenario few, many;
	uint64_t same = 0;

	(void)state;
	assert_good(TOP "topology: {kind: star, hosts: 4}\n"
			"traffic: [{load: 50%, cdf: fb_hadoop, until: 500us}]\n",
		    NULL, &few);
	assert_good(TOP "topology: {kind: star, hosts: 5}\n"
			"traffic: [{load: 50%, cdf: fb_hadoop, until: 500us}]\n",
		    NULL, &many);
	for (uint64_t i = 0; i < few.flow_count; i++)
		for (uint64_t k = 0; k < many.flow_count; k++)
			same += few.flows[i].src == many.flows[k].src &&
				few.flows[i].start_at == many.flows[k].start_at &&
				few.flows[i].bytes == many.flows[k].bytes;
	assert_true(few.flow_count > 50 && many.flow_count > few.flow_count);
	assert_int_equal(same, few.flow_count);
	scenario_fini(&few);
	scenario_fini(&many);
}

static void ranks_are_in_the_order_of_their_hosts(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR
		    "programs: [{run: tests/ring, hosts: [h5, \"h[1-2]\", h5], args: [64KiB, ''], "
		    "start: 3us}]\n",
		    NULL, &s);
	assert_int_equal(s.program_count, 1);
	assert_string_equal(s.programs[0].run, "tests/ring");
	assert_string_equal(s.programs[0].name, "ring");
	assert_int_equal(s.programs[0].host_count, 4);
	assert_int_equal(s.programs[0].hosts[0], 5);
	assert_int_equal(s.programs[0].hosts[1], 1);
	assert_int_equal(s.programs[0].hosts[2], 2);
	assert_int_equal(s.programs[0].hosts[3], 5);
	assert_int_equal(s.programs[0].arg_count, 2);
	assert_string_equal(s.programs[0].args[0], "64KiB");
	assert_int_equal(s.programs[0].start_at, 3 * PS_US);
	scenario_fini(&s);
}

static void faults_are_one_kind_each(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR "faults: [{link: s0-h1, sender: s0, loss: 1/7, duplicate: 5%, by: 2us, "
			 "drop_nth: [4, 9], from: 1us, until: 2us}]\n",
		    NULL, &s);
	assert_int_equal(s.fault_count, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_string_equal(s.faults[i].link, "h1-s0#0");
		assert_string_equal(s.faults[i].direction, "s0");
		assert_int_equal(s.faults[i].from_at, PS_US);
		assert_int_equal(s.faults[i].until_at, 2 * PS_US);
	}
	assert_int_equal(s.faults[0].kind, SCENARIO_FAULT_LOSS);
	assert_int_equal(s.faults[0].den, 7);
	assert_int_equal(s.faults[1].kind, SCENARIO_FAULT_DUPLICATE);
	assert_int_equal(s.faults[1].delay, 2 * PS_US);
	assert_int_equal(s.faults[2].nth, 4);
	assert_int_equal(s.faults[3].nth, 9);
	scenario_fini(&s);
}

/* Of two lanes between two parts it is that of PCI Express, unless links are named. */
static void faults_inside_are_of_one_lane(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(STAR "machine: {parts: [{name: c, kind: socket}, {name: nic0, kind: nic}, "
			 "{name: gpu0, kind: gpu}], lanes: [{a: c, b: nic0}, {a: c, b: gpu0}, "
			 "{a: c, b: gpu0, kind: nvlink, links: 2}], "
			 "faults: [{a: gpu0, b: c, ber: 0.0000001}, "
			 "{a: c, b: gpu0, links: [1], sender: c, ber: 0.0000001}]}\n",
		    NULL, &s);
	assert_int_equal(s.machines[0].fault_count, 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct bus_fault *fault = &s.machines[0].faults[i];

		assert_int_equal(fault->is_nvlink, fault->entry == 1);
		assert_int_equal(fault->link, fault->entry == 1);
	}
	scenario_fini(&s);
}

static void aliases_are_copies(void **state)
{
	struct scenario s;

	(void)state;
	assert_good(TOP
		    "topology: {hosts: &h \"h[0-3]\", switches: &s s0, links: [{a: *h, b: *s}]}\n",
		    NULL, &s);
	assert_int_equal(s.topology.link_count, 4);
	scenario_fini(&s);
}

static void every_allocation_may_fail(void **state)
{
	static const char text[] = LEAF
		"switch: {pfc: {}, ecn: {}}\ntraffic: [{class: b, pattern: all_to_all, size: 1KB},"
		" {class: a, pattern: incast, to: h0, from: [h1, h2], size: 1KB},"
		" {class: c, pattern: permutation, size: 1KB}, {pattern: ring, size: 1KB},"
		" {load: 20%, cdf: websearch, until: 500us}]\n"
		"programs: [{run: ring, hosts: \"h[0-1]\", args: [a, b]}]\n"
		"faults: [{link: h0-leaf0, sender: h0, loss: 1%, drop_nth: [1]}]\n"
		"machine: {parts: [{name: c, kind: socket}, {name: nic0, kind: nic, address: x}],"
		" lanes: [{a: c, b: nic0}]}\n"
		"machines: [{hosts: [h1, h0], tx: 1MiB}]\n";
	struct scenario s;
	unsigned n = 1;
	int ret;

	(void)state;
	do {
		util_alloc_fail_after(n++);
		ret = parse_with(text, "nic.mtu=1024", &s);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	} while (ret != 0 && n < 10000);
	assert_int_equal(ret, 0);
	assert_true(n > 100);
	scenario_fini(&s);
}

RUN(T(values_arrive_with_their_units), T(what_is_left_out_has_its_default),
    T(ACKs_are_as_many_as_are_lived_on), T(the_longest_round_trip_has_the_latencies_of_switches),
    T(priorities_go_by_what_hosts_send), T(a_ring_goes_as_people_count),
    T(a_permutation_moves_everybody), T(patterns_have_their_pairs), T(a_load_is_each_hosts_own),
    T(ranks_are_in_the_order_of_their_hosts), T(faults_are_one_kind_each),
    T(faults_inside_are_of_one_lane), T(aliases_are_copies), T(every_allocation_may_fail))
