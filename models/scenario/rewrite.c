/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/place.h"

#include "util/alloc.h"
#include "util/quantity.h"
#include "util/siphash.h"

/* DSCPs that switches rewrite by the ports that a packet comes in and goes out by. */

/* Links of a rule, by the names of neighbours and of links themselves. */
struct ways {
	const struct place *p;
	uint8_t *seen; /* by link: SCENARIO_FROM_A, SCENARIO_FROM_B */
	struct bad_text why;
};

/* The ends from which @link is named by @named, a link, or by @node. */
static uint8_t seen_from(const struct topology_link *link, const struct topology_link *named,
			 int64_t node)
{
	uint8_t ends = 0;

	if (link == named)
		return SCENARIO_FROM_A | SCENARIO_FROM_B;
	ends |= link->b == node ? SCENARIO_FROM_A : 0;
	ends |= link->a == node ? SCENARIO_FROM_B : 0;
	return ends;
}

static bool take_way(void *owner, const char *name)
{
	struct ways *w = owner;
	const struct topology *topology = &w->p->r->scenario->topology;
	const struct topology_link *named = topology_find_link(topology, name);
	const int64_t node = topology_find(topology, name);
	bool found = false;

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const uint8_t ends = seen_from(link, named, node);
		const bool at_a = topology->nodes[link->a].is_switch && w->p->members[link->a];
		const bool at_b = topology->nodes[link->b].is_switch && w->p->members[link->b];

		found = found || (ends & SCENARIO_FROM_A && at_a) ||
			(ends & SCENARIO_FROM_B && at_b);
		w->seen[i] |= ends;
	}
	if (!found)
		bad_text(&w->why, "%s", name);
	return found;
}

/* NULL: any. Names that the list of another map has, which holds here too, may be of no switch
 * here. */
static uint8_t *rewrite_ways_of(const struct place *p, const struct yaml_node *map,
				enum scenario_key key)
{
	const struct yaml_node *names = scenario_node(map, key);
	struct ways w = {.p = p};
	struct bad_text why;

	if (!names)
		return NULL;
	w.seen = scenario_alloc(p->r, p->r->scenario->topology.link_count + 1, sizeof(*w.seen));
	if (!w.seen)
		return NULL;
	for (const struct yaml_node *node = names->kind == YAML_LIST ? names->child : names; node;
	     node = names->kind == YAML_LIST ? node->next : NULL) {
		bad_text(&w.why, "%s", "");
		if (!node->meaning ||
		    scenario_names(node->text, node->length, take_way, &w, &why) ||
		    !scenario_is_own(p->map, KEY_SWITCH_REWRITE) || p->r->topology_bad)
			continue;
		scenario_switch_refuse(p, map, key, w.why.text[0] ? w.why.text : why.text,
				       "neighbours or links of the switch");
	}
	return w.seen;
}

/* The priorities whose DSCPs the rule is for. */
static uint8_t priorities_of(const struct place *p, const struct yaml_node *map)
{
	const struct yaml_node *values = scenario_node(map, KEY_SWITCH_REWRITE_VALUES);
	const uint8_t *sent = p->r->scenario->nic.dscp;
	uint8_t mask = 0;

	if (!values || values->kind != YAML_LIST)
		return 0xff;
	for (const struct yaml_node *node = values->child; node; node = node->next) {
		uint64_t dscp = 64;

		if (node->text)
			(void)util_count_parse(node->text, node->length, &dscp);
		if (dscp > 63 && scenario_is_own(p->map, KEY_SWITCH_REWRITE))
			scenario_switch_refuse(p, map, KEY_SWITCH_REWRITE_VALUES, NULL,
					       "a list of DSCPs, 0 to 63");
		for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
			mask |= (uint8_t)((sent[q] == dscp) << q);
	}
	return mask;
}

static void read_rule(const struct place *p, const struct yaml_node *map)
{
	const uint64_t dscp = scenario_get(map, KEY_SWITCH_REWRITE_DSCP).number;
	const uint8_t *sent = p->r->scenario->nic.dscp;
	struct scenario_switch *sw = p->sw;
	struct scenario_rewrite *rules =
		scenario_grow(p->r, sw->rewrites, sw->rewrite_count, sizeof(*rules));
	uint8_t to = 0;

	if (!rules)
		return;
	while (to < SIM_PRIORITIES && sent[to] != dscp)
		to++;
	if (to == SIM_PRIORITIES && scenario_is_own(p->map, KEY_SWITCH_REWRITE) &&
	    scenario_has(map, KEY_SWITCH_REWRITE_DSCP))
		scenario_switch_refuse(p, map, KEY_SWITCH_REWRITE_DSCP, NULL,
				       "one of the eight of nic.dscp");
	sw->rewrites = rules;
	rules[sw->rewrite_count++] =
		(struct scenario_rewrite){.in = rewrite_ways_of(p, map, KEY_SWITCH_REWRITE_IN),
					  .out = rewrite_ways_of(p, map, KEY_SWITCH_REWRITE_OUT),
					  .from = priorities_of(p, map),
					  .to = to & 7};
}

void scenario_read_rewrites(const struct place *p)
{
	const struct yaml_node *list = scenario_node(p->map, KEY_SWITCH_REWRITE);

	if (!list || list->kind != YAML_LIST)
		return;
	if (p->sw->balance == SIM_BALANCE_WEAVE)
		scenario_switch_refuse(p, p->map, KEY_SWITCH_REWRITE, NULL,
				       "no balance: conweave beside it, which has frames of its "
				       "own");
	for (const struct yaml_node *map = list->child; map; map = map->next)
		if (map->kind == YAML_MAP)
			read_rule(p, map);
}

struct named {
	struct scenario_reader *r;
	struct scenario_hash *hash;
	const char *path;
	uint64_t nth;
};

static bool rewrite_hash_name(void *owner, const char *name)
{
	const struct named *n = owner;
	const struct topology *topology = &n->r->scenario->topology;
	const struct topology_link *link = topology_find_link(topology, name);
	const int64_t node = topology_find(topology, name);
	const uint64_t words[] = {n->nth, util_hash_name(node >= 0 ? topology->nodes[node].name
							 : link	   ? link->name
								   : name)};

	scenario_hash_words(n->r, n->hash, n->path, words, 2);
	return true;
}

static void hash_names(struct named *n, const struct yaml_node *map, enum scenario_key key)
{
	const struct yaml_node *names = scenario_node(map, key);
	struct bad_text why;

	n->path = scenario_path(key);
	for (const struct yaml_node *node = names && names->kind == YAML_LIST ? names->child
									      : names;
	     node; node = names->kind == YAML_LIST ? node->next : NULL)
		if (node->meaning)
			(void)scenario_names(node->text, node->length, rewrite_hash_name, n, &why);
}

/* The first rule that knows a packet holds, so which is the first is part of what is said. */
void scenario_hash_rewrites(struct scenario_reader *r, struct scenario_hash *hash,
			    const struct yaml_node *map)
{
	const struct yaml_node *list = scenario_is_own(map, KEY_SWITCH_REWRITE)
					       ? scenario_node(map, KEY_SWITCH_REWRITE)
					       : NULL;
	struct named named = {.r = r, .hash = hash};

	for (const struct yaml_node *rule = list && list->kind == YAML_LIST ? list->child : NULL;
	     rule; rule = rule->next, named.nth++) {
		const uint64_t words[] = {named.nth,
					  scenario_get(rule, KEY_SWITCH_REWRITE_DSCP).number};

		scenario_hash_words(r, hash, scenario_path(KEY_SWITCH_REWRITE_DSCP), words, 2);
		hash_names(&named, rule, KEY_SWITCH_REWRITE_IN);
		hash_names(&named, rule, KEY_SWITCH_REWRITE_OUT);
	}
}

void scenario_free_rewrites(struct scenario_switch *sw)
{
	for (uint32_t i = 0; i < sw->rewrite_count; i++) {
		util_free(sw->rewrites[i].in);
		util_free(sw->rewrites[i].out);
	}
	util_free(sw->rewrites);
}
