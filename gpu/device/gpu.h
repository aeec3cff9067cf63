/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

/* A GPU of a machine: what it is, its memory and copy engines, and what calls that concern it cost.
 */
#include "gpu/device/copy.h"
#include "gpu/device/managed.h"
#include "gpu/device/mapping.h"
#include "gpu/device/memory.h"
#include "gpu/device/view.h"

#include <stdbool.h>

/* What a stream may have to do. */
enum gpu_work {
	GPU_PUSHED,	   /* by the CPU through the command stream, to the GPU, of pinned memory */
	GPU_PUSHED_COPY,   /* the same, of memory that is not: of a copy of it */
	GPU_TO_DEVICE,	   /* by a copy engine */
	GPU_STAGED,	   /* the same, of a copy of a piece of what is not pinned */
	GPU_FROM_DEVICE,   /* by a copy engine */
	GPU_TO_PEER,	   /* by a copy engine, to another GPU or from it */
	GPU_WITHIN,	   /* one memory */
	GPU_SET_FEW,	   /* bytes of it, up to set_few_bytes */
	GPU_SET,	   /* more */
	GPU_MARK,	   /* an event's record */
	GPU_WAIT,	   /* for one */
	GPU_WRITE_VALUE,   /* of 4 or 8 bytes */
	GPU_WAIT_VALUE,	   /* until memory has one */
	GPU_HOST_FUNCTION, /* of the program, on a CPU */
	GPU_KERNEL,
	GPU_PREFETCH, /* managed memory comes, to the GPU or to the CPU */
	GPU_WORKS
};

/* What one thing to do takes. Bytes that cross the bus take their time there, beside all this. */
struct gpu_cost {
	ps_t call, after;  /* of the CPU, before the GPU hears of it and behind that */
	uint64_t call_bps; /* and before it for each byte; 0: nothing */
	ps_t start, least; /* of the GPU: beside its bytes, and all in all at least */
	uint64_t rate_bps; /* of its bytes in the GPU; 0: they take nothing there */
	ps_t notice;	   /* until a CPU that waits knows that it is over */
};

/* How fast kernels of so many blocks (of 1024 threads, each with 16 bytes at a time) read and write
 * the memory of their GPU. */
enum { GPU_KERNEL_RATES = 8 };
struct gpu_kernel_rate {
	uint32_t blocks;		/* 0: there are no more */
	uint32_t read_mbps, write_mbps; /* millions of bytes a second */
};

/* What one kind of GPU is. Times are those of calls of the driver API on the CPU that makes them,
 * beside what moves over the bus. */
struct gpu_profile {
	const char *name;
	uint32_t compute_major, compute_minor, multiprocessors, copy_engines;
	uint32_t flush_options;		      /* CUflushGPUDirectRDMAWritesOptions */
	uint32_t driver_version;	      /* 1000 * major + 10 * minor */
	ps_t init, retain;		      /* of a process */
	ps_t context_create, context_destroy; /* of more than the primary one */
	ps_t query;			      /* what asks nobody but the driver */
	ps_t alloc, alloc_blocks;	      /* up to GPU_MEMORY_SMALL, and more */
	ps_t free, free_blocks;
	ps_t alloc_managed, alloc_managed_more; /* up to GPU_PAGE, and more */
	ps_t pin, pin_mib, unpin, unpin_mib;	/* host memory: one call, and each MiB */
	ps_t take_pinned, take_pinned_mib, free_pinned, free_pinned_mib;
	ps_t stream_create, stream_destroy, event_create;
	ps_t submit;	 /* until a GPU takes up what it was told, beside the bus */
	ps_t after_push; /* that a mark takes longer behind what was pushed */
	ps_t registered; /* that a copy's call takes longer where host memory was registered */
	ps_t export, flush_own;
	ps_t ipc_get, ipc_open_first, ipc_open, ipc_open_mib, ipc_close, ipc_close_mib;
	/* Stream-ordered memory: where the pool has it, small or larger, and where it takes more.
	 */
	ps_t pool_alloc, pool_alloc_large, pool_grow, pool_grow_mib, pool_free;
	ps_t pool_create, pool_destroy, pool_shrink; /* by one chunk */
	/* Of one block, and of more: one call, and each MiB. */
	ps_t vmm_reserve, vmm_create, vmm_map, vmm_access, vmm_access_more, vmm_access_mib;
	ps_t vmm_unmap, vmm_unmap_more, vmm_unmap_mib, vmm_release, vmm_release_mib;
	ps_t vmm_nothing;		   /* where an access is as it was, or nobody had any */
	ps_t vmm_export_first, vmm_import; /* of a descriptor: the first of a process; each */
	/* From where a host function's turn comes until it runs: by a thread that sleeps, and by
	 * one that has just run another. */
	ps_t host_call, host_call_next;
	uint32_t push_bytes;	  /* pinned memory up to here is pushed */
	uint32_t push_copy_bytes; /* and other memory up to here */
	uint32_t stage_piece;	  /* what is more is copied piece by piece into ... */
	uint32_t stage_bytes;	  /* ... so much pinned memory of the driver's */
	/* A CPU's rate of copying: where all of it is at most cached_bytes, and else. */
	uint64_t cached_bytes, cached_bps, uncached_bps;
	uint32_t set_few_bytes;
	uint32_t queue; /* commands that a stream holds */
	struct gpu_cost costs[GPU_WORKS];
	/* Of kernels. */
	ps_t module_load, module_unload;
	uint32_t resident_threads; /* of a multiprocessor */
	struct gpu_kernel_rate kernel_rates[GPU_KERNEL_RATES];
	ps_t load;	 /* of a word within the GPU */
	ps_t load_far;	 /* the same elsewhere, beside the bus; ... */
	ps_t stream_far; /* ... and where a thread does one after the other */
	uint64_t warp_write_bps, block_write_bps; /* to elsewhere */
	ps_t fault;				  /* until the driver knows of one */
	/* A CPU that maps its memory: calls of GDRCopy, and a copy beside what moves. */
	ps_t gdr_pin, gdr_unpin, gdr_map, gdr_unmap, gdr_info, gdr_copy;
	uint32_t mapping_loads; /* struct mapping_params */
	ps_t mapping_load;
};

/* An H100 80GB HBM3, driver 580.159.04, as measured; the medians of small sizes. */
extern const struct gpu_profile gpu_h100;

/* What a GPU was given to do, of each kind: what is over, and how long each took from when its turn
 * came; and what programs had to do with it. */
struct gpu_work_counts {
	uint64_t count, bytes;
	ps_t time;
};
struct gpu_counts {
	struct gpu_work_counts works[GPU_WORKS];
	/* Registrations that its window had no room for, and the largest of them; and the most that
	 * was taken of it. */
	uint64_t refused, refused_bytes, windowed_max;
	/* Of its memory that was read while what an adapter has written there was still on its way,
	 * though the completion was there. */
	uint64_t stale_reads, stale_bytes;
	uint64_t flushes, pins; /* pins: of host memory, and their ends */
	ps_t flush_time, pin_time;
	uint64_t staged_bytes; /* from it to memory that is not pinned */
	ps_t staged_time;      /* in which CPUs have copied such memory for it, both ways */
};

/* Moves of pages in one direction, several of which may be under way at once. */
struct gpu_moves {
	struct copy_stats stats; /* of those that are over; up to ... */
	ps_t busy_from;		 /* ... then, where any is under way */
	uint32_t under_way;
};

struct gpu_command;

struct gpu {
	const struct gpu_profile *profile;
	struct gpu_memory memory;
	struct gpu_views *views; /* of the machine; NULL: there are none */
	uint8_t *bytes; /* where the emulator reaches the byte at memory.base; not at its address */
	uint16_t place; /* which of the machine's, from 1 */
	uint32_t part;	/* of the bus */
	uint32_t pci_bus, pci_device, pci_domain;
	uint32_t writes_ordering;  /* CUGPUDirectRDMAWritesOrdering */
	uint64_t window, windowed; /* bytes of its BAR1, and how many of them are taken */
	/* Of somebody who follows what streams do, and each step of kernels; NULL: nobody does. */
	void (*on_done)(struct gpu *gpu, const struct gpu_command *command, ps_t now);
	/* Whether what lies there, as the emulator reaches it, is older than a completion that was
	 * seen. NULL: nobody knows. */
	bool (*is_overtaken)(const struct gpu *gpu, const uint8_t *at, uint64_t bytes);
	void *owner;
	struct gpu_counts counts;
	struct gpu_managed *managed; /* of its machine; NULL: there is none */
	uint32_t values_awaited;     /* commands that wait for a value in memory */
	uint32_t marks_awaited;	     /* and that wait for marks */
	/* Once gpu_join() was called, and the engines with gpu_start(). */
	struct bus *bus;
	struct sim_local *local;
	uint32_t host_part; /* where the programs' memory is */
	uint64_t next_key;  /* of its commands' events */
	bool is_started;
	struct copy_engine to, from, peer, pull, pushed;
	struct gpu_moves moves[2]; /* of managed memory: that come, that go */
	struct mapping *mapping;   /* NULL: no CPU has used one */
};

enum { GPU_PAGE = 64 << 10, GPU_ORDERED_FOR_OWNER = 100 };

/* An adapter reaches @bytes at @address through its window from now on; not any more. One that is
 * as large as the memory shows all of it at any time. -ENOSPC. */
int gpu_window_take(struct gpu *gpu, uint64_t address, uint64_t bytes);
void gpu_window_give_back(struct gpu *gpu, uint64_t address, uint64_t bytes);

/* It is on @bus, whose events are in @local, from now on; @host_part: where the memory of
 * the programs is. */
void gpu_join(struct gpu *gpu, struct bus *bus, struct sim_local *local, uint32_t host_part);
/* Its engines are there from now on, if they were not. -ENOMEM. */
int gpu_start(struct gpu *gpu);
/* A CPU uses its mapping of the memory of this GPU, which was joined. False: no memory. */
bool gpu_access(struct gpu *gpu, struct mapping_access *access, ps_t now);
/* Gives back its engines and the books of its memory; not its bytes. */
void gpu_fini(struct gpu *gpu);

/* What tells one event of this GPU in its local events apart: none that the bus has. */
static inline uint64_t gpu_key(struct gpu *gpu)
{
	return (uint64_t)(0x8000u + gpu->place) << 48 | gpu->next_key++;
}

/* It reads @bytes of its memory now, as the emulator reaches them. */
void gpu_note_read(struct gpu *gpu, const void *at, uint64_t bytes);

/* Its engines, as people call them. */
enum gpu_engine {
	GPU_ENGINE_TO,	   /* copies from host memory */
	GPU_ENGINE_FROM,   /* to host memory */
	GPU_ENGINE_PEER,   /* to other GPUs */
	GPU_ENGINE_PULL,   /* from other GPUs, whose memory it reads */
	GPU_ENGINE_PUSHED, /* a CPU that pushes small copies through the command stream */
	GPU_ENGINE_IN,	   /* pages of managed memory that come, or are read where they are */
	GPU_ENGINE_OUT,	   /* such that go, or are written where they are */
	GPU_ENGINES
};
extern const char *const gpu_engine_names[GPU_ENGINES];
/* As copy_engine_stats(). */
struct copy_stats gpu_engine_stats(const struct gpu *gpu, enum gpu_engine engine, ps_t at);

/* Where the emulator reaches @address, which is in its memory. */
static inline uint8_t *gpu_at(const struct gpu *gpu, uint64_t address)
{
	return gpu->bytes + (address - gpu->memory.base);
}

#endif
