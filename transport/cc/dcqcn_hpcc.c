/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* DCQCN as the simulator of the HPCC authors has it (rdma-hw.cc): a CNP only leaves a mark; alpha
 * and the rate are looked after by timers of their own, and there is no byte counter. */

struct cc_params cc_dcqcn_hpcc_params(uint64_t line_rate_bps)
{
	return (struct cc_params){
		.line_rate_bps = line_rate_bps,
		.rate_min_bps = 1000000000,
		.r_ai_bps = line_rate_bps / 5000, /* 5 Mb/s at 25 Gb/s */
		.r_hai_bps = line_rate_bps / 500, /* 50 Mb/s at 25 Gb/s */
		.alpha_period = 1 * PS_US,
		.increase_period = 300 * PS_US,
		.decrease_period = 4 * PS_US,
		.g_shift = 8,
		.fast_recovery_stages = 1,
	};
}

static void dcqcn_hpcc_alpha_timer(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	flow->alpha = cc_alpha_decay(flow->alpha, params->g_shift);
	if (flow->alpha_cnp_seen)
		flow->alpha += CC_ALPHA_ONE >> params->g_shift;
	flow->alpha_cnp_seen = false;
	flow->alpha_at = flow->alpha == 0 ? cc_skip(flow->alpha_at, params->alpha_period, now)
					  : flow->alpha_at + params->alpha_period;
}

static void decrease_timer(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	if (!flow->cnp_seen) {
		flow->decrease_at = cc_skip(flow->decrease_at, params->decrease_period, now);
		return;
	}
	/* The target stays where it was while no increase has happened since the last cut. */
	if (flow->time_stage > 0)
		flow->target_bps = flow->rate_bps;
	flow->rate_bps = cc_cut(flow->rate_bps, flow->alpha, params->rate_min_bps);
	flow->cnp_seen = false;
	flow->time_stage = 0;
	flow->increase_at = flow->decrease_at + params->increase_period;
	flow->decrease_at += params->decrease_period;
}

static void dcqcn_hpcc_increase_timer(struct cc_flow *flow, const struct cc_params *params,
				      ps_t now)
{
	uint64_t step = 0;

	if (cc_begins(flow, params->increase_period, now))
		return;
	/* At line rate only the stage still counts, and only as being past the first. */
	if (cc_is_full(flow, params) && flow->time_stage > params->fast_recovery_stages) {
		flow->increase_at = cc_skip(flow->increase_at, params->increase_period, now);
		return;
	}
	if (flow->time_stage == params->fast_recovery_stages)
		step = params->r_ai_bps;
	else if (flow->time_stage > params->fast_recovery_stages)
		step = params->r_hai_bps;
	cc_raise(flow, params, step);
	flow->time_stage++;
	flow->increase_at += params->increase_period;
}

static void hpcc_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	if (!flow->active)
		return;
	while (flow->alpha_at <= now || flow->decrease_at <= now || flow->increase_at <= now) {
		if (flow->alpha_at <= flow->decrease_at && flow->alpha_at <= flow->increase_at)
			dcqcn_hpcc_alpha_timer(flow, params, now);
		else if (flow->decrease_at <= flow->increase_at)
			decrease_timer(flow, params, now);
		else
			dcqcn_hpcc_increase_timer(flow, params, now);
	}
}

static void hpcc_on_cnp(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	hpcc_advance(flow, params, now);
	flow->cnp_seen = true;
	if (flow->alpha_at != PS_NEVER) {
		flow->alpha_cnp_seen = true;
		return;
	}
	flow->active = true;
	flow->alpha = CC_ALPHA_ONE;
	flow->target_bps = flow->rate_bps;
	flow->alpha_at = now + params->alpha_period;
	flow->decrease_at = now + params->decrease_period;
}

static void hpcc_on_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
			 ps_t now)
{
	(void)bytes;
	hpcc_advance(flow, params, now);
}

const struct cc_ops cc_dcqcn_hpcc = {
	.name = "dcqcn_hpcc",
	.listens = true,
	.init = cc_init_slow,
	.advance = hpcc_advance,
	.on_cnp = hpcc_on_cnp,
	.on_sent = hpcc_on_sent,
	.on_ack = cc_no_ack,
};
