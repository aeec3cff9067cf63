/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/gpu.h"
#include "gpu/device/managed_inner.h"

/* What managed memory takes of GPUs' own memory, and what goes where that is full. Which goes first
 * is the order of the kernel driver's lists of root chunks (uvm_pmm_gpu.c): those that no page is
 * in, then those that something came to longest ago. */

/* What is evicted goes as fast as what is prefetched to a CPU. */
static const uint64_t evict_bps = UINT64_C(83000000000);

/* The page is with the host from now on, or with others that have it. */
static void evict_page(struct gpu_managed *managed, struct gpu_touch *touch, uint32_t who,
		       uint64_t address, uint64_t *evicted)
{
	struct gpu_managed_page *page = gpu_managed_page(managed, address);
	const uint64_t rest = page->resident & ~managed_bit(who);

	if (rest == page->resident)
		return;
	if (rest)
		gpu_managed_settle(managed, address, rest);
	else
		*evicted += gpu_managed_bring(managed, touch, GPU_CPU, address, false);
}

static void evict(struct gpu_managed *managed, struct gpu_touch *touch,
		  struct gpu_managed_chunk *chunk)
{
	const uint64_t start = managed->memory.base + chunk->block * GPU_MEMORY_BLOCK;
	const uint64_t pages = chunk->pages;
	uint64_t evicted = 0;

	for (uint64_t at = start; pages > 0 && at < start + GPU_MEMORY_BLOCK;
	     at += GPU_MANAGED_PAGE)
		evict_page(managed, touch, chunk->who, at, &evicted);
	if (evicted > 0 && managed->on_fault)
		managed->on_fault(managed, GPU_CPU, start, evicted, touch->now + touch->time);
	if (evicted > 0)
		touch->time += util_tx_time(evicted, evict_bps);
	managed->counts[chunk->who].evicted += evicted;
	gpu_managed_protect(managed, start, GPU_MEMORY_BLOCK);
	gpu_managed_end_chunk(managed, chunk);
}

/* Other than @chunk; NULL: there is none. */
static struct gpu_managed_chunk *find_victim(const struct gpu_managed *managed, uint32_t who,
					     const struct gpu_managed_chunk *chunk)
{
	struct gpu_managed_chunk *victim = managed->unused[who].first;

	if (victim == chunk && victim)
		victim = victim->newer;
	if (!victim)
		victim = managed->used[who].first;
	return victim == chunk && victim ? victim->newer : victim;
}

/* Until all that it has is what others leave; @chunk stays. */
static bool make_room(struct gpu_managed *managed, struct gpu_touch *touch, uint32_t who,
		      const struct gpu_managed_chunk *chunk)
{
	const struct gpu_memory *memory = &managed->gpus[who]->memory;

	while (memory->lent > gpu_memory_free_bytes(memory)) {
		struct gpu_managed_chunk *victim = find_victim(managed, who, chunk);

		if (!victim)
			return false;
		evict(managed, touch, victim);
	}
	return true;
}

void gpu_managed_make_room(struct gpu_managed *managed, struct gpu_touch *touch)
{
	touch->managed = managed;
	(void)make_room(managed, touch, touch->who, NULL);
}

static struct gpu_managed_chunk *find_chunk(const struct gpu_managed_block *block, uint32_t who)
{
	struct gpu_managed_chunk *chunk = block->chunks;

	while (chunk && chunk->who != who)
		chunk = chunk->next;
	return chunk;
}

bool gpu_managed_has_room(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address)
{
	const uint64_t number = (address - managed->memory.base) / GPU_MEMORY_BLOCK;
	struct gpu_managed_chunk *chunk;

	if (!managed->gpus[touch->who])
		return true;
	chunk = find_chunk(managed->blocks[number], touch->who);
	if (chunk) {
		gpu_managed_renew_chunk(managed, chunk);
		return true;
	}
	chunk = gpu_managed_make_chunk(managed, number, touch->who);
	if (!chunk)
		return false;
	if (make_room(managed, touch, touch->who, chunk))
		return true;
	gpu_managed_end_chunk(managed, chunk);
	return false;
}
