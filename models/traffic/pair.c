/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/internal.h"
#include "transport/wire/psn.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

static bool same_pair(const struct traffic_flow *x, const struct traffic_flow *y)
{
	return x->src == y->src && x->dst == y->dst && x->priority == y->priority;
}

static uint64_t traffic_pair_key_of(const struct traffic *traffic, const struct traffic_flow *flow)
{
	struct host *const *hosts = traffic->fabric->table.hosts;
	const uint64_t words[] = {hosts[flow->src]->node.id, hosts[flow->dst]->node.id,
				  flow->priority};

	return util_hash_words((struct util_key){.k1 = 1}, words, 3);
}

static void traffic_pair_begin(const struct traffic *traffic, struct traffic_pair *pair,
			       const struct traffic_flow *flow)
{
	pair->key = traffic_pair_key_of(traffic, flow);
	pair->end_psn = traffic_psn_of(pair->key);
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

		if (i > 0 && !same_pair(flow, flow - 1))
			pair++;
		if (!pair->first)
			traffic_pair_begin(traffic, pair, flow);
		if (!pair->first || flow->start_at < pair->opens_at) {
			pair->first = flow;
			pair->opens_at = flow->start_at;
		}
		flow->pair = pair;
	}
	return 0;
}

void traffic_pairs_share_numbers(struct traffic *traffic)
{
	for (uint64_t i = 0; i < traffic->flow_count; i++) {
		struct traffic_flow *flow = &traffic->flows[i];

		flow->pair->source_qpn = flow->source_qpn = flow->pair->first->source_qpn;
		flow->pair->sink_qpn = flow->sink_qpn = flow->pair->first->sink_qpn;
	}
}

/* Of a pair among those of its source. */
static uint32_t id_of(const struct traffic_flow *flow)
{
	return flow->dst * SIM_PRIORITIES_MAX + flow->priority;
}

static int traffic_pair_enter(struct util_idmap *map, uint32_t id, void *object)
{
	if (util_idmap_find(map, id))
		return 0;
	if (util_idmap_reserve(map) != 0)
		return -ENOMEM;
	util_idmap_add(map, id, object);
	return 0;
}

/* A listed flow, or the pair that it opens. */
static int enter_flow(struct traffic *traffic, struct traffic_flow *flow)
{
	struct traffic_host *from = &traffic->hosts[flow->src], *to = &traffic->hosts[flow->dst];
	struct traffic_pair *pair = flow->pair;
	int ret;

	if (!pair) {
		ret = traffic_pair_enter(&from->numbers, flow->source_qpn, flow);
		return ret ? ret : traffic_pair_enter(&to->numbers, flow->sink_qpn, flow);
	}
	ret = traffic_pair_enter(&from->pairs, id_of(flow), pair);
	ret = ret ? ret : traffic_pair_enter(&from->pair_numbers, flow->source_qpn, pair);
	return ret ? ret : traffic_pair_enter(&to->pair_numbers, flow->sink_qpn, pair);
}

int traffic_pairs_enter(struct traffic *traffic)
{
	int ret = 0;

	for (uint64_t i = 0; i < traffic->flow_count && !ret; i++)
		ret = enter_flow(traffic, &traffic->flows[i]);
	return ret;
}

int traffic_pair_find(struct traffic *traffic, struct traffic_flow *flow)
{
	struct util_idmap *pairs = &traffic->hosts[flow->src].pairs;
	struct traffic_pair *pair = util_idmap_find(pairs, id_of(flow));

	if (!pair) {
		pair = util_calloc(1, sizeof(*pair));
		if (!pair)
			return -ENOMEM;
		traffic_pair_begin(traffic, pair, flow);
		pair->opens_at = PS_NEVER;
		pair->next = traffic->streamed_pairs;
		traffic->streamed_pairs = pair;
		if (traffic_pair_enter(pairs, id_of(flow), pair) != 0)
			return -ENOMEM;
	}
	flow->pair = pair;
	return 0;
}

static void forget_first(struct traffic_pair *pair)
{
	pair->kept->packets = 0;
	pair->kept = pair->kept->next_of_pair;
}

void traffic_pair_forget_ended(struct traffic_pair *pair, ps_t at)
{
	while (pair->kept != pair->open && pair->kept->end_at < at)
		forget_first(pair);
}

void traffic_pair_forget(struct traffic_pair *pair, const struct traffic_flow *flow)
{
	while (flow->packets > 0)
		forget_first(pair);
}

/* From @flow on, before @until, the one that @psn is of; NULL: none. */
static const struct traffic_flow *
traffic_pair_search(const struct traffic_flow *flow, const struct traffic_flow *until, uint32_t psn)
{
	while (flow != until && ((psn - flow->first_psn) & WIRE_U24_MAX) >= flow->packets)
		flow = flow->next_of_pair;
	return flow != until ? flow : NULL;
}

const struct traffic_flow *traffic_pair_at(const struct traffic_pair *pair, uint32_t psn)
{
	const struct traffic_flow *flow = traffic_pair_search(pair->open, pair->waiting, psn);

	flow = flow ? flow : traffic_pair_search(pair->kept, pair->open, psn);
	if (flow)
		return flow;
	return pair->open ? pair->open : pair->kept;
}

const struct traffic_flow *traffic_at_work(const struct traffic_flow *flow, uint32_t psn)
{
	const struct traffic_flow *other = flow->pair ? traffic_pair_at(flow->pair, psn) : NULL;

	return other ? other : flow;
}

void traffic_pairs_fini(struct traffic *traffic)
{
	for (struct traffic_pair *pair = traffic->streamed_pairs, *next; pair; pair = next) {
		next = pair->next;
		util_free(pair);
	}
	util_free(traffic->pairs);
}
