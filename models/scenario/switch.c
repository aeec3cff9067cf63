/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/place.h"

#include "util/alloc.h"
#include "util/quantity.h"
#include "util/siphash.h"

#include <stdlib.h>
#include <string.h>

static void refuse_content(const struct place *p, const struct yaml_node *map,
			   enum scenario_key key, const char *expected)
{
	scenario_switch_refuse(p, map, key, NULL, expected);
}

static void read_ecn(const struct place *p)
{
	const struct yaml_node *node = scenario_node(p->map, KEY_SWITCH_ECN);
	struct scenario_ecn *ecn = &p->sw->ecn;
	struct bad_text expected;
	char kmin[32], kmax[32];

	if (!node)
		return;
	ecn->enabled = true;
	scenario_put(node, KEY_SWITCH_ECN, false, p->sw);
	if (ecn->kmin_bytes <= ecn->kmax_bytes)
		return;
	util_quantity_format(kmin, ecn->kmin_bytes, UTIL_UNIT_BYTES);
	util_quantity_format(kmax, ecn->kmax_bytes, UTIL_UNIT_BYTES);
	scenario_switch_refuse(p, node, KEY_SWITCH_ECN_KMIN, kmin,
			       bad_text(&expected, "at most kmax, which is %s", kmax));
}

/* ---- thresholds ---- */

/* Bytes at which a pause ends: as @key gives them, or two frames below. */
static uint32_t xon_of(const struct place *p, const struct yaml_node *map, enum scenario_key key,
		       uint32_t xoff)
{
	const uint32_t gap = 2 * scenario_frame_bytes(p->r->scenario);
	uint32_t xon = xoff > gap ? xoff - gap : 0;

	if (!scenario_has(map, key))
		return xon;
	xon = (uint32_t)scenario_get(map, key).number;
	if (xon > xoff)
		refuse_content(p, map, key, "at most xoff");
	return xon;
}

/* Fixed thresholds, or a share of what is free: what is nearest holds. */
static void read_thresholds(const struct place *p)
{
	struct scenario_switch *sw = p->sw;
	const bool xoff = scenario_has(p->map, KEY_SWITCH_XOFF);

	if (scenario_is_own(p->map, KEY_SWITCH_XOFF) && scenario_is_own(p->map, KEY_SWITCH_ALPHA))
		refuse_content(p, p->map, KEY_SWITCH_XOFF,
			       "it without switch.alpha, or that without it");
	if (!xoff && scenario_is_own(p->map, KEY_SWITCH_XON))
		refuse_content(p, p->map, KEY_SWITCH_XON, "switch.xoff beside it");
	if (scenario_is_own(p->map, KEY_SWITCH_ALPHA))
		sw->xoff_bytes = 0;
	else if (xoff)
		sw->xon_bytes = xon_of(p, p->map, KEY_SWITCH_XON, sw->xoff_bytes);
}

/* What a priority has where no class says otherwise. */
static struct scenario_class usual_class(const struct scenario_switch *sw, uint32_t priority)
{
	if (!(sw->lossless >> priority & 1))
		return (struct scenario_class){.xoff_bytes = UINT32_MAX};
	return (struct scenario_class){.alpha_num = sw->alpha_num,
				       .alpha_den = sw->xoff_bytes ? 0 : sw->alpha_den,
				       .xoff_bytes = sw->xoff_bytes,
				       .xon_bytes = sw->xon_bytes,
				       .reserve_bytes = sw->reserve_bytes};
}

static void read_class(const struct place *p, const struct yaml_node *map,
		       struct scenario_class *class)
{
	scenario_put(map, KEY_SWITCH_CLASSES, true, class);
	if (!scenario_has(map, KEY_SWITCH_CLASSES_XOFF))
		return;
	class->alpha_den = 0;
	class->xon_bytes = xon_of(p, map, KEY_SWITCH_CLASSES_XON, class->xoff_bytes);
}

static void read_classes(const struct place *p)
{
	const struct yaml_node *list = scenario_node(p->map, KEY_SWITCH_CLASSES);
	struct scenario_switch *sw = p->sw;
	uint32_t seen = 0;

	if (!list || list->kind != YAML_LIST)
		return;
	sw->has_classes = true;
	for (uint32_t q = 0; q < p->r->scenario->priority_count; q++)
		sw->classes[q] = usual_class(sw, q);
	for (const struct yaml_node *map = list->child; map; map = map->next) {
		const struct yaml_node *which = scenario_node(map, KEY_SWITCH_CLASSES_PRIORITIES);
		const uint32_t mask = which ? (uint32_t)scenario_value_of(which)->number : 0;

		if (mask & seen)
			refuse_content(p, map, KEY_SWITCH_CLASSES_PRIORITIES, "each priority once");
		if (scenario_has(map, KEY_SWITCH_CLASSES_ALPHA) &&
		    scenario_has(map, KEY_SWITCH_CLASSES_XOFF))
			refuse_content(p, map, KEY_SWITCH_CLASSES_XOFF,
				       "it without alpha, or that without it");
		seen |= mask;
		if (scenario_has(map, KEY_SWITCH_CLASSES_ALPHA) ||
		    scenario_has(map, KEY_SWITCH_CLASSES_XOFF))
			sw->alpha_by_rate &= (uint8_t)~mask;
		for (uint32_t q = 0; q < p->r->scenario->priority_count; q++)
			if (mask >> q & 1)
				read_class(p, map, &sw->classes[q]);
	}
}

static void read_weights(const struct place *p)
{
	const struct yaml_node *ets = scenario_node(p->map, KEY_SWITCH_ETS);
	const struct yaml_node *list = scenario_node(ets, KEY_SWITCH_ETS_WEIGHTS);
	const uint32_t priorities = p->r->scenario->priority_count;
	uint32_t count = 0, taking = 0;
	struct bad_text expected;
	uint64_t weight;

	if (!list || list->kind != YAML_LIST)
		return;
	for (const struct yaml_node *node = list->child; node; node = node->next, count++) {
		if (!node->text ||
		    util_count_parse(node->text, node->length, &weight) != UTIL_QUANTITY_OK ||
		    weight > UINT8_MAX || count >= priorities)
			break;
		p->sw->weights[count] = (uint8_t)weight;
		taking += weight > 0;
	}
	if (count != priorities || list->child_count != priorities || taking == 0)
		refuse_content(p, ets, KEY_SWITCH_ETS_WEIGHTS,
			       bad_text(&expected, "%s numbers up to 255, not all 0",
					priorities == SIM_PRIORITIES ? "eight" : "sixteen"));
}

/* Why a fabric of sixteen priorities has not what Ethernet has. */
static const char of_ethernet[] = "priorities: 8, for it knows no more";

/* What a switch makes of the DSCPs that hosts send. */
static void scenario_switch_read_dscp(const struct place *p)
{
	const struct yaml_node *list = scenario_node(p->map, KEY_SWITCH_DSCP);
	const uint8_t *sent = p->r->scenario->nic.dscp;
	struct scenario_switch *sw = p->sw;

	for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
		sw->map[q] = sent[q] / 8;
	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next) {
		const struct yaml_node *values = scenario_node(map, KEY_SWITCH_DSCP_VALUES);

		for (const struct yaml_node *node =
			     values && values->kind == YAML_LIST ? values->child : NULL;
		     node; node = node->next) {
			uint64_t dscp = 64;

			if (node->text)
				(void)util_count_parse(node->text, node->length, &dscp);
			if (dscp > 63)
				refuse_content(p, map, KEY_SWITCH_DSCP_VALUES,
					       "a list of DSCPs, 0 to 63");
			for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
				if (sent[q] == dscp)
					sw->map[q] =
						(uint8_t)scenario_get(map, KEY_SWITCH_DSCP_PRIORITY)
							.number;
		}
	}
}

/* And of the PCPs, which are the hosts' priorities. */
static void read_pcp(const struct place *p)
{
	const struct yaml_node *list = scenario_node(p->map, KEY_SWITCH_PCP);
	struct scenario_switch *sw = p->sw;

	if (p->r->scenario->nic.vlan == 0)
		refuse_content(p, p->map, KEY_SWITCH_PCP, "nic.vlan beside it");
	if (scenario_is_own(p->map, KEY_SWITCH_DSCP) && scenario_is_own(p->map, KEY_SWITCH_PCP))
		refuse_content(p, p->map, KEY_SWITCH_PCP, "either switch.dscp or switch.pcp");
	for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
		sw->map[q] = q;
	for (const struct yaml_node *map = list->kind == YAML_LIST ? list->child : NULL; map;
	     map = map->next) {
		const struct yaml_node *values = scenario_node(map, KEY_SWITCH_PCP_VALUES);

		for (uint32_t q = 0; values && q < SIM_PRIORITIES; q++)
			if (scenario_value_of(values)->number >> q & 1)
				sw->map[q] =
					(uint8_t)scenario_get(map, KEY_SWITCH_PCP_PRIORITY).number;
	}
}

static void read_map(const struct place *p)
{
	static const enum scenario_key keys[] = {KEY_SWITCH_DSCP, KEY_SWITCH_PCP,
						 KEY_SWITCH_REWRITE};
	struct scenario_switch *sw = p->sw;

	if (p->r->scenario->priority_count > SIM_PRIORITIES) {
		for (int i = 0; i < 3; i++)
			if (scenario_has(p->map, keys[i]))
				refuse_content(p, p->map, keys[i], of_ethernet);
		return;
	}
	if (scenario_has(p->map, KEY_SWITCH_CREDIT)) {
		for (int i = 0; i < 3; i++)
			if (scenario_has(p->map, keys[i]))
				refuse_content(
					p, p->map, keys[i],
					"no switch.credit beside it, whose counts go by priority");
		return;
	}
	if (scenario_has(p->map, KEY_SWITCH_PCP) &&
	    (scenario_is_own(p->map, KEY_SWITCH_PCP) || !scenario_is_own(p->map, KEY_SWITCH_DSCP)))
		read_pcp(p);
	else
		scenario_switch_read_dscp(p);
	for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
		sw->mapped = sw->mapped || sw->map[q] != q;
	scenario_read_rewrites(p);
}

/* ---- flow control ---- */

static uint64_t reserves_of(const struct scenario_switch *sw)
{
	uint64_t bytes = 0;

	for (uint32_t q = 0; q < SIM_PRIORITIES_MAX; q++)
		bytes += sw->has_classes ? sw->classes[q].reserve_bytes
					 : usual_class(sw, q).reserve_bytes;
	return bytes;
}

/* Each switch has more buffer than it keeps free. */
static void check_headroom(const struct place *p, const struct yaml_node *map)
{
	const struct topology *topology = &p->r->scenario->topology;
	const struct scenario_switch *sw = p->sw;
	const uint32_t priorities = (uint32_t)__builtin_popcount(sw->lossless);
	uint64_t *taken = scenario_alloc(p->r, topology->node_count + 1, sizeof(*taken));
	struct bad_text found, expected;

	if (!taken)
		return;
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const uint64_t headroom = sw->headroom_pool_bytes > 0
						  ? 0
						  : priorities * (uint64_t)scenario_headroom_bytes(
									 p->r->scenario, sw, link);

		taken[link->a] += headroom + reserves_of(sw);
		taken[link->b] += headroom + reserves_of(sw);
	}
	for (uint32_t i = 0; i < topology->node_count; i++) {
		const uint64_t bytes = taken[i] + sw->headroom_pool_bytes;

		if (!topology->nodes[i].is_switch || !p->members[i] || bytes < sw->buffer_bytes)
			continue;
		scenario_switch_refuse(
			p, map, KEY_SWITCH_BUFFER,
			bad_text(&found, "%lluB, of which %s %lluB at %s",
				 (unsigned long long)sw->buffer_bytes,
				 priorities == 0   ? "reserves take"
				 : reserves_of(sw) ? "headroom and reserves take"
						   : "headroom takes",
				 (unsigned long long)bytes, topology->nodes[i].name),
			bad_text(&expected, "more than %lluB", (unsigned long long)bytes));
		break;
	}
	util_free(taken);
}

static void read_watchdog(const struct place *p, const struct yaml_node *dog)
{
	p->sw->has_watchdog = dog != NULL;
	if (!dog)
		return;
	scenario_put(dog, KEY_SWITCH_PFC_WATCHDOG, false, p->sw);
}

static void read_pfc(const struct place *p)
{
	const struct yaml_node *pfc = scenario_node(p->map, KEY_SWITCH_PFC);
	struct scenario_switch *sw = p->sw;

	sw->fc = SCENARIO_FC_PFC;
	scenario_put(pfc, KEY_SWITCH_PFC, false, sw);
	sw->headroom_auto = sw->headroom_bytes == 0;
	sw->alpha_by_rate = sw->lossless;
	read_thresholds(p);
	read_classes(p);
	read_watchdog(p, scenario_node(pfc, KEY_SWITCH_PFC_WATCHDOG));
	check_headroom(p, pfc);
}

/* Of the priorities of @mask; @key is that of the buffer in @map. */
static void read_credit_buffer(const struct place *p, const struct yaml_node *map,
			       enum scenario_key key, uint64_t bytes, uint32_t mask)
{
	const uint32_t frame = scenario_frame_bytes(p->r->scenario);
	struct bad_text found, expected;

	if (bytes < frame)
		scenario_switch_refuse(
			p, map, key, bad_text(&found, "%lluB", (unsigned long long)bytes),
			bad_text(&expected, "at least a frame, which has %uB", frame));
	for (uint32_t q = 0; q < p->r->scenario->priority_count; q++)
		if (mask >> q & 1)
			p->sw->credit_bytes[q] = bytes;
}

static void read_credit_classes(const struct place *p, const struct yaml_node *list)
{
	uint32_t seen = 0;

	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next) {
		const struct yaml_node *which =
			scenario_node(map, KEY_SWITCH_CREDIT_CLASSES_PRIORITIES);
		const uint32_t mask = which ? (uint32_t)scenario_value_of(which)->number : 0;

		if (mask & seen)
			refuse_content(p, map, KEY_SWITCH_CREDIT_CLASSES_PRIORITIES,
				       "each priority once");
		seen |= mask;
		read_credit_buffer(p, map, KEY_SWITCH_CREDIT_CLASSES_BUFFER,
				   scenario_get(map, KEY_SWITCH_CREDIT_CLASSES_BUFFER).number,
				   mask);
	}
}

static void read_credit(const struct place *p)
{
	const struct yaml_node *credit = scenario_node(p->map, KEY_SWITCH_CREDIT);
	struct scenario_reader *r = p->r;
	struct bad_text found;

	p->sw->fc = SCENARIO_FC_CREDIT;
	read_credit_buffer(p, credit, KEY_SWITCH_CREDIT_BUFFER,
			   scenario_get(credit, KEY_SWITCH_CREDIT_BUFFER).number, UINT32_MAX);
	read_credit_classes(p, scenario_node(credit, KEY_SWITCH_CREDIT_CLASSES));
	scenario_put(credit, KEY_SWITCH_CREDIT, false, p->sw);
	for (uint32_t i = 0; i < r->scenario->topology.link_count; i++) {
		const struct topology_link *link = &r->scenario->topology.links[i];

		if (link->error_ppt == 0 && link->loss_ppb == 0)
			continue;
		scenario_switch_refuse(p, credit, KEY_SWITCH_CREDIT,
				       bad_text(&found, "link %s, which loses frames", link->name),
				       "links that lose nothing, for the counts must stay right");
		break;
	}
}

/* Keys of the map that mean something with pauses only: where nothing pauses, a priority that drops
 * may hold all that is free. */
static void read_no_thresholds(const struct place *p)
{
	static const enum scenario_key keys[] = {KEY_SWITCH_ALPHA, KEY_SWITCH_XOFF, KEY_SWITCH_XON,
						 KEY_SWITCH_RESERVE};

	/* Where pauses are said to be off, so are they: those that have them there are warned. */
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (scenario_has(p->map, keys[i]) && !scenario_is_own(p->map, KEY_SWITCH_PFC))
			refuse_content(p, p->map, keys[i], "switch.pfc beside it");
	p->sw->xoff_bytes = p->sw->reserve_bytes = 0;
	p->sw->alpha_num = p->sw->alpha_den = 1;
}

/* Without pauses all priorities drop; classes say how much each may hold. */
static void read_lossy(const struct place *p)
{
	read_classes(p);
	if (p->sw->has_classes)
		check_headroom(p, p->map);
}

/* Frames that are kept are here as a whole, and belong to no sender's credit. */
static void read_conweave(const struct place *p)
{
	scenario_put(scenario_node(p->map, KEY_SWITCH_CONWEAVE), KEY_SWITCH_CONWEAVE, false, p->sw);
	if (p->sw->balance == SIM_BALANCE_WEAVE &&
	    (p->sw->cut_through || scenario_has(p->map, KEY_SWITCH_CREDIT)))
		refuse_content(p, p->map, KEY_SWITCH_BALANCE,
			       "another one beside cut_through or credits");
	else if (p->sw->balance == SIM_BALANCE_WEAVE &&
		 p->r->scenario->priority_count > SIM_PRIORITIES)
		refuse_content(p, p->map, KEY_SWITCH_BALANCE, "another one beside priorities: 16");
}

/* ---- ports by their rates ---- */

/* Keys of @map that say nothing without what they belong to; where that is said to be off, so are
 * they. */
static void check_rate_keys(const struct place *p, const struct yaml_node *map)
{
	static const enum scenario_key marks[] = {KEY_SWITCH_BY_RATE_KMIN, KEY_SWITCH_BY_RATE_KMAX,
						  KEY_SWITCH_BY_RATE_PMAX};
	/* Or it has been told where the list is. */
	const bool own = scenario_is_own(p->map, KEY_SWITCH_BY_RATE);

	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		if (scenario_has(map, marks[i]) && !p->sw->ecn.enabled && own &&
		    !scenario_is_own(p->map, KEY_SWITCH_ECN))
			refuse_content(p, map, marks[i], "switch.ecn beside it");
	if (!scenario_has(map, KEY_SWITCH_BY_RATE_ALPHA))
		return;
	if (p->sw->fc != SCENARIO_FC_PFC && own && !scenario_is_own(p->map, KEY_SWITCH_PFC))
		refuse_content(p, map, KEY_SWITCH_BY_RATE_ALPHA, "switch.pfc beside it");
	else if (p->sw->xoff_bytes > 0 && (own || !scenario_is_own(p->map, KEY_SWITCH_XOFF)))
		refuse_content(p, map, KEY_SWITCH_BY_RATE_ALPHA, "no switch.xoff beside it");
}

static void scenario_switch_read_rate(const struct place *p, const struct yaml_node *map)
{
	struct scenario_switch *sw = p->sw;
	struct scenario_at_rate rate = {.kmin_bytes = sw->ecn.kmin_bytes,
					.kmax_bytes = sw->ecn.kmax_bytes,
					.pmax_num = sw->ecn.pmax_num,
					.pmax_den = sw->ecn.pmax_den,
					.alpha_num = sw->alpha_num,
					.alpha_den = sw->alpha_den};
	uint32_t i;

	scenario_put(map, KEY_SWITCH_BY_RATE, true, &rate);
	if (rate.rate_bps == 0)
		return; /* reported already */
	check_rate_keys(p, map);
	if (sw->ecn.enabled && rate.kmin_bytes > rate.kmax_bytes &&
	    sw->ecn.kmin_bytes <= sw->ecn.kmax_bytes)
		refuse_content(p, map,
			       scenario_has(map, KEY_SWITCH_BY_RATE_KMIN) ? KEY_SWITCH_BY_RATE_KMIN
									  : KEY_SWITCH_BY_RATE_KMAX,
			       "kmin at most kmax, each of switch.ecn where it is left out");
	for (i = sw->rate_count; i > 0 && sw->rates[i - 1].rate_bps >= rate.rate_bps; i--) {
		if (sw->rates[i - 1].rate_bps == rate.rate_bps)
			refuse_content(p, map, KEY_SWITCH_BY_RATE_RATE, "each rate once");
		sw->rates[i] = sw->rates[i - 1];
	}
	sw->rates[i] = rate;
	sw->rate_count++;
}

static void read_rates(const struct place *p)
{
	const struct yaml_node *list = scenario_node(p->map, KEY_SWITCH_BY_RATE);

	for (const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;
	     map; map = map->next)
		if (map->kind == YAML_MAP)
			scenario_switch_read_rate(p, map);
}

static void read_place(const struct place *p)
{
	const struct yaml_node *map = p->map;
	struct scenario_switch *sw = p->sw;

	*sw = (struct scenario_switch){0};
	scenario_put(map, KEY_SWITCH, false, sw);
	read_conweave(p);
	read_map(p);
	read_ecn(p);
	read_weights(p);
	if (scenario_has(map, KEY_SWITCH_PFC) && scenario_has(map, KEY_SWITCH_CREDIT))
		refuse_content(p, map, KEY_SWITCH_CREDIT, "either switch.pfc or switch.credit");
	else if (scenario_has(map, KEY_SWITCH_PFC) &&
		 p->r->scenario->priority_count > SIM_PRIORITIES)
		refuse_content(p, map, KEY_SWITCH_PFC, of_ethernet);
	else if (scenario_has(map, KEY_SWITCH_PFC))
		read_pfc(p);
	else if (scenario_has(map, KEY_SWITCH_CREDIT))
		read_credit(p);
	else
		read_lossy(p);
	if (!scenario_has(map, KEY_SWITCH_PFC))
		read_no_thresholds(p);
	if (scenario_has(map, KEY_SWITCH_CLASSES) && scenario_has(map, KEY_SWITCH_CREDIT))
		refuse_content(p, map, KEY_SWITCH_CLASSES,
			       "no switch.credit beside it, whose buffers are apart");
	read_rates(p);
}

/* ---- some switches ---- */

struct members {
	struct scenario_reader *r;
	bool *mine, *taken; /* by node */
	struct bad_text why;
};

static bool take_switch(void *owner, const char *name)
{
	struct members *m = owner;
	const struct topology *topology = &m->r->scenario->topology;
	const int64_t node = topology_find(topology, name);

	if (node < 0 || !topology->nodes[node].is_switch || m->taken[node]) {
		bad_text(&m->why,
			 node >= 0 && m->taken[node] ? "%s a second time"
						     : "%s, which is no switch",
			 name);
		return false;
	}
	m->mine[node] = m->taken[node] = true;
	return true;
}

static void take_names(struct members *m, const struct yaml_node *map,
		       const struct yaml_node *names)
{
	struct bad_text why, key;

	for (const struct yaml_node *node = names->kind == YAML_LIST ? names->child : names; node;
	     node = names->kind == YAML_LIST ? node->next : NULL) {
		bad_text(&m->why, "%s", "");
		if (!node->meaning ||
		    scenario_names(node->text, node->length, take_switch, m, &why))
			continue;
		bad(m->r->errors, &node->at, scenario_shown(&key, map, KEY_SWITCHES_NAMES),
		    m->why.text[0] ? m->why.text : why.text, "switches of the topology, each once");
	}
}

/* By what it says and the names of its members. */
static void hash_group(struct scenario_reader *r, const struct yaml_node *map,
		       const struct scenario_group *group)
{
	struct scenario_hash hash = {0};

	scenario_hash_map(r, &hash, map, KEY_SWITCHES);
	scenario_hash_rewrites(r, &hash, map);
	for (uint32_t i = 0; i < group->node_count; i++) {
		const uint64_t words[] = {
			util_hash_name(r->scenario->topology.nodes[group->nodes[i]].name)};

		scenario_hash_words(r, &hash, scenario_path(KEY_SWITCHES_NAMES), words, 1);
	}
	scenario_hash_add(r, &r->hash, scenario_hash_end(&hash));
}

static void read_group(struct members *m, struct yaml_node *map, const struct yaml_node *common)
{
	struct scenario_reader *r = m->r;
	struct scenario *s = r->scenario;
	const struct yaml_node *names = scenario_node(map, KEY_SWITCHES_NAMES);
	struct scenario_group *groups =
				      scenario_grow(r, s->groups, s->group_count, sizeof(*groups)),
			      *group;
	struct bad_text key;

	if (!groups)
		return;
	s->groups = groups;
	group = &groups[s->group_count++];
	*group = (struct scenario_group){
		.nodes = scenario_alloc(r, s->topology.node_count + 1, sizeof(uint32_t))};
	if (!group->nodes)
		return;
	memset(m->mine, 0, s->topology.node_count * sizeof(*m->mine));
	if (names)
		take_names(m, map, names);
	for (uint32_t i = 0; i < s->topology.node_count; i++)
		if (m->mine[i])
			group->nodes[group->node_count++] = i;
	scenario_base(map, common);
	read_place(&(struct place){r, map, KEY_SWITCHES, &group->is, m->mine});
	if (group->is.fc != s->switches.fc)
		bad(r->errors, &map->at, scenario_shown_map(&key, map, KEY_SWITCHES),
		    "another kind of flow control", "that of switch");
	hash_group(r, map, group);
}

static void read_groups(struct scenario_reader *r, bool *mine, bool *taken)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_SWITCHES);
	struct members m = {.r = r, .mine = mine, .taken = taken};

	for (struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL; map;
	     map = map->next)
		if (map->kind == YAML_MAP && !r->topology_bad)
			read_group(&m, map, scenario_node(r->root, KEY_SWITCH));
}

void scenario_read_switches(struct scenario_reader *r)
{
	struct yaml_node *map = scenario_node(r->root, KEY_SWITCH);
	const uint32_t count = r->scenario->topology.node_count + 1;
	bool *all = scenario_alloc(r, count, sizeof(*all)),
	     *taken = scenario_alloc(r, count, sizeof(*taken));

	if (all && taken) {
		memset(all, 1, count * sizeof(*all));
		read_place(&(struct place){r, map, KEY_SWITCH, &r->scenario->switches, all});
		read_groups(r, all, taken);
	}
	util_free(all);
	util_free(taken);
	scenario_hash_map(r, &r->hash, map, KEY_SWITCH);
	scenario_hash_rewrites(r, &r->hash, map);
}
