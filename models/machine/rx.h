/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_RX_H
#define MODELS_HOST_RX_H

/* A host that takes what it receives only as fast as it can: frames wait in a buffer of the
 * adapter. Each costs its bytes at a rate (of PCIe or memory), and a look at a cache of
 * translations (MTT) that is missed when a page was not seen for long; or, where the host has a bus
 * of parts, each waits until what is placed of it has left for memory. As the buffer fills,
 * lossless priorities are paused: the slow-receiver symptom of Guo et al., SIGCOMM 2016,
 * section 4.4. Without PFC what does not fit is dropped. */
#include "sim/local.h"
#include "sim/packet.h"

struct host;
struct packet_pools;

struct host_rx_params {
	uint64_t rate_bps;     /* of what it takes; 0: its bus takes it, and ... */
	uint32_t buffer_bytes; /* 0: there is none of this */
	uint32_t xoff_bytes;   /* pauses above; < buffer_bytes */
	uint32_t xon_bytes;    /* and resumes at so many; <= xoff_bytes */
	/* ... of these there is nothing. */
	uint32_t mtt_entries;  /* pages that the cache holds; 0: it never misses */
	uint32_t page_bytes;   /* a power of two */
	uint64_t memory_bytes; /* registered, and used again; 0: what comes is for pages of its
				* own */
	ps_t mtt_miss;	       /* what a miss costs */
};

struct host_rx; /* opaque */
struct host_rx_held;

/* The host is attached to its flow control. -ENOMEM. */
int host_rx_create(struct host *host, const struct host_rx_params *params);
void host_rx_destroy(struct host_rx *rx); /* NULL allowed */
/* A data frame has come in. */
void host_rx_take(struct host *host, const struct sim_pkt *frame);
/* While one is handed over: it keeps its room until @count more calls of host_rx_release(). NULL:
 * none is, or it waits for no bus. */
struct host_rx_held *host_rx_hold(struct host *host, uint32_t count);
void host_rx_release(struct host *host, struct host_rx_held *held);
/* After the run: gives back the payload that waits. */
void host_rx_drain(struct host_rx *rx, struct packet_pools *pools);

struct host_rx_stats {
	uint64_t dropped; /* frames for which there was no room */
	uint64_t mtt_misses;
	uint64_t bytes_max; /* that waited */
};
/* Zero where the host has none. */
struct host_rx_stats host_rx_stats(const struct host *host);

#endif
