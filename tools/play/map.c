/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/play/map.h"

#include <stdlib.h>

static struct play_map_slot *slot_of(const struct play_map *map, uint64_t key)
{
	uint32_t at = (uint32_t)(key * 0x9e3779b97f4a7c15u >> 32) & map->mask;

	while (map->slots[at].value != PLAY_NONE && map->slots[at].key != key)
		at = (at + 1) & map->mask;
	return &map->slots[at];
}

static bool map_grow(struct play_map *map)
{
	const uint32_t room = map->slots ? (map->mask + 1) * 2 : 64;
	struct play_map larger = {.slots = calloc(room, sizeof(*map->slots)), .mask = room - 1};

	if (!larger.slots)
		return false;
	for (uint32_t i = 0; i < room; i++)
		larger.slots[i].value = PLAY_NONE;
	for (uint32_t i = 0; map->slots && i <= map->mask; i++)
		if (map->slots[i].value != PLAY_NONE)
			*slot_of(&larger, map->slots[i].key) = map->slots[i];
	larger.count = map->count;
	free(map->slots);
	*map = larger;
	return true;
}

bool play_map_put(struct play_map *map, uint64_t key, uint32_t value)
{
	struct play_map_slot *slot;

	if ((!map->slots || map->count * 2 > map->mask) && !map_grow(map))
		return false;
	slot = slot_of(map, key);
	map->count += slot->value == PLAY_NONE;
	*slot = (struct play_map_slot){key, value};
	return true;
}

uint32_t play_map_get(const struct play_map *map, uint64_t key)
{
	return map->slots ? slot_of(map, key)->value : PLAY_NONE;
}

void play_map_fini(struct play_map *map)
{
	free(map->slots);
	*map = (struct play_map){.slots = NULL};
}
