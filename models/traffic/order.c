/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/internal.h"
#include "util/siphash.h"

/* Which flow is which, and which goes before which: of a list and of streams alike. */

int traffic_compare_flows(const void *a, const void *b)
{
	const struct traffic_flow *x = a, *y = b;
	int order = traffic_compare_u64(x->src, y->src);

	order = order ? order : traffic_compare_u64(x->dst, y->dst);
	order = order ? order : traffic_compare_u64(x->priority, y->priority);
	order = order ? order : traffic_compare_u64(x->bytes, y->bytes);
	order = order ? order : traffic_compare_u64(x->start_at, y->start_at);
	return order ? order : traffic_compare_u64(x->class_index, y->class_index);
}

bool traffic_same_but_for_class(const struct traffic_flow *x, const struct traffic_flow *y)
{
	return x->src == y->src && x->dst == y->dst && x->priority == y->priority &&
	       x->bytes == y->bytes && x->start_at == y->start_at;
}

uint64_t traffic_key_of(const struct traffic *traffic, const struct traffic_flow *flow, uint64_t k)
{
	struct host *const *hosts = traffic->fabric->table.hosts;
	const uint64_t words[] = {hosts[flow->src]->node.id,
				  hosts[flow->dst]->node.id,
				  flow->priority,
				  flow->bytes,
				  flow->start_at,
				  k};

	return util_hash_words((struct util_key){0}, words, 6);
}

int traffic_compare_ends(const void *a, const void *b)
{
	const struct traffic_end *x = a, *y = b;
	int order = traffic_compare_u64(x->host, y->host);

	order = order ? order
		      : traffic_compare_u64(traffic_start_at(&x->start),
					    traffic_start_at(&y->start));
	order = order ? order : traffic_compare_u64(x->order, y->order);
	return order ? order : traffic_compare_u64(x->key, y->key);
}

struct traffic_end traffic_end_of(const struct traffic *traffic, struct traffic_flow *flow,
				  bool is_sink)
{
	const uint32_t host = is_sink ? flow->dst : flow->src;
	const uint64_t id = traffic->fabric->table.hosts[host]->node.id;
	const struct util_key seed = {.k0 = traffic->fabric->params.seed};
	const uint64_t numbers[] = {id, flow->pair ? flow->pair->key : flow->key, is_sink};
	const uint64_t order[] = {id, flow->key, is_sink, flow->start_at};

	return (struct traffic_end){
		.key = flow->key ^ (is_sink ? UINT64_MAX : 0),
		.order = util_hash_words(seed, order, 4),
		.host = host,
		.qpn = (uint32_t)util_hash_words(seed, numbers, 3) & (TRAFFIC_QPNS - 1),
		.start = {.flow = flow, .is_sink = is_sink},
	};
}

uint64_t traffic_retransmitted(const struct traffic_flow *flow)
{
	return flow->source.qp ? hca_qp_packets_retransmitted(flow->source.qp)
			       : flow->packets_retransmitted;
}
