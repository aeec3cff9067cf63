/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TRAFFIC_H
#define MODELS_TRAFFIC_H

/* Flows: each a fresh queue pair at line rate that makes one RDMA WRITE of synthetic bytes per (at
 * most) 1 GiB (on UC one with immediate, so that the sink knows), through the same adapter that
 * programs use; or, with flow_pairs, all of one source, destination and priority one queue pair
 * that stays. A flow is known by (source, destination, priority, bytes, start, k-th of its equals),
 * never by its place in a list; queue pair numbers and UDP source ports follow from the seed, the
 * host and that key. */
#include "models/fabric/fabric.h"
#include "models/traffic/arrivals.h"

/* Bytes of a flow at most where a send queue takes 16,384 work requests, as scenarios have it. */
#define TRAFFIC_BYTES_MAX ((uint64_t)1 << 44)

enum traffic_status {
	TRAFFIC_PENDING, /* not started, or under way: "unfinished" at the end, or
			  * traffic_is_lost() */
	TRAFFIC_OK,
	TRAFFIC_FAILED, /* @wc_status says how */
};

struct traffic_flow {
	/* What is asked for. */
	uint32_t src, dst; /* positions in the host table */
	uint32_t class_index;
	uint8_t priority;
	bool is_sent;  /* the traffic module's own; UC: the requester has completed it */
	bool streamed; /* its own, too */
	uint64_t bytes;
	ps_t start_at;
	/* What became of it. */
	enum traffic_status status;
	int wc_status; /* enum hca_wc_status */
	ps_t end_at;   /* the requester's completion; on UC that of the last receive */
	uint64_t packets_retransmitted; /* once it has ended; see traffic_retransmitted() */
	/* The traffic module's own. */
	uint64_t key, va;
	uint32_t source_qpn, sink_qpn;
	uint32_t writes_left;	   /* of its WRITEs, not complete */
	uint32_t writes_here;	   /* UC: of its WRITEs, whole at the sink */
	struct traffic_pair *pair; /* whose queue pair it shares; NULL: it has its own */
	struct hca_qp *sink_qp;
	uint64_t id;
	struct traffic_flow *next, *next_ended; /* of a stream */
	struct traffic_flow *next_of_pair;	/* that is to end after this one */
	uint32_t first_psn, packets; /* of a pair's flow, from when it is posted; beside streams to
					a while after its end */
	struct traffic_source {
		struct hca_qp *qp;
		struct hca_mr *mr;
	} source;
};

struct traffic;

/* Open-loop flows that are made shortly before they start and given up once they have ended, so
 * that memory goes with how many are under way, not with how many there are. They are numbered
 * behind those of the list, in the order of their starts (then of source, destination, priority,
 * bytes). */
struct traffic_stream {
	struct arrivals arrivals;
	uint32_t *hosts,
		host_count; /* that send to each other: positions in the host table, sorted */
	uint32_t class_index;
	uint8_t priority;
};

/* Hears of every flow of a stream, once: when it has ended, and at the end of those that are under
 * way. While nothing runs; @flow is gone afterwards. 0 goes on; negative ends the run. */
struct traffic_listener {
	int (*on_flow)(struct traffic_listener *listener, const struct traffic_flow *flow,
		       uint64_t id);
};

/* Sorts @flows into their order of identity (@flows[i].src etc. set; the array stays the caller's
 * until traffic_destroy()) and hangs them on their hosts. Before fabric_run(). -ENOMEM, -EINVAL:
 * bytes 0 or more than a send queue takes, src == dst. */
int traffic_create(struct fabric *fabric, struct traffic_flow *flows, uint64_t count,
		   struct traffic **ret_traffic);
void traffic_destroy(struct traffic *traffic); /* NULL allowed */

/* More flows of streams under way at once are a load that the links cannot take, headers included;
 * then the run ends with -ENOBUFS. */
enum { TRAFFIC_LIVE_MAX = 1 << 20 };

/* Before fabric_run(); @streams stay the caller's until traffic_destroy(). -ENOMEM. */
int traffic_stream_start(struct traffic *traffic, const struct traffic_stream *streams,
			 uint32_t count, struct traffic_listener *listener);
/* After fabric_run(): the listener hears of what is left. 0 or what it says. */
int traffic_stream_end(struct traffic *traffic);

/* Flows of streams, while they are under way and a little longer; for those who watch between two
 * windows. Whose queue pair @qpn at @host (position in the host table) is, of several the one that
 * @psn is of; NULL: none of theirs. */
const struct traffic_flow *traffic_streamed_at(const struct traffic *traffic, uint32_t host,
					       uint32_t qpn, uint32_t psn);
/* Of those that share @flow's queue pair the one that @psn is of; if it is of none, the oldest
 * under way, or @flow. */
const struct traffic_flow *traffic_at_work(const struct traffic_flow *flow, uint32_t psn);
/* The one of this number; NULL: not made yet, or given up. */
const struct traffic_flow *traffic_streamed(const struct traffic *traffic, uint64_t id);

struct traffic_sums {
	uint64_t posted, completed, failed; /* failed: every status but ok, unfinished included */
	uint64_t unfinished;		    /* neither ended nor lost */
	uint64_t bytes_posted, bytes_delivered; /* of flows that are ok */
	uint64_t packets_retransmitted;
	uint64_t mismatch_bytes; /* placed, but not what (stream, offset) says: must be 0 */
};
struct traffic_sums traffic_sums(const struct traffic *traffic);

/* After the run: all of @flow, on UC, has been sent, and not all of it is there. */
static inline bool traffic_is_lost(const struct traffic_flow *flow)
{
	return flow->status == TRAFFIC_PENDING && flow->is_sent;
}

uint64_t traffic_retransmitted(const struct traffic_flow *flow); /* so far */

/* How long @flow takes alone on an idle fabric over the path that it takes, the ACK included where
 * there is one, without host costs and rate limit. PS_NEVER: no path. */
ps_t traffic_ideal(const struct traffic *traffic, const struct traffic_flow *flow);

#endif
