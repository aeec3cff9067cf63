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
	uint16_t number; /* low bits of the packet's number on the link it came by; while it waits
			  * in a switch the switch's own */
	uint8_t priority : 3;	    /* three bits of it: sim_pkt_priority() */
	uint8_t ecn : 2, frame : 1; /* ecn as in RFC 3168 */
	uint8_t tag : 2; /* what one switch tells the next ones in data frames, for hosts 0; with
			  * sixteen priorities the fourth bit of the priority instead, beside
			  * SIM_TAG_FLOODED */
	uint8_t ttl;
	union {
		uint8_t body[SIM_BODY_BYTES];
		uint64_t body_words[SIM_BODY_BYTES / 8];
	};
};
_Static_assert(sizeof(struct sim_pkt) == 64, "one cache line");

/* The frame is one of a flood, with somebody else's MAC: the switch that it comes to, which routes,
 * does not take it. Where switches flood nothing else is told by that bit. */
enum { SIM_TAG_FLOODED = 2 };

/* The priority of a data frame in a fabric that has @priority_count of them, 8 or 16. */
static inline uint8_t sim_pkt_priority(const struct sim_pkt *pkt, uint32_t priority_count)
{
	return (uint8_t)((pkt->priority | pkt->tag << 3) & (priority_count - 1));
}

/* @priority is one of the fabric's; the frame has no tag. */
static inline void sim_pkt_set_priority(struct sim_pkt *pkt, uint8_t priority)
{
	pkt->priority = priority & 7u;
	pkt->tag = priority >> 3 & 3u;
}

/* What a switch tells of itself as a data frame starts: in-band telemetry. */
struct sim_hop {
	uint64_t rate_bps;    /* of the port */
	ps_t at;	      /* the start */
	uint64_t sent_bytes;  /* by the port, before this frame */
	uint32_t queue_bytes; /* behind it, of its class */
};

/* What switches say to each other, in data frames of their own for a switch itself (struct
 * sim_agent): so many words, which mean something to the two of them alone. */
enum { SIM_AGENT_WORDS = 3 };

/* What the maker of bodies does for a fabric that knows no protocol. Every function is filled but
 * stamp() and those of words, which may be NULL. */
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
	/* Makes @pkt, body and bytes, a frame that says @words; its body holds nothing. Only where
	 * switches say something. */
	void (*put_words)(struct sim_pkt *pkt, const uint64_t words[SIM_AGENT_WORDS]);
	/* False: @pkt is another frame and says none. */
	bool (*get_words)(const struct sim_pkt *pkt, uint64_t ret_words[SIM_AGENT_WORDS]);
	/* Where these words are, on this machine, the first two of the body under a mask (the first
	 * whole): the mask. 0, 0 otherwise. */
	uint64_t fact_mask[2];
};

#endif
