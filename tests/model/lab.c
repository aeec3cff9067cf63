/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/model/lab.h"

#include "models/program/task.h"
#include "sim/port.h"
#include "sim/sim.h"
#include "tests/hca_connect.h"
#include "transport/wire/frame.h"
#include "util/check.h"
#include "util/siphash.h"

#include <stdio.h>
#include <string.h>

enum { LAB_QPN = 100, LAB_VLAN = 5 };

const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

static uint32_t node_of(struct topology *t, const char *name)
{
	if (topology_find(t, name) < 0)
		CHECK(topology_add_node(t, name, name[0] == 's') == 0);
	return (uint32_t)topology_find(t, name);
}

static struct host_params host_params_of(const struct lab_params *p)
{
	const unsigned shape = (p->ipv6 ? WIRE_SHAPE_IPV6 : 0u) | (p->vlan ? WIRE_SHAPE_VLAN : 0u);

	return (struct host_params){
		.profile = {.line_rate_bps = p->links[0].rate_bps,
			    .mtu_max = 4096,
			    .retransmit = p->retransmit,
			    .rto_low = 100 * PS_US,
			    .rto_high = 320 * PS_US,
			    .psn_window = p->psn_window ? p->psn_window : 1u << 20,
			    .ack_every = p->ack_every,
			    .ack_on_data_priority = true,
			    .cnp_priority = 6,
			    .cnp_enabled = true,
			    .cnp_interval = p->cnp_interval,
			    .cc = p->cc ? p->cc : &cc_none,
			    .cc_params = p->cc_params,
			    .wire_overhead = wire_frame_overhead(shape),
			    .qp_max = 64,
			    .cq_max = 8,
			    .mr_max = 8,
			    .pd_max = 8,
			    .wr_max = LAB_WORK_MAX,
			    .sge_max = 4,
			    .cqe_max = 65536,
			    .rd_atomic_max = 16},
		.cost = host_cost_none(),
		.through_wire = p->through_wire,
	};
}

/* Completions are taken at their own instant, after everything else that happens in it. */
static void take(struct sim_local_event *event, void *context)
{
	struct lab_host *host = container_of(event, struct lab_host, event);
	struct lab_done done = {.at = host->host->now};

	(void)context;
	while (hca_cq_poll(host->cq, 1, &done.wc) == 1) {
		CHECK(host->lab->done_count < LAB_DONE_MAX);
		host->lab->done[host->lab->done_count++] = done;
	}
}

static void on_completion(struct host_client *client, ps_t now)
{
	struct lab_host *host = container_of(client, struct lab_host, client);

	sim_local_schedule(&host->host->local, &host->event, now);
}

static void open_host(struct lab *lab, struct host *of)
{
	const struct hca_mr_params region = {
		.ops = &hca_mem_synthetic,
		.length = (uint64_t)1 << 40,
		.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ,
		.stream = 7,
	};
	struct lab_host *host = &lab->hosts[of->number];

	*host = (struct lab_host){
		.lab = lab, .host = of, .client = {.on_completion = on_completion}};
	host->event = (struct sim_local_event){
		.key = util_hash_name("lab"), .phase = SIM_LOCAL_PROGRAM, .fn = take};
	CHECK(hca_pd_create(of->hca, &host->pd) == 0);
	CHECK(hca_mr_create(of->hca, host->pd, &region, &host->mr) == 0);
	CHECK(hca_cq_create(of->hca, 65536, NULL, &host->cq) == 0);
	host->client.cq = host->cq;
	of->client = &host->client;
}

void lab_open(struct lab *lab, const struct lab_params *params)
{
	const struct host_params host = host_params_of(params);
	const struct sim_switch_params more = {.head_bytes = params->head_bytes};
	const struct fabric_params fabric = {
		.seed = params->seed ? params->seed : 1,
		.thread_count = 1,
		.packet_bytes_max = 1u << 28,
		.ipv6 = params->ipv6,
		.host = &host,
		.switches = {.buffer_bytes =
				     params->buffer_bytes ? params->buffer_bytes : 64u << 20,
			     .mtu_bytes = 4300,
			     .latency = params->latency,
			     .more = params->head_bytes ? &more : NULL,
			     .ecn = params->ecn},
	};

	memset(lab, 0, sizeof(*lab));
	lab->params = *params;
	for (uint32_t i = 0; i < params->link_count; i++) {
		const struct lab_link *from = &params->links[i];
		const struct topology_link link = {.a = node_of(&lab->topology, from->a),
						   .b = node_of(&lab->topology, from->b),
						   .rate_bps = from->rate_bps,
						   .delay = from->delay};

		CHECK(topology_add_link(&lab->topology, &link) == 0);
	}
	CHECK(topology_name_links(&lab->topology) == 0);
	CHECK(fabric_create(&lab->fabric, &lab->topology, &fabric) == 0);
	CHECK(lab->fabric.host_count <= LAB_HOSTS_MAX);
	for (uint32_t i = 0; i < lab->fabric.host_count; i++)
		open_host(lab, &lab->fabric.hosts[i]);
}

void lab_close(struct lab *lab)
{
	for (uint32_t i = 0; i < lab->fabric.host_count; i++)
		lab->fabric.hosts[i].client = NULL;
	fabric_fini(&lab->fabric);
	topology_fini(&lab->topology);
}

static struct hca_qp *open_qp(struct lab *lab, struct lab_host *host, const struct lab_host *peer,
			      uint32_t qpn, uint32_t peer_qpn, const struct lab_pair_params *p)
{
	enum {
		ALL = HCA_ACCESS_REMOTE_WRITE | HCA_ACCESS_REMOTE_READ,
	};
	const struct hca_qp_init init = {.type = HCA_QPT_RC,
					 .pd = host->pd,
					 .send_cq = host->cq,
					 .recv_cq = host->cq,
					 .cap = {LAB_WORK_MAX, LAB_WORK_MAX, 1, 1, 0},
					 .signal_all = true,
					 .qpn = qpn};
	struct hca_qp_attr attr = {.access = ALL,
				   .mtu = lab->params.mtu ? lab->params.mtu : 4096,
				   .dest_qpn = peer_qpn,
				   .timeout = p->timeout ? p->timeout : 14,
				   .retry_cnt = p->retry_cnt,
				   .rnr_retry = p->rnr_retry,
				   .min_rnr_timer = p->rnr_timer,
				   .max_rd_atomic = p->rd_atomic ? p->rd_atomic : 1,
				   .max_dest_rd_atomic = 16,
				   .port = 1,
				   .path = {.ttl = 64}};
	struct hca_device *hca = host->host->hca;
	struct hca_qp *qp;

	host_ip(peer->host, attr.path.dst_ip);
	attr.path.vlan = lab->params.vlan ? LAB_VLAN : 0;
	CHECK(hca_qp_create(hca, &init, &qp) == 0);
	CHECK(host_resolve(host->host, &attr.path, qpn, peer_qpn) == 0);
	CHECK(hca_connect_rc(hca, qp, attr) == 0);
	return qp;
}

struct lab_pair *lab_connect(struct lab *lab, const struct lab_pair_params *params)
{
	struct lab_pair *pair = &lab->pairs[lab->pair_count];
	const uint32_t qpn = LAB_QPN + 2 * lab->pair_count++;
	const struct host *from = fabric_host(&lab->fabric, params->from);
	const struct host *to = fabric_host(&lab->fabric, params->to);

	CHECK(from && to && lab->pair_count <= LAB_PAIRS_MAX);
	pair->from = &lab->hosts[from->number];
	pair->to = &lab->hosts[to->number];
	pair->qp = open_qp(lab, pair->from, pair->to, qpn, qpn + 1, params);
	if (!params->silent)
		pair->peer = open_qp(lab, pair->to, pair->from, qpn + 1, qpn, params);
	return pair;
}

static void post_work(struct sim_local_event *event, void *context)
{
	struct lab_work *work = container_of(event, struct lab_work, event);
	const struct lab_pair *pair = work->pair;
	struct host *host = pair->from->host;
	const struct hca_sge sge = {.length = work->bytes, .lkey = pair->from->mr->lkey};
	const struct hca_send_wr wr = {
		.opcode = work->opcode, .sge = &sge, .sge_count = 1, .rkey = pair->to->mr->rkey};

	(void)context;
	CHECK(hca_qp_post_send(host->hca, pair->qp, &wr, host->now) == 0);
}

void lab_post(struct lab *lab, struct lab_pair *pair, enum hca_wr_opcode opcode, uint32_t bytes,
	      ps_t at)
{
	struct lab_work *work = &lab->works[lab->work_count++];

	CHECK(lab->work_count <= LAB_WORK_MAX);
	*work = (struct lab_work){.pair = pair, .opcode = opcode, .bytes = bytes};
	work->event = (struct sim_local_event){
		.key = lab->work_count, .phase = SIM_LOCAL_PROGRAM, .fn = post_work};
	if (at > 0)
		sim_local_schedule(&pair->from->host->local, &work->event, at);
	else
		post_work(&work->event, NULL);
}

void lab_run(struct lab *lab, ps_t until)
{
	CHECK(fabric_run(&lab->fabric, until) == 0);
	for (uint32_t i = 0; i < lab->fabric.host_count; i++)
		CHECK(lab->hosts[i].mr->mismatch_bytes == 0);
}

struct sim_port *lab_port(const struct lab *lab, const char *from, const char *to)
{
	for (uint32_t i = 0; i < sim_node_count(lab->fabric.sim); i++) {
		struct sim_node *node = sim_node_at(lab->fabric.sim, i);

		for (uint32_t p = 0; strcmp(node->name, from) == 0 && p < node->port_count; p++)
			if (strcmp(node->ports[p].peer->name, to) == 0)
				return &node->ports[p];
	}
	util_check_failed("no such port", __FILE__, __LINE__);
}

const struct hca_counters *lab_counters(const struct lab *lab, const char *host)
{
	return hca_device_counters(fabric_host(&lab->fabric, host)->hca);
}
