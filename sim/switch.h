/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_SWITCH_H
#define SIM_SWITCH_H

/* A switch with output queues in one shared buffer: store-and-forward, the fabric's priorities
 * in strict order (the highest first), control frames before them; or what struct sim_switch_params
 * makes of it. A frame that finds its port free starts at once and takes no buffer. What happens to
 * the buffer's limits is the business of sim/fc.h, marking that of the ecn seam below.
 *
 * Ports are settled lazily: frames start only when somebody looks. As long as nothing that leaves
 * has an effect beyond its own port, they may be settled in any order; while fc->eager_count > 0
 * departures, timers and arrivals of the whole switch are played in their exact order. */
#include "sim/fc.h"
#include "sim/route.h"

struct sim_switch;

/* Marks at dequeue, or at enqueue (marks_arrivals). @queue_bytes: the queue without the frame. The
 * draw is a function of the packet and the switch, never of what else was drawn. */
struct sim_mark {
	bool (*mark)(const struct sim_mark *mark, uint32_t queue_bytes, uint32_t draw);
	uint32_t quiet_bytes; /* up to here nothing is marked */
};

/* Which of several shortest ways a frame takes: that of its flow (ECMP); one drawn for each packet;
 * one drawn for each flowlet, that is after a gap in the flow; that with the shortest queues;
 * another when that of the flow is slow, with order restored at the other end
 * (sim/switch_conweave.h). */
enum sim_balance {
	SIM_BALANCE_FLOW,
	SIM_BALANCE_SPRAY,
	SIM_BALANCE_FLOWLET,
	SIM_BALANCE_SHORTEST,
	SIM_BALANCE_WEAVE /* not with cut-through, credits or sixteen priorities */
};

/* Of SIM_BALANCE_WEAVE, by the names of the paper theta_reply (beyond the round trip),
 * theta_path_busy, theta_resume and theta_inactive. */
struct sim_conweave_params {
	ps_t reply, busy, resume, expiry;
	uint32_t flows; /* places for flows at each end; 0: SIM_WEAVE_FLOWS */
};
enum { SIM_WEAVE_FLOWS = 32768 };

/* What a switch is beside; all zero: nothing. */
struct sim_switch_params {
	/* Cut-through: a frame goes on once so many of its bytes are here (preamble to the end of
	 * the header that is looked at), where the port that it goes to is not faster than the one
	 * it came from; otherwise once it is here as a whole. Until then it takes no buffer. 0:
	 * store and forward. */
	uint32_t head_bytes;
	/* Enhanced transmission selection (IEEE 802.1Qaz): shares of the classes that take turns,
	 * by deficit round robin (Shreedhar and Varghese, SIGCOMM 1995), while no strict class may
	 * send. 0: strict. The class with the largest share gets @frame_bytes_max a round. */
	uint8_t weights[SIM_PRIORITIES_MAX];
	uint32_t frame_bytes_max; /* on the wire */
	bool stamps;		  /* struct sim_hop for every data frame that starts */
	enum sim_balance balance;
	ps_t flowlet_gap;
	struct sim_conweave_params conweave;
	bool marks_arrivals; /* by the queue that a frame finds, instead of the one that it
			      * leaves */
	bool mapped;	     /* the priority of a frame here is @map's; it keeps its own */
	uint8_t map[SIM_PRIORITIES_MAX];
	uint32_t frame_limit; /* longer frames are dropped; on the wire; 0: none */
	/* Some switch of the fabric forgets hosts, maybe this one: sim_switch_forget(). Not with
	 * SIM_BALANCE_WEAVE anywhere, nor credits. */
	bool forgets;
	uint16_t floods; /* classes here of which what is for a forgotten host is flooded; that of
			  * others is dropped */
};

struct sim_switch_stats {
	uint64_t dropped_route, dropped_ttl, dropped_watchdog, dropped_mtu;
	uint64_t dropped_unknown; /* for a forgotten host: of no class that is flooded, or there was
				   * no port to flood to */
	uint64_t flooded, flood_copies;	    /* frames, and how many more than these they became */
	uint64_t mcast, mcast_copies;	    /* the same of multicast */
	uint64_t not_mine;		    /* copies of another switch's flood that came here */
	uint64_t forwarded;		    /* data frames */
	uint64_t rewritten[SIM_PRIORITIES]; /* of these, by the priority that they got here */
};

/* Of SIM_BALANCE_WEAVE. */
struct sim_conweave_stats {
	uint64_t rerouted;	 /* flows, times */
	uint64_t kept, overdue;	 /* frames kept for order; times that a TAIL did not come */
	uint64_t kept_bytes_max; /* at once */
	uint64_t untracked;	 /* frames of flows that found no place */
	uint64_t notes_sent, notes_heard;
};

extern const struct sim_node_ops sim_switch_ops;

struct sim_switch *sim_switch_create(const char *name); /* NULL: no memory */
/* After sim_destroy(). NULL allowed. */
void sim_switch_destroy(struct sim_switch *sw);
struct sim_node *sim_switch_node(struct sim_switch *sw);

/* After sim_seal() and before sim_run(). The switch owns @fc from here on; -ENOMEM: not.
 * Of multicast (SIM_ROUTE_MCAST) a copy goes out of each port of the table's tree that is in order
 * but the one that it came by; each counts, waits, is marked, rewritten and dropped as those of a
 * flood (sim_switch_forget()). Where credits are counted there is none: it has no route. */
int sim_switch_ready(struct sim_switch *sw, const struct sim_route_table *table, struct sim_fc *fc);
/* After sim_switch_ready(), before sim_run(). Once. -ENOMEM. */
int sim_switch_extend(struct sim_switch *sw, const struct sim_switch_params *params);
/* It is extended; before sim_run(). The switch sends nothing new out of @port in [@from, @until) if
 * there is another way, and drops if there is none. What the link does then is its faults' affair.
 * -ENOMEM. */
int sim_switch_outage(struct sim_switch *sw, uint32_t port, ps_t from, ps_t until);
/* It is extended, with params.forgets; before sim_run(). What comes in [@from, @until) for the host
 * at @address, which hangs on this switch, is for a MAC whose port the switch does not know, though
 * it knows the MAC: the entry of the MAC table has expired and that of the ARP table has not, as
 * for a host that has died (Guo et al., SIGCOMM 2016, section 4.2). It is dropped, or a copy goes
 * out of every port that is in order but the one that it came by, the host's own among them: to
 * hosts, which take only what is theirs, and to switches, which take none of it. Each copy waits,
 * counts as what came in by that port and is marked, rewritten and dropped by itself. A switch that
 * cuts through floods once it has the frame as a whole. -ENOMEM. */
int sim_switch_forget(struct sim_switch *sw, uint32_t address, ps_t from, ps_t until);
/* From @at on the switch goes by its table of @routes. */
struct sim_route_change {
	ps_t at;
	const struct sim_routes *routes;
};
/* It is extended; before sim_run(). Once: all changes of its routes, in order of time. @steps and
 * the routes stay the caller's. */
void sim_switch_change_routes(struct sim_switch *sw, const struct sim_route_change *steps,
			      uint32_t count);
/* The management of a switch, or whatever else speaks with it: hears of the data frames that are
 * for the switch itself, at sim_address(its group, SIM_ROUTE_HERE). */
struct sim_agent {
	/* @frame has come in, at frame->at, and takes no room any more. The agent takes over what
	 * its body holds. From the thread that runs the switch. */
	void (*on_frame)(struct sim_agent *agent, struct sim_thread *th, struct sim_switch *sw,
			 const struct sim_pkt *frame);
};
/* It is extended and has hosts; before sim_run(). Once, and not with SIM_BALANCE_WEAVE, which has
 * an agent of its own. @agent stays the caller's. Without one such frames have no route. */
void sim_switch_agent(struct sim_switch *sw, struct sim_agent *agent);
/* It is extended; before sim_run(). Data frames that come in by @in and go out by @out leave as
 * @map says of their priority, which is then that of all switches behind and of the receiver (a
 * DSCP that is rewritten). The room that they take here while they wait stays that of the class
 * that they came in as, so that its sender is paused, and the queue in which they wait is that of
 * the new one, so that a pause of the next switch stops it (as Tagger needs it: Hu et al., CoNEXT
 * 2017). Not with SIM_BALANCE_WEAVE, credits or sixteen priorities.
 * -ENOMEM. */
int sim_switch_rewrite(struct sim_switch *sw, uint32_t in, uint32_t out,
		       const uint8_t map[SIM_PRIORITIES]);
/* From now on @mark decides for the queue of @priority at @port; it stays the caller's. -ENOMEM. */
int sim_switch_mark(struct sim_switch *sw, uint32_t port, uint8_t priority,
		    const struct sim_mark *mark);
/* Gives back all frames that wait: after the last run, before sim_destroy(). */
void sim_switch_drain(struct sim_switch *sw);

struct sim_fc *sim_switch_fc(const struct sim_switch *sw);
const struct sim_class *sim_switch_class(const struct sim_switch *sw, uint32_t port,
					 uint8_t priority);
const struct sim_switch_stats *sim_switch_stats(const struct sim_switch *sw);
/* Whether @node is a switch in which frames that wait lose struct sim_pkt's number of the link that
 * they came by: one that is more than a plain one has its own there. */
bool sim_switch_hides_numbers(struct sim_node *node);
/* The switch that @node is, if it rewrites priorities; else NULL. */
const struct sim_switch *sim_switch_rewriting(struct sim_node *node);
/* Whether a frame that came in by the link @in as one of the class @came waits for the link @out in
 * the queue of @priority. */
bool sim_switch_holds(const struct sim_switch *sw, const char *in, uint8_t came, const char *out,
		      uint8_t priority);
/* Zeroes without SIM_BALANCE_WEAVE, and where the switch has no hosts. */
struct sim_conweave_stats sim_switch_conweave_stats(const struct sim_switch *sw);
/* Frames that wait, and their bytes: with what was sent, delivered and dropped they must add up. */
uint64_t sim_switch_queued(const struct sim_switch *sw, uint64_t *ret_bytes);

#endif
