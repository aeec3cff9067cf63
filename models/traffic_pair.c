/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic_internal.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

static bool same_pair(const struct traffic_flow *x, const struct traffic_flow *y)
{
	return x->src == y->src && x->dst == y->dst && x->priority == y->priority;
}

static uint64_t key_of(const struct traffic *traffic, const struct traffic_flow *flow)
{
	struct host *const *hosts = traffic->fabric->table.hosts;
	const uint64_t words[] = {hosts[flow->src]->node.id, hosts[flow->dst]->node.id, flow->priority};

	return util_hash_words((struct util_key){.k1 = 1}, words, 3);
}

/* Those of one pair stand together in the order of identity. */
int traffic_pairs_make(struct traffic *traffic)
{
	struct traffic_pair *pair;

	traffic->pairs = util_calloc(traffic->flow_count + 1, sizeof(*traffic->pairs));
	if (!traffic->pairs)
		return -ENOMEM;
	pair = traffic->pairs;
	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		struct traffic_flow *flow = &traffic->flows[i];
		const struct host *host = traffic->fabric->table.hosts[flow->src];
		const uint64_t depth_max = host->params.profile.wr_max;
		uint64_t depth;

		if (i > 0 && !same_pair(flow, flow - 1))
			pair++;
		if (!pair->first) {
			pair->key = key_of(traffic, flow);
			pair->waiting_tail = &pair->waiting;
		}
		if (!pair->first || flow->start_at < pair->first->start_at)
			pair->first = flow;
		depth = (uint64_t)pair->writes_max + traffic_writes_of(flow);
		pair->writes_max = (uint32_t)(depth < depth_max ? depth : depth_max);
		flow->pair = pair;
	}
	return 0;
}

void traffic_pairs_share_numbers(struct traffic *traffic)
{
	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		struct traffic_flow *flow = &traffic->flows[i];

		flow->source_qpn = flow->pair->first->source_qpn;
		flow->sink_qpn = flow->pair->first->sink_qpn;
	}
}
