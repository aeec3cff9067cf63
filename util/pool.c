/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/pool.h"

#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct util_slab {
	struct util_slab *next;
	_Alignas(16) uint8_t objects[];
};

void util_pool_init(struct util_pool *pool, struct util_pool_params params)
{
	CHECK(params.object_bytes >= sizeof(void *));
	CHECK(params.low_count <= params.slab_count);
	params.object_bytes = (params.object_bytes + 15) / 16 * 16;
	*pool = (struct util_pool){.params = params};
}

void util_pool_fini(struct util_pool *pool)
{
	CHECK(pool->used_count == 0);
	while (pool->slabs) {
		struct util_slab *slab = pool->slabs;

		pool->slabs = slab->next;
		free(slab);
	}
}

/* The free list runs through the first word of the free objects. */
static void push_free(struct util_pool *pool, void *object)
{
	memcpy(object, &pool->free, sizeof(void *));
	pool->free = object;
}

int util_pool_reserve(struct util_pool *pool)
{
	const struct util_pool_params *p = &pool->params;
	struct util_slab *slab;

	if (pool->total_count - pool->used_count >= p->low_count)
		return 0;
	if (p->slab_count > p->count_max - pool->total_count)
		return -ENOMEM;
	slab = malloc(sizeof(*slab) + (size_t)p->object_bytes * p->slab_count);
	if (!slab)
		return -ENOMEM;
	slab->next = pool->slabs;
	pool->slabs = slab;
	pool->total_count += p->slab_count;
	for (uint32_t i = 0; i < p->slab_count; i++)
		push_free(pool, slab->objects + (size_t)i * p->object_bytes);
	return 0;
}

void *util_pool_get(struct util_pool *pool)
{
	void *object = pool->free;

	CHECK(object != NULL);
	memcpy(&pool->free, object, sizeof(void *));
	pool->used_count++;
	return object;
}

void util_pool_put(struct util_pool *pool, void *object)
{
	CHECK(pool->used_count > 0);
	pool->used_count--;
	push_free(pool, object);
}
