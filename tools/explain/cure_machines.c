/* SPDX-License-Identifier: BSD-2-Clause */

/* Hosts whose own lanes and tags hold data up: those that take packets in slowly, and those that
 * wait for their payload. */
#include "tools/explain/cure_rules.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- words and keys ---- */

static void say_limit_reason(const struct advice_run *run, const struct limit *limit,
			     struct advice_item *item)
{
	struct bad_text when;
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	if (!file)
		return;
	fputs(limit->kind == LIMIT_NONE ? "No lane of it was full: " : "The reason: ", file);
	limit_reason(limit, spells_time(run->spells, limit, &when), file);
	fputc('.', file);
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

/* Of this host alone, where others have the same machine. */
static void name_own_key(const struct advice_run *run, const struct limit *limit,
			 struct advice_item *item, const struct advice_key *key)
{
	const struct scenario_machine *is = limit->machine->is;
	const char *host = limit->machine->name;
	uint32_t machines = 0, next = 0;

	for (uint32_t i = 0; i < is->adapter_count; i++)
		machines += is->adapters[i].nic == 0;
	while (advice_said(run, advice_text("machines.%u.hosts", next)) ||
	       advice_said(run, advice_text("machines.%u.hosts.0", next)))
		next++;
	if (machines == 1 || is->place > 0) {
		advice_key(item, cure_key_of(limit, key->name), key->found,
			   machines == 1 ? key->value : "");
	} else if (next > 0) {
		advice_key(item, advice_text("machines.%u.hosts", next), "no such entry", host);
		advice_key(item, advice_text("machines.%u.%s", next, key->name), key->found,
			   key->value);
	} else {
		advice_key(item, "machines", advice_text("%s %s for all", key->name, key->found),
			   advice_text("[{hosts: %s, %s: %s}]", host, key->name, key->value));
	}
}

/* The nearest memory of the same kind that is not behind the full lane, where it is nearer; that of
 * a GPU where flows are told to use one. */
static void name_nearer_memory(const struct advice_run *run, const struct limit *limit,
			       struct advice_item *item)
{
	const struct scenario_machine *is = limit->machine->is;
	const enum scenario_part_kind kind = is->parts[limit->memory].kind;
	const bool is_gpu = kind == SCENARIO_GPU;
	uint32_t best = limit->memory, least = limit->way_count, count;
	struct advice_key key;

	if (is_gpu && limit->host->params.bus->flow_place == 0)
		return;
	for (uint32_t part = 0; part < is->part_count; part++)
		if (is->parts[part].kind == kind && avoids_way(limit, part, &count) &&
		    count < least) {
			best = part;
			least = count;
		}
	if (best == limit->memory)
		return;
	snprintf(key.name, sizeof(key.name), "%s", is_gpu ? "flow_memory" : "memory");
	snprintf(key.found, sizeof(key.found), "%s", is->parts[limit->memory].name);
	snprintf(key.value, sizeof(key.value), "%s", is->parts[best].name);
	name_own_key(run, limit, item, &key);
}

/* "machine.lanes.3" as the scenario has it; NULL: it is a profile's. */
static const char *key_of_lane(const struct advice_run *run, const struct limit *limit,
			       const struct bus_lane_params *lane)
{
	const struct scenario_machine *is = limit->machine->is;
	const char *key = cure_key_of(limit, advice_text("lanes.%u", lane->entry));
	const char *a = advice_said(run, advice_text("%s.a", key));
	const char *name = is->parts[lane->a].name;

	if (!a && is->place > 0) { /* it has the lanes of all */
		key = advice_text("machine.lanes.%u", lane->entry);
		a = advice_said(run, advice_text("%s.a", key));
	}
	if (a && strncmp(a, name, strlen(name)) != 0)
		name = is->parts[lane->b].name;
	return a && strncmp(a, name, strlen(name)) == 0 && a[strlen(name)] == '\n' ? key : NULL;
}

/* Each slot on the way that is narrower or older than what the rest of it carries. */
static void name_slots(const struct advice_run *run, const struct limit *limit,
		       struct advice_item *item)
{
	for (uint32_t i = 0; i < limit->way_count; i++) {
		const struct bus_lane_params *lane = &limit->machine->is->lanes[limit->ways[i] / 2];
		const struct pcie_link *now = &lane->link.pcie;
		const char *key = key_of_lane(run, limit, lane);
		struct pcie_link wanted;

		if (!key || !limit_slot_wanted(limit, limit->ways[i], &wanted))
			continue;
		if (wanted.width != now->width)
			advice_key(item, advice_text("%s.width", key),
				   advice_text("%u", now->width), advice_text("%u", wanted.width));
		if (wanted.gen != now->gen)
			advice_key(item, advice_text("%s.gen", key), advice_text("%u", now->gen),
				   advice_text("%u", wanted.gen));
	}
}

/* The key that helps, as far as there is one. */
static void name_keys(const struct advice_run *run, const struct limit *limit,
		      struct advice_item *item)
{
	const struct scenario_machine *is = limit->machine->is;
	const int32_t turn = limit_turns_at(limit);
	const char *acs = turn >= 0 ? advice_part_key(run, is, &is->parts[turn], "acs") : NULL;

	if (limit->fault_count > 0 || limit->kind == LIMIT_NONE)
		return;
	if (turn >= 0 && acs)
		advice_key(item, acs, "yes", "no");
	else if (turn >= 0)
		return;
	else if (limit->kind == LIMIT_LANE && is->lanes[limit->way / 2].link.kind == BUS_PCIE)
		name_slots(run, limit, item);
	else if (limit->kind == LIMIT_LANE)
		name_nearer_memory(run, limit, item);
}

bool advice_slow_machine(struct advice_run *run, struct host *host, struct advice_item *item)
{
	struct limit limit;

	if (!spells_limit_of_receiver(run->spells, host, &limit))
		return false;
	say_limit_reason(run, &limit, item);
	say_limit_help(&limit, item);
	name_keys(run, &limit, item);
	return true;
}

/* ---- what senders wait for ---- */

static const char *others_text(uint32_t others)
{
	return others > 0 ? advice_text(", as %u more,", others) : "";
}

/* What one request may ask for at the lane of the adapter, if that is little. */
static void name_requests(const struct advice_run *run, const struct limit *limit,
			  struct advice_item *item)
{
	const uint32_t way = limit->ways[limit->way_count - 1];
	const struct bus_lane_params *lane = &limit->machine->is->lanes[way / 2];
	const uint32_t most = limit->host->params.profile.mtu_max;
	const char *key = key_of_lane(run, limit, lane);

	if (key && lane->link.kind == BUS_PCIE && lane->link.pcie.mrrs < most)
		advice_key(item, advice_text("%s.mrrs", key),
			   advice_text("%uB", lane->link.pcie.mrrs), advice_text("%uB", most));
}

/* Requests of less than what firmware leaves there by default are the first thing to mend. */
static void name_tags(const struct advice_run *run, const struct limit *limit,
		      struct advice_item *item)
{
	enum { MRRS_DEFAULT = 512 };
	const struct scenario_machine *is = limit->machine->is;
	const uint32_t now = is->params[limit->nic].tags, wanted = limit_tags_wanted(limit);
	const bool is_small = limit_request_bytes(limit) < MRRS_DEFAULT;
	const char *tags = advice_part_key(run, is, &is->parts[limit->nic], "tags");

	if (is_small)
		name_requests(run, limit, item);
	if (tags && wanted > now) {
		struct advice_key *key =
			advice_key(item, tags, advice_text("%u", now), advice_text("%u", wanted));

		if (key)
			key->instead = is_small && item->key_count > 1;
	}
}

static void tell_tags(struct advice_run *run, const struct limit *limit, uint32_t others)
{
	struct advice_item *item = advice_add(run, "An adapter waits for its reads of memory");
	struct bad_text when;

	advice_say(item,
		   "%s%s may have %u requests under way, each of at most %u bytes (MRRS), and one "
		   "takes %s in the mean. For %" PRIu64
		   " %% of %s, reads waited until one of them was back, and the port of %s for "
		   "payload.",
		   limit->host->node.name, others_text(others),
		   limit->machine->is->params[limit->nic].tags, limit_request_bytes(limit),
		   advice_time(limit_round_trip(limit)),
		   (uint64_t)((u128)limit->tags.dry * 100 / limit->time),
		   spells_time(run->spells, limit, &when), limit->host->node.name);
	say_limit_help(limit, item);
	name_tags(run, limit, item);
}

static void tell_sender(struct advice_run *run, const struct limit *limit, uint32_t others)
{
	struct advice_item *item =
		advice_add(run, "An adapter gets its data more slowly than its port sends them");

	advice_say(item, "%s%s did not get them fast enough.", limit->host->node.name,
		   others_text(others));
	say_limit_reason(run, limit, item);
	say_limit_help(limit, item);
	name_keys(run, limit, item);
}

/* A tenth at least of what went over the lane that was full. */
static bool has_sent(const struct advice_run *run, struct host *host, const struct limit *limit)
{
	return limit->kind != LIMIT_LANE || 10 * spells_sent(run->spells, host) >= limit->did.bytes;
}

/* Of each kind the first host, and how many others there are. */
void advice_senders(struct advice_run *run)
{
	struct limit first[LIMIT_KINDS], limit;
	uint32_t counts[LIMIT_KINDS] = {0};

	for (uint32_t i = 0; i < run->fabric->table.count; i++) {
		struct host *host = run->fabric->table.hosts[i];

		if (spells_limit_of_sender(run->spells, host, &limit) &&
		    has_sent(run, host, &limit) && counts[limit.kind]++ == 0)
			first[limit.kind] = limit;
	}
	if (counts[LIMIT_TAGS] > 0)
		tell_tags(run, &first[LIMIT_TAGS], counts[LIMIT_TAGS] - 1);
	if (counts[LIMIT_LANE] > 0)
		tell_sender(run, &first[LIMIT_LANE], counts[LIMIT_LANE] - 1);
	if (counts[LIMIT_CREDITS] > 0)
		tell_sender(run, &first[LIMIT_CREDITS], counts[LIMIT_CREDITS] - 1);
}
