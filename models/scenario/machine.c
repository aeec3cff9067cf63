/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* What is inside of machines: "machine" of all, "machines" of some. */

struct inside {
	struct scenario_reader *r;
	const struct yaml_node *map;
	enum scenario_key of; /* KEY_MACHINE or KEY_MACHINES */
	struct scenario_machine *machine;
	bool is_bad; /* what is said of it would only bring more errors */
};

void scenario_free_machine(struct scenario_machine *machine)
{
	for (uint32_t i = 0; i < machine->part_count; i++) {
		util_free(machine->parts[i].name);
		util_free(machine->parts[i].address);
	}
	util_free(machine->parts);
	util_free(machine->params);
	util_free(machine->lanes);
	util_free(machine->lane_kinds);
	util_free(machine->nics);
	util_free(machine->adapters);
}

/* @key, one of "machine", is wrong in @map, the innermost that it is in. @found NULL: what it says.
 */
static void inside_refuse(struct inside *in, const struct yaml_node *map, enum scenario_key key,
			  const char *found, const char *expected)
{
	const struct yaml_node *node = scenario_node(map, key);
	struct bad_text place, whole, path, content;

	in->is_bad = true;
	bad_text(&path, "%.100s%.100s", scenario_shown_map(&place, in->map, in->of),
		 scenario_shown(&whole, map, key) + strlen(scenario_path(KEY_MACHINE)));
	bad(in->r->errors, node ? &node->at : &map->at, path.text,
	    found ? found : yaml_content(&content, node), expected);
}

static const struct yaml_node *entries(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *list = scenario_node(map, key);

	return list && list->kind == YAML_LIST ? list->child : NULL;
}

static uint32_t entry_count(const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *list = scenario_node(map, key);

	return list && list->kind == YAML_LIST ? list->child_count : 0;
}

static uint32_t machine_number(const struct yaml_node *map, enum scenario_key key)
{
	return (uint32_t)scenario_get(map, key).number;
}

/* ---- parts ---- */

/* -1: there is none of that name. */
static int64_t find_part(const struct scenario_machine *machine, const char *name)
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

static void read_part(struct inside *in, const struct yaml_node *map)
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
	if (find_part(machine, name->text) >= 0) {
		inside_refuse(in, map, KEY_MACHINE_PARTS_NAME,
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
		.numa = (uint8_t)machine_number(map, KEY_MACHINE_PARTS_NUMA),
		.address = scenario_text(in->r, map, KEY_MACHINE_PARTS_ADDRESS, NULL)};
	machine->params[place] = (struct bus_part_params){
		.latency = scenario_get(map, KEY_MACHINE_PARTS_LATENCY).number,
		.tags = machine_number(map, KEY_MACHINE_PARTS_TAGS)};
	machine->part_count++;
}

static void read_all_parts(struct inside *in)
{
	const uint32_t count = entry_count(in->map, KEY_MACHINE_PARTS);

	if (count < 2) {
		inside_refuse(in, in->map, KEY_MACHINE_PARTS, NULL, "two parts at least");
		return;
	}
	in->machine->parts = scenario_alloc(in->r, count, sizeof(*in->machine->parts));
	in->machine->params = scenario_alloc(in->r, count, sizeof(*in->machine->params));
	if (!in->machine->parts || !in->machine->params)
		return;
	for (const struct yaml_node *map = entries(in->map, KEY_MACHINE_PARTS); map;
	     map = map->next)
		if (map->kind == YAML_MAP && !in->r->no_memory)
			read_part(in, map);
}

/* ---- lanes ---- */

static bool machine_find_end(struct inside *in, const struct yaml_node *map, enum scenario_key key,
			     uint32_t *ret_part)
{
	const struct yaml_node *node = scenario_node(map, key);
	int64_t part;

	if (!node || !node->meaning) {
		in->is_bad = true; /* reported */
		return false;
	}
	part = find_part(in->machine, node->text);
	if (part < 0)
		inside_refuse(in, map, key, NULL, "the name of a part");
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
			.pcie = {.gen = (uint8_t)machine_number(map, KEY_MACHINE_LANES_GEN),
				 .width = (uint8_t)machine_number(map, KEY_MACHINE_LANES_WIDTH),
				 .mps = (uint16_t)machine_number(map, KEY_MACHINE_LANES_MPS),
				 .mrrs = (uint16_t)machine_number(map, KEY_MACHINE_LANES_MRRS),
				 .has_dllps = is_yes(map, KEY_MACHINE_LANES_DLLPS),
				 .has_ecrc = is_yes(map, KEY_MACHINE_LANES_ECRC)}};
	return (struct bus_link){
		.kind = BUS_PLAIN,
		.plain = {.rate_bps = scenario_get(map, KEY_MACHINE_LANES_RATE).number,
			  .payload = (uint16_t)machine_number(map, KEY_MACHINE_LANES_PAYLOAD),
			  .overhead = (uint16_t)machine_number(map, KEY_MACHINE_LANES_OVERHEAD)}};
}

/* Keys of another kind of lane than its own would have no effect. */
static void check_kind(struct inside *in, const struct yaml_node *map, bool is_pcie)
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
			inside_refuse(in, map, keys[i], NULL,
				      is_pcie ? "it with kind: upi, xgmi or c2c only"
					      : "it with kind: pcie only");
}

static void check_link(struct inside *in, const struct yaml_node *map, const struct bus_link *link)
{
	const bool is_pcie = link->kind == BUS_PCIE;

	check_kind(in, map, is_pcie);
	if (!is_pcie && link->plain.rate_bps == 0)
		inside_refuse(in, map, KEY_MACHINE_LANES_RATE, "nothing", "a rate, for this kind");
	else if (!is_pcie && !bus_link_is_valid(link))
		inside_refuse(in, map, KEY_MACHINE_LANES_PAYLOAD, NULL, "a multiple of 16");
	else if (is_pcie && !bus_link_is_valid(link))
		inside_refuse(in, map,
			      (link->pcie.mps & (link->pcie.mps - 1))	  ? KEY_MACHINE_LANES_MPS
			      : (link->pcie.mrrs & (link->pcie.mrrs - 1)) ? KEY_MACHINE_LANES_MRRS
									  : KEY_MACHINE_LANES_WIDTH,
			      NULL, "1, 2, 4, 8, 12, 16 or 32 lanes; sizes that are powers of two");
}

static bool room_is_good(const struct bus_credits *room, uint32_t packet, bool has_data)
{
	if (!has_data || (room->headers == 0 && room->data == 0))
		return true;
	return room->headers > 0 && room->data >= packet / BUS_CREDIT_BYTES;
}

/* Room for headers and for data, or for both without end. */
static void read_room(struct inside *in, const struct yaml_node *map, struct bus_lane_params *lane)
{
	static const enum scenario_key keys[BUS_CLASSES][2] = {
		[BUS_POSTED] = {KEY_MACHINE_LANES_PH, KEY_MACHINE_LANES_PD},
		[BUS_NON_POSTED] = {KEY_MACHINE_LANES_NPH, KEY_ROOT},
		[BUS_COMPLETION] = {KEY_MACHINE_LANES_CPLH, KEY_MACHINE_LANES_CPLD}};
	const uint32_t packet = bus_link_payload(&lane->link);
	struct bad_text expected;

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const bool has_data = kind != BUS_NON_POSTED;
		struct bus_credits *room = &lane->room[kind];

		room->headers = machine_number(map, keys[kind][0]);
		room->data = has_data ? machine_number(map, keys[kind][1]) : 0;
		if (!room_is_good(room, packet, has_data))
			inside_refuse(in, map, keys[kind][room->headers > 0], NULL,
				      bad_text(&expected,
					       "both at 0, or headers and data for a packet of %u "
					       "bytes at least",
					       packet));
	}
}

static void read_lane(struct inside *in, const struct yaml_node *map)
{
	struct scenario_machine *machine = in->machine;
	struct bus_lane_params lane = {.link = link_of(map),
				       .delay = scenario_get(map, KEY_MACHINE_LANES_DELAY).number,
				       .update = scenario_get(map, KEY_MACHINE_LANES_UPDATE).number,
				       .relaxed = is_yes(map, KEY_MACHINE_LANES_RELAXED)};
	uint32_t a, b, place = 0;

	if (!machine_find_end(in, map, KEY_MACHINE_LANES_A, &a) ||
	    !machine_find_end(in, map, KEY_MACHINE_LANES_B, &b))
		return;
	lane.a = a < b ? a : b;
	lane.b = a < b ? b : a;
	check_link(in, map, &lane.link);
	read_room(in, map, &lane);
	while (place < machine->lane_count &&
	       (machine->lanes[place].a < lane.a ||
		(machine->lanes[place].a == lane.a && machine->lanes[place].b < lane.b)))
		place++;
	memmove(machine->lanes + place + 1, machine->lanes + place,
		(machine->lane_count - place) * sizeof(*machine->lanes));
	memmove(machine->lane_kinds + place + 1, machine->lane_kinds + place,
		machine->lane_count - place);
	machine->lanes[place] = lane;
	machine->lane_kinds[place] = (uint8_t)scenario_get(map, KEY_MACHINE_LANES_KIND).word;
	machine->lane_count++;
}

static void read_lanes(struct inside *in)
{
	const uint32_t count = entry_count(in->map, KEY_MACHINE_LANES);

	in->machine->lanes = scenario_alloc(in->r, count + 1, sizeof(*in->machine->lanes));
	in->machine->lane_kinds = scenario_alloc(in->r, count + 1, 1);
	if (!in->machine->lanes || !in->machine->lane_kinds)
		return;
	for (const struct yaml_node *map = entries(in->map, KEY_MACHINE_LANES); map;
	     map = map->next)
		if (map->kind == YAML_MAP)
			read_lane(in, map);
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

/* There is one way between any two. */
static void check_graph(struct inside *in, const uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	struct sim_local local;
	struct bad_text found;
	struct bus *bus;
	int ret;

	for (uint32_t i = 0; i < machine->part_count; i++)
		if (hops[i] == UINT32_MAX) {
			inside_refuse(in, in->map, KEY_MACHINE_LANES,
				      bad_text(&found, "none to %s", machine->parts[i].name),
				      "lanes that join all parts");
			return;
		}
	sim_local_init(&local, 0, 0);
	ret = bus_create(&local, NULL, machine->params, machine->part_count, machine->lanes,
			 machine->lane_count, &bus);
	if (ret == -ENOMEM)
		in->r->no_memory = true;
	else if (ret != 0)
		inside_refuse(in, in->map, KEY_MACHINE_LANES, "two ways, or a longer one",
			      "one way between any two parts, of at most 8 lanes");
	else
		bus_destroy(bus);
}

static void choose_memory(struct inside *in, struct host_bus *nic, const uint32_t *hops)
{
	const struct scenario_machine *machine = in->machine;
	const struct yaml_node *node = scenario_node(in->map, KEY_MACHINE_MEMORY);
	const int64_t said = node && node->meaning ? find_part(machine, node->text) : -1;
	uint32_t nearest = UINT32_MAX;

	for (uint32_t i = 0; i < machine->part_count; i++)
		if (machine->parts[i].kind == SCENARIO_SOCKET && hops[i] < nearest) {
			nearest = hops[i];
			nic->memory = i;
		}
	if (node && (said < 0 || machine->parts[said].kind != SCENARIO_SOCKET))
		inside_refuse(in, in->map, KEY_MACHINE_MEMORY, NULL, "the name of a socket");
	else if (node)
		nic->memory = (uint32_t)said;
	else if (nearest == UINT32_MAX)
		inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no socket", "one at least");
}

/* Adapters are nic0, nic1 and so on. */
static bool find_nics(struct inside *in)
{
	struct scenario_machine *machine = in->machine;
	uint32_t adapters = 0;
	struct bad_text name, found;

	for (uint32_t i = 0; i < machine->part_count; i++)
		adapters += machine->parts[i].kind == SCENARIO_ADAPTER;
	machine->nics = scenario_alloc(in->r, adapters + 1, sizeof(*machine->nics));
	for (uint32_t n = 0; machine->nics && n < adapters; n++) {
		const int64_t part = find_part(machine, bad_text(&name, "nic%u", n));

		if (part < 0 || machine->parts[part].kind != SCENARIO_ADAPTER) {
			inside_refuse(in, in->map, KEY_MACHINE_PARTS,
				      bad_text(&found, "%u adapters and no nic%u", adapters, n),
				      "adapters that are called nic0, nic1 and so on");
			return false;
		}
		machine->nics[n].nic = (uint32_t)part;
	}
	machine->nic_count = adapters;
	if (adapters == 0)
		inside_refuse(in, in->map, KEY_MACHINE_PARTS, "no adapter", "nic0 at least");
	return machine->nics && adapters > 0;
}

static void read_nics(struct inside *in)
{
	struct scenario_machine *machine = in->machine;
	uint32_t *hops = scenario_alloc(in->r, machine->part_count, sizeof(*hops));

	if (!hops || !find_nics(in)) {
		util_free(hops);
		return;
	}
	for (uint32_t n = 0; n < machine->nic_count && !in->is_bad; n++) {
		struct host_bus *nic = &machine->nics[n];

		nic->is_of_machine = machine->nic_count > 1;
		nic->blueflame = machine_number(in->map, KEY_MACHINE_BLUEFLAME);
		nic->tx_bytes = machine_number(in->map, KEY_MACHINE_TX);
		count_hops(machine, nic->nic, hops);
		choose_memory(in, nic, hops);
	}
	if (!in->is_bad)
		check_graph(in, hops);
	util_free(hops);
}

/* ---- which ---- */

/* Of the machines whose first adapters are @hosts (positions), those that are not @taken, each with
 * the number of its struct scenario_machine from 1, become number @own. */
static void take_hosts(struct inside *in, const struct scenario_hosts *hosts, uint32_t *taken,
		       uint32_t own)
{
	const struct topology *topology = &in->r->scenario->topology;
	const struct scenario_machine *machine = in->machine;
	const bool is_named = in->of == KEY_MACHINES;
	struct bad_text found, expected;

	for (uint32_t i = 0; i < hosts->count; i++) {
		const char *name = in->r->hosts[hosts->hosts[i]];
		const uint32_t node = (uint32_t)topology_find(topology, name);
		const uint32_t nics = topology->nodes[node].nic_count;

		if (topology->nodes[node].nic > 0 || (taken[node] && !is_named))
			continue;
		if (taken[node]) {
			inside_refuse(in, in->map, KEY_MACHINES_HOSTS,
				      bad_text(&found, "%s a second time", name), "each once");
			return;
		}
		taken[node] = own;
		if (nics == machine->nic_count || in->is_bad)
			continue;
		inside_refuse(in, in->map, KEY_MACHINE_PARTS,
			      bad_text(&found, "%u adapters", machine->nic_count),
			      bad_text(&expected, "%u, as %s has in the topology", nics, name));
		return;
	}
}

static void hash_machine(struct inside *in, const struct scenario_hosts *hosts)
{
	struct scenario_hash hash = {0};

	scenario_hash_map(in->r, &hash, in->map, in->of);
	for (uint32_t i = 0; in->of == KEY_MACHINES && i < hosts->count; i++) {
		const uint64_t words[] = {util_hash_name(in->r->hosts[hosts->hosts[i]])};

		scenario_hash_words(in->r, &hash, scenario_path(KEY_MACHINES_HOSTS), words, 1);
	}
	scenario_hash_add(in->r, &in->r->hash, scenario_hash_end(&hash));
}

static void scenario_machine_read(struct scenario_reader *r, const struct yaml_node *map,
				  enum scenario_key of, uint32_t *taken)
{
	struct scenario *s = r->scenario;
	struct scenario_machine *machines =
		scenario_grow(r, s->machines, s->machine_count, sizeof(*machines));
	const bool is_named = of == KEY_MACHINES;
	const struct yaml_node *names = is_named ? scenario_node(map, KEY_MACHINES_HOSTS) : NULL;
	struct inside in = {.r = r, .map = map, .of = of};
	struct scenario_hosts hosts;
	struct bad_text key;

	if (!machines || (is_named && !names))
		return;
	s->machines = machines;
	in.machine = &machines[s->machine_count++];
	*in.machine = (struct scenario_machine){0};
	read_all_parts(&in);
	read_lanes(&in);
	if (!in.is_bad && !r->no_memory)
		read_nics(&in);
	hosts = scenario_hosts_of(r, names, scenario_shown(&key, map, KEY_MACHINES_HOSTS), true);
	if (!r->no_memory)
		take_hosts(&in, &hosts, taken, s->machine_count);
	hash_machine(&in, &hosts);
	util_free(hosts.hosts);
}

/* By @taken; what points from one to another does so once none moves any more. */
static void join_up(struct scenario_reader *r, const uint32_t *taken)
{
	struct scenario *s = r->scenario;

	for (uint32_t i = 0; i < s->topology.node_count; i++) {
		const struct topology_node *node = &s->topology.nodes[i];
		struct scenario_machine *machine;
		struct scenario_adapter *adapters;

		if (node->is_switch || taken[node->machine] == 0)
			continue;
		machine = &s->machines[taken[node->machine] - 1];
		adapters = scenario_grow(r, machine->adapters, machine->adapter_count,
					 sizeof(*adapters));
		if (!adapters)
			return;
		machine->adapters = adapters;
		adapters[machine->adapter_count++] = (struct scenario_adapter){
			.node = i,
			.host = (uint32_t)scenario_host_find(r, node->name),
			.nic = node->nic};
	}
	for (uint32_t i = 0; i < s->machine_count; i++) {
		struct scenario_machine *machine = &s->machines[i];

		machine->graph = (struct host_parts){.parts = machine->params,
						     .lanes = machine->lanes,
						     .part_count = machine->part_count,
						     .lane_count = machine->lane_count};
		for (uint32_t n = 0; n < machine->nic_count; n++)
			machine->nics[n].parts = &machine->graph;
	}
}

void scenario_read_machines(struct scenario_reader *r)
{
	const struct yaml_node *common = scenario_node(r->root, KEY_MACHINE);
	const struct yaml_node *list = scenario_node(r->root, KEY_MACHINES);
	uint32_t *taken;

	if ((!common && !list) || r->topology_bad || r->host_count == 0)
		return;
	taken = scenario_alloc(r, r->scenario->topology.node_count + 1, sizeof(*taken));
	if (!taken)
		return;
	for (struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL; map;
	     map = map->next)
		if (map->kind == YAML_MAP) {
			scenario_base(map, common);
			scenario_machine_read(r, map, KEY_MACHINES, taken);
		}
	if (common && common->kind == YAML_MAP)
		scenario_machine_read(r, common, KEY_MACHINE, taken);
	join_up(r, taken);
	util_free(taken);
}
