/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/machine_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int machine_watch_init(struct machine_watch *watch, const struct machine_seen *machine)
{
	*watch = (struct machine_watch){.machine = machine};
	for (int end = 0; machine && end < 2; end++) {
		const size_t ways = machine_ways(machine->is), parts = machine->is->part_count;

		watch->ways[end] = calloc(ways + 1, sizeof(*watch->ways[end]));
		watch->tags[end] = calloc(parts + 1, sizeof(*watch->tags[end]));
		if (!watch->ways[end] || !watch->tags[end])
			return -ENOMEM;
	}
	return 0;
}

void machine_watch_fini(struct machine_watch *watch)
{
	for (int end = 0; end < 2; end++) {
		free(watch->ways[end]);
		free(watch->tags[end]);
	}
	*watch = (struct machine_watch){.machine = NULL};
}

static void look_inside(struct machine_watch *watch, int end, ps_t at)
{
	const struct machine_seen *machine = watch->machine;

	for (uint32_t way = 0; way < machine_ways(machine->is); way++)
		watch->ways[end][way] = machine_way_stats(machine, way, at);
	for (uint32_t part = 0; part < machine->is->part_count; part++)
		watch->tags[end][part] = bus_tag_stats(machine->bus, part, at);
}

void machine_watch_begin(struct machine_watch *watch, ps_t at)
{
	if (!watch->machine)
		return;
	look_inside(watch, 0, at);
	watch->from = at;
	machine_watch_end(watch, at);
}

void machine_watch_end(struct machine_watch *watch, ps_t at)
{
	if (!watch->machine)
		return;
	look_inside(watch, 1, at);
	watch->until = at;
}

void machine_watch_renew(struct machine_watch *watch)
{
	if (!watch->machine)
		return;
	memcpy(watch->ways[0], watch->ways[1],
	       machine_ways(watch->machine->is) * sizeof(*watch->ways[0]));
	memcpy(watch->tags[0], watch->tags[1],
	       watch->machine->is->part_count * sizeof(*watch->tags[0]));
	watch->from = watch->until;
}

struct bus_way_stats machine_watch_way(const struct machine_watch *watch, uint32_t way)
{
	const struct bus_way_stats *a = &watch->ways[0][way], *b = &watch->ways[1][way];
	struct bus_way_stats stats = {.bursts = b->bursts - a->bursts,
				      .bytes = b->bytes - a->bytes,
				      .wire_bytes = b->wire_bytes - a->wire_bytes,
				      .busy = b->busy - a->busy,
				      .replays = b->replays - a->replays,
				      .replayed_bytes = b->replayed_bytes - a->replayed_bytes};

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		stats.starved[kind] = b->starved[kind] - a->starved[kind];
	return stats;
}

struct bus_tag_stats machine_watch_tags(const struct machine_watch *watch, uint32_t part)
{
	const struct bus_tag_stats *a = &watch->tags[0][part], *b = &watch->tags[1][part];

	return (struct bus_tag_stats){
		.taken = b->taken - a->taken, .held = b->held - a->held, .dry = b->dry - a->dry};
}
