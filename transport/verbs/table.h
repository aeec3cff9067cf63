/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_TABLE_H
#define VERBS_TABLE_H

/* Handles: numbers by which both sides of the seam (transport/verbs/backend.h) know an object. A
 * handle is a place in a table (24 bits), what kind of object is meant (8 bits) and the generation
 * of that place (32 bits), which changes whenever its object goes: the handle of an object that is
 * gone finds nothing, whoever has the place now. 0 is no handle.
 *
 * The adapter's side gives handles out, vrb_table_add(); the front notes its own objects under
 * them, vrb_table_note(). Each table has one thread at a time. */
#include <stddef.h>
#include <stdint.h>

enum vrb_kind {
	VRB_PD = 1,
	VRB_MR,
	VRB_CQ,
	VRB_QP,
	VRB_CHANNEL,
	VRB_DM,
	VRB_SRQ,
	VRB_XRCD,
	VRB_MW,
};

struct vrb_slot {
	void *object; /* NULL: free */
	uint64_t key; /* of the handle, without the place */
	uint32_t next_free;
};

struct vrb_table { /* zeroed: empty */
	struct vrb_slot *slots;
	uint32_t count, room; /* places that were ever taken, and that there is memory for */
	uint32_t free;	      /* first of those that are free again, + 1 */
};

enum { VRB_TABLE_INDEX_BITS = 24 };

static inline enum vrb_kind vrb_kind_of(uint64_t handle)
{
	return (enum vrb_kind)(handle >> VRB_TABLE_INDEX_BITS & 0xff);
}

/* NULL: no such object, no longer, or of another kind. */
static inline void *vrb_table_find(const struct vrb_table *table, uint64_t handle,
				   enum vrb_kind kind)
{
	const uint32_t index = (uint32_t)handle & ((1u << VRB_TABLE_INDEX_BITS) - 1);

	if (index >= table->count || table->slots[index].key != handle >> VRB_TABLE_INDEX_BITS ||
	    vrb_kind_of(handle) != kind)
		return NULL;
	return table->slots[index].object;
}

/* The @index-th, below count; NULL: it is free, or of another kind. */
static inline void *vrb_table_at(const struct vrb_table *table, uint32_t index, enum vrb_kind kind)
{
	const struct vrb_slot *slot = &table->slots[index];

	return vrb_kind_of(slot->key << VRB_TABLE_INDEX_BITS) == kind ? slot->object : NULL;
}

void vrb_table_fini(struct vrb_table *table); /* the objects stay the caller's */
/* @object is not NULL. 0 or -ENOMEM. */
int vrb_table_add(struct vrb_table *table, void *object, enum vrb_kind kind, uint64_t *ret_handle);
/* Under a handle that another table has given out. 0 or -ENOMEM. */
int vrb_table_note(struct vrb_table *table, uint64_t handle, void *object);
/* It is there. remove() of what was added, drop() of what was noted. */
void vrb_table_remove(struct vrb_table *table, uint64_t handle);
void vrb_table_drop(struct vrb_table *table, uint64_t handle);

#endif
