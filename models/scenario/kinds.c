/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include <string.h>

/* Topologies that a few numbers describe. Each reader returns -ENOMEM, or 0 whether it has made one
 * or said why not. */

enum kind {
	STAR,
	LEAF_SPINE,
	FAT_TREE,
	CLOS,
	RAIL,
	DUMBBELL,
	TORUS,
	DRAGONFLY,
	FULL_MESH,
	KINDS,
};

static const char *const keys_of_kind[KINDS][11] = {
	[STAR] = {"kind", "nics", "hosts", "host_rate", "delay"},
	[LEAF_SPINE] = {"kind", "nics", "leaves", "spines", "hosts_per_leaf", "oversubscription",
			"host_rate", "fabric_rate", "delay"},
	[FAT_TREE] = {"kind", "nics", "k", "host_rate", "fabric_rate", "delay"},
	[CLOS] = {"kind", "nics", "pods", "leaves", "spines", "cores", "hosts_per_leaf",
		  "host_rate", "fabric_rate", "delay"},
	[RAIL] = {"kind", "nics", "servers", "rails", "servers_per_unit", "spines",
		  "oversubscription", "host_rate", "fabric_rate", "delay"},
	[DUMBBELL] = {"kind", "nics", "hosts_per_switch", "host_rate", "fabric_rate", "delay"},
	[TORUS] = {"kind", "nics", "dims", "hosts_per_switch", "host_rate", "fabric_rate", "delay"},
	[DRAGONFLY] = {"kind", "nics", "a", "p", "h", "groups", "host_rate", "fabric_rate",
		       "delay"},
	[FULL_MESH] = {"kind", "nics", "switches", "hosts_per_switch", "host_rate", "fabric_rate",
		       "delay"},
};

void scenario_only_these(struct scenario_reader *r, const struct yaml_node *map,
			 const char *const *keys, const char *expected)
{
	for (const struct yaml_node *node = map->child; node; node = node->next) {
		bool known = false;

		for (const char *const *key = keys; *key; key++)
			known = known || strcmp(*key, node->key) == 0;
		if (!known && scenario_has(map, node->key))
			scenario_refuse(r, map, node, "topology", expected);
	}
}

/* A count that the kind needs; 0: reported. */
static uint32_t needed(struct scenario_reader *r, const struct yaml_node *map, const char *path)
{
	const struct scenario_row *row = scenario_row(path);
	const struct yaml_node *node = yaml_find(map, scenario_row_key(row));
	struct bad_text expected;

	if (node)
		return (uint32_t)scenario_get(map, path).number;
	bad(r->errors, &map->at, path, "nothing", scenario_row_expects(row, &expected));
	return 0;
}

/* One that has a default. */
static uint32_t count_or(const struct yaml_node *map, const char *path, uint64_t unset)
{
	const struct scenario_row *row = scenario_row(path);

	return (uint32_t)(yaml_find(map, scenario_row_key(row)) ? scenario_get(map, path).number
								: unset);
}

/* A key that takes names where there is no kind: how many; 0: reported. */
static uint32_t how_many(struct scenario_reader *r, const struct yaml_node *map, const char *path,
			 uint64_t most)
{
	const struct scenario_row row = {path, SCENARIO_COUNT, NULL, 1, most, NULL, .help = ""};
	const struct yaml_node *node = yaml_find(map, scenario_row_key(&row));
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
	return (struct topology_speed){
		.host_rate_bps = scenario_get(map, "topology.host_rate").number,
		.fabric_rate_bps = scenario_get(map, "topology.fabric_rate").number,
		.delay = scenario_get(map, "topology.delay").number,
	};
}

/* Adapters a machine. */
static uint32_t nics_of(const struct yaml_node *map)
{
	return (uint32_t)scenario_get(map, "topology.nics").number;
}

/* Before any of it is made. */
static bool fits(struct scenario_reader *r, const struct yaml_node *map, u128 hosts, u128 links)
{
	struct bad_text found;

	hosts *= scenario_get(map, "topology.kind").word == RAIL ? 1 : nics_of(map);
	if (hosts <= 500000 && links <= 2000000)
		return true;
	bad(r->errors, &map->at, "topology",
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
	const struct yaml_node *node = scenario_node(map, "oversubscription");
	const struct scenario_value over = scenario_get(map, "topology.oversubscription");
	const bool has_spines = scenario_has(map, "spines");
	const uint64_t up =
		has_spines ? scenario_get(map, "topology.spines").number : speed->fabric_rate_bps;
	const u128 share = (u128)hosts * speed->host_rate_bps * over.den;
	struct bad_text found;

	if (!node)
		return needed(r, map, "topology.spines");
	if (!node->meaning || hosts == 0 || up == 0)
		return 0; /* reported already */
	if (has_spines && scenario_has(map, "fabric_rate")) {
		scenario_refuse(r, map, node, "topology",
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
	bad(r->errors, &node->at, "topology.oversubscription",
	    bad_text(&found, "%.32s for %u hosts a leaf", node->text, hosts),
	    has_spines ? "a share that gives a rate of whole bits, 1Mbps to 10Tbps"
		       : "a share that gives a whole number of spines, 1 to 16384");
	return 0;
}

static int read_leaf_spine(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t leaves = needed(r, map, "topology.leaves");
	const uint32_t hosts = needed(r, map, "topology.hosts_per_leaf");
	struct topology_speed speed = speed_of(map);
	const uint32_t spines = spines_of(r, map, hosts, &speed);

	if (leaves == 0 || spines == 0 || hosts == 0 ||
	    !fits(r, map, (u128)leaves * hosts, (u128)leaves * spines))
		return 0;
	return topology_leaf_spine(&r->scenario->topology, leaves, spines, hosts, speed);
}

static int read_fat_tree(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t k = needed(r, map, "topology.k");
	struct bad_text found;

	if (k == 0)
		return 0;
	if (k % 2 == 0)
		return topology_fat_tree(&r->scenario->topology, k, speed_of(map));
	bad(r->errors, &yaml_find(map, "k")->at, "topology.k", bad_text(&found, "%u", k),
	    "an even number");
	return 0;
}

static int read_clos(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct topology_speed speed = speed_of(map);
	const struct topology_tier fabric = {speed.fabric_rate_bps, speed.delay, 1};
	const struct topology_clos clos = {
		.pods = needed(r, map, "topology.pods"),
		.edges = needed(r, map, "topology.leaves"),
		.aggregations = needed(r, map, "topology.spines"),
		.cores = needed(r, map, "topology.cores"),
		.hosts_per_edge = needed(r, map, "topology.hosts_per_leaf"),
		.host = {speed.host_rate_bps, speed.delay, 1},
		.edge = fabric,
		.core = fabric,
	};
	struct bad_text found;

	if (clos.pods == 0 || clos.edges == 0 || clos.aggregations == 0 || clos.cores == 0 ||
	    clos.hosts_per_edge == 0)
		return 0;
	if (clos.cores % clos.aggregations != 0) {
		bad(r->errors, &yaml_find(map, "cores")->at, "topology.cores",
		    bad_text(&found, "%u", clos.cores), "a multiple of spines");
		return 0;
	}
	if (!fits(r, map, (u128)clos.pods * clos.edges * clos.hosts_per_edge,
		  (u128)clos.pods * ((u128)clos.edges * clos.aggregations + clos.cores)))
		return 0;
	return topology_clos(&r->scenario->topology, &clos);
}

static int read_rail(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t servers = needed(r, map, "topology.servers");
	struct topology_rail rail = {
		.servers = servers,
		.rails = needed(r, map, "topology.rails"),
		.servers_per_unit = count_or(map, "topology.servers_per_unit", servers),
		.machines = nics_of(map) > 1,
	};
	struct topology_speed speed = speed_of(map);
	struct bad_text found;

	rail.spines = spines_of(r, map, rail.servers_per_unit, &speed);
	if (servers == 0 || rail.rails == 0 || rail.servers_per_unit == 0 || rail.spines == 0)
		return 0;
	if (servers % rail.servers_per_unit != 0) {
		bad(r->errors, &map->at, "topology.servers", bad_text(&found, "%u", servers),
		    "a multiple of servers_per_unit");
		return 0;
	}
	if (rail.machines && nics_of(map) != rail.rails) {
		bad(r->errors, &yaml_find(map, "nics")->at, "topology.nics",
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
				 (uint32_t)scenario_get(map, "topology.hosts_per_switch").number,
				 speed_of(map));
}

/* ---- hosts on every switch ---- */

static int read_torus(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *list = scenario_node(map, "dims");
	const uint64_t per_switch = scenario_get(map, "topology.hosts_per_switch").number;
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
		bad(r->errors, list ? &list->at : &map->at, "topology.dims",
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
	const uint32_t h = needed(r, map, "topology.h");
	const uint32_t a = count_or(map, "topology.a", 2 * (uint64_t)h);
	const struct topology_dragonfly d = {
		.a = a,
		.p = count_or(map, "topology.p", h),
		.h = h,
		.groups = count_or(map, "topology.groups", (uint64_t)a * h + 1),
	};
	struct bad_text found, expected;

	if (d.h == 0 || d.a == 0 || d.p == 0 || d.groups == 0)
		return 0;
	if (d.groups > d.a * d.h + 1) {
		bad(r->errors, &yaml_find(map, "groups")->at, "topology.groups",
		    bad_text(&found, "%u", d.groups),
		    bad_text(&expected, "at most %u, a link to each other group", d.a * d.h + 1));
		return 0;
	}
	if (!fits(r, map, (u128)d.groups * d.a * d.p, (u128)d.groups * d.a * (d.a + d.h) / 2))
		return 0;
	return topology_dragonfly(&r->scenario->topology, d, speed_of(map));
}

static int read_full_mesh(struct scenario_reader *r, const struct yaml_node *map)
{
	const uint32_t switches = how_many(r, map, "topology.switches", 2000);
	const uint64_t per_switch = scenario_get(map, "topology.hosts_per_switch").number;

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
		[LEAF_SPINE] = read_leaf_spine,
		[FAT_TREE] = read_fat_tree,
		[CLOS] = read_clos,
		[RAIL] = read_rail,
		[DUMBBELL] = read_dumbbell,
		[TORUS] = read_torus,
		[DRAGONFLY] = read_dragonfly,
		[FULL_MESH] = read_full_mesh,
	};
	const int kind = scenario_get(map, "topology.kind").word;
	struct topology *topology = &r->scenario->topology;
	uint32_t hosts;
	int ret = 0;

	if (kind < 0)
		return 0;
	scenario_only_these(r, map, keys_of_kind[kind], "only keys of this kind");
	if (kind == STAR) {
		hosts = how_many(r, map, "topology.hosts", 32000);
		if (hosts > 0 && fits(r, map, hosts, 0))
			ret = topology_star(topology, hosts, speed_of(map));
	} else {
		ret = readers[kind](r, map);
	}
	if (ret || kind == RAIL)
		return ret;
	return topology_add_nics(topology, nics_of(map));
}
