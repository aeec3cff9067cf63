/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/limit.h"

#include "models/input/bad.h"
#include "tools/inside/inside.h"
#include "tools/result/output.h"

/* ---- figures ---- */

static double percent_of(ps_t part, ps_t whole)
{
	return whole ? 100.0 * (double)(part < whole ? part : whole) / (double)whole : 0;
}

static const struct bus_lane_params *lane_of(const struct limit *limit, uint32_t way)
{
	return &limit->machine->is->lanes[way / 2];
}

/* ---- names ---- */

static const char *limit_part_name(const struct limit *limit, uint32_t part)
{
	return limit->machine->is->parts[part].name;
}

static const char *memory_name(const struct limit *limit, struct bad_text *ret_text)
{
	const bool is_gpu = limit->machine->is->parts[limit->memory].kind == SCENARIO_GPU;

	return bad_text(ret_text, "%s%s.%s", is_gpu ? "GPU " : "the memory of ",
			limit->machine->name, limit_part_name(limit, limit->memory));
}

static const char *way_name(const struct limit *limit, struct bad_text *ret_text)
{
	return inside_way_name(limit->machine->is, limit->way, ret_text);
}

static const char *const waiting[BUS_CLASSES] = {
	[BUS_POSTED] = "writes", [BUS_NON_POSTED] = "requests", [BUS_COMPLETION] = "completions"};

/* ---- what it was ---- */

static void add_route(const struct limit *limit, FILE *file)
{
	struct bad_text memory;

	fprintf(file, "Inside %s, %s %s over ", limit->machine->name,
		limit->sends ? "from" : "into", memory_name(limit, &memory));
	for (uint32_t i = 0; i < limit->way_count; i++) {
		const uint32_t from = machine_way_from(limit->machine->is, limit->ways[i]);

		fprintf(file, "%s > ", limit_part_name(limit, from));
	}
	fprintf(file, "%s: ", limit_part_name(limit, limit->sends ? limit->nic : limit->memory));
}

static void add_lane(const struct limit *limit, uint64_t own, FILE *file)
{
	const ps_t starved = limit->did.starved[limit->sends ? BUS_COMPLETION : BUS_POSTED];
	char rate[OUTPUT_TEXT_MAX], port[OUTPUT_TEXT_MAX];
	struct bad_text way;

	fprintf(file,
		"%s held it up. It was busy %.1f %% of that time and carries at most %s/s of "
		"payload; the port of %s carries %s/s.",
		way_name(limit, &way), percent_of(limit->did.busy, limit->time),
		output_bytes(limit_lane_rate(limit), rate), limit->host->node.name,
		output_bytes(limit_port_rate(limit), port));
	if (starved >= limit->time / 100)
		fprintf(file, " For %.1f %% of it there was no room behind it.",
			percent_of(starved, limit->time));
	if (own > 0 && own < limit->did.bytes / 10 * 9)
		fprintf(file, " Of what went over it %.1f %% was this one's.",
			percent_of(own, limit->did.bytes));
}

static void add_tags(const struct limit *limit, FILE *file)
{
	const uint32_t tags = limit->machine->is->params[limit->nic].tags;
	const ps_t round = limit_round_trip(limit);
	char length[OUTPUT_TEXT_MAX], rate[OUTPUT_TEXT_MAX], size[OUTPUT_TEXT_MAX];

	fprintf(file,
		"the tags of %s held it up. %u requests of %s at most may be under way, and "
		"one takes %s in the mean: at most %s/s. Reads waited for one %.1f %% of that "
		"time.",
		limit_part_name(limit, limit->nic), tags,
		output_bytes(limit_request_bytes(limit), size), output_time(round, length),
		output_bytes((uint64_t)((u128)tags * limit_request_bytes(limit) * PS_S / round),
			     rate),
		percent_of(limit->tags.dry, limit->time));
}

static void add_credits(const struct limit *limit, FILE *file)
{
	const struct bus_credits *room = &lane_of(limit, limit->way)->room[limit->class];
	struct bad_text way;

	fprintf(file,
		"credits of %s held it up. For %.1f %% of that time %s waited there for "
		"nothing else; behind it is room for %u headers",
		way_name(limit, &way), percent_of(limit->did.starved[limit->class], limit->time),
		waiting[limit->class], room->headers);
	if (room->data > 0)
		fprintf(file, " and %u bytes", room->data * BUS_CREDIT_BYTES);
	fprintf(file, ".");
}

static void add_nothing(const struct limit *limit, FILE *file)
{
	struct bad_text way;

	fprintf(file,
		"nothing held it up. The busiest on the way, %s, was busy %.1f %% of that "
		"time",
		way_name(limit, &way), percent_of(limit->did.busy, limit->time));
	if (limit->sends && limit->tags.taken > 0)
		fprintf(file, "; reads waited for tags %.1f %% of it",
			percent_of(limit->tags.dry, limit->time));
	fprintf(file, ".");
}

static void add_faults(const struct limit *limit, const char *before, FILE *file)
{
	for (uint32_t i = 0; i < limit->fault_count; i++) {
		fputs(i == 0 ? before : "; ", file);
		inside_fault_say(limit->machine, &limit->faults[i], file);
	}
}

void limit_say(const struct limit *limit, uint64_t own, FILE *file)
{
	add_route(limit, file);
	switch (limit->kind) {
	case LIMIT_NONE:
		add_nothing(limit, file);
		break;
	case LIMIT_LANE:
		add_lane(limit, own, file);
		break;
	case LIMIT_TAGS:
		add_tags(limit, file);
		break;
	case LIMIT_CREDITS:
		add_credits(limit, file);
		break;
	case LIMIT_FAULT:
		add_faults(limit, "", file);
		fputs(". No lane of it was full.", file);
		return;
	case LIMIT_KINDS:
		break;
	}
	add_faults(limit, " What was wrong there: ", file);
	if (limit->fault_count > 0)
		fputc('.', file);
}

void limit_reason(const struct limit *limit, const char *when, FILE *file)
{
	struct bad_text memory, way;

	memory_name(limit, &memory);
	way_name(limit, &way);
	if (limit->kind == LIMIT_CREDITS)
		fprintf(file, "on the way to %s %s waited for credits of %s, for %.1f %% of %s",
			memory.text, waiting[limit->class], way.text,
			percent_of(limit->did.starved[limit->class], limit->time), when);
	else if (limit->kind == LIMIT_FAULT)
		fprintf(file, "in %s, on the way to %s, ", when, memory.text);
	else
		fprintf(file, "%s is behind %s, which was busy %.1f %% of %s", memory.text,
			way.text, percent_of(limit->did.busy, limit->time), when);
	add_faults(limit, limit->kind == LIMIT_FAULT ? "" : "; and ", file);
}

/* ---- what would help ---- */

static bool help_by_slot(const struct limit *limit, const char *before, FILE *file)
{
	struct bus_link link = {.kind = BUS_PCIE};
	char rate[OUTPUT_TEXT_MAX];

	if (!limit_slot_wanted(limit, limit->way, &link.pcie))
		return false;
	fprintf(file,
		"%sa slot of x%u and generation %u (machine.lanes[].width, .gen), which carries "
		"%s/s.",
		before, link.pcie.width, link.pcie.gen,
		output_bytes(limit_payload_rate(&link, limit->sends), rate));
	return true;
}

static bool help_by_place(const struct limit *limit, const char *before, FILE *file)
{
	const bool is_gpu = limit->machine->is->parts[limit->memory].kind == SCENARIO_GPU;

	fprintf(file,
		"%s%s on the side of %s%s, or an adapter on the other side, so that nothing goes "
		"over "
		"it; \"verbena topo -m\" shows what is near.",
		before, is_gpu ? "a GPU" : "memory", limit_part_name(limit, limit->nic),
		is_gpu ? "" : " (machine.memory)");
	return true;
}

static bool help_by_tags(const struct limit *limit, const char *before, FILE *file)
{
	const uint32_t now = limit->machine->is->params[limit->nic].tags;
	const uint32_t wanted = limit_tags_wanted(limit), request = limit_request_bytes(limit);
	const uint32_t most = limit->host->params.profile.mtu_max;
	uint32_t size = request;

	if (wanted <= now)
		return false;
	fprintf(file, "%s%u tags (machine.parts[].tags)", before, wanted);
	while (size < 4096 && size < most && (uint64_t)size * now < (uint64_t)request * wanted)
		size *= 2;
	if (size > request)
		fprintf(file, ", or requests of %u bytes (machine.lanes[].mrrs)", size);
	fputc('.', file);
	return true;
}

static bool help_by_room(const struct limit *limit, const char *before, FILE *file)
{
	static const char *const keys[BUS_CLASSES] = {[BUS_POSTED] = "ph, .pd",
						      [BUS_NON_POSTED] = "nph",
						      [BUS_COMPLETION] = "cplh, .cpld"};

	fprintf(file,
		"%smore room there (machine.lanes[].%s), or credits that come back sooner "
		"(machine.lanes[].update).",
		before, keys[limit->class]);
	return true;
}

static bool help_by_repair(const struct limit *limit, const char *before, FILE *file)
{
	struct bad_text key;

	fprintf(file, "%swhat is broken repaired (%s).", before,
		inside_fault_key(limit->machine, &limit->faults[0], &key));
	return true;
}

/* What peers exchange goes over the root only because of access control services. */
static bool help_by_turning(const struct limit *limit, const char *before, FILE *file)
{
	const uint32_t part = (uint32_t)limit_turns_at(limit);

	fprintf(file,
		"%sno access control services at %s (machine.parts[].acs), for which what peers "
		"exchange goes up to the root and comes down again.",
		before, limit_part_name(limit, part));
	return true;
}

bool limit_help(const struct limit *limit, const char *before, FILE *file)
{
	const struct bus_link *link = &lane_of(limit, limit->way)->link;

	if (limit->fault_count > 0)
		return help_by_repair(limit, before, file);
	if (limit->kind != LIMIT_NONE && limit->kind != LIMIT_TAGS && limit_turns_at(limit) >= 0)
		return help_by_turning(limit, before, file);
	switch (limit->kind) {
	case LIMIT_LANE:
		return link->kind == BUS_PCIE ? help_by_slot(limit, before, file)
					      : help_by_place(limit, before, file);
	case LIMIT_TAGS:
		return help_by_tags(limit, before, file);
	case LIMIT_CREDITS:
		return help_by_room(limit, before, file);
	case LIMIT_NONE:
	case LIMIT_FAULT:
	case LIMIT_KINDS:
		break;
	}
	return false;
}
