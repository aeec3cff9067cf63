/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* HPCC (Li et al., SIGCOMM 2019, algorithm 1), as the simulator of its authors has it: windows from
 * what the switches of the way say of themselves. */

enum { Q = 20, TIME_MASK = (1 << 24) - 1, BYTES_MASK = (1 << 20) - 1, BYTES_UNIT = 128 };

struct hpcc_state {
	struct cc_hop last[CC_HOPS_MAX];
	uint32_t hop_count; /* 0: none yet */
	uint64_t use;	    /* U, Q20 */
	uint64_t reference; /* Wc, bytes, Q8 */
	uint64_t window;    /* W, bytes, Q8 */
	uint64_t round_end; /* bytes sent when the reference was last set */
	uint32_t stage;
};

struct cc_hpcc_params cc_hpcc_defaults(uint64_t line_rate_bps, ps_t base_rtt)
{
	const uint64_t first = (uint64_t)((u128)line_rate_bps * base_rtt / (8 * PS_S));

	return (struct cc_hpcc_params){
		.base_rtt = base_rtt,
		.eta = {95, 100},
		.max_stage = 0,
		.w_ai = (uint32_t)(first / 20 / 100 > 0 ? first / 20 / 100 : 1),
	};
}

/* What @rate_bps brings in a round trip. */
static uint64_t window_of(const struct cc_params *params, uint64_t rate_bps)
{
	return (uint64_t)(((u128)rate_bps * params->hpcc.base_rtt << 8) / (8 * PS_S));
}

static void hpcc_apply(struct cc_flow *flow, const struct cc_params *params)
{
	const struct hpcc_state *hpcc = flow->state;
	const uint64_t bytes = hpcc->window >> 8;
	const u128 rate = ((u128)hpcc->window * 8 * PS_S / params->hpcc.base_rtt) >> 8;

	flow->cwnd_bytes = bytes > 0 ? bytes : 1;
	flow->rate_bps = rate < params->line_rate_bps ? (uint64_t)rate : params->line_rate_bps;
	if (flow->rate_bps < params->rate_min_bps)
		flow->rate_bps = params->rate_min_bps;
}

static void hpcc_init(struct cc_flow *flow, const struct cc_params *params)
{
	uint64_t first;

	cc_init_slow(flow, params);
	first = window_of(params, flow->rate_bps);
	*(struct hpcc_state *)flow->state =
		(struct hpcc_state){.window = first, .reference = first, .use = 1 << Q};
	flow->active = true;
	hpcc_apply(flow, params);
}

/* txRate / B + min(q, q of before) / (B * T), Q20; and the time between both. */
static uint64_t hpcc_use_of(const struct cc_hop *now, const struct cc_hop *before, ps_t base_rtt,
			    ps_t *ret_time)
{
	const uint64_t ns = (now->time_ns - before->time_ns) & TIME_MASK;
	const uint64_t bits =
		8 * BYTES_UNIT * (uint64_t)((now->bytes - before->bytes) & BYTES_MASK);
	const uint64_t queue =
		now->queue_bytes < before->queue_bytes ? now->queue_bytes : before->queue_bytes;
	const u128 waiting = ((u128)queue * 8 * PS_S << Q) / now->rate_bps / base_rtt;

	*ret_time = ns * PS_NS;
	if (ns == 0)
		return (uint64_t)waiting;
	return (uint64_t)(((u128)bits * (PS_S / PS_NS) << Q) / ns / now->rate_bps + waiting);
}

/* The busiest hop moves the average by the share of a round trip that has passed there. */
static void hpcc_measure(struct hpcc_state *hpcc, const struct cc_params *params,
			 const struct cc_ack *ack)
{
	const ps_t whole = params->hpcc.base_rtt;
	uint64_t most = 0;
	ps_t time = 0;

	for (uint32_t i = 0; i < ack->hop_count; i++) {
		ps_t here;
		const uint64_t use = hpcc_use_of(&ack->hops[i], &hpcc->last[i], whole, &here);

		if (use <= most)
			continue;
		most = use;
		time = here < whole ? here : whole;
	}
	hpcc->use = (uint64_t)(((u128)hpcc->use * (whole - time) + (u128)most * time) / whole);
}

static void react(struct hpcc_state *hpcc, const struct cc_params *params, const struct cc_ack *ack)
{
	const struct cc_hpcc_params *p = &params->hpcc;
	const bool is_new_round = ack->acked > hpcc->round_end;
	const uint64_t step = (uint64_t)p->w_ai << 8,
		       most = window_of(params, params->line_rate_bps);
	const bool is_busy = (u128)hpcc->use * p->eta.den >= (u128)p->eta.num << Q;
	uint64_t window = hpcc->reference + step;

	if (is_busy || hpcc->stage >= p->max_stage)
		window = (uint64_t)(((u128)hpcc->reference * p->eta.num << Q) / p->eta.den /
				    (hpcc->use > 0 ? hpcc->use : 1)) +
			 step;
	hpcc->window = cc_clamp(window, 1 << 8, most);
	if (!is_new_round)
		return;
	hpcc->stage = is_busy || hpcc->stage >= p->max_stage ? 0 : hpcc->stage + 1;
	hpcc->reference = hpcc->window;
	hpcc->round_end = ack->sent;
}

static void hpcc_on_ack(struct cc_flow *flow, const struct cc_params *params,
			const struct cc_ack *ack)
{
	struct hpcc_state *hpcc = flow->state;

	if (ack->hop_count == 0)
		return;
	if (hpcc->hop_count == ack->hop_count) {
		hpcc_measure(hpcc, params, ack);
		react(hpcc, params, ack);
		hpcc_apply(flow, params);
	} else { /* the first, or another way */
		hpcc->round_end = ack->sent;
	}
	hpcc->hop_count = ack->hop_count;
	for (uint32_t i = 0; i < ack->hop_count; i++)
		hpcc->last[i] = ack->hops[i];
}

const struct cc_ops cc_hpcc = {
	.name = "hpcc",
	.takes_acks = true,
	.takes_int = true,
	.state_bytes = sizeof(struct hpcc_state),
	.init = hpcc_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = hpcc_on_ack,
};
