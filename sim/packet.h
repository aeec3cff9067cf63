/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PACKET_H
#define SIM_PACKET_H

/* A packet as a fabric sees it: 64 bytes, moved by value from queue to queue. The body belongs to
 * whoever made the packet; the fabric neither reads nor changes it, except through
 * struct sim_body_ops. */
#include "util/units.h"

#include <stdbool.h>

struct sim_thread;

/* A fabric has eight priorities, as Ethernet has, or sixteen, as InfiniBand has virtual lanes
 * (struct sim_params). */
enum { SIM_BODY_BYTES = 40, SIM_PRIORITIES = 8, SIM_PRIORITIES_MAX = 16 };

/* What a frame is to a port. Control frames belong to link-level flow control: they are made and
 * eaten at the two ends of one link, go ahead of everything and are never paused. */
enum sim_frame { SIM_DATA, SIM_CONTROL };

struct sim_pkt {
	ps_t at;	    /* arrival of its last bit at the node that holds it */
	uint32_t dst;	    /* sim_address() of the destination */
	uint32_t flow_hash; /* what ECMP sees */
	uint16_t bytes;	    /* on the wire, preamble and gap included */
	uint16_t port;	    /* at which it arrived: index in the node's ports */
	uint16_t number;    /* low bits of the packet's number on the link it came by; waiting where
			     * arrivals are marked: whether it is marked as it leaves */
	uint8_t priority : 3;	    /* three bits of it: sim_pkt_priority() */
	uint8_t ecn : 2, frame : 1; /* ecn as in RFC 3168 */
	uint8_t epoch : 2; /* between switches that reroute (sim/switch_conweave.h); with sixteen
			    * priorities, where none does, the fourth bit of the priority; else 0 */
	uint8_t ttl;
	union {
		uint8_t body[SIM_BODY_BYTES];
		uint64_t body_words[SIM_BODY_BYTES / 8];
	};
};
_Static_assert(sizeof(struct sim_pkt) == 64, "one cache line");

/* The priority of a data frame in a fabric that has @priority_count of them, 8 or 16. */
static inline uint8_t sim_pkt_priority(const struct sim_pkt *pkt, uint32_t priority_count)
{
	return (uint8_t)((pkt->priority | pkt->epoch << 3) & (priority_count - 1));
}

/* @priority is one of the fabric's; the frame is in no epoch. */
static inline void sim_pkt_set_priority(struct sim_pkt *pkt, uint8_t priority)
{
	pkt->priority = priority & 7u;
	pkt->epoch = priority >> 3 & 3u;
}

/* What a switch tells of itself as a data frame starts: in-band telemetry. */
struct sim_hop {
	uint64_t rate_bps;    /* of the port */
	ps_t at;	      /* the start */
	uint64_t sent_bytes;  /* by the port, before this frame */
	uint32_t queue_bytes; /* behind it, of its class */
};

/* What switches that reroute tell each other of a flow (sim/switch_conweave.h), in data frames for
 * the switch itself (struct sim_agent). */
enum sim_note_kind {
	SIM_NOTE_NONE,
	SIM_NOTE_REQUEST, /* the answer is awaited */
	SIM_NOTE_REPLY,
	SIM_NOTE_TAIL, /* nothing of this epoch comes behind this */
	SIM_NOTE_CLEAR,
	SIM_NOTE_BUSY, /* a frame that came by this way was marked */
};
struct sim_note {
	uint8_t kind;		 /* enum sim_note_kind */
	uint8_t epoch;		 /* 2 bits; of a TAIL: that which ends */
	uint8_t priority;	 /* 3 bits, of the flow */
	uint16_t way;		 /* port of the sender's switch; of a TAIL: the new one */
	uint16_t group;		 /* of the sender's switch */
	uint32_t flow_hash, dst; /* of the flow */
	uint32_t round;		 /* of REQUEST and REPLY */
};

/* What the maker of bodies does for a fabric that knows no protocol. Every function is filled but
 * stamp() and those of notes, which may be NULL. */
struct sim_body_ops {
	/* The packet ends here undelivered: gives back what the body holds. */
	void (*release)(struct sim_thread *th, struct sim_pkt *pkt);
	/* A bit error: flips a bit of the packet's bytes, chosen by @draw. False: the receiver's
	 * checks would refuse it. */
	bool (*corrupt)(struct sim_thread *th, struct sim_pkt *pkt, uint64_t draw);
	/* A second copy that owns what it holds. False: no memory, there is none, and the run ends.
	 */
	bool (*duplicate)(struct sim_thread *th, const struct sim_pkt *pkt,
			  struct sim_pkt *ret_pkt);
	/* Two words that identify the packet, for the digest: opcode, QPN, PSN, length. */
	void (*facts)(const struct sim_pkt *pkt, uint64_t ret_words[2]);
	/* Adds @hop to what the packet has gathered. Only where switches stamp. */
	void (*stamp)(struct sim_thread *th, struct sim_pkt *pkt, const struct sim_hop *hop);
	/* Makes a note of @pkt: body and bytes. Reads it. Only where switches reroute. */
	void (*note)(struct sim_pkt *pkt, const struct sim_note *note);
	struct sim_note (*read_note)(const struct sim_pkt *pkt);
	/* Where these words are, on this machine, the first two of the body under a mask (the first
	 * whole): the mask. 0, 0 otherwise. */
	uint64_t fact_mask[2];
};

#endif
