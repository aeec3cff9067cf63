/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/inside_faults.h"

#include "tools/inside/inside.h"
#include "tools/result/output.h"

#include <inttypes.h>

/* In per mille: of the time, and of what went over a way. */
enum { FELT_LEAST = 100, RESENT_LEAST = 10, NEARLY_ALL = 900, WHOLE = 1000 };

static bool is_same_entry(const struct bus_fault *a, const struct bus_fault *b)
{
	return a->from == b->from && a->to == b->to && a->is_nvlink == b->is_nvlink &&
	       a->entry == b->entry;
}

/* UINT32_MAX: it is of a part. */
static uint32_t way_of(const struct scenario_machine *is, const struct bus_fault *fault)
{
	for (uint32_t way = 0; fault->from != fault->to && way < machine_ways(is); way++)
		if (machine_way_from(is, way) == fault->from &&
		    machine_way_to(is, way) == fault->to &&
		    (is->lanes[way / 2].link.kind == BUS_NVLINK) == fault->is_nvlink)
			return way;
	return UINT32_MAX;
}

/* How long @fault lasted between both. */
static ps_t overlap(const struct bus_fault *fault, ps_t from, ps_t until)
{
	const ps_t begin = fault->from_at > from ? fault->from_at : from;
	const ps_t end = fault->until_at < until ? fault->until_at : until;

	return end > begin ? end - begin : 0;
}

/* As many links of the same entry, from the first on; 0: it is not the first. */
static uint32_t count_links(const struct scenario_machine *is, uint32_t at)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < is->fault_count; i++) {
		if (!is_same_entry(&is->faults[i], &is->faults[at]))
			continue;
		if (i < at)
			return 0;
		count++;
	}
	return count;
}

/* What a part has sent, over its busiest lane. */
static struct bus_way_stats part_sent(const struct machine_watch *watch, uint32_t part)
{
	struct bus_way_stats most = {.bytes = 0};

	for (uint32_t way = 0; way < machine_ways(watch->machine->is); way++) {
		const struct bus_way_stats did = machine_watch_way(watch, way);

		if (machine_way_from(watch->machine->is, way) == part && did.bytes > most.bytes)
			most = did;
	}
	return most;
}

bool inside_faults_next(const struct machine_watch *watch, uint32_t *at,
			struct inside_fault_seen *ret_seen)
{
	const struct scenario_machine *is = watch->machine->is;

	for (; *at < is->fault_count; (*at)++) {
		const struct bus_fault *fault = &is->faults[*at];
		const uint32_t links = count_links(is, *at), way = way_of(is, fault);
		const ps_t time = overlap(fault, watch->from, watch->until);

		if (links == 0 || time == 0)
			continue;
		*ret_seen = (struct inside_fault_seen){
			.fault = fault,
			.links = links,
			.links_all = way == UINT32_MAX ? 1 : machine_way_links(is, way),
			.way = way,
			.time = time,
			.whole = watch->until - watch->from};
		ret_seen->did = way == UINT32_MAX ? part_sent(watch, fault->from)
						  : machine_watch_way(watch, way);
		(*at)++;
		return true;
	}
	return false;
}

static bool is_part_of(uint64_t part, uint64_t whole, uint32_t least)
{
	return (u128)part * WHOLE >= (u128)whole * least;
}

bool inside_fault_matters(const struct inside_fault_seen *seen)
{
	if (seen->did.bytes == 0)
		return false;
	switch (seen->fault->kind) {
	case BUS_ERRORS:
		return seen->did.replays > 0 &&
		       is_part_of(seen->did.replayed_bytes, seen->did.wire_bytes, RESENT_LEAST);
	case BUS_SLOWER: /* and half of it was needed */
		return is_part_of(seen->time, seen->whole, FELT_LEAST) &&
		       2 * seen->did.busy >= seen->time;
	case BUS_DOWN:
	case BUS_LATE:
		return is_part_of(seen->time, seen->whole, FELT_LEAST);
	}
	return false;
}

struct bus_link inside_fault_link(const struct bus_link *link, const struct inside_fault_seen *seen)
{
	struct bus_link now = *link;

	if (seen->fault->kind != BUS_SLOWER || !is_part_of(seen->time, seen->whole, NEARLY_ALL))
		return now;
	if (seen->fault->gen > 0)
		now.pcie.gen = seen->fault->gen;
	if (seen->fault->width > 0)
		now.pcie.width = seen->fault->width;
	return now;
}

/* ---- in words ---- */

static void say_span(const struct inside_fault_seen *seen, FILE *file)
{
	char text[OUTPUT_TEXT_MAX];

	fprintf(file, " for %s, %.1f %% of that time", output_time(seen->time, text),
		100.0 * (double)seen->time / (double)seen->whole);
}

static void say_down(const struct machine_seen *machine, const struct inside_fault_seen *seen,
		     const char *way, FILE *file)
{
	const struct bus_link *link = &machine->is->lanes[seen->way / 2].link;
	char rate[OUTPUT_TEXT_MAX];

	if (seen->links_all == 1)
		fprintf(file, "%s was down", way);
	else
		fprintf(file, "%u of %u links of %s %s down", seen->links, seen->links_all, way,
			seen->links == 1 ? "was" : "were");
	say_span(seen, file);
	if (seen->links < seen->links_all)
		fprintf(file, ", and the rest carries %s/s",
			output_bytes(inside_lane_payload_rate(link) / seen->links_all *
					     (seen->links_all - seen->links),
				     rate));
}

static void say_slower(const struct machine_seen *machine, const struct inside_fault_seen *seen,
		       const char *way, FILE *file)
{
	const struct pcie_link *link = &machine->is->lanes[seen->way / 2].link.pcie;
	const uint8_t gen = seen->fault->gen, width = seen->fault->width;

	fprintf(file, "%s was of generation %u and x%u only", way, gen ? gen : link->gen,
		width ? width : link->width);
	say_span(seen, file);
}

static void say_errors(const struct inside_fault_seen *seen, const char *way, FILE *file)
{
	fprintf(file,
		"bits were wrong on %s: it began anew %" PRIu64 " times, and %.1f %% of what "
		"went over it was sent again",
		way, seen->did.replays,
		100.0 * (double)seen->did.replayed_bytes / (double)seen->did.wire_bytes);
}

void inside_fault_say(const struct machine_seen *machine, const struct inside_fault_seen *seen,
		      FILE *file)
{
	struct bad_text way, key;
	char late[OUTPUT_TEXT_MAX];

	if (seen->way != UINT32_MAX)
		inside_way_name(machine->is, seen->way, &way);
	switch (seen->fault->kind) {
	case BUS_ERRORS:
		say_errors(seen, way.text, file);
		break;
	case BUS_DOWN:
		say_down(machine, seen, way.text, file);
		break;
	case BUS_SLOWER:
		say_slower(machine, seen, way.text, file);
		break;
	case BUS_LATE:
		fprintf(file, "%s answered what was read of it %s later",
			machine->is->parts[seen->fault->from].name,
			output_time(seen->fault->late, late));
		say_span(seen, file);
		break;
	}
	fprintf(file, " (%s)", inside_fault_key(machine, seen, &key));
}

const char *inside_fault_key(const struct machine_seen *machine,
			     const struct inside_fault_seen *seen, struct bad_text *ret_text)
{
	static const char *const words[] = {
		[BUS_ERRORS] = "ber", [BUS_DOWN] = "down", [BUS_LATE] = "late"};
	const struct bus_fault *fault = seen->fault;
	const char *word = fault->kind != BUS_SLOWER ? words[fault->kind]
			   : fault->width > 0	     ? "width"
						     : "gen";

	if (machine->is->place == 0)
		return bad_text(ret_text, "machine.faults.%u.%s", fault->entry, word);
	return bad_text(ret_text, "machines.%u.faults.%u.%s", machine->is->place - 1, fault->entry,
			word);
}
