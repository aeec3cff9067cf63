/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/idmap.h"

#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

enum { FIRST_BITS = 3 };

void util_idmap_fini(struct util_idmap *map)
{
	util_free(map->slots);
	*map = (struct util_idmap){0};
}

int util_idmap_reserve(struct util_idmap *map)
{
	uint32_t bits = map->slots ? 32 - map->shift + 1 : FIRST_BITS;
	struct util_idmap larger = {.mask = (1u << bits) - 1, .shift = 32 - bits};

	if (map->slots && map->count < (map->mask + 1) / 2)
		return 0;
	larger.slots = util_calloc(larger.mask + 1, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].object)
			util_idmap_add(&larger, map->slots[i].id, map->slots[i].object);
	util_free(map->slots);
	*map = larger;
	return 0;
}

void util_idmap_add(struct util_idmap *map, uint32_t id, void *object)
{
	uint32_t i = util_idmap_home(map, id);

	CHECK(object != NULL);
	CHECK(map->count < (map->mask + 1) / 2);
	for (; map->slots[i].object; i = (i + 1) & map->mask)
		CHECK(map->slots[i].id != id);
	map->slots[i] = (struct util_idmap_slot){id, object};
	map->count++;
}

/* Knuth 6.4 R: what stands behind the hole moves up, unless it is at or after its home. */
void util_idmap_remove(struct util_idmap *map, uint32_t id)
{
	uint32_t hole = util_idmap_home(map, id);

	CHECK(map->slots != NULL);
	for (; map->slots[hole].id != id; hole = (hole + 1) & map->mask)
		CHECK(map->slots[hole].object != NULL);
	CHECK(map->slots[hole].object != NULL);
	for (uint32_t i = (hole + 1) & map->mask; map->slots[i].object; i = (i + 1) & map->mask) {
		uint32_t home = util_idmap_home(map, map->slots[i].id);

		if (((i - home) & map->mask) < ((i - hole) & map->mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	map->slots[hole] = (struct util_idmap_slot){0};
	map->count--;
}
