/* SPDX-License-Identifier: BSD-2-Clause */

/* The lanes of machines: what they are, and that there is one way at most between any two parts,
 * and one lane of NVLink beside it. */
#include "models/scenario/inside.h"

#include <string.h>

/* Of ends of lanes nothing is said where it may be the parts that are bad. */
static bool machine_find_end(struct scenario_inside *in, const struct yaml_node *map,
			     enum scenario_key key, uint32_t *ret_part)
{
	const struct yaml_node *node = scenario_node(map, key);
	struct bad_text expected;
	int64_t part;

	*ret_part = 0;
	if (!node || !node->meaning) {
		in->is_bad = true; /* reported */
		return false;
	}
	part = scenario_inside_find_part(in->machine, node->text);
	if (part < 0 && !in->parts_bad)
		scenario_inside_refuse(
			in, map, key, NULL,
			scenario_inside_names(in->machine, "the name of a part", &expected));
	*ret_part = (uint32_t)part;
	return part >= 0;
}

static bool is_yes(const struct yaml_node *map, enum scenario_key key)
{
	return scenario_get(map, key).word == 1;
}

/* Places among the words of the key. */
enum { LANE_PCIE, LANE_XGMI = 2, LANE_NVLINK = 4 };

static struct pcie_link pcie_of(const struct yaml_node *map)
{
	return (struct pcie_link){
		.gen = (uint8_t)scenario_inside_number(map, KEY_MACHINE_LANES_GEN),
		.width = (uint8_t)scenario_inside_number(map, KEY_MACHINE_LANES_WIDTH),
		.mps = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_MPS),
		.mrrs = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_MRRS),
		.dllps = (uint8_t)scenario_get(map, KEY_MACHINE_LANES_DLLPS).word,
		.has_ecrc = is_yes(map, KEY_MACHINE_LANES_ECRC)};
}

static struct bus_plain plain_of(const struct yaml_node *map)
{
	return (struct bus_plain){
		.rate_bps = scenario_get(map, KEY_MACHINE_LANES_RATE).number,
		.payload = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_PAYLOAD),
		.overhead = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_OVERHEAD)};
}

/* Its payload, unlike that of plain lanes, is the largest where the key is left out. */
static struct nvlink_link nvlink_of(const struct yaml_node *map)
{
	const uint32_t gen = scenario_inside_number(map, KEY_MACHINE_LANES_GEN);
	const uint32_t overhead = scenario_inside_number(map, KEY_MACHINE_LANES_OVERHEAD);
	struct nvlink_link link = {
		.gen = (uint8_t)gen,
		.links = (uint8_t)scenario_inside_number(map, KEY_MACHINE_LANES_LINKS),
		.payload = NVLINK_PAYLOAD_MAX,
		.has_extension = overhead > NVLINK_FLIT_BYTES,
		.has_enables = overhead > 2 * NVLINK_FLIT_BYTES};

	if (scenario_has(map, KEY_MACHINE_LANES_PAYLOAD))
		link.payload = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_PAYLOAD);
	if (scenario_has(map, KEY_MACHINE_LANES_RATE))
		link.rate_bps = scenario_get(map, KEY_MACHINE_LANES_RATE).number;
	else if (gen <= NVLINK_GENS)
		link.rate_bps = nvlink_rate((uint8_t)gen);
	return link;
}

/* xGMI between GPUs is a second graph of lanes, too, from neighbour to neighbour. Its packets and
 * responses are not public; with a header of 16 bytes for each 64 and a response as NVLink has it,
 * four fifths of a lane are payload, of which 48 of 64 GB/s were measured (ROCm/rccl issue 1210).
 */
static struct nvlink_link xgmi_of(const struct yaml_node *map)
{
	struct nvlink_link link = nvlink_of(map);

	link.gen = link.links = 1;
	link.rate_bps = scenario_get(map, KEY_MACHINE_LANES_RATE).number;
	link.payload = (uint16_t)scenario_inside_number(map, KEY_MACHINE_LANES_PAYLOAD);
	return link;
}

static struct bus_link link_of(const struct yaml_node *map, bool is_of_gpus)
{
	switch (scenario_get(map, KEY_MACHINE_LANES_KIND).word) {
	case LANE_XGMI:
		if (is_of_gpus)
			return (struct bus_link){.kind = BUS_NVLINK, .nvlink = xgmi_of(map)};
		return (struct bus_link){.kind = BUS_PLAIN, .plain = plain_of(map)};
	case LANE_PCIE:
		return (struct bus_link){.kind = BUS_PCIE, .pcie = pcie_of(map)};
	case LANE_NVLINK:
		return (struct bus_link){.kind = BUS_NVLINK, .nvlink = nvlink_of(map)};
	default:
		return (struct bus_link){.kind = BUS_PLAIN, .plain = plain_of(map)};
	}
}

/* Keys of another kind of lane than its own would have no effect. */
static void check_kind(struct scenario_inside *in, const struct yaml_node *map,
		       enum bus_link_kind kind)
{
	enum { PCIE = 1 << BUS_PCIE, PLAIN = 1 << BUS_PLAIN, NVLINK = 1 << BUS_NVLINK };
	static const struct {
		enum scenario_key key;
		unsigned of;
	} keys[] = {{KEY_MACHINE_LANES_GEN, PCIE | NVLINK},
		    {KEY_MACHINE_LANES_WIDTH, PCIE},
		    {KEY_MACHINE_LANES_MPS, PCIE},
		    {KEY_MACHINE_LANES_MRRS, PCIE},
		    {KEY_MACHINE_LANES_DLLPS, PCIE},
		    {KEY_MACHINE_LANES_ECRC, PCIE},
		    {KEY_MACHINE_LANES_LINKS, NVLINK},
		    {KEY_MACHINE_LANES_RATE, PLAIN | NVLINK},
		    {KEY_MACHINE_LANES_PAYLOAD, PLAIN | NVLINK},
		    {KEY_MACHINE_LANES_OVERHEAD, PLAIN | NVLINK}};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (!(keys[i].of >> kind & 1) && scenario_has(map, keys[i].key))
			scenario_inside_refuse(
				in, map, keys[i].key, NULL,
				keys[i].of == PCIE     ? "kind: pcie beside it, as by default"
				: keys[i].of == NVLINK ? "kind: nvlink beside it"
				: keys[i].of == (PCIE | NVLINK) ? "kind: pcie or nvlink beside it"
								: "kind: upi, xgmi, c2c or nvlink "
								  "beside it");
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

static void check_nvlink(struct scenario_inside *in, const struct yaml_node *map,
			 const struct nvlink_link *link)
{
	const uint32_t overhead = scenario_inside_number(map, KEY_MACHINE_LANES_OVERHEAD);

	if (link->gen > NVLINK_GENS)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_GEN, NULL,
				       "1 to 5 beside kind: nvlink");
	if (link->payload > NVLINK_PAYLOAD_MAX || link->payload % NVLINK_FLIT_BYTES != 0)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_PAYLOAD, NULL,
				       "a multiple of 16 up to 256 beside kind: nvlink");
	if (overhead > 3 * NVLINK_FLIT_BYTES || overhead % NVLINK_FLIT_BYTES != 0)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_OVERHEAD, NULL,
				       "16B, 32B or 48B beside kind: nvlink");
	in->is_bad |= scenario_inside_is_wrong(map, KEY_MACHINE_LANES_RATE) ||
		      scenario_inside_is_wrong(map, KEY_MACHINE_LANES_LINKS); /* reported */
}

/* False: it is bad. */
static bool check_link(struct scenario_inside *in, const struct yaml_node *map,
		       const struct bus_link *link)
{
	const bool is_plain = scenario_get(map, KEY_MACHINE_LANES_KIND).word != LANE_NVLINK &&
			      link->kind != BUS_PCIE;
	const struct bus_plain plain = plain_of(map);

	if (scenario_inside_is_wrong(map, KEY_MACHINE_LANES_KIND)) {
		in->is_bad = true;
		return false;
	}
	check_kind(in, map, is_plain ? BUS_PLAIN : link->kind);
	if (link->kind == BUS_PCIE)
		check_pcie(in, map, &link->pcie);
	else if (is_plain)
		check_plain(in, map, &plain);
	if (link->kind == BUS_NVLINK)
		check_nvlink(in, map, &link->nvlink);
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

/* False: what is at an end of the lane has none of its kind. */
static bool check_ends(struct scenario_inside *in, const struct yaml_node *map, uint32_t a,
		       uint32_t b, bool is_nvlink)
{
	const enum scenario_part_kind kinds[] = {in->machine->parts[a].kind,
						 in->machine->parts[b].kind};
	static const enum scenario_key keys[] = {KEY_MACHINE_LANES_A, KEY_MACHINE_LANES_B};

	for (int end = 0; end < 2; end++) {
		const bool is_nvswitch = kinds[end] == SCENARIO_NVSWITCH;
		const bool has_nvlink =
			is_nvswitch || kinds[end] == SCENARIO_GPU || kinds[end] == SCENARIO_SOCKET;

		if (is_nvlink ? has_nvlink : !is_nvswitch)
			continue;
		scenario_inside_refuse(in, map, keys[end], NULL,
				       is_nvlink ? "a gpu, nvswitch or socket beside kind: nvlink"
						 : "kind: nvlink beside an nvswitch");
		return false;
	}
	if (is_nvlink && kinds[0] == SCENARIO_SOCKET && kinds[1] == SCENARIO_SOCKET) {
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B, NULL,
				       "a gpu or nvswitch at one end of kind: nvlink");
		return false;
	}
	return true;
}

/* Two parts have a lane of NVLink. False: they had, or are one. */
static bool check_pair(struct scenario_inside *in, const struct yaml_node *map, uint32_t a,
		       uint32_t b)
{
	const struct scenario_machine *machine = in->machine;
	const uint32_t low = a < b ? a : b, high = a < b ? b : a;
	struct bad_text found;

	if (a == b) {
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B, NULL, "another part than a");
		return false;
	}
	for (uint32_t i = 0; i < machine->lane_count; i++) {
		const struct bus_lane_params *lane = &machine->lanes[i];

		if (lane->link.kind != BUS_NVLINK || lane->a != low || lane->b != high)
			continue;
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B,
				       bad_text(&found,
						"a second lane of kind: nvlink from %s to %s",
						machine->parts[a].name, machine->parts[b].name),
				       "one between any two parts, with links: 2 or more");
		return false;
	}
	return true;
}

/* Two parts are joined: of all that now are, in @pieces, the number is the same. False: they were,
 * or are one. */
static bool check_join(struct scenario_inside *in, const struct yaml_node *map, uint32_t a,
		       uint32_t b, uint16_t *pieces)
{
	const struct scenario_machine *machine = in->machine;
	const uint16_t from = pieces[b], to = pieces[a];
	struct bad_text found, expected, way;

	if (a == b)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B, NULL, "another part than a");
	else if (from == to)
		scenario_inside_refuse(in, map, KEY_MACHINE_LANES_B,
				       bad_text(&found, "a second way from %s to %s",
						machine->parts[a].name, machine->parts[b].name),
				       bad_text(&expected,
						"one way between any two parts, here %.400s",
						scenario_inside_way(machine, a, b, &way)));
	for (uint32_t i = 0; i < machine->part_count; i++)
		if (pieces[i] == from)
			pieces[i] = to;
	return from != to;
}

static bool lane_is_before(const struct bus_lane_params *x, const struct bus_lane_params *y)
{
	const bool x_is_nvlink = x->link.kind == BUS_NVLINK;

	if (x_is_nvlink != (y->link.kind == BUS_NVLINK))
		return !x_is_nvlink;
	return x->a != y->a ? x->a < y->a : x->b < y->b;
}

static void put_lane(struct scenario_machine *machine, const struct bus_lane_params *lane,
		     uint8_t kind)
{
	uint32_t place = 0;

	while (place < machine->lane_count && lane_is_before(&machine->lanes[place], lane))
		place++;
	memmove(machine->lanes + place + 1, machine->lanes + place,
		(machine->lane_count - place) * sizeof(*machine->lanes));
	memmove(machine->lane_kinds + place + 1, machine->lane_kinds + place,
		machine->lane_count - place);
	machine->lanes[place] = *lane;
	machine->lane_kinds[place] = kind;
	machine->lane_count++;
}

static void read_lane(struct scenario_inside *in, const struct yaml_node *map, uint32_t entry,
		      uint16_t *pieces)
{
	struct bus_lane_params lane = {
		.entry = entry,
		.delay = scenario_get(map, KEY_MACHINE_LANES_DELAY).number,
		.update = scenario_get(map, KEY_MACHINE_LANES_UPDATE).number,
		.relaxed = is_yes(map, KEY_MACHINE_LANES_RELAXED),
		.peer_writes_bps = scenario_get(map, KEY_MACHINE_LANES_PEER_WRITES).number,
		.peer_reads_bps = scenario_get(map, KEY_MACHINE_LANES_PEER_READS).number};
	uint32_t a, b;
	const bool has_a = machine_find_end(in, map, KEY_MACHINE_LANES_A, &a);
	const bool has_b = machine_find_end(in, map, KEY_MACHINE_LANES_B, &b);
	bool is_nvlink;

	lane.link = link_of(map, has_a && has_b && in->machine->parts[a].kind == SCENARIO_GPU &&
					 in->machine->parts[b].kind == SCENARIO_GPU);
	is_nvlink = lane.link.kind == BUS_NVLINK;
	if (check_link(in, map, &lane.link))
		read_room(in, map, &lane);
	if (!has_a || !has_b || !check_ends(in, map, a, b, is_nvlink))
		return;
	if (is_nvlink ? !check_pair(in, map, a, b) : !check_join(in, map, a, b, pieces))
		return;
	lane.a = a < b ? a : b;
	lane.b = a < b ? b : a;
	put_lane(in->machine, &lane, (uint8_t)scenario_get(map, KEY_MACHINE_LANES_KIND).word);
}

/* The map says it itself, and has it not from a profile, a file or "machine". */
static bool is_its_own(const struct yaml_node *map, const struct yaml_node *lane)
{
	return !lane->at.is_copy && lane->at.namer == map->at.namer &&
	       lane->at.line >= map->at.line;
}

/* Those behind all others, for it is them that are wrong where there is a second way. */
static void read_lanes(struct scenario_inside *in, bool are_own, uint16_t *pieces)
{
	uint32_t entry = 0;

	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_LANES);
	     map && !in->r->no_memory; map = map->next, entry++)
		if (map->kind != YAML_MAP)
			in->is_bad = true; /* reported */
		else if (is_its_own(in->map, map) == are_own)
			read_lane(in, map, entry, pieces);
}

void scenario_inside_read_lanes(struct scenario_inside *in)
{
	const struct yaml_node *list = scenario_node(in->map, KEY_MACHINE_LANES);
	struct scenario_machine *machine = in->machine;
	const uint32_t most = list ? list->child_count : 0;
	uint16_t pieces[BUS_PARTS_MAX];

	machine->lanes = scenario_alloc(in->r, most + 1, sizeof(*machine->lanes));
	machine->lane_kinds = scenario_alloc(in->r, most + 1, 1);
	for (uint16_t i = 0; i < BUS_PARTS_MAX; i++)
		pieces[i] = i;
	in->is_bad |= list && list->kind != YAML_LIST; /* reported */
	read_lanes(in, false, pieces);
	read_lanes(in, true, pieces);
}
