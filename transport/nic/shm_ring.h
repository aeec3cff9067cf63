/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef NIC_SHM_RING_H
#define NIC_SHM_RING_H

/* A ring of packets in memory that two processes share, from one that sends to one that takes.
 *
 * A place holds either a packet as headers (transport/wire/bth.h) and payload, without an ICRC, for
 * nothing damages it; or all bytes of a datagram, ICRC included, where something may have. Of a
 * packet that is apart (transport/hca/loan.h) it holds where the payload is. The payload of a run
 * (transport/hca/run.h) may take the room of several places, those behind its own; none of the
 * heads of these counts then.
 *
 * The other end may write anything anywhere at any time. So the one that takes copies a head out
 * before it looks at it and believes no length in it; of the payload, which stays in the ring
 * until nic_ring_release(), the bytes may change while they are read, but not where they are nor
 * how many. The one that sends believes of the other's index only what could be. What could not be
 * makes the ring bad, for good. Nothing here waits, and each end belongs to one thread at a time.
 */
#include "transport/wire/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	NIC_RING_PLACES = 512, /* a power of two */
	NIC_RING_ROOM = 4224,  /* for a payload, or for a whole datagram */
	NIC_RING_RUN_PLACES = 15,
	NIC_RING_RUN = NIC_RING_RUN_PLACES * NIC_RING_ROOM, /* for the payload of a run */
};
_Static_assert((int)NIC_RING_ROOM >= (int)WIRE_UDP_PAYLOAD_MAX, "any datagram fits");

struct nic_ring_shared;

/* One end. */
struct nic_ring {
	struct nic_ring_shared *shared; /* NULL: none */
	uint32_t next;			/* the place that is filled, or emptied, next */
	uint32_t freed;			/* sends: as far as the other end was seen to have come */
	uint32_t at_hand;		/* takes: the places of what nic_ring_get() gave */
	bool is_bad;
};

/* A packet as it lies in the ring. */
struct nic_ring_got {
	uint8_t traffic_class; /* DSCP and ECN, as in IP */
	bool is_whole;	       /* @bytes are a datagram's; else a payload, and there are headers */
	bool is_lent;	       /* the payload is at @address in the sender's memory instead */
	uint32_t length;       /* of @bytes, at most NIC_RING_ROOM or, of a run, NIC_RING_RUN */
	uint8_t *bytes;	       /* in the ring */
	uint32_t header_bytes;
	uint64_t address;
	_Alignas(8) uint8_t headers[WIRE_HEADERS_MAX];
};

size_t nic_ring_bytes(void); /* of the memory, which begins at a page's start and with zeros */
void nic_ring_init(struct nic_ring *ring, void *memory);

/* ---- the end that sends ---- */

/* Where the next packet's payload goes, NIC_RING_ROOM bytes. NULL: full, or bad. */
uint8_t *nic_ring_room(struct nic_ring *ring);
/* After that: how many bytes of a run may go there, at most NIC_RING_RUN. */
uint32_t nic_ring_run(struct nic_ring *ring);
/* After nic_ring_room(), with the payload there or anywhere else. */
void nic_ring_put(struct nic_ring *ring, const struct wire_pkt *pkt, uint8_t traffic_class);
/* What the packet that was put as @number (ring->next before) has lent is not lent any more: who
 * takes it knows after it has read, or does not read it. */
void nic_ring_revoke(struct nic_ring *ring, uint32_t number);
/* After nic_ring_room(): a whole datagram of at most NIC_RING_ROOM bytes. */
void nic_ring_put_whole(struct nic_ring *ring, const uint8_t *bytes, uint32_t length,
			uint8_t traffic_class);
/* After the last of some: whether the other end has said that it sleeps, which it is told once. */
bool nic_ring_wakes(struct nic_ring *ring);

/* ---- the end that takes ---- */

bool nic_ring_has(const struct nic_ring *ring);
/* The first packet. False: there is none, or the ring is bad. */
bool nic_ring_get(struct nic_ring *ring, struct nic_ring_got *ret_got);
/* Of what is in the @place-th place behind the first: whether it is lent, and what. */
struct nic_ring_loan {
	uint64_t address;
	uint32_t length, dest_qpn;
	uint8_t opcode; /* maybe none that there is */
};
bool nic_ring_peek_loan(const struct nic_ring *ring, uint32_t place,
			struct nic_ring_loan *ret_loan);
bool nic_ring_is_revoked(const struct nic_ring *ring); /* of what nic_ring_get() gave */
void nic_ring_release(struct nic_ring *ring);	       /* of what nic_ring_get() gave */
/* It will sleep, or does not any more; look once more before sleeping. */
void nic_ring_sleep(struct nic_ring *ring, bool sleeps);

/* Value of what was got but is not whole: false where it is no packet. ret_pkt->payload is in the
 * ring. */
bool nic_ring_parse(struct nic_ring_got *got, struct wire_pkt *ret_pkt);

#endif
