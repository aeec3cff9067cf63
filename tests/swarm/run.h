/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SWARM_RUN_H
#define SWARM_RUN_H

/* One way of running a plan, and everything that is checked on the way. */
#include "models/scenario/build.h"
#include "sim/tap.h"
#include "tests/swarm/plan.h"

enum { RUN_PORTS_MAX = 256, RUN_FRAMES_MAX = 2000000, RUN_INV_MAX = PLAN_OPS_MAX };

struct matrix {
	uint64_t hits[OP_KINDS][FAULT_KINDS];
};

/* What the adapters and the fabric went through; of all runs together in main.c. */
struct events {
	uint64_t seeds, sides, completions, failed_retry, failed_rnr, failed_fatal, failed_flush;
	uint64_t timeouts, naks, implied_naks, rnr_naks, duplicates, retransmitted, cnps, marked;
	uint64_t pauses, credits, dropped, oracles, buses, replays;
	uint64_t rerouted, kept, overdue; /* frames and flows of switches that reroute */
	uint64_t rewritten;		  /* frames */
	uint64_t flooded, unknown, not_mine, overheard; /* frames; not_mine: at switches, overheard:
							 * at hosts */
	uint64_t no_route, learned; /* frames; changes of routes that all have heard of */
};

struct tally {		    /* at one sending port: what became of the frame before */
	struct sim_tap tap; /* first */
	struct run *run;
	const struct sim_port *port;
	struct sim_fault seen; /* its counters when that frame started */
	bool data, delayed, listed, down;
	int kind;			   /* of its operation, -1: none */
	uint64_t frames, lost, duplicated; /* of data */
	struct matrix matrix;
};

struct side_run {
	struct run *run;
	const struct side *plan;
	struct hca_qp *qp;
	struct sim_local_event event;
	uint32_t posted, retired, recv_posted, recv_done;
	ps_t next_post_at;
	bool failed, recv_failed;
	int status;	    /* of the first failure */
	uint32_t failed_op; /* everything before was executed */
	ps_t failed_at;
	bool reused[PLAN_OPS_MAX]; /* the memory of what is done was written over */
	uint32_t inv_rkeys[RUN_INV_MAX];
};

struct host_run {
	struct run *run;
	struct host *host;
	struct host_client client;
	struct sim_local_event event;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *mr;
	uint8_t *memory;
	uint64_t bytes, iova;
};

struct run_options {
	uint32_t threads;
	bool through_wire, oracle, verbose;
	bool bus; /* whether the plan has one or not */
};

enum { RUN_BUS_LANES = 3, RUN_BUS_FAULTS = 4 };
struct run_bus {
	struct host_bus bus; /* first */
	uint64_t seed;
	struct host_parts tree; /* where it has parts */
	struct bus_part_params parts[RUN_BUS_LANES + 1];
	struct bus_lane_params lanes[RUN_BUS_LANES];
	struct bus_fault faults[RUN_BUS_FAULTS];
};

struct run {
	const struct plan *plan;
	struct run_options options;
	struct fabric fabric;
	struct host_run hosts[PLAN_HOSTS_MAX];
	struct side_run sides[PLAN_SIDES_MAX];
	struct sim_fault faults[PLAN_FAULTS_MAX];
	struct sim_fault down_faults[PLAN_DOWNS_MAX][2];
	struct scenario_reroutes reroutes;
	struct tally tallies[RUN_PORTS_MAX];
	uint32_t tally_count;
	uint64_t digest;
	bool has_bus;
	struct run_bus bus;
	bool violated;
	char violation[256]; /* the first */
};

/* True: all held; run->digest is set. */
bool run_plan(struct run *run, const struct plan *plan, const struct run_options *options,
	      struct matrix *sum, struct events *events);

void run_violation(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* tests/swarm/bus.c */
void run_bus_init(struct run_bus *bus, const struct plan *plan);

/* tests/swarm/actor.c: the programs. */
void actors_start(struct run *run);
void actors_check_done(struct run *run);

/* tests/swarm/memory.c: the plain model of what must be where. */
enum { MEMORY_REUSED = 0xee, MEMORY_SHARED_FIRST = 1000 };
void memory_fill(const struct run *run, uint32_t host, uint8_t *ret_bytes);
/* What a READ must find that is the @index-th request of @side. */
void memory_seen_by_read(const struct run *run, const struct side_run *side, uint32_t index,
			 uint8_t *ret_bytes);
/* Whether the bytes of a SEND or WRITE are where they belong, or what a later one put there. */
bool memory_is_placed(const struct run *run, const struct side_run *side, uint32_t index);
void memory_check(struct run *run); /* everything, at the end */

/* tests/swarm/tally.c */
void tally_attach(struct run *run);
void tally_finish(struct run *run);
void tally_check(struct run *run); /* nothing appears, nothing vanishes */

#endif
