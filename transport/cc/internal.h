/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CC_INTERNAL_H
#define CC_INTERNAL_H

/* What the controls share. */
#include "transport/cc/cc.h"

#define CC_ALPHA_ONE ((uint64_t)1 << 48) /* Q0.48 */

/* The first instant of @at, @at + @period, ... that lies after @now; for a timer whose expiries
 * until then change nothing. @at <= @now. */
static inline ps_t cc_skip(ps_t at, ps_t period, ps_t now)
{
	return at + ((now - at) / period + 1) * period;
}

/* rate * (1 - alpha / 2), what is taken away rounded down; not below the least rate. */
static inline uint64_t cc_cut(uint64_t rate_bps, uint64_t alpha, uint64_t rate_min_bps)
{
	uint64_t rate = rate_bps - (uint64_t)((u128)rate_bps * alpha >> 49);

	return rate > rate_min_bps ? rate : rate_min_bps;
}

/* alpha * (1 - g), rounded down. */
static inline uint64_t cc_alpha_decay(uint64_t alpha, uint32_t g_shift)
{
	return ((alpha << g_shift) - alpha) >> g_shift;
}

/* The target rises by @step, up to the line rate; the rate goes half way to it. */
static inline void cc_raise(struct cc_flow *flow, const struct cc_params *params, uint64_t step)
{
	flow->target_bps += step;
	if (flow->target_bps > params->line_rate_bps)
		flow->target_bps = params->line_rate_bps;
	flow->rate_bps = (flow->rate_bps + flow->target_bps) / 2;
	if (flow->rate_bps < params->rate_min_bps)
		flow->rate_bps = params->rate_min_bps;
}

/* Nothing but a cut can change the rate any more. (Means that round down end 1 b/s below.) */
static inline bool cc_is_full(const struct cc_flow *flow, const struct cc_params *params)
{
	return flow->target_bps == params->line_rate_bps &&
	       (flow->rate_bps + flow->target_bps) / 2 == flow->rate_bps;
}

/* value * (1 - num / den), what is taken away rounded down; 0 where num > den. */
static inline uint64_t cc_less(uint64_t value, u128 num, u128 den)
{
	return num >= den ? 0 : value - (uint64_t)((u128)value * num / den);
}

static inline uint64_t cc_clamp(uint64_t value, uint64_t least, uint64_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* Typed defaults of what a control does not care for. */
void cc_no_advance(struct cc_flow *flow, const struct cc_params *params, ps_t now);
void cc_no_sent(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes, ps_t now);
void cc_no_ack(struct cc_flow *flow, const struct cc_params *params, const struct cc_ack *ack);

void cc_init(struct cc_flow *flow, const struct cc_params *params);
/* At the start rate. */
void cc_init_slow(struct cc_flow *flow, const struct cc_params *params);

/* For the increase timer: true, and it runs from @now on, where the flow has not begun. */
static inline bool cc_begins(struct cc_flow *flow, ps_t period, ps_t now)
{
	if (flow->increase_at > 0)
		return false;
	flow->increase_at = now + period;
	return true;
}

#endif
