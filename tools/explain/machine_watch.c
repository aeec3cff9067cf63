/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/machine_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t gpu_count(const struct machine_watch *watch)
{
	return watch->machine->gpus ? watch->machine->gpus->count : 0;
}

int machine_watch_init(struct machine_watch *watch, const struct machine_seen *machine)
{
	*watch = (struct machine_watch){.machine = machine};
	for (int end = 0; machine && end < 2; end++) {
		const size_t ways = machine_ways(machine->is), parts = machine->is->part_count;
		const size_t gpus = gpu_count(watch);

		watch->ways[end] = calloc(ways + 1, sizeof(*watch->ways[end]));
		watch->tags[end] = calloc(parts + 1, sizeof(*watch->tags[end]));
		watch->gpus[end] = calloc(gpus + 1, sizeof(*watch->gpus[end]));
		watch->managed[end] = calloc(gpus + 1, sizeof(*watch->managed[end]));
		if (!watch->ways[end] || !watch->tags[end] || !watch->gpus[end] ||
		    !watch->managed[end])
			return -ENOMEM;
	}
	return 0;
}

void machine_watch_fini(struct machine_watch *watch)
{
	for (int end = 0; end < 2; end++) {
		free(watch->ways[end]);
		free(watch->tags[end]);
		free(watch->gpus[end]);
		free(watch->managed[end]);
	}
	*watch = (struct machine_watch){.machine = NULL};
}

static void look_at_gpus(struct machine_watch *watch, int end, ps_t at)
{
	const struct host_gpus *gpus = watch->machine->gpus;

	for (uint32_t i = 0; i < gpu_count(watch); i++) {
		struct machine_watch_gpu *seen = &watch->gpus[end][i];

		seen->counts = gpus->gpus[i].counts;
		for (uint32_t k = 0; k < GPU_ENGINES; k++)
			seen->engines[k] = gpu_engine_stats(&gpus->gpus[i], (enum gpu_engine)k, at);
	}
	for (uint32_t who = 0; gpus && gpus->managed && who <= gpus->count; who++)
		watch->managed[end][who] = gpus->managed->counts[who];
}

static void look_inside(struct machine_watch *watch, int end, ps_t at)
{
	const struct machine_seen *machine = watch->machine;

	for (uint32_t way = 0; way < machine_ways(machine->is); way++)
		watch->ways[end][way] = machine_way_stats(machine, way, at);
	for (uint32_t part = 0; part < machine->is->part_count; part++)
		watch->tags[end][part] = bus_tag_stats(machine->bus, part, at);
	look_at_gpus(watch, end, at);
}

static void copy_look(struct machine_watch *to, int to_end, const struct machine_watch *from,
		      int from_end)
{
	const struct machine_seen *machine = to->machine;
	const size_t gpus = gpu_count(to);

	memcpy(to->ways[to_end], from->ways[from_end],
	       machine_ways(machine->is) * sizeof(*to->ways[0]));
	memcpy(to->tags[to_end], from->tags[from_end],
	       machine->is->part_count * sizeof(*to->tags[0]));
	memcpy(to->gpus[to_end], from->gpus[from_end], gpus * sizeof(*to->gpus[0]));
	memcpy(to->managed[to_end], from->managed[from_end], (gpus + 1) * sizeof(*to->managed[0]));
}

void machine_watch_begin(struct machine_watch *watch, ps_t at)
{
	if (!watch->machine)
		return;
	look_inside(watch, 0, at);
	watch->from = watch->until = at;
	copy_look(watch, 1, watch, 0);
}

void machine_watch_end(struct machine_watch *watch, ps_t at)
{
	if (!watch->machine)
		return;
	look_inside(watch, 1, at);
	watch->until = at;
}

void machine_watch_end_as(struct machine_watch *watch, const struct machine_watch *other)
{
	if (!watch->machine || watch == other)
		return;
	copy_look(watch, 1, other, 1);
	watch->until = other->until;
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

struct machine_watch_gpu machine_watch_gpu(const struct machine_watch *watch, uint32_t gpu)
{
	const struct machine_watch_gpu *a = &watch->gpus[0][gpu];
	struct machine_watch_gpu did = watch->gpus[1][gpu];

	for (uint32_t i = 0; i < GPU_WORKS; i++) {
		did.counts.works[i].count -= a->counts.works[i].count;
		did.counts.works[i].bytes -= a->counts.works[i].bytes;
		did.counts.works[i].time -= a->counts.works[i].time;
	}
	for (uint32_t k = 0; k < GPU_ENGINES; k++) {
		did.engines[k].copies -= a->engines[k].copies;
		did.engines[k].bytes -= a->engines[k].bytes;
		did.engines[k].busy -= a->engines[k].busy;
	}
	did.counts.refused -= a->counts.refused;
	did.counts.stale_reads -= a->counts.stale_reads;
	did.counts.stale_bytes -= a->counts.stale_bytes;
	did.counts.flushes -= a->counts.flushes;
	did.counts.flush_time -= a->counts.flush_time;
	did.counts.pins -= a->counts.pins;
	did.counts.pin_time -= a->counts.pin_time;
	did.counts.staged_bytes -= a->counts.staged_bytes;
	did.counts.staged_time -= a->counts.staged_time;
	return did;
}

struct gpu_managed_counts machine_watch_managed(const struct machine_watch *watch, uint32_t who)
{
	const struct gpu_managed_counts *a = &watch->managed[0][who], *b = &watch->managed[1][who];

	return (struct gpu_managed_counts){.faults = b->faults - a->faults,
					   .moved = b->moved - a->moved,
					   .populated = b->populated - a->populated,
					   .copied = b->copied - a->copied,
					   .mapped = b->mapped - a->mapped,
					   .collapsed = b->collapsed - a->collapsed,
					   .throttled = b->throttled - a->throttled,
					   .pinned = b->pinned - a->pinned,
					   .prefetched = b->prefetched - a->prefetched,
					   .time = b->time - a->time};
}
