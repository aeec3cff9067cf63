/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/cc.h"

#include "transport/cc/internal.h"
#include "util/check.h"

void cc_init(struct cc_flow *flow, const struct cc_params *params)
{
	CHECK(params->line_rate_bps > 0);
	*flow = (struct cc_flow){
		.rate_bps = params->line_rate_bps,
		.target_bps = params->line_rate_bps,
		.alpha = CC_ALPHA_ONE,
		.alpha_at = PS_NEVER,
		.increase_at = PS_NEVER,
		.decrease_at = PS_NEVER,
	};
}

static void none_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now)
{
	(void)flow;
	(void)params;
	(void)now;
}

static void none_on_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
			 ps_t now)
{
	(void)flow;
	(void)params;
	(void)bytes;
	(void)now;
}

const struct cc_ops cc_none = {
	.name = "none",
	.listens = false,
	.init = cc_init,
	.advance = none_advance,
	.on_cnp = none_advance,
	.on_sent = none_on_sent,
};
