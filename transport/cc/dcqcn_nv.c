/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* DCQCN as NVIDIA's adapters have it: alpha in 1/1024, cuts a least time apart, and an increase by
 * time and by bytes whose units are those of mlxconfig (sysfs roce_rp). */

enum { ALPHA_ONE = 1024, BYTE_UNIT = 64 };

struct nv_state {
	uint32_t alpha;
	bool raised_by_time, raised_by_bytes; /* since the last cut */
};

struct cc_nv_params cc_nv_defaults(void)
{
	return (struct cc_nv_params){
		.clamp_tgt_rate_after_time_inc = true,
		.rpg_time_reset = 300 * PS_US,
		.rpg_byte_reset = 32767,
		.rpg_threshold = 1,
		.rpg_ai_rate = 5000000,
		.rpg_hai_rate = 50000000,
		.rpg_gd = 11,
		.rpg_min_dec_fac = 50,
		.rpg_min_rate = 1000000,
		.dce_tcp_g = 1019,
		.dce_tcp_rtt = PS_US,
		.rate_reduce_monitor_period = 4 * PS_US,
		.initial_alpha_value = 1023,
	};
}

static uint64_t rate_max(const struct cc_params *params)
{
	const uint64_t most = params->nv.rpg_max_rate;

	return most > 0 && most < params->line_rate_bps ? most : params->line_rate_bps;
}

static void nv_init(struct cc_flow *flow, const struct cc_params *params)
{
	cc_init_slow(flow, params);
	*(struct nv_state *)flow->state = (struct nv_state){.alpha = 0};
	flow->target_bps = rate_max(params);
	flow->rate_bps = cc_clamp(flow->rate_bps, 0, flow->target_bps);
	flow->active = flow->rate_bps < params->line_rate_bps;
}

static bool is_full(const struct cc_flow *flow, const struct cc_params *params)
{
	return flow->target_bps == rate_max(params) &&
	       (flow->rate_bps + flow->target_bps) / 2 == flow->rate_bps;
}

static void dcqcn_nv_increase(struct cc_flow *flow, const struct cc_params *params)
{
	const uint32_t time = flow->time_stage, byte = flow->byte_stage;
	const uint32_t least = time < byte ? time : byte, most = time < byte ? byte : time;
	uint64_t step = params->nv.rpg_ai_rate;

	if (most <= params->nv.rpg_threshold)
		step = 0;
	else if (least > params->nv.rpg_threshold)
		step = params->nv.rpg_hai_rate;
	flow->target_bps = cc_clamp(flow->target_bps + step, 0, rate_max(params));
	flow->rate_bps = (flow->rate_bps + flow->target_bps) / 2;
}

static void dcqcn_nv_alpha_timer(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	struct nv_state *nv = flow->state;
	const uint32_t keep = params->nv.dce_tcp_g;

	nv->alpha = nv->alpha * keep / ALPHA_ONE + (flow->alpha_cnp_seen ? ALPHA_ONE - keep : 0);
	flow->alpha_cnp_seen = false;
	flow->alpha_at = nv->alpha == 0 ? cc_skip(flow->alpha_at, params->nv.dce_tcp_rtt, now)
					: flow->alpha_at + params->nv.dce_tcp_rtt;
}

static void dcqcn_nv_increase_timer(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	struct nv_state *nv = flow->state;

	if (cc_begins(flow, params->nv.rpg_time_reset, now))
		return;
	if (is_full(flow, params)) {
		flow->increase_at = cc_skip(flow->increase_at, params->nv.rpg_time_reset, now);
		return;
	}
	nv->raised_by_time = true;
	flow->time_stage++;
	dcqcn_nv_increase(flow, params);
	flow->increase_at += params->nv.rpg_time_reset;
}

static void nv_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	while (flow->alpha_at <= now || flow->increase_at <= now) {
		if (flow->alpha_at <= flow->increase_at)
			dcqcn_nv_alpha_timer(flow, params, now);
		else
			dcqcn_nv_increase_timer(flow, params, now);
	}
}

static void dcqcn_nv_cut(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	struct nv_state *nv = flow->state;
	const struct cc_nv_params *p = &params->nv;
	const uint64_t least = (uint64_t)((u128)flow->rate_bps * p->rpg_min_dec_fac / 100);
	const uint64_t rate = cc_less(flow->rate_bps, nv->alpha, (u128)1 << p->rpg_gd);

	if (p->clamp_tgt_rate || nv->raised_by_bytes ||
	    (nv->raised_by_time && p->clamp_tgt_rate_after_time_inc))
		flow->target_bps = flow->rate_bps;
	flow->rate_bps = rate > least ? rate : least;
	if (flow->rate_bps < p->rpg_min_rate)
		flow->rate_bps = p->rpg_min_rate;
	nv->raised_by_time = nv->raised_by_bytes = false;
	flow->time_stage = flow->byte_stage = 0;
	flow->byte_count = 0;
	flow->increase_at = now + p->rpg_time_reset;
	flow->decrease_at = now + p->rate_reduce_monitor_period;
}

static void nv_on_cnp(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	struct nv_state *nv = flow->state;

	if (flow->alpha_at == PS_NEVER) { /* the first */
		nv->alpha = params->nv.initial_alpha_value;
		if (params->nv.rate_to_set_on_first_cnp > 0 &&
		    params->nv.rate_to_set_on_first_cnp < flow->rate_bps)
			flow->rate_bps = flow->target_bps = params->nv.rate_to_set_on_first_cnp;
		flow->alpha_at = now + params->nv.dce_tcp_rtt;
		flow->decrease_at = now;
		flow->active = true;
	}
	nv_advance(flow, params, now);
	flow->alpha_cnp_seen = true;
	if (now >= flow->decrease_at)
		dcqcn_nv_cut(flow, params, now);
}

static void nv_on_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
		       ps_t now)
{
	const uint64_t period = (uint64_t)params->nv.rpg_byte_reset * BYTE_UNIT;
	struct nv_state *nv = flow->state;

	nv_advance(flow, params, now);
	if (period == 0)
		return;
	for (flow->byte_count += bytes; flow->byte_count >= period; flow->byte_count -= period) {
		if (is_full(flow, params))
			continue;
		nv->raised_by_bytes = true;
		flow->byte_stage++;
		dcqcn_nv_increase(flow, params);
	}
}

const struct cc_ops cc_dcqcn_nv = {
	.name = "dcqcn_nv",
	.listens = true,
	.state_bytes = sizeof(struct nv_state),
	.init = nv_init,
	.advance = nv_advance,
	.on_cnp = nv_on_cnp,
	.on_sent = nv_on_sent,
	.on_ack = cc_no_ack,
};
