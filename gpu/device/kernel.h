/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_KERNEL_H
#define GPU_KERNEL_H

/* One kernel that a GPU runs: a function of the host that reads and writes through here, in steps.
 * A step sees memory as it is when it begins and what it has written itself. It takes as long as
 * what it moved: within the GPU by the rate that so many threads have, all else by bursts on the
 * bus, beside that. What it has written is in memory when it ends. Managed memory comes before all
 * that, by faults in the order of its reads and writes. Between two steps a kernel polls a word of
 * memory.
 *
 * As measured on an H100 (driver 580.159.04). Sans I/O, as streams are. */
#include "gpu/device/overlay.h"
#include "gpu/device/red.h"
#include "gpu/device/stream.h"

/* Memory, as a kernel finds it. */
struct gpu_reach {
	uint8_t *at;	 /* where the emulator reaches it */
	uint32_t part;	 /* whose it is: the GPU's own, or another one's */
	bool is_managed; /* it is wherever it is, and comes where it may */
	bool is_read_only;
	/* It is memory of a team from @offset on, for gpu/device/multimem.h and nothing else. */
	const struct gpu_team *team;
	uint64_t offset;
};

struct gpu_kernel_ends;
struct gpu_flow; /* what a step moves to or from one other part */

struct gpu_kernel_wait {
	bool is_asked;
	struct gpu_value value;
	uint32_t part;
	uint64_t managed; /* its address; 0: it is not */
	/* When polls reach the memory, as the first one did, and how long each takes. */
	ps_t reached_at, period, back;
	bool sleeps; /* its memory is as it was at the last one */
	ps_t began_at;
};

struct gpu_kernel {
	uint32_t blocks, block_threads; /* > 0; of all dimensions */
	uint32_t width;			/* bytes that a thread moves at a time */
	/* A step. */
	void (*run)(struct gpu_kernel *kernel);
	/* What [@address, @address + @bytes) is; false: not its memory. */
	bool (*find)(struct gpu_kernel *kernel, uint64_t address, uint64_t bytes,
		     struct gpu_reach *ret_reach);
	void (*end)(struct gpu_kernel *kernel); /* gives back what the owner has of it */
	/* The kernel's own. */
	struct gpu_command *command;
	const struct gpu_kernel_ends *ends;
	struct overlay overlay;
	uint64_t read, written;		/* within the GPU, in this step */
	uint64_t bytes;			/* all that it has moved */
	ps_t busy;			/* that this step computes */
	struct gpu_touch touch;		/* of managed memory, in this step, ... */
	struct gpu_migration migration; /* ... and what that moves */
	enum gpu_kernel_end how;	/* it has done so far */
	struct gpu_flow *flows;		/* of this step */
	struct gpu_reds reds;		/* of this step, to memory of teams */
	uint32_t under_way;		/* of them, and its own time */
	struct gpu_kernel_wait wait;	/* behind this step */
	struct bus_burst poll;
};

/* ---- for run() ---- */

/* False: it has strayed, nothing more counts, and what was to be read is 0. */
bool gpu_kernel_read(struct gpu_kernel *kernel, void *to, uint64_t address, uint64_t bytes);
bool gpu_kernel_write(struct gpu_kernel *kernel, uint64_t address, const void *from,
		      uint64_t bytes);
/* Behind this step it polls @address until it has the @value, in the way of @compare, and then
 * begins the next one. */
bool gpu_kernel_wait(struct gpu_kernel *kernel, uint64_t address, uint32_t value,
		     enum gpu_compare compare);

/* ---- for streams ---- */

/* @command, of GPU_KERNEL, begins. It ends with one of @ends: it is over, or it has failed. */
struct gpu_kernel_ends {
	void (*over)(struct gpu_command *command, ps_t now);
	void (*failed)(struct gpu_command *command, enum gpu_kernel_end how, ps_t now);
};
void gpu_kernel_begin(struct gpu_command *command, const struct gpu_kernel_ends *ends, ps_t now);
/* Memory may have changed. */
void gpu_kernel_look(struct gpu_kernel *kernel, ps_t now);
/* Whatever it does. NULL allowed. */
void gpu_kernel_destroy(struct gpu_kernel *kernel);

/* How fast so many threads that move @width bytes at a time read or write the memory of their GPU,
 * in bits a second. */
uint64_t gpu_kernel_rate(const struct gpu_profile *profile, uint64_t threads, uint32_t width,
			 bool writes);

#endif
