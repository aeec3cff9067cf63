/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_DMA_H
#define MODELS_HOST_DMA_H

/* The memory side of a host whose adapter reaches memory over a bus: keeps what is under way
 * between the two, in the order that transport/hca/dma.h promises, and the packets that wait for
 * their bytes and for the port. How long anything takes is the bus's to say. A host without a bus
 * has none of this.
 *
 * The transmit buffer has a share for each priority: packets are decided as long as those of their
 * priority that wait take less than it, so that one that is paused does not stop the others. Within
 * a priority packets leave in the order in which they were decided.
 *
 * Everything that is under way takes a slab of the packets' memory, and its bytes another one. */
#include "sim/local.h"
#include "sim/packet.h"
#include "transport/hca/dma.h"
#include "transport/wire/path.h"

struct host;
struct host_dma; /* opaque */
struct packet_pools;

/* Ways between adapter and memory. A fetch goes there and back, a placement and a completion only
 * there; an atomic there, back with the word, and there again. */
enum host_bus_leg { HOST_BUS_THERE, HOST_BUS_BACK, HOST_BUS_AGAIN };

struct host_bus;
struct host_bus_ops {
	const char *name;
	/* Of @dma, which @host hands over now, on that way. A function of its arguments and of
	 * model facts; from the thread that runs the host. */
	ps_t (*delay)(const struct host_bus *bus, const struct host *host,
		      const struct hca_dma *dma, enum host_bus_leg leg);
};

/* Several hosts may share one; it lives as long as they do. */
struct host_bus {
	const struct host_bus_ops *ops;
	uint32_t tx_bytes; /* share of each priority in the transmit buffer, on the wire; > 0 */
};

extern const struct hca_dma_ops host_dma_ops; /* world: the host */

/* The host has a bus. -ENOMEM. */
int host_dma_create(struct host *host);
void host_dma_destroy(struct host_dma *dma); /* NULL allowed */
/* After the run: gives back what is under way. NULL allowed. */
void host_dma_drain(struct host_dma *dma, struct packet_pools *pools);

/* Priorities in which packets may be decided, and those whose first packet may start, as bit
 * masks. */
uint32_t host_dma_open(const struct host *host);
uint32_t host_dma_ready(const struct host *host);

/* @frame was decided just now: it waits for the bytes that were fetched meanwhile. Its slab passes
 * along. */
void host_dma_keep(struct host *host, const struct sim_pkt *frame, const struct wire_path *path,
		   const struct hca_dma_ticket *ticket);
/* The first packet of the highest of @priorities, which have one that is ready: whether it may
 * start. Its slab is the caller's either way. */
bool host_dma_take(struct host *host, uint32_t priorities, struct sim_pkt *ret_frame,
		   struct wire_path *ret_path);

#endif
