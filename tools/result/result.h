/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_RESULT_H
#define TOOLS_RESULT_H

/* What a run has brought: the one source of result.json, the tables, the CSV files and the report.
 * Everything in it is a function of the scenario and the seed, except @wall_s. Statistics over
 * flows are made here, in floating point, and nowhere that decides anything. */
#include "gpu/device/gpu.h"
#include "models/scenario/scenario.h"

struct flow_log;
struct request_log;
struct program_result;

struct result_flow {
	uint64_t id; /* position in the order of identity (models/traffic/traffic.h), from 0 */
	const char *class_name, *src, *dst;
	uint8_t priority;
	bool ok;
	uint64_t bytes;
	ps_t start_at;
	ps_t end_at;	    /* the requester's completion; PS_NEVER: unfinished */
	ps_t fct;	    /* end_at - start_at; PS_NEVER: unfinished */
	ps_t ideal;	    /* traffic_ideal(); PS_NEVER: no path */
	double slowdown;    /* fct / ideal, rounded to 10^-6; 0 unless @ok */
	const char *status; /* "ok", a WC status in lower case, "unfinished" */
	uint64_t packets_retransmitted;
};

/* Of flows or requests that are ok: nearest rank, the mean rounded down. */
struct result_times {
	ps_t mean, p50, p99, p999;
};

struct result_class { /* of traffic: over its flows that are ok */
	const char *name;
	uint64_t posted, count;	 /* flows; @count of them ok: without any nothing below is known */
	uint64_t slowdown_count; /* of @count: have an ideal; without any there is no slowdown */
	struct result_times times; /* flow completion times */
	double slowdown_mean, slowdown_p99;
	/* Bytes of the flows that are ok, over the time from the first start of one of the class to
	 * the last completion. */
	uint64_t goodput_bps;
	/* Of one flow in the mean: bytes over the sum of all completion times. */
	uint64_t flow_bps;
};

/* One priority of one port, both ways of its link. A host keeps no queue and marks nothing. */
struct result_port {
	const char *node, *link, *peer;
	bool is_host;
	uint8_t priority;
	uint64_t rate_bps;
	uint64_t sent_bytes, sent_packets; /* data frames, preamble and gap included */
	uint64_t queue_bytes, queue_max;   /* waiting to leave: at the end, and the most ever */
	uint64_t ingress_bytes, headroom_bytes; /* came in here and still held at the end */
	uint64_t marked;			/* ECN, on the way out */
	uint64_t dropped;			/* came in here and found no room */
	uint64_t pause_sent, pause_received, resume_sent, resume_received; /* PFC frames */
	uint64_t storms, storms_over, storm_dropped; /* of a watchdog; packets */
	ps_t paused;	   /* how long the other end has kept it from sending */
	ps_t paused_since; /* and it still does at the end; PS_NEVER: it does not */
};

/* What a port has only once: its control frames and its faults, both counted at the sending end. */
struct result_link {
	const char *node, *link, *peer;
	uint64_t rate_bps, sent_bytes, sent_packets; /* every frame */
	uint64_t pause_sent, resume_sent, pause_received, resume_received;
	uint64_t credit_sent, credit_received;			  /* updates */
	uint64_t lost, corrupted, refused, duplicated, reordered; /* by faults */
};

struct result_rank {
	const char *host;
	const struct program_result *result;
};

struct result_requests {	    /* posted by one program to send queues */
	uint64_t posted, left_out;  /* left_out: more were, of which nothing else is known */
	uint64_t count, unfinished; /* count: ended well; all others failed, or are gone */
	uint64_t bytes;		    /* of those that ended well */
	uint64_t packets_retransmitted;
	struct result_times times; /* of those that ended well, from post to end */
};

struct result_program {
	const char *name, *run;
	uint32_t rank_count;
	struct result_rank *ranks;
	uint32_t failed, unfinished; /* ranks */
	bool fixed;		     /* its memory lay where it does in every run */
	struct result_requests requests;
};

struct result_expect {
	const char *text;
	bool held;
	bool is_remarked; /* @found says that flows or ranks have not ended well, or of nothing sent
			   */
	char *found;
};

/* One direction of a lane of a machine. */
struct result_lane {
	const char *from, *to; /* parts */
	struct bus_way_stats stats;
};

/* Of a part that may have a number of reads under way. */
struct result_tags {
	const char *part;
	uint32_t count;
	ps_t wait; /* of all reads together */
	struct bus_tag_stats stats;
};

struct result_gpu {
	const char *part;
	uint64_t window; /* bytes of its BAR1 */
	struct gpu_counts counts;
	struct copy_stats engines[GPU_ENGINES];
};

struct result_machine {
	const char *name; /* that of its first adapter */
	const struct scenario_machine *is;
	struct result_lane *lanes; /* two for each lane, by their numbers */
	uint32_t lane_count;
	struct result_tags *tags; /* in order of the parts' names */
	uint32_t tag_count;
	struct result_gpu *gpus; /* by their numbers */
	uint32_t gpu_count;
	bool is_bare;			   /* there was no run: all figures are 0 */
	const struct gpu_managed *managed; /* NULL: nobody asked for managed memory */
};

struct result {
	const struct scenario *scenario;
	const struct fabric *fabric;
	const char *version;
	uint64_t digest;
	bool partial;
	bool cut; /* partial, or the scenario's end came before nothing was left to do */
	ps_t time;
	double wall_s;
	uint64_t events, packet_hops;
	uint64_t packets_retransmitted; /* of all adapters: of flows and of programs */
	struct traffic_sums flow_sums;
	struct {
		uint64_t buffer, fault, no_route, icrc, ttl, mtu, watchdog, unknown;
	} drops;
	struct {
		uint64_t pause_sent, resume_sent;
		ps_t paused;
		uint64_t paused_at_end; /* priorities of ports; unless @cut, for ever */
		uint64_t storms, storms_over;
	} pfc;
	uint64_t marked, cnp_sent, cnp_handled, cnp_ignored, queue_max_bytes;
	/* Packets that switches flooded, how many more they became, and how many of all that hosts
	 * and other switches discarded, since it was not for them. */
	struct {
		uint64_t packets, copies, discarded;
	} floods;
	/* Of multicast at switches, and what hosts that are in no such group discarded. */
	struct {
		uint64_t packets, copies, discarded;
	} multicast;
	struct sim_conweave_stats reroutes; /* of all switches; kept_bytes_max: of any */
	struct result_flow *flows;	    /* of lists: those of streams are in the log */
	uint64_t flow_count;
	const struct flow_log *log; /* NULL: no streams */
	struct result_class *classes;
	uint32_t class_count;
	uint32_t priority_count;   /* of the fabric */
	struct result_port *ports; /* by node, link, priority: so many rows a port */
	uint64_t port_count;
	struct result_link *links; /* by node and link: port i / priority_count */
	uint64_t link_count;
	struct result_machine *machines; /* in order of their names: those with parts */
	uint32_t machine_count;
	struct result_program *programs;
	uint32_t program_count;
	const struct request_log *requests; /* of the programs; NULL: there are none */
	struct result_expect *expects;	    /* filled by expect_judge() */
	uint32_t expect_count;
};

/* What a result is made from. All of it outlives the result. */
struct program_run;
struct result_source {
	const struct scenario *scenario;
	const struct fabric *fabric;
	const struct traffic *traffic;	     /* NULL: none */
	const struct flow_log *log;	     /* of streams; NULL: none */
	struct program_run *const *programs; /* of each program of the scenario */
	struct request_log *requests;	     /* of the programs; NULL: there are none */
	const char *version;
	bool partial;
	double wall_s;
};

/* The flow_bps of a class whose times are there, of so many bytes. */
static inline uint64_t result_flow_bps(uint64_t bytes, const struct result_class *class)
{
	const u128 time = (u128) class->times.mean * class->count;

	return time > 0 ? (uint64_t)((u128)bytes * 8 * PS_S / time) : 0;
}
/* After fabric_run(): when the last packet arrived or the last flow or program ended, which may be
 * with a timer. */
ps_t result_time(const struct result_source *source);
/* After fabric_run(). -ENOMEM; @ret_result can be freed in any case. */
int result_collect(const struct result_source *source, struct result *ret_result);
/* A result of the scenario's shape before it has run: its classes and programs, and every number 0.
 * As result_collect(). */
int result_zero(const struct scenario *scenario, struct result *ret_result);
/* The row of a flow. */
struct result_flow result_row(const struct result *result, const struct traffic_flow *flow,
			      uint64_t id, ps_t ideal);
void result_free(struct result *result);

#endif
