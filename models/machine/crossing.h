/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_CROSSING_H
#define MODELS_CROSSING_H

/* What one request of an adapter moves over the bus of its machine: one burst, or as many as its
 * lanes have room for at once (bus_burst_most()). It has happened when the last of them has. The
 * memory of the bursts behind the first is that of packets. One thread. */
#include "gpu/bus/bus.h"

struct packet_pools;
struct sim_thread;

struct crossing;
struct crossing_ops {
	/* All of it is at the memory: what is written, or what asks; or back again. */
	void (*arrived)(struct crossing *crossing, ps_t now);
	/* One burst more of what is written has left the adapter, maybe before crossing_write() has
	 * returned. NULL: nobody asks. */
	void (*left)(struct crossing *crossing, ps_t now);
};

struct crossing_piece;
struct crossing {
	const struct crossing_ops *ops;
	struct bus *bus;
	struct bus_burst first;
	struct crossing_piece *more; /* NULL: there is one burst */
	uint32_t under_way;
};

/* Bursts of @bytes, each of at most @most. */
static inline uint32_t crossing_count(uint32_t bytes, uint32_t most)
{
	return bytes <= most ? 1 : (bytes + most - 1) / most;
}

/* @crossing, whose ops and bus are set, has so many bursts of @bytes from now on. False: there is
 * no memory for them. */
bool crossing_init(struct crossing *crossing, struct sim_thread *th, uint32_t bytes, uint32_t most);
/* As bus_write() and bus_read() have it. A read waits at the memory for crossing_answer(). */
void crossing_write(struct crossing *crossing, uint32_t from, uint32_t to, ps_t now);
void crossing_read(struct crossing *crossing, uint32_t from, uint32_t to, ps_t now);
void crossing_answer(struct crossing *crossing, ps_t now);
/* Gives back the memory of its bursts, none of which is under way; or after the run. */
void crossing_fini(struct crossing *crossing, struct sim_thread *th);
void crossing_drain(struct crossing *crossing, struct packet_pools *pools);

#endif
