/* SPDX-License-Identifier: BSD-2-Clause */

/* What GPUs and their programs tell: windows that are too small, data that was read before it was
 * there, managed memory that goes to and fro, copies of memory that is not pinned; and what is
 * broken inside of machines. */
#include "tools/explain/cure_rules.h"

#include "tools/explain/inside_faults.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1 << 20, SAID_MAX = 3 };

struct cure_gpu { /* of a machine, over the whole run */
	struct advice_run *run;
	const struct machine_watch *watch;
	const struct machine_seen *machine;
	const struct scenario_part *part;
	uint32_t number;
	struct machine_watch_gpu did;
};

/* ---- names and keys ---- */

static const char *part_key(const struct cure_gpu *gpu, const char *rest)
{
	return advice_part_key(gpu->run, gpu->machine->is, gpu->part, rest);
}

/* What the first program there is told: no key of the machine helps. */
static void name_its_program(const struct cure_gpu *gpu, struct advice_item *item)
{
	const struct advice_run *run = gpu->run;

	for (uint32_t i = 0; i < run->result->program_count; i++)
		for (uint32_t k = 0; k < run->result->programs[i].rank_count; k++)
			if (strcmp(run->result->programs[i].ranks[k].host, gpu->machine->name) ==
			    0) {
				advice_say(item,
					   "That is for the program to do, %s, whose arguments "
					   "were: %s.",
					   run->result->programs[i].name,
					   advice_args(&run->scenario->programs[i]));
				advice_key(item, advice_text("programs.%u.args", i),
					   advice_args(&run->scenario->programs[i]), "");
				return;
			}
}

/* "2MiB" */
static const char *set_bytes(uint64_t bytes)
{
	return bytes % MIB == 0 ? advice_text("%" PRIu64 "MiB", bytes / MIB)
				: advice_text("%" PRIu64 "KiB", bytes / 1024);
}

/* ---- windows ---- */

static bool tell_window(const struct cure_gpu *gpu)
{
	const struct gpu_counts *counts = &gpu->did.counts;
	struct advice_item *item;

	if (counts->refused == 0)
		return false;
	item = advice_add(gpu->run, "A GPU's window is smaller than what is to be registered");
	advice_say(item,
		   "%s of %s shows %s of its %s to other devices at a time (BAR1): ibv_reg_mr() or "
		   "ibv_reg_dmabuf_mr() had no room there %s (Cannot allocate memory), for %s at "
		   "most. Whoever needs that memory has to copy it to the host.",
		   gpu->part->name, gpu->machine->name, set_bytes(gpu->part->window_bytes),
		   set_bytes(gpu->part->memory_bytes),
		   counts->refused == 1 ? "once"
					: advice_text("%" PRIu64 " times", counts->refused),
		   set_bytes(counts->refused_bytes));
	advice_say(item, "A window as large as the memory helps (resizable BAR), or less that is "
			 "registered at a time.");
	if (part_key(gpu, "bar1"))
		advice_key(item, part_key(gpu, "bar1"), set_bytes(gpu->part->window_bytes),
			   set_bytes(gpu->part->memory_bytes));
	return true;
}

/* ---- order ---- */

static bool tell_stale(const struct cure_gpu *gpu)
{
	const struct gpu_counts *counts = &gpu->did.counts;
	struct advice_item *item;

	if (counts->stale_reads == 0)
		return false;
	item = advice_add(gpu->run, "Data was read before it was there");
	advice_say(item,
		   "%" PRIu64 " times %s of %s read what an adapter was still writing there, %s in "
		   "all, though the completion behind it had been seen: that goes to memory of the "
		   "host, another way, and this GPU promises no order between both (ordering: %s). "
		   "What was read may be what was there before.",
		   counts->stale_reads, gpu->part->name, gpu->machine->name,
		   advice_bytes(counts->stale_bytes), gpu->part->ordering == 0 ? "none" : "owner");
	advice_say(item, "cuFlushGPUDirectRDMAWrites() between the completion and whatever reads "
			 "makes sure; so does a GPU that promises order (ordering: owner).");
	if (part_key(gpu, "ordering"))
		advice_key(item, part_key(gpu, "ordering"), "none", "owner");
	name_its_program(gpu, item);
	return true;
}

/* ---- what is not pinned ---- */

static uint64_t staged_of(const struct gpu_counts *counts)
{
	return counts->staged_bytes + counts->works[GPU_STAGED].bytes +
	       counts->works[GPU_PUSHED_COPY].bytes;
}

static bool tell_staging(const struct cure_gpu *gpu)
{
	const struct gpu_counts *counts = &gpu->did.counts;
	const uint64_t staged = staged_of(counts), all = gpu->did.engines[GPU_ENGINE_TO].bytes +
							 gpu->did.engines[GPU_ENGINE_FROM].bytes +
							 gpu->did.engines[GPU_ENGINE_PUSHED].bytes;
	struct advice_item *item;

	if (staged < MIB || staged < all / 2)
		return false;
	item = advice_add(gpu->run, "Copies go through memory that is not pinned");
	advice_say(
		item,
		"%s of the %s that were copied between %s of %s and the host were in memory that "
		"is not pinned, which the driver copies piece by piece through pinned memory of "
		"its own: CPUs were at it for %s, where all copies of the engines took %s.",
		advice_bytes(staged), advice_bytes(all), gpu->part->name, gpu->machine->name,
		advice_time(counts->staged_time),
		advice_time(gpu->did.engines[GPU_ENGINE_TO].busy +
			    gpu->did.engines[GPU_ENGINE_FROM].busy));
	advice_say(item, "Memory of cuMemAllocHost(), or cuMemHostRegister() once, helps; or "
			 "GPUDirect, where an adapter is the other end.");
	name_its_program(gpu, item);
	return true;
}

static bool tell_pins(const struct cure_gpu *gpu)
{
	enum { OFTEN = 8 };
	const struct gpu_counts *counts = &gpu->did.counts;
	const ps_t copies =
		gpu->did.engines[GPU_ENGINE_TO].busy + gpu->did.engines[GPU_ENGINE_FROM].busy;
	struct advice_item *item;

	if (counts->pins < OFTEN || counts->pin_time < copies)
		return false;
	item = advice_add(gpu->run, "Memory is pinned again and again");
	advice_say(item,
		   "%" PRIu64 " calls on %s pinned memory for %s or ended that, and took %s; all "
		   "copies of its engines took %s. Pinned once, it can be used again.",
		   counts->pins, gpu->machine->name, gpu->part->name, advice_time(counts->pin_time),
		   advice_time(copies));
	name_its_program(gpu, item);
	return true;
}

/* ---- managed memory ---- */

static bool tell_managed(const struct cure_gpu *gpu)
{
	const struct gpu_managed_counts own = machine_watch_managed(gpu->watch, gpu->number + 1);
	const struct gpu_managed_counts cpu = machine_watch_managed(gpu->watch, GPU_CPU);
	struct advice_item *item;

	if (own.throttled == 0)
		return false;
	item = advice_add(gpu->run, "Managed memory goes to and fro");
	advice_say(
		item,
		"%s of %s made %" PRIu64 " faults on managed memory, which took %s, and CPUs "
		"%" PRIu64 ", which took %s; %s and %s moved. %" PRIu64
		" times the same pages came and went within 500 us, and the GPU was made to wait.",
		gpu->part->name, gpu->machine->name, own.faults, advice_time(own.time), cpu.faults,
		advice_time(cpu.time), advice_bytes(own.moved), advice_bytes(cpu.moved),
		own.throttled);
	advice_say(item,
		   "Where both need it in turns, let the pages stay: cuMemAdvise() with "
		   "CU_MEM_ADVISE_SET_PREFERRED_LOCATION and CU_MEM_ADVISE_SET_ACCESSED_BY. Where "
		   "turns are long, cuMemPrefetchAsync() before each brings all in one go.");
	name_its_program(gpu, item);
	return true;
}

/* ---- all of them ---- */

static void tell_gpus(struct advice_run *run, const struct machine_watch *watch)
{
	/* Causes before what follows from them. */
	static bool (*const rules[])(const struct cure_gpu *gpu) = {
		tell_window, tell_stale, tell_managed, tell_staging, tell_pins};
	const struct machine_seen *machine = watch->machine;
	const uint32_t count = machine->gpus ? machine->gpus->count : 0;

	for (uint32_t i = 0; i < count; i++) {
		const struct cure_gpu gpu = {.run = run,
					     .watch = watch,
					     .machine = machine,
					     .part = &machine->is->parts[machine->is->gpu_parts[i]],
					     .number = i,
					     .did = machine_watch_gpu(watch, i)};

		for (size_t k = 0; k < sizeof(rules) / sizeof(rules[0]); k++)
			if (!(run->gpu_rules >> k & 1) && rules[k](&gpu))
				run->gpu_rules |= 1u << k;
	}
}

/* ---- what is broken ---- */

/* As the scenario may have it. */
static const char *found_text(const struct bus_fault *fault)
{
	switch (fault->kind) {
	case BUS_DOWN:
		break;
	case BUS_ERRORS:
		return advice_text("%u in 10^12", fault->errors_ppt);
	case BUS_SLOWER:
		return advice_text("%u", fault->width ? fault->width : fault->gen);
	case BUS_LATE:
		return advice_time(fault->late);
	}
	return "yes";
}

static void say_inside_fault(struct advice_item *item, const struct machine_seen *machine,
			     const struct inside_fault_seen *seen)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	struct bad_text key;

	if (!file)
		return;
	fprintf(file, "Inside %s, ", machine->name);
	inside_fault_say(machine, seen, file);
	if (fclose(file) == 0)
		advice_say(item, "%s.", text);
	free(text);
	advice_key(item, inside_fault_key(machine, seen, &key), found_text(seen->fault), "");
}

static void tell_faults(struct advice_run *run, const struct machine_watch *watch)
{
	struct advice_item *item = NULL;
	struct inside_fault_seen seen;
	uint32_t at = 0, said = 0, last = UINT32_MAX;

	while (inside_faults_next(watch, &at, &seen)) {
		if (seen.fault->entry == last || !inside_fault_matters(&seen))
			continue; /* of the two directions of a lane one is enough */
		last = seen.fault->entry;
		if (said++ == SAID_MAX)
			break;
		if (!item)
			item = advice_add(run, "Something inside of a machine is broken");
		say_inside_fault(item, watch->machine, &seen);
	}
	if (item)
		advice_say(item, "No setting mends that: it wants a repair, or another machine.");
}

static void over_machines(struct advice_run *run,
			  void (*tell)(struct advice_run *run, const struct machine_watch *watch))
{
	const ps_t last = sim_now(run->fabric->sim);
	struct machines machines = {.all = NULL};

	if (run->scenario->machine_count == 0)
		return;
	if (machines_init(&machines, run->scenario, run->fabric) == 0)
		for (uint32_t i = 0; i < machines.count; i++) {
			struct machine_watch watch;

			if (machine_watch_init(&watch, &machines.all[i]) == 0) {
				machine_watch_end(&watch, last > run->result->time
								  ? last
								  : run->result->time);
				tell(run, &watch);
			}
			machine_watch_fini(&watch);
		}
	machines_fini(&machines);
}

void advice_inside_faults(struct advice_run *run)
{
	over_machines(run, tell_faults);
}

void advice_gpus(struct advice_run *run)
{
	over_machines(run, tell_gpus);
}
