/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROGRAM_HEAP_H
#define MODELS_PROGRAM_HEAP_H

/* The heap of a program in virtual time, in a range of addresses of its own: where a block lies is
 * a function of the calls before alone. Blocks are of a size of 16, 32, ... 128 bytes or of four a
 * doubling from there; one that was given back is the next of its size to be given out (the last
 * first). Blocks are never joined or split.
 *
 * One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAP_CLASSES = 160, HEAP_ALIGN = 16 };

struct heap_free;

struct heap {
	uint8_t *base, *top, *mapped, *end; /* blocks are below @top, memory below @mapped */
	struct heap_free *free[HEAP_CLASSES];
};

/* Takes no memory yet. @base: aligned to 64 KiB, as is @bytes; nobody else maps anything there. */
void heap_init(struct heap *heap, void *base, size_t bytes);
/* Gives all memory back to the system. */
void heap_fini(struct heap *heap);

/* @bytes may be 0, @align is a power of two. @zero: all bytes are 0. NULL: no memory, or the range
 * is used up. */
void *heap_alloc(struct heap *heap, size_t bytes, size_t align, bool zero);
/* As many bytes as the block at @ptr has, at least those asked for; 0: there is no block in use. */
size_t heap_size(const struct heap *heap, const void *ptr);
/* False: @ptr is not what heap_alloc() gave, or was given back before; nothing has changed. */
bool heap_free(struct heap *heap, void *ptr);

#endif
