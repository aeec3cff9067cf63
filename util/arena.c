/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/arena.h"

#include "util/check.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

int util_arena_init(struct util_arena *arena, size_t object_bytes, uint64_t count_max)
{
	void *base;

	object_bytes = (object_bytes + 63) / 64 * 64;
	base = mmap(NULL, object_bytes * (size_t)count_max, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (base == MAP_FAILED)
		return -ENOMEM;
	*arena = (struct util_arena){
		.base = base, .object_bytes = object_bytes, .count_max = count_max};
	return 0;
}

void util_arena_fini(struct util_arena *arena)
{
	if (arena->base)
		munmap(arena->base, (size_t)arena->object_bytes * arena->count_max);
	*arena = (struct util_arena){0};
}

void *util_arena_fresh(struct util_arena *arena)
{
	if (arena->fresh_count == arena->count_max)
		return NULL;
	return arena->base + arena->object_bytes * arena->fresh_count++;
}

void util_arena_balance(struct util_arena *a, struct util_arena *b)
{
	enum { SLACK = 64 };

	if (a->free_count < b->free_count) {
		struct util_arena *swap = a;

		a = b;
		b = swap;
	}
	while (a->free_count > b->free_count + SLACK)
		util_arena_put(b, util_arena_get(a));
}
