/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SWITCH_INTERNAL_H
#define SIM_SWITCH_INTERNAL_H

/* What the parts of the switch share; never leaves this folder.
 *
 *	switch.c       creation and questions	switch_run.inc   departures, arrivals, windows
 *	switch_ets.c   whose turn it is		switch_partial.c  frames that have to come in whole
 *	switch_balance.c  which of several ways	switch_conweave.c  ways that change
 *	switch_flood.c    hosts that are forgotten, copies
 *
 * switch_run.inc is there twice: in switch_plain.c, and in switch_full.c for switches with a struct
 * sim_switch_more. */
#include "sim/internal.h"
#include "sim/switch.h"

/* Deficit round robin of one port (switch_ets.c). */
struct sim_turns {
	uint32_t deficit[SIM_PRIORITIES_MAX]; /* bytes that a class may still send in its turn */
	uint8_t at;			      /* the class whose turn it is */
	bool begun;			      /* it has had its quantum */
};

/* What the switch of a host does with the frames that begin or end there, besides passing them on:
 * a way of balancing with a state of its own, which may tag frames, hold some of them back and
 * speak with its like at other switches. The edge is part of its owner. */
struct sim_edge {
	const struct sim_edge_ops *ops;
	uint64_t kept_bytes; /* of the frames that are held back, */
	uint32_t kept_count; /* for which there is room taken */
};

/* Every member is filled. Frames that are passed on or charged are the switch's. */
struct sim_edge_ops {
	/* From a host here, for one elsewhere: goes on by any of its ways. */
	void (*on_first)(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw,
			 struct sim_pkt *pkt);
	/* From elsewhere, for a host here: goes on by the port @to, at once or later. */
	void (*on_last)(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw,
			struct sim_pkt *pkt, uint32_t to);
	/* When it wants on_timer(); asked only while it holds something back. */
	ps_t (*timer_at)(struct sim_edge *edge);
	void (*on_timer)(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw,
			 ps_t at);
	/* The run has ended: facts for the digest. */
	void (*finish)(struct sim_edge *edge, struct sim_node *node);
	/* Drops what it holds back: after the last run. */
	void (*drain)(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw);
	void (*destroy)(struct sim_edge *edge);
};

/* What number is of a frame that waits in a full switch: the class that it has come in as, which
 * its room belongs to, and whether it is marked as it leaves (marks_arrivals). */
enum { SIM_WAITS_CLASS = 15, SIM_WAITS_MARKED = 16 };

struct sim_switch_more {
	struct sim_switch_params params;
	uint32_t quantum[SIM_PRIORITIES_MAX]; /* bytes a round; 0: strict */
	uint32_t strict;		      /* mask of queues, the control queue among them */
	struct sim_turns *turns;	      /* by port; NULL: all are strict */
	/* Frames whose head is here and whose rest has to come first: a heap, in order of arrival.
	 */
	struct sim_pkt **partial;
	uint32_t partial_count, partial_max;
	/* switch_balance.c */
	bool balanced; /* sim_switch_balance() is to be asked */
	struct sim_flowlet *flowlets;
	struct sim_outage {
		uint32_t port;
		ps_t from, until;
	} * outages;
	uint32_t outage_count;
	const struct sim_route_change *route_changes; /* those to come */
	uint32_t route_change_count;
	struct sim_agent *agent; /* NULL: none */
	uint32_t own_address;	 /* of the agent */
	struct sim_edge *edge;	 /* NULL: none */
	struct sim_forgotten {
		uint32_t address;
		ps_t from, until;
	} * forgotten;
	uint32_t forgotten_count;
	uint32_t *rewrites; /* by port in * port_count + port out, three bits a priority; NULL: none
			     */
	uint16_t *choice;   /* room for the ports of a set */
	uint16_t only;
};

struct sim_switch {
	struct sim_node node; /* first */
	struct sim_fc *fc;
	struct sim_class *classes; /* fc->classes */
	uint64_t *pending;	   /* bitmap: ports that could start a frame if they were free */
	uint32_t pending_words;
	uint32_t priority_count; /* of @fc; a plain switch has eight */
	bool heads, all;	 /* fc->ops */
	bool holding;		 /* timers are at work: nothing starts before they are done */
	struct sim_route_table table;
	uint64_t mark_key;
	ps_t now;		       /* of the last thing that was played in order */
	uint64_t inner;		       /* of the first 64 ports: those to others of its island */
	const struct sim_mark **marks; /* by port * priority_count + priority; may be NULL */
	struct sim_switch_stats stats;
	struct sim_switch_more *more; /* NULL: a plain switch */
};

/* switch_plain.c, switch_full.c */
extern const struct sim_fc_user sim_switch_user_plain, sim_switch_user_full;
void sim_switch_run_plain(struct sim_thread *th, struct sim_node *node,
			  struct sim_pkt *const *arrivals, uint32_t count);
void sim_switch_run_full(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count);
/* switch_full.c: for edges and agents, in the order of time in which they are called.
 * @pkt leaves by the port @to, or waits for it, or is dropped. */
void sim_switch_pass(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		     uint32_t to);
/* There is room for @pkt, and it is taken; false: there was none, and the frame is gone. */
bool sim_switch_charge(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt);
/* What may start at the port @to up to @until has started. */
void sim_switch_settle(struct engine_thread *et, struct sim_switch *sw, uint32_t to, ps_t until);
/* @pkt, which is charged, goes on by the port @to at @at, up to which the port is settled. */
void sim_switch_resume(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		       uint32_t to, ps_t at);
/* @frame, of this switch's own making, with what its body holds, leaves by the port @to at its
 * time, or waits for it, or is dropped; it takes room of the port that it says it came by. Not
 * where credits are counted. */
void sim_switch_send(struct engine_thread *et, struct sim_switch *sw, const struct sim_pkt *frame,
		     uint32_t to);
/* switch.c */
void sim_switch_drop(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt);

/* switch_ets.c: the queue of @port that goes next, of those in @ready, which are not empty; its
 * frame is accounted for. */
int sim_switch_turns_init(struct sim_switch *sw); /* 0 or -ENOMEM */
uint32_t sim_switch_turn(struct sim_switch *sw, const struct sim_port *port, uint32_t ready);

/* switch_balance.c */
int sim_switch_balance_init(struct sim_switch *sw); /* 0 or -ENOMEM */
uint32_t sim_switch_balance(struct sim_switch *sw, const struct sim_pkt *pkt);
/* All ways of @pkt that are in order at its time; the set is good until the next call. */
uint32_t sim_switch_ways(struct sim_switch *sw, const struct sim_pkt *pkt,
			 const uint16_t **ret_set);

/* Whether the switch sends anything new out of @port. */
bool sim_switch_port_is_up(const struct sim_switch *sw, uint32_t port, ps_t at);

/* switch_flood.c: whether the port of the host at @address is not known. */
bool sim_switch_has_forgotten(const struct sim_switch *sw, uint32_t address, ps_t at);
/* switch_balance.c: whether a copy of @pkt goes out of the port @to. */
bool sim_switch_copies_to(const struct sim_switch *sw, const struct sim_pkt *pkt, uint32_t to);
/* NULL: no memory, and the run ends. */
struct sim_pkt *sim_switch_copy(struct engine_thread *et, struct sim_switch *sw,
				const struct sim_pkt *pkt);

/* switch_partial.c: @pkt comes again when all of it is here. */
void sim_switch_wait(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt);
/* Of two frames that arrive, which is first. */
bool sim_switch_before(const struct sim_switch *sw, const struct sim_pkt *a,
		       const struct sim_pkt *b);
struct sim_pkt *sim_switch_partial_take(struct sim_switch *sw);

static inline struct sim_class *class_of(const struct sim_switch *sw, uint32_t port,
					 uint32_t priority)
{
	return &sw->classes[port * (sw->priority_count + 1) + priority];
}

static inline uint32_t ready(const struct sim_port *port)
{
	return port->waiting & ~(uint32_t)port->paused;
}

static inline void refresh(struct sim_switch *sw, const struct sim_port *port)
{
	const uint64_t bit = (uint64_t)1 << port->index % 64;

	if (ready(port))
		sw->pending[port->index / 64] |= bit;
	else
		sw->pending[port->index / 64] &= ~bit;
}

static inline void put(struct sim_switch *sw, struct sim_port *port, struct sim_class *class,
		       uint32_t queue, struct sim_pkt *pkt)
{
	if (class->count++ == 0) {
		class->head = pkt;
		port->waiting |= 1u << queue;
		refresh(sw, port);
	} else {
		memcpy((void *)class->tail, &pkt, sizeof(pkt));
	}
	class->tail = pkt;
	class->queue_bytes += pkt->bytes;
	if (class->queue_bytes > class->queue_max)
		class->queue_max = class->queue_bytes;
}

static inline struct sim_pkt *take(struct sim_switch *sw, struct sim_port *port,
				   struct sim_class *class, uint32_t queue)
{
	struct sim_pkt *pkt = class->head;

	class->queue_bytes -= pkt->bytes;
	if (--class->count == 0) {
		port->waiting &= ~(1u << queue);
		refresh(sw, port);
	} else {
		memcpy(&class->head, (const void *)pkt, sizeof(pkt));
		__builtin_prefetch(class->head, 1);
	}
	return pkt;
}

#endif
