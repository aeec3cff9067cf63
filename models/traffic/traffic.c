/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/traffic.h"

#include "models/traffic/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void key_flows(struct traffic *traffic)
{
	uint64_t k = 0;

	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		struct traffic_flow *flow = &traffic->flows[i];

		k = i > 0 && traffic_same_but_for_class(flow, flow - 1) ? k + 1 : 0;
		flow->key = traffic_key_of(traffic, flow, k);
		flow->status = TRAFFIC_PENDING;
	}
}

static int compare_by_qpn(const void *a, const void *b)
{
	const struct traffic_end *x = a, *y = b;
	int order = traffic_compare_u64(x->host, y->host);

	order = order ? order : traffic_compare_u64(x->qpn, y->qpn);
	return order ? order : traffic_compare_u64(x->key, y->key);
}

/* Numbers of one host that collide move up, in the order of their keys. Those of flows have the
 * highest bit set, those of programs have not. */
static int number_ends(struct traffic_end *ends, uint64_t count)
{
	qsort(ends, count, sizeof(*ends), compare_by_qpn);
	for (uint64_t i = 0; i < count; i++) {
		struct traffic_end *end = &ends[i];
		struct traffic_flow *flow = end->start.flow;

		if (i > 0 && ends[i - 1].host == end->host && end->qpn <= ends[i - 1].qpn)
			end->qpn = ends[i - 1].qpn + 1;
		if (end->qpn >= TRAFFIC_QPNS)
			return -E2BIG;
		if (end->start.is_sink)
			flow->sink_qpn = end->qpn | TRAFFIC_QPNS;
		else
			flow->source_qpn = end->qpn | TRAFFIC_QPNS;
	}
	return 0;
}

static void traffic_share_out(struct traffic *traffic, struct traffic_end *ends, uint64_t count)
{
	qsort(ends, count, sizeof(*ends), traffic_compare_ends);
	for (uint64_t i = 0; i < count; i++) {
		struct traffic_host *th = &traffic->hosts[ends[i].host];

		traffic->starts[i] = ends[i].start;
		if (th->start_count++ == 0)
			th->starts = &traffic->starts[i];
		th->source_count += !ends[i].start.is_sink;
	}
}

/* It is the first, or the only one, on its queue pair. */
static bool opens(const struct traffic_flow *flow)
{
	return !flow->pair || flow->pair->first == flow;
}

static int plan(struct traffic *traffic)
{
	const uint64_t most = 2 * traffic->flow_count;
	struct traffic_end *ends = util_calloc(most, sizeof(*ends));
	uint64_t count = 0;
	int ret;

	traffic->starts = util_calloc(most, sizeof(*traffic->starts));
	if (!ends || !traffic->starts) {
		util_free(ends);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < traffic->flow_count; i++)
		if (opens(&traffic->flows[i])) {
			ends[count++] = traffic_end_of(traffic, &traffic->flows[i], false);
			ends[count++] = traffic_end_of(traffic, &traffic->flows[i], true);
		}
	ret = number_ends(ends, count);
	if (!ret && traffic->pairs)
		traffic_pairs_share_numbers(traffic);
	for (uint64_t i = 0; i < traffic->flow_count; i++)
		if (!opens(&traffic->flows[i]))
			ends[count++] = traffic_end_of(traffic, &traffic->flows[i], false);
	if (!ret)
		traffic_share_out(traffic, ends, count);
	util_free(ends);
	return ret;
}

/* A sink's memory is one endless synthetic region; each flow has a stretch of its own. */
static void traffic_lay_out(struct traffic *traffic)
{
	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		struct traffic_flow *flow = &traffic->flows[i];

		flow->va = traffic->hosts[flow->dst].next_va;
		traffic->hosts[flow->dst].next_va += flow->bytes;
	}
}

/* A send queue holds all WRITEs of its flow. */
static bool flow_is_valid(const struct fabric *fabric, const struct traffic_flow *flow)
{
	const uint64_t writes_max = fabric->table.hosts[flow->src]->params.profile.wr_max;

	return flow->src != flow->dst && flow->bytes > 0 &&
	       flow->bytes <= writes_max * TRAFFIC_WRITE_MAX;
}

int traffic_create(struct fabric *fabric, struct traffic_flow *flows, uint64_t count,
		   struct traffic **ret_traffic)
{
	struct traffic *traffic;
	int ret = 0;

	for (uint64_t i = 0; i < count; i++)
		if (!flow_is_valid(fabric, &flows[i]))
			return -EINVAL;
	traffic = util_calloc(1, sizeof(*traffic));
	if (!traffic)
		return -ENOMEM;
	traffic->fabric = fabric;
	traffic->flows = flows;
	traffic->flow_count = count;
	traffic->host_count = fabric->host_count;
	traffic->hosts = util_calloc(fabric->host_count, sizeof(*traffic->hosts));
	if (!traffic->hosts) {
		traffic_destroy(traffic);
		return -ENOMEM;
	}
	if (count > 0)
		qsort(flows, count, sizeof(*flows), traffic_compare_flows);
	key_flows(traffic);
	traffic_lay_out(traffic);
	if (fabric->params.host->flow_pairs)
		ret = traffic_pairs_make(traffic);
	ret = ret ? ret : plan(traffic);
	for (uint32_t i = 0; i < traffic->host_count && !ret; i++)
		ret = traffic_host_init(traffic, i);
	if (ret) {
		traffic_destroy(traffic);
		return ret;
	}
	*ret_traffic = traffic;
	return 0;
}

void traffic_destroy(struct traffic *traffic)
{
	if (!traffic)
		return;
	traffic_stream_fini(traffic);
	traffic_pairs_fini(traffic);
	for (uint32_t i = 0; traffic->hosts && i < traffic->host_count; i++)
		traffic_host_fini(&traffic->hosts[i]);
	util_free(traffic->hosts);
	util_free(traffic->starts);
	util_free(traffic);
}

struct traffic_sums traffic_sums(const struct traffic *traffic)
{
	struct traffic_sums sums = {.posted = traffic->flow_count};

	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		const struct traffic_flow *flow = &traffic->flows[i];

		sums.bytes_posted += flow->bytes;
		sums.packets_retransmitted += traffic_retransmitted(flow);
		sums.completed += flow->status == TRAFFIC_OK;
		sums.failed += flow->status != TRAFFIC_OK;
		sums.unfinished += flow->status == TRAFFIC_PENDING && !traffic_is_lost(flow);
		if (flow->status == TRAFFIC_OK)
			sums.bytes_delivered += flow->bytes;
	}
	for (uint32_t i = 0; i < traffic->host_count; i++)
		if (traffic->hosts[i].sink_mr)
			sums.mismatch_bytes += traffic->hosts[i].sink_mr->mismatch_bytes;
	traffic_stream_add_sums(traffic, &sums);
	return sums;
}
