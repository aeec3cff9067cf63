/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/topology/htsim_topo.h"

#include "models/input/fields.h"
#include "util/quantity.h"

#include <errno.h>

enum { LINKS_MAX = 2000000 };

enum key {
	NODES,
	TIERS,
	PODSIZE,
	TIER, /* below here: of a tier */
	SPEED,
	LATENCY,
	RADIX_DOWN,
	RADIX_UP,
	SWITCH_LATENCY,
	OVERSUBSCRIBED,
	BUNDLE,
	KEYS,
};

static const struct {
	const char *word, *shown;
	uint64_t least, most;
} keys[KEYS] = {
	[NODES] = {"nodes", "Nodes", 1, 500000},
	[TIERS] = {"tiers", "Tiers", 2, 3},
	[PODSIZE] = {"podsize", "Podsize", 1, 500000},
	[TIER] = {"tier", "Tier", 0, 2},
	[SPEED] = {"downlink_speed_gbps", "Downlink_speed_Gbps", 1, 10000},
	[LATENCY] = {"downlink_latency_ns", "Downlink_Latency_ns", 1, 1000000000},
	[RADIX_DOWN] = {"radix_down", "Radix_Down", 1, 32000},
	[RADIX_UP] = {"radix_up", "Radix_Up", 1, 32000},
	[SWITCH_LATENCY] = {"switch_latency_ns", "Switch_Latency_ns", 0, 0},
	[OVERSUBSCRIBED] = {"oversubscribed", "Oversubscribed", 1, 32000},
	[BUNDLE] = {"bundle", "Bundle", 1, 32000},
};

struct reader {
	struct fields_reader fields;
	struct bad_list *errors;
	uint64_t top[TIER], tiers[3][KEYS]; /* values; 0: not said */
	bool seen_top[TIER], seen[3][KEYS];
	int tier; /* -1: before the first */
	bool failed, warned;
};

static void htsim_topo_refuse(struct reader *r, const struct bad_at *at, const char *key,
			      struct field field, const char *expected)
{
	struct bad_text found;

	bad(r->errors, at, key, bad_quote(&found, field.text, field.length), expected);
	r->failed = true;
}

/* What the numbers say together does not fit. */
static void disagree(struct reader *r, const char *key, uint64_t is, const char *expected)
{
	struct bad_text found;

	bad(r->errors, &r->fields.at, key, bad_text(&found, "%llu", (unsigned long long)is),
	    expected);
	r->failed = true;
}

static enum key htsim_topo_key_of(struct field field)
{
	enum key key = NODES;

	while (key < KEYS && !fields_is(field, keys[key].word))
		key++;
	return key;
}

static void read_value(struct reader *r, const struct fields *line, enum key key)
{
	const struct field none = {"", 0};
	const struct field field = line->count > 1 ? line->field[1] : none;
	const bool of_tier = key > TIER;
	bool *seen = of_tier ? &r->seen[r->tier][key] : &r->seen_top[key];
	struct bad_text expected;
	uint64_t value = 0;

	if (*seen) {
		htsim_topo_refuse(r, &line->at, keys[key].shown, field, "each key once");
		return;
	}
	*seen = true;
	if (util_count_parse(field.text, field.length, &value) != UTIL_QUANTITY_OK ||
	    value < keys[key].least || value > keys[key].most) {
		htsim_topo_refuse(r, &line->at, keys[key].shown, field,
				  key == SWITCH_LATENCY
					  ? "0: the scenario has switch.latency"
					  : bad_text(&expected, "a number, %llu to %llu",
						     (unsigned long long)keys[key].least,
						     (unsigned long long)keys[key].most));
		return;
	}
	*(of_tier ? &r->tiers[r->tier][key] : &r->top[key]) = value;
}

static void read_tier(struct reader *r, const struct fields *line)
{
	const struct field none = {"", 0};
	const struct field field = line->count > 1 ? line->field[1] : none;
	uint64_t tier;

	if (util_count_parse(field.text, field.length, &tier) != UTIL_QUANTITY_OK || tier > 2 ||
	    r->seen[tier][TIER]) {
		htsim_topo_refuse(r, &line->at, keys[TIER].shown, field, "0, 1 or 2, each once");
		return;
	}
	r->tier = (int)tier;
	r->seen[tier][TIER] = true;
}

static void htsim_topo_read_line(struct reader *r, const struct fields *line)
{
	const struct field word = line->field[0];
	const enum key key = htsim_topo_key_of(word);

	if (word.text[0] == '#')
		return;
	if (key == TIER) {
		read_tier(r, line);
	} else if (key < TIER) {
		read_value(r, line, key);
	} else if (r->tier < 0) {
		if (!r->failed)
			htsim_topo_refuse(r, &line->at, "line", word,
					  "Nodes, Tiers, Podsize or Tier");
	} else if (key < KEYS) {
		read_value(r, line, key);
	} else if (!r->warned) {
		struct bad_text found;

		r->warned = true;
		bad_warn(r->errors, &line->at, "key", bad_quote(&found, word.text, word.length),
			 "what the topology is made of");
	}
}

/* All that is needed is there. */
static void check_complete(struct reader *r)
{
	static const enum key of_tier[] = {SPEED, LATENCY, RADIX_DOWN, RADIX_UP};
	struct bad_text key;

	for (enum key k = NODES; k < TIER; k++)
		if (!r->seen_top[k])
			bad(r->errors, &r->fields.at, keys[k].shown, "nothing", "a number");
	for (uint32_t t = 0; t < r->top[TIERS]; t++)
		for (size_t i = 0; i < sizeof(of_tier) / sizeof(of_tier[0]); i++) {
			const enum key k = of_tier[i];

			if (r->seen[t][k] || (k == RADIX_UP && t + 1 == r->top[TIERS]))
				continue;
			bad(r->errors, &r->fields.at,
			    bad_text(&key, "Tier %u %s", t, keys[k].shown), "nothing", "a number");
		}
}

static struct topology_tier tier_of(const struct reader *r, uint32_t t)
{
	return (struct topology_tier){
		.rate_bps = r->tiers[t][SPEED] * 1000000000u,
		.delay = r->tiers[t][LATENCY] * PS_NS,
		.bundle = (uint32_t)(r->seen[t][BUNDLE] ? r->tiers[t][BUNDLE] : 1),
	};
}

/* Links up of a switch of tier @t take what those down bring, over the oversubscription. */
static void check_oversubscription(struct reader *r, uint32_t t)
{
	const uint64_t over = r->seen[t][OVERSUBSCRIBED] ? r->tiers[t][OVERSUBSCRIBED] : 1;
	struct bad_text expected;

	if (r->tiers[t][RADIX_DOWN] * r->tiers[t][SPEED] !=
	    over * r->tiers[t][RADIX_UP] * r->tiers[t + 1][SPEED])
		disagree(r, keys[OVERSUBSCRIBED].shown, over,
			 bad_text(&expected,
				  "what %llu links of %llu Gb/s below tier %u and %llu of "
				  "%llu above it make",
				  (unsigned long long)r->tiers[t][RADIX_DOWN],
				  (unsigned long long)r->tiers[t][SPEED], t,
				  (unsigned long long)r->tiers[t][RADIX_UP],
				  (unsigned long long)r->tiers[t + 1][SPEED]));
}

/* @clos is what the numbers make; they may say more than it takes. */
static void check_fit(struct reader *r, const struct topology_clos *clos)
{
	const uint64_t *tiers[3] = {r->tiers[0], r->tiers[1], r->tiers[2]};
	const uint64_t per_pod = (uint64_t)clos->edges * clos->hosts_per_edge;
	const bool three = r->top[TIERS] == 3;

	if (clos->host.bundle != 1)
		disagree(r, keys[BUNDLE].shown, clos->host.bundle, "one link a host");
	if (clos->pods * per_pod != r->top[NODES] || per_pod != r->top[PODSIZE])
		disagree(r, keys[PODSIZE].shown, r->top[PODSIZE],
			 "a part of Nodes, and a multiple of Radix_Down of tier 0");
	if ((uint64_t)clos->aggregations * clos->edge.bundle != tiers[0][RADIX_UP])
		disagree(r, keys[RADIX_UP].shown, tiers[0][RADIX_UP],
			 "a multiple of Bundle of tier 1");
	if ((uint64_t)clos->edges * clos->edge.bundle * (three ? 1 : clos->pods) !=
	    tiers[1][RADIX_DOWN])
		disagree(r, keys[RADIX_DOWN].shown, tiers[1][RADIX_DOWN],
			 "a bundle to each switch of tier 0 of its pod");
	check_oversubscription(r, 0);
	if ((u128)clos->pods * ((u128)clos->edges * tiers[0][RADIX_UP] +
				(u128)clos->cores * clos->core.bundle) >
	    LINKS_MAX)
		disagree(r, keys[NODES].shown, r->top[NODES],
			 "at most 2000000 links between switches");
	if (!three)
		return;
	if (clos->cores / clos->aggregations * clos->core.bundle != tiers[1][RADIX_UP])
		disagree(r, keys[RADIX_UP].shown, tiers[1][RADIX_UP],
			 "a multiple of Bundle of tier 2");
	if ((uint64_t)clos->pods * clos->core.bundle != tiers[2][RADIX_DOWN])
		disagree(r, keys[RADIX_DOWN].shown, tiers[2][RADIX_DOWN], "a bundle to each pod");
	check_oversubscription(r, 1);
}

static int htsim_topo_build(struct reader *r, struct topology *topology)
{
	const bool three = r->top[TIERS] == 3;
	struct topology_clos clos = {
		.pods = (uint32_t)(r->top[NODES] / r->top[PODSIZE]),
		.edges = (uint32_t)(r->top[PODSIZE] / r->tiers[0][RADIX_DOWN]),
		.hosts_per_edge = (uint32_t)r->tiers[0][RADIX_DOWN],
		.host = tier_of(r, 0),
		.edge = tier_of(r, 1),
		.core = tier_of(r, 2),
	};

	clos.aggregations = (uint32_t)r->tiers[0][RADIX_UP] / clos.edge.bundle;
	if (three)
		clos.cores =
			clos.aggregations * ((uint32_t)r->tiers[1][RADIX_UP] / clos.core.bundle);
	if (clos.aggregations == 0 || (three && clos.cores == 0))
		disagree(r, keys[BUNDLE].shown,
			 clos.aggregations == 0 ? clos.edge.bundle : clos.core.bundle,
			 "no more than Radix_Up below it");
	else
		check_fit(r, &clos);
	if (!r->failed && !three) { /* every spine reaches every leaf: one pod */
		clos.edges *= clos.pods;
		clos.pods = 1;
	}
	return r->failed ? -EINVAL : topology_clos(topology, &clos);
}

int read_htsim_topology(const char *bytes, size_t length, const struct bad_at *at,
			struct topology *topology, struct bad_list *errors)
{
	struct reader r = {.fields = {bytes, bytes + length, *at}, .errors = errors, .tier = -1};
	const uint32_t before = errors->error_count;
	struct fields line;

	while (fields_next(&r.fields, &line))
		htsim_topo_read_line(&r, &line);
	if (!r.failed)
		check_complete(&r);
	return errors->error_count > before ? -EINVAL : htsim_topo_build(&r, topology);
}
