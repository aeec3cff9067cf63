/* SPDX-License-Identifier: BSD-2-Clause */

/* What is seen over time, and that looking changes nothing. */
#include "tests/test.h"

#include "models/fabric/sampler.h"
#include "models/traffic/traffic.h"
#include "sim/fault.h"
#include "sim/switch.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

#define G ((uint64_t)1000000000)
enum { SENDERS = 8, MTU = 1024 };

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider none = {.list = NULL};

	return &none;
}

struct net {
	struct topology topology;
	struct host_params host;
	struct pfc_params pfc;
	struct ecn ecn;
	struct fabric fabric;
	struct traffic_flow flows[2 * SENDERS];
	uint64_t flow_count;
	struct traffic *traffic;
	struct sampler sampler;
};

struct choice {
	uint32_t threads;
	bool sampled;
	ps_t late; /* start of a second incast; 0: none */
	uint64_t bytes;
	struct fabric_watcher *watcher; /* NULL: none more */
};

static void add_incast(struct net *net, uint64_t bytes, ps_t start)
{
	for (uint32_t i = 0; i < SENDERS; i++) {
		char name[16];

		snprintf(name, sizeof(name), "h%u", i + 1);
		net->flows[net->flow_count++] = (struct traffic_flow){
			.src = fabric_host(&net->fabric, name)->number,
			.dst = fabric_host(&net->fabric, "h0")->number,
			.priority = 3,
			.bytes = bytes,
			.start_at = start,
		};
	}
}

/* An incast over a leaf-spine, with pauses and marks. */
static void net_run(struct net *net, const struct choice *choice)
{
	const struct topology_speed speed = {100 * G, 100 * G, PS_US};
	struct fabric_params params = {
		.seed = 1,
		.thread_count = choice->threads,
		.packet_bytes_max = 1u << 28,
	};

	*net = (struct net){
		.host = {.profile = {.line_rate_bps = 100 * G,
				     .mtu_max = MTU,
				     .psn_window = 1u << 20,
				     .ack_every = 1,
				     .ack_on_data_priority = true,
				     .cnp_priority = 6,
				     .cnp_enabled = true,
				     .cnp_interval = 50 * PS_US,
				     .cc = &cc_dcqcn,
				     .cc_params = cc_dcqcn_params(100 * G),
				     .wire_overhead = wire_frame_overhead(0),
				     .qp_max = 64,
				     .cq_max = 8,
				     .mr_max = 64,
				     .pd_max = 8,
				     .wr_max = 16,
				     .sge_max = 1,
				     .cqe_max = 256,
				     .rd_atomic_max = 1},
			 .cost = host_cost_none(),
			 .flow_timeout = 19,
			 .flow_retries = 7},
		.pfc = {.lossless = 1 << 3, .xoff_bytes = 40000, .resume_bytes = 2200},
		.ecn = ecn_make(20000, 80000, 1, 5),
	};
	params.host = &net->host;
	params.switches = (struct fabric_switch_params){.buffer_bytes = 1u << 24,
							.pfc = &net->pfc,
							.mtu_bytes = MTU + 100,
							.ecn = &net->ecn};
	assert_int_equal(topology_leaf_spine(&net->topology, 3, 2, 3, speed), 0);
	assert_int_equal(topology_name_links(&net->topology), 0);
	assert_int_equal(fabric_create(&net->fabric, &net->topology, &params), 0);
	add_incast(net, choice->bytes, 10 * PS_US);
	if (choice->late)
		add_incast(net, choice->bytes, choice->late);
	assert_int_equal(traffic_create(&net->fabric, net->flows, net->flow_count, &net->traffic),
			 0);
	if (choice->sampled)
		assert_int_equal(sampler_start(&net->sampler, &net->fabric), 0);
	if (choice->watcher)
		fabric_watch(&net->fabric, choice->watcher);
	assert_int_equal(fabric_run(&net->fabric, PS_NEVER), 0);
	sampler_end(&net->sampler, sim_now(net->fabric.sim));
}

static void net_free(struct net *net)
{
	sampler_fini(&net->sampler);
	traffic_destroy(net->traffic);
	fabric_fini(&net->fabric);
	topology_fini(&net->topology);
}

static const struct sampler_point *last_of(const struct sampler *sampler)
{
	return &sampler->points[sampler->point_count - 1];
}

static void looking_changes_nothing(void **state)
{
	static struct net with, without;
	struct choice choice = {.threads = 1, .bytes = 300000, .late = 5 * PS_MS};

	(void)state;
	net_run(&without, &choice);
	choice.sampled = true;
	net_run(&with, &choice);
	assert_true(sim_digest(with.fabric.sim) == sim_digest(without.fabric.sim));
	assert_true(sim_events(with.fabric.sim) == sim_events(without.fabric.sim));
	net_free(&with);
	net_free(&without);
}

static void threads_are_not_seen(void **state)
{
	static struct net one, two;
	struct choice choice = {.threads = 1, .sampled = true, .bytes = 300000, .late = 5 * PS_MS};
	size_t points;

	(void)state;
	net_run(&one, &choice);
	choice.threads = 2;
	net_run(&two, &choice);
	points = one.sampler.point_count;
	assert_int_equal(points, two.sampler.point_count);
	assert_memory_equal(one.sampler.points, two.sampler.points,
			    points * sizeof(*one.sampler.points));
	assert_memory_equal(one.sampler.queues, two.sampler.queues,
			    points * one.sampler.queue_count * sizeof(uint32_t));
	net_free(&one);
	net_free(&two);
}

/* The same sums as the counters', read plainly. */
static void assert_last_point_is_the_counters(const struct net *net)
{
	struct sampler_point sum = {.at = sim_now(net->fabric.sim)};
	const struct sampler_point *last = last_of(&net->sampler);

	for (uint32_t i = 0; i < net->fabric.host_count; i++) {
		const struct host *host = &net->fabric.hosts[i];

		sum.placed_bytes += host->placed_bytes;
		sum.sent_bytes[3] += host->stats.sent[3].bytes;
		sum.cnp_sent += hca_device_counters(host->hca)->np_cnp_sent;
		for (uint8_t p = 0; p < SIM_PRIORITIES; p++)
			sum.paused += sim_fc_paused_time(host->fc, 0, p, sum.at);
		sum.pause_sent += sim_fc_gate(host->fc, 0)->controls_sent;
	}
	for (uint32_t i = 0; i < net->fabric.switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(net->fabric.switches[i]);

		for (uint32_t k = 0; k < fc->node->port_count; k++) {
			for (uint8_t p = 0; p < SIM_PRIORITIES; p++) {
				sum.marked += sim_fc_class(fc, k, p)->marked;
				sum.paused += sim_fc_paused_time(fc, k, p, sum.at);
			}
			sum.pause_sent += sim_fc_gate(fc, k)->controls_sent;
		}
	}
	assert_int_equal(last->at, sum.at);
	assert_int_equal(last->placed_bytes, sum.placed_bytes);
	assert_int_equal(last->sent_bytes[3], sum.sent_bytes[3]);
	assert_int_equal(last->cnp_sent, sum.cnp_sent);
	assert_int_equal(last->marked, sum.marked);
	assert_int_equal(last->paused, sum.paused);
	assert_int_equal(last->pause_sent, sum.pause_sent);
	assert_true(sum.marked > 0);
	assert_true(sum.cnp_sent > 0);
	assert_true(sum.paused > 0);
	assert_true(sum.pause_sent > 0);
}

/* Instants rise, totals never fall, and no interval holds more than the link to h0 can carry in it
 * (and a frame begun before): 100 Gb/s are 80 ps a byte. */
static void assert_series_hold(const struct sampler *sampler)
{
	const struct sampler_point *p = sampler->points;

	assert_int_equal(p->at, 0);
	for (uint32_t i = 1; i < sampler->point_count; i++) {
		assert_true(p[i].at > p[i - 1].at);
		assert_true(p[i].placed_bytes >= p[i - 1].placed_bytes);
		assert_true(p[i].sent_bytes[3] >= p[i - 1].sent_bytes[3]);
		assert_true(p[i].marked >= p[i - 1].marked);
		assert_true(p[i].paused >= p[i - 1].paused);
		assert_true((p[i].placed_bytes - p[i - 1].placed_bytes) * 80 <=
			    p[i].at - p[i - 1].at + 2 * MTU * 80);
	}
}

static void totals_end_at_the_counters(void **state)
{
	static struct net net;
	const struct choice choice = {.threads = 1, .sampled = true, .bytes = 300000};

	(void)state;
	net_run(&net, &choice);
	assert_last_point_is_the_counters(&net);
	assert_int_equal(last_of(&net.sampler)->placed_bytes, SENDERS * choice.bytes);
	assert_series_hold(&net.sampler);
	net_free(&net);
}

/* While nothing happens there are no points: the second burst is not spread over the silence. */
static void a_silence_is_silent(void **state)
{
	static struct net net;
	const struct choice choice = {
		.threads = 1, .sampled = true, .bytes = 300000, .late = 7 * PS_MS + 123};
	const struct sampler_point *p;
	uint32_t silences = 0;

	(void)state;
	net_run(&net, &choice);
	assert_series_hold(&net.sampler);
	p = net.sampler.points;
	for (uint32_t i = 1; i < net.sampler.point_count; i++) {
		if (p[i].at - p[i - 1].at <= PS_MS)
			continue;
		silences++;
		assert_int_equal(p[i].placed_bytes, p[i - 1].placed_bytes);
		assert_int_equal(p[i].sent_bytes[3], p[i - 1].sent_bytes[3]);
		assert_int_equal(p[i].queue_bytes, 0);
	}
	assert_int_equal(silences, 1);
	net_free(&net);
}

static void the_highest_queue_is_in_the_series(void **state)
{
	static struct net net;
	const struct choice choice = {.threads = 1, .sampled = true, .bytes = 1000000};
	struct sampler_queue queues[3];
	uint32_t max = 0, peak = 0, count;

	(void)state;
	net_run(&net, &choice);
	for (uint32_t i = 0; i < net.fabric.switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(net.fabric.switches[i]);

		for (uint32_t k = 0; k < fc->node->port_count; k++)
			if (sim_fc_class(fc, k, 3)->queue_max > max)
				max = sim_fc_class(fc, k, 3)->queue_max;
	}
	count = sampler_busiest(&net.sampler, queues, 3);
	assert_int_equal(count, 3);
	assert_int_equal(queues[0].bytes_max, max);
	assert_true(queues[0].bytes_max >= queues[1].bytes_max);
	assert_true(queues[1].bytes_max >= queues[2].bytes_max);
	for (uint32_t i = 0; i < net.sampler.point_count; i++) {
		const uint32_t bytes =
			net.sampler.queues[i * net.sampler.queue_count + queues[0].number];

		peak = bytes > peak ? bytes : peak;
	}
	assert_int_equal(peak, max);
	net_free(&net);
}

/* Some hundred points, whatever the length; a short burst keeps its shape beside a long silence. */
static void points_are_few_and_where_something_happens(void **state)
{
	static struct net net;
	struct choice choice = {.threads = 1, .sampled = true, .bytes = 20000000};

	(void)state;
	net_run(&net, &choice);
	assert_in_range(net.sampler.point_count, 300, 1000);
	assert_int_equal(net.sampler.interval % sim_delay_min(net.fabric.sim), 0);
	assert_true(net.sampler.interval > sim_delay_min(net.fabric.sim));
	assert_last_point_is_the_counters(&net);
	assert_series_hold(&net.sampler);
	net_free(&net);
	choice.bytes = 100000;
	choice.late = 10 * PS_S;
	net_run(&net, &choice);
	assert_in_range(net.sampler.point_count, 100, 1000);
	assert_true(net.sampler.interval == sim_delay_min(net.fabric.sim));
	net_free(&net);
}

/* Looks at every window and counts plainly. */
struct witness {
	struct fabric_watcher watcher;
	uint32_t count;
	struct {
		ps_t at, paused;
		uint64_t queue_bytes;
	} seen[20000];
};

static int bear_witness(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct witness *witness = container_of(watcher, struct witness, watcher);
	const ps_t at = sim_played(fabric->sim);
	ps_t paused = 0;
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < fabric->host_count; i++)
		paused += sim_fc_paused_time(fabric->hosts[i].fc, 0, 3, at);
	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		for (uint32_t k = 0; k < fc->node->port_count; k++) {
			paused += sim_fc_paused_time(fc, k, 3, at);
			bytes += sim_fc_class(fc, k, 3)->queue_bytes +
				 sim_fc_class(fc, k, 6)->queue_bytes;
		}
	}
	assert_true(witness->count < 20000);
	witness->seen[witness->count].at = at;
	witness->seen[witness->count].paused = paused;
	witness->seen[witness->count++].queue_bytes = bytes;
	return 0;
}

static void points_are_what_a_witness_saw(void **state)
{
	static struct witness witness = {.watcher = {.between = bear_witness}};
	static struct net net;
	struct choice choice = {
		.threads = 1, .sampled = true, .bytes = 300000, .watcher = &witness.watcher};
	uint32_t compared = 0, k = 0;

	(void)state;
	net_run(&net, &choice);
	for (uint32_t i = 0; i < net.sampler.point_count; i++) {
		const struct sampler_point *point = &net.sampler.points[i];

		while (k < witness.count && witness.seen[k].at < point->at)
			k++;
		if (k == witness.count || witness.seen[k].at != point->at)
			continue; /* the begin and the end */
		assert_int_equal(point->paused, witness.seen[k].paused);
		assert_int_equal(point->queue_bytes, witness.seen[k].queue_bytes);
		compared++;
	}
	assert_true(compared > 100);
	net_free(&net);
}

struct prophet {
	struct fabric_watcher watcher;
	ps_t said;
	uint32_t windows;
};

static int prophesy(struct fabric_watcher *watcher, struct fabric *fabric)
{
	struct prophet *prophet = container_of(watcher, struct prophet, watcher);

	if (prophet->windows++ > 0)
		assert_int_equal(prophet->said, sim_now(fabric->sim));
	prophet->said = sim_next_at(fabric->sim);
	return 0;
}

static void the_next_window_is_known(void **state)
{
	static struct net net;
	struct choice choice = {.bytes = 100000, .late = 5 * PS_MS};

	(void)state;
	for (choice.threads = 1; choice.threads <= 2; choice.threads++) {
		struct prophet prophet = {.watcher = {.between = prophesy}};

		choice.watcher = &prophet.watcher;
		net_run(&net, &choice);
		assert_true(prophet.windows > 10);
		assert_true(prophet.said == PS_NEVER);
		net_free(&net);
	}
}

static void out_of_memory_watches_nothing(void **state)
{
	static struct net net;
	const struct choice choice = {.threads = 1, .bytes = 1000};
	int ret;

	(void)state;
	net_run(&net, &choice);
	net.fabric.watchers = NULL;
	for (unsigned i = 1;; i++) {
		util_alloc_fail_after(i);
		ret = sampler_start(&net.sampler, &net.fabric);
		util_alloc_fail_after(0);
		if (ret == 0)
			break;
		assert_int_equal(ret, -ENOMEM);
		assert_null(net.fabric.watchers);
		sampler_fini(&net.sampler);
		assert_true(i < 10);
	}
	net_free(&net);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(looking_changes_nothing),
		cmocka_unit_test(threads_are_not_seen),
		cmocka_unit_test(totals_end_at_the_counters),
		cmocka_unit_test(a_silence_is_silent),
		cmocka_unit_test(the_highest_queue_is_in_the_series),
		cmocka_unit_test(points_are_few_and_where_something_happens),
		cmocka_unit_test(points_are_what_a_witness_saw),
		cmocka_unit_test(the_next_window_is_known),
		cmocka_unit_test(out_of_memory_watches_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
