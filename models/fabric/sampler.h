/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SAMPLER_H
#define MODELS_SAMPLER_H

/* What a fabric looks like over time: counters, read at fixed instants. It only reads, so a run
 * with it has the same digest as one without.
 *
 * It begins with a point after every least delay of a link (100 ns at least; of very large fabrics
 * after several). When there are too
 * many, the interval doubles and the points that it no longer has are joined, so that a run of any
 * length keeps some hundred of them. While nothing happens there are no points but the last before
 * and the first after. */
#include "models/fabric/fabric.h"

/* At an instant. Totals count from the begin of the run. */
struct sampler_point {
	ps_t at;
	uint64_t sent_bytes[SIM_PRIORITIES_MAX];  /* total: on the wire, by hosts */
	uint64_t placed_bytes;			  /* total: payload that arrived in memory */
	uint64_t marked, cnp_sent, retransmitted; /* totals: packets */
	uint64_t dropped;			  /* total: no room in a buffer, and by faults */
	uint64_t pause_sent;			  /* total: frames; 0 where credits are at work */
	ps_t paused;		/* total: of all priorities of all ports together */
	uint64_t queue_bytes;	/* now: in all switches */
	uint32_t queues_paused; /* now: priorities of ports */
};

/* Of one port at an instant, in totals: frames that it has begun to send, as bytes on the wire, and
 * how long its priorities were paused together. */
struct sampler_trace {
	uint64_t sent_bytes;
	uint64_t paused : 59, queues_paused : 5; /* now: priorities */
};

struct sampler_port; /* what was last seen of a port */

/* A direction of a lane of a machine: those of all machines in order of their names, and of each
 * those of its lanes, from a to b and back. Of very many machines the first ones. */
struct sampler_way {
	const struct bus *bus;
	uint32_t from, to; /* parts */
	bool is_nvlink;
};

struct sampler {
	struct fabric_watcher watcher;
	struct fabric *fabric;
	struct sampler_point *points;
	uint32_t point_count, point_max;
	ps_t interval, due;
	struct sampler_port *ports; /* those of switches first: they have queues */
	uint32_t port_count, queue_count;
	/* Bytes waiting at each port of a switch, by point * queue_count + port: the most that is
	 * known of the interval that ends at the point (records are known exactly). */
	uint32_t *queues;
	struct sampler_trace *traces; /* by point * port_count + port */
	struct sampler_way *ways;
	uint32_t way_count;
	ps_t *busy; /* by point * way_count + way, total: that it was taken, of all links together
		     */
};

/* Before fabric_run(). -ENOMEM: nothing is watched; the sampler can be freed in any case. */
int sampler_start(struct sampler *sampler, struct fabric *fabric);
/* After fabric_run(): the last point, not before the last arrival. */
void sampler_end(struct sampler *sampler, ps_t at);
void sampler_fini(struct sampler *sampler); /* zeroed: allowed */

/* The switch ports with the longest queues ever, the longest first; equal ones in order of node and
 * link. At most @max; their number. Those that never had a queue are left out. */
struct sampler_queue {
	const char *node, *link, *peer;
	uint32_t number; /* in sampler.queues */
	uint32_t bytes_max;
};
uint32_t sampler_busiest(const struct sampler *sampler, struct sampler_queue *ret_queues,
			 uint32_t max);

/* Whose the columns of sampler.traces are, by @number < port_count; of the first queue_count, those
 * of sampler.queues, too. */
void sampler_name(const struct sampler *sampler, uint32_t number, const char **ret_node,
		  const char **ret_link);

#endif
