/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TRAFFIC_INTERNAL_H
#define MODELS_TRAFFIC_INTERNAL_H

/* What the plan of the flows (traffic.c) and their ends on the hosts (traffic_host.c) share. */
#include "models/traffic/traffic.h"
#include "util/idmap.h"

enum { TRAFFIC_WRITE_MAX = 1 << 30 }; /* bytes of one work request */

struct traffic_start { /* an end of a flow comes into being */
	struct traffic_flow *flow;
	bool is_sink;
};

static inline ps_t traffic_start_at(const struct traffic_start *start)
{
	return start->flow->start_at;
}

/* One end of one flow, as its host meets it. */
struct traffic_end {
	uint64_t key; /* of the flow, with the role mixed in */
	uint64_t order;
	uint32_t host;
	uint32_t qpn; /* as it should be: below TRAFFIC_QPNS */
	struct traffic_start start;
};
/* Numbers of queue pairs of flows have this bit, those of programs do not. */
enum { TRAFFIC_QPNS = 1 << 23 };

struct traffic_host {
	struct traffic *traffic;
	struct host *host;
	struct sim_local_event event;	    /* the next start, or completions to take */
	const struct traffic_start *starts; /* in order of time */
	uint64_t start_count, next_start, source_count;
	struct host_client client;
	struct hca_pd *pd;
	struct hca_cq *cq;
	struct hca_mr *sink_mr;
	uint64_t next_va;
	/* Of streams: ends to come, in order of time, and flows from here that have ended. */
	struct traffic_queue {
		struct traffic_start *starts;
		uint64_t first, count, room;
	} queue;
	struct traffic_flow *ended;
	struct util_idmap numbers;	/* of queue pairs that flows have of their own */
	struct util_idmap pair_numbers; /* of those that flows share */
	struct util_idmap pairs;	/* from here, by destination and priority */
};

/* Flows of one source, destination and priority on one queue pair, which end in the order in which
 * they start. What cannot be posted yet waits. */
struct traffic_pair {
	uint64_t key;
	struct traffic_flow *first; /* of the list; NULL: streams alone have brought it */
	ps_t opens_at;
	uint32_t source_qpn, sink_qpn;
	uint32_t writes_max; /* of its send queue, which grows */
	uint32_t writes_posted;
	uint64_t retransmitted; /* packets, of flows that have ended */
	struct hca_qp *qp, *sink_qp;
	struct hca_mr *mr;
	/* In order: ended (beside streams: lately), from @kept on; under way, from @open on; not
	 * posted yet, from @waiting. */
	struct traffic_flow *kept, *open, *waiting, *last;
	uint32_t end_psn;	   /* of what is posted */
	struct traffic_pair *next; /* of those of streams */
};

struct traffic {
	struct fabric *fabric;
	struct traffic_flow *flows;
	struct traffic_start *starts;
	struct traffic_host *hosts; /* by position in the host table */
	uint64_t flow_count;
	uint32_t host_count;
	struct traffic_pair *pairs; /* of the list; NULL: a queue pair a flow */
	struct traffic_pair *streamed_pairs;
	struct traffic_feed *feed; /* NULL: no streams */
};

/* ---- order.c ---- */

static inline int traffic_compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}
struct traffic_end traffic_end_of(const struct traffic *traffic, struct traffic_flow *flow,
				  bool is_sink);
/* A total order of ends: by host, start, and a keyed mix, so that none is favoured. */
int traffic_compare_ends(const void *a, const void *b);
/* Identity: what is asked for, of two struct traffic_flow. Equal ones are interchangeable. */
int traffic_compare_flows(const void *a, const void *b);
bool traffic_same_but_for_class(const struct traffic_flow *x, const struct traffic_flow *y);
/* The key of @flow, the @k-th of its equals. */
uint64_t traffic_key_of(const struct traffic *traffic, const struct traffic_flow *flow, uint64_t k);
/* ---- pair.c ---- */

/* Gives every flow of the list its pair. -ENOMEM. */
int traffic_pairs_make(struct traffic *traffic);
/* The numbers of a pair's first flow are those of all. */
void traffic_pairs_share_numbers(struct traffic *traffic);
/* Streams begin: numbers and pairs of the list are found by theirs. -ENOMEM. */
int traffic_pairs_enter(struct traffic *traffic);
/* Gives @flow, of a stream, its pair, made where there is none. -ENOMEM. */
int traffic_pair_find(struct traffic *traffic, struct traffic_flow *flow);
void traffic_pairs_fini(struct traffic *traffic);
static inline uint32_t traffic_psn_of(uint64_t key) /* of the first packet */
{
	return (uint32_t)(key >> 40);
}

/* Of those that have ended: who ended before @at is no longer known by its PSNs ... */
void traffic_pair_forget_ended(struct traffic_pair *pair, ps_t at);
/* ... nor are @flow, which may be forgotten already, and those before it. */
void traffic_pair_forget(struct traffic_pair *pair, const struct traffic_flow *flow);
/* NULL: none of theirs. */
const struct traffic_flow *traffic_pair_at(const struct traffic_pair *pair, uint32_t psn);
/* The ends of a flow stay for so long after it has ended, and so does the number of its queue
 * pairs: for frames that come twice (IBTA 12.9.8.4: "time wait"). */
#define TRAFFIC_TIME_WAIT (10 * PS_US)
uint32_t traffic_writes_of(const struct traffic_flow *flow);
/* What streams have brought. */
void traffic_stream_add_sums(const struct traffic *traffic, struct traffic_sums *sums);
void traffic_stream_fini(struct traffic *traffic);

int traffic_host_init(struct traffic *traffic, uint32_t number); /* -ENOMEM */
void traffic_host_fini(struct traffic_host *th);
/* While nothing runs: there is something to start at @at. */
void traffic_host_wake(struct traffic_host *th, ps_t at);

#endif
