/* SPDX-License-Identifier: BSD-2-Clause */

/* The inside of machines, for the drawing of a chosen one: parts with their tags and engines,
 * lanes, and for how long each direction of these was taken, in the run and in each frame of the
 * slider. */
#include "tools/report/parts.h"

#include "tools/inside/inside.h"
#include "tools/observe/machines.h"
#include "tools/report/columns.h"
#include "tools/report/frames.h"

#include <stdlib.h>
#include <string.h>

enum { MACHINES_SHOWN = 64, NUMBERS_MAX = 120000 };

/* A machine, and where its ways begin among those of the sampler. */
struct shown {
	const struct result_machine *machine;
	uint32_t first;
	ps_t most; /* of its ways, and of each a link in the mean */
};

static const char *const kinds[] = {[SCENARIO_SOCKET] = "socket",
				    [SCENARIO_PCIE_SWITCH] = "switch",
				    [SCENARIO_ADAPTER] = "nic",
				    [SCENARIO_GPU] = "gpu",
				    [SCENARIO_NVSWITCH] = "nvswitch"};

/* Of a part that has a number of them; null: it has none. */
static json_t *insides_tags(const struct result_machine *machine, const char *part)
{
	for (uint32_t i = 0; i < machine->tag_count; i++) {
		const struct result_tags *tags = &machine->tags[i];
		const uint64_t taken = tags->stats.taken;

		if (strcmp(tags->part, part) == 0)
			return json_pack("{s:I,s:I,s:I}", "count", (json_int_t)tags->count,
					 "round_trip_ps",
					 (json_int_t)(taken ? tags->stats.held / taken : 0),
					 "dry_ps", (json_int_t)tags->stats.dry);
	}
	return json_null();
}

/* Of a GPU; null: it is none. */
static json_t *insides_engines(const struct result_machine *machine, const char *part)
{
	const struct result_gpu *gpu = machine->gpus;
	json_t *engines;

	while (gpu < machine->gpus + machine->gpu_count && strcmp(gpu->part, part) != 0)
		gpu++;
	if (gpu == machine->gpus + machine->gpu_count)
		return json_null();
	engines = json_array();
	for (uint32_t k = 0; k < GPU_ENGINES; k++)
		engines = column_add(engines,
				     json_pack("{s:s,s:I,s:I,s:I}", "name", gpu_engine_names[k],
					       "copies", (json_int_t)gpu->engines[k].copies,
					       "bytes", (json_int_t)gpu->engines[k].bytes,
					       "busy_ps", (json_int_t)gpu->engines[k].busy));
	return engines;
}

static json_t *insides_parts(const struct result_machine *machine)
{
	const struct scenario_machine *is = machine->is;
	json_t *parts = json_array();

	for (uint32_t i = 0; i < is->part_count; i++)
		parts = column_add(parts,
				   json_pack("{s:s,s:s,s:o,s:o}", "name", is->parts[i].name, "kind",
					     kinds[is->parts[i].kind], "tags",
					     insides_tags(machine, is->parts[i].name), "engines",
					     insides_engines(machine, is->parts[i].name)));
	return parts;
}

/* Both directions in one: from a to b, and back. */
static json_t *pair_of(uint64_t there, uint64_t back)
{
	return column_add_number(column_add_number(json_array(), there), back);
}

static json_t *insides_frames(const struct report_frames *frames, uint32_t way)
{
	const struct sampler *sampler = frames->sampler;
	json_t *column = json_array();

	for (uint32_t k = 0; k < frames->count; k++) {
		const ps_t *then = &sampler->busy[(size_t)frames->ends[k] * sampler->way_count];
		const ps_t *now = &sampler->busy[(size_t)frames->ends[k + 1] * sampler->way_count];

		column = column_add_number(column, now[way] - then[way]);
	}
	return column;
}

/* @frames NULL: there are none. */
static json_t *insides_lane(const struct shown *shown, uint32_t lane,
			    const struct report_frames *frames)
{
	const struct scenario_machine *is = shown->machine->is;
	const struct bus_way_stats *there = &shown->machine->lanes[2 * lane].stats;
	const struct bus_way_stats *back = &shown->machine->lanes[2 * lane + 1].stats;
	const uint32_t way = shown->first + 2 * lane;
	char text[INSIDE_LANE_MAX];
	json_t *over_time = json_null();

	if (frames)
		over_time = json_pack("[o,o]", insides_frames(frames, way),
				      insides_frames(frames, way + 1));
	return json_pack("{s:i,s:i,s:s,s:i,s:b,s:o,s:o,s:o,s:o,s:o}", "a", (int)is->lanes[lane].a,
			 "b", (int)is->lanes[lane].b, "what", inside_lane_text(is, lane, text),
			 "links", (int)machine_way_links(is, 2 * lane), "beside",
			 is->lanes[lane].link.kind == BUS_NVLINK, "rate_bps",
			 json_integer((json_int_t)(8 * inside_lane_rate(&is->lanes[lane].link))),
			 "bytes", pair_of(there->bytes, back->bytes), "busy_ps",
			 pair_of(there->busy, back->busy), "starved_ps",
			 pair_of(there->starved[0] + there->starved[1] + there->starved[2],
				 back->starved[0] + back->starved[1] + back->starved[2]),
			 "frames", over_time);
}

static json_t *insides_shown(const struct shown *shown, const struct report_frames *frames)
{
	const struct scenario_machine *is = shown->machine->is;
	json_t *lanes = json_array();

	for (uint32_t lane = 0; lane < is->lane_count; lane++)
		lanes = column_add(lanes, insides_lane(shown, lane, frames));
	return json_pack("{s:s,s:o,s:o}", "name", shown->machine->name, "parts",
			 insides_parts(shown->machine), "lanes", lanes);
}

/* ---- which ---- */

static int busiest_first(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;

	if (x->most != y->most)
		return x->most > y->most ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static uint32_t list_shown(const struct result *result, struct shown *ret_shown)
{
	uint32_t first = 0;

	for (uint32_t i = 0; i < result->machine_count; i++) {
		const struct result_machine *machine = &result->machines[i];

		ret_shown[i] = (struct shown){.machine = machine, .first = first};
		for (uint32_t k = 0; k < machine->lane_count; k++) {
			const ps_t busy =
				machine->lanes[k].stats.busy / machine_way_links(machine->is, k);

			if (busy > ret_shown[i].most)
				ret_shown[i].most = busy;
		}
		first += machine->lane_count;
	}
	qsort(ret_shown, result->machine_count, sizeof(*ret_shown), busiest_first);
	return result->machine_count < MACHINES_SHOWN ? result->machine_count : MACHINES_SHOWN;
}

json_t *report_insides(const struct report *report)
{
	const struct result *result = report->result;
	const bool is_series = report->sampler && report->sampler->point_count > 1;
	struct shown *shown = calloc((size_t)result->machine_count + 1, sizeof(*shown));
	struct report_frames frames;
	json_t *all = shown ? json_array() : NULL;
	uint32_t numbers = 0, count;

	if (result->machine_count == 0 || !shown) {
		free(shown);
		json_decref(all);
		return shown ? json_null() : NULL;
	}
	if (is_series)
		report_frames_of(report->sampler, &frames);
	count = list_shown(result, shown);
	for (uint32_t i = 0; i < count; i++) {
		const uint32_t ways = shown[i].machine->lane_count;
		const bool has_frames = is_series && numbers + ways * frames.count <= NUMBERS_MAX &&
					shown[i].first + ways <= report->sampler->way_count;

		numbers += has_frames ? ways * frames.count : 0;
		all = column_add(all, insides_shown(&shown[i], has_frames ? &frames : NULL));
	}
	free(shown);
	return all;
}
