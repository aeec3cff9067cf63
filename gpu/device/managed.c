/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/managed_inner.h"

#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

#define KIB UINT64_C(1024)
#define GIGABIT UINT64_C(1000000000)

/* Prefetches: bytes, of which the first 2 MiB are slower than the rest, and what the call takes
 * beside the 5.3 us that any command has until somebody knows that it is over. */
static const struct {
	ps_t call, there, there_mib;
	uint64_t first_bytes, first_bps, rest_bps;
} prefetches[] = {
	{10700 * PS_NS, 100 * PS_NS, 1200 * PS_NS, 2 << 20, 71 * GIGABIT,
	 83 * GIGABIT}, /* to CPU */
	{15700 * PS_NS, 100 * PS_NS, 1200 * PS_NS, 2 << 20, 284 * GIGABIT, 394 * GIGABIT},
};
static const ps_t free_call = 40 * PS_US, free_mib = 11800 * PS_NS;

int gpu_managed_init(struct gpu_managed *managed, uint64_t base, uint64_t bytes)
{
	*managed = (struct gpu_managed){
		.blocks = util_calloc(bytes / GPU_MEMORY_BLOCK, sizeof(*managed->blocks))};
	if (!managed->blocks)
		return -ENOMEM;
	gpu_memory_init(&managed->memory, base, bytes);
	return 0;
}

void gpu_managed_fini(struct gpu_managed *managed)
{
	for (uint64_t i = 0; managed->blocks && i < managed->memory.bytes / GPU_MEMORY_BLOCK; i++) {
		if (managed->blocks[i])
			gpu_managed_end_chunks(managed, managed->blocks[i]);
		util_free(managed->blocks[i]);
	}
	util_free(managed->blocks);
	gpu_memory_fini(&managed->memory);
	*managed = (struct gpu_managed){.bytes = NULL};
}

/* ---- given out and taken back ---- */

int gpu_managed_take(struct gpu_managed *managed, uint64_t bytes, uint64_t *ret_address)
{
	uint64_t address;
	const int ret = gpu_memory_take(&managed->memory, bytes, NULL, &address);
	uint64_t block, last;

	if (ret != 0)
		return ret;
	block = (address - managed->memory.base) / GPU_MEMORY_BLOCK;
	last = (address + bytes - 1 - managed->memory.base) / GPU_MEMORY_BLOCK;
	for (; block <= last; block++) {
		if (!managed->blocks[block])
			managed->blocks[block] = util_calloc(1, sizeof(**managed->blocks));
		if (!managed->blocks[block]) {
			(void)gpu_memory_drop(&managed->memory, address);
			return -ENOMEM;
		}
	}
	*ret_address = address;
	return 0;
}

bool gpu_managed_is_taken(const struct gpu_managed *managed, uint64_t address, uint64_t bytes)
{
	for (uint64_t at = address; at < address + bytes; at += GPU_MEMORY_GRAIN)
		if (gpu_memory_find(&managed->memory, at))
			return true;
	return false;
}

/* Nothing is known of it but what a CPU may still do there. */
static void forget_page(struct gpu_managed *managed, uint64_t address)
{
	struct gpu_managed_page *page = gpu_managed_page(managed, address);
	struct gpu_managed_block *block =
		managed->blocks[(address - managed->memory.base) / GPU_MEMORY_BLOCK];

	gpu_managed_settle(managed, address, 0);
	*page = (struct gpu_managed_page){.access = page->access};
	if (address % GPU_MEMORY_BLOCK == 0)
		block->known = 0;
}

/* Blocks that nothing is in any more: what faults brought around it goes, too. */
static void end_blocks(struct gpu_managed *managed, uint64_t address, uint64_t end)
{
	address -= address % GPU_MEMORY_BLOCK;
	for (; address < end; address += GPU_MEMORY_BLOCK) {
		if (gpu_managed_is_taken(managed, address, GPU_MEMORY_BLOCK))
			continue;
		for (uint64_t at = 0; at < GPU_MEMORY_BLOCK; at += GPU_MANAGED_PAGE)
			forget_page(managed, address + at);
		gpu_managed_protect(managed, address, GPU_MEMORY_BLOCK);
		gpu_managed_end_chunks(
			managed,
			managed->blocks[(address - managed->memory.base) / GPU_MEMORY_BLOCK]);
	}
}

int gpu_managed_drop(struct gpu_managed *managed, uint64_t address)
{
	const struct gpu_allocation *allocation = gpu_memory_find(&managed->memory, address);
	uint64_t first, end;

	if (!allocation || allocation->address != address)
		return -ENOENT;
	first = address - address % GPU_MANAGED_PAGE;
	end = address + allocation->bytes;
	end += (GPU_MANAGED_PAGE - end % GPU_MANAGED_PAGE) % GPU_MANAGED_PAGE;
	CHECK(gpu_memory_drop(&managed->memory, address) == 0);
	/* Others may have a part of the first page or of the last. */
	if (gpu_managed_is_taken(managed, first, GPU_MANAGED_PAGE))
		first += GPU_MANAGED_PAGE;
	if (first < end && gpu_managed_is_taken(managed, end - GPU_MANAGED_PAGE, GPU_MANAGED_PAGE))
		end -= GPU_MANAGED_PAGE;
	if (first >= end)
		return 0;
	for (uint64_t at = first; at < end; at += GPU_MANAGED_PAGE)
		forget_page(managed, at);
	gpu_managed_protect(managed, first, end - first);
	end_blocks(managed, first, end);
	if (managed->forget)
		managed->forget(managed, first, end - first);
	return 0;
}

bool gpu_managed_has(const struct gpu_managed *managed, uint64_t address, uint64_t bytes)
{
	const struct gpu_allocation *allocation =
		gpu_memory_has(&managed->memory, address)
			? gpu_memory_find(&managed->memory, address)
			: NULL;

	return allocation && bytes <= allocation->bytes - (address - allocation->address);
}

ps_t gpu_managed_free_time(uint64_t bytes)
{
	return free_call + (ps_t)((u128)bytes * free_mib / (KIB * KIB));
}

/* ---- prefetches ---- */

/* Of [@address, @address + @bytes): the first byte of its first page and the end of its last. */
static uint64_t first_of(uint64_t address)
{
	return address - address % GPU_MANAGED_PAGE;
}

uint64_t gpu_managed_missing(const struct gpu_managed *managed, uint32_t who, uint64_t address,
			     uint64_t bytes)
{
	uint64_t missing = 0;

	for (uint64_t at = first_of(address); at < address + bytes; at += GPU_MANAGED_PAGE)
		if (!(gpu_managed_page(managed, at)->resident & managed_bit(who)))
			missing += GPU_MANAGED_PAGE;
	return missing;
}

ps_t gpu_managed_prefetch_time(uint32_t who, uint64_t missing, uint64_t bytes)
{
	const bool to_gpu = who != GPU_CPU;
	const uint64_t first = prefetches[to_gpu].first_bytes;

	if (missing == 0)
		return prefetches[to_gpu].there +
		       (bytes > first ? (ps_t)((u128)(bytes - first) *
					       prefetches[to_gpu].there_mib / (KIB * KIB))
				      : 0);
	if (missing <= first)
		return prefetches[to_gpu].call +
		       util_tx_time(missing, prefetches[to_gpu].first_bps);
	return prefetches[to_gpu].call + util_tx_time(first, prefetches[to_gpu].first_bps) +
	       util_tx_time(missing - first, prefetches[to_gpu].rest_bps);
}

void gpu_managed_prefetch(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address,
			  uint64_t bytes)
{
	struct gpu_managed_counts *counts = &managed->counts[touch->who];

	uint64_t block = 0;
	bool has_room = false;

	touch->managed = managed;
	for (uint64_t at = first_of(address); at < address + bytes; at += GPU_MANAGED_PAGE) {
		struct gpu_managed_page *page = gpu_managed_page(managed, at);

		if (block != at - at % GPU_MEMORY_BLOCK)
			has_room = gpu_managed_has_room(managed, touch, at);
		block = at - at % GPU_MEMORY_BLOCK;
		if (has_room)
			counts->prefetched += gpu_managed_bring(managed, touch, touch->who, at,
								page->is_read_mostly);
		page->prefetched = (uint8_t)(1 + touch->who);
	}
	gpu_managed_protect(managed, address, bytes);
}

/* ---- advice ---- */

/* Who is to reach it where it is does so at once, where that is the host's memory. */
static void map_for(struct gpu_managed_page *page)
{
	if (page->resident & managed_bit(GPU_CPU))
		page->mapped |= page->accessed_by & ~managed_bit(GPU_CPU);
}

static void advise_page(struct gpu_managed *managed, uint64_t address, enum gpu_advice advice,
			uint32_t who)
{
	struct gpu_managed_page *page = gpu_managed_page(managed, address);

	switch (advice) {
	case GPU_READ_MOSTLY:
		page->is_read_mostly = true;
		return;
	case GPU_UNSET_READ_MOSTLY:
		page->is_read_mostly = false;
		if (page->resident & (page->resident - 1)) /* the one with a GPU stays */
			gpu_managed_settle(managed, address,
					   page->resident & ~managed_bit(GPU_CPU));
		return;
	case GPU_PREFERRED:
		page->preferred = (uint8_t)(1 + who);
		return;
	case GPU_UNSET_PREFERRED:
		page->preferred = 0;
		return;
	case GPU_ACCESSED_BY:
		page->accessed_by |= managed_bit(who);
		map_for(page);
		return;
	case GPU_UNSET_ACCESSED_BY:
		page->accessed_by &= ~managed_bit(who);
		page->mapped &= ~managed_bit(who);
		return;
	}
}

void gpu_managed_advise(struct gpu_managed *managed, uint64_t address, uint64_t bytes,
			enum gpu_advice advice, uint32_t who)
{
	for (uint64_t at = first_of(address); at < address + bytes; at += GPU_MANAGED_PAGE)
		advise_page(managed, at, advice, who);
	gpu_managed_protect(managed, address, bytes);
}
