/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* DCTCP (Alizadeh et al., SIGCOMM 2010) for a sender with a rate, as in the simulator of the HPCC
 * authors (rdma-hw.cc): a round trip is over when what was sent last at its beginning is
 * acknowledged. */

struct dctcp_state {
	uint64_t round_end;	  /* of the round at hand, in bytes sent */
	uint64_t cut_end;	  /* no other cut before that is acknowledged */
	uint32_t marked, packets; /* in this round */
	bool has_cut;
};

struct cc_dctcp_params cc_dctcp_defaults(uint64_t line_rate_bps)
{
	return (struct cc_dctcp_params){
		.g_shift = 4,
		.rate_ai =
			(uint64_t)((u128)line_rate_bps * 615 / 100000), /* 615 Mb/s at 100 Gb/s */
	};
}

static void dctcp_init(struct cc_flow *flow, const struct cc_params *params)
{
	cc_init_slow(flow, params);
	*(struct dctcp_state *)flow->state = (struct dctcp_state){0};
	flow->active = true;
}

/* alpha moves by g towards the share of marks. */
static void end_round(struct cc_flow *flow, const struct cc_params *params,
		      struct dctcp_state *dctcp, const struct cc_ack *ack)
{
	const uint64_t share = CC_ALPHA_ONE * dctcp->marked / dctcp->packets;

	flow->alpha = cc_alpha_decay(flow->alpha, params->dctcp.g_shift) +
		      (share >> params->dctcp.g_shift);
	dctcp->round_end = ack->sent;
	dctcp->marked = dctcp->packets = 0;
}

static void dctcp_on_ack(struct cc_flow *flow, const struct cc_params *params,
			 const struct cc_ack *ack)
{
	struct dctcp_state *dctcp = flow->state;
	const bool is_new_round = ack->acked > dctcp->round_end;

	dctcp->packets += ack->packets;
	dctcp->marked += ack->ecn ? ack->packets : 0;
	if (is_new_round && dctcp->packets > 0)
		end_round(flow, params, dctcp, ack);
	if (dctcp->has_cut && ack->acked > dctcp->cut_end)
		dctcp->has_cut = false;
	if (dctcp->has_cut)
		return;
	if (ack->ecn) {
		flow->rate_bps = cc_cut(flow->rate_bps, flow->alpha, params->rate_min_bps);
		dctcp->has_cut = true;
		dctcp->cut_end = ack->sent;
	} else if (is_new_round) {
		flow->rate_bps = cc_clamp(flow->rate_bps + params->dctcp.rate_ai,
					  params->rate_min_bps, params->line_rate_bps);
	}
}

const struct cc_ops cc_dctcp = {
	.name = "dctcp",
	.listens = true,
	.takes_acks = true,
	.state_bytes = sizeof(struct dctcp_state),
	.init = dctcp_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = dctcp_on_ack,
};
