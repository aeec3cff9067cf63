/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* What lanes and tags have done up to an instant. */

static ps_t since(ps_t from, ps_t at)
{
	return at > from ? at - from : 0;
}

struct bus_way_stats bus_way_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at)
{
	const struct bus_way *way = bus_route(bus, from, to);
	struct bus_way_stats stats;

	CHECK(way && way->to == to);
	stats = way->stats;
	stats.busy -= since(at > way->started_at ? at : way->started_at, way->free_at);
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		if (way->pools[kind].starved_from != PS_NEVER)
			stats.starved[kind] += since(way->pools[kind].starved_from, at);
	return stats;
}

ps_t bus_busy_until(const struct bus *bus)
{
	ps_t last = 0;

	for (uint32_t i = 0; i < 2 * bus->lane_count; i++)
		if (bus->ways[i].free_at > last)
			last = bus->ways[i].free_at;
	return last;
}

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
