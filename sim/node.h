/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_NODE_H
#define SIM_NODE_H

/* Nodes: the unit of state and of scheduling. A node is a switch or a whole host; its state is
 * touched only while it is being run, by one thread, for one window of time at once. Within the
 * window it does everything that happens in it, in order: at one instant timers, then starts of
 * frames already waiting, then arrivals (with what they set off at once on an idle port), then
 * programs. */
#include "sim/packet.h"

struct sim;
struct sim_node;
struct sim_port;

/* The window that a thread is in, and what belongs to the thread. Opaque members: sim/internal.h.
 */
struct sim_thread {
	struct sim *sim;
	ps_t from, until; /* the window: [from, until) */
	uint32_t number;  /* of the thread */
};

struct sim_node_ops {
	const char *kind;
	/* The node takes over the frames, too, as only the engine's own nodes can (sim/switch.c).
	 */
	bool keeps_frames;
	/* Everything in [th->from, th->until). @arrivals are in order of (time, mix of the port at
	 * that time, port, number) and stay valid during the call; the node takes over what their
	 * bodies hold. Whatever happens later than the window and does not come from outside, it
	 * asks for with sim_wake(). */
	void (*run)(struct sim_thread *th, struct sim_node *node, struct sim_pkt *const *arrivals,
		    uint32_t count);
	/* The run has ended: final counters to the digest. */
	void (*finish)(struct sim_node *node);
};

/* Embedded as the first member of its owner, who may read everything. The first line is what a
 * visit touches. */
struct sim_node {
	const struct sim_node_ops *ops;
	struct sim_port *ports;	  /* in order of their links' names */
	const uint64_t *link_ids; /* those of the ports, close together for the digest */
	uint64_t digest;	  /* running hash over model facts */
	uint64_t arrivals;	  /* the engine's own: running hash over deliveries */
	uint64_t tie_key;	  /* of sim_tie() */
	uint32_t slot;		  /* the engine's own */
	uint32_t port_count;
	uint16_t thread; /* that runs the node */
	uint16_t island; /* one more than its number; 0: none */
	uint32_t index;	 /* in order of sim_add_node(); no model fact */

	struct sim *sim;
	const char *name;
	uint64_t id; /* util_hash_name(name) */
};

/* Runs @node in the window that holds @at (>= th->until). An early or needless wake-up is harmless:
 * where the node is asked for earlier, that may stand for both, and it asks again then. Returns
 * @at, or that earlier time. */
ps_t sim_wake(struct sim_thread *th, struct sim_node *node, ps_t at);

/* Adds a fact to the node's digest. Facts of one node come in the order in which they happen. */
static inline void sim_digest_add(struct sim_node *node, ps_t at, uint64_t a, uint64_t b)
{
	const u128 x = (u128)(node->digest ^ at ^ 0x9e3779b97f4a7c15u) * (a ^ 0xd6e8feb86659fd93u);
	const u128 y = (u128)((uint64_t)x ^ b ^ 0xa0761d6478bd642fu) *
		       ((uint64_t)(x >> 64) ^ 0xe7037ed1a0b428dbu);

	node->digest = (uint64_t)y ^ (uint64_t)(y >> 64);
}

#endif
