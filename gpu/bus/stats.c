/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* What lanes and tags have done up to an instant. */

static ps_t since(ps_t from, ps_t at)
{
	return at > from ? at - from : 0;
}

/* ---- lanes ---- */

/* Of the @count links of a direction of a lane from @first on, as every second way. */
static ps_t busy_at(const struct bus_way *first, uint32_t count, ps_t at)
{
	const struct bus_tally *tally = first->tally;
	ps_t busy = tally->stats.busy;

	for (uint32_t i = 0; tally->free_at > at && i < count; i++) {
		const struct bus_way *way = &first[2 * i];

		busy -= since(at > way->started_at ? at : way->started_at, way->free_at);
	}
	return busy;
}

static struct bus_way_stats stats_at(const struct bus_way *first, uint32_t count, ps_t at)
{
	const struct bus_tally *tally = first->tally;
	struct bus_way_stats stats = tally->stats;

	stats.busy = busy_at(first, count, at);
	for (uint32_t i = 0; tally->starving > 0 && i < count * BUS_CLASSES; i++) {
		const uint32_t kind = i % BUS_CLASSES;
		const ps_t from = first[2 * (i / BUS_CLASSES)].shares[kind].starved_from;

		if (from != PS_NEVER)
			stats.starved[kind] += since(from, at);
	}
	return stats;
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
	uint32_t i = bus->mesh.leads[from * bus->part_count + to];

	/* Most often nothing else leads there. */
	if (i >= part->bundle_count || part->bundles[i].first->to != to)
		i = 0;
	while (i < part->bundle_count && part->bundles[i].first->to != to)
		i++;
	CHECK(i < part->bundle_count);
	return &part->bundles[i];
}

struct bus_way_stats bus_way_stats(const struct bus *bus, uint32_t from, uint32_t to)
{
	return way_between(bus, from, to)->tally->stats;
}

struct bus_way_stats bus_way_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at)
{
	return stats_at(way_between(bus, from, to), 1, at);
}

struct bus_way_stats bus_nvlink_stats(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bundle_between(bus, from, to)->first->tally->stats;
}

struct bus_way_stats bus_nvlink_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at)
{
	const struct bus_bundle *bundle = bundle_between(bus, from, to);

	return stats_at(bundle->first, bundle->count, at);
}

ps_t bus_busy_at(const struct bus *bus, uint32_t from, uint32_t to, bool is_nvlink, ps_t at)
{
	const struct bus_bundle *bundle;

	if (!is_nvlink)
		return busy_at(way_between(bus, from, to), 1, at);
	bundle = bundle_between(bus, from, to);
	return busy_at(bundle->first, bundle->count, at);
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
