/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/internal.h"

#include "tools/observe/machines.h"

#include <errno.h>
#include <stdlib.h>

/* The inside of machines: what lanes, tags and GPUs have done. */

/* All that it did, to the end of what it has begun. */
static struct bus_way_stats lane_stats(const struct machine_seen *seen, uint32_t way)
{
	const uint32_t from = machine_way_from(seen->is, way);
	const uint32_t to = machine_way_to(seen->is, way);

	return seen->is->lanes[way / 2].link.kind == BUS_NVLINK
		       ? bus_nvlink_stats(seen->bus, from, to)
		       : bus_way_stats(seen->bus, from, to);
}

static void collect_lanes(const struct machine_seen *seen, struct result_machine *ret)
{
	for (uint32_t way = 0; way < machine_ways(seen->is); way++) {
		const uint32_t from = machine_way_from(seen->is, way);
		const uint32_t to = machine_way_to(seen->is, way);

		ret->lanes[ret->lane_count++] = (struct result_lane){
			.from = seen->is->parts[from].name,
			.to = seen->is->parts[to].name,
			.stats = seen->bus ? lane_stats(seen, way)
					   : (struct bus_way_stats){.bursts = 0}};
	}
}

static void collect_tags(const struct machine_seen *seen, ps_t at, struct result_machine *ret)
{
	for (uint32_t part = 0; part < seen->is->part_count; part++) {
		struct result_tags tags = {.part = seen->is->parts[part].name,
					   .count = seen->is->params[part].tags};

		if (tags.count == 0)
			continue;
		if (seen->bus) {
			tags.wait = bus_tag_wait(seen->bus, part);
			tags.stats = bus_tag_stats(seen->bus, part, at);
		}
		ret->tags[ret->tag_count++] = tags;
	}
}

static void collect_gpus(const struct machine_seen *seen, ps_t at, struct result_machine *ret)
{
	for (uint32_t i = 0; i < seen->is->gpu_count; i++) {
		struct result_gpu *own = &ret->gpus[ret->gpu_count++];
		const struct gpu *gpu = seen->gpus ? &seen->gpus->gpus[i] : NULL;

		own->part = seen->is->parts[seen->is->gpu_parts[i]].name;
		own->window = seen->is->gpus[i].window;
		if (!gpu)
			continue;
		own->counts = gpu->counts;
		for (uint32_t k = 0; k < GPU_ENGINES; k++)
			own->engines[k] = gpu_engine_stats(gpu, (enum gpu_engine)k, at);
	}
}

static int collect_machine(const struct machine_seen *seen, ps_t at, struct result_machine *ret)
{
	*ret = (struct result_machine){
		.name = seen->name,
		.is = seen->is,
		.managed = seen->managed,
		.is_bare = !seen->bus,
		.gpus = calloc((size_t)seen->is->gpu_count + 1, sizeof(*ret->gpus)),
		.lanes = calloc((size_t)machine_ways(seen->is) + 1, sizeof(*ret->lanes)),
		.tags = calloc((size_t)seen->is->part_count + 1, sizeof(*ret->tags))};
	if (!ret->lanes || !ret->tags || !ret->gpus)
		return -ENOMEM;
	collect_lanes(seen, ret);
	collect_tags(seen, at, ret);
	collect_gpus(seen, at, ret);
	return 0;
}

int result_collect_machines(struct result *result)
{
	struct machines machines;
	int ret = machines_init(&machines, result->scenario, result->fabric);

	if (!ret)
		result->machines = calloc((size_t)machines.count + 1, sizeof(*result->machines));
	if (!result->machines)
		ret = -ENOMEM;
	for (uint32_t i = 0; !ret && i < machines.count; i++)
		ret = collect_machine(&machines.all[i], result->time,
				      &result->machines[result->machine_count++]);
	machines_fini(&machines);
	return ret;
}

void result_free_machines(struct result *result)
{
	for (uint32_t i = 0; i < result->machine_count; i++) {
		free(result->machines[i].lanes);
		free(result->machines[i].tags);
		free(result->machines[i].gpus);
	}
	free(result->machines);
}
