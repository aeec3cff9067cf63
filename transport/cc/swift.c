/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/cc/internal.h"

/* Swift (Kumar et al., SIGCOMM 2020, section 3): a window that follows the distance of the round
 * trip from a target, which is longer for small windows. The delays of the two hosts are not told
 * apart from that of the fabric, and the target does not count hops. A window below one packet is
 * one packet, paced. */

enum { ONE = 1 << 16 };

struct swift_state {
	uint64_t cwnd; /* packets, Q16 */
	ps_t cut_at;   /* the last cut */
	ps_t rtt;      /* the last one */
};

struct cc_swift_params cc_swift_defaults(ps_t base_rtt)
{
	return (struct cc_swift_params){
		.base_target = base_rtt + base_rtt / 2,
		.fs_range = base_rtt,
		.ai = {1, 1},
		.beta = {8, 10},
		.max_mdf = {5, 10},
		.fs_min_cwnd = ONE / 10,
		.fs_max_cwnd = 100 * ONE,
		.min_cwnd = ONE / 1000,
		.max_cwnd = (uint64_t)4096 * ONE,
	};
}

/* Rounded down, bit by bit. */
static uint64_t root(uint64_t value)
{
	uint64_t result = 0;

	for (uint64_t bit = (uint64_t)1 << 31; bit > 0; bit >>= 1)
		if ((result | bit) * (result | bit) <= value)
			result |= bit;
	return result;
}

/* 1 / sqrt(cwnd), Q16: the root of a Q16 number shifted by 16 is Q16. */
static uint64_t inverse_root(uint64_t cwnd)
{
	return ((uint64_t)1 << 32) / root(cwnd << 16);
}

/* base_target + max(0, min(alpha / sqrt(cwnd) + beta, fs_range)), where alpha and beta make it
 * fs_range at fs_min_cwnd and 0 at fs_max_cwnd. */
static ps_t target_of(const struct cc_swift_params *p, uint64_t cwnd)
{
	const uint64_t lowest = inverse_root(p->fs_max_cwnd),
		       highest = inverse_root(p->fs_min_cwnd);
	const uint64_t here = inverse_root(cwnd);

	if (here <= lowest || highest <= lowest)
		return p->base_target;
	if (here >= highest)
		return p->base_target + p->fs_range;
	return p->base_target + (ps_t)((u128)p->fs_range * (here - lowest) / (highest - lowest));
}

/* What may be under way, and, below a packet, how far apart packets are. */
static void swift_apply(struct cc_flow *flow, const struct cc_params *params)
{
	const struct swift_state *swift = flow->state;
	const uint64_t whole = swift->cwnd < ONE ? 1 : swift->cwnd / ONE;

	flow->cwnd_bytes = whole * params->mtu_bytes;
	flow->rate_bps = params->line_rate_bps;
	if (swift->cwnd < ONE && swift->rtt > 0)
		flow->rate_bps = cc_clamp((uint64_t)((u128)swift->cwnd * params->mtu_bytes * 8 *
						     PS_S / ONE / swift->rtt),
					  1000, params->line_rate_bps);
}

static void swift_init(struct cc_flow *flow, const struct cc_params *params)
{
	cc_init(flow, params);
	*(struct swift_state *)flow->state =
		(struct swift_state){.cwnd = params->swift.fs_max_cwnd};
	flow->active = true;
	swift_apply(flow, params);
}

static void swift_grow(struct swift_state *swift, const struct cc_swift_params *p, uint32_t packets)
{
	const uint64_t step = (uint64_t)ONE * p->ai.num * packets / p->ai.den;

	swift->cwnd += swift->cwnd >= ONE ? (uint64_t)((u128)step * ONE / swift->cwnd) : step;
}

static void shrink(struct swift_state *swift, const struct cc_swift_params *p,
		   const struct cc_ack *ack, ps_t target)
{
	const uint64_t least = cc_less(swift->cwnd, p->max_mdf.num, p->max_mdf.den);
	const uint64_t cwnd = cc_less(swift->cwnd, (u128)p->beta.num * (ack->rtt - target),
				      (u128)p->beta.den * ack->rtt);

	swift->cwnd = cwnd > least ? cwnd : least;
	swift->cut_at = ack->now;
}

static void swift_on_ack(struct cc_flow *flow, const struct cc_params *params,
			 const struct cc_ack *ack)
{
	const struct cc_swift_params *p = &params->swift;
	struct swift_state *swift = flow->state;
	ps_t target;

	if (ack->rtt == 0)
		return;
	swift->rtt = ack->rtt;
	target = target_of(p, swift->cwnd);
	if (ack->rtt < target)
		swift_grow(swift, p, ack->packets);
	else if (swift->cut_at == 0 || ack->now - swift->cut_at >= ack->rtt)
		shrink(swift, p, ack, target);
	swift->cwnd = cc_clamp(swift->cwnd, p->min_cwnd, p->max_cwnd);
	swift_apply(flow, params);
}

const struct cc_ops cc_swift = {
	.name = "swift",
	.takes_acks = true,
	.state_bytes = sizeof(struct swift_state),
	.init = swift_init,
	.advance = cc_no_advance,
	.on_cnp = cc_no_advance,
	.on_sent = cc_no_sent,
	.on_ack = swift_on_ack,
};
