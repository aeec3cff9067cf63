/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MIGRATE_H
#define GPU_MIGRATE_H

/* Pages of managed memory on their way: what touches have moved in the books takes room on the bus,
 * and as long as it takes there or as the faults take, whichever is longer. Bursts leave evenly, as
 * faults follow each other. GPUs read the host's memory and write to it; between two GPUs the one
 * that gets it reads, or where it may not the other one writes, or the bytes go through the host.
 * Sans I/O, as streams are. */
#include "gpu/device/gpu.h"

struct gpu_leg;
struct gpu_migration {
	/* All of it is there. */
	void (*on_done)(struct gpu_migration *migration, ps_t now);
	struct gpu_leg *legs;
	uint32_t under_way;
};

/* What @touch says, which takes @time at least. False: nothing moves, or there is no memory for it:
 * nothing has begun. */
bool gpu_migrate(struct gpu_migration *migration, const struct gpu_touch *touch, ps_t time,
		 ps_t now);
/* It is over, or the run has ended. Zeroed: allowed. */
void gpu_migration_fini(struct gpu_migration *migration);

#endif
