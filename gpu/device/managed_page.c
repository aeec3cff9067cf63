/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/gpu.h"
#include "gpu/device/managed_inner.h"

#include "util/alloc.h"

/* Where pages of managed memory are, what of GPUs' memory they have there, and what a CPU may do
 * with them. */

/* ---- chunks of GPUs' memory ---- */

static struct gpu_managed_chunks *list_of(struct gpu_managed *managed,
					  const struct gpu_managed_chunk *chunk)
{
	return chunk->pages > 0 ? &managed->used[chunk->who] : &managed->unused[chunk->who];
}

static void list_add(struct gpu_managed *managed, struct gpu_managed_chunk *chunk)
{
	struct gpu_managed_chunks *list = list_of(managed, chunk);

	chunk->older = list->last;
	chunk->newer = NULL;
	*(list->last ? &list->last->newer : &list->first) = chunk;
	list->last = chunk;
}

static void list_remove(struct gpu_managed *managed, struct gpu_managed_chunk *chunk)
{
	struct gpu_managed_chunks *list = list_of(managed, chunk);

	*(chunk->older ? &chunk->older->newer : &list->first) = chunk->newer;
	*(chunk->newer ? &chunk->newer->older : &list->last) = chunk->older;
}

void gpu_managed_renew_chunk(struct gpu_managed *managed, struct gpu_managed_chunk *chunk)
{
	list_remove(managed, chunk);
	list_add(managed, chunk);
}

struct gpu_managed_chunk *gpu_managed_make_chunk(struct gpu_managed *managed, uint64_t block,
						 uint32_t who)
{
	struct gpu_managed_chunk *chunk = util_calloc(1, sizeof(*chunk));

	if (!chunk)
		return NULL;
	chunk->block = block;
	chunk->who = who;
	chunk->next = managed->blocks[block]->chunks;
	managed->blocks[block]->chunks = chunk;
	list_add(managed, chunk);
	managed->gpus[who]->memory.lent += GPU_MEMORY_BLOCK;
	return chunk;
}

void gpu_managed_end_chunk(struct gpu_managed *managed, struct gpu_managed_chunk *chunk)
{
	struct gpu_managed_chunk **at = &managed->blocks[chunk->block]->chunks;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	list_remove(managed, chunk);
	managed->gpus[chunk->who]->memory.lent -= GPU_MEMORY_BLOCK;
	util_free(chunk);
}

void gpu_managed_end_chunks(struct gpu_managed *managed, struct gpu_managed_block *block)
{
	while (block->chunks)
		gpu_managed_end_chunk(managed, block->chunks);
}

/* ---- what a CPU may do ---- */

static enum gpu_access access_of(const struct gpu_managed_page *page)
{
	if (!(page->resident & managed_bit(GPU_CPU)))
		return GPU_ACCESS_NONE;
	return page->resident == managed_bit(GPU_CPU) ? GPU_ACCESS_WRITE : GPU_ACCESS_READ;
}

void gpu_managed_protect(struct gpu_managed *managed, uint64_t address, uint64_t bytes)
{
	const uint64_t end = address + bytes;
	uint64_t at = address - address % GPU_MANAGED_PAGE;

	while (at < end) {
		const enum gpu_access access = access_of(gpu_managed_page(managed, at));
		const uint64_t start = at;
		bool changes = false;

		/* As far as they are alike; those of the same block, or of the next one. */
		for (; at < end; at += GPU_MANAGED_PAGE) {
			struct gpu_managed_page *page = gpu_managed_page(managed, at);

			if (access_of(page) != access)
				break;
			changes |= page->access != access;
			page->access = (uint8_t)access;
		}
		if (changes && managed->protect)
			managed->protect(managed, start, at - start, access);
	}
}

/* ---- where pages are ---- */

/* The first one that comes and the last one that goes change its list. */
static void count_page(struct gpu_managed *managed, struct gpu_managed_chunk *chunk, bool comes)
{
	const bool changes = chunk->pages == (comes ? 0 : 1);

	if (changes)
		list_remove(managed, chunk);
	chunk->pages += comes ? 1 : -1u;
	if (changes)
		list_add(managed, chunk);
}

void gpu_managed_settle(struct gpu_managed *managed, uint64_t address, uint64_t resident)
{
	const uint64_t number = (address - managed->memory.base) / GPU_MEMORY_BLOCK;
	struct gpu_managed_page *page = gpu_managed_page(managed, address);
	struct gpu_managed_chunk *chunk = managed->blocks[number]->chunks;

	for (; chunk; chunk = chunk->next) {
		const bool was = page->resident & managed_bit(chunk->who);
		const bool is = resident & managed_bit(chunk->who);

		if (was == is)
			continue;
		count_page(managed, chunk, is);
	}
	page->resident = resident;
}

/* From the host, where it is there; else from the first GPU that has it. */
static void note_move(struct gpu_touch *touch, uint32_t who, uint64_t resident)
{
	uint32_t from = GPU_CPU;

	while (!(resident >> from & 1))
		from++;
	*(who == GPU_CPU ? &touch->to_host[from] : &touch->from[from]) += GPU_MANAGED_PAGE;
}

uint64_t gpu_managed_bring(struct gpu_managed *managed, struct gpu_touch *touch, uint32_t who,
			   uint64_t address, bool copies)
{
	struct gpu_managed_page *page = gpu_managed_page(managed, address);
	struct gpu_managed_counts *counts = &managed->counts[who];

	if (page->resident & managed_bit(who))
		return 0;
	if (page->resident == 0) {
		counts->populated += GPU_MANAGED_PAGE;
	} else {
		counts->moved += GPU_MANAGED_PAGE;
		counts->copied += copies ? GPU_MANAGED_PAGE : 0;
		note_move(touch, who, page->resident);
	}
	gpu_managed_settle(managed, address, managed_bit(who) | (copies ? page->resident : 0));
	page->mapped = page->resident & managed_bit(GPU_CPU)
			       ? page->accessed_by & ~managed_bit(GPU_CPU)
			       : 0;
	return GPU_MANAGED_PAGE;
}
