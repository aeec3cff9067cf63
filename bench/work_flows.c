/* SPDX-License-Identifier: BSD-2-Clause */
#include "bench/work.h"
#include "models/traffic/arrivals.h"
#include "models/traffic/traffic.h"
#include "util/siphash.h"

#include <stdlib.h>

struct flows {
	struct traffic *traffic;
	struct traffic_flow *flows;
	struct traffic_stream stream;
	struct cdf_point size[2];
};

/* Everybody sends to somebody else, by Sattolo's shuffle. */
static uint64_t permutation(struct traffic_flow *flows, uint32_t hosts, uint64_t bytes)
{
	uint32_t *to = calloc(hosts, sizeof(*to));

	if (!to)
		return 0;
	for (uint32_t i = 0; i < hosts; i++)
		to[i] = i;
	for (uint32_t i = hosts - 1; i > 0; i--) {
		const uint64_t word = i;
		const uint32_t j =
			(uint32_t)(util_hash_words((struct util_key){1, 0}, &word, 1) % i);
		const uint32_t swap = to[i];

		to[i] = to[j];
		to[j] = swap;
	}
	for (uint32_t i = 0; i < hosts; i++)
		flows[i] = (struct traffic_flow){.src = i, .dst = to[i], .bytes = bytes};
	free(to);
	return hosts;
}

static uint64_t incast(struct traffic_flow *flows, uint32_t hosts, uint32_t fan_in, uint64_t bytes)
{
	for (uint32_t i = 0; i < fan_in; i++)
		flows[i] = (struct traffic_flow){
			.src = 1 + (uint32_t)((uint64_t)i * (hosts - 1) / fan_in), .bytes = bytes};
	return fan_in;
}

/* From the first host alone, or from all in turn. */
static struct flows *start_fans(struct fabric *fabric, uint32_t sources, uint32_t count,
				uint64_t bytes)
{
	const uint32_t hosts = fabric->host_count;
	struct flows *flows = calloc(1, sizeof(*flows));

	if (!flows)
		return NULL;
	flows->flows = calloc(count, sizeof(*flows->flows));
	for (uint32_t i = 0; flows->flows && i < count; i++) {
		const uint32_t src = i % sources, away = 1 + i / sources % (hosts - 1);

		flows->flows[i] = (struct traffic_flow){
			.src = src, .dst = (src + away) % hosts, .bytes = bytes};
	}
	if (flows->flows && traffic_create(fabric, flows->flows, count, &flows->traffic) == 0)
		return flows;
	free(flows->flows);
	free(flows);
	return NULL;
}

struct flows *flows_start_fan(struct fabric *fabric, uint32_t count, uint64_t bytes)
{
	return start_fans(fabric, 1, count, bytes);
}

struct flows *flows_start_all(struct fabric *fabric, uint32_t count, uint64_t bytes)
{
	return start_fans(fabric, fabric->host_count, count, bytes);
}

/* Those of the @i-th host from flows->flows[at] on; how many there are then. 0: no memory. */
static uint64_t add_load(struct flows *flows, const struct fabric *fabric,
			 const struct arrivals *arrivals, uint32_t i, uint64_t at)
{
	const struct host *from = fabric->table.hosts[i];
	struct arrivals_host host = {
		.id = from->node.id,
		.gap = arrivals_gap(arrivals, from->params.profile.line_rate_bps),
	};
	struct arrivals_flow next;

	while (arrivals_next(arrivals, &host, fabric->host_count - 1, &next)) {
		if ((at & (at - 1)) == 0) {
			void *more =
				realloc(flows->flows, (at ? 2 * at : 1) * sizeof(*flows->flows));

			if (!more)
				return 0;
			flows->flows = more;
		}
		flows->flows[at++] = (struct traffic_flow){.src = i,
							   .dst = next.to + (next.to >= i),
							   .bytes = next.bytes,
							   .start_at = next.start_at};
	}
	return at;
}

struct flows *flows_start_load(struct fabric *fabric, ps_t until)
{
	struct arrivals arrivals = {.seed = 1, .until = until, .load_num = 1, .load_den = 2};
	struct flows *flows = calloc(1, sizeof(*flows));
	uint64_t count = 0;

	if (!flows || !cdf_named("websearch", &arrivals.sizes))
		return flows;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		count = add_load(flows, fabric, &arrivals, i, count);
	if (count > 0 && traffic_create(fabric, flows->flows, count, &flows->traffic) == 0)
		return flows;
	free(flows->flows);
	free(flows);
	return NULL;
}

struct flows *flows_start(struct fabric *fabric, uint32_t fan_in, uint64_t bytes)
{
	const uint32_t hosts = fabric->host_count;
	struct flows *flows = calloc(1, sizeof(*flows));
	uint64_t count;

	if (!flows)
		return NULL;
	flows->flows = calloc(hosts, sizeof(*flows->flows));
	if (!flows->flows)
		goto err;
	count = fan_in ? incast(flows->flows, hosts, fan_in, bytes)
		       : permutation(flows->flows, hosts, bytes);
	if (count == 0 || traffic_create(fabric, flows->flows, count, &flows->traffic) != 0)
		goto err;
	return flows;
err:
	free(flows->flows);
	free(flows);
	return NULL;
}

struct flows *flows_start_stream(struct fabric *fabric, uint64_t count, uint64_t bytes)
{
	const uint32_t hosts = fabric->host_count;
	struct flows *flows = calloc(1, sizeof(*flows));
	struct arrivals *arrivals = flows ? &flows->stream.arrivals : NULL;

	if (!flows)
		return NULL;
	flows->stream.hosts = calloc(hosts, sizeof(uint32_t));
	if (!flows->stream.hosts || traffic_create(fabric, NULL, 0, &flows->traffic) != 0)
		goto err;
	for (uint32_t i = 0; i < hosts; i++)
		flows->stream.hosts[i] = i;
	flows->stream.host_count = hosts;
	flows->size[0] = (struct cdf_point){bytes, 0};
	flows->size[1] = (struct cdf_point){bytes, CDF_WHOLE};
	*arrivals = (struct arrivals){
		.seed = 1, .sizes = {flows->size, 2}, .load_num = 3, .load_den = 10};
	arrivals->until = arrivals_gap(arrivals, 100000000000u) * (count / hosts);
	if (traffic_stream_start(flows->traffic, &flows->stream, 1, NULL) == 0)
		return flows;
err:
	traffic_destroy(flows->traffic);
	free(flows->stream.hosts);
	free(flows);
	return NULL;
}

struct load flows_end(struct flows *flows)
{
	const int ended = traffic_stream_end(flows->traffic);
	const struct traffic_sums sums = traffic_sums(flows->traffic);

	traffic_destroy(flows->traffic);
	free(flows->flows);
	free(flows->stream.hosts);
	free(flows);
	return (struct load){sums.posted, ended ? 0 : sums.completed, sums.mismatch_bytes};
}
