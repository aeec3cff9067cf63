/* SPDX-License-Identifier: BSD-2-Clause */

/* What goes wrong inside of machines: on lanes, in one direction or both, and in parts. */
#include "models/scenario/inside.h"

#include "util/siphash.h"

#include <string.h>

struct inside_fault { /* one entry of the list */
	struct scenario_inside *in;
	const struct yaml_node *map;
	struct bus_fault fault;
	const struct bus_lane_params *lane; /* NULL: it is a part's */
	uint32_t links;			    /* of a lane of NVLink: bits */
	bool is_bad;
};

static void fault_refuse(struct inside_fault *f, enum scenario_key key, const char *found,
			 const char *expected)
{
	f->is_bad = true;
	scenario_inside_refuse(f->in, f->map, key, found, expected);
}

/* ---- where ---- */

/* A part of the machine. False: there is none of that name, which is told. */
static bool fault_find_part(struct inside_fault *f, enum scenario_key key, uint16_t *ret_part)
{
	const struct yaml_node *node = scenario_node(f->map, key);
	const int64_t part =
		node && node->meaning ? scenario_inside_find_part(f->in->machine, node->text) : -1;
	struct bad_text expected;

	if (scenario_inside_is_wrong(f->map, key))
		f->in->is_bad = f->is_bad = true;
	else if (part < 0)
		fault_refuse(
			f, key, NULL,
			scenario_inside_names(f->in->machine, "the name of a part", &expected));
	*ret_part = (uint16_t)part;
	return part >= 0;
}

static void fault_find_lane(struct inside_fault *f)
{
	const struct scenario_machine *machine = f->in->machine;
	struct bad_text found;
	uint16_t a, b;

	if (!fault_find_part(f, KEY_MACHINE_FAULTS_A, &a) ||
	    !fault_find_part(f, KEY_MACHINE_FAULTS_B, &b))
		return;
	for (uint32_t i = 0; i < machine->lane_count; i++) {
		const struct bus_lane_params *lane = &machine->lanes[i];

		/* NVLink is the last. */
		if (lane->a == (a < b ? a : b) && lane->b == (a < b ? b : a) &&
		    (!f->lane || scenario_has(f->map, KEY_MACHINE_FAULTS_LINKS)))
			f->lane = lane;
	}
	if (!f->lane)
		fault_refuse(f, KEY_MACHINE_FAULTS_B,
			     bad_text(&found, "no lane from %s to %s", machine->parts[a].name,
				      machine->parts[b].name),
			     "the other end of a lane of a");
}

static void fault_find_place(struct inside_fault *f)
{
	const bool is_part = scenario_has(f->map, KEY_MACHINE_FAULTS_PART);
	static const enum scenario_key of_lanes[] = {
		KEY_MACHINE_FAULTS_A,	  KEY_MACHINE_FAULTS_B,	   KEY_MACHINE_FAULTS_SENDER,
		KEY_MACHINE_FAULTS_LINKS, KEY_MACHINE_FAULTS_BER,  KEY_MACHINE_FAULTS_DOWN,
		KEY_MACHINE_FAULTS_GEN,	  KEY_MACHINE_FAULTS_WIDTH};

	if (!is_part) {
		if (scenario_has(f->map, KEY_MACHINE_FAULTS_LATE))
			fault_refuse(f, KEY_MACHINE_FAULTS_LATE, NULL, "part beside it");
		else
			fault_find_lane(f);
		return;
	}
	for (size_t i = 0; i < sizeof(of_lanes) / sizeof(of_lanes[0]); i++)
		if (scenario_has(f->map, of_lanes[i]))
			fault_refuse(f, of_lanes[i], NULL, "a lane instead of part beside it");
	if (!f->is_bad && fault_find_part(f, KEY_MACHINE_FAULTS_PART, &f->fault.from))
		f->fault.to = f->fault.from;
}

/* Which links of its lane, if that is of NVLink. */
static void fault_find_links(struct inside_fault *f)
{
	const struct yaml_node *list = scenario_node(f->map, KEY_MACHINE_FAULTS_LINKS);
	const bool is_nvlink = f->lane->link.kind == BUS_NVLINK;
	const uint32_t count = is_nvlink ? f->lane->link.nvlink.links : 0;
	struct bad_text found, expected;

	f->links = list ? 0 : (1u << count) - 1;
	if (list && (list->kind != YAML_LIST || !list->child))
		f->in->is_bad = f->is_bad = true; /* reported */
	for (const struct yaml_node *node = list ? list->child : NULL; node && !f->is_bad;
	     node = node->next) {
		const uint32_t link = node->meaning ? (uint32_t)scenario_value_of(node)->number : 0;

		if (!node->meaning)
			f->in->is_bad = f->is_bad = true; /* reported */
		else if (!is_nvlink)
			fault_refuse(f, KEY_MACHINE_FAULTS_LINKS, NULL, "a lane of kind: nvlink");
		else if (link >= count)
			fault_refuse(
				f, KEY_MACHINE_FAULTS_LINKS, bad_text(&found, "%u", link),
				bad_text(&expected, "0 to %u, as the lane has them", count - 1));
		else
			f->links |= 1u << link;
	}
}

/* ---- what ---- */

static void fault_read_slower(struct inside_fault *f)
{
	const struct pcie_link *link = &f->lane->link.pcie;
	const uint32_t gen = scenario_inside_number(f->map, KEY_MACHINE_FAULTS_GEN);
	const uint32_t width = scenario_inside_number(f->map, KEY_MACHINE_FAULTS_WIDTH);
	const struct pcie_link of_width = {
		.gen = 1, .width = (uint8_t)width, .mps = 64, .mrrs = 64};
	const enum scenario_key key = gen > 0 ? KEY_MACHINE_FAULTS_GEN : KEY_MACHINE_FAULTS_WIDTH;
	struct bad_text expected;

	f->fault.kind = BUS_SLOWER;
	f->fault.gen = (uint8_t)gen;
	f->fault.width = (uint8_t)width;
	if (f->lane->link.kind != BUS_PCIE)
		fault_refuse(f, key, NULL, "a lane of kind: pcie");
	else if (gen > link->gen)
		fault_refuse(f, KEY_MACHINE_FAULTS_GEN, NULL,
			     bad_text(&expected, "at most %u, as the lane has it", link->gen));
	else if (width > link->width)
		fault_refuse(f, KEY_MACHINE_FAULTS_WIDTH, NULL,
			     bad_text(&expected, "at most %u, as the lane has it", link->width));
	else if (width > 0 && !pcie_link_is_valid(&of_width))
		fault_refuse(f, KEY_MACHINE_FAULTS_WIDTH, NULL, "1, 2, 4, 8, 12, 16 or 32");
}

static void fault_read_of_lane(struct inside_fault *f)
{
	const struct yaml_node *map = f->map;
	const bool has_errors = scenario_has(map, KEY_MACHINE_FAULTS_BER);
	const bool is_down = scenario_get(map, KEY_MACHINE_FAULTS_DOWN).word == 1;
	const bool is_slower = scenario_has(map, KEY_MACHINE_FAULTS_GEN) ||
			       scenario_has(map, KEY_MACHINE_FAULTS_WIDTH);

	if (has_errors + is_down + is_slower != 1) {
		fault_refuse(f, KEY_MACHINE_FAULTS,
			     has_errors + is_down + is_slower == 0 ? "no fault" : "several faults",
			     "one of ber, down, gen and width, or late");
	} else if (has_errors) {
		f->fault.kind = BUS_ERRORS;
		f->fault.errors_ppt = scenario_inside_number(map, KEY_MACHINE_FAULTS_BER);
	} else if (is_slower) {
		fault_read_slower(f);
	} else {
		f->fault.kind = BUS_DOWN;
		if (!scenario_has(map, KEY_MACHINE_FAULTS_UNTIL) && f->links == 0)
			fault_refuse(f, KEY_MACHINE_FAULTS_DOWN, NULL,
				     "until beside it: a lane that does not come back takes its "
				     "machine along");
	}
}

static void fault_read_what(struct inside_fault *f)
{
	if (f->lane) {
		fault_read_of_lane(f);
		return;
	}
	f->fault.kind = BUS_LATE;
	f->fault.late = scenario_get(f->map, KEY_MACHINE_FAULTS_LATE).number;
	if (scenario_inside_is_wrong(f->map, KEY_MACHINE_FAULTS_LATE))
		f->in->is_bad = f->is_bad = true;
	else if (f->fault.late == 0)
		fault_refuse(f, KEY_MACHINE_FAULTS_PART, NULL, "late beside it");
}

static void fault_read_when(struct inside_fault *f)
{
	const bool has_end = scenario_has(f->map, KEY_MACHINE_FAULTS_UNTIL);

	f->fault.from_at = scenario_get(f->map, KEY_MACHINE_FAULTS_FROM).number;
	f->fault.until_at =
		has_end ? scenario_get(f->map, KEY_MACHINE_FAULTS_UNTIL).number : PS_NEVER;
	if (scenario_inside_is_wrong(f->map, KEY_MACHINE_FAULTS_UNTIL) ||
	    scenario_inside_is_wrong(f->map, KEY_MACHINE_FAULTS_FROM))
		f->in->is_bad = f->is_bad = true;
	else if (f->fault.until_at <= f->fault.from_at)
		fault_refuse(f, KEY_MACHINE_FAULTS_UNTIL, NULL, "a time after from");
}

/* ---- all of them ---- */

/* In order of what it happens to. */
static void fault_put(struct scenario_machine *machine, const struct bus_fault *fault)
{
	uint32_t place = machine->fault_count++;

	for (; place > 0; place--) {
		const struct bus_fault *before = &machine->faults[place - 1];

		if (bus_fault_order(before) <= bus_fault_order(fault))
			break;
		machine->faults[place] = *before;
	}
	machine->faults[place] = *fault;
}

static void fault_put_way(struct inside_fault *f, uint32_t from, uint32_t to)
{
	const struct scenario_machine *machine = f->in->machine;
	uint64_t words[] = {util_hash_name(machine->parts[from].name),
			    util_hash_name(machine->parts[to].name), 0};

	f->fault.from = (uint16_t)from;
	f->fault.to = (uint16_t)to;
	f->fault.id = util_hash_words((struct util_key){0, 0}, words, 2);
	f->fault.is_nvlink = f->links > 0;
	if (!f->fault.is_nvlink)
		fault_put(f->in->machine, &f->fault);
	for (uint32_t link = 0; link < NVLINK_LINKS_MAX; link++) {
		if (!(f->links >> link & 1))
			continue;
		words[2] = link;
		f->fault.link = (uint8_t)link;
		f->fault.id = util_hash_words((struct util_key){0, 0}, words, 3);
		fault_put(f->in->machine, &f->fault);
	}
}

static void fault_put_ways(struct inside_fault *f)
{
	const bool has_sender = scenario_has(f->map, KEY_MACHINE_FAULTS_SENDER);
	uint16_t sender = 0;

	if (has_sender && !fault_find_part(f, KEY_MACHINE_FAULTS_SENDER, &sender))
		return;
	if (has_sender && sender != f->lane->a && sender != f->lane->b) {
		fault_refuse(f, KEY_MACHINE_FAULTS_SENDER, NULL, "one of a and b");
		return;
	}
	if (!has_sender || sender == f->lane->a)
		fault_put_way(f, f->lane->a, f->lane->b);
	if (!has_sender || sender == f->lane->b)
		fault_put_way(f, f->lane->b, f->lane->a);
}

static void inside_read_fault(struct scenario_inside *in, const struct yaml_node *map,
			      uint32_t entry)
{
	struct inside_fault f = {.in = in, .map = map, .fault.entry = entry};

	fault_find_place(&f);
	if (!f.is_bad && f.lane)
		fault_find_links(&f);
	if (!f.is_bad)
		fault_read_when(&f);
	if (!f.is_bad)
		fault_read_what(&f);
	if (f.is_bad)
		return;
	if (f.lane)
		fault_put_ways(&f);
	else
		fault_put(in->machine, &f.fault);
}

void scenario_inside_read_faults(struct scenario_inside *in)
{
	const struct yaml_node *list = scenario_node(in->map, KEY_MACHINE_FAULTS);
	uint32_t entry = 0;

	if (in->is_bad || in->r->no_memory || !list)
		return;
	in->is_bad = list->kind != YAML_LIST; /* reported */
	in->machine->faults =
		scenario_alloc(in->r, 2 * NVLINK_LINKS_MAX * (size_t)list->child_count + 1,
			       sizeof(*in->machine->faults));
	for (const struct yaml_node *map = scenario_inside_entries(in->map, KEY_MACHINE_FAULTS);
	     map && !in->r->no_memory; map = map->next, entry++)
		if (map->kind == YAML_MAP)
			inside_read_fault(in, map, entry);
		else
			in->is_bad = true; /* reported */
}
