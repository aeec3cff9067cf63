/* SPDX-License-Identifier: BSD-2-Clause */

/* Faults and taps at a port. */
#include "sim/fault.h"
#include "sim/tap.h"
#include "tests/scenario/net.h"
#include "tests/test.h"

#include <string.h>

enum { MANY = 10000 };

struct seen {
	uint8_t count[MANY];
	uint32_t order_breaks;
	uint64_t last;
	ps_t first_at;
};

static void note(struct endpoint *ep, const struct sim_pkt *pkt, void *context)
{
	struct seen *seen = context;
	const uint64_t number = pkt->body_words[1];

	(void)ep;
	assert_true(number < MANY);
	seen->count[number]++;
	seen->order_breaks += number < seen->last;
	seen->last = number;
	if (seen->first_at == 0)
		seen->first_at = pkt->at;
}

struct trial {
	struct net net;
	struct sim_fault fault;
	struct seen seen;
	uint64_t digest;
};

/* a -- s0 -- b, the fault on the way from a to the switch. */
static struct trial try(const struct sim_fault_params *params, uint32_t packets, uint32_t threads)
{
	static const struct net_link links[] = {{"a", "s0", 100000000000, PS_US},
						{"b", "s0", 100000000000, PS_US}};
	struct trial trial = {.digest = 0};
	struct endpoint *b;

	net_make(&trial.net,
		 &(struct net_params){.seed = 4, .buffer_bytes = 1 << 24, .threads = threads},
		 links, 2);
	sim_fault_attach(&trial.fault, sim_port_find(trial.net.sim, "a-s0", "a"), params);
	net_flow(&trial.net, "a", "b", packets, 1106, 0)->answer = false;
	b = net_host(&trial.net, "b");
	b->seen = note;
	b->context = &trial.seen;
	trial.digest = net_run(&trial.net);
	b->context = NULL;
	return trial;
}

static void exactly_the_listed_packets_are_lost(void **state)
{
	static const uint64_t numbers[] = {1, 3, 17, 100};
	struct trial t =
		try(&(struct sim_fault_params){.lost_numbers = numbers, .lost_count = 4}, 100, 1);

	(void)state;
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(t.seen.count[i], i != 0 && i != 2 && i != 16 && i != 99);
	assert_int_equal(t.fault.lost, 4);
	assert_int_equal(net_host(&t.net, "a")->returned, 4);
	net_free(&t.net);
}

static void loss_is_of_its_rate_and_its_time(void **state)
{
	struct trial t = try(&(struct sim_fault_params){.loss_ppb = 100000000,
							.from = 10 * PS_US,
							.until = 500 * PS_US},
			     MANY, 1);
	const uint32_t first = 10 * PS_US / 88480 + 1, end = 500 * PS_US / 88480 + 1;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		if (i < first || i >= end)
			assert_int_equal(t.seen.count[i], 1);
	/* 5,538 packets: 554 expected, deviation 22. */
	assert_in_range(t.fault.lost, 554 - 110, 554 + 110);
	assert_int_equal(net_host(&t.net, "b")->received_packets, MANY - t.fault.lost);
	assert_int_equal(net_host(&t.net, "a")->returned, t.fault.lost);
	net_free(&t.net);
}

static void duplicates_reordering_and_delay(void **state)
{
	struct trial t = try(&(struct sim_fault_params){.duplicate_ppb = 50000000,
							.duplicate_delay = 1,
							.reorder_ppb = 20000000,
							.reorder_delay = PS_US,
							.delay = 333},
			     MANY, 1);
	uint32_t twice = 0;

	(void)state;
	for (uint32_t i = 0; i < MANY; i++) {
		assert_in_range(t.seen.count[i], 1, 2);
		twice += t.seen.count[i] == 2;
	}
	assert_int_equal(twice, t.fault.duplicated);
	assert_in_range(twice, 500 - 109, 500 + 109);
	assert_in_range(t.fault.reordered, 200 - 70, 200 + 70);
	assert_true(t.seen.order_breaks >= t.fault.reordered / 2);
	assert_true(t.seen.first_at == 2 * (88480 + PS_US) + 333);
	net_free(&t.net);
}

/* Copies of two faults, and an original that a third one holds up for as long: frames of one number
 * never arrive together, or nothing could tell them apart. */
static void copies_come_one_behind_the_other(void **state)
{
	static const struct net_link links[] = {{"a", "s0", 100000000000, PS_US},
						{"b", "s0", 100000000000, PS_US}};
	const struct sim_fault_params twice = {.duplicate_ppb = 1000000000,
					       .duplicate_delay = PS_US};
	const struct sim_fault_params late = {.delay = PS_US};
	struct sim_fault faults[3];
	struct net net;

	(void)state;
	net_make(&net, &(struct net_params){.seed = 4, .buffer_bytes = 1 << 24, .threads = 1},
		 links, 2);
	for (int i = 0; i < 3; i++)
		sim_fault_attach(&faults[i], sim_port_find(net.sim, "a-s0", "a"),
				 i < 2 ? &twice : &late);
	net_flow(&net, "a", "b", 1, 1106, 0)->answer = false;
	net_run(&net);
	assert_int_equal(faults[0].duplicated, 2);
	assert_int_equal(net_host(&net, "b")->received_packets, 3);
	net_free(&net);
}

static void what_checks_refuse_is_lost(void **state)
{
	struct trial t = try(&(struct sim_fault_params){.corrupt_ppb = 30000000}, MANY, 1);

	(void)state;
	assert_in_range(t.fault.corrupted, 300 - 85, 300 + 85);
	assert_int_equal(t.fault.refused, t.fault.corrupted);
	assert_int_equal(net_host(&t.net, "b")->received_packets, MANY - t.fault.refused);
	net_free(&t.net);
}

static void faults_are_the_same_for_any_threads(void **state)
{
	const struct sim_fault_params params = {.loss_ppb = 10000000,
						.jitter = 3 * PS_US,
						.duplicate_ppb = 10000000,
						.duplicate_delay = 70 * PS_US};
	struct trial one = try(&params, 3000, 1), two = try(&params, 3000, 2);

	(void)state;
	assert_true(one.digest == two.digest);
	net_free(&one.net);
	net_free(&two.net);
}

/* Losing control frames: absolute credits heal, pauses by quanta run out. */
static void lost_control_frames_heal(void **state)
{
	static const struct net_link links[] = {{"h0", "s0", 100000000000, PS_US},
						{"h1", "s0", 100000000000, PS_US},
						{"h2", "s0", 100000000000, PS_US}};
	struct net_params params = {.seed = 1,
				    .fc = NET_PFC,
				    .pfc = {.buffer_bytes = 4000000,
					    .lossless = 8,
					    .xoff_bytes = 40000,
					    .resume_bytes = 8356,
					    .headroom_bytes = 300000,
					    .quanta = true,
					    .pause_quanta = 400}};

	(void)state;
	for (int credit = 0; credit < 2; credit++) {
		static const uint64_t numbers[] = {2, 4, 5, 9};
		struct sim_fault fault;
		struct net net;

		if (credit)
			params.fc = NET_CREDIT;
		params.buffer_bytes = 60000;
		net_make(&net, &params, links, 3);
		sim_fault_attach(&fault, sim_port_find(net.sim, "h0-s0", "s0"),
				 &(struct sim_fault_params){.control = true,
							    .lost_numbers = numbers,
							    .lost_count = 4,
							    .until = 60 * PS_US});
		net_flow(&net, "h0", "h2", 300, 4178, 0)->answer = false;
		net_flow(&net, "h1", "h2", 300, 4178, 0)->answer = false;
		net_run(&net);
		assert_true(fault.lost > 0);
		assert_int_equal(net_host(&net, "h2")->received_packets, 600);
		assert_int_equal(net_dropped(&net), 0);
		net_free(&net);
	}
}

/* Pauses go by the same link as the packets of which one is to be lost: it is that one all the
 * same, and the pauses are none of them. */
static void packets_are_counted_without_pauses(void **state)
{
	static const uint64_t numbers[] = {150};
	static const struct net_link links[] = {{"a", "s0", 100000000000, PS_US},
						{"b", "s0", 100000000000, PS_US},
						{"c", "s0", 100000000, PS_US}};
	const struct net_params params = {.seed = 1,
					  .fc = NET_PFC,
					  .pfc = {.buffer_bytes = 4000000,
						  .lossless = 8,
						  .xoff_bytes = 10000,
						  .resume_bytes = 4000,
						  .headroom_bytes = 300000}};
	struct sim_port *port;
	struct seen seen = {0};
	struct sim_fault fault;
	struct net net;

	(void)state;
	net_make(&net, &params, links, 3);
	port = sim_port_find(net.sim, "a-s0", "s0");
	sim_fault_attach(&fault, port,
			 &(struct sim_fault_params){.lost_numbers = numbers, .lost_count = 1});
	net_flow(&net, "a", "c", 100, 1106, 0)->answer = false;
	net_flow(&net, "b", "a", 200, 1106, 0)->answer = false;
	net_host(&net, "b")->flows[0].priority = 0;
	net_host(&net, "a")->seen = note;
	net_host(&net, "a")->context = &seen;
	net_run(&net);
	assert_true(sim_fc_gate(sim_switch_fc(net.switches[0]), port->index)->resumes_sent > 0);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(seen.count[i], i != 149);
	assert_int_equal(fault.lost, 1);
	assert_int_equal(fault.number, 200);
	net_free(&net);
}

struct meter {
	struct sim_tap tap;
	uint64_t frames, bytes;
	ps_t last;
};

static void on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		     const struct sim_pkt *pkt, ps_t start)
{
	struct meter *meter = container_of(tap, struct meter, tap);

	(void)th;
	assert_true(meter->frames == 0 || start >= meter->last + 88480);
	assert_string_equal(port->link_name, "a-s0");
	meter->frames++;
	meter->bytes += pkt->bytes;
	meter->last = start;
}

static void a_tap_hears_every_start(void **state)
{
	static const struct net_link links[] = {{"a", "s0", 100000000000, PS_US},
						{"b", "s0", 100000000000, PS_US}};
	struct meter one = {.tap = {.on_start = on_start}}, two = one;
	struct net net;
	uint64_t plain;

	(void)state;
	net_make(&net, &(struct net_params){.seed = 4, .buffer_bytes = 1 << 24}, links, 2);
	net_flow(&net, "a", "b", 50, 1106, 0);
	plain = net_run(&net);
	net_free(&net);
	net_make(&net, &(struct net_params){.seed = 4, .buffer_bytes = 1 << 24}, links, 2);
	sim_tap_attach(&one.tap, sim_port_find(net.sim, "a-s0", "a"));
	sim_tap_attach(&two.tap, sim_port_find(net.sim, "a-s0", "a"));
	net_flow(&net, "a", "b", 50, 1106, 0);
	assert_true(net_run(&net) == plain);
	assert_int_equal(one.frames, 50);
	assert_int_equal(two.bytes, 50 * 1106);
	net_free(&net);
}

RUN(T(exactly_the_listed_packets_are_lost), T(loss_is_of_its_rate_and_its_time),
    T(duplicates_reordering_and_delay), T(copies_come_one_behind_the_other),
    T(what_checks_refuse_is_lost), T(faults_are_the_same_for_any_threads),
    T(lost_control_frames_heal), T(packets_are_counted_without_pauses), T(a_tap_hears_every_start))
