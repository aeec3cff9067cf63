/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MANAGED_H
#define GPU_MANAGED_H

/* Managed memory of a machine: where each of its pages is, what a touch brings along, and how long
 * that takes. A page of 4 KiB is with the CPU, with a GPU, with several of them (duplicates of what
 * is mostly read), or nowhere as long as nobody has touched it. A fault moves the leaf of 64 KiB
 * around its page, or the largest part of the block of 2 MiB (a power of two) of which more than
 * 51 % is there with it: the rule of the kernel driver's tree. Nothing is mapped or copied here:
 * the owner is told what a CPU may do where, and the bytes stay where they are.
 *
 * Of a GPU's memory a block of 2 MiB takes as much from when the first of its pages comes there
 * until it is given back, or until others need the room: then goes the one that has no page there
 * any more, and else the one that something has not come to for longest, whose pages go to the
 * host. Where there is no room to be had pages stay with the host, and are reached there.
 *
 * Times as measured on an H100 (driver 580.159.04). A touch by the CPU takes no memory and no lock.
 * One caller at a time. */
#include "gpu/device/memory.h"
#include "util/units.h"

enum {
	GPU_MANAGED_PAGE = 4096,
	GPU_MANAGED_PAGES = GPU_MEMORY_BLOCK / GPU_MANAGED_PAGE, /* of a block */
	GPU_MANAGED_LEAF = 16,					 /* pages */
	GPU_MANAGED_PERCENT = 51,
	GPU_CPU = 0,		 /* the processor; a GPU is the one of its place */
	GPU_MANAGED_OWNERS = 64, /* processors */
};

/* What a CPU may do with a page without a fault. */
enum gpu_access { GPU_ACCESS_NONE, GPU_ACCESS_READ, GPU_ACCESS_WRITE };

/* In bits: those of processors. */
struct gpu_managed_page {
	uint64_t resident;	    /* with whom it is */
	uint64_t mapped;	    /* who reaches it where it is */
	uint64_t accessed_by;	    /* advice */
	ps_t moved_at;		    /* the last time, by a fault of this page */
	ps_t pinned_until;	    /* it stays where it is */
	uint8_t preferred;	    /* advice: 1 + the processor; 0: none */
	uint8_t prefetched;	    /* the last prefetch's goal, in the same way */
	uint8_t bounces, throttles; /* moves that came too soon, and those made to wait */
	uint8_t access;		    /* enum gpu_access, as the owner was told */
	bool is_read_mostly;	    /* advice */
};

struct gpu_managed_chunk;
struct gpu_managed_block {
	uint64_t known;			  /* GPUs that have had some of it */
	struct gpu_managed_chunk *chunks; /* of GPUs' memory that it has */
	struct gpu_managed_page pages[GPU_MANAGED_PAGES];
};

/* Chunks of one GPU's memory, the one that something came to last behind all others. */
struct gpu_managed_chunks {
	struct gpu_managed_chunk *first, *last;
};

/* What a processor's touches and prefetches came to. */
struct gpu_managed_counts {
	uint64_t faults;    /* all of them */
	uint64_t moved;	    /* bytes that came here from another processor */
	uint64_t populated; /* bytes that nobody had touched */
	uint64_t copied;    /* of those moved: duplicates */
	uint64_t mapped;    /* pages that are reached where they are, by a fault */
	uint64_t collapsed; /* duplicates ended by a write */
	uint64_t throttled; /* faults that had to wait */
	uint64_t pinned;
	uint64_t prefetched; /* bytes of those moved or populated: by prefetches */
	uint64_t evicted;    /* bytes that went from here to the host, to make room */
	ps_t time;	     /* of all faults */
};

struct gpu;
struct gpu_managed {
	struct gpu_memory memory;	   /* which addresses it gives: in steps of 512 bytes */
	uint8_t *bytes;			   /* where the emulator reaches the byte at memory.base */
	struct gpu_managed_block **blocks; /* NULL: never given out */
	struct gpu_managed_counts counts[GPU_MANAGED_OWNERS];
	struct gpu_managed_chunks used[GPU_MANAGED_OWNERS];   /* that have pages, ... */
	struct gpu_managed_chunks unused[GPU_MANAGED_OWNERS]; /* ... and that have none any more */
	struct gpu *gpus[GPU_MANAGED_OWNERS]; /* by processor; NULL: room without end */
	/* Of the owner. A CPU may do that from now on in whole pages; a fault moved or mapped what
	 * lies there. NULL: nobody cares. */
	void (*protect)(struct gpu_managed *managed, uint64_t address, uint64_t bytes,
			enum gpu_access access);
	/* These pages read as zero from now on. */
	void (*forget)(struct gpu_managed *managed, uint64_t address, uint64_t bytes);
	void (*on_fault)(struct gpu_managed *managed, uint32_t who, uint64_t address,
			 uint64_t bytes, ps_t now);
	void *owner;
};

enum gpu_advice {
	GPU_READ_MOSTLY = 1, /* CUmem_advise */
	GPU_UNSET_READ_MOSTLY,
	GPU_PREFERRED,
	GPU_UNSET_PREFERRED,
	GPU_ACCESSED_BY,
	GPU_UNSET_ACCESSED_BY
};

/* @base, @bytes: multiples of GPU_MEMORY_BLOCK. -ENOMEM. */
int gpu_managed_init(struct gpu_managed *managed, uint64_t base, uint64_t bytes);
/* Zeroed: allowed. */
void gpu_managed_fini(struct gpu_managed *managed);

/* As gpu_memory_take(); nothing is resident. */
int gpu_managed_take(struct gpu_managed *managed, uint64_t bytes, uint64_t *ret_address);
/* Whole pages that nobody has any more are nowhere. -ENOENT: none begins there. */
int gpu_managed_drop(struct gpu_managed *managed, uint64_t address);
/* Whether something that was given out lies in [@address, @address + @bytes). */
bool gpu_managed_is_taken(const struct gpu_managed *managed, uint64_t address, uint64_t bytes);
/* Whether all of it is in one allocation. */
bool gpu_managed_has(const struct gpu_managed *managed, uint64_t address, uint64_t bytes);

/* What touches a page: faults of many threads at once come in batches. */
enum gpu_toucher { GPU_BY_CPU, GPU_BY_ENGINE, GPU_BY_THREAD, GPU_BY_THREADS };

/* Touches of one processor, one behind the other, and what came of them. */
struct gpu_touch {
	uint32_t who;
	enum gpu_toucher by;
	ps_t now;  /* when the first one begins */
	ps_t time; /* of all faults */
	/* Bytes that came from each to the GPU that touches, and from each GPU to the host. */
	uint64_t from[GPU_MANAGED_OWNERS], to_host[GPU_MANAGED_OWNERS];
	uint64_t read_there, written_there; /* that it reaches in the host's memory */
	/* Its own. */
	struct gpu_managed *managed;
	bool is_write;	   /* the last of them */
	uint64_t block;	   /* that the last fault was in */
	uint32_t in_block; /* faults there, one behind the other */
	uint32_t mapped;
};

/* One more of them, of pages that were given out. */
void gpu_managed_touch(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address,
		       uint64_t bytes, bool is_write);
/* What it reaches in the host's memory takes so long at least: as measured over a link of
 * generation 5 x16. */
ps_t gpu_managed_there_time(const struct gpu_touch *touch);
/* Bytes, of whole pages, that @who has not, ... */
uint64_t gpu_managed_missing(const struct gpu_managed *managed, uint32_t who, uint64_t address,
			     uint64_t bytes);
/* ... how long it takes to bring so many of @bytes, and to do so, for touch->who. */
ps_t gpu_managed_prefetch_time(uint32_t who, uint64_t missing, uint64_t bytes);
void gpu_managed_prefetch(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address,
			  uint64_t bytes);
/* Others have taken memory of the GPU touch->who: pages go, until it has as much as it was given
 * out. */
void gpu_managed_make_room(struct gpu_managed *managed, struct gpu_touch *touch);
/* @who: of preferred and accessed by. */
void gpu_managed_advise(struct gpu_managed *managed, uint64_t address, uint64_t bytes,
			enum gpu_advice advice, uint32_t who);
/* Of @bytes, beside waiting. */
ps_t gpu_managed_free_time(uint64_t bytes);

static inline struct gpu_managed_page *gpu_managed_page(const struct gpu_managed *managed,
							uint64_t address)
{
	const uint64_t page = (address - managed->memory.base) / GPU_MANAGED_PAGE;

	return &managed->blocks[page / GPU_MANAGED_PAGES]->pages[page % GPU_MANAGED_PAGES];
}

#endif
