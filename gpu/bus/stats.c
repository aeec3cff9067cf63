/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* What lanes and tags have done up to an instant. */

static ps_t since(ps_t from, ps_t at)
{
	return at > from ? at - from : 0;
}

/* ---- lanes ---- */

static ps_t busy_at(const struct bus_way *way, ps_t at)
{
	return way->stats.busy - since(at > way->started_at ? at : way->started_at, way->free_at);
}

static struct bus_way_stats stats_at(const struct bus_way *way, ps_t at)
{
	struct bus_way_stats stats = way->stats;

	stats.busy = busy_at(way, at);
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		if (way->shares[kind].starved_from != PS_NEVER)
			stats.starved[kind] += since(way->shares[kind].starved_from, at);
	return stats;
}

static void add_stats(struct bus_way_stats *sum, const struct bus_way_stats *of)
{
	sum->bursts += of->bursts;
	sum->bytes += of->bytes;
	sum->wire_bytes += of->wire_bytes;
	sum->replays += of->replays;
	sum->replayed_bytes += of->replayed_bytes;
	sum->busy += of->busy;
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		sum->starved[kind] += of->starved[kind];
}

/* Not of NVLink. */
static const struct bus_way *way_between(const struct bus *bus, uint32_t from, uint32_t to)
{
	const struct bus_way *way = bus_route(bus, from, to);

	CHECK(way && way->to == to);
	return way;
}

static const struct bus_bundle *bundle_between(const struct bus *bus, uint32_t from, uint32_t to)
{
	const struct bus_part *part = &bus->parts[from];
	uint32_t i = 0;

	while (i < part->bundle_count && part->bundles[i].first->to != to)
		i++;
	CHECK(i < part->bundle_count);
	return &part->bundles[i];
}

struct bus_way_stats bus_way_stats(const struct bus *bus, uint32_t from, uint32_t to)
{
	return way_between(bus, from, to)->stats;
}

struct bus_way_stats bus_way_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at)
{
	return stats_at(way_between(bus, from, to), at);
}

struct bus_way_stats bus_nvlink_stats(const struct bus *bus, uint32_t from, uint32_t to)
{
	const struct bus_bundle *bundle = bundle_between(bus, from, to);
	struct bus_way_stats sum = {0};

	for (uint32_t i = 0; i < bundle->count; i++)
		add_stats(&sum, &bundle->first[2 * i].stats);
	return sum;
}

struct bus_way_stats bus_nvlink_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at)
{
	const struct bus_bundle *bundle = bundle_between(bus, from, to);
	struct bus_way_stats sum = {0};

	for (uint32_t i = 0; i < bundle->count; i++) {
		const struct bus_way_stats stats = stats_at(bundle->first + 2 * i, at);

		add_stats(&sum, &stats);
	}
	return sum;
}

ps_t bus_busy_at(const struct bus *bus, uint32_t from, uint32_t to, bool is_nvlink, ps_t at)
{
	const struct bus_bundle *bundle;
	ps_t sum = 0;

	if (!is_nvlink)
		return busy_at(way_between(bus, from, to), at);
	bundle = bundle_between(bus, from, to);
	for (uint32_t i = 0; i < bundle->count; i++)
		sum += busy_at(bundle->first + 2 * i, at);
	return sum;
}

ps_t bus_busy_until(const struct bus *bus)
{
	ps_t last = 0;

	for (uint32_t i = 0; i < bus->way_count; i++)
		if (bus->ways[i].free_at > last)
			last = bus->ways[i].free_at;
	return last;
}

/* ---- tags ---- */

static ps_t held_since(const struct bus_part *part, ps_t at)
{
	return (part->params.tags - part->tags) * since(part->tags_at, at);
}

void bus_count_tags(struct bus_part *part, ps_t now)
{
	part->tag_stats.held += held_since(part, now);
	part->tags_at = now;
}

struct bus_tag_stats bus_tag_stats(const struct bus *bus, uint32_t part, ps_t at)
{
	const struct bus_part *of = &bus->parts[part];
	struct bus_tag_stats stats = of->tag_stats;

	stats.held += held_since(of, at);
	if (of->tagless.first)
		stats.dry += since(of->dry_from, at);
	return stats;
}

ps_t bus_tag_wait(const struct bus *bus, uint32_t part)
{
	return bus->parts[part].tag_wait;
}
