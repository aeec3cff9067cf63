/* SPDX-License-Identifier: BSD-2-Clause */

/* What could have been said of a machine, in words, for who said something else. */
#include "models/scenario/inside.h"

#include "util/quantity.h"

#include <string.h>

/* The number at the end of @name, which @ret_letters stand before; false: there is none. */
static bool numbered_name(const char *name, size_t *ret_letters, uint64_t *ret_number)
{
	*ret_letters = strcspn(name, "0123456789");
	return util_count_parse(name + *ret_letters, strlen(name) - *ret_letters, ret_number) ==
	       UTIL_QUANTITY_OK;
}

/* As gpu1 behind gpu0. */
static bool name_follows(const char *before, const char *name)
{
	size_t letters, its_letters;
	uint64_t number, its_number;

	return numbered_name(before, &letters, &number) &&
	       numbered_name(name, &its_letters, &its_number) && its_number == number + 1 &&
	       letters == its_letters && strncmp(before, name, letters) == 0;
}

const char *scenario_inside_names(const struct scenario_machine *machine, const char *what,
				  struct bad_text *ret_text)
{
	struct bad_text so_far;
	uint32_t end;

	bad_text(ret_text, "%s", what);
	for (uint32_t i = 0; i < machine->part_count; i = end) {
		const char *name = machine->parts[i].name;

		end = i + 1;
		while (end < machine->part_count &&
		       name_follows(machine->parts[end - 1].name, machine->parts[end].name))
			end++;
		end = end < i + 3 ? i + 1 : end;
		so_far = *ret_text;
		if (strlen(so_far.text) > 240)
			return bad_text(ret_text, "%.260s and others", so_far.text);
		bad_text(ret_text, "%.260s%s %.60s%s%.60s", so_far.text, i > 0 ? "," : ":", name,
			 end > i + 1 ? " to " : "",
			 end > i + 1 ? machine->parts[end - 1].name : "");
	}
	return ret_text->text;
}

const char *scenario_inside_way(const struct scenario_machine *machine, uint32_t from, uint32_t to,
				struct bad_text *ret_text)
{
	uint32_t hops[BUS_PARTS_MAX], at = from;
	struct bad_text so_far;

	scenario_inside_hops(machine, to, hops);
	ret_text->text[0] = '\0';
	while (at != to && hops[at] != UINT32_MAX) {
		const struct bus_lane_params *lane = machine->lanes;

		while (!(lane->a == at && hops[lane->b] < hops[at]) &&
		       !(lane->b == at && hops[lane->a] < hops[at]))
			lane++;
		at = lane->a == at ? lane->b : lane->a;
		so_far = *ret_text;
		bad_text(ret_text, "%.300s%s%.60s-%.60s", so_far.text, so_far.text[0] ? ", " : "",
			 machine->parts[lane->a].name, machine->parts[lane->b].name);
	}
	return ret_text->text;
}
