/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_COPY_H
#define MODELS_COPY_H

/* A copy engine of a GPU: moves bytes of one direction between the GPU and memory of its machine,
 * over the bus; or a CPU that pushes them. It takes whole copies in the order in which they come,
 * and has so many bursts of one under way as hide the latency of the bus. To the GPU it reads, from
 * there it writes. Where the bytes are is its owner's to know. One thread. */
#include "gpu/bus/bus.h"

enum { COPY_BURSTS = 32 };

/* One copy, in its owner's memory until on_done(). */
struct copy_job {
	uint64_t bytes; /* > 0 */
	/* All of it is there. */
	void (*on_done)(struct copy_job *copy, ps_t now);
	/* The engine's own. */
	uint64_t started;
	uint32_t under_way;
	struct copy_job *next;
};

struct copy_engine;
struct copy_burst {
	struct bus_burst burst;
	struct copy_engine *engine;
	struct copy_burst *next; /* among those that are spare */
};

struct copy_engine {
	struct bus *bus;
	uint32_t own, other; /* parts: whose it is, and what that reads or writes */
	bool reads;
	uint32_t burst_most;
	struct copy_job *first, *last;
	struct copy_burst bursts[COPY_BURSTS], *spare;
};

/* Of the part @own of @bus: it reads what it copies from the part @other, or writes it there. */
void copy_engine_init(struct copy_engine *engine, struct bus *bus, uint32_t own, uint32_t other,
		      bool reads);
void copy_engine_take(struct copy_engine *engine, struct copy_job *copy, ps_t now);

#endif
