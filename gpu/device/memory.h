/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MEMORY_H
#define GPU_MEMORY_H

/* The books of a GPU's memory: which addresses cuMemAlloc() gives, and what an address belongs to.
 * It keeps books only: nothing is mapped, read or written here, and an address is a number.
 *
 * As measured on an H100 (driver 580.159): sizes are rounded up to 512 bytes; up to 1 MiB goes,
 * first fit from the bottom, into blocks of 2 MiB with others of its kind; more takes whole blocks.
 * An address belongs to an allocation within the size that was asked for. One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	GPU_MEMORY_GRAIN = 512,
	GPU_MEMORY_BLOCK = 2 << 20,
	GPU_MEMORY_SMALL = 1 << 20, /* what is not larger shares blocks */
};

struct gpu_allocation {
	uint64_t address, bytes; /* as asked for */
	uint64_t number;	 /* n-th of the GPU, from 1: an identity */
	void *owner;		 /* whose it is: of the driver */
	bool is_sync;		 /* synchronous calls that concern it wait: SYNC_MEMOPS */
	bool is_gone;		 /* given back, and somebody holds some of it still */
	bool is_hidden;		 /* no address of it is known: only views show it */
	bool is_shared;		 /* a handle of it was given to other programs */
};

/* Who holds memory, such as the descriptor of a dma-buf: it stays taken when it is given back. */
struct gpu_hold {
	uint64_t address, bytes;
};

struct gpu_memory {
	uint64_t base, bytes;		    /* multiples of GPU_MEMORY_BLOCK */
	uint64_t reach;			    /* so much of it is given out: at first all */
	struct gpu_allocation *allocations; /* in order of their addresses */
	size_t count, room;
	uint64_t made; /* so far */
	uint64_t lent; /* bytes of it, in blocks, that pages of managed memory have */
	struct gpu_hold *holds;
	size_t hold_count, hold_room;
};

/* @base, @bytes: multiples of GPU_MEMORY_BLOCK. */
void gpu_memory_init(struct gpu_memory *memory, uint64_t base, uint64_t bytes);
void gpu_memory_fini(struct gpu_memory *memory);

/* -EINVAL: no @bytes; -ENOSPC: nowhere is so much free; -ENOMEM: no memory for the books. */
int gpu_memory_take(struct gpu_memory *memory, uint64_t bytes, void *owner, uint64_t *ret_address);
/* The same, in whole blocks and hidden. */
int gpu_memory_hide(struct gpu_memory *memory, uint64_t bytes, uint64_t *ret_address);
/* 0; 1: somebody holds some of it, which stays taken; -ENOENT: no allocation begins there. */
int gpu_memory_drop(struct gpu_memory *memory, uint64_t address);
/* What @address lies in; NULL: in nothing. Good until the next call of one of the two above. */
struct gpu_allocation *gpu_memory_find(const struct gpu_memory *memory, uint64_t address);
/* What lies lowest of @owner's; NULL: nothing. */
const struct gpu_allocation *gpu_memory_of(const struct gpu_memory *memory, const void *owner);
/* Of blocks that nothing lies in, be they lent or not. */
uint64_t gpu_memory_free_bytes(const struct gpu_memory *memory);

/* Whether each block that [@address, @address + @bytes) touches has an allocation in it. */
bool gpu_memory_is_mapped(const struct gpu_memory *memory, uint64_t address, uint64_t bytes);
/* Holds that range, once more where it is held. -ENOMEM. */
int gpu_memory_hold(struct gpu_memory *memory, uint64_t address, uint64_t bytes);
/* One hold of it less; what was given back meanwhile is free with the last. */
void gpu_memory_let_go(struct gpu_memory *memory, uint64_t address, uint64_t bytes);

static inline int gpu_memory_has(const struct gpu_memory *memory, uint64_t address)
{
	return address - memory->base < memory->reach;
}

#endif
