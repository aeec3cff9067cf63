/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"
#include "util/check.h"

/* DCQCN as Zhu et al. describe it (SIGCOMM 2015, section 3.1, equations 1 to 4). */

struct cc_params cc_dcqcn_params(uint64_t line_rate_bps)
{
	return (struct cc_params){
		.line_rate_bps = line_rate_bps,
		.rate_min_bps = 10000000,
		.r_ai_bps = 40000000,
		.r_hai_bps = 200000000,
		.alpha_period = 55 * PS_US,
		.increase_period = 55 * PS_US,
		.byte_counter = 10000000,
		.g_shift = 8,
		.fast_recovery_stages = 5,
	};
}

/* The timer or the byte counter has counted a stage of its own: equations 3 and 4. */
static void dcqcn_increase(struct cc_flow *flow, const struct cc_params *params)
{
	uint32_t time = flow->time_stage, byte = flow->byte_stage;
	uint32_t least = time < byte ? time : byte, most = time < byte ? byte : time;
	uint64_t step = params->r_ai_bps;

	if (most < params->fast_recovery_stages)
		step = 0;
	else if (least > params->fast_recovery_stages)
		step = (uint64_t)(least - params->fast_recovery_stages) * params->r_hai_bps;
	cc_raise(flow, params, step);
}

static void dcqcn_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	if (!flow->active)
		return;
	while (flow->alpha_at <= now || flow->increase_at <= now) {
		if (flow->alpha_at <= flow->increase_at) {
			flow->alpha = cc_alpha_decay(flow->alpha, params->g_shift);
			flow->alpha_at = flow->alpha == 0 ? cc_skip(flow->alpha_at,
								    params->alpha_period, now)
							  : flow->alpha_at + params->alpha_period;
		} else if (cc_begins(flow, params->increase_period, now)) {
			continue;
		} else if (cc_is_full(flow, params)) {
			flow->increase_at =
				cc_skip(flow->increase_at, params->increase_period, now);
		} else {
			flow->time_stage++;
			dcqcn_increase(flow, params);
			flow->increase_at += params->increase_period;
		}
	}
}

static void dcqcn_on_cnp(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	dcqcn_advance(flow, params, now);
	flow->target_bps = flow->rate_bps;
	flow->rate_bps = cc_cut(flow->rate_bps, flow->alpha, params->rate_min_bps);
	flow->alpha += (CC_ALPHA_ONE - flow->alpha) >> params->g_shift;
	flow->time_stage = flow->byte_stage = 0;
	flow->byte_count = 0;
	flow->alpha_at = now + params->alpha_period;
	flow->increase_at = now + params->increase_period;
	flow->active = true;
}

static void dcqcn_on_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
			  ps_t now)
{
	CHECK(params->byte_counter > 0);
	dcqcn_advance(flow, params, now);
	for (flow->byte_count += bytes; flow->byte_count >= params->byte_counter;
	     flow->byte_count -= params->byte_counter) {
		if (cc_is_full(flow, params))
			continue;
		flow->byte_stage++;
		dcqcn_increase(flow, params);
	}
}

const struct cc_ops cc_dcqcn = {
	.name = "dcqcn",
	.listens = true,
	.init = cc_init_slow,
	.advance = dcqcn_advance,
	.on_cnp = dcqcn_on_cnp,
	.on_sent = dcqcn_on_sent,
	.on_ack = cc_no_ack,
};
