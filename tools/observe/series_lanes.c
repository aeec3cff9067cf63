/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/series_lanes.h"

#include "tools/inside/inside.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { MILLION = 1000000 };

int series_lanes_open(struct series_lanes *series, const struct folder *folder,
		      const struct scenario *scenario)
{
	*series = (struct series_lanes){.folder = folder, .until = scenario->until};
	return scenario->machine_count > 0 ? folder_begin(folder, "series_lanes.csv", &series->out)
					   : 0;
}

int series_lanes_start(struct series_lanes *series, const struct scenario *scenario,
		       const struct fabric *fabric)
{
	size_t ways = 0;

	if (!series->out.file)
		return 0;
	if (machines_init(&series->machines, scenario, fabric) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < series->machines.count; i++)
		ways += machine_ways(series->machines.all[i].is);
	series->seen = calloc(ways + 1, sizeof(*series->seen));
	if (!series->seen)
		return -ENOMEM;
	fputs("time_ps,machine,from,to,kind,bursts,bytes,wire_bytes,busy_ps,busy,starved_posted_ps,"
	      "starved_non_posted_ps,starved_completion_ps,replays,"
	      "replayed_bytes\n",
	      series->out.file);
	return 0;
}

static void series_lanes_put_row(const struct series_lanes *series,
				 const struct machine_seen *machine, uint32_t way,
				 struct bus_way_stats *seen, ps_t last, ps_t at)
{
	const struct scenario_part *parts = machine->is->parts;
	const struct bus_way_stats now = machine_way_stats(machine, way, at);
	const uint64_t changes[] = {now.bursts - seen->bursts,
				    now.bytes - seen->bytes,
				    now.wire_bytes - seen->wire_bytes,
				    now.busy - seen->busy,
				    now.starved[BUS_POSTED] - seen->starved[BUS_POSTED],
				    now.starved[BUS_NON_POSTED] - seen->starved[BUS_NON_POSTED],
				    now.starved[BUS_COMPLETION] - seen->starved[BUS_COMPLETION],
				    now.replays - seen->replays,
				    now.replayed_bytes - seen->replayed_bytes};
	const uint64_t share =
		(uint64_t)((u128)changes[3] * MILLION /
			   ((u128)machine_way_links(machine->is, way) * (at - last)));
	char kind[INSIDE_LANE_MAX];
	uint64_t any = 0;

	*seen = now;
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++)
		any |= changes[i];
	if (any == 0)
		return;
	fprintf(series->out.file, "%" PRIu64 ",%s,%s,%s,%s", at, machine->name,
		parts[machine_way_from(machine->is, way)].name,
		parts[machine_way_to(machine->is, way)].name,
		inside_lane_kind(machine->is, way / 2, kind));
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		fprintf(series->out.file, ",%" PRIu64, changes[i]);
		if (i == 3)
			fprintf(series->out.file, ",%" PRIu64 ".%06" PRIu64, share / MILLION,
				share % MILLION);
	}
	fputc('\n', series->out.file);
}

void series_lanes_put(struct series_lanes *series, ps_t last, ps_t at)
{
	struct bus_way_stats *seen = series->seen;

	for (uint32_t i = 0; i < series->machines.count; i++) {
		const struct machine_seen *machine = &series->machines.all[i];

		for (uint32_t way = 0; way < machine_ways(machine->is); way++)
			series_lanes_put_row(series, machine, way, seen++, last, at);
	}
	part_note(&series->out);
}

bool series_lanes_are_busy(const struct series_lanes *series, ps_t at)
{
	for (uint32_t i = 0; i < series->machines.count; i++) {
		const struct machine_seen *machine = &series->machines.all[i];

		for (uint32_t way = 0; way < machine_ways(machine->is); way++)
			if (machine_way_stats(machine, way, at).busy <
			    machine_way_stats(machine, way, PS_NEVER).busy)
				return true;
	}
	return false;
}

/* Lanes may be busy behind the last arrival, up to where the scenario ends. */
static ps_t series_lanes_end(const struct series_lanes *series, ps_t at)
{
	for (uint32_t i = 0; i < series->machines.count; i++) {
		const ps_t last = bus_busy_until(series->machines.all[i].bus);

		if (last > at)
			at = last;
	}
	return at < series->until ? at : series->until;
}

int series_lanes_close(struct series_lanes *series, ps_t last, ps_t at)
{
	const ps_t end = series_lanes_end(series, at);

	if (series->seen && end > last)
		series_lanes_put(series, last, end);
	part_note(&series->out);
	return folder_end(series->folder, &series->out, true);
}

void series_lanes_fini(struct series_lanes *series)
{
	part_close(&series->out, false);
	free(series->seen);
	machines_fini(&series->machines);
	*series = (struct series_lanes){.folder = NULL};
}
