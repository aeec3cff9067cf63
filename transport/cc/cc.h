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
struct cc_ratio {
	uint32_t num, den;
};

/* NVIDIA's names and units (mlxconfig; sysfs roce_rp). */
struct cc_nv_params {
	bool clamp_tgt_rate; /* the target is set to the rate on every cut, else ... */
	bool clamp_tgt_rate_after_time_inc; /* ... after an increase by bytes, or by either */
	ps_t rpg_time_reset;		    /* increase timer: 300 us */
	uint32_t rpg_byte_reset;	    /* byte counter, in 64 bytes: 32767; 0: none */
	uint32_t rpg_threshold;		    /* stages of fast recovery: 1 */
	uint64_t rpg_max_rate, rpg_ai_rate, rpg_hai_rate, rpg_min_rate; /* bit/s; max 0: line */
	uint32_t rpg_gd;		   /* a cut takes rate * alpha >> rpg_gd: 11 */
	uint32_t rpg_min_dec_fac;	   /* a cut leaves at least so many percent: 50 */
	uint64_t rate_to_set_on_first_cnp; /* bit/s; 0: as it is */
	uint32_t dce_tcp_g;		   /* alpha keeps so many 1024ths a period: 1019 */
	ps_t dce_tcp_rtt;		   /* that period: 1 us */
	ps_t rate_reduce_monitor_period;   /* least time between two cuts: 4 us */
	uint32_t initial_alpha_value;	   /* in 1/1024: 1023 */
};

/* TIMELY, Mittal et al., SIGCOMM 2015, algorithm 1; patched: Zhu et al., CoNEXT 2016, section 5. */
struct cc_timely_params {
	ps_t t_low, t_high, min_rtt;
	uint64_t delta;		/* additive step, bit/s */
	struct cc_ratio alpha;	/* weight of a new difference: 0.875 */
	struct cc_ratio beta;	/* 0.8; patched: 0.008 */
	uint32_t hai_after;	/* steps in a row without a growing round trip, then hyper: 5 */
	uint32_t segment_bytes; /* acknowledged between two updates: 16 KB */
};

/* Swift, Kumar et al., SIGCOMM 2020, section 3. Windows in packets, Q16. */
struct cc_swift_params {
	ps_t base_target, fs_range; /* target delay, and what flow scaling adds at most */
	struct cc_ratio ai, beta, max_mdf;
	uint64_t fs_min_cwnd, fs_max_cwnd, min_cwnd, max_cwnd; /* Q16 */
};

/* DCTCP for rates, as in the simulator of the HPCC authors (rdma-hw.cc). */
struct cc_dctcp_params {
	uint32_t g_shift; /* 4 */
	uint64_t rate_ai; /* bit/s a round trip */
};

/* HPCC, Li et al., SIGCOMM 2019, section 3. */
struct cc_hpcc_params {
	ps_t base_rtt;	     /* T */
	struct cc_ratio eta; /* 0.95 */
	uint32_t max_stage;  /* 0, as in the published figures; 5 in the paper's text */
	uint32_t w_ai;	     /* bytes a round trip: W_init * (1 - eta) / N for N flows; here 100 */
};

struct cc_params {
	uint64_t line_rate_bps, rate_min_bps;
	/* Of a flow, as if it had just been cut from the line rate; 0, or above that: the line
	 * rate. What has no rate (none) or a window alone (Swift) knows nothing of it. */
	uint64_t start_rate_bps;
	uint64_t r_ai_bps, r_hai_bps;
	ps_t alpha_period;	       /* K of the paper, 55 us */
	ps_t increase_period;	       /* T, 55 us */
	ps_t decrease_period;	       /* HPCC form: least time between two cuts, 4 us */
	uint64_t byte_counter;	       /* B, bytes on the wire: 10 MB; HPCC form: none */
	uint32_t g_shift;	       /* g = 2^-g_shift: 8 */
	uint32_t fast_recovery_stages; /* F: 5; HPCC form: 1 */
	uint32_t mtu_bytes;
	struct cc_nv_params nv;
	struct cc_timely_params timely;
	struct cc_swift_params swift;
	struct cc_dctcp_params dctcp;
	struct cc_hpcc_params hpcc;
};

/* What a switch said of the port that a packet left by; differences of the first two count, modulo
 * 2^24 and 2^20. */
enum { CC_HOPS_MAX = 5 };
struct cc_hop {
	uint64_t rate_bps;
	uint32_t time_ns, bytes; /* bytes: in 128 */
	uint32_t queue_bytes;
};

/* What an ACK says. */
struct cc_ack {
	ps_t now;
	ps_t rtt; /* of the packet that it acknowledges, by the sender's clock; 0: unknown */
	uint32_t packets;	   /* acknowledged by it */
	bool ecn;		   /* some of them were marked */
	const struct cc_hop *hops; /* of the packet that it acknowledges */
	uint32_t hop_count;
	uint64_t acked, sent; /* bytes of all packets acknowledged, and sent, so far */
};

struct cc_flow {
	uint64_t rate_bps;			 /* RC: at which to send now */
	uint64_t target_bps;			 /* RT */
	uint64_t alpha;				 /* Q0.48 */
	ps_t alpha_at, increase_at, decrease_at; /* next expiry; increase_at 0: not begun */
	uint64_t byte_count;
	uint32_t time_stage, byte_stage;
	bool active; /* false: at line rate, nothing has ever happened; skip all calls */
	bool cnp_seen, alpha_cnp_seen; /* HPCC and NVIDIA form: since the last period */
	uint64_t cwnd_bytes;	       /* so many may be under way; 0: any */
	void *state;		       /* the control's own, ops->state_bytes */
};

struct cc_ops {
	const char *name;
	bool listens; /* packets travel as ECT(0) */
	/* Hears of ACKs, which echo marks in their BECN bit; then the far end sends no CNPs. */
	bool takes_acks;
	bool takes_int;	      /* data packets gather hops on their way, and ACKs echo them */
	uint32_t state_bytes; /* zeroed before init */
	void (*init)(struct cc_flow *flow, const struct cc_params *params);
	/* Applies every timer that was due up to and including @now. */
	void (*advance)(struct cc_flow *flow, const struct cc_params *params, ps_t now);
	void (*on_cnp)(struct cc_flow *flow, const struct cc_params *params, ps_t now);
	/* A packet of @bytes on the wire started at @now; called only while flow->active. */
	void (*on_sent)(struct cc_flow *flow, const struct cc_params *params, uint32_t bytes,
			ps_t now);
	void (*on_ack)(struct cc_flow *flow, const struct cc_params *params,
		       const struct cc_ack *ack);
};

extern const struct cc_ops cc_none, cc_dcqcn, cc_dcqcn_hpcc, cc_dcqcn_nv, cc_timely,
	cc_timely_patched, cc_swift, cc_dctcp, cc_hpcc;

/* The parameters of decisions named above for a port of @line_rate_bps. */
struct cc_params cc_dcqcn_params(uint64_t line_rate_bps);
struct cc_params cc_dcqcn_hpcc_params(uint64_t line_rate_bps);
/* Published defaults, with @base_rtt the longest round trip of the idle fabric. */
struct cc_nv_params cc_nv_defaults(void);
struct cc_timely_params cc_timely_defaults(bool patched);
struct cc_swift_params cc_swift_defaults(ps_t base_rtt);
struct cc_hpcc_params cc_hpcc_defaults(uint64_t line_rate_bps, ps_t base_rtt);
struct cc_dctcp_params cc_dctcp_defaults(uint64_t line_rate_bps);

#endif
