/* SPDX-License-Identifier: BSD-2-Clause */

/* The lanes of machines: what they are, and that there is one way at most between any two parts. */
#include "models/scenario/inside.h"

#include <string.h>

/* Of ends of lanes nothing is said where it may be the parts that are bad. */
static bool machine_find_end(struct scenario_inside *in, const struct yaml_node *map,
			     enum scenario_key key, uint32_t *ret_part)
{
	const struct yaml_node *node = scenario_node(map, key);
	int64_t part;

	*ret_part = 0;
	if (!node || !node->meaning) {
		in->is_bad = true; /* reported */
		return false;
	}
	part = scenario_inside_find_part(in->machine, node->text);
	if (part < 0 && !in->parts_bad)
		scenario_inside_refuse(in, map, key, NULL, "the name of a part");
	*ret_part = (uint32_t)part;
	return part >= 0;
}

static bool is_yes(const struct yaml_node *map, enum scenario_key key)
{
	return scenario_get(map, key).word == 1;
}

static struct bus_link link_of(const struct yaml_node *map)
{
	if (scenario_get(map, KEY_MACHINE_LANES_KIND).word == 0)
		return (struct bus_link){
			.kind = BUS_PCIE,
			.pcie = {
				.gen = (uint8_t)scenario_inside_number(map, KEY_MACHINE_LANES_GEN),
				.width = (uint8_t)scenario_inside_number(map,
									 KEY_MACHINE_LANES_WIDTH),
				.mps = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_MPS),
				.mrrs = (uint16_t)scenario_inside_number(map,
									 KEY_MACHINE_LANES_MRRS),
				.has_dllps = is_yes(map, KEY_MACHINE_LANES_DLLPS),
				.has_ecrc = is_yes(map, KEY_MACHINE_LANES_ECRC)}};
	return (struct bus_link){
		.kind = BUS_PLAIN,
		.plain = {
			.rate_bps = scenario_get(map, KEY_MACHINE_LANES_RATE).number,
			.payload = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_PAYLOAD),
			.overhead =
				(uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_OVERHEAD)}};
}

/* Keys of another kind of lane than its own would have no effect. */
static void check_kind(struct scenario_inside *in, const struct yaml_node *map, bool is_pcie)
{
	static const enum scenario_key of_pcie[] = {
		KEY_MACHINE_LANES_GEN,	KEY_MACHINE_LANES_WIDTH, KEY_MACHINE_LANES_MPS,
		KEY_MACHINE_LANES_MRRS, KEY_MACHINE_LANES_DLLPS, KEY_MACHINE_LANES_ECRC};
	static const enum scenario_key of_others[] = {
		KEY_MACHINE_LANES_RATE, KEY_MACHINE_LANES_PAYLOAD, KEY_MACHINE_LANES_OVERHEAD};
	const enum scenario_key *keys = is_pcie ? of_others : of_pcie;
	const size_t count = is_pcie ? sizeof(of_others) / sizeof(of_others[0])
				     : sizeof(of_pcie) / sizeof(of_pcie[0]);

	for (size_t i = 0; i < count; i++)
		if (scenario_has(map, keys[i]))
			scenario_inside_refuse(in, map, keys[i], NULL,
					       is_pcie ? "kind: upi, xgmi or c2c beside it"
						       : "kind: pcie beside it, as by default");
}

static void check_pcie(struct scenario_inside *in, const struct yaml_node *map,
		       const struct pcie_link *link)
{
	const struct pcie_link of_width = {.gen = 1, .width = link->width, .mps = 64, .mrrs = 64};

	if (!pcie_link_is_valid(&of_width))
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_WIDTH, NULL,
				       "1, 2, 4, 8, 12, 16 or 32");
	if (link->mps & (link->mps - 1))
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_MPS, NULL, "a power of two");
	if (link->mrrs & (link->mrrs - 1))
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_MRRS, NULL, "a power of two");
}

static void check_plain(struct scenario_inside *in, const struct yaml_node *map,
			const struct bus_plain *link)
{
	struct bad_text expected;

	if (scenario_inside_is_wrong(map, KEY_MACHINE_LANES_RATE))
		in->is_bad = true;
	else if (link->rate_bps == 0)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_RATE, NULL,
				       bad_text(&expected,
						"a rate, such as 320Gbps, beside kind: %.10s",
						scenario_node(map, KEY_MACHINE_LANES_KIND)->text));
	if (link->payload % BUS_CREDIT_BYTES != 0)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_PAYLOAD, NULL,
				       "a multiple of 16");
}

/* False: it is bad. */
static bool check_link(struct scenario_inside *in, const struct yaml_node *map,
		       const struct bus_link *link)
{
	if (scenario_inside_is_wrong(map, KEY_MACHINE_LANES_KIND)) {
		in->is_bad = true;
		return false;
	}
	check_kind(in, map, link->kind == BUS_PCIE);
	if (link->kind == BUS_PCIE)
		check_pcie(in, map, &link->pcie);
	else
		check_plain(in, map, &link->plain);
	return bus_link_is_valid(link);
}

/* Room for headers, of key @h, and for data, of key @d, or for both without end. */
static void check_room(struct scenario_inside *in, const struct yaml_node *map, enum scenario_key h,
		       enum scenario_key d, const struct bus_credits *room, uint32_t packet)
{
	const char *headers = scenario_row_key(scenario_row_at(h));
	const char *data = scenario_row_key(scenario_row_at(d));
	const uint32_t least = packet / BUS_CREDIT_BYTES;
	struct bad_text expected;

	if (scenario_inside_is_wrong(map, h) || scenario_inside_is_wrong(map, d))
		in->is_bad = true;
	else if (room->headers == 0 && room->data > 0)
		scenario_inside_refuse(
			in, map, scenario_has(map, h) ? h : d, NULL,
			bad_text(&expected, "%s and %s at 0, or both above", headers, data));
	else if (room->headers > 0 && room->data < least)
		scenario_inside_refuse(
			in, map, scenario_has(map, d) ? d : h, NULL,
			bad_text(&expected,
				 "%s at least %u, for a packet of %u bytes, or %s and %s at 0",
				 data, least, packet, headers, data));
}

static void read_room(struct scenario_inside *in, const struct yaml_node *map,
		      struct bus_lane_params *lane)
{
	struct bus_credits *posted = &lane->room[BUS_POSTED];
	struct bus_credits *completion = &lane->room[BUS_COMPLETION];
	const uint32_t packet = bus_link_payload(&lane->link);

	*posted = (struct bus_credits){scenario_inside_number(map, KEY_MACHINE_LANES_PH),
				       scenario_inside_number(map, KEY_MACHINE_LANES_PD)};
	*completion = (struct bus_credits){scenario_inside_number(map, KEY_MACHINE_LANES_CPLH),
					   scenario_inside_number(map, KEY_MACHINE_LANES_CPLD)};
	lane->room[BUS_NON_POSTED].headers = scenario_inside_number(map, KEY_MACHINE_LANES_NPH);
	check_room(in, map, KEY_MACHINE_LANES_PH, KEY_MACHINE_LANES_PD, posted, packet);
	check_room(in, map, KEY_MACHINE_LANES_CPLH, KEY_MACHINE_LANES_CPLD, completion, packet);
}

/* Two parts are joined: of all that now are, in @pieces, the number is the same. False: they were,
 * or are one. */
static bool check_join(struct scenario_inside *in, const struct yaml_node *map, uint32_t a,
		       uint32_t b, uint16_t *pieces)
{
	const struct scenario_machine *machine = in->machine;
	const uint16_t from = pieces[b], to = pieces[a];
	struct bad_text found;

	if (a == b)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B, NULL, "another part than a");
	else if (from == to)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B,
				       bad_text(&found, "a second way from %s to %s",
						machine->parts[a].name, machine->parts[b].name),
				       "one way between any two parts");
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (pieces[i] == from)
			pieces[i] = to;
	return from != to;
}

static void put_lane(struct scenario_machine *machine, const struct bus_lane_params *lane,
		     uint8_t kind)
{
	uint32_t place = 0;

	while (place < machine->lane_count &&
	       (machine->lanes[place].a < lane->a ||
		(machine->lanes[place].a == lane->a && machine->lanes[place].b < lane->b)))
		place++;
	memmove(machine->lanes + place + 1, machine->lanes + place,
		(machine->lane_count - place) * sizeof(*machine->lanes));
	memmove(machine->lane_kinds + place + 1, machine->lane_kinds + place,
		machine->lane_count - place);
	machine->lanes[place] = *lane;
	machine->lane_kinds[place] = kind;
	machine->lane_count++;
}

static void read_lane(struct scenario_inside *in, const struct yaml_node *map, uint16_t *pieces)
{
	struct bus_lane_params lane = {
		.link = link_of(map),
		.delay = scenario_get(map, KEY_MACHINE_LANES_DELAY).number,
		.update = scenario_get(map, KEY_MACHINE_LANES_UPDATE).number,
		.relaxed = is_yes(map, KEY_MACHINE_LANES_RELAXED),
		.peer_writes_bps = scenario_get(map, KEY_MACHINE_LANES_PEER_WRITES).number,
		.peer_reads_bps = scenario_get(map, KEY_MACHINE_LANES_PEER_READS).number};
	uint32_t a, b;
	const bool has_a = machine_find_end(in, map, KEY_MACHINE_LANES_A, &a);
	const bool has_b = machine_find_end(in, map, KEY_MACHINE_LANES_B, &b);

	if (check_link(in, map, &lane.link))
		read_room(in, map, &lane);
	if (!has_a || !has_b || !check_join(in, map, a, b, pieces))
		return;
	lane.a = a < b ? a : b;
	lane.b = a < b ? b : a;
	put_lane(in->machine, &lane, (uint8_t)scenario_get(map, KEY_MACHINE_LANES_KIND).word);
}

void scenario_inside_read_lanes(struct scenario_inside *in)
{
	const struct yaml_node *list = scenario_node(in->map, KEY_MACHINE_LANES);
	struct scenario_machine *machine = in->machine;
	uint16_t pieces[BUS_PARTS_MAX];

	machine->lanes = scenario_alloc(in->r, machine->part_count + 1, sizeof(*machine->lanes));
	machine->lane_kinds = scenario_alloc(in->r, machine->part_count + 1, 1);
	for (uint16_t i = 0; i < BUS_PARTS_MAX; i++)
		pieces[i] = i;
	in->is_bad |= list && list->kind != YAML_LIST; /* reported */
	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_LANES);
	     map && !in->r->no_memory; map = map->next)
		if (map->kind == YAML_MAP)
			read_lane(in, map, pieces);
		else
			in->is_bad = true; /* reported */
}
