/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_POOL_H
#define UTIL_POOL_H

/* Objects of one size. Getting and putting never allocate; the pool grows by a slab only in
 * util_pool_reserve(), which the run loop calls between events. */
#include <stdint.h>

struct util_pool_params {
	uint32_t object_bytes;
	uint32_t slab_count; /* objects a slab */
	uint32_t low_count;  /* what one event may take: free before each */
	uint32_t count_max;  /* the memory limit */
};

struct util_slab;

struct util_pool {
	struct util_pool *next; /* for the owner's list */
	struct util_pool_params params;
	struct util_slab *slabs;
	void *free;
	uint32_t used_count, total_count;
};

void util_pool_init(struct util_pool *pool, struct util_pool_params params);
void util_pool_fini(struct util_pool *pool);   /* CHECKs that every object came home */
int util_pool_reserve(struct util_pool *pool); /* 0, or -ENOMEM at the limit */
void *util_pool_get(struct util_pool *pool);   /* contents undefined; CHECKs the reserve was made */
void util_pool_put(struct util_pool *pool, void *object);

#endif
