/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/block.h"

#include "models/input/file.h"
#include "models/trace/cdf_file.h"
#include "models/traffic/arrivals.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

/* A load of more flows than that is a stream unless it may not be. */
enum { LISTED_MAX = 100000 };

/* The sizes of a load: of @cdf by name or file, or all alike. */
struct sizes {
	struct cdf cdf;
	struct cdf_point alike[2];
	struct cdf_point *read; /* of a file, for util_free() */
};

static int read_cdf_file(struct scenario_block *b, const struct yaml_node *node,
			 struct sizes *sizes)
{
	char *path = read_file_beside(b->r->path, node->text), *bytes = NULL;
	const struct bad_at at = {.file = path, .line = 1, .namer = &node->at};
	size_t length;
	int ret;

	if (!path)
		return -ENOMEM;
	ret = read_file(b->r->source, path, &node->at, scenario_path(KEY_TRAFFIC_CDF), &bytes,
			&length, b->r->errors);
	if (!ret && !yaml_text_is_good(bytes, length, &at, b->r->errors))
		ret = -EINVAL;
	ret = ret ? ret : read_cdf(bytes, length, &at, &sizes->cdf, b->r->errors);
	if (!ret)
		sizes->read = (struct cdf_point *)(uintptr_t)sizes->cdf.points;
	util_free(bytes);
	util_free(path);
	return ret;
}

/* False: reported. */
static bool read_sizes(struct scenario_block *b, struct sizes *sizes)
{
	const struct yaml_node *node = scenario_node(b->map, KEY_TRAFFIC_CDF);
	const struct yaml_node *size = scenario_node(b->map, KEY_TRAFFIC_SIZE);
	int ret;

	if (node && size) {
		scenario_block_refuse(b, size, KEY_TRAFFIC_SIZE, "a size", "none beside cdf");
		return false;
	}
	if (node) {
		if (!node->meaning)
			return false;
		if (cdf_named(node->text, &sizes->cdf))
			return true;
		ret = read_cdf_file(b, node, sizes);
		b->r->no_memory |= ret == -ENOMEM;
		return !ret;
	}
	if (!size)
		scenario_block_refuse(b, NULL, KEY_TRAFFIC_CDF, "nothing", "cdf or size");
	sizes->alike[0] = (struct cdf_point){b->size, 0};
	sizes->alike[1] = (struct cdf_point){b->size, CDF_WHOLE};
	sizes->cdf = (struct cdf){sizes->alike, 2};
	return b->size > 0;
}

/* False: reported. */
static bool read_times(struct scenario_block *b, struct arrivals *arrivals)
{
	const struct yaml_node *node = scenario_node(b->map, KEY_TRAFFIC_UNTIL);

	arrivals->start_at = b->flow.start_at;
	arrivals->until = node ? b->until : b->r->scenario->until;
	if (node && !node->meaning)
		return false;
	if (arrivals->until == PS_NEVER) {
		scenario_block_refuse(b, NULL, KEY_TRAFFIC_UNTIL, "nothing",
				      "a time, or one of the scenario");
		return false;
	}
	if (arrivals->until > arrivals->start_at)
		return true;
	scenario_block_refuse(b, node, KEY_TRAFFIC_UNTIL, "a time that start leaves no room for",
			      "a time after start");
	return false;
}

static void hash_sizes(struct scenario_block *b, const struct cdf *cdf)
{
	for (uint32_t i = 0; i < cdf->count; i++) {
		const uint64_t words[] = {i, cdf->points[i].bytes, cdf->points[i].share};

		scenario_hash_words(b->r, &b->hash, scenario_path(KEY_TRAFFIC_CDF), words, 3);
	}
}

/* Of each host, by position, the rate of its link; NULL: no memory. */
static uint64_t *scenario_load_rates_of(struct scenario_reader *r)
{
	const struct topology *topology = &r->scenario->topology;
	uint64_t *rates = scenario_alloc(r, r->host_count, sizeof(*rates));

	for (uint32_t i = 0; rates && i < 2 * topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i / 2];
		const struct topology_node *node = &topology->nodes[i % 2 ? link->b : link->a];

		if (!node->is_switch)
			rates[scenario_host_find(r, node->name)] = link->rate_bps;
	}
	return rates;
}

/* How many flows there will be, more or less. */
static uint64_t expected_count(const struct arrivals *arrivals, const struct scenario_hosts *hosts,
			       const uint64_t *rates)
{
	uint64_t count = 0;

	for (uint32_t i = 0; i < hosts->count; i++)
		count += (arrivals->until - arrivals->start_at) /
			 arrivals_gap(arrivals, rates[hosts->hosts[i]]);
	return count;
}

/* All flows of the @i-th of @hosts. */
static void add_flows(struct scenario_block *b, const struct arrivals *arrivals,
		      const struct scenario_hosts *hosts, uint32_t i, uint64_t rate_bps)
{
	struct arrivals_host host = {
		.id = util_hash_name(b->r->hosts[hosts->hosts[i]]),
		.gap = arrivals_gap(arrivals, rate_bps),
		.at = arrivals->start_at,
	};
	struct arrivals_flow next;

	while (!b->r->no_memory && arrivals_next(arrivals, &host, hosts->count - 1, &next)) {
		struct traffic_flow flow = b->flow;

		flow.src = hosts->hosts[i];
		flow.dst = hosts->hosts[next.to < i ? next.to : next.to + 1];
		flow.bytes = next.bytes;
		flow.start_at = next.start_at;
		scenario_block_add(b, flow);
	}
}

/* With hosts and sizes of its own. */
static void add_stream(struct scenario_block *b, const struct arrivals *arrivals,
		       struct scenario_hosts *hosts)
{
	struct scenario *s = b->r->scenario;
	const struct cdf *sizes = &arrivals->sizes;
	struct cdf_point *points = scenario_alloc(b->r, sizes->count, sizeof(*points));
	struct traffic_stream *streams =
		scenario_grow(b->r, s->streams, s->stream_count, sizeof(*streams));

	if (streams)
		s->streams = streams;
	if (!points || !streams) {
		util_free(points);
		return;
	}
	memcpy(points, sizes->points, sizes->count * sizeof(*points));
	streams[s->stream_count] = (struct traffic_stream){
		.arrivals = *arrivals,
		.hosts = hosts->hosts,
		.host_count = hosts->count,
		.class_index = b->class_index,
		.priority = b->flow.priority,
	};
	streams[s->stream_count++].arrivals.sizes.points = points;
	hosts->hosts = NULL;
}

void scenario_read_load(struct scenario_block *b)
{
	struct arrivals arrivals = {
		.seed = b->r->scenario->seed,
		.class_id = util_hash_name(b->class_name),
		.load_num = b->load_num,
		.load_den = b->load_den,
	};
	struct scenario_hosts hosts = {NULL, 0};
	struct sizes sizes = {.read = NULL};
	uint64_t *rates = NULL;
	struct bad_text found;
	uint64_t expected;

	scenario_block_only_of(b, FORM_LOAD, "only keys of a load");
	if (!scenario_has(b->map, KEY_TRAFFIC_LOAD))
		scenario_block_refuse(b, NULL, KEY_TRAFFIC_LOAD, "nothing", "a share such as 30%");
	if (b->load_num == 0 || !read_sizes(b, &sizes) || !read_times(b, &arrivals) ||
	    b->r->host_count == 0)
		goto out;
	arrivals.sizes = sizes.cdf;
	hosts = scenario_block_hosts(b, KEY_TRAFFIC_HOSTS);
	rates = scenario_load_rates_of(b->r);
	if (!rates || hosts.count < 2) {
		if (rates && hosts.count == 1)
			scenario_block_refuse(
				b, scenario_node(b->map, KEY_TRAFFIC_HOSTS), KEY_TRAFFIC_HOSTS,
				bad_text(&found, "%u host", hosts.count), "at least two");
		goto out;
	}
	scenario_sort_hosts(&hosts);
	scenario_block_hash_hosts(b, KEY_TRAFFIC_HOSTS, &hosts, b->r->host_count);
	hash_sizes(b, &sizes.cdf);
	expected = expected_count(&arrivals, &hosts, rates);
	if (b->stream == STREAM_ALWAYS || (b->stream == STREAM_AUTO && expected > LISTED_MAX))
		add_stream(b, &arrivals, &hosts);
	else if (scenario_block_fits(b, expected))
		for (uint32_t i = 0; i < hosts.count; i++)
			add_flows(b, &arrivals, &hosts, i, rates[hosts.hosts[i]]);
out:
	util_free(rates);
	util_free(hosts.hosts);
	util_free(sizes.read);
}
