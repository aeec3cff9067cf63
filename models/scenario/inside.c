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
	const bool is_theirs = is_common || (in->common && map->at.is_copy);
	const bool is_told = is_theirs && (in->common_bad || in->common->is_bad);

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
		.place = machine->part_count,
		.name = scenario_copy(in->r, name->text),
		.kind = (enum scenario_part_kind)scenario_value_of(kind)->word,
		.numa = (uint8_t)scenario_inside_number(map, KEY_MACHINE_PARTS_NUMA),
		.has_bridges = scenario_get(map, KEY_MACHINE_PARTS_BRIDGES).word == 1,
		.memory_bytes = scenario_get(map, KEY_MACHINE_PARTS_MEMORY).number,
		.ordering = (uint8_t)scenario_get(map, KEY_MACHINE_PARTS_ORDERING).word,
		.address = scenario_text(in->r, map, KEY_MACHINE_PARTS_ADDRESS, NULL)};
	machine->parts[place].window_bytes =
		scenario_node(map, KEY_MACHINE_PARTS_BAR1)
			? scenario_get(map, KEY_MACHINE_PARTS_BAR1).number
			: machine->parts[place].memory_bytes;
	machine->params[place] = (struct bus_part_params){
		.latency = scenario_get(map, KEY_MACHINE_PARTS_LATENCY).number,
		.tags = scenario_inside_number(map, KEY_MACHINE_PARTS_TAGS),
		.is_root = machine->parts[place].kind == SCENARIO_SOCKET,
		.peers = (uint8_t)scenario_get(map, KEY_MACHINE_PARTS_PEERS).word,
		.peer_payload =
			(uint16_t)scenario_inside_number(map, KEY_MACHINE_PARTS_PEER_PAYLOAD),
		.redirects = scenario_get(map, KEY_MACHINE_PARTS_ACS).word == 1,
		.is_nvswitch = machine->parts[place].kind == SCENARIO_NVSWITCH};
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

uint32_t scenario_inside_count(const struct scenario_machine *machine, enum scenario_part_kind kind)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < machine->part_count; i++)
		count += machine->parts[i].kind == kind;
	return count;
}

/* Whether it is one of nic0, nic1 and so on, @count names; or of gpu0 ... */
static bool is_numbered(const char *name, const char *kind, uint32_t count)
{
	const char *digits = name + 3;
	uint64_t number;

	return strncmp(name, kind, 3) == 0 && strspn(digits, "0123456789") == strlen(digits) &&
	       !(digits[0] == '0' && digits[1]) &&
	       util_count_parse(digits, strlen(digits), &number) == UTIL_QUANTITY_OK &&
	       number < count;
}

/* Adapters are nic0, nic1 and so on, and GPUs are gpu0 ... The first that is not is told; true:
 * there is one. */
static bool check_names(struct scenario_inside *in, enum scenario_part_kind kind, const char *named)
{
	const uint32_t count = scenario_inside_count(in->machine, kind);
	struct bad_text expected, to;

	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_PARTS); map;
	     map = map->next) {
		const char *name = scenario_node(map, KEY_MACHINE_PARTS_NAME)->text;

		if (scenario_get(map, KEY_MACHINE_PARTS_KIND).word != (int)kind ||
		    is_numbered(name, named, count))
			continue;
		scenario_inside_refuse(
			in, map, KEY_MACHINE_PARTS_NAME, NULL,
			bad_text(&expected, "%s0%s, for %u of kind: %s", named,
				 count > 1 ? bad_text(&to, " to %s%u", named, count - 1) : "",
				 count, named));
		return true;
	}
	return false;
}

static bool is_power(uint64_t number)
{
	return (number & (number - 1)) == 0;
}

/* What parts of one kind have; a power of two where @multiple is 0. */
static void check_own(struct scenario_inside *in, enum scenario_key key,
		      enum scenario_part_kind kind, uint64_t multiple, const char *expected)
{
	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_PARTS); map;
	     map = map->next) {
		const bool is_its = scenario_get(map, KEY_MACHINE_PARTS_KIND).word == (int)kind;

		if (!scenario_has(map, key))
			continue;
		if (!is_its)
			scenario_inside_refuse(in, map, key, NULL, expected);
		else if (multiple == 0 && !is_power(scenario_get(map, key).number))
			scenario_inside_refuse(in, map, key, NULL, "a power of two");
		else if (multiple > 0 && scenario_get(map, key).number % multiple)
			scenario_inside_refuse(in, map, key, NULL, "a multiple of 2MiB");
	}
}

/* True: a name is not what it has to be, which is told. */
static bool check_devices(struct scenario_inside *in)
{
	if (scenario_inside_count(in->machine, SCENARIO_ADAPTER) == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no part of kind: nic",
				       "nic0 at least");
	check_own(in, KEY_MACHINE_PARTS_MEMORY, SCENARIO_GPU, GPU_MEMORY_BLOCK,
		  "kind: gpu beside it");
	check_own(in, KEY_MACHINE_PARTS_BAR1, SCENARIO_GPU, 1, "kind: gpu beside it");
	check_own(in, KEY_MACHINE_PARTS_ORDERING, SCENARIO_GPU, 1, "kind: gpu beside it");
	check_own(in, KEY_MACHINE_PARTS_NUMA, SCENARIO_SOCKET, 1, "kind: socket beside it");
	check_own(in, KEY_MACHINE_PARTS_PEERS, SCENARIO_SOCKET, 1, "kind: socket beside it");
	check_own(in, KEY_MACHINE_PARTS_PEER_PAYLOAD, SCENARIO_SOCKET, 0, "kind: socket beside it");
	check_own(in, KEY_MACHINE_PARTS_ACS, SCENARIO_PCIE_SWITCH, 1, "kind: switch beside it");
	check_own(in, KEY_MACHINE_PARTS_BRIDGES, SCENARIO_SOCKET, 1, "kind: socket beside it");
	return check_names(in, SCENARIO_ADAPTER, "nic") || check_names(in, SCENARIO_GPU, "gpu");
}

/* Where memory is, all of it or some. */
static void check_sockets(struct scenario_inside *in)
{
	const struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_MEMORY);
	const int64_t part =
		node && node->meaning ? scenario_inside_find_part(machine, node->text) : -1;

	if (scenario_inside_count(machine, SCENARIO_SOCKET) == 0)
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no part of kind: socket",
				       "one at least");
	else if (scenario_inside_is_wrong(in->map, KEY_MACHINE_MEMORY))
		in->is_bad = true;
	else if (node && (part < 0 || machine->parts[part].kind != SCENARIO_SOCKET))
		scenario_inside_refuse(in, in->map, KEY_MACHINE_MEMORY, NULL,
				       "the name of a socket");
}

void scenario_inside_read_parts(struct scenario_inside *in)
{
	read_all_parts(in);
	in->parts_bad = in->is_bad;
	if (in->is_bad || in->r->no_memory)
		return;
	check_sockets(in);
	in->parts_bad = check_devices(in);
}
