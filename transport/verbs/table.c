/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/table.h"

#include "util/check.h"
#include <errno.h>
#include <stdlib.h>

enum { KIND_BITS = 8, INDEX_MASK = (1 << VRB_TABLE_INDEX_BITS) - 1 };

static int verbs_table_make_room(struct vrb_table *table, uint32_t index)
{
	struct vrb_slot *slots;
	uint32_t room = table->room ? table->room : 8;

	if (index < table->room)
		return 0;
	while (room <= index)
		room *= 2;
	if (room > INDEX_MASK + 1)
		return -ENOMEM;
	slots = realloc(table->slots, room * sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (uint32_t i = table->room; i < room; i++)
		slots[i] = (struct vrb_slot){0};
	table->slots = slots;
	table->room = room;
	return 0;
}

void vrb_table_fini(struct vrb_table *table)
{
	free(table->slots);
	*table = (struct vrb_table){0};
}

int vrb_table_add(struct vrb_table *table, void *object, enum vrb_kind kind, uint64_t *ret_handle)
{
	struct vrb_slot *slot;
	uint32_t index = table->free - 1;

	if (table->free == 0) {
		int ret = verbs_table_make_room(table, table->count);

		if (ret < 0)
			return ret;
		index = table->count++;
	}
	slot = &table->slots[index];
	table->free = slot->next_free;
	slot->next_free = 0;
	slot->key = slot->key >> KIND_BITS << KIND_BITS | (uint64_t)kind;
	slot->object = object;
	*ret_handle = slot->key << VRB_TABLE_INDEX_BITS | index;
	return 0;
}

int vrb_table_note(struct vrb_table *table, uint64_t handle, void *object)
{
	const uint32_t index = (uint32_t)handle & INDEX_MASK;
	int ret = verbs_table_make_room(table, index);

	if (ret < 0)
		return ret;
	if (table->count <= index)
		table->count = index + 1;
	table->slots[index].key = handle >> VRB_TABLE_INDEX_BITS;
	table->slots[index].object = object;
	return 0;
}

void vrb_table_drop(struct vrb_table *table, uint64_t handle)
{
	struct vrb_slot *slot = &table->slots[handle & INDEX_MASK];

	CHECK(vrb_table_find(table, handle, vrb_kind_of(handle)));
	slot->object = NULL;
	/* The next object here is another generation. */
	slot->key += (uint64_t)1 << KIND_BITS;
}

void vrb_table_remove(struct vrb_table *table, uint64_t handle)
{
	const uint32_t index = (uint32_t)handle & INDEX_MASK;

	vrb_table_drop(table, handle);
	table->slots[index].next_free = table->free;
	table->free = index + 1;
}
