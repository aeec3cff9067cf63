/* SPDX-License-Identifier: BSD-2-Clause */

/* What the digest of a whole fabric (adapters, flow control, marking, congestion control) must see,
 * and what it must not see. */
#include "models/fabric/fabric.h"
#include "models/traffic/traffic.h"
#include "sim/fault.h"
#include "sim/switch.h"
#include "sim/tap.h"
#include "tests/test.h"
#include "transport/wire/frame.h"

#include <stdlib.h>
#include <string.h>

enum { HOSTS = 8, FLOWS = 9, MESSAGE = 50000, SEEN_MAX = 4096 };

struct net {
	uint64_t seed;
	uint32_t threads;
	bool through_wire, reverse_flows, reverse_nodes;
	const char *late_link; /* the @late_packet-th frame there is 1 ps later; 0: none */
	uint32_t late_packet;
	bool lose_cnp;	    /* the first */
	uint32_t swap;	    /* which pair of deliveries of one instant, from 1; 0: none */
	uint32_t flip_byte; /* of the message, from 1; 0: none */
	ps_t until;	    /* 0: the end */
};

struct seen { /* frames that one port started */
	struct sim_tap tap;
	ps_t at[SEEN_MAX];
	uint8_t opcode[SEEN_MAX];
	uint32_t count;
};

struct result {
	uint64_t digest, cnps, pauses, completed;
	uint32_t pairs; /* of deliveries of one instant that go the same way */
};

/* A message with real bytes, posted at once. */
struct message {
	uint8_t from[MESSAGE], to[MESSAGE];
	struct hca_cq *cq;
};

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider none = {.list = NULL};

	return &none;
}

static void see(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
		const struct sim_pkt *pkt, ps_t start)
{
	struct seen *seen = container_of(tap, struct seen, tap);
	struct wire_pkt body;

	(void)th;
	(void)port;
	if (pkt->frame != SIM_DATA)
		return;
	assert_true(seen->count < SEEN_MAX);
	seen->at[seen->count] = start;
	memcpy(&body, pkt->body, WIRE_HOT_BYTES);
	seen->opcode[seen->count++] = body.opcode;
}

static struct host_params host_of(const struct net *net)
{
	const uint64_t line = 100000000000u;

	return (struct host_params){
		.profile = {.line_rate_bps = line,
			    .mtu_max = 1024,
			    .psn_window = 1u << 16,
			    .ack_every = 4,
			    .ack_on_data_priority = true,
			    .cnp_priority = 6,
			    .cnp_enabled = true,
			    .cnp_interval = 4 * PS_US,
			    .cc = &cc_dcqcn,
			    .cc_params = cc_dcqcn_params(line),
			    .wire_overhead = wire_frame_overhead(0),
			    .qp_max = 64,
			    .cq_max = 8,
			    .mr_max = 64,
			    .pd_max = 8,
			    .wr_max = 16,
			    .sge_max = 1,
			    .cqe_max = 64,
			    .rd_atomic_max = 1},
		.cost = host_cost_none(),
		.flow_timeout = 10,
		.flow_retries = 7,
		.through_wire = net->through_wire,
	};
}

static struct hca_qp *open_qp(struct host *host, struct host *peer, struct hca_pd *pd,
			      struct hca_cq *cq, uint32_t qpn, uint32_t peer_qpn)
{
	const struct hca_qp_init init = {.type = HCA_QPT_RC,
					 .pd = pd,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .cap = {.send_depth = 1, .send_sge_max = 1},
					 .signal_all = true,
					 .qpn = qpn};
	struct hca_qp_attr attr = {.state = HCA_QPS_INIT,
				   .access = HCA_ACCESS_REMOTE_WRITE,
				   .mtu = 1024,
				   .dest_qpn = peer_qpn,
				   .timeout = 10,
				   .retry_cnt = 7,
				   .rnr_retry = 7,
				   .port = 1,
				   .path = {.ttl = 64}};
	struct hca_qp *qp;

	host_ip(peer, attr.path.dst_ip);
	assert_int_equal(host_resolve(host, &attr.path, qpn, peer_qpn), 0);
	assert_int_equal(hca_qp_create(host->hca, &init, &qp), 0);
	assert_int_equal(
		hca_qp_modify(host->hca, qp, &attr,
			      HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
			      0),
		0);
	attr.state = HCA_QPS_RTR;
	assert_int_equal(hca_qp_modify(host->hca, qp, &attr,
				       HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU |
					       HCA_QP_DEST_QPN | HCA_QP_RQ_PSN |
					       HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
				       0),
			 0);
	attr.state = HCA_QPS_RTS;
	assert_int_equal(hca_qp_modify(host->hca, qp, &attr,
				       HCA_QP_STATE | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT |
					       HCA_QP_RNR_RETRY | HCA_QP_SQ_PSN |
					       HCA_QP_MAX_QP_RD_ATOMIC,
				       0),
			 0);
	return qp;
}

static void post_message(struct fabric *fabric, struct message *message, uint32_t flip_byte)
{
	struct host *a = fabric_host(fabric, "h5"), *b = fabric_host(fabric, "h2");
	struct hca_pd *pd_a, *pd_b;
	struct hca_mr *mr_a, *mr_b;
	struct hca_cq *cq_b;
	struct hca_mr_params region = {.ops = &hca_mem_host,
				       .length = MESSAGE,
				       .access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE};
	struct hca_qp *qp;

	for (uint32_t i = 0; i < MESSAGE; i++)
		message->from[i] = (uint8_t)(i * 7 + i / 256);
	if (flip_byte)
		message->from[flip_byte - 1] ^= 0x10;
	assert_int_equal(hca_pd_create(a->hca, &pd_a) | hca_pd_create(b->hca, &pd_b), 0);
	assert_int_equal(hca_cq_create(a->hca, 4, NULL, &message->cq), 0);
	assert_int_equal(hca_cq_create(b->hca, 4, NULL, &cq_b), 0);
	region.address = (uintptr_t)message->from;
	assert_int_equal(hca_mr_create(a->hca, pd_a, &region, &mr_a), 0);
	region.address = (uintptr_t)message->to;
	assert_int_equal(hca_mr_create(b->hca, pd_b, &region, &mr_b), 0);
	qp = open_qp(a, b, pd_a, message->cq, 0x1234, 0x4321);
	open_qp(b, a, pd_b, cq_b, 0x4321, 0x1234);
	const struct hca_sge sge = {.length = MESSAGE, .lkey = mr_a->lkey};
	const struct hca_send_wr wr = {
		.opcode = HCA_WR_RDMA_WRITE, .sge = &sge, .sge_count = 1, .rkey = mr_b->rkey};

	assert_int_equal(hca_qp_post_send(a->hca, qp, &wr, 0), 0);
}

static void fill_flows(const struct fabric *fabric, struct traffic_flow *flows, bool reverse)
{
	char name[8];

	for (uint32_t i = 0; i < FLOWS; i++) {
		struct traffic_flow *flow = &flows[reverse ? FLOWS - 1 - i : i];

		snprintf(name, sizeof(name), "h%u", 1 + i % (HOSTS - 1));
		*flow = (struct traffic_flow){.src = fabric_host(fabric, name)->number,
					      .dst = fabric_host(fabric, "h0")->number,
					      .bytes = 200000 + 1000 * i,
					      .start_at = i / 3 * PS_US};
	}
}

static void reverse_nodes(struct topology *topology)
{
	const uint32_t n = topology->node_count;

	for (uint32_t i = 0; i < n / 2; i++) {
		struct topology_node swap = topology->nodes[i];

		topology->nodes[i] = topology->nodes[n - 1 - i];
		topology->nodes[n - 1 - i] = swap;
	}
	for (uint32_t i = 0; i < topology->link_count; i++) {
		topology->links[i].a = n - 1 - topology->links[i].a;
		topology->links[i].b = n - 1 - topology->links[i].b;
	}
}

static struct sim_port *port_of(const struct fabric *fabric, const char *host)
{
	return fabric_host(fabric, host)->node.ports;
}

/* ---- a switch that takes one pair of deliveries the other way round ---- */

static uint32_t pairs, swapped, sink;

static bool is_for_sink(const struct sim_pkt *pkt)
{
	return pkt->frame == SIM_DATA && pkt->dst == sink && pkt->priority == 0;
}

static void run_and_swap(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	struct sim_pkt *own[SEEN_MAX];

	assert_true(count <= SEEN_MAX);
	for (uint32_t i = 0; i < count; i++) {
		own[i] = arrivals[i];
		if (i == 0 || own[i]->at != own[i - 1]->at || !is_for_sink(own[i]) ||
		    !is_for_sink(own[i - 1]) || ++pairs != swapped)
			continue;
		own[i] = arrivals[i - 1];
		own[i - 1] = arrivals[i];
	}
	sim_switch_ops.run(th, node, own, count);
}

/* The leaf of the incast's sink: what is for that host has one way from there. */
static void watch_pairs(struct fabric *fabric, uint32_t swap)
{
	static struct sim_node_ops ops;

	ops = sim_switch_ops;
	ops.run = run_and_swap;
	pairs = 0;
	swapped = swap;
	sink = fabric_host(fabric, "h0")->address;
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		if (strcmp(sim_switch_node(fabric->switches[i])->name, "leaf0") == 0)
			sim_switch_node(fabric->switches[i])->ops = &ops;
}

static void collect(const struct fabric *fabric, const struct traffic *traffic,
		    struct result *ret_result)
{
	ret_result->digest = sim_digest(fabric->sim);
	ret_result->completed = traffic_sums(traffic).completed;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		ret_result->cnps += hca_device_counters(fabric->hosts[i].hca)->rp_cnp_handled;
	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		for (uint32_t port = 0; port < fc->node->port_count; port++)
			ret_result->pauses += sim_fc_gate(fc, port)->controls_sent;
	}
}

/* @ret_seen: of the host's port; NULL: nobody looks. */
static struct result run(const struct net *net, const char *watched, struct seen *ret_seen,
			 const struct seen *plan)
{
	const struct topology_speed speed = {100000000000u, 100000000000u, PS_US};
	const struct host_params host = host_of(net);
	const struct pfc_params pfc = {.lossless = 1, .xoff_bytes = 30000, .resume_bytes = 2200};
	const struct ecn ecn = ecn_make(10000, 40000, 1, 2);
	const struct fabric_params params = {
		.seed = net->seed,
		.thread_count = net->threads,
		.packet_bytes_max = 1u << 26,
		.host = &host,
		.switches = {
			.buffer_bytes = 2u << 20, .pfc = &pfc, .mtu_bytes = 1120, .ecn = &ecn}};
	struct sim_fault_params late = {.delay = 1}, lossy = {.lost_count = 1};
	struct sim_fault fault;
	struct message *message = calloc(1, sizeof(*message));
	struct traffic_flow flows[FLOWS];
	struct topology topology = {0};
	struct result result = {0};
	struct traffic *traffic;
	struct fabric fabric;
	uint64_t lost_number = 0;

	assert_int_equal(topology_leaf_spine(&topology, 2, 2, HOSTS / 2, speed), 0);
	if (net->reverse_nodes)
		reverse_nodes(&topology);
	assert_int_equal(topology_name_links(&topology), 0);
	assert_int_equal(fabric_create(&fabric, &topology, &params), 0);
	fill_flows(&fabric, flows, net->reverse_flows);
	assert_int_equal(traffic_create(&fabric, flows, FLOWS, &traffic), 0);
	post_message(&fabric, message, net->flip_byte);
	if (ret_seen) {
		*ret_seen = (struct seen){.tap = {.on_start = see}};
		sim_tap_attach(&ret_seen->tap, port_of(&fabric, watched));
	}
	if (net->late_packet) {
		assert_true(net->late_packet <= plan->count);
		late.from = plan->at[net->late_packet - 1];
		late.until = late.from + 1;
		sim_fault_attach(&fault, port_of(&fabric, watched), &late);
	}
	if (net->lose_cnp) {
		while (plan->opcode[lost_number] != WIRE_CNP)
			assert_true(++lost_number < plan->count);
		lost_number++;
		lossy.lost_numbers = &lost_number;
		sim_fault_attach(&fault, port_of(&fabric, watched), &lossy);
	}
	if (net->threads == 1)
		watch_pairs(&fabric, net->swap);
	assert_int_equal(fabric_run(&fabric, net->until ? net->until : PS_S), 0);
	result.pairs = pairs;
	collect(&fabric, traffic, &result);
	if (!net->until)
		assert_memory_equal(message->from, message->to, MESSAGE);
	assert_int_equal(traffic_sums(traffic).mismatch_bytes, 0);
	traffic_destroy(traffic);
	fabric_fini(&fabric);
	topology_fini(&topology);
	free(message);
	return result;
}

static struct net plain(void)
{
	return (struct net){.seed = 1, .threads = 1};
}

static uint64_t digest_of(const struct net *net)
{
	struct result result = run(net, NULL, NULL, NULL);

	assert_int_equal(result.completed, FLOWS);
	return result.digest;
}

static void test_the_fabric_is_congested(void **state)
{
	struct net net = plain();
	struct result result = run(&net, NULL, NULL, NULL);

	(void)state;
	assert_true(result.cnps > 0);
	assert_true(result.pauses > 0);
	assert_int_equal(result.completed, FLOWS);
}

static void test_same_whatever_changes_nothing_in_the_model(void **state)
{
	struct net net = plain();
	const uint64_t digest = digest_of(&net);

	(void)state;
	assert_int_equal(digest_of(&net), digest);
	net.threads = 2;
	assert_int_equal(digest_of(&net), digest);
	net.threads = 3;
	assert_int_equal(digest_of(&net), digest);
	net = plain();
	net.through_wire = true;
	assert_int_equal(digest_of(&net), digest);
	net = plain();
	net.reverse_flows = true;
	assert_int_equal(digest_of(&net), digest);
	net.reverse_nodes = true;
	assert_int_equal(digest_of(&net), digest);
}

static void test_changes_with_the_seed(void **state)
{
	struct net net = plain();
	const uint64_t digest = digest_of(&net);

	(void)state;
	net.seed = 2;
	assert_int_not_equal(digest_of(&net), digest);
}

static void test_changes_when_one_packet_is_1_ps_later(void **state)
{
	static struct seen seen;
	struct net net = plain();
	const uint64_t digest = run(&net, "h3", &seen, NULL).digest;

	(void)state;
	assert_true(seen.count >= 60);
	for (uint32_t i = 0; i < 20; i++) {
		net.late_packet = 1 + i * 3;
		assert_int_not_equal(run(&net, "h3", NULL, &seen).digest, digest);
	}
}

static void test_changes_when_one_cnp_is_lost(void **state)
{
	static struct seen seen;
	struct net net = plain();
	const struct result whole = run(&net, "h0", &seen, NULL);
	struct result less;

	(void)state;
	net.lose_cnp = true;
	less = run(&net, "h0", NULL, &seen);
	assert_int_not_equal(less.digest, whole.digest);
}

static void test_changes_when_two_deliveries_of_one_instant_are_swapped(void **state)
{
	struct net net = plain();
	const struct result whole = run(&net, NULL, NULL, NULL);

	(void)state;
	assert_true(whole.pairs >= 40);
	for (net.swap = 1; net.swap <= 40; net.swap++)
		assert_int_not_equal(digest_of(&net), whole.digest);
}

static void test_changes_when_one_payload_byte_flips(void **state)
{
	struct net net = plain();
	const uint64_t digest = digest_of(&net);

	(void)state;
	for (net.flip_byte = 1; net.flip_byte <= MESSAGE; net.flip_byte += 4999)
		assert_int_not_equal(digest_of(&net), digest);
}

/* Frames are under way and in queues: what they hold comes home, or fabric_fini() stops the
 * test. */
static void test_a_run_may_end_in_the_middle(void **state)
{
	struct net net = plain();

	(void)state;
	for (net.until = PS_US; net.until < 100 * PS_US; net.until += 7 * PS_US)
		run(&net, NULL, NULL, NULL);
}

RUN(T(test_the_fabric_is_congested), T(test_same_whatever_changes_nothing_in_the_model),
    T(test_changes_with_the_seed), T(test_changes_when_one_packet_is_1_ps_later),
    T(test_changes_when_one_cnp_is_lost),
    T(test_changes_when_two_deliveries_of_one_instant_are_swapped),
    T(test_changes_when_one_payload_byte_flips), T(test_a_run_may_end_in_the_middle))
