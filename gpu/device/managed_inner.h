/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MANAGED_INNER_H
#define GPU_MANAGED_INNER_H

/* What the files managed*.c share. */
#include "gpu/device/managed.h"

static inline uint64_t managed_bit(uint32_t who)
{
	return UINT64_C(1) << who;
}

/* The page at @address is with @who, where @copies beside those who have it already. The bytes that
 * this moved or populated, counted, and those that moved in @touch as well; 0: it was there. */
uint64_t gpu_managed_bring(struct gpu_managed *managed, struct gpu_touch *touch, uint32_t who,
			   uint64_t address, bool copies);
/* The page at @address is with those of @resident, and with nobody else. */
void gpu_managed_settle(struct gpu_managed *managed, uint64_t address, uint64_t resident);

/* What a block has of a GPU's memory. */
struct gpu_managed_chunk {
	struct gpu_managed_chunk *next;		 /* of the block */
	struct gpu_managed_chunk *older, *newer; /* of the list that it is in */
	uint64_t block;
	uint32_t who, pages; /* that are there */
};
/* Of the block with that number, which has none there; NULL: no memory. */
struct gpu_managed_chunk *gpu_managed_make_chunk(struct gpu_managed *managed, uint64_t block,
						 uint32_t who);
/* Something comes to it. */
void gpu_managed_renew_chunk(struct gpu_managed *managed, struct gpu_managed_chunk *chunk);
/* No page is in it. */
void gpu_managed_end_chunk(struct gpu_managed *managed, struct gpu_managed_chunk *chunk);
/* All those of a block that nobody has any page of. */
void gpu_managed_end_chunks(struct gpu_managed *managed, struct gpu_managed_block *block);

/* By managed_room.c: whether touch->who may have pages of the block that @address lies in; others
 * may have to go. A CPU may. */
bool gpu_managed_has_room(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address);
/* Of whole pages of [@address, @address + @bytes), the owner is told what is new for a CPU. */
void gpu_managed_protect(struct gpu_managed *managed, uint64_t address, uint64_t bytes);

#endif
