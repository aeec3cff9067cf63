/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CC_CC_H
#define CC_CC_H

/* Congestion control of one flow (QP): told of what happens, says at which rate to send. Pure:
 * integers, the time as a parameter. Timers are applied lazily, when the flow is next touched, at
 * the instants at which they were due. */
#include "util/units.h"

#include <stdbool.h>
#include <stdint.h>

/* DCQCN, Zhu et al., SIGCOMM 2015, section 3; and the variant of the HPCC authors' ns-3 simulator
 * (rdma-hw.cc). Rates in bit/s, alpha in Q0.48, divisions round down. */
struct cc_params {
	uint64_t line_rate_bps, rate_min_bps;
	uint64_t r_ai_bps, r_hai_bps;
	ps_t alpha_period;    /* K of the paper, 55 us */
	ps_t increase_period; /* T, 55 us */
	ps_t decrease_period; /* HPCC form: least time between two cuts, 4 us */
	uint64_t byte_counter; /* B, bytes on the wire: 10 MB; HPCC form: none */
	uint32_t g_shift;     /* g = 2^-g_shift: 8 */
	uint32_t fast_recovery_stages; /* F: 5; HPCC form: 1 */
};

struct cc_flow {
	uint64_t rate_bps;   /* RC: at which to send now */
	uint64_t target_bps; /* RT */
	uint64_t alpha;	     /* Q0.48 */
	ps_t alpha_at, increase_at, decrease_at; /* next expiry */
	uint64_t byte_count;
	uint32_t time_stage, byte_stage;
	bool active;	     /* false: at line rate, nothing has ever happened; skip all calls */
	bool cnp_seen, alpha_cnp_seen; /* HPCC form: since the last period */
};

struct cc_ops {
	const char *name;
	bool listens; /* packets travel as ECT(0) */
	void (*init)(struct cc_flow *flow, const struct cc_params *params);
	/* Applies every timer that was due up to and including @now. */
	void (*advance)(struct cc_flow *flow, const struct cc_params *params, ps_t now);
	void (*on_cnp)(struct cc_flow *flow, const struct cc_params *params, ps_t now);
	/* A packet of @bytes on the wire started at @now; called only while flow->active. */
	void (*on_sent)(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
			ps_t now);
};

extern const struct cc_ops cc_none, cc_dcqcn, cc_dcqcn_hpcc;

/* The parameters of decisions named above for a port of @line_rate_bps. */
struct cc_params cc_dcqcn_params(uint64_t line_rate_bps);
struct cc_params cc_dcqcn_hpcc_params(uint64_t line_rate_bps);

#endif
