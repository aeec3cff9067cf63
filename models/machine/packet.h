/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PACKET_H
#define MODELS_PACKET_H

/* Joins the fabric's packet and the adapter's: the body of a struct sim_pkt is the hot part of a
 * struct wire_pkt. Payload bytes and rare fields ride in a slab that the packet owns. */
#include "sim/packet.h"
#include "transport/hca/device.h"
#include "transport/wire/pkt.h"
#include "util/arena.h"
#include "util/check.h"

#include <string.h>

_Static_assert((int)WIRE_HOT_BYTES == (int)SIM_BODY_BYTES, "the body is the hot part");

struct packet_sender { /* what a receiver has to know of the path */
	uint32_t host; /* position in the table */
	uint32_t flow_label;
	uint16_t udp_sport;
	uint8_t dscp, priority; /* as it was sent: a switch may rewrite them */
	uint8_t group_ip[16];	/* of multicast: its destination */
};

struct packet_slab {
	struct wire_rare rare;
	uint64_t pattern; /* synthetic, whose place in the body the pointer to the slab takes */
	struct packet_sender from;    /* of a datagram */
	_Alignas(64) uint8_t bytes[]; /* of the hosts' largest MTU */
};

/* Whoever keeps something else in the bytes of a slab has so many at least. */
enum { PACKET_SLAB_LEAST = 320 };

/* What a slab takes of the memory. */
static inline uint64_t packet_slab_bytes(uint32_t mtu)
{
	const uint32_t bytes = mtu > PACKET_SLAB_LEAST ? mtu : (uint32_t)PACKET_SLAB_LEAST;

	return (offsetof(struct packet_slab, bytes) + bytes + 63) / 64 * 64;
}

/* The memory for packets under way: one arena of slabs a thread, and what adapters know of those
 * that may be lost. Between windows the two together are within the limit, and each always is. The
 * owner of the simulation. */
struct packet_pools {
	uint32_t thread_count;
	struct util_arena *slabs;
	struct hca_room room; /* of all adapters; any thread */
	uint64_t room_bytes;  /* that are taken of it */
	uint64_t bytes_max;
	bool exhausted; /* the memory limit was met: the run is void */
};

/* @mtu: bytes of the longest payload; @bytes_max: of everything together. -ENOMEM. @pools stays
 * where it is. */
int packet_pools_init(struct packet_pools *pools, uint32_t thread_count, uint32_t mtu,
		      uint64_t bytes_max);
void packet_pools_fini(struct packet_pools *pools);
/* Slabs that somebody holds. */
uint64_t packet_pools_used(const struct packet_pools *pools);
/* For the simulation's between(): evens the threads' arenas out, and looks at the limit. */
void packet_pools_balance(struct packet_pools *pools);

/* The memory of the simulation's packets; sim_owner() begins with it. */
struct packet_pools *packet_pools_of(const struct sim_thread *th);

/* There is no memory: the run is void. */
static inline void packet_pools_exhaust(struct packet_pools *pools)
{
	__atomic_store_n(&pools->exhausted, true, __ATOMIC_RELAXED);
}
/* NULL: the simulation's memory limit. */
struct packet_slab *packet_slab_get(struct sim_thread *th);
void packet_slab_put(struct sim_thread *th, struct packet_slab *slab);
/* After the run, when there is no thread any more. */
void packet_slab_return(struct packet_pools *pools, struct packet_slab *slab);

extern const struct sim_body_ops packet_body_ops;

static inline bool packet_uses_slab(const struct wire_pkt *pkt)
{
	return pkt->has_rare || (pkt->length > 0 && !pkt->synthetic);
}

/* Moves @pkt into the body of @ret_frame. Where the packet has payload bytes or rare fields they
 * must lie in @slab, whose ownership passes along: packet_uses_slab() tells. */
void packet_pack_slab(const struct wire_pkt *pkt, struct packet_slab *slab,
		      struct sim_pkt *ret_frame);
static inline void packet_pack(const struct wire_pkt *pkt, struct packet_slab *slab,
			       struct sim_pkt *ret_frame)
{
	memcpy(ret_frame->body, pkt, WIRE_HOT_BYTES);
	if (packet_uses_slab(pkt))
		packet_pack_slab(pkt, slab, ret_frame);
}

/* The packet as the adapter reads it; @ret_pkt->payload points into the slab, which stays with the
 * frame. */
static inline void packet_unpack(const struct sim_pkt *frame, struct wire_pkt *ret_pkt)
{
	memcpy(ret_pkt, frame->body, WIRE_HOT_BYTES);
	if (ret_pkt->has_rare) {
		const struct packet_slab *slab =
			container_of(ret_pkt->payload, struct packet_slab, bytes[0]);

		ret_pkt->rare = slab->rare;
		if (ret_pkt->synthetic)
			ret_pkt->pattern = slab->pattern;
	}
}

/* The slab of a frame, NULL: it uses none. */
static inline struct packet_slab *packet_slab_of(const struct sim_pkt *frame)
{
	struct wire_pkt pkt;

	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	return packet_uses_slab(&pkt) ? container_of(pkt.payload, struct packet_slab, bytes[0])
				      : NULL;
}

#endif
