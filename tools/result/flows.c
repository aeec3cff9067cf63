/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/flow_log.h"
#include "tools/result/failures.h"
#include "tools/result/internal.h"
#include "transport/hca/wr.h"

#include <errno.h>
#include <stdlib.h>

enum { MICRO = 1000000 };

static const char *status_name(const struct traffic_flow *flow)
{
	if (flow->status == TRAFFIC_PENDING)
		return traffic_is_lost(flow) ? "lost" : "unfinished";
	return failures_name((enum hca_wc_status)flow->wc_status);
}

/* In millionths, rounded to the nearest; exactly 1 is exactly 1. */
static uint64_t slowdown_micro(ps_t fct, ps_t ideal)
{
	return (uint64_t)(((u128)fct * MICRO + ideal / 2) / ideal);
}

struct result_flow result_row(const struct result *result, const struct traffic_flow *flow,
			      uint64_t id, ps_t ideal)
{
	const struct scenario *scenario = result->scenario;
	struct host *const *hosts = result->fabric->table.hosts;
	struct result_flow row = {
		.id = id,
		.class_name = scenario->classes[flow->class_index],
		.src = hosts[flow->src]->node.name,
		.dst = hosts[flow->dst]->node.name,
		.priority = flow->priority,
		.ok = flow->status == TRAFFIC_OK,
		.bytes = flow->bytes,
		.start_at = flow->start_at,
		.end_at = PS_NEVER,
		.fct = PS_NEVER,
		.ideal = ideal,
		.status = status_name(flow),
		.packets_retransmitted = traffic_retransmitted(flow),
	};

	if (flow->status == TRAFFIC_PENDING)
		return row;
	row.end_at = flow->end_at;
	row.fct = flow->end_at - flow->start_at;
	if (row.ok && row.ideal != PS_NEVER && row.ideal > 0)
		row.slowdown = (double)slowdown_micro(row.fct, row.ideal) / MICRO;
	return row;
}

static struct result_flow row_of(const struct result *result, const struct traffic *traffic,
				 uint64_t id)
{
	const struct traffic_flow *flow = &result->scenario->flows[id];

	return result_row(result, flow, id, traffic_ideal(traffic, flow));
}

static int result_flows_compare_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest value that at least @per_mille of all are not above. */
static uint64_t result_flows_rank_of(const uint64_t *sorted, uint64_t count, uint64_t per_mille)
{
	const uint64_t rank = (count * per_mille + 999) / 1000;

	return sorted[rank ? rank - 1 : 0];
}

struct samples {		    /* of one class */
	uint64_t *fcts, *slowdowns; /* @slowdowns in millionths; as many as have an ideal */
	uint64_t count, slowdown_count, bytes;
	ps_t first_start, last_end;
};

static void result_flows_take(struct samples *samples, const struct result_flow *flow)
{
	if (flow->start_at < samples->first_start)
		samples->first_start = flow->start_at;
	if (!flow->ok)
		return;
	if (flow->end_at > samples->last_end)
		samples->last_end = flow->end_at;
	samples->bytes += flow->bytes;
	samples->fcts[samples->count++] = flow->fct;
	if (flow->ideal != PS_NEVER && flow->ideal > 0)
		samples->slowdowns[samples->slowdown_count++] =
			slowdown_micro(flow->fct, flow->ideal);
}

static uint64_t result_flows_mean_of(const uint64_t *values, uint64_t count)
{
	u128 sum = 0;

	for (uint64_t i = 0; i < count; i++)
		sum += values[i];
	return (uint64_t)(sum / count);
}

void result_times(uint64_t *values, uint64_t count, struct result_times *ret)
{
	if (count == 0)
		return;
	qsort(values, count, sizeof(uint64_t), result_flows_compare_u64);
	*ret = (struct result_times){
		.mean = result_flows_mean_of(values, count),
		.p50 = result_flows_rank_of(values, count, 500),
		.p99 = result_flows_rank_of(values, count, 990),
		.p999 = result_flows_rank_of(values, count, 999),
	};
}

static void summarise(struct samples *samples, struct result_class *ret)
{
	ret->count = samples->count;
	if (samples->count == 0)
		return;
	result_times(samples->fcts, samples->count, &ret->times);
	ret->goodput_bps = (uint64_t)((u128)samples->bytes * 8 * PS_S /
				      (samples->last_end - samples->first_start));
	ret->flow_bps = result_flow_bps(samples->bytes, ret);
	ret->slowdown_count = samples->slowdown_count;
	if (samples->slowdown_count == 0)
		return;
	qsort(samples->slowdowns, samples->slowdown_count, sizeof(uint64_t),
	      result_flows_compare_u64);
	ret->slowdown_mean =
		(double)result_flows_mean_of(samples->slowdowns, samples->slowdown_count) / MICRO;
	ret->slowdown_p99 =
		(double)result_flows_rank_of(samples->slowdowns, samples->slowdown_count, 990) /
		MICRO;
}

static int collect_class(struct result *result, uint32_t number)
{
	struct result_class *class = &result->classes[number];
	struct samples samples = {.first_start = PS_NEVER};

	class->name = result->scenario->classes[number];
	if (flow_log_class(result->log, number, class))
		return 0;
	for (uint64_t i = 0; i < result->flow_count; i++)
		class->posted += result->scenario->flows[i].class_index == number;
	samples.fcts = calloc(class->posted + 1, sizeof(uint64_t));
	samples.slowdowns = calloc(class->posted + 1, sizeof(uint64_t));
	if (!samples.fcts || !samples.slowdowns) {
		free(samples.fcts);
		free(samples.slowdowns);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < result->flow_count; i++)
		if (result->scenario->flows[i].class_index == number)
			result_flows_take(&samples, &result->flows[i]);
	summarise(&samples, class);
	free(samples.fcts);
	free(samples.slowdowns);
	return 0;
}

int result_collect_flows(struct result *result, const struct traffic *traffic)
{
	const struct scenario *scenario = result->scenario;
	int ret = 0;

	result->flows = calloc(scenario->flow_count + 1, sizeof(*result->flows));
	result->classes = calloc((size_t)scenario->class_count + 1, sizeof(*result->classes));
	if (!result->flows || !result->classes)
		return -ENOMEM;
	if (traffic)
		result->flow_sums = traffic_sums(traffic);
	for (; traffic && result->flow_count < scenario->flow_count; result->flow_count++)
		result->flows[result->flow_count] = row_of(result, traffic, result->flow_count);
	for (; result->class_count < scenario->class_count && !ret; result->class_count++)
		ret = collect_class(result, result->class_count);
	return ret;
}
