/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_FC_H
#define SIM_FC_H

/* The one seam for link-level flow control. Every node that takes part has a struct sim_fc: at the
 * sending end of its links it is the gate (may this frame start?), at the receiving end the buffer
 * (what happens when a frame is kept, and freed). What goes back is a SIM_CONTROL frame with its
 * own wire time. PFC decides at the buffer, credits at the gate (models/link/pfc.h,
 * models/link/credit.h).
 *
 * A switch keeps the ordinary case away from the seam: the buffer's model gives bounds within which
 * nothing can happen, and says of which frames it wants to hear. */
#include "sim/port.h"

struct sim_fc;

/* One priority (or, the last, the control frames) of one port: the ingress side counts what came in
 * here and is still in the node, the egress side what waits to leave. One cache line. */
struct sim_class {
	/* Egress queue, the switch's. */
	/* Linked through the first word: the time of arrival is past. */
	struct sim_pkt *head, *tail;
	uint32_t count, queue_bytes;
	uint32_t queue_max;
	uint32_t mark_above; /* the queue marks ECN only above this, UINT32_MAX: never */
	uint64_t sent_bytes;
	uint32_t sent_packets;
	uint32_t marked; /* ECN */
	/* Ingress. */
	uint32_t ingress_bytes;	 /* charged to the shared buffer; an upper bound while unsettled */
	uint32_t headroom_bytes; /* charged to the headroom of this port and priority */
	uint32_t dropped;
	uint8_t watched; /* the model wants to hear when a frame from here is freed */
	uint8_t shut;	 /* frames that come in here or are to leave here are dropped */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sim_class) == 64, "one cache line");

/* What a port has been told by the other end of one priority, and what came of it. */
struct sim_lane {
	ps_t until;	/* PFC: paused until; PS_NEVER: until a resume */
	uint64_t limit; /* credits: bytes that may be sent in all */
	uint64_t sent;	/* credits: bytes sent so far */
	ps_t paused_since, paused_time;
	/* Frames that pause, frames that let go. */
	uint32_t pauses_sent, pauses_received, resumes_sent, resumes_received;
};

/* Of all together. */
struct sim_gate {
	uint64_t controls_sent, controls_received; /* pause frames, credit updates */
	uint64_t resumes_sent, resumes_received;
	struct sim_lane lanes[]; /* by priority */
};

/* Storms that a watchdog has found at a port and priority, those that are over, frames dropped for
 * them. */
struct sim_storms {
	uint32_t found, over, dropped;
};

enum sim_fc_verdict { SIM_FC_TAKEN, SIM_FC_DROPPED };

/* The node around it. */
struct sim_fc_user {
	/* A control frame for the other end of @port: goes ahead of everything else. */
	void (*control)(struct sim_thread *th, struct sim_node *node, uint32_t port,
			const struct sim_pkt *pkt, ps_t at);
	/* port->paused has changed, or may_send() may now say something else. */
	void (*gate)(struct sim_thread *th, struct sim_node *node, uint32_t port, ps_t at);
	/* Drops what waits at @port and sets class->shut: the model clears it. Only switches have
	 * it. */
	void (*shut)(struct sim_thread *th, struct sim_node *node, uint32_t port, uint8_t priority,
		     ps_t at);
};

/* Every member is filled but may_queue, limit and outage, which may be NULL. Times never run
 * backwards within a node. */
struct sim_fc_ops {
	const char *name;
	bool heads; /* the gate looks at the frame in front: may_send() must be asked for each */
	bool all;   /* the buffer hears of every frame, even of one that leaves at once */
	bool (*may_send)(const struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes);
	void (*on_sent)(struct sim_fc *fc, uint32_t port, uint8_t priority, uint32_t bytes);
	/* @pkt, a control frame, came in at @port. */
	void (*on_control)(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
			   const struct sim_pkt *pkt);
	/* Would a frame be taken and nothing else happen? @used and @ingress count it already and
	 * may be too large. True moves the bounds. */
	bool (*quiet)(struct sim_fc *fc, uint8_t priority, uint64_t used, uint32_t ingress);
	/* Whether the queue of @priority at a port may be @queue_bytes long. All ports are settled,
	 * or what is used may be too large. */
	bool (*may_queue)(const struct sim_fc *fc, uint8_t priority, uint32_t queue_bytes);
	/* What @port may hold of @priority before its other end has to pause, as of now; 0: it
	 * never has to. NULL: nobody ever has. For those who only look. */
	uint64_t (*limit)(const struct sim_fc *fc, uint32_t port, uint8_t priority);
	/* All ports are settled: charges a frame of @bytes that came in at @port to where it
	 * belongs, or drops it (and counts it). */
	enum sim_fc_verdict (*on_buffered)(struct sim_fc *fc, struct sim_thread *th, uint32_t port,
					   uint8_t priority, uint32_t bytes, ps_t at);
	/* A frame that came in at @port has started elsewhere. Only where class->watched. */
	void (*on_freed)(struct sim_fc *fc, struct sim_thread *th, uint32_t port, uint8_t priority,
			 uint32_t bytes, ps_t at);
	/* fc->timer_at has come. */
	void (*on_timer)(struct sim_fc *fc, struct sim_thread *th, ps_t at);
	/* Before the run: what is sent by @port is lost from @at on, or, @back, arrives again.
	 * -ENOMEM. */
	int (*outage)(struct sim_fc *fc, uint32_t port, ps_t at, bool back);
	void (*destroy)(struct sim_fc *fc);
};

/* Hears what the flow control of a node does, none of it on a frame's ordinary way; called by the
 * thread that runs the node. It only reads. */
struct sim_fc_listener {
	/* The buffer has the other end of @port pause or go on, since what came from there and is
	 * held, @held_bytes, has passed @limit_bytes. */
	void (*on_limit)(struct sim_fc_listener *listener, const struct sim_fc *fc, uint32_t port,
			 uint8_t priority, bool paused, uint64_t held_bytes, uint64_t limit_bytes,
			 ps_t at);
	/* The other end has had this one pause or go on. */
	void (*on_gate)(struct sim_fc_listener *listener, const struct sim_fc *fc, uint32_t port,
			uint8_t priority, bool paused, ps_t at);
};

/* Embedded by the model. */
struct sim_fc {
	const struct sim_fc_ops *ops;
	struct sim_class *classes; /* sim_fc_class() */
	uint64_t used;		   /* bytes charged to the shared buffer; an upper bound */
	uint64_t quiet_used;	   /* used' <= quiet_used and ingress' <= quiet_ingress, and ... */
	uint32_t quiet_ingress;	   /* ... the class is not watched: nothing can happen */
	uint32_t eager_count;	   /* while > 0 every departure and timer is played in its order */
	ps_t timer_at;		   /* PS_NEVER: none */
	void *gates;		   /* sim_fc_gate(): so many ... */
	size_t gate_bytes;	   /* ... bytes each */
	struct sim_node *node;
	const struct sim_fc_user *user;
	uint64_t buffer_bytes;
	uint32_t priority_count; /* the fabric's */
	/* Asks more of a switch than a plain one does: reserves, may_queue(), shut classes, more
	 * priorities than eight. */
	bool full;
	const uint32_t *reserve; /* by priority, of each port: bytes that @used does not count */
	uint64_t storms;	 /* that a watchdog has found */
	struct sim_storms *storms_of; /* by port * priority_count + priority; NULL: no watchdog */
	uint64_t dropped_buffer, dropped_headroom; /* packets: shared buffer full, headroom full */
	struct sim_fc_listener *listener; /* set between sim_seal() and sim_run(); NULL: none */
};

/* For models: the common part for @node, which is sealed. -ENOMEM. */
int sim_fc_init(struct sim_fc *fc, const struct sim_fc_ops *ops, struct sim_node *node,
		uint64_t buffer_bytes);
void sim_fc_fini(struct sim_fc *fc);
/* No flow control: a full buffer drops. NULL: no memory. */
struct sim_fc *sim_fc_none(struct sim_node *node, uint64_t buffer_bytes);
void sim_fc_destroy(struct sim_fc *fc); /* NULL allowed */

static inline struct sim_class *sim_fc_class(const struct sim_fc *fc, uint32_t port,
					     uint32_t priority)
{
	return &fc->classes[port * (fc->priority_count + 1) + priority];
}

/* That of the control frames. */
static inline struct sim_class *sim_fc_control(const struct sim_fc *fc, uint32_t port)
{
	return sim_fc_class(fc, port, fc->priority_count);
}

static inline struct sim_gate *sim_fc_gate(const struct sim_fc *fc, uint32_t port)
{
	return (struct sim_gate *)(void *)((char *)fc->gates + port * fc->gate_bytes);
}

static inline struct sim_lane *sim_fc_lane(const struct sim_fc *fc, uint32_t port,
					   uint32_t priority)
{
	return &sim_fc_gate(fc, port)->lanes[priority];
}

/* What of @bytes lies in the shared buffer, where they are on top of what @class holds. */
static inline uint32_t sim_fc_shared(const struct sim_fc *fc, const struct sim_class *class,
				     uint8_t priority, uint32_t bytes)
{
	const uint32_t reserve = fc->reserve[priority], below = class->ingress_bytes;
	const uint32_t above = below + bytes;

	if (above <= reserve)
		return 0;
	return below >= reserve ? bytes : above - reserve;
}

/* Pauses or lets go, and keeps the account of paused time. */
void sim_fc_pause(struct sim_fc *fc, uint32_t port, uint8_t priority, bool paused, ps_t at);
/* Paused time so far, with the pause at hand. */
ps_t sim_fc_paused_time(const struct sim_fc *fc, uint32_t port, uint8_t priority, ps_t now);

/* For hosts. May a frame of @bytes start? To be asked right before sim_port_send(). */
static inline bool sim_fc_may_send(const struct sim_fc *fc, uint32_t port, uint8_t priority,
				   uint32_t bytes)
{
	return !(fc->node->ports[port].paused >> priority & 1) &&
	       (!fc->ops->heads || fc->ops->may_send(fc, port, priority, bytes));
}
/* A host tells of each data frame that it sends ... */
static inline void sim_fc_sent(struct sim_fc *fc, uint32_t port, const struct sim_pkt *pkt)
{
	if (fc->ops->heads)
		fc->ops->on_sent(fc, port, sim_pkt_priority(pkt, fc->priority_count), pkt->bytes);
}
/* ... and of each frame that it receives, which it keeps no longer than this call. Control frames
 * end here; fc->user hears what comes of them. */
void sim_fc_receive(struct sim_fc *fc, struct sim_thread *th, const struct sim_pkt *pkt);

/* The body of a control frame: two words, so that the digest sees it all. */
enum sim_control { SIM_CONTROL_PFC = 1, SIM_CONTROL_CREDIT };
struct sim_control_body {
	uint8_t kind;	 /* enum sim_control */
	uint8_t classes; /* PFC: the priorities that @value is for; credits: the one priority */
	uint8_t zero[6];
	uint64_t value; /* PFC: quanta of 512 bit times, 0 resumes; credits: bytes in all */
};
void sim_control_make(struct sim_pkt *ret_pkt, uint32_t bytes, enum sim_control kind,
		      uint8_t classes, uint64_t value);
struct sim_control_body sim_control_read(const struct sim_pkt *pkt);

#endif
