/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MAPPING_H
#define GPU_MAPPING_H

/* A CPU's mapping of a GPU's memory, through the window that the GPU has among the addresses of the
 * host (BAR1): stores are combined to lines, each of which is posted; loads fetch lines, so many of
 * which are under way at a time, for nothing is prefetched. One access at a time, in their order.
 */
#include "gpu/bus/bus.h"

enum { MAPPING_LINE = 64, MAPPING_LINES = 256 /* under way at most: more than any bus hides */ };

struct mapping_params {
	struct bus *bus;
	struct sim_local *local;
	uint32_t host_part, gpu_part;
	uint32_t loads; /* lines that are fetched at a time: 1 to MAPPING_LINES */
	ps_t load;	/* that the CPU takes with each of them, beside the bus */
	uint64_t key;	/* of its events in @local, and the MAPPING_LINES - 1 next ones */
};

/* In its owner's memory until on_over(). */
struct mapping_access {
	uint8_t *gpu, *host; /* where the emulator reaches the bytes at both ends */
	uint64_t address;    /* of the GPU's: lines begin at multiples of their size */
	uint64_t bytes;	     /* > 0 */
	bool is_store;
	/* All of it has left the CPU, or has come to it. */
	void (*on_over)(struct mapping_access *access, ps_t now);
	/* The mapping's own. */
	uint64_t started, over;
	uint32_t under_way;
	struct mapping_access *next;
};

struct mapping;

/* NULL: no memory. */
struct mapping *mapping_create(const struct mapping_params *params);
/* Nothing is under way, or the run has ended. NULL allowed. */
void mapping_destroy(struct mapping *mapping);
void mapping_take(struct mapping *mapping, struct mapping_access *access, ps_t now);

#endif
