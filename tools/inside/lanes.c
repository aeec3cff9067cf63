/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/inside/inside.h"

#include "models/input/bad.h"
#include "models/scenario/schema.h"
#include "tools/observe/machines.h"
#include "tools/result/output.h"

#include <string.h>

/* ---- what a lane carries ---- */

enum { PACKETS = 1 << 16 }; /* so many that the rounding of their time is not seen */

static uint64_t per_second(const struct bus_link *link, uint64_t bytes, uint64_t wire_bytes)
{
	const uint32_t links = link->kind == BUS_NVLINK ? link->nvlink.links : 1;

	return (uint64_t)((u128)bytes * links * PS_S / bus_link_time(link, wire_bytes));
}

uint64_t inside_lane_rate(const struct bus_link *link)
{
	struct bus_link raw = *link;

	if (raw.kind == BUS_PCIE)
		raw.pcie.dllps = PCIE_NO_DLLPS;
	return per_second(&raw, (uint64_t)PACKETS * 4096, (uint64_t)PACKETS * 4096);
}

uint64_t inside_lane_payload_rate(const struct bus_link *link)
{
	const uint32_t payload = bus_link_payload(link);

	return per_second(link, (uint64_t)PACKETS * payload,
			  (uint64_t)PACKETS * bus_link_bytes(link, BUS_POSTED, payload));
}

/* A word of the key, as scenarios have it. */
static const char *kind_word(uint32_t place, size_t *ret_length)
{
	const char *word = scenario_row_at(KEY_MACHINE_LANES_KIND)->choices;

	for (; place > 0; place--)
		word += strcspn(word, " ") + 1;
	*ret_length = strcspn(word, " ");
	return word;
}

const char *inside_lane_kind(const struct scenario_machine *machine, uint32_t lane,
			     char ret_text[INSIDE_LANE_MAX])
{
	size_t length;
	const char *word = kind_word(machine->lane_kinds[lane], &length);

	snprintf(ret_text, INSIDE_LANE_MAX, "%.*s", (int)length, word);
	return ret_text;
}

bool inside_lane_is_xgmi(const struct scenario_machine *machine, uint32_t lane)
{
	size_t length;
	const char *word = kind_word(machine->lane_kinds[lane], &length);

	return length == 4 && strncmp(word, "xgmi", length) == 0;
}

const char *inside_lane_text(const struct scenario_machine *machine, uint32_t lane,
			     char ret_text[INSIDE_LANE_MAX])
{
	const struct bus_link *link = &machine->lanes[lane].link;
	size_t length;
	const char *word = kind_word(machine->lane_kinds[lane], &length);

	if (link->kind == BUS_PCIE)
		snprintf(ret_text, INSIDE_LANE_MAX, "%.*s gen %u x%u", (int)length, word,
			 link->pcie.gen, link->pcie.width);
	else if (link->kind == BUS_NVLINK && !inside_lane_is_xgmi(machine, lane))
		snprintf(ret_text, INSIDE_LANE_MAX, "%.*s %u x%u", (int)length, word,
			 link->nvlink.gen, link->nvlink.links);
	else
		snprintf(ret_text, INSIDE_LANE_MAX, "%.*s", (int)length, word);
	return ret_text;
}

/* ---- the lists ---- */

static void print_addresses_of_parts(const struct scenario_machine *machine)
{
	size_t width = 0;

	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].address && strlen(machine->parts[i].name) > width)
			width = strlen(machine->parts[i].name);
	if (width == 0)
		return;
	printf("\nPCI addresses:\n\n");
	for (uint32_t i = 0; i < machine->part_count; i++) {
		if (!machine->parts[i].address)
			continue;
		printf("  %-*s  ", (int)width, machine->parts[i].name);
		output_line(machine->parts[i].address, stdout);
		printf("\n");
	}
}

static void print_lane(const struct scenario_machine *machine, uint32_t lane, int width)
{
	const struct bus_lane_params *params = &machine->lanes[lane];
	const char *a = machine->parts[params->a].name;
	char text[INSIDE_LANE_MAX], raw[OUTPUT_TEXT_MAX], payload[OUTPUT_TEXT_MAX];

	printf("  %s-%-*s  %-15s  %s/s each way, %s/s of payload in packets of %u\n", a,
	       width - (int)strlen(a) - 1, machine->parts[params->b].name,
	       inside_lane_text(machine, lane, text),
	       output_bytes(inside_lane_rate(&params->link), raw),
	       output_bytes(inside_lane_payload_rate(&params->link), payload),
	       bus_link_payload(&params->link));
}

void inside_print_lanes(const struct scenario_machine *machine)
{
	size_t width = 0;

	print_addresses_of_parts(machine);
	for (uint32_t i = 0; i < machine->lane_count; i++) {
		const size_t length = strlen(machine->parts[machine->lanes[i].a].name) + 1 +
				      strlen(machine->parts[machine->lanes[i].b].name);

		width = length > width ? length : width;
	}
	printf("\nLanes:\n\n");
	for (uint32_t i = 0; i < machine->lane_count; i++)
		print_lane(machine, i, (int)width);
}

const char *inside_way_name(const struct scenario_machine *machine, uint32_t way,
			    struct bad_text *ret_text)
{
	const uint32_t from = machine_way_from(machine, way), to = machine_way_to(machine, way);
	const bool joins_sockets = machine->parts[from].kind == SCENARIO_SOCKET &&
				   machine->parts[to].kind == SCENARIO_SOCKET;
	char kind[INSIDE_LANE_MAX];

	return bad_text(ret_text, "the %s %s > %s (%s)", joins_sockets ? "socket link" : "lane",
			machine->parts[from].name, machine->parts[to].name,
			inside_lane_text(machine, way / 2, kind));
}
