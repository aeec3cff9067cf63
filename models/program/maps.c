/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/maps.h"

#include "util/alloc.h"
#include "util/check.h"

#include <string.h>

static uintptr_t up(uintptr_t place, size_t align)
{
	return (place + align - 1) & ~((uintptr_t)align - 1);
}

void maps_init(struct maps *maps, uintptr_t base, size_t bytes)
{
	CHECK(base % MAPS_GRAIN == 0);
	*maps = (struct maps){.all = {base, base + bytes}};
}

void maps_fini(struct maps *maps)
{
	util_free(maps->taken);
	*maps = (struct maps){.taken = NULL};
}

/* Puts @range in as the @i-th. */
static bool maps_insert(struct maps *maps, size_t i, struct maps_range range)
{
	if (maps->count == maps->room) {
		const size_t room = maps->room ? 2 * maps->room : 16;
		struct maps_range *more = util_realloc(maps->taken, room, sizeof(*more));

		if (!more)
			return false;
		maps->taken = more;
		maps->room = room;
	}
	memmove(&maps->taken[i + 1], &maps->taken[i], (maps->count - i) * sizeof(range));
	maps->taken[i] = range;
	maps->count++;
	return true;
}

static void maps_take_out(struct maps *maps, size_t i)
{
	maps->count--;
	memmove(&maps->taken[i], &maps->taken[i + 1], (maps->count - i) * sizeof(maps->taken[0]));
}

uintptr_t maps_take(struct maps *maps, size_t bytes, size_t align)
{
	const size_t room = maps->all.end - maps->all.start;
	uintptr_t at;
	size_t i;

	align = align > MAPS_GRAIN ? align : MAPS_GRAIN;
	if (bytes == 0 || bytes > room || align > room)
		return 0;
	at = up(maps->all.start, align);
	for (i = 0; i < maps->count && at + bytes > maps->taken[i].start; i++)
		at = up(maps->taken[i].end, align);
	if (at + bytes > maps->all.end ||
	    !maps_insert(maps, i, (struct maps_range){at, at + bytes}))
		return 0;
	return at;
}

bool maps_drop(struct maps *maps, uintptr_t start, size_t bytes)
{
	const uintptr_t end = start + bytes;

	for (size_t i = 0; i < maps->count;) {
		struct maps_range *range = &maps->taken[i];

		if (start >= range->end || end <= range->start) {
			i++;
		} else if (start <= range->start && end >= range->end) {
			maps_take_out(maps, i);
		} else if (start <= range->start) {
			range->start = end;
		} else if (end >= range->end) {
			range->end = start;
		} else {
			if (!maps_insert(maps, i + 1, (struct maps_range){end, range->end}))
				return false;
			maps->taken[i].end = start;
		}
	}
	return true;
}
