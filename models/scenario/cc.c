/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include <stddef.h>
#include <string.h>

/* Congestion controls and their parameters, by the names under which they were published. */

enum kind { BOOL, U32, U64, TIME, RATIO, Q16 };
enum {
	DCQCN = 1,
	DCQCN_HPCC = 2,
	NV = 4,
	TIMELY = 8,
	PATCHED = 16,
	SWIFT = 32,
	DCTCP = 64,
	HPCC = 128
};

static const struct {
	const struct cc_ops *ops;
	unsigned bit;
} controls[] = {
	[SCENARIO_CC_NONE] = {&cc_none, 0},
	[SCENARIO_CC_DCQCN] = {&cc_dcqcn, DCQCN},
	[SCENARIO_CC_DCQCN_HPCC] = {&cc_dcqcn_hpcc, DCQCN_HPCC},
	[SCENARIO_CC_DCQCN_NV] = {&cc_dcqcn_nv, NV},
	[SCENARIO_CC_TIMELY] = {&cc_timely, TIMELY},
	[SCENARIO_CC_TIMELY_PATCHED] = {&cc_timely_patched, PATCHED},
	[SCENARIO_CC_SWIFT] = {&cc_swift, SWIFT},
	[SCENARIO_CC_DCTCP] = {&cc_dctcp, DCTCP},
	[SCENARIO_CC_HPCC] = {&cc_hpcc, HPCC},
};

#define AT(member) offsetof(struct cc_params, member)
static const struct key {
	const char *name;
	unsigned of; /* controls that have it */
	enum kind kind;
	size_t at;
} keys[] = {
	{"min_rate", DCQCN | DCQCN_HPCC | TIMELY | PATCHED | DCTCP | HPCC, U64, AT(rate_min_bps)},
	{"rate_ai", DCQCN | DCQCN_HPCC, U64, AT(r_ai_bps)},
	{"rate_hai", DCQCN | DCQCN_HPCC, U64, AT(r_hai_bps)},
	{"alpha_period", DCQCN | DCQCN_HPCC, TIME, AT(alpha_period)},
	{"increase_period", DCQCN | DCQCN_HPCC, TIME, AT(increase_period)},
	{"decrease_period", DCQCN_HPCC, TIME, AT(decrease_period)},
	{"byte_counter", DCQCN, U64, AT(byte_counter)},
	{"fast_recovery", DCQCN | DCQCN_HPCC, U32, AT(fast_recovery_stages)},
	{"clamp_tgt_rate", NV, BOOL, AT(nv.clamp_tgt_rate)},
	{"clamp_tgt_rate_after_time_inc", NV, BOOL, AT(nv.clamp_tgt_rate_after_time_inc)},
	{"rpg_time_reset", NV, TIME, AT(nv.rpg_time_reset)},
	{"rpg_byte_reset", NV, U32, AT(nv.rpg_byte_reset)},
	{"rpg_threshold", NV, U32, AT(nv.rpg_threshold)},
	{"rpg_max_rate", NV, U64, AT(nv.rpg_max_rate)},
	{"rpg_ai_rate", NV, U64, AT(nv.rpg_ai_rate)},
	{"rpg_hai_rate", NV, U64, AT(nv.rpg_hai_rate)},
	{"rpg_gd", NV, U32, AT(nv.rpg_gd)},
	{"rpg_min_dec_fac", NV, U32, AT(nv.rpg_min_dec_fac)},
	{"rpg_min_rate", NV, U64, AT(nv.rpg_min_rate)},
	{"rate_to_set_on_first_cnp", NV, U64, AT(nv.rate_to_set_on_first_cnp)},
	{"dce_tcp_g", NV, U32, AT(nv.dce_tcp_g)},
	{"dce_tcp_rtt", NV, TIME, AT(nv.dce_tcp_rtt)},
	{"rate_reduce_monitor_period", NV, TIME, AT(nv.rate_reduce_monitor_period)},
	{"initial_alpha_value", NV, U32, AT(nv.initial_alpha_value)},
	{"t_low", TIMELY | PATCHED, TIME, AT(timely.t_low)},
	{"t_high", TIMELY | PATCHED, TIME, AT(timely.t_high)},
	{"min_rtt", TIMELY | PATCHED, TIME, AT(timely.min_rtt)},
	{"delta", TIMELY | PATCHED, U64, AT(timely.delta)},
	{"ewma_alpha", TIMELY | PATCHED, RATIO, AT(timely.alpha)},
	{"beta", TIMELY | PATCHED, RATIO, AT(timely.beta)},
	{"hai_after", TIMELY, U32, AT(timely.hai_after)},
	{"segment", TIMELY | PATCHED, U32, AT(timely.segment_bytes)},
	{"base_target", SWIFT, TIME, AT(swift.base_target)},
	{"fs_range", SWIFT, TIME, AT(swift.fs_range)},
	{"ai", SWIFT, RATIO, AT(swift.ai)},
	{"beta", SWIFT, RATIO, AT(swift.beta)},
	{"max_mdf", SWIFT, RATIO, AT(swift.max_mdf)},
	{"fs_min_cwnd", SWIFT, Q16, AT(swift.fs_min_cwnd)},
	{"fs_max_cwnd", SWIFT, Q16, AT(swift.fs_max_cwnd)},
	{"min_cwnd", SWIFT, Q16, AT(swift.min_cwnd)},
	{"max_cwnd", SWIFT, Q16, AT(swift.max_cwnd)},
	{"g_shift", DCTCP, U32, AT(dctcp.g_shift)},
	{"g_shift", DCQCN | DCQCN_HPCC, U32, AT(g_shift)},
	{"base_rtt", HPCC, TIME, AT(hpcc.base_rtt)},
	{"eta", HPCC, RATIO, AT(hpcc.eta)},
	{"max_stage", HPCC, U32, AT(hpcc.max_stage)},
	{"w_ai", HPCC, U32, AT(hpcc.w_ai)},
	{"rate_ai", DCTCP, U64, AT(dctcp.rate_ai)},
};

const struct cc_ops *scenario_cc_ops(enum scenario_cc cc)
{
	return controls[cc].ops;
}

static struct cc_params defaults_of(const struct scenario_nic *nic, uint64_t rate_bps)
{
	struct cc_params params = nic->cc == SCENARIO_CC_DCQCN_HPCC ? cc_dcqcn_hpcc_params(rate_bps)
								    : cc_dcqcn_params(rate_bps);

	if (controls[nic->cc].bit & (TIMELY | PATCHED | DCTCP | HPCC))
		params.rate_min_bps = 100000000;
	params.mtu_bytes = nic->mtu;
	params.nv = cc_nv_defaults();
	params.timely = cc_timely_defaults(nic->cc == SCENARIO_CC_TIMELY_PATCHED);
	params.swift = cc_swift_defaults(nic->base_rtt);
	params.hpcc = cc_hpcc_defaults(rate_bps, nic->base_rtt);
	params.dctcp = cc_dctcp_defaults(rate_bps);
	return params;
}

static void scenario_cc_set(struct cc_params *params, const struct key *key,
			    const struct scenario_value *value)
{
	char *at = (char *)params + key->at;
	const struct cc_ratio ratio = {value->num, value->den};
	const uint32_t small = (uint32_t)value->number;
	const bool flag = value->number != 0;
	uint64_t q16;

	switch (key->kind) {
	case BOOL:
		memcpy(at, &flag, sizeof(flag));
		break;
	case U32:
		memcpy(at, &small, sizeof(small));
		break;
	case U64:
	case TIME:
		memcpy(at, &value->number, sizeof(value->number));
		break;
	case RATIO:
		memcpy(at, &ratio, sizeof(ratio));
		break;
	case Q16:
		q16 = ((uint64_t)value->num << 16) / value->den;
		q16 = q16 > 0 ? q16 : 1;
		memcpy(at, &q16, sizeof(q16));
		break;
	}
}

/* The key of that name that the chosen control has; NULL: it has none. */
static const struct key *find_key(const char *name, enum scenario_cc cc)
{
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if ((keys[i].of & controls[cc].bit) && strcmp(keys[i].name, name) == 0)
			return &keys[i];
	return NULL;
}

/* Values that the control cannot work with. */
static void scenario_cc_check(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct scenario_nic *nic = &r->scenario->nic;
	const struct cc_params *p = &nic->cc_params;
	const unsigned bit = controls[nic->cc].bit;

	if (bit & (TIMELY | PATCHED) && p->timely.t_low > p->timely.t_high)
		scenario_refuse(
			r, map,
			scenario_node(map, scenario_has(map, "t_high") ? "t_high" : "t_low"),
			"nic.cc_params", "t_low at most t_high");
	if (bit & SWIFT && p->swift.min_cwnd > p->swift.max_cwnd)
		scenario_refuse(
			r, map,
			scenario_node(map, scenario_has(map, "max_cwnd") ? "max_cwnd" : "min_cwnd"),
			"nic.cc_params", "min_cwnd at most max_cwnd");
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
		const struct key *key = find_key(node->key, nic->cc);

		if (!node->meaning)
			continue; /* reported already */
		if (key)
			scenario_cc_set(&nic->cc_params, key, scenario_value_of(node));
		else if (own)
			scenario_refuse(r, map, node, "nic.cc_params", "a parameter of nic.cc");
	}
}

void scenario_read_cc(struct scenario_reader *r, const struct yaml_node *nic_map, uint64_t rate_bps)
{
	const struct yaml_node *map = scenario_node(nic_map, "cc_params");
	const struct scenario_value interval = scenario_get(nic_map, "nic.cnp_interval");
	struct scenario_nic *nic = &r->scenario->nic;
	const bool short_interval =
		nic->cc == SCENARIO_CC_DCQCN_HPCC || nic->cc == SCENARIO_CC_DCQCN_NV;

	nic->cnp_interval = interval.word < 0 ? interval.number
			    : short_interval  ? 4 * PS_US
					      : 50 * PS_US;
	nic->cc_params = defaults_of(nic, rate_bps);
	nic->has_cc_params = map != NULL || nic->cc > SCENARIO_CC_DCQCN_HPCC;
	if (map)
		read_params(r, map, scenario_is_own(nic_map, "cc_params"));
	scenario_cc_check(r, map);
}
