/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TX_BUFFER_H
#define MODELS_TX_BUFFER_H

/* The transmit buffer of a host whose adapter reaches memory over a bus: packets that are decided,
 * until they have their bytes and the port is theirs. It has a share for each priority: packets are
 * decided as long as those of their priority that wait take less than it, so that one that is
 * paused does not stop the others. Within a priority packets leave in the order in which they were
 * decided. Nothing is copied or searched: a packet stays where it was decided. One thread. */
#include "sim/packet.h"
#include "transport/hca/dma.h"
#include "transport/wire/path.h"

struct tx_packet {
	struct tx_packet *next; /* in its lane, or among those that are spare */
	ps_t ready_at;		/* its bytes are here; PS_NEVER: it is not known when */
	uint32_t fetches;	/* that tell it when they come */
	uint8_t priority;
	struct sim_pkt frame;
	struct hca_dma_ticket ticket;
	struct wire_path path; /* where somebody looks at what is sent */
};

struct tx_lane {
	struct tx_packet *first, *last; /* NULL: empty */
	uint64_t bytes;			/* on the wire */
};

struct tx_chunk;
struct tx_buffer {
	uint64_t share; /* bytes of a priority */
	uint32_t open,
		waiting; /* bit masks of priorities: with room for another packet; with one */
	ps_t ready_at;	 /* of the first packets of all, the earliest; PS_NEVER: none is known */
	struct tx_packet *spare;
	struct tx_lane lanes[SIM_PRIORITIES_MAX];
	struct tx_chunk *chunks;
};

/* @share > 0. */
void tx_buffer_init(struct tx_buffer *tx, uint64_t share);
void tx_buffer_fini(struct tx_buffer *tx);

/* The packet that is decided next: the same one until tx_buffer_keep(). NULL: no memory. */
struct tx_packet *tx_buffer_next(struct tx_buffer *tx);
/* That one, all of which is filled, waits in its lane. */
void tx_buffer_keep(struct tx_buffer *tx);
/* A fetch of @packet has come. */
void tx_buffer_fetched(struct tx_buffer *tx, struct tx_packet *packet, ps_t now);

/* When the first packet of any of @priorities has its bytes; PS_NEVER: none, or it is not known. */
ps_t tx_buffer_earliest(const struct tx_buffer *tx, uint32_t priorities);
static inline ps_t tx_buffer_ready_at(const struct tx_buffer *tx, uint32_t priorities)
{
	if (__builtin_expect(tx->waiting & ~priorities, 0))
		return tx_buffer_earliest(tx, priorities);
	return tx->ready_at;
}

/* The first packet of the highest of @priorities that may start at @now, one of which has one;
 * it leaves the buffer, and is spare from then on: good until the next is decided. */
struct tx_packet *tx_buffer_take(struct tx_buffer *tx, uint32_t priorities, ps_t now);

#endif
