/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/internal.h"
#include "transport/wire/psn.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"

#include <errno.h>

/* PAIR_WRITES: that the send queue of a pair takes at first. */
enum { CQ_SPARE = 16, CQ_STREAMED = 4096, PAIR_WRITES = 16 };
#define SINK_BYTES ((uint64_t)1 << 62) /* of a sink's endless region */

uint32_t traffic_writes_of(const struct traffic_flow *flow)
{
	return (uint32_t)((flow->bytes - 1) / TRAFFIC_WRITE_MAX + 1);
}

/* The source's bytes are those that the sink expects: stream and offset are the sink's. */
static uint64_t stream_of(const struct host *sink)
{
	return sink->node.id & 0xffffff;
}

static struct hca_qp_attr attr_of(const struct traffic_host *th, const struct traffic_flow *flow,
				  bool is_sink)
{
	const struct host *host = th->host;
	const struct host *peer = host->table->hosts[is_sink ? flow->src : flow->dst];
	const uint32_t psn = traffic_psn_of(flow->pair ? flow->pair->key : flow->key);
	struct hca_qp_attr attr = {
		.access = HCA_ACCESS_REMOTE_WRITE,
		.mtu = host->params.profile.mtu_max,
		.dest_qpn = is_sink ? flow->source_qpn : flow->sink_qpn,
		.sq_psn = psn,
		.rq_psn = psn,
		.timeout = host->params.flow_timeout,
		.retry_cnt = host->params.flow_retries,
		.rnr_retry = 7,
		.min_rnr_timer = 1,
		.port = 1,
		.path = {.ttl = host->params.flow_ttl ? host->params.flow_ttl : 64,
			 .priority = flow->priority,
			 .dscp = host_dscp(host, flow->priority)},
	};

	host_ip(peer, attr.path.dst_ip);
	CHECK(host_resolve(host, &attr.path, is_sink ? flow->sink_qpn : flow->source_qpn,
			   attr.dest_qpn) == 0);
	return attr;
}

/* UC tells its sender nothing: the sink's receives tell that a WRITE is there. */
static void post_receives(struct traffic_host *th, struct traffic_flow *flow, struct hca_qp *qp)
{
	const struct hca_recv_wr wr = {.wr_id = (uintptr_t)flow};

	for (uint32_t i = traffic_writes_of(flow); i > 0; i--)
		CHECK(hca_qp_post_recv(th->host->hca, qp, &wr, th->host->now) == 0);
}

static uint64_t flow_host_packets_of(const struct traffic_host *th, const struct traffic_flow *flow)
{
	const uint32_t mtu = th->host->params.profile.mtu_max;
	const uint64_t whole = flow->bytes / TRAFFIC_WRITE_MAX,
		       rest = flow->bytes % TRAFFIC_WRITE_MAX;

	return whole * ((TRAFFIC_WRITE_MAX - 1) / mtu + 1) + (rest + mtu - 1) / mtu;
}

/* Those of a flow with a queue pair of its own; others share theirs with those to come. */
static uint32_t awaited_packets(const struct traffic_host *th, const struct traffic_flow *flow,
				bool is_sink)
{
	if (!is_sink)
		return HCA_REQUESTS_NONE;
	return flow->pair || flow_host_packets_of(th, flow) > WIRE_U24_MAX
		       ? 0
		       : (uint32_t)flow_host_packets_of(th, flow);
}

/* -ENOMEM */
static int open_qp(struct traffic_host *th, struct traffic_flow *flow, bool is_sink,
		   struct hca_qp **ret_qp)
{
	enum {
		TO_INIT = HCA_QP_STATE | HCA_QP_PKEY_INDEX | HCA_QP_PORT | HCA_QP_ACCESS_FLAGS,
		UC_TO_RTR = HCA_QP_STATE | HCA_QP_AV | HCA_QP_PATH_MTU | HCA_QP_DEST_QPN |
			    HCA_QP_RQ_PSN,
		TO_RTR = UC_TO_RTR | HCA_QP_MAX_DEST_RD_ATOMIC | HCA_QP_MIN_RNR_TIMER,
		UC_TO_RTS = HCA_QP_STATE | HCA_QP_SQ_PSN,
		TO_RTS = UC_TO_RTS | HCA_QP_TIMEOUT | HCA_QP_RETRY_CNT | HCA_QP_RNR_RETRY |
			 HCA_QP_MAX_QP_RD_ATOMIC,
	};
	struct hca_device *hca = th->host->hca;
	const ps_t now = th->host->now;
	const bool is_uc = th->host->params.flow_uc;
	/* What a pair's send queue has is its source's to know. */
	const uint32_t depth =
		flow->pair && !is_sink ? flow->pair->writes_max : traffic_writes_of(flow);
	const struct hca_qp_init init = {
		.type = is_uc ? HCA_QPT_UC : HCA_QPT_RC,
		.pd = th->pd,
		.send_cq = th->cq,
		.recv_cq = th->cq,
		.cap = {.send_depth = is_sink ? 0 : depth,
			.recv_depth = is_sink && is_uc ? depth : 0,
			.send_sge_max = !is_sink},
		.signal_all = true,
		.half = is_uc	  ? HCA_BOTH_HALVES
			: is_sink ? HCA_RESPONDER
				  : HCA_REQUESTER,
		.dest_rd_atomic_max = 1,
		.request_packets = awaited_packets(th, flow, is_sink),
		.qpn = is_sink ? flow->sink_qpn : flow->source_qpn,
	};
	struct hca_qp_attr attr = attr_of(th, flow, is_sink);
	int ret = hca_qp_create(hca, &init, ret_qp);

	if (ret)
		return ret;
	attr.state = HCA_QPS_INIT;
	CHECK(hca_qp_modify(hca, *ret_qp, &attr, TO_INIT, now) == 0);
	attr.state = HCA_QPS_RTR;
	CHECK(hca_qp_modify(hca, *ret_qp, &attr, is_uc ? UC_TO_RTR : TO_RTR, now) == 0);
	if (is_sink && is_uc)
		post_receives(th, flow, *ret_qp);
	if (is_sink)
		return 0;
	attr.state = HCA_QPS_RTS;
	CHECK(hca_qp_modify(hca, *ret_qp, &attr, is_uc ? UC_TO_RTS : TO_RTS, now) == 0);
	return 0;
}

static void post_writes(struct traffic_host *th, struct traffic_flow *flow, struct hca_qp *qp,
			const struct hca_mr *mr)
{
	const struct traffic_host *sink = &th->traffic->hosts[flow->dst];

	for (uint64_t done = 0; done < flow->bytes; done += TRAFFIC_WRITE_MAX) {
		const uint64_t left = flow->bytes - done;
		const struct hca_sge sge = {
			.addr = flow->va + done,
			.length = (uint32_t)(left < TRAFFIC_WRITE_MAX ? left : TRAFFIC_WRITE_MAX),
			.lkey = mr->lkey,
		};
		const struct hca_send_wr wr = {
			.wr_id = (uintptr_t)flow,
			.opcode = th->host->params.flow_uc ? HCA_WR_RDMA_WRITE_WITH_IMM
							   : HCA_WR_RDMA_WRITE,
			.sge = &sge,
			.sge_count = 1,
			.remote_addr = flow->va + done,
			.rkey = sink->sink_mr->rkey,
		};

		CHECK(hca_qp_post_send(th->host->hca, qp, &wr, th->host->now) == 0);
		flow->writes_left++;
	}
}

static uint16_t flow_place_of(const struct host *host)
{
	return host->params.bus ? host->params.bus->flow_place : 0;
}

/* The bytes up to @end, at the sink's offsets. -ENOMEM */
static int open_source(struct traffic_host *th, struct traffic_flow *flow, uint64_t end,
		       struct hca_mr **ret_mr, struct hca_qp **ret_qp)
{
	const struct hca_mr_params region = {
		.ops = &hca_mem_synthetic,
		.length = end,
		.place = flow_place_of(th->host),
		.stream = stream_of(th->host->table->hosts[flow->dst]),
	};
	int ret = hca_mr_create(th->host->hca, th->pd, &region, ret_mr);

	return ret ? ret : open_qp(th, flow, false, ret_qp);
}

/* So much may a send queue hold: of streams, not more than the completions that are taken at once.
 * A flow that has it to itself may have all. */
static uint32_t writes_most(const struct traffic_host *th, const struct traffic_pair *pair)
{
	const uint32_t wr_max = th->host->params.profile.wr_max;

	return th->traffic->feed && pair->writes_posted > 0 && wr_max > CQ_STREAMED ? CQ_STREAMED
										    : wr_max;
}

/* Room for @writes more, where there may be so much: *ret_fits. -ENOMEM. */
static int flow_host_make_room(struct traffic_host *th, struct traffic_pair *pair, uint32_t writes,
			       bool *ret_fits)
{
	const uint32_t most = writes_most(th, pair), all = pair->writes_posted + writes;
	uint32_t depth = pair->writes_max;
	int ret = 0;

	*ret_fits = all <= most;
	if (!*ret_fits || all <= depth)
		return 0;
	while (depth < all)
		depth *= 2;
	depth = depth < most ? depth : most;
	ret = hca_qp_grow_send(th->host->hca, pair->qp, depth);
	if (ret == 0)
		pair->writes_max = depth;
	return ret;
}

static void number_packets(const struct traffic_host *th, struct traffic_pair *pair,
			   struct traffic_flow *flow)
{
	const uint64_t packets = flow_host_packets_of(th, flow);

	flow->first_psn = pair->end_psn;
	flow->packets = packets > WIRE_U24_MAX ? WIRE_U24_MAX + 1 : (uint32_t)packets;
	pair->end_psn = (uint32_t)(pair->end_psn + packets) & WIRE_U24_MAX;
}

/* As many of those that wait as its send queue takes. -ENOMEM. */
static int post_waiting(struct traffic_host *th, struct traffic_pair *pair)
{
	while (pair->waiting) {
		struct traffic_flow *flow = pair->waiting;
		const uint32_t writes = traffic_writes_of(flow);
		bool fits;
		int ret = flow_host_make_room(th, pair, writes, &fits);

		if (ret || !fits)
			return ret;
		pair->waiting = flow->next_of_pair;
		pair->writes_posted += writes;
		post_writes(th, flow, pair->qp, pair->mr);
		number_packets(th, pair, flow);
	}
	return 0;
}

static int start_of_pair(struct traffic_host *th, struct traffic_flow *flow)
{
	struct traffic_pair *pair = flow->pair;
	int ret = 0;

	if (!pair->qp) {
		pair->writes_max = traffic_writes_of(flow) > PAIR_WRITES ? traffic_writes_of(flow)
									 : PAIR_WRITES;
		if (pair->writes_max > th->host->params.profile.wr_max)
			pair->writes_max = th->host->params.profile.wr_max;
		ret = open_source(th, flow, SINK_BYTES, &pair->mr, &pair->qp);
	}
	if (ret)
		return ret;
	flow->next_of_pair = NULL;
	if (pair->kept)
		pair->last->next_of_pair = flow;
	else
		pair->kept = flow;
	pair->last = flow;
	if (!pair->open)
		pair->open = flow;
	if (!pair->waiting)
		pair->waiting = flow;
	return post_waiting(th, pair);
}

static int start_source(struct traffic_host *th, struct traffic_flow *flow)
{
	int ret;

	if (flow->pair)
		return start_of_pair(th, flow);
	ret = open_source(th, flow, flow->va + flow->bytes, &flow->source.mr, &flow->source.qp);
	if (ret)
		return ret;
	post_writes(th, flow, flow->source.qp, flow->source.mr);
	return 0;
}

/* The queue pair stays; what it has sent again since the last flow ended is this one's. */
static int end_of_pair(struct traffic_host *th, struct traffic_flow *flow)
{
	struct traffic_pair *pair = flow->pair;
	const uint64_t retransmitted = hca_qp_packets_retransmitted(pair->qp);

	CHECK(pair->open == flow);
	pair->open = flow->next_of_pair;
	/* What a list holds is there to the end. */
	if (th->traffic->feed && th->host->now > TRAFFIC_TIME_WAIT)
		traffic_pair_forget_ended(pair, th->host->now - TRAFFIC_TIME_WAIT);
	flow->packets_retransmitted = retransmitted - pair->retransmitted;
	pair->retransmitted = retransmitted;
	return post_waiting(th, pair);
}

static int end_source(struct traffic_host *th, struct traffic_flow *flow)
{
	struct hca_device *hca = th->host->hca;

	if (flow->pair)
		return end_of_pair(th, flow);
	flow->packets_retransmitted = hca_qp_packets_retransmitted(flow->source.qp);
	hca_qp_destroy(hca, flow->source.qp);
	CHECK(hca_mr_destroy(hca, flow->source.mr) == 0);
	flow->source = (struct traffic_source){.qp = NULL};
	return 0;
}

static void end_flow(struct traffic_host *th, struct traffic_flow *flow)
{
	flow->end_at = th->host->now;
	flow->status = flow->wc_status == 0 ? TRAFFIC_OK : TRAFFIC_FAILED;
	if (flow->streamed) {
		flow->next_ended = th->ended;
		th->ended = flow;
	}
}

static int source_completion(struct traffic_host *th, struct traffic_flow *flow)
{
	if (flow->pair)
		flow->pair->writes_posted--;
	if (--flow->writes_left > 0)
		return 0;
	if (th->host->params.flow_uc)
		flow->is_sent = true;
	else
		end_flow(th, flow);
	return end_source(th, flow);
}

/* Of UC: the flow has ended when all of it is here. */
static void sink_completion(struct traffic_host *th, struct traffic_flow *flow)
{
	if (++flow->writes_here == traffic_writes_of(flow))
		end_flow(th, flow);
}

/* -ENOMEM */
static int take_completions(struct traffic_host *th)
{
	struct hca_wc wc;
	int ret = 0;

	while (ret == 0 && hca_cq_poll(th->cq, 1, &wc) == 1) {
		struct traffic_flow *flow = (struct traffic_flow *)(uintptr_t)wc.wr_id;

		if (wc.status != HCA_WC_SUCCESS && flow->wc_status == 0)
			flow->wc_status = (int)wc.status;
		if (th->host->number == flow->dst)
			sink_completion(th, flow);
		else
			ret = source_completion(th, flow);
	}
	return ret;
}

/* 0 or -ENOMEM. The first of a list and that of a stream may both open the sink of a pair. */
static int start_one(struct traffic_host *th, const struct traffic_start *start)
{
	struct traffic_flow *flow = start->flow;

	if (!start->is_sink)
		return start_source(th, flow);
	if (!flow->pair)
		return open_qp(th, flow, true, &flow->sink_qp);
	return flow->pair->sink_qp ? 0 : open_qp(th, flow, true, &flow->pair->sink_qp);
}

static ps_t next_start_at(const struct traffic_host *th)
{
	const struct traffic_queue *queue = &th->queue;
	ps_t at = th->next_start < th->start_count ? traffic_start_at(&th->starts[th->next_start])
						   : PS_NEVER;

	if (queue->first < queue->count && traffic_start_at(&queue->starts[queue->first]) < at)
		at = traffic_start_at(&queue->starts[queue->first]);
	return at;
}

/* Those of the list, then those of streams. 0 or -ENOMEM */
static int start_due(struct traffic_host *th)
{
	struct traffic_queue *queue = &th->queue;
	const ps_t now = th->host->now;
	int ret = 0;

	for (; th->next_start < th->start_count &&
	       traffic_start_at(&th->starts[th->next_start]) <= now && !ret;
	     th->next_start++)
		ret = start_one(th, &th->starts[th->next_start]);
	for (; queue->first < queue->count &&
	       traffic_start_at(&queue->starts[queue->first]) <= now && !ret;
	     queue->first++)
		ret = start_one(th, &queue->starts[queue->first]);
	return ret;
}

/* Completions are taken at their own instant, after the adapter has done everything else in it. */
static void host_step(struct sim_local_event *event, void *context)
{
	struct traffic_host *th = container_of(event, struct traffic_host, event);
	ps_t next;
	int ret;

	(void)context;
	ret = take_completions(th);
	ret = ret ? ret : start_due(th);
	next = next_start_at(th);
	if (ret)
		sim_fail(th->host->th, ret);
	else if (next != PS_NEVER)
		sim_local_schedule(&th->host->local, event, next);
}

void traffic_host_wake(struct traffic_host *th, ps_t at)
{
	if (!th->event.pending || at < th->event.at)
		sim_local_schedule(&th->host->local, &th->event, at);
}

static void on_completion(struct host_client *client, ps_t now)
{
	struct traffic_host *th = container_of(client, struct traffic_host, client);

	sim_local_schedule(&th->host->local, &th->event, now);
}

static int open_sink(struct traffic_host *th)
{
	const struct hca_mr_params region = {
		.ops = &hca_mem_synthetic,
		.length = SINK_BYTES,
		.place = flow_place_of(th->host),
		.access = HCA_ACCESS_LOCAL_WRITE | HCA_ACCESS_REMOTE_WRITE,
		.stream = stream_of(th->host),
	};

	return hca_mr_create(th->host->hca, th->pd, &region, &th->sink_mr);
}

int traffic_host_init(struct traffic *traffic, uint32_t number)
{
	struct traffic_host *th = &traffic->hosts[number];
	struct host *host = traffic->fabric->table.hosts[number];
	const uint32_t cqe_max = host->params.profile.cqe_max;
	uint64_t depth;
	int ret;

	th->traffic = traffic;
	th->host = host;
	if (th->start_count == 0 && !traffic->feed)
		return 0;
	depth = th->source_count + (traffic->feed ? CQ_STREAMED : CQ_SPARE);
	ret = hca_pd_create(host->hca, &th->pd);
	ret = ret ? ret : open_sink(th);
	ret = ret ? ret
		  : hca_cq_create(host->hca, depth < cqe_max ? (uint32_t)depth : cqe_max, NULL,
				  &th->cq);
	if (ret)
		return ret;
	th->event = (struct sim_local_event){
		.key = util_hash_name("traffic"), .phase = SIM_LOCAL_PROGRAM, .fn = host_step};
	th->client = (struct host_client){.cq = th->cq, .on_completion = on_completion};
	host->client = &th->client;
	if (th->start_count > 0)
		sim_local_schedule(&host->local, &th->event, traffic_start_at(&th->starts[0]));
	return 0;
}

/* The device takes its objects along when the fabric goes. */
void traffic_host_fini(struct traffic_host *th)
{
	if (!th->host)
		return;
	th->host->client = NULL;
	sim_local_cancel(&th->host->local, &th->event);
}
