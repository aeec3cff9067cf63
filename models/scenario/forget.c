/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/build.h"

#include "util/alloc.h"
#include "util/siphash.h"

/* Hosts whose port their switch does not know any more. */

/* ---- what the scenario says ---- */

static void forget_refuse(struct scenario_reader *r, const struct yaml_node *map,
			  enum scenario_key key, const char *expected)
{
	const struct yaml_node *node = scenario_node(map, key);

	scenario_refuse(r, map, node ? node : map, KEY_FAULTS, expected);
}

/* What happens on links is another fault. */
static bool says_no_more(struct scenario_reader *r, const struct yaml_node *map)
{
	static const enum scenario_key of_links[] = {
		KEY_FAULTS_LINK,   KEY_FAULTS_SENDER,	 KEY_FAULTS_LOSS,  KEY_FAULTS_CORRUPT,
		KEY_FAULTS_DOWN,   KEY_FAULTS_DUPLICATE, KEY_FAULTS_RATE,  KEY_FAULTS_REORDER,
		KEY_FAULTS_PAUSE,  KEY_FAULTS_DETECT,	 KEY_FAULTS_DELAY, KEY_FAULTS_DROP_NTH,
		KEY_FAULTS_FRAMES, KEY_FAULTS_BY};

	for (size_t i = 0; i < sizeof(of_links) / sizeof(of_links[0]); i++)
		if (scenario_has(map, of_links[i])) {
			forget_refuse(r, map, of_links[i],
				      "nothing but forget, from and until beside switch");
			return false;
		}
	return true;
}

/* The switch; -1: none, and that is reported. */
static int64_t forgetting_switch(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct topology *topology = &r->scenario->topology;
	const struct yaml_node *node = scenario_node(map, KEY_FAULTS_SWITCH);
	struct bad_text key, found;
	int64_t place;

	if (!node) {
		forget_refuse(r, map, KEY_FAULTS_FORGET, "switch beside it");
		return -1;
	}
	if (!node->meaning)
		return -1; /* reported already */
	place = topology_find(topology, node->text);
	if (place >= 0 && topology->nodes[place].is_switch)
		return place;
	bad(r->errors, &node->at, scenario_shown(&key, map, KEY_FAULTS_SWITCH),
	    bad_quote(&found, node->text, node->length), "a switch of the topology");
	return -1;
}

static bool is_of_switch(const struct topology *topology, const char *host, uint32_t at)
{
	const uint32_t node = (uint32_t)topology_find(topology, host);

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];

		if ((link->a == node && link->b == at) || (link->a == at && link->b == node))
			return true;
	}
	return false;
}

static void forget_one(struct scenario_reader *r, const struct yaml_node *map,
		       const struct scenario_forget *forget)
{
	struct scenario *s = r->scenario;
	const char *at = s->topology.nodes[forget->at].name, *host = r->hosts[forget->host];
	struct scenario_forget *forgets =
		scenario_grow(r, s->forgets, s->forget_count, sizeof(*forgets));
	const uint64_t words[] = {util_hash_name(at), util_hash_name(host), forget->from_at,
				  forget->until_at};
	struct bad_text key, found, expected;

	if (!forgets)
		return;
	s->forgets = forgets;
	forgets[s->forget_count++] = *forget;
	scenario_hash_words(r, &r->hash, scenario_path(KEY_FAULTS_FORGET), words, 4);
	if (!is_of_switch(&s->topology, host, forget->at))
		bad(r->errors, &scenario_node(map, KEY_FAULTS_FORGET)->at,
		    scenario_shown(&key, map, KEY_FAULTS_FORGET), bad_text(&found, "%s", host),
		    bad_text(&expected, "hosts that hang on %s", at));
}

static bool any_weaves(const struct scenario *s)
{
	bool any = s->switches.balance == SIM_BALANCE_WEAVE;

	for (uint32_t g = 0; g < s->group_count; g++)
		any = any || s->groups[g].is.balance == SIM_BALANCE_WEAVE;
	return any;
}

void scenario_read_forget(struct scenario_reader *r, const struct yaml_node *map,
			  const struct scenario_forget *common)
{
	const struct yaml_node *hosts = scenario_node(map, KEY_FAULTS_FORGET);
	struct scenario_forget forget = *common;
	struct scenario_hosts names;
	struct bad_text key;
	int64_t at;

	if (!hosts) {
		forget_refuse(r, map, KEY_FAULTS_SWITCH, "forget beside it");
		return;
	}
	at = forgetting_switch(r, map);
	if (!says_no_more(r, map) || at < 0)
		return;
	forget.at = (uint32_t)at;
	if (r->scenario->switches.fc == SCENARIO_FC_CREDIT)
		forget_refuse(r, map, KEY_FAULTS_FORGET,
			      "no switch.credit beside it, whose counts must stay right");
	if (any_weaves(r->scenario))
		forget_refuse(r, map, KEY_FAULTS_FORGET,
			      "no balance: conweave beside it, which keeps an order of its own");
	names = scenario_hosts_of(r, hosts, scenario_shown(&key, map, KEY_FAULTS_FORGET), true);
	for (uint32_t i = 0; i < names.count; i++) {
		forget.host = names.hosts[i];
		forget_one(r, map, &forget);
	}
	util_free(names.hosts);
}

/* ---- what becomes of it ---- */

int scenario_forget(const struct fabric *fabric, const char *at, const char *host, ps_t from,
		    ps_t until)
{
	struct sim_switch *sw = fabric_switch(fabric, at);
	const struct sim_node *node = sim_switch_node(sw);

	for (uint32_t p = 0; p < node->port_count; p++) {
		struct host *other = fabric_host(fabric, node->ports[p].peer->name);

		if (other)
			host_set_overhears(other);
	}
	return sim_switch_forget(sw, fabric_host(fabric, host)->address, from, until);
}

int scenario_forget_all(const struct scenario *s, const struct fabric *fabric)
{
	int ret = 0;

	for (uint32_t i = 0; i < s->forget_count && !ret; i++) {
		const struct scenario_forget *forget = &s->forgets[i];

		ret = scenario_forget(fabric, s->topology.nodes[forget->at].name,
				      fabric->table.hosts[forget->host]->node.name, forget->from_at,
				      forget->until_at);
	}
	return ret;
}
