/* SPDX-License-Identifier: BSD-2-Clause */

/* Hosts whose own lanes and tags hold data up: those that take packets in slowly, and those that
 * wait for their payload. */
#include "tools/explain/cure_rules.h"

#include "tools/explain/limit.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- over the whole run ---- */

/* False: it has no machine, or nothing is known. */
static bool limit_of_run(const struct advice_run *run, struct host *host, bool sends,
			 const struct machines *machines, struct limit *ret_limit)
{
	const struct machine_seen *machine = machines_of(machines, host);
	const ps_t last = sim_now(run->fabric->sim);
	struct machine_watch watch;
	bool is_known = false;

	if (machine && machine_watch_init(&watch, machine) == 0) {
		machine_watch_end(&watch, last > run->result->time ? last : run->result->time);
		is_known = limit_find(&watch, host, sends, ret_limit);
	}
	if (machine)
		machine_watch_fini(&watch);
	return is_known;
}

/* ---- words and keys ---- */

static void say_limit_reason(const struct limit *limit, struct advice_item *item)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return;
	fputs(limit->kind == LIMIT_NONE ? "No lane of it was full: " : "The reason: ", file);
	limit_reason(limit, file);
	fputs(" of the run.", file);
	if (fclose(file) == 0)
		advice_say(item, "%s", text);
	free(text);
}

static void say_limit_help(const struct limit *limit, struct advice_item *item)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);
	bool is_known;

	if (!file)
		return;
	is_known = limit_help(limit, "What would help: ", file);
	if (fclose(file) == 0 && is_known)
		advice_say(item, "%s", text);
	free(text);
}

static const char *cure_key_of(const struct limit *limit, const char *rest)
{
	const uint32_t place = limit->machine->is->place;

	return place == 0 ? advice_text("machine.%s", rest)
			  : advice_text("machines.%u.%s", place - 1, rest);
}

/* Whether @part can be had without the lane that is full, and over how many. */
static bool avoids_way(const struct limit *limit, uint32_t part, uint32_t *ret_count)
{
	uint32_t ways[BUS_PATH_MAX];

	*ret_count = machine_path(limit->machine, limit->nic, part, ways);
	for (uint32_t i = 0; i < *ret_count; i++)
		if (ways[i] / 2 == limit->way / 2)
			return false;
	return *ret_count > 0;
}

/* The nearest memory of the same kind that is not behind the full lane; that of a GPU where flows
 * are told to use one. */
static void name_nearer_memory(const struct limit *limit, struct advice_item *item)
{
	const struct scenario_machine *is = limit->machine->is;
	const enum scenario_part_kind kind = is->parts[limit->memory].kind;
	const bool is_gpu = kind == SCENARIO_GPU;
	uint32_t best = limit->memory, least = UINT32_MAX, count;

	if (is_gpu && limit->host->params.bus->flow_place == 0)
		return;
	for (uint32_t part = 0; part < is->part_count; part++)
		if (is->parts[part].kind == kind && avoids_way(limit, part, &count) &&
		    count < least) {
			best = part;
			least = count;
		}
	if (best != limit->memory)
		advice_key(item, cure_key_of(limit, is_gpu ? "flow_memory" : "memory"),
			   is->parts[limit->memory].name, is->parts[best].name);
}

bool advice_slow_machine(struct advice_run *run, struct host *host, struct advice_item *item)
{
	struct machines machines = {.all = NULL};
	struct limit limit;
	bool is_known = machines_init(&machines, run->scenario, run->fabric) == 0 &&
			limit_of_run(run, host, false, &machines, &limit);

	if (is_known) {
		say_limit_reason(&limit, item);
		say_limit_help(&limit, item);
		if (limit.kind == LIMIT_LANE)
			name_nearer_memory(&limit, item);
	}
	machines_fini(&machines);
	return is_known;
}

/* ---- tags ---- */

static void tell_tags(struct advice_run *run, const struct limit *limit, uint32_t others)
{
	const struct scenario_machine *is = limit->machine->is;
	const uint32_t place = is->parts[limit->nic].place, now = is->params[limit->nic].tags;
	struct advice_item *item = advice_add(run, "An adapter waits for its reads of memory");

	advice_say(item,
		   "%s%s may have %u requests under way, and one takes %s in the mean. For %" PRIu64
		   " %% of the run reads waited until one of them was back, and the port of %s for "
		   "payload.",
		   limit->host->node.name, others > 0 ? advice_text(", as %u more,", others) : "",
		   now, advice_time(limit_round_trip(limit)),
		   (uint64_t)((u128)limit->tags.dry * 100 / limit->time), limit->host->node.name);
	say_limit_help(limit, item);
	if (is->place == 0 && limit_tags_wanted(limit) > now)
		advice_key(item, advice_text("machine.parts.%u.tags", place),
			   advice_text("%u", now), advice_text("%u", limit_tags_wanted(limit)));
}

void advice_tags(struct advice_run *run)
{
	struct machines machines = {.all = NULL};
	struct limit first, limit;
	uint32_t count = 0;

	if (run->scenario->machine_count == 0 ||
	    machines_init(&machines, run->scenario, run->fabric) != 0)
		return;
	for (uint32_t i = 0; i < run->fabric->table.count; i++) {
		struct host *host = run->fabric->table.hosts[i];

		if (!limit_of_run(run, host, true, &machines, &limit) || limit.kind != LIMIT_TAGS)
			continue;
		if (count++ == 0)
			first = limit;
	}
	if (count > 0)
		tell_tags(run, &first, count - 1);
	machines_fini(&machines);
}
