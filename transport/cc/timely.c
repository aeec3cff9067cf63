/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* TIMELY (Mittal et al., SIGCOMM 2015, algorithm 1): the rate follows the gradient of the round
 * trip time. Patched (Zhu et al., CoNEXT 2016, section 5): between the thresholds the step is a
 * mean of both terms by a weight of the gradient, and the decrease goes by the distance from a
 * fixed round trip, so that there is one fixed point. */

struct timely_state {
	ps_t last_rtt;
	int64_t diff;	/* ps; moving average of what the round trip grows by */
	uint32_t calm;	/* updates in a row with a gradient that is not above 0 */
	uint32_t acked; /* bytes since the last update */
};

struct cc_timely_params cc_timely_defaults(bool patched)
{
	return (struct cc_timely_params){
		.t_low = 50 * PS_US,
		.t_high = 500 * PS_US,
		.min_rtt = 20 * PS_US,
		.delta = 10000000,
		.alpha = {875, 1000},
		.beta = patched ? (struct cc_ratio){8, 1000} : (struct cc_ratio){8, 10},
		.hai_after = 5,
		.segment_bytes = 16000,
	};
}

static void timely_init(struct cc_flow *flow, const struct cc_params *params)
{
	cc_init_slow(flow, params);
	*(struct timely_state *)flow->state = (struct timely_state){.last_rtt = 0};
	flow->active = true;
}

/* A new difference has the weight alpha. */
static void take_difference(struct timely_state *timely, const struct cc_timely_params *p, ps_t rtt)
{
	const int64_t diff = (int64_t)(rtt - timely->last_rtt);
	const int64_t den = (int64_t)p->alpha.den, num = (int64_t)p->alpha.num;

	timely->diff = ((den - num) * timely->diff + num * diff) / den;
	timely->last_rtt = rtt;
}

/* beta * (1 - t_high / rtt) is taken away. */
static uint64_t above_high(uint64_t rate, const struct cc_timely_params *p, ps_t rtt)
{
	return cc_less(rate, (u128)p->beta.num * (rtt - p->t_high), (u128)p->beta.den * rtt);
}

static uint64_t by_gradient(uint64_t rate, const struct cc_timely_params *p,
			    struct timely_state *timely)
{
	if (timely->diff > 0) {
		timely->calm = 0;
		return cc_less(rate, (u128)p->beta.num * (uint64_t)timely->diff,
			       (u128)p->beta.den * p->min_rtt);
	}
	timely->calm++;
	return rate + p->delta * (timely->calm >= p->hai_after ? p->hai_after : 1);
}

/* w = 0 below a gradient of -1/4, 1 above 1/4, straight between; Q16. */
static uint64_t weight(int64_t diff, ps_t min_rtt)
{
	const int64_t quarter = (int64_t)min_rtt / 4;

	if (diff <= -quarter)
		return 0;
	return diff >= quarter ? 1 << 16
			       : (uint64_t)(((diff + quarter) << 16) / (int64_t)(min_rtt / 2));
}

/* delta * (1 - w) + rate * (1 - beta * w * (rtt - t_low) / t_low) */
static uint64_t by_weight(uint64_t rate, const struct cc_timely_params *p,
			  const struct timely_state *timely, ps_t rtt)
{
	const uint64_t w = weight(timely->diff, p->min_rtt);

	return (p->delta * ((1 << 16) - w) >> 16) +
	       cc_less(rate, (u128)p->beta.num * w * (rtt - p->t_low),
		       ((u128)p->beta.den << 16) * p->t_low);
}

static void update(struct cc_flow *flow, const struct cc_params *params, ps_t rtt, bool patched)
{
	const struct cc_timely_params *p = &params->timely;
	struct timely_state *timely = flow->state;
	uint64_t rate = flow->rate_bps;

	if (timely->last_rtt == 0) {
		timely->last_rtt = rtt;
		return;
	}
	take_difference(timely, p, rtt);
	if (rtt < p->t_low) {
		rate += p->delta;
		timely->calm = 0;
	} else if (rtt > p->t_high) {
		rate = above_high(rate, p, rtt);
		timely->calm = 0;
	} else if (patched) {
		rate = by_weight(rate, p, timely, rtt);
	} else {
		rate = by_gradient(rate, p, timely);
	}
	flow->rate_bps = cc_clamp(rate, params->rate_min_bps, params->line_rate_bps);
}

static void timely_take(struct cc_flow *flow, const struct cc_params *params,
			const struct cc_ack *ack, bool patched)
{
	struct timely_state *timely = flow->state;

	timely->acked += ack->packets * params->mtu_bytes;
	if (timely->acked < params->timely.segment_bytes || ack->rtt == 0)
		return;
	timely->acked = 0;
	update(flow, params, ack->rtt, patched);
}

static void timely_on_ack(struct cc_flow *flow, const struct cc_params *params,
			  const struct cc_ack *ack)
{
	timely_take(flow, params, ack, false);
}

static void patched_on_ack(struct cc_flow *flow, const struct cc_params *params,
			   const struct cc_ack *ack)
{
	timely_take(flow, params, ack, true);
}

const struct cc_ops cc_timely = {
	.name = "timely",
	.takes_acks = true,
	.state_bytes = sizeof(struct timely_state),
	.init = timely_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = timely_on_ack,
};

const struct cc_ops cc_timely_patched = {
	.name = "timely_patched",
	.takes_acks = true,
	.state_bytes = sizeof(struct timely_state),
	.init = timely_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = patched_on_ack,
};
