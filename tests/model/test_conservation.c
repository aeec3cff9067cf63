/* SPDX-License-Identifier: BSD-2-Clause */

/* Anchor A16: at every sampled instant, by port and class, what came in has been sent, waits or was
 * dropped; what a port has taken in and not let go is what waits from it; what was said to pause,
 * to resume or about credits has been heard or flies. Counted beside the fabric, by taps. */
#include "models/program/task.h"
#include "models/traffic/traffic.h"
#include "sim/switch.h"
#include "sim/tap.h"
#include "tests/test.h"
#include "transport/wire/frame.h"
#include "util/check.h"

#include <string.h>

#define G ((uint64_t)1000000000)
enum { FLOWS = 60, PORTS_MAX = 256, FLYING_MAX = 4096, SAMPLES = 60 };

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

struct flying {
	ps_t at;
	uint32_t bytes, out; /* out: the port by which the next switch sends it on */
	uint8_t queue;
};

/* One direction of a link. */
struct way {
	struct sim_tap tap; /* first */
	const struct sim_port *port;
	struct flying flying[FLYING_MAX];
	uint32_t flying_count;
	uint64_t arrived_packets, arrived_controls;
	uint64_t arrived_in[SIM_PRIORITIES]; /* packets, by class */
};

struct audit {
	struct fabric fabric;
	struct traffic *traffic;
	struct traffic_flow flows[FLOWS];
	struct way ways[PORTS_MAX];
	uint32_t way_count;
	/* By switch, port out and class. */
	uint64_t out_bytes[32][16][SIM_PRIORITIES], out_packets[32][16][SIM_PRIORITIES];
	uint64_t dropped, paused;
};

static struct audit audit;

static void on_start(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		     const struct sim_pkt *pkt, ps_t start)
{
	struct way *way = (struct way *)(void *)tap;
	const bool control = pkt->frame == SIM_CONTROL;
	struct flying *f = &way->flying[way->flying_count++];

	(void)th;
	CHECK(way->flying_count <= FLYING_MAX);
	*f = (struct flying){
		.at = start + util_tx_time(pkt->bytes, port->rate_bps) + port->delay +
		      (control ? port->control_delay : 0),
		.bytes = pkt->bytes,
		.queue = control ? (uint8_t)SIM_CONTROL_QUEUE : pkt->priority,
	};
	if (!control && port->peer->ops == &sim_switch_ops)
		f->out = sim_route_port(sim_route_table_of(audit.fabric.routes, port->peer),
					pkt->dst, pkt->flow_hash);
}

static uint32_t switch_of(const struct sim_node *node)
{
	for (uint32_t i = 0; i < audit.fabric.switch_count; i++)
		if (sim_switch_node(audit.fabric.switches[i]) == node)
			return i;
	util_check_failed("no switch", __FILE__, __LINE__);
}

/* Books what has arrived before @end. */
static void book(struct way *way, ps_t end)
{
	uint32_t left = 0;

	for (uint32_t i = 0; i < way->flying_count; i++) {
		const struct flying *f = &way->flying[i];

		if (f->at >= end) {
			way->flying[left++] = *f;
		} else if (f->queue == SIM_CONTROL_QUEUE) {
			way->arrived_controls++;
		} else {
			way->arrived_packets++;
			way->arrived_in[f->queue]++;
			if (way->port->peer->ops == &sim_switch_ops) {
				const uint32_t sw = switch_of(way->port->peer);

				audit.out_bytes[sw][f->out][f->queue] += f->bytes;
				audit.out_packets[sw][f->out][f->queue]++;
			}
		}
	}
	way->flying_count = left;
}

/* Bytes that wait at @fc's node in @queue and came in at @port. */
static uint64_t waiting_from(const struct sim_fc *fc, uint32_t port, uint8_t queue)
{
	uint64_t bytes = 0;

	for (uint32_t out = 0; out < fc->node->port_count; out++) {
		const struct sim_pkt *pkt = sim_fc_class(fc, out, queue)->head;

		for (uint32_t n = sim_fc_class(fc, out, queue)->count; n > 0; n--) {
			bytes += pkt->port == port ? pkt->bytes : 0;
			memcpy(&pkt, pkt, sizeof(void *));
		}
	}
	return bytes;
}

static void check_class(uint32_t number, uint8_t queue)
{
	const struct sim_fc *fc = sim_switch_fc(audit.fabric.switches[number]);
	uint64_t in = 0, gone = 0, dropped = 0;

	for (uint32_t p = 0; p < fc->node->port_count; p++) {
		const struct sim_class *class = sim_fc_class(fc, p, queue);

		in += audit.out_packets[number][p][queue];
		gone += class->sent_packets + class->count;
		dropped += class->dropped;
		assert_true(waiting_from(fc, p, queue) ==
			    (uint64_t) class->ingress_bytes + class->headroom_bytes);
	}
	assert_true(in == gone + dropped);
	audit.dropped += dropped;
	for (uint32_t p = 0; p < fc->node->port_count && dropped == 0; p++) {
		const struct sim_class *class = sim_fc_class(fc, p, queue);

		assert_true(audit.out_bytes[number][p][queue] ==
			    class->sent_bytes + class->queue_bytes);
		assert_true(audit.out_packets[number][p][queue] ==
			    (uint64_t) class->sent_packets + class->count);
	}
}

static struct sim_fc *fc_of(const struct sim_node *node)
{
	return node->ops == &sim_switch_ops ? sim_switch_fc(audit.fabric.switches[switch_of(node)])
					    : ((const struct host *)(const void *)node)->fc;
}

/* Hosts put a later control frame in the place of an earlier one, so of them only what arrives. */
static void check_controls(const struct way *way)
{
	const struct sim_port *port = way->port, *back = &port->peer->ports[port->peer_port];
	const struct sim_gate *far = sim_fc_gate(fc_of(port->peer), port->peer_port);
	const struct sim_fc *fc = fc_of(back->peer);
	const struct sim_gate *near = sim_fc_gate(fc, port->index);
	uint64_t flying = 0;

	for (uint32_t i = 0; i < way->flying_count; i++)
		flying += way->flying[i].queue == SIM_CONTROL_QUEUE;
	assert_true(way->arrived_controls == far->controls_received + far->resumes_received);
	if (fc->node->ops != &sim_switch_ops)
		return;
	assert_true(near->controls_sent + near->resumes_sent ==
		    way->arrived_controls + flying + sim_fc_control(fc, port->index)->count);
	audit.paused += near->controls_sent;
}

static void check_at(ps_t end)
{
	audit.dropped = audit.paused = 0;
	for (uint32_t i = 0; i < audit.way_count; i++)
		book(&audit.ways[i], end);
	for (uint32_t i = 0; i < audit.fabric.switch_count; i++)
		for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
			check_class(i, q);
	for (uint32_t i = 0; i < audit.way_count; i++) {
		const struct way *way = &audit.ways[i];

		check_controls(way);
		if (way->port->peer->ops != &sim_switch_ops)
			assert_true(
				way->arrived_packets ==
				hca_device_counters(
					((const struct host *)(const void *)way->port->peer)->hca)
					->rx_packets);
	}
}

static void watch_all(void)
{
	const struct sim *sim = audit.fabric.sim;

	for (uint32_t i = 0; i < sim_node_count(sim); i++)
		for (uint32_t p = 0; p < sim_node_at(sim, i)->port_count; p++) {
			struct way *way = &audit.ways[audit.way_count++];

			CHECK(audit.way_count <= PORTS_MAX);
			way->port = &sim_node_at(sim, i)->ports[p];
			way->tap.on_start = on_start;
			sim_tap_attach(&way->tap, &sim_node_at(sim, i)->ports[p]);
		}
}

static void load(void)
{
	const uint32_t hosts = audit.fabric.host_count;

	for (uint32_t i = 0; i < FLOWS; i++)
		audit.flows[i] = (struct traffic_flow){
			.src = i % hosts,
			.dst = i % 3 ? (i * 7 + 1) % hosts == i % hosts ? (i + 1) % hosts
									: (i * 7 + 1) % hosts
				     : (i % hosts == 5 ? 6 : 5),
			.priority = (uint8_t)(i % 4),
			.bytes = 40000 + i * 3001,
			.start_at = i % 5 * PS_US,
		};
	CHECK(traffic_create(&audit.fabric, audit.flows, FLOWS, &audit.traffic) == 0);
}

static void run(const struct fabric_switch_params *switches)
{
	const struct topology_speed speed = {100 * G, 100 * G, PS_US};
	const struct host_params host = {.profile = {.line_rate_bps = 100 * G,
						     .mtu_max = 4096,
						     .psn_window = 1 << 20,
						     .ack_every = 4,
						     .ack_on_data_priority = true,
						     .cc = &cc_none,
						     .wire_overhead = wire_frame_overhead(0),
						     .qp_max = 256,
						     .cq_max = 8,
						     .mr_max = 256,
						     .pd_max = 8,
						     .wr_max = 64,
						     .sge_max = 2,
						     .cqe_max = 4096,
						     .rd_atomic_max = 16},
					 .cost = host_cost_none(),
					 .flow_timeout = 6,
					 .flow_retries = 7};
	const struct fabric_params params = {.seed = 3,
					     .thread_count = 1,
					     .host = &host,
					     .packet_bytes_max = 1u << 28,
					     .switches = *switches};
	struct topology topology = {0};

	memset(&audit, 0, sizeof(audit));
	CHECK(topology_fat_tree(&topology, 4, speed) == 0 && topology_name_links(&topology) == 0);
	CHECK(fabric_create(&audit.fabric, &topology, &params) == 0);
	watch_all();
	load();
	for (uint32_t i = 1; i <= SAMPLES; i++) {
		const ps_t end = i * 2 * sim_lookahead(audit.fabric.sim);

		CHECK(sim_run(audit.fabric.sim, end) == 0);
		check_at(end);
	}
	CHECK(fabric_run(&audit.fabric, PS_S) == 0);
	check_at(PS_NEVER);
	assert_int_equal(traffic_sums(audit.traffic).mismatch_bytes, 0);
	traffic_destroy(audit.traffic);
	fabric_fini(&audit.fabric);
	topology_fini(&topology);
}

static void with_pauses(void **state)
{
	const struct pfc_params pfc = {.lossless = 0x7,
				       .dynamic = true,
				       .alpha_num = 1,
				       .alpha_den = 8,
				       .resume_bytes = 8400};

	(void)state;
	run(&(struct fabric_switch_params){
		.buffer_bytes = 1u << 20, .mtu_bytes = 4300, .pfc = &pfc});
	assert_true(audit.paused > 50);
}

static void with_drops(void **state)
{
	(void)state;
	run(&(struct fabric_switch_params){.buffer_bytes = 100000, .mtu_bytes = 4300});
	assert_true(audit.dropped > 100);
}

static void with_credits(void **state)
{
	const struct credit_params credit = {.buffer_bytes = 40000, .frame_bytes_max = 4300};

	(void)state;
	run(&(struct fabric_switch_params){
		.buffer_bytes = 40000, .mtu_bytes = 4300, .credit = &credit});
	assert_int_equal(audit.dropped, 0);
	assert_true(audit.paused > 50);
}

RUN(T(with_pauses), T(with_drops), T(with_credits))
