/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TRAFFIC_H
#define MODELS_TRAFFIC_H

/* Flows: each a fresh queue pair at line rate that makes one RDMA WRITE of synthetic bytes per (at
 * most) 1 GiB, through the same adapter that programs use. A flow is known by (source,
 * destination, priority, bytes, start, k-th of its equals), never by its place in a list; queue
 * pair numbers and UDP source ports follow from the seed, the host and that key. */
#include "models/fabric.h"

/* Bytes of a flow at most where a send queue takes 16,384 work requests, as scenarios have it. */
#define TRAFFIC_BYTES_MAX ((uint64_t)1 << 44)

enum traffic_status {
	TRAFFIC_PENDING, /* not started, or under way: "unfinished" at the end */
	TRAFFIC_OK,
	TRAFFIC_FAILED, /* @wc_status says how */
};

struct traffic_flow {
	/* What is asked for. */
	uint32_t src, dst; /* positions in the host table */
	uint32_t class_index;
	uint8_t priority;
	uint64_t bytes;
	ps_t start_at;
	/* What became of it. */
	enum traffic_status status;
	int wc_status;			/* enum hca_wc_status */
	ps_t end_at;			/* the requester's completion */
	uint64_t packets_retransmitted; /* once it has ended; see traffic_retransmitted() */
	/* The traffic module's own. */
	uint64_t key, va;
	uint32_t source_qpn, sink_qpn;
	struct traffic_source {
		struct hca_qp *qp;
		struct hca_mr *mr;
		uint32_t writes_left;
	} source;
};

struct traffic;

/* Sorts @flows into their order of identity (@flows[i].src etc. set; the array stays the caller's
 * until traffic_destroy()) and hangs them on their hosts. Before fabric_run(). -ENOMEM, -EINVAL:
 * bytes 0 or more than a send queue takes, src == dst. */
int traffic_create(struct fabric *fabric, struct traffic_flow *flows, uint64_t count,
		   struct traffic **ret_traffic);
void traffic_destroy(struct traffic *traffic); /* NULL allowed */

struct traffic_sums {
	uint64_t posted, completed, failed; /* failed: every status but ok, unfinished included */
	uint64_t bytes_posted, bytes_delivered; /* of flows that are ok */
	uint64_t packets_retransmitted;
	uint64_t mismatch_bytes; /* placed, but not what (stream, offset) says: must be 0 */
};
struct traffic_sums traffic_sums(const struct traffic *traffic);

uint64_t traffic_retransmitted(const struct traffic_flow *flow); /* so far */

/* How long @flow takes alone on an idle fabric over the path that it takes, ACK included, without
 * host costs and rate limit. PS_NEVER: no path. */
ps_t traffic_ideal(const struct traffic *traffic, const struct traffic_flow *flow);

#endif
