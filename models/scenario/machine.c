/* SPDX-License-Identifier: BSD-2-Clause */

/* Which hosts have which machine: "machine" of all, "machines" of some. */
#include "models/program/space.h"
#include "models/scenario/inside.h"

#include "util/alloc.h"
#include "util/siphash.h"

#include <string.h>

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
	util_free(machine->faults);
	util_free(machine->nics);
	util_free(machine->gpus);
	util_free(machine->gpu_parts);
	util_free(machine->adapters);
	util_free(machine->guesses);
}

/* The hosts of one of "machines" are @taken by it, by the position of the node: number @own. */
static void take_hosts(struct scenario_inside *in, uint32_t *taken, uint32_t own)
{
	const struct topology *topology = &in->r->scenario->topology;
	const struct yaml_node *names = scenario_node(in->map, KEY_MACHINES_HOSTS);
	struct bad_text key, found, expected;
	struct scenario_hosts hosts;
	bool is_told = false;

	if (!names)
		return;
	scenario_shown(&key, in->map, KEY_MACHINES_HOSTS);
	hosts = scenario_hosts_of(in->r, names, key.text, true);
	for (uint32_t i = 0; i < hosts.count; i++) {
		const uint32_t host = hosts.hosts[i];
		const char *name = in->r->hosts[host];
		const uint64_t words[] = {util_hash_name(name)};
		const uint32_t node = (uint32_t)topology_find(topology, name);
		const bool is_further = host >= in->r->machine_count;

		if (is_further && !is_told)
			bad(in->r->errors, &names->at, key.text,
			    bad_text(&found, "%s, which is an adapter", name),
			    bad_text(&expected, "%s, its machine",
				     topology->nodes[topology->nodes[node].machine].name));
		else if (taken[node] && !is_told)
			bad(in->r->errors, &names->at, key.text,
			    bad_text(&found, "%s a second time", name), "each machine once");
		is_told |= is_further || taken[node];
		if (!is_further && !taken[node])
			taken[node] = own;
		scenario_hash_words(in->r, &in->hash, scenario_path(KEY_MACHINES_HOSTS), words, 1);
	}
	util_free(hosts.hosts);
}

/* The hosts of those that are of the key @of have as many adapters as the topology says. */
static void check_counts(struct scenario_reader *r, struct scenario_inside *all,
			 const uint32_t *taken, enum scenario_key of)
{
	const struct topology *topology = &r->scenario->topology;
	const struct yaml_node *kind =
		scenario_node(scenario_node(r->root, KEY_TOPOLOGY), KEY_TOPOLOGY_KIND);
	const bool may_say = kind && kind->text && strcmp(kind->text, "rail") != 0;
	struct bad_text found, expected, would;

	for (uint32_t i = 0; i < topology->node_count; i++) {
		const struct topology_node *node = &topology->nodes[i];
		struct scenario_inside *in = taken[i] ? &all[taken[i] - 1] : NULL;

		if (!in || in->of != of || in->is_bad || r->no_memory ||
		    in->machine->nic_count == node->nic_count)
			continue;
		scenario_inside_refuse(in, in->map, KEY_MACHINE_PARTS,
				       bad_text(&found, "%u of kind: nic", in->machine->nic_count),
				       bad_text(&expected,
						"%u, as %s has by topology.nics or links%s",
						node->nic_count, node->name,
						may_say ? bad_text(&would,
								   "; topology.nics: %u would give "
								   "each host so many",
								   in->machine->nic_count)
							: ""));
	}
}

/* All GPUs of the run have addresses of their own, if not for all that is in them. */
static void check_gpus(struct scenario_reader *r, struct scenario_inside *all,
		       const uint32_t *taken)
{
	const struct topology *topology = &r->scenario->topology;
	struct bad_text found, expected;
	const uint32_t most = SPACE_GPUS_BYTES / SPACE_GPU_BYTES_LEAST;
	uint32_t count = 0;

	for (uint32_t i = 0; i < topology->node_count; i++) {
		struct scenario_inside *in = taken[i] ? &all[taken[i] - 1] : NULL;

		if (!in || in->is_bad)
			continue;
		count += in->machine->gpu_count;
		if (count <= most)
			continue;
		scenario_inside_refuse(
			in, in->map, KEY_MACHINE_PARTS,
			bad_text(&found, "%u GPUs up to %s", count, topology->nodes[i].name),
			bad_text(&expected, "at most %u on this processor", most));
		return;
	}
}

/* Either end of a lane may be its a. All is read: nobody is told any more which one was. */
static void sort_ends(const struct yaml_node *lane, enum scenario_key of_a, enum scenario_key of_b)
{
	struct yaml_node *a = scenario_node(lane, of_a);
	struct yaml_node *b = scenario_node(lane, of_b);

	if (a && a->text && b && b->text && strcmp(a->text, b->text) > 0) {
		char *text = a->text;
		const size_t length = a->length;

		a->text = b->text;
		a->length = b->length;
		b->text = text;
		b->length = length;
	}
}

static void hash_machine(struct scenario_inside *in)
{
	for (const struct yaml_node *lane = scenario_inside_entries(in->map, KEY_MACHINE_LANES);
	     lane; lane = lane->next)
		sort_ends(lane, KEY_MACHINE_LANES_A, KEY_MACHINE_LANES_B);
	for (const struct yaml_node *fault = scenario_inside_entries(in->map, KEY_MACHINE_FAULTS);
	     fault; fault = fault->next)
		sort_ends(fault, KEY_MACHINE_FAULTS_A, KEY_MACHINE_FAULTS_B);
	scenario_hash_map(in->r, &in->hash, in->map, in->of);
	scenario_hash_add(in->r, &in->r->hash, scenario_hash_end(&in->hash));
}

/* By @taken; what points from one to another does so once none moves any more. */
static void join_up(struct scenario_reader *r, const struct scenario_inside *all,
		    const uint32_t *taken)
{
	struct scenario *s = r->scenario;

	for (uint32_t i = 0; i < s->topology.node_count; i++) {
		const struct topology_node *node = &s->topology.nodes[i];
		struct scenario_machine *machine;
		struct scenario_adapter *adapters;

		if (node->is_switch || taken[node->machine] == 0)
			continue;
		machine = all[taken[node->machine] - 1].machine;
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
						     .lane_count = machine->lane_count,
						     .faults = machine->faults,
						     .fault_count = machine->fault_count};
		for (uint32_t n = 0; n < machine->nic_count; n++) {
			machine->nics[n].parts = &machine->graph;
			machine->nics[n].places = machine->gpu_parts;
			machine->nics[n].place_count = machine->gpu_count;
		}
	}
}

/* Its own, or those of what it has from "machine". */
static char *guesses_of(struct scenario_reader *r, const struct scenario_inside *in)
{
	const char *keys = NULL;

	for (uint32_t i = 0; i < r->guess_count; i++)
		if (r->guesses[i].map == in->map)
			return scenario_copy(r, r->guesses[i].keys);
		else if (in->common && r->guesses[i].map == in->common->map)
			keys = r->guesses[i].keys;
	return keys ? scenario_copy(r, keys) : NULL;
}

/* Parts or lanes of it are copies of those of "machine". */
static bool has_copies(const struct scenario_inside *in)
{
	static const enum scenario_key lists[] = {KEY_MACHINE_PARTS, KEY_MACHINE_LANES};

	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]) && in->common; i++)
		for (const struct yaml_node *entry = scenario_inside_entries(in->map, lists[i]);
		     entry; entry = entry->next)
			if (entry->at.is_copy)
				return true;
	return false;
}

/* In the first of @all what "machine" says, then "machines"; how many. */
static uint32_t read_insides(struct scenario_reader *r, const struct yaml_node *list,
			     struct scenario_inside *all)
{
	const struct yaml_node *common = scenario_named(r->root, scenario_path(KEY_MACHINE));
	const bool is_map = common && common->kind == YAML_MAP;
	uint32_t count = 1;

	/* Of what it should be nothing is known where it is neither a map nor off. */
	all[0] = (struct scenario_inside){.r = r, .map = is_map ? common : NULL, .of = KEY_MACHINE};
	all[0].is_bad = common && !is_map && !scenario_is_off(common->text, common->length);
	for (struct yaml_node *map = list ? list->child : NULL; map; map = map->next)
		if (map->kind == YAML_MAP) {
			scenario_base(map, all[0].map);
			all[count++] = (struct scenario_inside){
				.r = r, .map = map, .of = KEY_MACHINES, .common = &all[0]};
		}
	for (uint32_t i = 0; i < count; i++)
		if (all[i].map) {
			all[i].machine = &r->scenario->machines[r->scenario->machine_count++];
			all[i].machine->place = i;
			all[i].machine->guesses = guesses_of(r, &all[i]);
			scenario_inside_read_parts(&all[i]);
			scenario_inside_read_lanes(&all[i]);
			all[i].is_bad |= has_copies(&all[i]) && all[i].common->is_bad;
			scenario_inside_read_ways(&all[i]);
			scenario_inside_read_faults(&all[i]);
		}
	return count;
}

static void read_machines(struct scenario_reader *r, const struct yaml_node *list,
			  struct scenario_inside *all, uint32_t *taken)
{
	const struct topology *topology = &r->scenario->topology;
	const uint32_t count = read_insides(r, list, all);

	for (uint32_t i = 1; i < count; i++)
		take_hosts(&all[i], taken, i + 1);
	for (uint32_t i = 0; all[0].map && i < topology->node_count; i++)
		if (topology->nodes[i].nic_count > 0 && !taken[i])
			taken[i] = 1;
	check_counts(r, all, taken, KEY_MACHINE);
	check_counts(r, all, taken, KEY_MACHINES);
	check_gpus(r, all, taken);
	for (uint32_t i = 0; i < count; i++)
		if (all[i].map)
			hash_machine(&all[i]);
	join_up(r, all, taken);
}

void scenario_read_machines(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_MACHINES);
	const uint32_t count = list && list->kind == YAML_LIST ? list->child_count : 0;
	struct scenario_inside *all;
	uint32_t *taken;

	if ((!scenario_has(r->root, KEY_MACHINE) && !list) || r->topology_bad || r->host_count == 0)
		return;
	r->scenario->machines = scenario_alloc(r, count + 1, sizeof(*r->scenario->machines));
	all = scenario_alloc(r, count + 1, sizeof(*all));
	taken = scenario_alloc(r, r->scenario->topology.node_count + 1, sizeof(*taken));
	if (r->scenario->machines && all && taken)
		read_machines(r, count ? list : NULL, all, taken);
	util_free(all);
	util_free(taken);
}
