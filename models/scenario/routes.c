/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "util/siphash.h"

/* Ways that are not the shortest. */

static bool are_joined(const struct topology *topology, uint32_t a, uint32_t b)
{
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];

		if ((link->a == a && link->b == b) || (link->a == b && link->b == a))
			return true;
	}
	return false;
}

static bool has_hosts(const struct topology *topology, uint32_t node)
{
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (!topology->nodes[i].is_switch && are_joined(topology, i, node))
			return true;
	return false;
}

/* The node that the key names, -1: none, and that is reported. */
static int64_t node_of(struct scenario_reader *r, const struct yaml_node *map,
		       enum scenario_key name, bool is_switch)
{
	const struct topology *topology = &r->scenario->topology;
	const struct yaml_node *node = scenario_node(map, name);
	const int64_t place = node && node->meaning ? topology_find(topology, node->text) : -1;
	struct bad_text key, found;

	if (!node || !node->meaning)
		return -1; /* reported already */
	if (place >= 0 && (!is_switch || topology->nodes[place].is_switch))
		return place;
	bad(r->errors, &node->at, scenario_shown(&key, map, name),
	    bad_quote(&found, node->text, node->length),
	    is_switch ? "a switch of the topology" : "a host or switch of the topology");
	return -1;
}

static void read_route(struct scenario_reader *r, const struct yaml_node *map)
{
	struct scenario *s = r->scenario;
	const int64_t at = node_of(r, map, KEY_ROUTING_WAYS_AT, true);
	const int64_t to = node_of(r, map, KEY_ROUTING_WAYS_TO, false);
	const int64_t via = node_of(r, map, KEY_ROUTING_WAYS_VIA, false);
	struct scenario_route *routes;
	struct bad_text key, found;

	if (at < 0 || to < 0 || via < 0)
		return;
	bad_text(&found, "%s", s->topology.nodes[via].name);
	if (!are_joined(&s->topology, (uint32_t)at, (uint32_t)via))
		bad(r->errors, &map->at, scenario_shown(&key, map, KEY_ROUTING_WAYS_VIA),
		    found.text, "a neighbour of the switch");
	bad_text(&found, "%s, which has no hosts", s->topology.nodes[to].name);
	if (s->topology.nodes[to].is_switch && !has_hosts(&s->topology, (uint32_t)to))
		bad(r->errors, &map->at, scenario_shown(&key, map, KEY_ROUTING_WAYS_TO), found.text,
		    "a host, or a switch with hosts");
	routes = scenario_grow(r, s->routes, s->route_count, sizeof(*routes));
	if (!routes)
		return;
	s->routes = routes;
	routes[s->route_count++] =
		(struct scenario_route){(uint32_t)at, (uint32_t)to, (uint32_t)via};
	const uint64_t words[] = {util_hash_name(s->topology.nodes[at].name),
				  util_hash_name(s->topology.nodes[to].name),
				  util_hash_name(s->topology.nodes[via].name)};
	scenario_hash_words(r, &r->hash, scenario_inside(KEY_ROUTING_WAYS, &key), words, 3);
}

void scenario_read_routes(struct scenario_reader *r)
{
	const struct yaml_node *routing = scenario_node(r->root, KEY_ROUTING);
	const struct yaml_node *list = scenario_node(routing, KEY_ROUTING_WAYS);
	struct scenario *s = r->scenario;
	static const uint64_t yes[] = {1};

	scenario_put(routing, KEY_ROUTING, false, s);
	if (s->weighted_routes)
		scenario_hash_words(r, &r->hash, scenario_path(KEY_ROUTING_WEIGHTED), yes, 1);
	if (s->same_hash)
		scenario_hash_words(r, &r->hash, scenario_path(KEY_ROUTING_HASH), yes, 1);
	if (s->reconverge != PS_NEVER)
		scenario_hash_words(r, &r->hash, scenario_path(KEY_ROUTING_RECONVERGE),
				    &s->reconverge, 1);
	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next)
		if (map->kind == YAML_MAP && !r->topology_bad && r->host_count > 0)
			read_route(r, map);
}
