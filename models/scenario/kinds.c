/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

/* Topologies that a few numbers describe. Each reader returns -ENOMEM, or 0 whether it has made one
 * or said why not. */

void scenario_only_these(struct scenario_reader *r, const struct yaml_node *map,
			 enum scenario_kind kind, const char *expected)
{
	for (const struct yaml_node *node = map->child; node; node = node->next) {
		struct bad_text path;
		const struct scenario_row *row = scenario_row(
			bad_text(&path, "%s.%s", scenario_path(KEY_TOPOLOGY), node->key));

		if (row && !(row->of >> kind & 1)) /* an unknown one has been named */
			scenario_refuse(r, map, node, KEY_TOPOLOGY, expected);
	}
}

/* A count that the kind needs; 0: reported. */
static uint32_t needed(struct scenario_reader *r, const struct yaml_node *map,
		       enum scenario_key key)
{
	struct bad_text expected;

	if (scenario_has(map, key))
		return (uint32_t)scenario_get(map, key).number;
	bad(r->errors, &map->at, scenario_path(key), "nothing",
	    scenario_row_expects(scenario_row_at(key), &expected));
	return 0;
}

/* One that has a default. */
static uint32_t count_or(const struct yaml_node *map, enum scenario_key key, uint64_t unset)
{
	return (uint32_t)(scenario_has(map, key) ? scenario_get(map, key).number : unset);
}

/* A key that takes names where there is no kind: how many; 0: reported. */
static uint32_t how_many(struct scenario_reader *r, const struct yaml_node *map,
			 enum scenario_key key, uint64_t most)
{
	const struct scenario_row row = {scenario_path(key), SCENARIO_COUNT, NULL, 1, most, NULL,
					 .help = ""};
	const struct yaml_node *node = scenario_node(map, key);
	struct bad_text found = {"nothing"}, expected;
	struct scenario_value value;

	if (node && node->kind == YAML_SCALAR &&
	    scenario_value_parse(&row, node->text, node->length, &value, &found))
		return (uint32_t)value.number;
	bad(r->errors, node ? &node->at : &map->at, row.path,
	    node && node->kind != YAML_SCALAR ? "a list" : found.text,
	    scenario_row_expects(&row, &expected));
	return 0;
}

static struct topology_speed speed_of(const struct yaml_node *map)
{
	struct topology_speed speed;

	scenario_put(map, KEY_TOPOLOGY, false, &speed);
	return speed;
}

/* Adapters a machine. */
static uint32_t nics_of(const struct yaml_node *map)
{
	return (uint32_t)scenario_get(map, KEY_TOPOLOGY_NICS).number;
}

/* Before any of it is made. */
static bool fits(struct scenario_reader *r, const struct yaml_node *map, u128 hosts, u128 links)
{
	struct bad_text found;

	hosts *= scenario_get(map, KEY_TOPOLOGY_KIND).word == KIND_RAIL ? 1 : nics_of(map);
	if (hosts <= 500000 && links <= 2000000)
		return true;
	bad(r->errors, &map->at, scenario_path(KEY_TOPOLOGY),
	    hosts > UINT32_MAX || links > UINT32_MAX
		    ? "more than 2^32 of them"
		    : bad_text(&found, "%u hosts and %u links between switches", (uint32_t)hosts,
			       (uint32_t)links),
	    "at most 500000 hosts and 2000000 links between switches");
	return false;
}

/* ---- trees ---- */

/* @oversubscription of a leaf with @hosts: the number of spines where none is given, else the rate
 * of the links to them. Both come out whole or not at all. 0: reported. */
static uint32_t spines_of(struct scenario_reader *r, const struct yaml_node *map, uint32_t hosts,
			  struct topology_speed *speed)
{
	const struct yaml_node *node = scenario_node(map, KEY_TOPOLOGY_OVERSUBSCRIPTION);
	const struct scenario_value over = scenario_get(map, KEY_TOPOLOGY_OVERSUBSCRIPTION);
	const bool has_spines = scenario_has(map, KEY_TOPOLOGY_SPINES);
	const uint64_t up =
		has_spines ? scenario_get(map, KEY_TOPOLOGY_SPINES).number : speed->fabric_rate_bps;
	const u128 share = (u128)hosts * speed->host_rate_bps * over.den;
	struct bad_text found;

	if (!node)
		return needed(r, map, KEY_TOPOLOGY_SPINES);
	if (!node->meaning || hosts == 0 || up == 0)
		return 0; /* reported already */
	if (has_spines && scenario_has(map, KEY_TOPOLOGY_FABRIC_RATE)) {
		scenario_refuse(r, map, node, KEY_TOPOLOGY,
				"spines or fabric_rate beside it, not both");
		return 0;
	}
	const u128 whole = share / ((u128)over.num * up),
		   most = has_spines ? 10000000000000u : 16384;

	if (whole * over.num * up == share && whole >= (has_spines ? 1000000u : 1) &&
	    whole <= most) {
		if (has_spines)
			speed->fabric_rate_bps = (uint64_t)whole;
		return has_spines ? (uint32_t)up : (uint32_t)whole;
	}
	bad(r->errors, &node->at, scenario_path(KEY_TOPOLOGY_OVERSUBSCRIPTION),
	    bad_text(&found, "%.32s for %u hosts a leaf", node->text, hosts),
	    has_spines ? "a share that gives a rate of whole bits, 1Mbps to 10Tbps"
		       : "a share that gives a whole number of spines, 1 to 16384");
	return 0;
}

static int read_leaf_spine(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t leaves = needed(r, map, KEY_TOPOLOGY_LEAVES);
	const uint32_t hosts = needed(r, map, KEY_TOPOLOGY_HOSTS_PER_LEAF);
	struct topology_speed speed = speed_of(map);
	const uint32_t spines = spines_of(r, map, hosts, &speed);

	if (leaves == 0 || spines == 0 || hosts == 0 ||
	    !fits(r, map, (u128)leaves * hosts, (u128)leaves * spines))
		return 0;
	return topology_leaf_spine(&r->scenario->topology, leaves, spines, hosts, speed);
}

static int read_fat_tree(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t k = needed(r, map, KEY_TOPOLOGY_K);
	struct bad_text found;

	if (k == 0)
		return 0;
	if (k % 2 == 0)
		return topology_fat_tree(&r->scenario->topology, k, speed_of(map));
	bad(r->errors, &scenario_node(map, KEY_TOPOLOGY_K)->at, scenario_path(KEY_TOPOLOGY_K),
	    bad_text(&found, "%u", k), "an even number");
	return 0;
}

static int read_clos(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct topology_speed speed = speed_of(map);
	const struct topology_tier fabric = {speed.fabric_rate_bps, speed.delay, 1};
	const struct topology_clos clos = {
		.pods = needed(r, map, KEY_TOPOLOGY_PODS),
		.edges = needed(r, map, KEY_TOPOLOGY_LEAVES),
		.aggregations = needed(r, map, KEY_TOPOLOGY_SPINES),
		.cores = needed(r, map, KEY_TOPOLOGY_CORES),
		.hosts_per_edge = needed(r, map, KEY_TOPOLOGY_HOSTS_PER_LEAF),
		.host = {speed.host_rate_bps, speed.delay, 1},
		.edge = fabric,
		.core = fabric,
	};
	struct bad_text found;

	if (clos.pods == 0 || clos.edges == 0 || clos.aggregations == 0 || clos.cores == 0 ||
	    clos.hosts_per_edge == 0)
		return 0;
	if (clos.cores % clos.aggregations != 0) {
		bad(r->errors, &scenario_node(map, KEY_TOPOLOGY_CORES)->at,
		    scenario_path(KEY_TOPOLOGY_CORES), bad_text(&found, "%u", clos.cores),
		    "a multiple of spines");
		return 0;
	}
	if (!fits(r, map, (u128)clos.pods * clos.edges * clos.hosts_per_edge,
		  (u128)clos.pods * ((u128)clos.edges * clos.aggregations + clos.cores)))
		return 0;
	return topology_clos(&r->scenario->topology, &clos);
}

static int read_rail(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t servers = needed(r, map, KEY_TOPOLOGY_SERVERS);
	struct topology_rail rail = {
		.servers = servers,
		.rails = needed(r, map, KEY_TOPOLOGY_RAILS),
		.servers_per_unit = count_or(map, KEY_TOPOLOGY_SERVERS_PER_UNIT, servers),
		.machines = nics_of(map) > 1,
	};
	struct topology_speed speed = speed_of(map);
	struct bad_text found;

	rail.spines = spines_of(r, map, rail.servers_per_unit, &speed);
	if (servers == 0 || rail.rails == 0 || rail.servers_per_unit == 0 || rail.spines == 0)
		return 0;
	if (servers % rail.servers_per_unit != 0) {
		bad(r->errors, &map->at, scenario_path(KEY_TOPOLOGY_SERVERS),
		    bad_text(&found, "%u", servers), "a multiple of servers_per_unit");
		return 0;
	}
	if (rail.machines && nics_of(map) != rail.rails) {
		bad(r->errors, &scenario_node(map, KEY_TOPOLOGY_NICS)->at,
		    scenario_path(KEY_TOPOLOGY_NICS),
		    bad_text(&found, "%u for %u rails", nics_of(map), rail.rails),
		    "as many as rails, one on each, or 1");
		return 0;
	}
	if (!fits(r, map, (u128)servers * rail.rails,
		  (u128)servers / rail.servers_per_unit * rail.rails * rail.spines))
		return 0;
	return topology_rail(&r->scenario->topology, rail, speed);
}

static int read_dumbbell(struct scenario_reader *r, const struct yaml_node *map)
{
	return topology_dumbbell(&r->scenario->topology,
				 (uint32_t)scenario_get(map, KEY_TOPOLOGY_HOSTS_PER_SWITCH).number,
				 speed_of(map));
}

/* ---- hosts on every switch ---- */

static int read_torus(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *list = scenario_node(map, KEY_TOPOLOGY_DIMS);
	const uint64_t per_switch = scenario_get(map, KEY_TOPOLOGY_HOSTS_PER_SWITCH).number;
	uint32_t dims[TOPOLOGY_DIMS_MAX] = {1, 1, 1}, count = 0;
	struct bad_text found;
	u128 switches = 1;

	if (list && list->kind != YAML_LIST)
		return 0; /* reported already */
	for (const struct yaml_node *node = list ? list->child : NULL; node; node = node->next) {
		if (!node->meaning)
			return 0;
		if (count < TOPOLOGY_DIMS_MAX)
			dims[count] = (uint32_t)scenario_value_of(node)->number;
		count++;
	}
	if (count != 2 && count != 3) {
		bad(r->errors, list ? &list->at : &map->at, scenario_path(KEY_TOPOLOGY_DIMS),
		    bad_text(&found, "%u sizes", count), "two or three, such as [4, 4]");
		return 0;
	}
	for (uint32_t d = 0; d < count; d++)
		switches *= dims[d];
	if (!fits(r, map, switches * per_switch, switches * count))
		return 0;
	return topology_torus(&r->scenario->topology, dims, count, (uint32_t)per_switch,
			      speed_of(map));
}

static int read_dragonfly(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t h = needed(r, map, KEY_TOPOLOGY_H);
	const uint32_t a = count_or(map, KEY_TOPOLOGY_A, 2 * (uint64_t)h);
	const struct topology_dragonfly d = {
		.a = a,
		.p = count_or(map, KEY_TOPOLOGY_P, h),
		.h = h,
		.groups = count_or(map, KEY_TOPOLOGY_GROUPS, (uint64_t)a * h + 1),
	};
	struct bad_text found, expected;

	if (d.h == 0 || d.a == 0 || d.p == 0 || d.groups == 0)
		return 0;
	if (d.groups > d.a * d.h + 1) {
		bad(r->errors, &scenario_node(map, KEY_TOPOLOGY_GROUPS)->at,
		    scenario_path(KEY_TOPOLOGY_GROUPS), bad_text(&found, "%u", d.groups),
		    bad_text(&expected, "at most %u, a link to each other group", d.a * d.h + 1));
		return 0;
	}
	if (!fits(r, map, (u128)d.groups * d.a * d.p, (u128)d.groups * d.a * (d.a + d.h) / 2))
		return 0;
	return topology_dragonfly(&r->scenario->topology, d, speed_of(map));
}

static int read_full_mesh(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t switches = how_many(r, map, KEY_TOPOLOGY_SWITCHES, 2000);
	const uint64_t per_switch = scenario_get(map, KEY_TOPOLOGY_HOSTS_PER_SWITCH).number;

	if (switches == 0 ||
	    !fits(r, map, (u128)switches * per_switch, (u128)switches * (switches - 1) / 2))
		return 0;
	return topology_full_mesh(&r->scenario->topology, switches, (uint32_t)per_switch,
				  speed_of(map));
}

int scenario_read_kind(struct scenario_reader *r, const struct yaml_node *map)
{
	static int (*const readers[KINDS])(struct scenario_reader * r,
					   const struct yaml_node *map) = {
		[KIND_LEAF_SPINE] = read_leaf_spine,
		[KIND_FAT_TREE] = read_fat_tree,
		[KIND_CLOS] = read_clos,
		[KIND_RAIL] = read_rail,
		[KIND_DUMBBELL] = read_dumbbell,
		[KIND_TORUS] = read_torus,
		[KIND_DRAGONFLY] = read_dragonfly,
		[KIND_FULL_MESH] = read_full_mesh,
	};
	const int kind = scenario_get(map, KEY_TOPOLOGY_KIND).word;
	struct topology *topology = &r->scenario->topology;
	uint32_t hosts;
	int ret = 0;

	if (kind < 0)
		return 0;
	scenario_only_these(r, map, (enum scenario_kind)kind, "only keys of this kind");
	if (kind == KIND_STAR) {
		hosts = how_many(r, map, KEY_TOPOLOGY_HOSTS, 32000);
		if (hosts > 0 && fits(r, map, hosts, 0))
			ret = topology_star(topology, hosts, speed_of(map));
	} else {
		ret = readers[kind](r, map);
	}
	if (ret || kind == KIND_RAIL)
		return ret;
	return topology_add_nics(topology, nics_of(map));
}
