/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef PLAY_MAP_H
#define PLAY_MAP_H

/* From numbers of 64 bits to numbers of 32 bits. */
#include <stdbool.h>
#include <stdint.h>

enum { PLAY_NONE = UINT32_MAX };

struct play_map { /* zeroed: empty */
	struct play_map_slot {
		uint64_t key;
		uint32_t value; /* PLAY_NONE: empty */
	} * slots;
	uint32_t mask, count;
};

/* The value that @key has from now on, not PLAY_NONE. False: no memory. */
bool play_map_put(struct play_map *map, uint64_t key, uint32_t value);
uint32_t play_map_get(const struct play_map *map, uint64_t key); /* PLAY_NONE: none */
void play_map_fini(struct play_map *map);

#endif
