/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_ARENA_H
#define UTIL_ARENA_H

/* Objects of one size out of one reservation of address space: getting and putting never allocate,
 * call the kernel or move anything; pages come into being when they are first touched. One thread
 * at a time an arena. Objects may be put into another arena of the same object size (a packet made
 * by one thread and freed by another); util_arena_balance() evens that out. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct util_arena {
	uint8_t *base;
	size_t object_bytes;
	uint64_t fresh_count, count_max; /* ever taken from the reservation; its size */
	void *free;
	uint64_t free_count;
};

/* -ENOMEM: the address space could not be reserved. */
int util_arena_init(struct util_arena *arena, size_t object_bytes, uint64_t count_max);
void util_arena_fini(struct util_arena *arena);
void *util_arena_fresh(struct util_arena *arena); /* one never taken before; NULL: none is left */

/* The free list runs through the first word of the free objects. */
static inline void util_arena_put(struct util_arena *arena, void *object)
{
	memcpy(object, &arena->free, sizeof(void *));
	arena->free = object;
	arena->free_count++;
}

/* Contents undefined, 64-byte aligned; NULL: count_max objects are in use. */
static inline void *util_arena_get(struct util_arena *arena)
{
	void *object = arena->free;

	if (!object)
		return util_arena_fresh(arena);
	memcpy(&arena->free, object, sizeof(void *));
	arena->free_count--;
	return object;
}

/* Moves free objects from the richer to the poorer, so that neither grows for ever. */
void util_arena_balance(struct util_arena *a, struct util_arena *b);

#endif
