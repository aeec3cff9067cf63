/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/gpu_words.h"

#include "models/input/bad.h"
#include "tools/inside/inside.h"
#include "tools/result/output.h"

#include <inttypes.h>

enum { SHARE = 20 }; /* less than a 20th of the span is not told */

struct told {
	const struct machine_watch *watch;
	const char *title; /* NULL: it was written */
	FILE *file;
};

static bool is_told(const struct told *t, ps_t time)
{
	return time > 0 && time >= (t->watch->until - t->watch->from) / SHARE;
}

static double span_share(const struct told *t, ps_t time)
{
	const ps_t whole = t->watch->until - t->watch->from;

	return 100.0 * (double)(time < whole ? time : whole) / (double)whole;
}

/* A line begins. */
static FILE *line_of(struct told *t)
{
	if (t->title)
		fprintf(t->file, "%s\n", t->title);
	t->title = NULL;
	fputs("  ", t->file);
	return t->file;
}

static const char *gpu_name(const struct told *t, uint32_t gpu)
{
	const struct scenario_machine *is = t->watch->machine->is;

	return is->parts[is->gpu_parts[gpu]].name;
}

/* ---- engines ---- */

/* Out of @part, or into it. */
static uint32_t ways_over_nvlink(const struct scenario_machine *is, uint32_t part, bool into,
				 uint32_t *ret_ways)
{
	uint32_t count = 0;

	for (uint32_t way = 0; way < machine_ways(is); way++)
		if (machine_way_from(is, way) == part && is->lanes[way / 2].link.kind == BUS_NVLINK)
			ret_ways[count++] = into ? way ^ 1 : way;
	return count;
}

uint32_t gpu_words_ways(const struct machine_seen *machine, uint32_t gpu, enum gpu_engine engine,
			uint32_t *ret_ways)
{
	const struct scenario_machine *is = machine->is;
	const uint32_t own = is->gpu_parts[gpu], memory = is->nics[0].memory;
	const bool into = engine != GPU_ENGINE_FROM && engine != GPU_ENGINE_PEER;
	const bool is_peers = engine == GPU_ENGINE_PEER || engine == GPU_ENGINE_PULL;
	uint32_t count = is_peers ? ways_over_nvlink(is, own, into, ret_ways) : 0;

	if (count > 0)
		return count;
	count = into ? machine_path(machine, memory, own, ret_ways)
		     : machine_path(machine, own, memory, ret_ways);
	if (!is_peers || count == 0)
		return count;
	ret_ways[0] = ret_ways[into ? count - 1 : 0]; /* where all of it goes */
	return 1;
}

static void say_busiest(const struct told *t, uint32_t gpu, enum gpu_engine engine)
{
	const struct machine_seen *machine = t->watch->machine;
	const struct scenario_machine *is = machine->is;
	uint32_t ways[2 * BUS_PARTS_MAX], best = 0;
	const uint32_t count = gpu_words_ways(machine, gpu, engine, ways);
	ps_t most = 0;
	struct bad_text name;

	for (uint32_t i = 0; i < count; i++) {
		const ps_t busy =
			machine_watch_way(t->watch, ways[i]).busy / machine_way_links(is, ways[i]);

		if (busy <= most)
			continue;
		most = busy;
		best = ways[i];
	}
	if (most > 0)
		fprintf(t->file, "; the busiest lane for it, %s, was busy %.1f %%",
			inside_way_name(is, best, &name) + sizeof("the lane ") - 1,
			span_share(t, most));
}

static void say_engine(struct told *t, uint32_t gpu, const struct machine_watch_gpu *did,
		       enum gpu_engine engine)
{
	static const char *const what[GPU_ENGINES] = {[GPU_ENGINE_TO] = "from memory of the host",
						      [GPU_ENGINE_FROM] = "to memory of the host",
						      [GPU_ENGINE_PEER] = "to other GPUs",
						      [GPU_ENGINE_PULL] = "from other GPUs",
						      [GPU_ENGINE_PUSHED] = "that a CPU pushes"};
	const struct copy_stats *stats = &did->engines[engine];
	char time[OUTPUT_TEXT_MAX], bytes[OUTPUT_TEXT_MAX];

	if (!is_told(t, stats->busy))
		return;
	fprintf(line_of(t),
		"%s: copies %s were under way for %s, %.1f %%: %" PRIu64 " ended, of %s",
		gpu_name(t, gpu), what[engine], output_time(stats->busy, time),
		span_share(t, stats->busy), stats->copies, output_bytes(stats->bytes, bytes));
	say_busiest(t, gpu, engine);
	fputs(".\n", t->file);
}

/* ---- what else there is ---- */

static void say_staged(struct told *t, uint32_t gpu, const struct gpu_counts *counts)
{
	const uint64_t bytes = counts->staged_bytes + counts->works[GPU_STAGED].bytes +
			       counts->works[GPU_PUSHED_COPY].bytes;
	char size[OUTPUT_TEXT_MAX], time[OUTPUT_TEXT_MAX];

	if (is_told(t, counts->staged_time))
		fprintf(line_of(t),
			"%s: %s of that came from or went to memory that is not pinned, piece by "
			"piece through the driver's own; CPUs copied for %s, %.1f %%.\n",
			gpu_name(t, gpu), output_bytes(bytes, size),
			output_time(counts->staged_time, time), span_share(t, counts->staged_time));
}

static void say_spent(struct told *t, uint32_t gpu, const char *on, ps_t spent, uint64_t count)
{
	char time[OUTPUT_TEXT_MAX];

	if (is_told(t, spent))
		fprintf(line_of(t), "%s: %s took %s, %.1f %%, %" PRIu64 " in all.\n",
			gpu_name(t, gpu), on, output_time(spent, time), span_share(t, spent),
			count);
}

static void say_gpu(struct told *t, uint32_t gpu)
{
	const struct machine_watch_gpu did = machine_watch_gpu(t->watch, gpu);
	const struct gpu_counts *counts = &did.counts;
	const struct gpu_work_counts *kernels = &counts->works[GPU_KERNEL];

	for (uint32_t k = 0; k <= GPU_ENGINE_PUSHED; k++) /* pages are told with their faults */
		say_engine(t, gpu, &did, (enum gpu_engine)k);
	say_staged(t, gpu, counts);
	say_spent(t, gpu, "pinning memory of the host, and the end of that,", counts->pin_time,
		  counts->pins);
	say_spent(t, gpu, "flushes", counts->flush_time, counts->flushes);
	say_spent(t, gpu, "kernels", kernels->time, kernels->count);
	if (counts->refused > 0)
		fprintf(line_of(t),
			"%s: its window (BAR1) had no room for %" PRIu64 " registrations.\n",
			gpu_name(t, gpu), counts->refused);
}

/* @who: 0: the CPU. */
static void say_managed(struct told *t, uint32_t who)
{
	const struct gpu_managed_counts did = machine_watch_managed(t->watch, who);
	char time[OUTPUT_TEXT_MAX], bytes[OUTPUT_TEXT_MAX];

	if (!is_told(t, did.time))
		return;
	fprintf(line_of(t),
		"%s: %" PRIu64 " faults on managed memory took %s, %.1f %%, and brought %s",
		who == GPU_CPU ? "CPUs" : gpu_name(t, who - 1), did.faults,
		output_time(did.time, time), span_share(t, did.time),
		output_bytes(did.moved, bytes));
	if (did.throttled > 0)
		fprintf(t->file,
			"; %" PRIu64 " of them had to wait, since pages went to and fro too fast",
			did.throttled);
	fputs(".\n", t->file);
}

bool gpu_words_say(const struct machine_watch *watch, const char *title, FILE *file)
{
	struct told told = {.watch = watch, .title = title, .file = file};
	const uint32_t count = watch->machine->gpus ? watch->machine->gpus->count : 0;

	for (uint32_t i = 0; i < count; i++)
		say_gpu(&told, i);
	for (uint32_t who = 0; count > 0 && who <= count; who++)
		say_managed(&told, who);
	return !told.title;
}
