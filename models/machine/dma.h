/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_DMA_H
#define MODELS_HOST_DMA_H

/* The memory side of a host whose adapter reaches memory over a bus: keeps what is under way
 * between the two, in the order that transport/hca/dma.h promises. Packets wait for their bytes in
 * the transmit buffer (models/machine/tx_buffer.h). How long anything takes is the bus's to say. A
 * host without a bus has none of this.
 *
 * Memory without bytes (synthetic) is never read or written: all that can be seen of it is when
 * something has happened. Where every way takes the same time that is known in advance, and costs
 * no event: a fetch by reference is a time in its packet, a placement is told when its time has
 * come. Everything else takes a slab of the packets' memory while it is under way, and its bytes
 * another one. */
#include "models/machine/crossing.h"
#include "models/machine/tx_buffer.h"
#include "sim/local.h"
#include "transport/hca/dma.h"

struct hca_mr;
struct host;
struct packet_pools;

/* Ways between adapter and memory. A fetch goes there and back, a placement and a completion only
 * there; an atomic there, back with the word, and there again. */
enum host_bus_leg { HOST_BUS_THERE, HOST_BUS_BACK, HOST_BUS_AGAIN };

struct host_bus;
struct host_bus_ops {
	const char *name;
	/* Of @dma, which @host hands over now, on that way. A function of its arguments and of
	 * model facts; from the thread that runs the host. Asked once for each way, of the later
	 * ones at any time before. */
	ps_t (*delay)(const struct host_bus *bus, const struct host *host,
		      const struct hca_dma *dma, enum host_bus_leg leg);
};

/* What lies between adapters and memory, part by part. */
struct host_parts {
	const struct bus_part_params *parts;
	const struct bus_lane_params *lanes;
	const struct bus_fault *faults; /* bus_set_faults() */
	uint32_t part_count, lane_count, fault_count;
};

/* Several hosts may share one; it lives as long as they do. */
struct host_bus {
	const struct host_bus_ops *ops; /* NULL: it has parts; or it is even, and ... */
	ps_t way;			/* ... everything takes this on each of its ways */
	/* What parts it has; each host such ones of its own, unless they are those of its machine,
	 * of which machine_join() makes one bus. */
	const struct host_parts *parts;
	bool is_of_machine;
	uint32_t nic, memory; /* numbers of parts: the adapter, and where its host's memory is */
	/* Other memories of the machine: where a region's place is n, the n-th from 1. */
	const uint16_t *places;
	uint32_t place_count;
	uint16_t flow_place; /* of the memory that flows use; 0: that of the host */
	/* A request of at most so many bytes goes to the adapter with its doorbell; others are read
	 * from memory. */
	uint32_t blueflame;
	uint32_t tx_bytes; /* share of each priority in the transmit buffer, on the wire; > 0 */
};

/* A placement into memory without bytes, on its way over an even bus. */
struct host_dma_known {
	ps_t at;
	uint64_t stream, offset;
	uint32_t length, region;
};

struct host_dma_request;
struct host_dma {
	struct tx_buffer tx;
	struct host_dma_request *oldest, *newest; /* under way */
	uint32_t overtaken;			  /* of these: by the completion behind them */
	bool touched; /* host_touch(), since the host, which is alone, last looked at it */
	/* A ring, in the order of hand-over and of time; counters that wrap. */
	struct host_dma_known *known;
	uint32_t known_first, known_end, known_mask;
	ps_t known_at;	 /* the first one happens then; PS_NEVER: there is none */
	ps_t way;	 /* of an even bus; else 0 */
	struct bus *bus; /* NULL: it has no parts, or those of its machine are not made yet */
	uint32_t burst_most;
};

/* The memory side of hosts with that bus; world: the host. */
const struct hca_dma_ops *host_dma_ops(const struct host_bus *bus);

/* The host has a bus. -ENOMEM; -EINVAL: its parts are no bus. */
int host_dma_create(struct host *host);
/* And this is it: that of its machine, which lives as long. */
void host_dma_set_bus(struct host *host, struct bus *bus);
void host_dma_destroy(struct host *host);
/* After the run: gives back what is under way and what waits. NULL allowed. */
void host_dma_drain(struct host_dma *dma, struct packet_pools *pools);

/* The adapter places into memory without bytes, over an even bus: on_place() of its observer. */
void host_dma_on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		       bool is_word, ps_t now);
/* Whether something is on its way to these bytes, for whoever has seen its completion. */
bool host_dma_is_overtaken(const struct host_dma *dma, uint64_t address, uint64_t bytes);
/* What happens on its bus before @before, as long as that changes nothing else of the host, which
 * is alone in its machine. */
void host_dma_play(struct host *host, ps_t before);
/* What is known to happen until @until has happened. True: somebody who waits for memory to change
 * has heard of it, and there may be something to do before @until. */
bool host_dma_tell(struct host *host, ps_t until);

#endif
