/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROGRAM_MAPS_H
#define MODELS_PROGRAM_MAPS_H

/* Which parts of a range of addresses a program in virtual time has mapped, so that the next
 * mapping lies where it lies in every run: at the lowest place that has room. Keeps books; maps
 * nothing. One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Mappings begin at multiples of it, on machines with pages of any size. */
enum { MAPS_GRAIN = 1 << 16 };

struct maps_range {
	uintptr_t start, end;
};

struct maps {
	struct maps_range all;
	struct maps_range *taken; /* in order, apart from each other or adjacent */
	size_t count, room;
};

/* @base: a multiple of MAPS_GRAIN. */
void maps_init(struct maps *maps, uintptr_t base, size_t bytes);
void maps_fini(struct maps *maps);
/* The lowest free place of so many bytes that is a multiple of @align, a power of two (less than
 * MAPS_GRAIN counts as that), and takes it. 0: no room, or no memory for the books. */
uintptr_t maps_take(struct maps *maps, size_t bytes, size_t align);
/* Whatever of it was taken is free again. False: no memory for the books, and it stays taken. */
bool maps_drop(struct maps *maps, uintptr_t start, size_t bytes);

static inline bool maps_have(const struct maps *maps, uintptr_t place)
{
	return place >= maps->all.start && place < maps->all.end;
}

#endif
