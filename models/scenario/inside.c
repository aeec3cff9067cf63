/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/inside.h"

#include "util/alloc.h"
#include "util/quantity.h"

#include <string.h>

/* Whether @key, or the list that it is in, is not in the map itself. */
static bool is_of_common(const struct scenario_inside *in, enum scenario_key key)
{
	const char *inside = scenario_path(key) + strlen("machine.");
	struct bad_text first;

	return in->common &&
	       !yaml_find(in->map, bad_text(&first, "%.*s", (int)strcspn(inside, "[."), inside));
}

void scenario_inside_refuse(struct scenario_inside *in, const struct yaml_node *map,
			    enum scenario_key key, const char *found, const char *expected)
{
	const bool is_common = is_of_common(in, key);
	const struct yaml_node *node = scenario_node(map, key);
	const struct bad_at *at = is_common ? &in->map->at : node ? &node->at : &map->at;
	struct bad_text place, whole, path, content, of_common;
	const bool is_told = is_common && (in->common_bad || in->common->is_bad);

	in->is_bad = true;
	in->common_bad |= is_common;
	if (is_told)
		return;
	bad_text(&path, "%.100s%.100s", scenario_shown_map(&place, in->map, in->of),
		 scenario_shown(&whole, map, key) + strlen(scenario_path(KEY_MACHINE)));
	if (!found)
		found = node ? yaml_content(&content, node) : "nothing";
	if (is_common && node)
		found = bad_text(&of_common, "%.200s of \"machine\"", found);
	bad(in->r->errors, at, path.text, found, expected);
}

bool scenario_inside_is_wrong(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *node = scenario_node(map, key);

	return node && !node->meaning;
}

const struct yaml_node *scenario_inside_entries(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *list = scenario_node(map, key);

	return list && list->kind == YAML_LIST ? list->child : NULL;
}

uint32_t scenario_inside_number(const struct yaml_node *map, enum scenario_key key)
{
	return (uint32_t)scenario_get(map, key).number;
}

/* ---- parts ---- */

int64_t scenario_inside_find_part(const struct scenario_machine *machine, const char *name)
{
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (strcmp(machine->parts[i].name, name) == 0)
			return i;
	return -1;
}

/* Where a part of that name stands, or would. */
static uint32_t place_by_name(const struct scenario_machine *machine, const char *name)
{
	uint32_t place = 0;

	while (place < machine->part_count && strcmp(machine->parts[place].name, name) < 0)
		place++;
	return place;
}

static void read_part(struct scenario_inside *in, const struct yaml_node *map)
{
	struct scenario_machine *machine = in->machine;
	const struct yaml_node *name = scenario_node(map, KEY_MACHINE_PARTS_NAME);
	const struct yaml_node *kind = scenario_node(map, KEY_MACHINE_PARTS_KIND);
	struct bad_text found;
	uint32_t place;

	if (!name || !name->meaning || !kind || !kind->meaning) {
		in->is_bad = true; /* reported */
		return;
	}
	if (scenario_inside_find_part(machine, name->text) >= 0) {
		scenario_inside_refuse(in, map, KEY_MACHINE_PARTS_NAME,
				       bad_text(&found, "%s a second time", name->text),
				       "another name for each part");
		return;
	}
	place = place_by_name(machine, name->text);
	memmove(machine->parts + place + 1, machine->parts + place,
		(machine->part_count - place) * sizeof(*machine->parts));
	memmove(machine->params + place + 1, machine->params + place,
		(machine->part_count - place) * sizeof(*machine->params));
	machine->parts[place] = (struct scenario_part){
		.name = scenario_copy(in->r, name->text),
		.kind = (enum scenario_part_kind)scenario_value_of(kind)->word,
		.numa = (uint8_t)scenario_inside_number(map, KEY_MACHINE_PARTS_NUMA),
		.address = scenario_text(in->r, map, KEY_MACHINE_PARTS_ADDRESS, NULL)};
	machine->params[place] = (struct bus_part_params){
		.latency = scenario_get(map, KEY_MACHINE_PARTS_LATENCY).number,
		.tags = scenario_inside_number(map, KEY_MACHINE_PARTS_TAGS)};
	machine->part_count++;
}

static void read_all_parts(struct scenario_inside *in)
{
	const struct yaml_node *list = scenario_node(in->map, KEY_MACHINE_PARTS);
	const uint32_t count = list ? list->child_count : 0;
	struct bad_text found, expected;

	if (list && list->kind != YAML_LIST) {
		in->is_bad = true; /* reported */
		return;
	}
	if (count < 2 || count > BUS_PARTS_MAX) {
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS,
				       list ? bad_text(&found, "%u", count) : NULL,
				       bad_text(&expected, "2 to %u parts", BUS_PARTS_MAX));
		return;
	}
	in->machine->parts = scenario_alloc(in->r, count, sizeof(*in->machine->parts));
	in->machine->params = scenario_alloc(in->r, count, sizeof(*in->machine->params));
	for (const struct yaml_node *map = list->child; map && !in->r->no_memory; map = map->next)
		read_part(in, map);
}

static uint32_t count_parts(const struct scenario_machine *machine, enum scenario_part_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < machine->part_count; i++)
		count += machine->parts[i].kind == kind;
	return count;
}

/* Whether it is one of nic0, nic1 and so on, @count names. */
static bool is_nic_name(const char *name, uint32_t count)
{
	const char *digits = name + 3;
	uint64_t number;

	return strncmp(name, "nic", 3) == 0 && strspn(digits, "0123456789") == strlen(digits) &&
	       !(digits[0] == '0' && digits[1]) &&
	       util_count_parse(digits, strlen(digits), &number) == UTIL_QUANTITY_OK &&
	       number < count;
}

/* Adapters are nic0, nic1 and so on. The first that is not is told; true: there is one. */
static bool check_adapters(struct scenario_inside *in)
{
	const uint32_t count = count_parts(in->machine, SCENARIO_ADAPTER);
	struct bad_text expected, to;

	if (count == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no part of kind: nic",
				       "nic0 at least");
	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_PARTS); map;
	     map = map->next) {
		const char *name = scenario_node(map, KEY_MACHINE_PARTS_NAME)->text;

		if (scenario_get(map, KEY_MACHINE_PARTS_KIND).word != SCENARIO_ADAPTER ||
		    is_nic_name(name, count))
			continue;
		scenario_inside_refuse(
			in, map, KEY_MACHINE_PARTS_NAME, NULL,
			bad_text(&expected, "nic0%s, for %u of kind: nic",
				 count > 1 ? bad_text(&to, " to nic%u", count - 1) : "", count));
		return true;
	}
	return false;
}

/* Where memory is, all of it or some. */
static void check_sockets(struct scenario_inside *in)
{
	const struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_MEMORY);
	const int64_t part =
		node && node->meaning ? scenario_inside_find_part(machine, node->text) : -1;

	if (count_parts(machine, SCENARIO_SOCKET) == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no part of kind: socket",
				       "one at least");
	else if (scenario_inside_is_wrong(in->map, KEY_MACHINE_MEMORY))
		in->is_bad = true;
	else if (node && (part < 0 || machine->parts[part].kind != SCENARIO_SOCKET))
		scenario_inside_refuse(in, in->map, KEY_MACHINE_MEMORY, NULL,
				       "the name of a socket");
}

/* ---- ways ---- */

/* Lanes from @from to each part in @ret_hops; UINT32_MAX: none leads there. */
static void count_hops(const struct scenario_machine *machine, uint32_t from, uint32_t *ret_hops)
{
	for (uint32_t i = 0; i < machine->part_count; i++)
		ret_hops[i] = UINT32_MAX;
	ret_hops[from] = 0;
	for (bool more = true; more;) {
		more = false;
		for (uint32_t i = 0; i < machine->lane_count; i++) {
			const uint32_t ends[] = {machine->lanes[i].a, machine->lanes[i].b};

			for (int end = 0; end < 2; end++)
				if (ret_hops[ends[end]] != UINT32_MAX &&
				    ret_hops[ends[end]] + 1 < ret_hops[ends[!end]]) {
					ret_hops[ends[!end]] = ret_hops[ends[end]] + 1;
					more = true;
				}
		}
	}
}

static bool has_lane(const struct scenario_machine *machine, uint32_t part)
{
	for (uint32_t i = 0; i < machine->lane_count; i++)
		if (machine->lanes[i].a == part || machine->lanes[i].b == part)
			return true;
	return false;
}

/* There is no way to some part: one without any lane, if there is such a one. */
static void refuse_pieces(struct scenario_inside *in, const uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	struct bad_text found;
	uint32_t far = 0;

	for (uint32_t i = machine->part_count; i-- > 0;)
		if (hops[i] == UINT32_MAX)
			far = i;
	bad_text(&found, "no way from %s to %s", machine->parts[0].name, machine->parts[far].name);
	for (uint32_t i = machine->part_count; i-- > 0;)
		if (!has_lane(machine, i))
			bad_text(&found, "none to %s", machine->parts[i].name);
	scenario_inside_refuse(in, in->map, KEY_MACHINE_LANES,
			       scenario_has(in->map, KEY_MACHINE_LANES) ? found.text : NULL,
			       "lanes that join all parts");
}

static uint32_t farthest_part(const struct scenario_machine *machine, const uint32_t *hops)
{
	uint32_t part = 0;

	for (uint32_t i = 1; i < machine->part_count; i++)
		if (hops[i] > hops[part])
			part = i;
	return part;
}

/* No part that is nowhere, and no way that is too long: the longest one ends at the part that is
 * farthest from any. */
static void check_graph(struct scenario_inside *in, uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	struct bad_text found, expected;
	uint32_t from, to;

	count_hops(machine, 0, hops);
	from = farthest_part(machine, hops);
	if (hops[from] == UINT32_MAX) {
		refuse_pieces(in, hops);
		return;
	}
	count_hops(machine, from, hops);
	to = farthest_part(machine, hops);
	if (hops[to] > BUS_HOPS_MAX)
		scenario_inside_refuse(
			in, in->map, KEY_MACHINE_LANES,
			bad_text(&found, "%u lanes from %s to %s", hops[to],
				 machine->parts[from].name, machine->parts[to].name),
			bad_text(&expected, "at most %u from any part to another", BUS_HOPS_MAX));
}

static uint32_t memory_of(struct scenario_inside *in, uint32_t nic, uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_MEMORY);
	uint32_t nearest = nic;

	if (node)
		return (uint32_t)scenario_inside_find_part(machine, node->text);
	count_hops(machine, nic, hops);
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET &&
		    (nearest == nic || hops[i] < hops[nearest]))
			nearest = i;
	return nearest;
}

static void read_nics(struct scenario_inside *in, uint32_t *hops)
{
	struct scenario_machine *machine = in->machine;
	const uint32_t count = count_parts(machine, SCENARIO_ADAPTER);
	struct bad_text name;

	machine->nics = scenario_alloc(in->r, count, sizeof(*machine->nics));
	if (!machine->nics)
		return;
	machine->nic_count = count;
	for (uint32_t n = 0; n < count; n++) {
		struct host_bus *nic = &machine->nics[n];

		nic->nic =
			(uint32_t)scenario_inside_find_part(machine, bad_text(&name, "nic%u", n));
		nic->memory = memory_of(in, nic->nic, hops);
		nic->is_of_machine = count > 1;
		nic->blueflame = scenario_inside_number(in->map, KEY_MACHINE_BLUEFLAME);
		nic->tx_bytes = scenario_inside_number(in->map, KEY_MACHINE_TX);
	}
}

void scenario_inside_read(struct scenario_inside *in)
{
	uint32_t *hops;

	read_all_parts(in);
	in->parts_bad = in->is_bad;
	if (!in->is_bad && !in->r->no_memory) {
		check_sockets(in);
		in->parts_bad = check_adapters(in);
	}
	scenario_inside_read_lanes(in);
	if (in->is_bad || in->r->no_memory)
		return;
	hops = scenario_alloc(in->r, in->machine->part_count, sizeof(*hops));
	if (hops)
		check_graph(in, hops);
	if (hops && !in->is_bad)
		read_nics(in, hops);
	util_free(hops);
}
