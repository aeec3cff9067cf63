/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <string.h>

/* Memory of what there are many of: malloc leaves holes between pieces that begin at a cache line.
 * As many at once as there are already, so that who needs few has few. */
enum { SLAB_MAX = 32 };

/* False: no memory. */
static bool add_slab(struct hca_pool *pool, size_t bytes)
{
	const uint32_t all = pool->object_count ? pool->object_count : 1;
	const uint32_t count = all < SLAB_MAX ? all : SLAB_MAX;
	void **slabs =
		util_realloc(pool->slabs, pool->slab_count + (size_t)1, sizeof(*pool->slabs));
	uint8_t *slab;

	if (!slabs)
		return false;
	pool->slabs = slabs;
	slab = util_calloc(count, bytes);
	if (!slab)
		return false;
	pool->slabs[pool->slab_count++] = slab;
	pool->object_count += count;
	for (uint32_t i = count; i > 0; i--)
		hca_pool_put(pool, slab + (i - 1) * bytes);
	return true;
}

void *hca_room_take(struct hca_device *dev, size_t bytes)
{
	return dev->room ? dev->room->take(dev->room, bytes) : util_alloc(bytes);
}

void hca_room_give_back(struct hca_device *dev, void *piece, size_t bytes)
{
	if (!piece)
		return;
	if (dev->room)
		dev->room->give_back(dev->room, piece, bytes);
	else
		util_free(piece);
}

void *hca_pool_get(struct hca_pool *pool, size_t bytes)
{
	void *object;

	if (!pool->free && !add_slab(pool, bytes))
		return NULL;
	object = pool->free;
	memcpy(&pool->free, object, sizeof(pool->free));
	return memset(object, 0, bytes);
}

void hca_pool_put(struct hca_pool *pool, void *object)
{
	memcpy(object, &pool->free, sizeof(pool->free));
	pool->free = object;
}

void hca_pool_fini(struct hca_pool *pool)
{
	for (uint32_t i = 0; i < pool->slab_count; i++)
		util_free(pool->slabs[i]);
	util_free(pool->slabs);
}
