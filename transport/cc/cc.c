/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/cc.h"

#include "transport/cc/internal.h"
#include "util/check.h"

void cc_init(struct cc_flow *flow, const struct cc_params *params)
{
	CHECK(params->line_rate_bps > 0);
	*flow = (struct cc_flow){
		.state = flow->state,
		.rate_bps = params->line_rate_bps,
		.target_bps = params->line_rate_bps,
		.alpha = CC_ALPHA_ONE,
		.alpha_at = PS_NEVER,
		.increase_at = PS_NEVER,
		.decrease_at = PS_NEVER,
	};
}

void cc_init_slow(struct cc_flow *flow, const struct cc_params *params)
{
	cc_init(flow, params);
	if (params->start_rate_bps == 0 || params->start_rate_bps >= params->line_rate_bps)
		return;
	flow->rate_bps = params->start_rate_bps;
	flow->increase_at = 0;
	flow->active = true;
}

void cc_no_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	(void)flow;
	(void)params;
	(void)now;
}

void cc_no_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes, ps_t now)
{
	(void)flow;
	(void)params;
	(void)bytes;
	(void)now;
}

void cc_no_ack(struct cc_flow *flow, const struct cc_params *params, const struct cc_ack *ack)
{
	(void)flow;
	(void)params;
	(void)ack;
}

const struct cc_ops cc_none = {
	.name = "none",
	.listens = false,
	.init = cc_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = cc_no_ack,
};
