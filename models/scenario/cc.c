/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include <string.h>

/* Congestion controls and their parameters, by the names under which they were published. */

static const struct cc_ops *const controls[] = {
	[SCENARIO_CC_NONE] = &cc_none,
	[SCENARIO_CC_DCQCN] = &cc_dcqcn,
	[SCENARIO_CC_DCQCN_HPCC] = &cc_dcqcn_hpcc,
	[SCENARIO_CC_DCQCN_NV] = &cc_dcqcn_nv,
	[SCENARIO_CC_TIMELY] = &cc_timely,
	[SCENARIO_CC_TIMELY_PATCHED] = &cc_timely_patched,
	[SCENARIO_CC_SWIFT] = &cc_swift,
	[SCENARIO_CC_DCTCP] = &cc_dctcp,
	[SCENARIO_CC_HPCC] = &cc_hpcc,
};

const struct cc_ops *scenario_cc_ops(enum scenario_cc cc)
{
	return controls[cc];
}

/* Takes the only key out of @cc, a map with a map in it; NULL: it is none. */
static struct yaml_node *take_params(struct yaml_node *cc)
{
	struct yaml_node *params = cc->child;

	if (cc->child_count != 1 || params->kind != YAML_MAP)
		return NULL;
	yaml_unlink(cc, params);
	return params;
}

/* Whether @file says @map, or one of its keys. */
static bool has_from(const struct yaml_node *map, const char *file)
{
	bool has = strcmp(map->at.file, file) == 0;

	for (const struct yaml_node *node = map->child; node && !has; node = node->next)
		has = strcmp(node->at.file, file) == 0;
	return has;
}

/* @nic has a map as its key cc: a scalar takes its place, and the map in it that of cc_params. */
static void unfold(struct scenario_reader *r, struct yaml_node *nic, struct yaml_node *cc)
{
	struct yaml_node *old =
		yaml_find(nic, scenario_row_key(scenario_row_at(KEY_NIC_CC_PARAMS)));
	struct yaml_node *params;

	if (old && has_from(old, cc->at.file))
		bad(r->errors, &cc->at, scenario_path(KEY_NIC_CC), "a map",
		    "no nic.cc_params beside it, or a word");
	params = take_params(cc);
	if (!params)
		return; /* and the check of its type says so */
	cc->kind = YAML_SCALAR;
	cc->text = params->key;
	cc->length = strlen(cc->text);
	params->key = scenario_copy(r, scenario_row_key(scenario_row_at(KEY_NIC_CC_PARAMS)));
	if (old) {
		yaml_unlink(nic, old);
		yaml_free(old);
	}
	if (params->key)
		yaml_append(nic, params);
	else
		yaml_free(params);
}

void scenario_unfold_cc(struct scenario_reader *r)
{
	struct yaml_node *nic = yaml_find(r->root, scenario_path(KEY_NIC));
	struct yaml_node *cc =
		nic && nic->kind == YAML_MAP
			? yaml_find(nic, scenario_row_key(scenario_row_at(KEY_NIC_CC)))
			: NULL;

	if (cc && cc->kind == YAML_MAP)
		unfold(r, nic, cc);
}

static struct cc_params defaults_of(const struct scenario_nic *nic, uint64_t rate_bps)
{
	struct cc_params params = nic->cc == SCENARIO_CC_DCQCN_HPCC ? cc_dcqcn_hpcc_params(rate_bps)
								    : cc_dcqcn_params(rate_bps);

	if (nic->cc == SCENARIO_CC_TIMELY || nic->cc == SCENARIO_CC_TIMELY_PATCHED ||
	    nic->cc == SCENARIO_CC_DCTCP || nic->cc == SCENARIO_CC_HPCC)
		params.rate_min_bps = 100000000;
	params.mtu_bytes = nic->mtu;
	params.nv = cc_nv_defaults();
	params.timely = cc_timely_defaults(nic->cc == SCENARIO_CC_TIMELY_PATCHED);
	params.swift = cc_swift_defaults(nic->base_rtt);
	params.hpcc = cc_hpcc_defaults(rate_bps, nic->base_rtt);
	params.dctcp = cc_dctcp_defaults(rate_bps);
	return params;
}

/* The row of the parameter of that name; NULL: the chosen control has none. */
static const struct scenario_row *find_param(const char *name, enum scenario_cc cc)
{
	const struct scenario_row *row;
	struct bad_text path;

	bad_text(&path, "%s.%s", scenario_path(KEY_NIC_CC_PARAMS), name);
	row = scenario_row(path.text);
	return row && row->of >> cc & 1 ? row : NULL;
}

/* Values that the control cannot work with. */
static void scenario_cc_check(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct scenario_nic *nic = &r->scenario->nic;
	const struct cc_params *p = &nic->cc_params;

	if ((nic->cc == SCENARIO_CC_TIMELY || nic->cc == SCENARIO_CC_TIMELY_PATCHED) &&
	    p->timely.t_low > p->timely.t_high)
		scenario_refuse(r, map,
				scenario_node(map, scenario_has(map, KEY_NIC_CC_PARAMS_T_HIGH)
							   ? KEY_NIC_CC_PARAMS_T_HIGH
							   : KEY_NIC_CC_PARAMS_T_LOW),
				KEY_NIC_CC_PARAMS, "t_low at most t_high");
	if (nic->cc == SCENARIO_CC_SWIFT && p->swift.min_cwnd > p->swift.max_cwnd)
		scenario_refuse(r, map,
				scenario_node(map, scenario_has(map, KEY_NIC_CC_PARAMS_MAX_CWND)
							   ? KEY_NIC_CC_PARAMS_MAX_CWND
							   : KEY_NIC_CC_PARAMS_MIN_CWND),
				KEY_NIC_CC_PARAMS, "min_cwnd at most max_cwnd");
}

/* Whether what chose the control did not know of these parameters: the scenario says them, and
 * --set another control. */
static bool is_of_another(const struct scenario_reader *r, const struct yaml_node *node)
{
	const struct yaml_node *cc = scenario_node(scenario_node(r->root, KEY_NIC), KEY_NIC_CC);

	return cc && strcmp(cc->at.file, "--set") == 0 && strcmp(node->at.file, "--set") != 0;
}

/* What a profile says first, as far as the chosen control has it; @own: the scenario says it. */
static void read_params(struct scenario_reader *r, const struct yaml_node *map, bool own)
{
	struct scenario_nic *nic = &r->scenario->nic;

	if (map->kind != YAML_MAP)
		return;
	if (map->base)
		read_params(r, map->base, false);
	for (const struct yaml_node *node = map->child; node; node = node->next) {
		const struct scenario_row *row = find_param(node->key, nic->cc);

		if (!node->meaning)
			continue; /* reported already */
		if (row)
			scenario_row_put(row, scenario_value_of(node), nic);
		else if (own && is_of_another(r, node))
			scenario_warn(r, map, node, KEY_NIC_CC_PARAMS, "a parameter of nic.cc");
		else if (own)
			scenario_refuse(r, map, node, KEY_NIC_CC_PARAMS, "a parameter of nic.cc");
	}
}

void scenario_read_cc(struct scenario_reader *r, const struct yaml_node *nic_map, uint64_t rate_bps)
{
	const struct yaml_node *map = scenario_node(nic_map, KEY_NIC_CC_PARAMS);
	struct scenario_nic *nic = &r->scenario->nic;
	const bool short_interval =
		nic->cc == SCENARIO_CC_DCQCN_HPCC || nic->cc == SCENARIO_CC_DCQCN_NV;

	if (nic->cnp_interval == PS_NEVER) /* auto */
		nic->cnp_interval = short_interval ? 4 * PS_US : 50 * PS_US;
	nic->cc_params = defaults_of(nic, rate_bps);
	nic->has_cc_params = map != NULL || nic->cc > SCENARIO_CC_DCQCN_HPCC;
	if (map)
		read_params(r, map, scenario_is_own(nic_map, KEY_NIC_CC_PARAMS));
	scenario_cc_check(r, map);
}
