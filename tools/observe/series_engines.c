/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/series_engines.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

enum { MILLION = 1000000 };

int series_engines_open(struct series_engines *series, const struct folder *folder,
			const struct scenario *scenario)
{
	*series = (struct series_engines){.folder = folder};
	return machines_have_gpus(scenario)
		       ? folder_begin(folder, "series_engines.csv", &series->out)
		       : 0;
}

int series_engines_start(struct series_engines *series, const struct scenario *scenario,
			 const struct fabric *fabric)
{
	size_t gpus = 0;

	if (!series->out.file)
		return 0;
	if (machines_init(&series->machines, scenario, fabric) != 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < series->machines.count; i++)
		gpus += series->machines.all[i].is->gpu_count;
	series->seen = calloc(gpus * GPU_ENGINES + 1, sizeof(*series->seen));
	if (!series->seen)
		return -ENOMEM;
	fputs("time_ps,machine,gpu,engine,copies,bytes,busy_ps,busy\n", series->out.file);
	return 0;
}

static void series_engines_put_row(const struct series_engines *series,
				   const struct machine_seen *machine, uint32_t number,
				   struct copy_stats *seen, ps_t last, ps_t at)
{
	const struct scenario_machine *is = machine->is;
	const struct gpu *gpu = &machine->gpus->gpus[number / GPU_ENGINES];
	const enum gpu_engine engine = (enum gpu_engine)(number % GPU_ENGINES);
	const struct copy_stats now = gpu_engine_stats(gpu, engine, at);
	const struct copy_stats did = {now.copies - seen->copies, now.bytes - seen->bytes,
				       now.busy - seen->busy};
	const uint64_t share = (uint64_t)((u128)did.busy * MILLION / (at - last));

	*seen = now;
	if (did.copies > 0 || did.busy > 0)
		fprintf(series->out.file,
			"%" PRIu64 ",%s,%s,%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64
			".%06" PRIu64 "\n",
			at, machine->name, is->parts[is->gpu_parts[number / GPU_ENGINES]].name,
			gpu_engine_names[engine], did.copies, did.bytes, did.busy, share / MILLION,
			share % MILLION);
}

void series_engines_put(struct series_engines *series, ps_t last, ps_t at)
{
	struct copy_stats *seen = series->seen;

	for (uint32_t i = 0; seen && i < series->machines.count; i++) {
		const struct machine_seen *machine = &series->machines.all[i];

		for (uint32_t k = 0; k < machine->is->gpu_count * GPU_ENGINES; k++)
			series_engines_put_row(series, machine, k, seen++, last, at);
	}
	part_note(&series->out);
}

bool series_engines_are_busy(const struct series_engines *series, ps_t at)
{
	for (uint32_t i = 0; series->seen && i < series->machines.count; i++) {
		const struct machine_seen *machine = &series->machines.all[i];

		for (uint32_t k = 0; k < machine->is->gpu_count * GPU_ENGINES; k++) {
			const struct gpu *gpu = &machine->gpus->gpus[k / GPU_ENGINES];
			const enum gpu_engine engine = (enum gpu_engine)(k % GPU_ENGINES);

			if (gpu_engine_stats(gpu, engine, at).busy <
			    gpu_engine_stats(gpu, engine, at + 1).busy)
				return true;
		}
	}
	return false;
}

int series_engines_close(struct series_engines *series, ps_t last, ps_t at)
{
	if (at > last)
		series_engines_put(series, last, at);
	return folder_end(series->folder, &series->out, true);
}

void series_engines_fini(struct series_engines *series)
{
	part_close(&series->out, false);
	free(series->seen);
	machines_fini(&series->machines);
	*series = (struct series_engines){.folder = NULL};
}
