/* SPDX-License-Identifier: BSD-2-Clause */
/* balance: conweave. Flows leave a way that has become slow, and what they send arrives in order.
 */
#include "tests/unit/scenario_test.h"

#include "models/machine/packet.h"
#include "sim/port.h"
#include "transport/wire/frame.h"

#include <string.h>

/* Four flows of 25 Gbit/s over two ways of 100, of which one carries only 10 from 200 us on. */
#define SLOW                                                                                       \
	"topology: {kind: leaf_spine, leaves: 2, spines: 2, hosts_per_leaf: 4, host_rate: "        \
	"25Gbps}\n"                                                                                \
	"traffic:\n"                                                                               \
	"  - {class: a, pattern: incast, from: [h0], to: h4, size: 100MB}\n"                       \
	"  - {class: b, pattern: incast, from: [h1], to: h5, size: 100MB}\n"                       \
	"  - {class: c, pattern: incast, from: [h2], to: h6, size: 100MB}\n"                       \
	"  - {class: d, pattern: incast, from: [h3], to: h7, size: 100MB}\n"                       \
	"faults: [{link: leaf0-spine1, sender: leaf0, rate: 10Gbps, from: 200us}]\n"
/* Two to one, many flows at once: ways fill and empty all the time. */
#define LOAD                                                                                       \
	"topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4}\n"                  \
	"nic: {cc: dcqcn_hpcc, mtu: 1024}\n"                                                       \
	"traffic: [{class: a, load: 40%, cdf: alistorage2019, until: 500us, hosts: "               \
	"\"h[0-15]\"}]\n"
/* Queue pairs that rest between flows. */
#define PAIRS                                                                                      \
	"topology: {kind: leaf_spine, leaves: 4, spines: 2, hosts_per_leaf: 4}\n"                  \
	"nic: {cc: dcqcn_hpcc, mtu: 1024, qp: per-pair}\n"                                         \
	"traffic: [{class: a, load: 40%, cdf: alistorage2019, until: 1500us, hosts: "              \
	"\"h[0-15]\"}]\n"
#define TOP "version: 1\n"
#define ECMP TOP "switch: {pfc: {}, ecn: {kmin: 100KB, kmax: 400KB}}\n"
#define WEAVE TOP "switch: {balance: conweave, pfc: {}, ecn: {kmin: 100KB, kmax: 400KB}}\n"

struct seen {
	uint64_t slow; /* frames that leaf0 has sent to spine1 */
	uint64_t retransmitted, nacked,
		answered; /* by hosts: retransmitted; NAKs heard and sent for gaps */
	uint64_t completed;
	uint64_t digest;
	struct sim_conweave_stats conweave;
};

static struct seen play(const char *text, uint32_t threads, ps_t until)
{
	struct world w;
	struct seen seen = {0};

	world_build(&w, text, threads);
	assert_int_equal(fabric_run(&w.fabric, until), 0);
	seen.slow = sim_port_find(w.fabric.sim, "leaf0-spine1#0", "leaf0")->sent_packets;
	seen.digest = sim_digest(w.fabric.sim);
	for (uint32_t i = 0; i < w.fabric.host_count; i++) {
		const struct hca_counters *c = hca_device_counters(w.fabric.hosts[i].hca);

		seen.retransmitted += c->packets_retransmitted;
		seen.nacked += c->packet_seq_err;
		seen.answered += c->out_of_sequence;
	}
	for (uint64_t i = 0; i < w.scenario.flow_count; i++)
		seen.completed += w.scenario.flows[i].status == TRAFFIC_OK;
	for (uint32_t i = 0; i < w.fabric.switch_count; i++) {
		const struct sim_conweave_stats stats =
			sim_switch_conweave_stats(w.fabric.switches[i]);

		seen.conweave.rerouted += stats.rerouted;
		seen.conweave.kept += stats.kept;
		seen.conweave.overdue += stats.overdue;
		seen.conweave.notes_sent += stats.notes_sent;
		seen.conweave.notes_heard += stats.notes_heard;
	}
	world_end(&w);
	return seen;
}

/* 500 us of 10 Gbit/s are 150 frames of 4,178 bytes. */
static void flows_leave_a_way_that_is_slow(void **state)
{
	const struct seen stay = play(ECMP SLOW, 1, 500 * PS_US),
			  stay_on = play(ECMP SLOW, 1, 1000 * PS_US),
			  leave = play(WEAVE SLOW, 1, 500 * PS_US),
			  leave_on = play(WEAVE SLOW, 1, 1000 * PS_US);

	(void)state;
	assert_in_range(stay_on.slow - stay.slow, 140, 151);
	assert_true(leave.conweave.rerouted > 0);
	/* Tried now and then, once the marks of the last time are forgotten. */
	assert_true(leave_on.slow - leave.slow < 50);
}

static void what_is_rerouted_arrives_in_order(void **state)
{
	const struct seen slow = play(WEAVE SLOW, 1, 1000 * PS_US),
			  load = play(WEAVE LOAD, 1, PS_NEVER),
			  pairs = play(WEAVE PAIRS, 1, PS_NEVER);

	(void)state;
	assert_true(slow.conweave.rerouted > 0 && slow.conweave.kept > 0);
	assert_int_equal(slow.retransmitted + slow.nacked + slow.answered, 0);
	assert_true(load.conweave.rerouted > 50 && load.conweave.kept > 100);
	assert_int_equal(load.conweave.overdue, 0);
	assert_int_equal(load.retransmitted + load.nacked + load.answered, 0);
	assert_int_equal(load.conweave.notes_sent, load.conweave.notes_heard);
	assert_true(pairs.conweave.rerouted > 500 && pairs.conweave.kept > 5000);
	assert_int_equal(pairs.retransmitted + pairs.nacked + pairs.answered, 0);
}

static void threads_change_nothing(void **state)
{
	const struct seen one = play(WEAVE LOAD, 1, PS_NEVER);

	(void)state;
	assert_true(play(WEAVE LOAD, 3, PS_NEVER).digest == one.digest);
	assert_true(play(ECMP LOAD, 1, PS_NEVER).digest != one.digest);
}

/* One that comes from outside is nothing to a queue pair, not even where it hears IRN's opcodes. */
static void adapters_take_no_notes(void **state)
{
	static const char text[] = TOP "nic: {retransmit: selective}\n" SLOW;
	const struct scenario_options options = {.thread_count = 1};
	const struct hca_rx rx = {0};
	struct wire_pkt note = {.opcode = WIRE_AGENT};
	struct hca_counters before;
	const struct hca_counters *c;
	struct bad_list errors = {0};
	struct scenario scenario;
	struct fabric fabric;
	struct traffic *traffic;

	(void)state;
	assert_int_equal(scenario_parse("t", text, strlen(text), NULL, &scenario, &errors), 0);
	bad_list_fini(&errors);
	assert_int_equal(scenario_build(&scenario, &options, &fabric, &traffic), 0);
	assert_int_equal(fabric_run(&fabric, 100 * PS_US), 0);
	c = hca_device_counters(fabric_host(&fabric, "h4")->hca);
	before = *c;
	note.dest_qpn = scenario.flows[0].sink_qpn;
	hca_input(fabric_host(&fabric, "h4")->hca, &note, &rx, 100 * PS_US);
	assert_int_equal(c->rx_dropped, before.rx_dropped + 1);
	assert_int_equal(c->rx_unknown_qp, before.rx_unknown_qp);
	assert_int_equal(c->rp_cnp_handled, before.rp_cnp_handled);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	scenario_fini(&scenario);
}

RUN(T(flows_leave_a_way_that_is_slow), T(what_is_rerouted_arrives_in_order),
    T(threads_change_nothing), T(adapters_take_no_notes))
