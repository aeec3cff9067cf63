/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_IDMAP_H
#define UTIL_IDMAP_H

/* From a 32-bit number to an object: open addressing, at most half full, so that nearly every
 * lookup is one probe. Only util_idmap_reserve() allocates. */
#include <stddef.h>
#include <stdint.h>

struct util_idmap_slot {
	uint32_t id;
	void *object; /* NULL: empty */
};

struct util_idmap { /* zeroed: empty */
	struct util_idmap_slot *slots;
	uint32_t mask, shift, count;
};

void util_idmap_fini(struct util_idmap *map);
/* Room for one more; 0 or -ENOMEM. */
int util_idmap_reserve(struct util_idmap *map);
/* CHECKs that there is room and that @id is new; @object is not NULL. */
void util_idmap_add(struct util_idmap *map, uint32_t id, void *object);
void util_idmap_remove(struct util_idmap *map, uint32_t id); /* CHECKs that it is there */

static inline uint32_t util_idmap_home(const struct util_idmap *map, uint32_t id)
{
	return id * 0x9e3779b1u >> map->shift;
}

/* NULL: none. */
static inline void *util_idmap_find(const struct util_idmap *map, uint32_t id)
{
	if (!map->slots)
		return NULL;
	for (uint32_t i = util_idmap_home(map, id);; i = (i + 1) & map->mask) {
		const struct util_idmap_slot *slot = &map->slots[i];

		if (slot->id == id || !slot->object)
			return slot->object;
	}
}

#endif
