/* SPDX-License-Identifier: BSD-2-Clause */

/* Flows through the adapter, and how long each would take alone (models/traffic/traffic.h). */
#include "models/link/ns3.h"
#include "models/traffic/traffic.h"
#include "sim/fault.h"
#include "sim/switch.h"
#include "tests/test.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define G ((uint64_t)1000000000)
enum { FLOWS_MAX = 256 };

/* Programs have no part in this. */
const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider none = {.list = NULL};

	return &none;
}

enum shape { STAR, LEAF_SPINE, FAT_TREE };

struct net_params {
	enum shape shape;
	struct topology_speed speed;
	uint32_t mtu, ack_every, window, threads;
	uint8_t timeout;
	ps_t latency; /* of switches */
	uint64_t seed;
	bool through_wire, uc, ns3;
};

struct net {
	struct topology topology;
	struct host_params host;
	struct fabric fabric;
	struct traffic_flow flows[FLOWS_MAX];
	uint64_t flow_count;
	struct traffic *traffic;
};

static const struct net_params plain = {
	.shape = LEAF_SPINE,
	.speed = {100 * G, 100 * G, PS_US},
	.mtu = 1024,
	.window = 1u << 20,
	.timeout = 19, /* twice 2 s: longer than any message */
	.threads = 1,
	.seed = 1,
};

static struct host_params host_of(const struct net_params *p)
{
	return (struct host_params){
		.profile = {.line_rate_bps = p->speed.host_rate_bps,
			    .mtu_max = p->mtu,
			    .psn_window = p->window,
			    .ack_every = p->ack_every,
			    .ack_on_data_priority = true,
			    .cc = &cc_none,
			    .wire_overhead = wire_frame_overhead(0),
			    .framing = p->ns3 ? ns3_framing() : (struct hca_framing){.data = {0}},
			    .qp_max = 4096,
			    .cq_max = 8,
			    .mr_max = 4096,
			    .pd_max = 8,
			    .wr_max = 16,
			    .sge_max = 1,
			    .cqe_max = 4096,
			    .rd_atomic_max = 1},
		.cost = host_cost_none(),
		.flow_timeout = p->timeout,
		.flow_uc = p->uc,
		.flow_retries = 2,
		.through_wire = p->through_wire,
	};
}

static void net_make(struct net *net, const struct net_params *p)
{
	const struct fabric_params params = {
		.seed = p->seed,
		.thread_count = p->threads,
		.packet_bytes_max = 1u << 28,
		.switches = {.buffer_bytes = 1u << 26, .latency = p->latency},
		.host = &net->host,
	};

	*net = (struct net){.host = host_of(p)};
	assert_int_equal(p->shape == STAR ? topology_star(&net->topology, 8, p->speed)
			 : p->shape == LEAF_SPINE
				 ? topology_leaf_spine(&net->topology, 2, 2, 4, p->speed)
				 : topology_fat_tree(&net->topology, 4, p->speed),
			 0);
	assert_int_equal(topology_name_links(&net->topology), 0);
	assert_int_equal(fabric_create(&net->fabric, &net->topology, &params), 0);
}

static struct traffic_flow *net_flow(struct net *net, const char *src, const char *dst,
				     uint64_t bytes, ps_t start)
{
	struct traffic_flow *flow = &net->flows[net->flow_count++];

	*flow = (struct traffic_flow){.src = fabric_host(&net->fabric, src)->number,
				      .dst = fabric_host(&net->fabric, dst)->number,
				      .bytes = bytes,
				      .start_at = start};
	return flow;
}

static struct traffic_sums net_run(struct net *net)
{
	assert_int_equal(traffic_create(&net->fabric, net->flows, net->flow_count, &net->traffic),
			 0);
	assert_int_equal(fabric_run(&net->fabric, PS_NEVER), 0);
	return traffic_sums(net->traffic);
}

static void net_free(struct net *net)
{
	traffic_destroy(net->traffic);
	fabric_fini(&net->fabric);
	topology_fini(&net->topology);
}

/* ---- alone ---- */

/* What one flow took, alone; that this is what traffic_ideal() says. */
static ps_t alone(const struct net_params *p, const char *src, const char *dst, uint64_t bytes)
{
	struct traffic_sums sums;
	struct net net;
	ps_t time;

	net_make(&net, p);
	net_flow(&net, src, dst, bytes, 10 * PS_US + 1);
	sums = net_run(&net);
	assert_int_equal(sums.completed, 1);
	assert_int_equal(sums.mismatch_bytes, 0);
	assert_int_equal(sums.packets_retransmitted, 0);
	time = net.flows[0].end_at - net.flows[0].start_at;
	assert_int_equal(traffic_ideal(net.traffic, &net.flows[0]), time);
	net_free(&net);
	return time;
}

/* By hand. A WRITE of n <= 1024 bytes is 66 + 12 + 16 + n + 4 on the wire, its ACK 66 + 12 + 4 + 4.
 * 1 byte (padded to 4): 102 and 86 bytes, 8160 and 6880 ps at 100 Gb/s. */
static void one_packet_takes_what_a_hand_computes(void **state)
{
	struct net_params p = plain;

	(void)state;
	p.shape = STAR;
	assert_int_equal(alone(&p, "h0", "h1", 1), 2 * 8160 + 2 * 6880 + 4 * PS_US);
	p.shape = LEAF_SPINE;
	assert_int_equal(alone(&p, "h0", "h1", 1), 2 * 8160 + 2 * 6880 + 4 * PS_US);
	assert_int_equal(alone(&p, "h0", "h7", 1), 4 * 8160 + 4 * 6880 + 8 * PS_US);
	p.shape = FAT_TREE;
	assert_int_equal(alone(&p, "h0", "h15", 1), 6 * 8160 + 6 * 6880 + 12 * PS_US);
	/* Edge at 25 Gb/s, fabric at 100: twice four times as long. */
	p.shape = LEAF_SPINE;
	p.speed = (struct topology_speed){25 * G, 100 * G, PS_US};
	assert_int_equal(alone(&p, "h0", "h7", 1), 10 * 8160 + 10 * 6880 + 8 * PS_US);
	/* Three switches there, three back. */
	p.latency = 450 * PS_NS;
	assert_int_equal(alone(&p, "h0", "h7", 1),
			 10 * 8160 + 10 * 6880 + 8 * PS_US + 2700 * PS_NS);
	/* 2 packets: 66 + 12 + 16 + 1024 + 4 = 1122, 66 + 12 + 4 + 4 = 86 bytes; the second is
	 * behind the first at every link: 2 * 89760 + 6880, then the ACK. */
	p = plain;
	p.shape = STAR;
	assert_int_equal(alone(&p, "h0", "h1", 1028), 2 * 89760 + 6880 + 2 * 6880 + 4 * PS_US);
}

/* UC: one way, and 4 bytes of ImmDt in the last packet. 1 byte: 66 + 12 + 16 + 4 + 4 + 4 = 106
 * bytes, 8480 ps; 1028 bytes: 1122, then 66 + 12 + 4 + 4 + 4 = 90 bytes, 7200 ps. */
static void unreliable_flows_end_when_they_are_there(void **state)
{
	struct net_params p = plain;

	(void)state;
	p.uc = true;
	assert_int_equal(alone(&p, "h0", "h7", 1), 4 * 8480 + 4 * PS_US);
	p.shape = STAR;
	assert_int_equal(alone(&p, "h0", "h1", 1028), 2 * 89760 + 7200 + 2 * PS_US);
	assert_true(alone(&p, "h0", "h1", ((uint64_t)1 << 30) + 5) > 86 * PS_MS);
	p.through_wire = true;
	assert_int_equal(alone(&p, "h0", "h1", 1028), 2 * 89760 + 7200 + 2 * PS_US);
}

static const uint64_t sizes[] = {1,    3,    4,	   1023,  1024,	 1025,
				 2048, 2049, 3000, 65536, 65537, 1000003};
static const struct topology_speed speeds[] = {
	{100 * G, 100 * G, PS_US},	    {25 * G, 100 * G, 500 * PS_NS}, {100 * G, 25 * G, 1},
	{106250000000, 400 * G, 7 * PS_NS}, {999999937, 3 * G, 10 * PS_US},
};

static void a_lone_flow_is_as_fast_as_can_be(void **state)
{
	(void)state;
	for (int shape = STAR; shape <= FAT_TREE; shape++)
		for (size_t s = 0; s < sizeof(speeds) / sizeof(speeds[0]); s++)
			for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
				struct net_params p = plain;

				p.shape = (enum shape)shape;
				p.speed = speeds[s];
				p.ack_every = i % 2 ? 64 : 0;
				alone(&p, "h0", "h1", sizes[i]);
				alone(&p, "h6", "h2", sizes[i]);
			}
}

static void two_writes_are_one_pipeline(void **state)
{
	struct net_params p = plain;

	(void)state;
	p.mtu = 4096;
	alone(&p, "h0", "h7", ((uint64_t)1 << 30) + 5000);
}

/* ---- several ---- */

static void fill(struct net *net)
{
	char src[16], dst[16];

	for (uint32_t i = 0; i < 40; i++) {
		snprintf(src, sizeof(src), "h%u", i % 8);
		snprintf(dst, sizeof(dst), "h%u", (i * 3 + 1 + i % 8) % 8);
		if (strcmp(src, dst) == 0)
			snprintf(dst, sizeof(dst), "h%u", (i + 1) % 8);
		net_flow(net, src, dst, 1 + i % 5 * 7777, PS_US * (i % 3));
	}
	net_flow(net, "h0", "h1", 5000, PS_US); /* equals */
	net_flow(net, "h0", "h1", 5000, PS_US);
	net_flow(net, "h0", "h1", 5000, PS_US);
}

static void shuffle(struct net *net, uint32_t seed)
{
	for (uint64_t i = net->flow_count; i > 1; i--) {
		const uint64_t j = (seed = seed * 1664525 + 1013904223) % i;
		const struct traffic_flow flow = net->flows[i - 1];

		net->flows[i - 1] = net->flows[j];
		net->flows[j] = flow;
	}
}

/* Each flow has bytes of its own, so that none can pass for another's. */
static void assert_no_overlap(const struct net *net)
{
	for (uint64_t i = 0; i < net->flow_count; i++)
		for (uint64_t j = i + 1; j < net->flow_count; j++) {
			const struct traffic_flow *x = &net->flows[i], *y = &net->flows[j];

			assert_true(x->dst != y->dst || x->va + x->bytes <= y->va ||
				    y->va + y->bytes <= x->va);
		}
}

static uint64_t digest(const struct net_params *p, uint32_t order)
{
	struct traffic_sums sums;
	struct net net;
	uint64_t ret;

	net_make(&net, p);
	fill(&net);
	if (order)
		shuffle(&net, order);
	sums = net_run(&net);
	assert_int_equal(sums.completed, net.flow_count);
	assert_int_equal(sums.bytes_delivered, sums.bytes_posted);
	assert_int_equal(sums.mismatch_bytes, 0);
	assert_no_overlap(&net);
	ret = sim_digest(net.fabric.sim);
	net_free(&net);
	return ret;
}

static void the_order_of_a_list_cannot_be_seen(void **state)
{
	struct net_params p = plain;
	const uint64_t expected = digest(&p, 0);

	(void)state;
	for (uint32_t order = 1; order <= 10; order++)
		assert_int_equal(digest(&p, order), expected);
	p.threads = 2;
	assert_int_equal(digest(&p, 11), expected);
	p.through_wire = true;
	assert_int_equal(digest(&p, 12), expected);
	p.seed = 2;
	assert_int_not_equal(digest(&p, 0), expected);
}

/* Two that begin at the same time with the same size: who ends first, by seed. */
static uint32_t first_ends_first(const char *one, const char *other, uint32_t seeds)
{
	uint32_t wins = 0;

	for (uint64_t seed = 1; seed <= seeds; seed++) {
		struct net_params p = plain;
		struct net net;
		uint32_t first;

		p.shape = STAR;
		p.seed = seed;
		net_make(&net, &p);
		first = fabric_host(&net.fabric, one)->number;
		net_flow(&net, one, "h7", 1000, 0);
		net_flow(&net, other, strcmp(one, other) == 0 ? "h6" : "h7", 1000, 0);
		net_run(&net);
		/* Of two on one host the one to h7 counts as the first. */
		for (int i = 0; i < 2; i++) {
			const struct traffic_flow *flow = &net.flows[i];
			const bool is_first =
				strcmp(one, other) == 0
					? flow->dst == fabric_host(&net.fabric, "h7")->number
					: flow->src == first;

			if (is_first && flow->end_at < net.flows[1 - i].end_at)
				wins++;
		}
		assert_int_not_equal(net.flows[0].end_at, net.flows[1].end_at);
		net_free(&net);
	}
	return wins;
}

/* 400 throws of a fair coin: 200 +- 40 is four standard deviations. */
static void simultaneous_starts_favour_nobody(void **state)
{
	uint32_t wins;

	(void)state;
	wins = first_ends_first("h0", "h1", 400);
	assert_in_range(wins, 160, 240);
	wins = first_ends_first("h0", "h0", 400);
	assert_in_range(wins, 160, 240);
}

/* ---- failures ---- */

/* T = 4.096 us * 2^5, it fires at 2T: 262.144 us after the packet, three times in all. */
static void total_loss_is_retry_exceeded(void **state)
{
	const struct sim_fault_params all = {.loss_ppb = 1000000000};
	struct sim_fault fault;
	struct net_params p = plain;
	struct traffic_sums sums;
	struct net net;

	(void)state;
	p.timeout = 5;
	net_make(&net, &p);
	sim_fault_attach(&fault, sim_port_find(net.fabric.sim, "h0-leaf0#0", "h0"), &all);
	net_flow(&net, "h0", "h7", 1000, 0);
	net_flow(&net, "h1", "h6", 1000, 0);
	sums = net_run(&net);
	assert_int_equal(sums.posted, 2);
	assert_int_equal(sums.completed, 1);
	assert_int_equal(sums.failed, 1);
	assert_int_equal(sums.bytes_delivered, 1000);
	assert_int_equal(sums.packets_retransmitted, 2);
	assert_int_equal(net.flows[0].status, TRAFFIC_FAILED);
	assert_int_equal(net.flows[0].wc_status, HCA_WC_RETRY_EXC_ERR);
	assert_int_equal(net.flows[0].end_at, 3 * 262144000);
	assert_int_equal(fault.lost, 3);
	net_free(&net);
}

static void what_is_cut_off_is_unfinished(void **state)
{
	struct traffic_sums sums;
	struct net net;

	(void)state;
	net_make(&net, &plain);
	net_flow(&net, "h0", "h7", 1000000, 0);
	net_flow(&net, "h1", "h6", 1000, PS_S);
	assert_int_equal(traffic_create(&net.fabric, net.flows, net.flow_count, &net.traffic), 0);
	assert_int_equal(fabric_run(&net.fabric, 20 * PS_US), 0);
	sums = traffic_sums(net.traffic);
	assert_int_equal(sums.failed, 2);
	assert_int_equal(sums.completed, 0);
	assert_int_equal(sums.bytes_delivered, 0);
	assert_int_equal(net.flows[0].status, TRAFFIC_PENDING);
	net_free(&net);
}

static void what_makes_no_sense_is_refused(void **state)
{
	struct net net;

	(void)state;
	net_make(&net, &plain);
	net_flow(&net, "h0", "h7", 0, 0);
	assert_int_equal(traffic_create(&net.fabric, net.flows, 1, &net.traffic), -EINVAL);
	net.flows[0].bytes = ((uint64_t)16 << 30) + 1; /* one WRITE more than a send queue takes */
	assert_int_equal(traffic_create(&net.fabric, net.flows, 1, &net.traffic), -EINVAL);
	net.flows[0].bytes = 1;
	net.flows[0].dst = net.flows[0].src;
	assert_int_equal(traffic_create(&net.fabric, net.flows, 1, &net.traffic), -EINVAL);
	assert_null(net.traffic);
	net_free(&net);
}

/* Or a result of fewer flows would look like one of all. */
static void no_memory_for_a_flow_ends_the_run(void **state)
{
	int ret = -ENOMEM;
	struct net net;

	(void)state;
	for (unsigned n = 1; ret != 0; n++) {
		assert_true(n < 1000);
		net_make(&net, &plain);
		net_flow(&net, "h0", "h7", 1000, PS_US);
		assert_int_equal(traffic_create(&net.fabric, net.flows, 1, &net.traffic), 0);
		util_alloc_fail_after(n);
		ret = fabric_run(&net.fabric, PS_NEVER);
		util_alloc_fail_after(0);
		assert_true(ret == -ENOMEM || net.flows[0].status == TRAFFIC_OK);
		net_free(&net);
	}
}

/* In the sizes of ns-3: 48 bytes in front of data, without pad, and 60 of an ACK. 1 byte: 49 bytes,
 * 3920 ps at 100 Gb/s; 1000: 1048 bytes, 83840 ps; 500: 548 bytes, 43840 ps; the ACK 4800 ps. */
static void headers_of_another_simulator(void **state)
{
	struct net_params p = plain;

	(void)state;
	p.ns3 = true;
	p.mtu = 1000;
	p.shape = STAR;
	assert_int_equal(alone(&p, "h0", "h1", 1), 2 * 3920 + 2 * 4800 + 4 * PS_US);
	assert_int_equal(alone(&p, "h0", "h1", 1000), 2 * 83840 + 2 * 4800 + 4 * PS_US);
	assert_int_equal(alone(&p, "h0", "h1", 2500),
			 2 * 83840 + 83840 + 43840 + 2 * 4800 + 4 * PS_US);
	p.through_wire = true;
	p.shape = LEAF_SPINE;
	assert_int_equal(alone(&p, "h0", "h7", 2500),
			 4 * 83840 + 83840 + 43840 + 4 * 4800 + 8 * PS_US);
	p.uc = true;
	assert_int_equal(alone(&p, "h0", "h7", 1001), 4 * 83840 + 3920 + 4 * PS_US);
}

/* On UC they do not, and a flow that lacks one is lost, whoever sent it. */
static void unreliable_flows_are_lost(void **state)
{
	const struct sim_fault_params some = {.loss_ppb = 20000000};
	struct net_params p = plain;
	struct sim_fault fault;
	struct traffic_sums sums;
	uint64_t lost = 0;
	struct net net;

	(void)state;
	p.uc = true;
	net_make(&net, &p);
	sim_fault_attach(&fault, sim_port_find(net.fabric.sim, "h0-leaf0#0", "h0"), &some);
	for (int i = 0; i < 100; i++)
		net_flow(&net, "h0", "h7", 20000 + (uint64_t)i, 0);
	net_flow(&net, "h1", "h7", 20000, 0);
	sums = net_run(&net);
	for (int i = 0; i < 101; i++) {
		assert_true(net.flows[i].is_sent);
		lost += traffic_is_lost(&net.flows[i]);
	}
	/* 20 packets each: 1 - 0.98^20 of them, 33 of 100. */
	assert_in_range(lost, 20, 46);
	assert_true(fault.lost >= lost);
	assert_int_equal(sums.failed, lost);
	assert_int_equal(sums.completed, 101 - lost);
	assert_int_equal(sums.packets_retransmitted, 0);
	assert_int_equal(sums.mismatch_bytes, 0);
	assert_false(traffic_is_lost(&net.flows[100]));
	net_free(&net);
}

/* Lost packets come again, and their bytes are right. */
static void losses_are_made_good(void **state)
{
	const struct sim_fault_params some = {.loss_ppb = 20000000};
	struct sim_fault fault;
	struct traffic_sums sums;
	struct net net;

	(void)state;
	net_make(&net, &plain);
	sim_fault_attach(&fault, sim_port_find(net.fabric.sim, "h0-leaf0#0", "h0"), &some);
	net_flow(&net, "h0", "h7", 300000, 0);
	net_flow(&net, "h0", "h7", 300001, 0);
	net_flow(&net, "h1", "h7", 300000, 0);
	sums = net_run(&net);
	assert_int_equal(sums.completed, 3);
	assert_int_equal(sums.mismatch_bytes, 0);
	assert_true(fault.lost > 3);
	assert_true(sums.packets_retransmitted >= fault.lost);
	net_free(&net);
}

RUN(T(one_packet_takes_what_a_hand_computes), T(a_lone_flow_is_as_fast_as_can_be),
    T(two_writes_are_one_pipeline), T(unreliable_flows_end_when_they_are_there),
    T(unreliable_flows_are_lost), T(headers_of_another_simulator),
    T(the_order_of_a_list_cannot_be_seen), T(simultaneous_starts_favour_nobody),
    T(total_loss_is_retry_exceeded), T(what_is_cut_off_is_unfinished),
    T(what_makes_no_sense_is_refused), T(losses_are_made_good),
    T(no_memory_for_a_flow_ends_the_run))
