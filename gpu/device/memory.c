/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/memory.h"

#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

void gpu_memory_init(struct gpu_memory *memory, uint64_t base, uint64_t bytes)
{
	CHECK(base % GPU_MEMORY_BLOCK == 0 && bytes % GPU_MEMORY_BLOCK == 0 && base > 0);
	*memory = (struct gpu_memory){.base = base, .bytes = bytes, .reach = bytes};
}

void gpu_memory_fini(struct gpu_memory *memory)
{
	util_free(memory->allocations);
	util_free(memory->holds);
	*memory = (struct gpu_memory){.base = 0};
}

static uint64_t round_up(uint64_t bytes, uint64_t grain)
{
	return (bytes + grain - 1) / grain * grain;
}

static bool is_small(uint64_t bytes)
{
	return bytes <= GPU_MEMORY_SMALL;
}

/* What it takes: of a block, or of whole ones. */
static uint64_t extent_of(uint64_t bytes)
{
	return round_up(bytes, is_small(bytes) ? GPU_MEMORY_GRAIN : GPU_MEMORY_BLOCK);
}

static uint64_t end_of(const struct gpu_allocation *a)
{
	return a->address + extent_of(a->bytes);
}

/* The first that begins behind @address; count: none does. */
static size_t first_behind(const struct gpu_memory *memory, uint64_t address)
{
	size_t low = 0, high = memory->count;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (memory->allocations[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Whether @extent bytes at @address, which lie before the allocation @next, may be there: small
 * ones with small ones in a block, large ones in blocks of their own. */
static bool fits(const struct gpu_memory *memory, uint64_t address, uint64_t extent, bool small,
		 size_t next)
{
	const uint64_t end = small ? round_up(address + 1, GPU_MEMORY_BLOCK) : address + extent;

	if (address + extent > end || address + extent > memory->base + memory->reach)
		return false;
	return next == memory->count || memory->allocations[next].address >= address + extent;
}

/* First fit: 0 if there is none. @ret_next: the allocation that it goes before. */
static uint64_t find_room(const struct gpu_memory *memory, uint64_t bytes, size_t *ret_next)
{
	const bool small = is_small(bytes);
	const uint64_t extent = extent_of(bytes);
	uint64_t address = memory->base;

	for (size_t next = 0; next <= memory->count; next++) {
		const struct gpu_allocation *a = &memory->allocations[next];

		*ret_next = next;
		if (small && fits(memory, address, extent, small, next))
			return address;
		/* What is left of the block is too little, or not for a large one. */
		address = round_up(address, GPU_MEMORY_BLOCK);
		if (fits(memory, address, extent, small, next))
			return address;
		if (next < memory->count)
			address = end_of(a); /* of a large one the end of a block, too */
	}
	return 0;
}

static int grow(struct gpu_memory *memory)
{
	const size_t room = memory->room ? 2 * memory->room : 16;
	struct gpu_allocation *allocations;

	if (memory->count < memory->room)
		return 0;
	allocations = util_realloc(memory->allocations, room, sizeof(*allocations));
	if (!allocations)
		return -ENOMEM;
	memory->allocations = allocations;
	memory->room = room;
	return 0;
}

static int take(struct gpu_memory *memory, uint64_t bytes, struct gpu_allocation **ret_allocation)
{
	uint64_t address;
	size_t next;

	if (bytes == 0)
		return -EINVAL;
	if (bytes > memory->bytes)
		return -ENOSPC;
	if (grow(memory) != 0)
		return -ENOMEM;
	address = find_room(memory, bytes, &next);
	if (address == 0)
		return -ENOSPC;
	memmove(memory->allocations + next + 1, memory->allocations + next,
		(memory->count - next) * sizeof(*memory->allocations));
	memory->allocations[next] = (struct gpu_allocation){
		.address = address, .bytes = bytes, .number = ++memory->made};
	memory->count++;
	*ret_allocation = &memory->allocations[next];
	return 0;
}

int gpu_memory_take(struct gpu_memory *memory, uint64_t bytes, void *owner, uint64_t *ret_address)
{
	struct gpu_allocation *allocation;
	const int ret = take(memory, bytes, &allocation);

	if (ret != 0)
		return ret;
	allocation->owner = owner;
	*ret_address = allocation->address;
	return 0;
}

int gpu_memory_hide(struct gpu_memory *memory, uint64_t bytes, uint64_t *ret_address)
{
	struct gpu_allocation *allocation;
	int ret;

	if (bytes > memory->bytes)
		return -ENOSPC;
	ret = take(memory, round_up(bytes, GPU_MEMORY_BLOCK), &allocation);
	if (ret != 0)
		return ret;
	allocation->is_hidden = true;
	*ret_address = allocation->address;
	return 0;
}

const struct gpu_allocation *gpu_memory_of(const struct gpu_memory *memory, const void *owner)
{
	for (size_t i = 0; i < memory->count; i++) {
		const struct gpu_allocation *a = &memory->allocations[i];

		if (a->owner == owner && !a->is_gone && !a->is_hidden)
			return a;
	}
	return NULL;
}

struct gpu_allocation *gpu_memory_find(const struct gpu_memory *memory, uint64_t address)
{
	const size_t behind = first_behind(memory, address);
	struct gpu_allocation *a = behind > 0 ? &memory->allocations[behind - 1] : NULL;

	return a && !a->is_gone && !a->is_hidden && address - a->address < a->bytes ? a : NULL;
}

static void remove_at(struct gpu_memory *memory, size_t index)
{
	memory->count--;
	memmove(memory->allocations + index, memory->allocations + index + 1,
		(memory->count - index) * sizeof(*memory->allocations));
}

static bool is_held(const struct gpu_memory *memory, const struct gpu_allocation *a)
{
	for (size_t i = 0; i < memory->hold_count; i++) {
		const struct gpu_hold *hold = &memory->holds[i];

		if (hold->address < end_of(a) && a->address < hold->address + hold->bytes)
			return true;
	}
	return false;
}

int gpu_memory_drop(struct gpu_memory *memory, uint64_t address)
{
	const size_t behind = first_behind(memory, address);
	struct gpu_allocation *a = behind > 0 ? &memory->allocations[behind - 1] : NULL;

	if (!a || a->is_gone || a->address != address)
		return -ENOENT;
	a->is_gone = is_held(memory, a);
	if (a->is_gone)
		return 1;
	remove_at(memory, behind - 1);
	return 0;
}

bool gpu_memory_is_mapped(const struct gpu_memory *memory, uint64_t address, uint64_t bytes)
{
	uint64_t block = address - address % GPU_MEMORY_BLOCK;

	if (bytes == 0 || !gpu_memory_has(memory, address) ||
	    bytes > memory->base + memory->reach - address)
		return false;
	for (; block < address + bytes; block += GPU_MEMORY_BLOCK) {
		/* The last that begins before the block's end reaches into it, if any does. */
		size_t before = first_behind(memory, block + GPU_MEMORY_BLOCK - 1);

		while (before > 0 && memory->allocations[before - 1].is_gone)
			before--;
		if (before == 0 || end_of(&memory->allocations[before - 1]) <= block)
			return false;
	}
	return true;
}

int gpu_memory_hold(struct gpu_memory *memory, uint64_t address, uint64_t bytes)
{
	if (memory->hold_count == memory->hold_room) {
		const size_t room = memory->hold_room ? 2 * memory->hold_room : 8;
		struct gpu_hold *holds = util_realloc(memory->holds, room, sizeof(*holds));

		if (!holds)
			return -ENOMEM;
		memory->holds = holds;
		memory->hold_room = room;
	}
	memory->holds[memory->hold_count++] = (struct gpu_hold){address, bytes};
	return 0;
}

void gpu_memory_let_go(struct gpu_memory *memory, uint64_t address, uint64_t bytes)
{
	size_t i = 0;

	while (memory->holds[i].address != address || memory->holds[i].bytes != bytes)
		CHECK(++i < memory->hold_count);
	memory->holds[i] = memory->holds[--memory->hold_count];
	for (i = memory->count; i > 0; i--)
		if (memory->allocations[i - 1].is_gone &&
		    !is_held(memory, &memory->allocations[i - 1]))
			remove_at(memory, i - 1);
}

uint64_t gpu_memory_free_bytes(const struct gpu_memory *memory)
{
	uint64_t taken = 0, end = memory->base;

	for (size_t i = 0; i < memory->count; i++) {
		const struct gpu_allocation *a = &memory->allocations[i];
		const uint64_t last = round_up(end_of(a), GPU_MEMORY_BLOCK);
		const uint64_t from = a->address - a->address % GPU_MEMORY_BLOCK;

		taken += last - (from > end ? from : end);
		end = last;
	}
	return memory->bytes - taken;
}
