/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SIM_H
#define SIM_SIM_H

/* A simulation: nodes joined by links, run window by window. A window is no longer than the least
 * delay of a link between nodes, so everything that a node receives in it is known when it begins;
 * there is no global queue. Nodes joined by links that are far shorter than the rest form islands,
 * whose members have turns within the window, each up to where another can reach it, so that a
 * short cable costs only those at its ends. Order comes from the model alone, so windows, islands,
 * threads, the order of nodes and the order of lines in a file change nothing.
 *
 * One thread makes, runs and reads a simulation; sim_run() has threads of its own, which call a
 * node's run() one at a time, and between() while all others wait. sim_stop() is for anybody. */
#include "sim/node.h"

struct sim_params {
	uint64_t seed;
	uint64_t scenario_hash;	 /* the digest starts from it and the seed */
	uint32_t thread_count;	 /* >= 1 */
	uint32_t priority_count; /* of the fabric: SIM_PRIORITIES or SIM_PRIORITIES_MAX; 0: the
				    former */
	const struct sim_body_ops *body_ops;
	/* Called between windows by one thread while all others wait: memory is topped up here.
	 * 0 goes on; negative ends the run and is what sim_run() returns. */
	int (*between)(struct sim *sim, void *owner);
	void *owner;
	uint64_t frames_max; /* in flight at once, a thread; 0: 2^24. Beyond: -ENOMEM */
	ps_t window_max;     /* between() is called at least so often; 0: no matter */
	/* No frame takes less on the wire, and none is heard of before so much of it is there. */
	uint32_t frame_bytes_min;
};

struct sim_link_params {
	const char *name; /* A.a-B.b, or min(A,B)-max(A,B)#k; copied */
	uint64_t rate_bps;
	ps_t delay; /* >= 1 ps */
};

struct sim *sim_create(const struct sim_params *params); /* NULL: no memory */
/* Gives back the frames that still fly; not the nodes, which must still be there. NULL allowed. */
void sim_destroy(struct sim *sim);

/* @node has ops and name; storage stays the caller's until sim_destroy(). -EEXIST: the name (or its
 * hash) is taken; -ENOMEM. */
int sim_add_node(struct sim *sim, struct sim_node *node);
/* @part and @lead, both added, have their turns together, on one thread and in order of time:
 * several adapters of one machine. run() is that of @lead; a frame's port counts the ports of @lead
 * and then those of its parts, in the order of these calls. All else of a part is its own: name,
 * links, ports, address and facts of the digest, but arrivals, which are in that of @lead. Neither
 * is a switch, and a lead is nobody's part. -ENOMEM. */
int sim_add_part(struct sim *sim, struct sim_node *lead, struct sim_node *part);
/* A full-duplex link. -EEXIST, -ENOMEM, -EINVAL: delay 0, rate 0, a node with itself, one that was
 * not added. */
int sim_add_link(struct sim *sim, struct sim_node *a, struct sim_node *b,
		 const struct sim_link_params *params);
/* All nodes and links are there: lays out ports (node->ports, in order of link name), windows and
 * inboxes. -ENOMEM. Routes are computed after it (sim/route.h). */
int sim_seal(struct sim *sim);

/* Runs until nothing is left to do or all of [0, @until) is done, and nothing of what comes later.
 * Every node is visited in the first window, so whoever has been given something to do in between
 * finds it. 0, or negative errno (-ENOMEM: the memory limit). One noinline function, kept
 * out of LTO: what benchmarks count. */
int sim_run(struct sim *sim, ps_t until);
/* The run has ended: every node adds its final facts to the digest. Once. */
void sim_finish(struct sim *sim);
/* As sim_wake(), from inside the between() callback, at or after the end of the window that has
 * just been run; it counts when the next window is chosen. */
void sim_wake_between(struct sim *sim, struct sim_node *node, ps_t at);
/* From inside the between() callback: not after the next instant at which anything happens; the
 * state of the model is the same all the time until then. PS_NEVER: nothing will. */
ps_t sim_next_at(const struct sim *sim);
/* Before a run or from inside the between() callback: it is called when all before @at is done and
 * nothing after it, or earlier; when nothing happens any more before @at, perhaps not at all. Of
 * several the earliest counts. The model cannot see it. */
void sim_cut(struct sim *sim, ps_t at);
/* From a signal handler or the other side of a wall clock: end at the next window. */
void sim_stop(struct sim *sim);
/* From a node's turn: it cannot go on, and sim_run() returns @error, negative errno. */
void sim_fail(struct sim_thread *th, int error);

bool sim_is_done(const struct sim *sim); /* the last run has left nothing to do */
ps_t sim_now(const struct sim *sim); /* begin of the window at hand; after a run the last instant */
ps_t sim_played(const struct sim *sim); /* between() windows: all before that is done */
uint64_t sim_seed(const struct sim *sim);
uint32_t sim_priority_count(const struct sim *sim);
void *sim_owner(const struct sim *sim);
uint64_t sim_packet_hops(const struct sim *sim); /* frames that finished a link */
uint64_t sim_events(const struct sim *sim);	 /* node visits */
uint32_t sim_island_count(const struct sim *sim);
uint64_t sim_digest(const struct sim *sim); /* all entities, in order of name */
ps_t sim_lookahead(const struct sim *sim);  /* the longest window; no fact of the model */
ps_t sim_delay_min(const struct sim *sim);  /* the least delay of a link; without links 1 ms */
/* The nodes in order of their names, after sim_seal(). */
uint32_t sim_node_count(const struct sim *sim);
struct sim_node *sim_node_at(const struct sim *sim, uint32_t i);
/* In whose turns @node has its own: sim_add_part(), or itself. After sim_seal(). */
struct sim_node *sim_turn_of(const struct sim *sim, const struct sim_node *node);

#endif
