/* SPDX-License-Identifier: BSD-2-Clause */
/* Fabrics made from scenarios: what each key does to the model. Numbers of time are computed by
 * hand from wire sizes: a WRITE ONLY of 4096 bytes has 4096 + RETH 16 + BTH 12 + ICRC 4 + 66 around
 * it (IPv4, Ethernet, preamble, gap) = 4194, an ACK 86. */
#include "tests/unit/scenario_test.h"

#include "sim/fault.h"
#include "sim/port.h"
#include "sim/switch.h"
#include "util/alloc.h"
#include "util/text.h"

#include <errno.h>
#include <string.h>

static void build(struct world *w, const char *text)
{
	world_build(w, text, 1);
}

static void run(struct world *w, const char *text)
{
	build(w, text);
	assert_int_equal(fabric_run(&w->fabric, w->scenario.until), 0);
}

static ps_t lone_flow(const char *text)
{
	struct world w;
	ps_t time;

	run(&w, text);
	assert_int_equal(w.scenario.flow_count, 1);
	assert_int_equal(w.scenario.flows[0].status, TRAFFIC_OK);
	time = w.scenario.flows[0].end_at - w.scenario.flows[0].start_at;
	assert_int_equal(traffic_ideal(w.traffic, &w.scenario.flows[0]), time);
	world_end(&w);
	return time;
}

#define TWO "version: 1\ntopology: {kind: star, hosts: 2}\n"
#define ONE_FLOW "traffic: [{pattern: incast, to: h0, size: 4096B}]\n"

/* Two links of 1 us, 4194 bytes at 100 Gbit/s on each, and an ACK back. */
static void a_frame_takes_its_time_twice(void **state)
{
	(void)state;
	assert_int_equal(lone_flow(TWO ONE_FLOW), 2 * 335520 + 2 * 6880 + 4 * PS_US);
}

/* How much longer 400 packets of 4 KiB take for a host that has to look up their pages; a cache of
 * 16, and 500 ns a miss. */
static ps_t looked_up(const char *memory)
{
	static const char form[] = TWO "switch: {pfc: {}}\nnic: {rx: {hosts: h0, rate: 25Gbps%s}}\n"
				       "traffic: [{pattern: incast, to: h0, size: 1600KiB}]\n";
	ps_t times[2];

	for (int i = 0; i < 2; i++) {
		struct world w;
		char text[500], cache[100];

		util_text(cache, sizeof(cache), ", mtt_entries: 16, mtt_miss: 500ns%s", memory);
		util_text(text, sizeof(text), form, i ? cache : "");
		run(&w, text);
		assert_int_equal(w.scenario.flows[0].status, TRAFFIC_OK);
		times[i] = w.scenario.flows[0].end_at;
		world_end(&w);
	}
	return times[1] - times[0];
}

/* Pages of their own are missed each; those of a memory that the cache holds once each; of four
 * times as many three of four. */
static void memory_that_is_used_again_is_looked_up_less(void **state)
{
	(void)state;
	assert_int_equal(looked_up("") / (500 * PS_NS), 400);
	assert_int_equal(looked_up(", memory: 64KiB") / (500 * PS_NS), 16);
	assert_in_range(looked_up(", memory: 256KiB") / (500 * PS_NS), 270, 330);
}

/* Of a host that takes 400 packets of 4 KiB at a tenth of its link's rate: how often it has its
 * switch pause. A model of the two queues (of Python, with 84 bytes a pause) has counted them. */
static void a_slow_host_resumes_where_it_is_said(void **state)
{
	static const struct {
		const char *xon;
		uint32_t pauses;
	} want[] = {{"", 37},
		    {", xon: 128KiB", 46},
		    {", xon: 64KiB", 15},
		    {", xon: 16KiB", 10},
		    {", xon: 0B", 9}};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct world w;
		char text[400];

		util_text(text, sizeof(text),
			  TWO "switch: {pfc: {}}\nnic: {rx: {hosts: h0, rate: 10Gbps%s}}\n"
			      "traffic: [{pattern: incast, to: h0, size: 1600KiB}]\n",
			  want[i].xon);
		run(&w, text);
		assert_int_equal(w.scenario.flows[0].status, TRAFFIC_OK);
		assert_int_equal(sim_fc_lane(fabric_host(&w.fabric, "h0")->fc, 0, 3)->pauses_sent,
				 want[i].pauses);
		world_end(&w);
	}
}

/* 400 packets over a link of 20 us with buffers of 64 KiB: with updates of a quarter, of each frame
 * and of a half. A model of the link (of Python: what was said that may be sent, and when; the last
 * update of h0 goes before its ACK) has the
 * times: 9.7, 12.2 and 6.6 Gbit/s of the 13.1 that a whole buffer a round trip would be. */
static void updates_of_credits_are_as_large_as_is_said(void **state)
{
	static const struct {
		const char *update;
		ps_t end_at;
	} want[] = {{"auto", 1374945920}, {"1B", 1094564640}, {"32KiB", 2021738240}};

	(void)state;
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		struct world w;
		char text[500];

		util_text(text, sizeof(text),
			  "version: 1\ntopology: {hosts: \"h[0-1]\", switches: s0, links: [{a: h0, "
			  "b: s0, delay: 1us}, {a: h1, b: s0, delay: 20us}]}\nnic: {ack_every: "
			  "message}\nswitch: {credit: {buffer: 64KiB, update: %s}}\n"
			  "traffic: [{pattern: incast, to: h0, size: 1600KiB}]\n",
			  want[i].update);
		run(&w, text);
		assert_int_equal(w.scenario.flows[0].end_at, want[i].end_at);
		world_end(&w);
	}
}

/* Four bytes more of each frame, the ACK's too, on both links. */
static void a_tag_takes_its_time(void **state)
{
	(void)state;
	assert_int_equal(lone_flow(TWO ONE_FLOW "nic: {vlan: 100}\n"),
			 2 * (335520 + 320) + 2 * (6880 + 320) + 4 * PS_US);
}

/* Its window is what fits into the round trip: with an ACK now and then it would stand still. */
static void a_lone_flow_of_selective_repeat_is_as_fast_as_its_link(void **state)
{
	(void)state;
	lone_flow(TWO "nic: {retransmit: selective}\n"
		      "traffic: [{pattern: incast, to: h0, size: 4096000B}]\n");
}

/* Four packets, paced at 10 Gbit/s until the last one starts. (DCTCP raises it with the first ACK.)
 */
static void a_flow_starts_at_the_rate_that_is_said(void **state)
{
	static const char *const controls[] = {"dcqcn", "dcqcn_hpcc", "dcqcn_nv", "timely"};

	(void)state;
	for (size_t i = 0; i < sizeof(controls) / sizeof(controls[0]); i++) {
		struct world w;
		char text[400];

		util_text(text, sizeof(text),
			  TWO "nic: {start_rate: 10Gbps, cc: %s}\n"
			      "traffic: [{pattern: incast, to: h0, size: 16KiB}]\n",
			  controls[i]);
		run(&w, text);
		assert_int_equal(w.scenario.flows[0].end_at,
				 3355200 + 2 * 3342400 + 2 * 334240 + 2 * 6880 + 4 * PS_US);
		world_end(&w);
	}
}

static void latency_is_added_once_a_switch_and_way(void **state)
{
	(void)state;
	assert_int_equal(lone_flow(TWO ONE_FLOW "switch: {latency: 300ns}\n"),
			 2 * 335520 + 2 * 6880 + 4 * PS_US + 2 * 300 * PS_NS);
	assert_int_equal(lone_flow("version: 1\ntopology: {kind: leaf_spine, leaves: 2, spines: 1, "
				   "hosts_per_leaf: 1, delay: 500ns}\n" ONE_FLOW
				   "switch: {latency: 7ns, pfc: {response_delay: 1us}}\n"),
			 4 * 335520 + 4 * 6880 + 8 * 500 * PS_NS + 6 * 7 * PS_NS);
}

#define THREE_SWITCHES                                                                             \
	"version: 1\ntopology: {kind: leaf_spine, leaves: 2, spines: 1, hosts_per_leaf: 1}\n"

/* Each switch takes one of it, the last one the last; with one less that one drops all. */
static void a_ttl_of_as_many_as_there_are_switches_suffices(void **state)
{
	struct world w;

	(void)state;
	lone_flow(TWO ONE_FLOW "nic: {ttl: 1}\n");
	lone_flow(THREE_SWITCHES ONE_FLOW "nic: {ttl: 3}\n");
	run(&w, THREE_SWITCHES ONE_FLOW "nic: {ttl: 2}\n");
	assert_int_not_equal(w.scenario.flows[0].status, TRAFFIC_OK);
	/* The one packet and those that follow its seven timeouts. */
	assert_int_equal(sim_switch_stats(fabric_switch(&w.fabric, "leaf0"))->dropped_ttl, 8);
	assert_int_equal(sim_switch_stats(fabric_switch(&w.fabric, "spine0"))->dropped_ttl, 0);
	world_end(&w);
}

static void ipv6_and_mtu_change_the_wire(void **state)
{
	(void)state;
	/* 20 bytes more each way. */
	assert_int_equal(lone_flow(TWO ONE_FLOW "nic: {ip: 6}\n"),
			 2 * 337120 + 2 * 8480 + 4 * PS_US);
	/* Four packets of 1024: 1122 and 1106 bytes, one behind the other; the ACK as before. */
	assert_int_equal(lone_flow(TWO ONE_FLOW "nic: {mtu: 1024}\n"),
			 2 * 89760 + 3 * 88480 + 2 * 6880 + 4 * PS_US);
}

static void statuses_are_those_that_are_asked_for(void **state)
{
	struct world w;

	(void)state;
	build(&w, TWO ONE_FLOW);
	assert_int_equal(fabric_host(&w.fabric, "h0")->params.profile.statuses,
			 HCA_STATUSES_HARDWARE);
	world_end(&w);
	build(&w, TWO ONE_FLOW "nic: {statuses: rxe}\n");
	assert_int_equal(fabric_host(&w.fabric, "h0")->params.profile.statuses, HCA_STATUSES_RXE);
	world_end(&w);
}

static void windows_are_of_the_type_that_is_asked_for(void **state)
{
	struct world w;

	(void)state;
	build(&w, TWO ONE_FLOW);
	assert_false(fabric_host(&w.fabric, "h0")->params.profile.mw_is_2a);
	world_end(&w);
	build(&w, TWO ONE_FLOW "nic: {mw: 2a}\n");
	assert_true(fabric_host(&w.fabric, "h0")->params.profile.mw_is_2a);
	world_end(&w);
}

/* A slow host's adapter paces at its own link's rate: 4194 bytes take four times as long there. */
static void each_host_has_the_rate_of_its_link(void **state)
{
	static const char text[] =
		"version: 1\ntopology: {hosts: [fast, slow], switches: s, links: "
		"[{a: fast, b: s}, {a: slow, b: s, rate: 25Gbps}]}\n"
		"nic: {cc: dcqcn}\ntraffic: [{pattern: incast, to: fast, size: 4096B}]\n";
	struct world w;

	(void)state;
	assert_int_equal(lone_flow(text), 335520 + 4 * 335520 + 6880 + 4 * 6880 + 4 * PS_US);
	build(&w, text);
	assert_int_equal(fabric_host(&w.fabric, "fast")->params.profile.line_rate_bps,
			 100000000000);
	assert_int_equal(fabric_host(&w.fabric, "slow")->params.profile.line_rate_bps, 25000000000);
	assert_int_equal(fabric_host(&w.fabric, "slow")->params.profile.cc_params.line_rate_bps,
			 25000000000);
	world_end(&w);
}

struct sums {
	uint64_t pauses, marked, dropped, dropped_headroom, corrupted, lost, duplicated, delayed;
	uint64_t sent;
};

static struct sums sums_of(const struct fabric *fabric)
{
	struct sums sums = {0};

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		sums.dropped += fc->dropped_buffer;
		sums.dropped_headroom += fc->dropped_headroom;
		for (uint32_t port = 0; port < fc->node->port_count; port++) {
			sums.pauses += sim_fc_gate(fc, port)->controls_sent;
			for (uint8_t p = 0; p < SIM_PRIORITIES; p++)
				sums.marked += sim_fc_class(fc, port, p)->marked;
		}
	}
	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++)
		for (uint32_t p = 0; p < sim_node_at(fabric->sim, i)->port_count; p++) {
			const struct sim_port *port = &sim_node_at(fabric->sim, i)->ports[p];

			sums.sent += port->sent_packets;
			if (!port->fault)
				continue;
			sums.corrupted += port->fault->corrupted;
			sums.lost += port->fault->lost;
			sums.duplicated += port->fault->duplicated;
		}
	return sums;
}

static struct sums sums_of_run(const char *text)
{
	struct sums sums;
	struct world w;

	run(&w, text);
	sums = sums_of(&w.fabric);
	assert_int_equal(traffic_sums(w.traffic).mismatch_bytes, 0);
	assert_int_equal(traffic_sums(w.traffic).completed, w.scenario.flow_count);
	world_end(&w);
	return sums;
}

#define INCAST                                                                                     \
	"version: 1\ntopology: {kind: star, hosts: 9, delay: 2us}\n"                               \
	"traffic: [{pattern: incast, to: h0, size: 2MB}]\n"
#define STORM INCAST "nic: {timeout: 20}\n"

/* Thresholds so low that every pause leaves its headroom nearly full: what is kept free by itself
 * is enough with latency and response delay, and four frames less are not. */
static void headroom_is_what_is_needed(void **state)
{
	static const char exact[] =
		STORM "switch: {buffer: 8MiB, xoff: 4KiB, xon: 0B, latency: 1us, "
		      "pfc: {response_delay: 500ns}}\n";
	/* Two frames of 4198, a pause of 84, and 2 * 2 us + 0.5 us + 1 us of 12.5 bytes a ns. */
	static const char given[] =
		STORM "switch: {buffer: 8MiB, xoff: 4KiB, xon: 0B, latency: 1us, "
		      "pfc: {response_delay: 500ns, headroom: 77230B}}\n";
	static const char short_of_it[] =
		STORM "switch: {buffer: 8MiB, xoff: 4KiB, xon: 0B, latency: 1us, "
		      "pfc: {response_delay: 500ns, headroom: 60438B}}\n";
	const struct sums sums = sums_of_run(exact);

	(void)state;
	assert_true(sums.pauses > 0);
	assert_int_equal(sums.dropped + sums.dropped_headroom, 0);
	assert_int_equal(sums_of_run(given).dropped_headroom, 0);
	assert_true(sums_of_run(short_of_it).dropped_headroom > 0);
}

/* Between switches the pause is a matter of the ports: latency, which is on the way of data, must
 * not hold it up, or the headroom would be too small. */
static void a_pause_does_not_wait_for_the_switch(void **state)
{
	const struct sums sums = sums_of_run(
		"version: 1\ntopology: {hosts: \"h[0-8]\", switches: [near, far], links: "
		"[{a: \"h[1-8]\", b: far}, {a: far, b: near, delay: 500ns}, "
		"{a: h0, b: near, rate: 25Gbps}]}\n"
		"traffic: [{pattern: incast, to: h0, size: 1MB}]\nnic: {timeout: 20}\n"
		"switch: {xoff: 4KiB, xon: 0B, latency: 3us, pfc: {}}\n");

	(void)state;
	assert_true(sums.pauses > 0);
	assert_int_equal(sums.dropped + sums.dropped_headroom, 0);
}

static void credits_lose_nothing(void **state)
{
	const struct sums sums =
		sums_of_run(STORM "switch: {credit: {buffer: 8400B}, latency: 1us}\n");

	(void)state;
	assert_true(sums.pauses > 0); /* updates */
	assert_int_equal(sums.dropped + sums.dropped_headroom, 0);
}

/* Switches whose buffers differ tell one another; whoever has less is not sent more. */
static void credits_are_those_of_the_other_end(void **state)
{
	static const char *const buffers[] = {"4300B", "8KiB", "256KiB"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		char text[512];
		struct sums sums;

		snprintf(text, sizeof(text),
			 "version: 1\ntopology: {kind: leaf_spine, leaves: 2, spines: 1, "
			 "hosts_per_leaf: 4}\nswitch: {credit: {buffer: 64KiB}}\n"
			 "switches: [{names: spine0, credit: {buffer: %s}}]\n"
			 "traffic: [{pattern: incast, to: h0, from: \"h[4-7]\", size: 200KB}]\n",
			 buffers[i]);
		sums = sums_of_run(text);
		assert_int_equal(sums.dropped + sums.dropped_headroom, 0);
	}
}

static ps_t time_of(const char *classes, unsigned priority, unsigned packets)
{
	struct world w;
	char text[512];
	ps_t time;

	snprintf(text, sizeof(text),
		 TWO "switch: {credit: {buffer: 64KiB%s}}\n"
		     "nic: {timeout: 20}\n"
		     "traffic: [{pattern: incast, to: h0, size: %uB, priority: %u}]\n",
		 classes, packets * 4096, priority);
	run(&w, text);
	assert_int_equal(w.scenario.flows[0].status, TRAFFIC_OK);
	time = w.scenario.flows[0].end_at - w.scenario.flows[0].start_at;
	world_end(&w);
	return time;
}

/* Room for one frame: the next one starts once a frame of 4178 bytes is through (334,240 ps), has
 * arrived, and an update of 84 bytes (6,720 ps) is back: 2,340,960 ps with a link of 1 us. Others
 * go at the rate of the link. */
static void a_priority_may_have_a_buffer_of_its_own(void **state)
{
	static const char small[] = ", classes: [{priorities: [4], buffer: 4300B}]";

	(void)state;
	assert_int_equal(time_of(small, 4, 65) - time_of(small, 4, 33), 32 * 2340960);
	assert_int_equal(time_of(small, 3, 65) - time_of(small, 3, 33), 32 * 334240);
}

/* A flow of 10 packets in one priority and two of 17 in another at once: that many leave the switch
 * for h0 in each, and in no other. */
static void sixteen_priorities_keep_apart(void **state)
{
	struct world w;
	struct sim_port *port;
	const struct sim_fc *fc;

	(void)state;
	run(&w, "version: 1\npriorities: 16\ntopology: {kind: star, hosts: 3}\n"
		"switch: {credit: {buffer: 64KiB, classes: [{priorities: [11], buffer: 5KB}]}}\n"
		"nic: {timeout: 20, ack_priority: 14}\n"
		"traffic:\n"
		"- {class: a, pattern: incast, to: h0, from: h1, size: 40960B, priority: 3}\n"
		"- {class: b, pattern: incast, to: h0, size: 69632B, priority: 11}\n");
	port = sim_port_find(w.fabric.sim, "h0-s0#0", "s0");
	fc = sim_switch_fc(w.fabric.switches[0]);
	assert_int_equal(fc->priority_count, 16);
	for (uint32_t q = 0; q < 16; q++) {
		const uint32_t packets = q == 3 ? 10 : q == 11 ? 17 : 0;
		const struct sim_class *class = sim_fc_class(fc, port->index, q);

		assert_int_equal(class->sent_packets, q == 11 ? 2 * packets : packets);
		assert_int_equal(fabric_host(&w.fabric, "h1")->stats.sent[q].packets, packets);
		assert_int_equal(fabric_host(&w.fabric, "h0")->stats.sent[q].packets > 0, q == 14);
		/* Only what has room for one frame at a time waits for room. */
		assert_int_equal(sim_fc_lane(fc, port->index, q)->paused_time > 0, q == 11);
	}
	world_end(&w);
}

/* Classes that drop: the thresholds of each of sixteen are its own. */
static void sixteen_priorities_drop_apart(void **state)
{
	struct world w;
	const struct sim_fc *fc;
	uint32_t dropped[16] = {0};

	(void)state;
	run(&w, "version: 1\npriorities: 16\ntopology: {kind: star, hosts: 8}\n"
		"switch: {classes: [{priorities: [11], xoff: 9KB}]}\n"
		"traffic:\n"
		"- {class: a, pattern: incast, to: h0, size: 200KB, priority: 3}\n"
		"- {class: b, pattern: incast, to: h0, size: 200KB, priority: 11}\n");
	fc = sim_switch_fc(w.fabric.switches[0]);
	for (uint32_t p = 0; p < fc->node->port_count; p++)
		for (uint32_t q = 0; q < 16; q++)
			dropped[q] += sim_fc_class(fc, p, q)->dropped;
	for (uint32_t q = 0; q < 16; q++)
		assert_int_equal(dropped[q] > 0, q == 11);
	world_end(&w);
}

static void without_either_a_small_buffer_drops(void **state)
{
	const struct sums sums = sums_of_run(STORM "switch: {buffer: 64KiB}\n");

	(void)state;
	assert_int_equal(sums.pauses, 0);
	assert_true(sums.dropped > 0);
}

static void marks_only_where_asked_for(void **state)
{
	(void)state;
	assert_int_equal(sums_of_run(INCAST "switch: {pfc: {}}\nnic: {cc: dcqcn}\n").marked, 0);
	assert_true(sums_of_run(INCAST "switch: {pfc: {}, ecn: {}}\nnic: {cc: dcqcn}\n").marked >
		    0);
	/* Nobody listens, so packets are not ECT. */
	assert_int_equal(sums_of_run(STORM "switch: {pfc: {}, ecn: {}}\n").marked, 0);
}

/* 4190 bytes of 8 bits at 2 * 10^-6: 6.5 % of the packets; 2000 packets over two such links, 99.99
 * % of all runs between. (ACKs add a few.) */
static void bit_errors_by_length(void **state)
{
	const struct sums sums = sums_of_run(
		"version: 1\ntopology: {hosts: \"h[0-1]\", switches: s, links: "
		"[{a: \"h[0-1]\", b: s, error: 0.000002}]}\n"
		"nic: {window: 16}\ntraffic: [{pattern: incast, to: h0, size: 4096000B}]\n");
	const uint64_t parts = sums.corrupted * 1000 / sums.sent; /* ACKs: 1 of 65, hardly hit */

	(void)state;
	assert_in_range(parts, 50, 80);
}

static void several_faults_of_one_port(void **state)
{
	const struct sums sums =
		sums_of_run(TWO "traffic: [{pattern: incast, to: h0, size: 8MB}]\n"
				"faults: [{link: h0-s0, sender: s0, drop_nth: [3, 4]}, "
				"{link: h0-s0, sender: s0, duplicate: 1/2, by: 1us}, "
				"{link: h1-s0, sender: h1, drop_nth: [3]}]\n");

	(void)state;
	assert_int_equal(sums.lost, 3);
	assert_in_range(sums.duplicated, 900, 1100);
}

/* Each draws for itself: of two that lose 5 %, the second loses 5 % of what is left, 9.75 % in
 * all. */
static void faults_of_one_port_are_independent(void **state)
{
	const struct sim_port *port;
	uint64_t parts;
	struct world w;

	(void)state;
	run(&w, TWO "nic: {window: 16, timeout: 3}\n"
		    "traffic: [{pattern: incast, to: h0, size: 12MB}]\n"
		    "faults: [{link: h0-s0, sender: s0, loss: 5%}, "
		    "{link: h0-s0, sender: s0, loss: 1/20}]\n");
	port = sim_port_find(w.fabric.sim, "h0-s0#0", "s0");
	parts = port->fault->lost * 10000 / port->sent_packets;
	assert_true(port->sent_packets > 3000);
	assert_in_range(parts, 850, 1100);
	world_end(&w);
}

static uint64_t digest_of(const char *text)
{
	struct world w;
	uint64_t digest;

	run(&w, text);
	digest = sim_digest(w.fabric.sim);
	world_end(&w);
	return digest;
}

#define FRAMES(what) STORM "faults: [{link: h0-s0, drop_nth: [3]" what "}]\n"

/* Pause frames are counted and lost only where that is said; what is the default leaves no
 * trace. */
static void faults_of_all_frames(void **state)
{
	(void)state;
	assert_true(digest_of(FRAMES("")) == digest_of(FRAMES(", frames: data")));
	assert_true(digest_of(FRAMES("")) != digest_of(FRAMES(", frames: all")));
}

static void what_a_host_sends_to_itself_takes_as_long_as_is_said(void **state)
{
	struct world w;

	(void)state;
	build(&w, TWO);
	assert_int_equal(w.fabric.hosts[1].params.loop_delay, 100 * PS_NS);
	world_end(&w);
	build(&w, TWO "nic: {loop_delay: 3us}\n");
	assert_int_equal(w.fabric.hosts[1].params.loop_delay, 3 * PS_US);
	world_end(&w);
}

static void the_order_of_faults_is_not_seen(void **state)
{
	static const char *const faults[2] = {
		"faults: [{link: h0-s0, loss: 1%}, {link: h0-s0, loss: 2%}]\n",
		"faults: [{link: h0-s0, loss: 2%}, {link: h0-s0, loss: 1%}]\n"};
	uint64_t digest[2];

	(void)state;
	for (int i = 0; i < 2; i++) {
		char text[512];

		snprintf(text, sizeof(text), "%s%s", STORM, faults[i]);
		digest[i] = digest_of(text);
	}
	assert_true(digest[0] == digest[1]);
}

static void true_is_yes(void **state)
{
	static const char *const words[4] = {"yes", "true", "no", "false"};
	uint64_t digest[4];

	(void)state;
	for (int i = 0; i < 4; i++) {
		char text[512];

		snprintf(text, sizeof(text),
			 "%sfaults: [{link: h0-s0, down: %s, from: 1us, until: 9us}]\n", STORM,
			 words[i]);
		digest[i] = digest_of(text);
	}
	assert_true(digest[0] == digest[1] && digest[2] == digest[3] && digest[0] != digest[2]);
}

static int compare_ends(const void *a, const void *b)
{
	const struct traffic_flow *x = a, *y = b;

	return x->end_at < y->end_at ? -1 : x->end_at > y->end_at;
}

/* Three flows of two packets (4194 and 4178 bytes on the wire) at once, over two links. In order on
 * one queue pair the packets go f l f l f l; in turn on three f f f l l l. The second link is never
 * idle once the first packet is there. */
static void flows_of_a_pair_take_turns_or_not(void **state)
{
	static const char text[] =
		TWO "traffic: [{pattern: incast, to: h0, size: 8192B, repeat: 3}]\n";
	static const char pair[] = TWO "nic: {qp: per-pair}\ntraffic: [{pattern: incast, to: h0, "
				       "size: 8192B, repeat: 3}]\n";
	const ps_t first = 335520, last = 334240, rest = first + 2 * 6880 + 4 * PS_US;
	struct world w;

	(void)state;
	run(&w, pair);
	qsort(w.scenario.flows, 3, sizeof(struct traffic_flow), compare_ends);
	for (uint32_t k = 0; k < 3; k++) {
		assert_int_equal(w.scenario.flows[k].source_qpn, w.scenario.flows[0].source_qpn);
		assert_int_equal(w.scenario.flows[k].sink_qpn, w.scenario.flows[0].sink_qpn);
		assert_int_equal(w.scenario.flows[k].end_at, (k + 1) * (first + last) + rest);
	}
	world_end(&w);
	run(&w, text);
	qsort(w.scenario.flows, 3, sizeof(struct traffic_flow), compare_ends);
	for (uint32_t k = 0; k < 3; k++)
		assert_int_equal(w.scenario.flows[k].end_at, 3 * first + (k + 1) * last + rest);
	assert_int_not_equal(w.scenario.flows[0].source_qpn, w.scenario.flows[1].source_qpn);
	world_end(&w);
}

/* More than a send queue takes wait for their turn; other priorities have queue pairs of their
 * own. */
static void a_pair_holds_more_than_its_send_queue(void **state)
{
	static const char text[] =
		TWO "nic: {qp: per-pair}\ntraffic: [{class: a, pattern: incast, to: h0, size: 1B, "
		    "repeat: "
		    "20000}, {class: b, pattern: incast, to: h0, size: 1B, priority: 1}]\n";
	struct traffic_sums sums;
	struct world w;

	(void)state;
	run(&w, text);
	sums = traffic_sums(w.traffic);
	assert_int_equal(sums.completed, 20001);
	assert_int_equal(sums.packets_retransmitted + sums.mismatch_bytes, 0);
	/* Sorted: priority 1 comes first. */
	assert_int_not_equal(w.scenario.flows[0].source_qpn, w.scenario.flows[1].source_qpn);
	assert_int_equal(w.scenario.flows[1].source_qpn, w.scenario.flows[20000].source_qpn);
	world_end(&w);
}

/* What is lost on the shared queue pair is counted once. */
static void a_pair_shares_out_what_it_sends_again(void **state)
{
	static const char text[] = TWO "nic: {qp: per-pair}\ntraffic: [{pattern: ring, size: "
				       "100KB, repeat: 20, every: 3us}]\n"
				       "faults: [{link: h0-s0, loss: 2%}]\n";
	uint64_t retransmitted = 0, flows = 0;
	struct traffic_sums sums;
	struct world w;

	(void)state;
	run(&w, text);
	sums = traffic_sums(w.traffic);
	for (uint32_t i = 0; i < 2; i++)
		retransmitted += hca_device_counters(w.fabric.hosts[i].hca)->packets_retransmitted;
	for (uint64_t i = 0; i < w.scenario.flow_count; i++)
		flows += w.scenario.flows[i].packets_retransmitted > 0;
	assert_int_equal(sums.completed, 40);
	assert_int_equal(sums.packets_retransmitted, retransmitted);
	assert_true(retransmitted > 5 && flows > 2);
	world_end(&w);
}

struct pairs {
	struct traffic_listener listener; /* first */
	uint32_t flows[3][3];		  /* by source and destination */
};

static int count_pair(struct traffic_listener *listener, const struct traffic_flow *flow,
		      uint64_t id)
{
	struct pairs *pairs = container_of(listener, struct pairs, listener);

	(void)id;
	pairs->flows[flow->src][flow->dst]++;
	return 0;
}

/* 20 Gbit/s of each host for 160 us are 100 flows of 4 KB, 50 to each other one; five standard
 * deviations of 7 either way. */
static void a_stream_goes_to_all_others(void **state)
{
	static const char text[] =
		"version: 1\ntopology: {kind: star, hosts: 3}\n"
		"traffic: [{load: 20%, size: 4KB, until: 160us, stream: always}]\n";
	struct pairs pairs = {.listener.on_flow = count_pair};
	const struct scenario_options options = {.thread_count = 1, .listener = &pairs.listener};
	struct bad_list errors = {0};
	struct world w;

	(void)state;
	assert_int_equal(
		scenario_parse("test.yaml", text, strlen(text), NULL, &w.scenario, &errors), 0);
	bad_list_fini(&errors);
	assert_int_equal(scenario_build(&w.scenario, &options, &w.fabric, &w.traffic), 0);
	assert_int_equal(fabric_run(&w.fabric, PS_NEVER), 0);
	assert_int_equal(traffic_stream_end(w.traffic), 0);
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t j = 0; j < 3; j++)
			if (i == j)
				assert_int_equal(pairs.flows[i][j], 0);
			else
				assert_in_range(pairs.flows[i][j], 50 - 35, 50 + 35);
	world_end(&w);
}

/* Memory that gives out while a stream is set up is given back; in the run it ends the run. */
static void a_stream_may_find_no_memory(void **state)
{
	static const char text[] =
		TWO "traffic: [{load: 30%, size: 1KB, until: 20us, stream: always}]\n";
	/* Little is reserved for packets: an emulator of other processors keeps a table of it. */
	const struct scenario_options options = {.thread_count = 1, .packet_bytes_max = 1 << 22};
	struct bad_list errors = {0};
	unsigned failed = 0, n = 0;
	struct world w;
	int ret, built;

	(void)state;
	assert_int_equal(
		scenario_parse("test.yaml", text, strlen(text), NULL, &w.scenario, &errors), 0);
	assert_int_equal(w.scenario.stream_count, 1);
	do {
		n += n < 200 ? 1 : 5;
		util_alloc_fail_after(n);
		ret = built = scenario_build(&w.scenario, &options, &w.fabric, &w.traffic);
		if (!built) {
			ret = fabric_run(&w.fabric, PS_NEVER);
			failed += ret != 0;
			util_alloc_fail_after(0);
			assert_int_equal(traffic_stream_end(w.traffic), 0);
			assert_true(ret || traffic_sums(w.traffic).completed > 50);
			traffic_destroy(w.traffic);
			fabric_fini(&w.fabric);
		}
		util_alloc_fail_after(0);
		assert_true((ret == 0 || ret == -ENOMEM) && n < 20000);
	} while (ret);
	assert_true(failed > 20 && n > failed + 50);
	scenario_fini(&w.scenario);
}

RUN(T(updates_of_credits_are_as_large_as_is_said), T(a_slow_host_resumes_where_it_is_said),
    T(a_frame_takes_its_time_twice), T(a_flow_starts_at_the_rate_that_is_said),
    T(a_tag_takes_its_time), T(memory_that_is_used_again_is_looked_up_less),
    T(a_lone_flow_of_selective_repeat_is_as_fast_as_its_link),
    T(latency_is_added_once_a_switch_and_way), T(a_ttl_of_as_many_as_there_are_switches_suffices),
    T(ipv6_and_mtu_change_the_wire), T(each_host_has_the_rate_of_its_link),
    T(statuses_are_those_that_are_asked_for), T(windows_are_of_the_type_that_is_asked_for),
    T(headroom_is_what_is_needed), T(a_pause_does_not_wait_for_the_switch), T(credits_lose_nothing),
    T(credits_are_those_of_the_other_end), T(a_priority_may_have_a_buffer_of_its_own),
    T(sixteen_priorities_keep_apart), T(sixteen_priorities_drop_apart),
    T(without_either_a_small_buffer_drops), T(marks_only_where_asked_for), T(bit_errors_by_length),
    T(several_faults_of_one_port), T(faults_of_one_port_are_independent),
    T(the_order_of_faults_is_not_seen), T(true_is_yes), T(faults_of_all_frames),
    T(what_a_host_sends_to_itself_takes_as_long_as_is_said), T(a_stream_may_find_no_memory),
    T(a_stream_goes_to_all_others), T(flows_of_a_pair_take_turns_or_not),
    T(a_pair_holds_more_than_its_send_queue), T(a_pair_shares_out_what_it_sends_again))
