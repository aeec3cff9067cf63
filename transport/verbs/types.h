/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_TYPES_H
#define VERBS_TYPES_H

/* Asynchronous events that wait with one object, by their types (enum ibv_event_type): each once,
 * in the order in which the last one of each came, so that what a port is now is said last. No
 * locks: the caller's. */
#include <stdbool.h>
#include <stdint.h>

enum { VRB_TYPES_MAX = 31 }; /* more than there are */

struct vrb_types {
	uint8_t count, in_order[VRB_TYPES_MAX];
};

/* Takes out the first one, of some. */
static inline void vrb_types_drop(struct vrb_types *types)
{
	types->count--;
	for (uint32_t i = 0; i < types->count; i++)
		types->in_order[i] = types->in_order[i + 1];
}

/* A @type that does not exist is left out. */
static inline void vrb_types_add(struct vrb_types *types, uint32_t type)
{
	uint8_t kept = 0;

	if (type >= VRB_TYPES_MAX)
		return;
	for (uint32_t i = 0; i < types->count; i++)
		if (types->in_order[i] != type)
			types->in_order[kept++] = types->in_order[i];
	types->in_order[kept++] = (uint8_t)type;
	types->count = kept;
}

#endif
