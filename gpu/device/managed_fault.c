/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/managed_inner.h"

#include "util/check.h"

/* Touches of managed memory, and what they bring along. */

/* What a fault takes: itself, and each KiB of what it brings. */
struct fault_cost {
	ps_t fault, kib;
};

/* Medians of walks page by page fit these within what was seen from run to run; what a whole GPU
 * touches at once comes in batches, fitted by copies of 64 MiB. */
static const struct {
	struct fault_cost moved, fresh;
	ps_t first;	  /* besides: a GPU never had any of the block, and it is with others */
	ps_t first_fresh; /* besides: nobody had any of the block */
	ps_t more;     /* instead of the fault's own: behind another of this touch in the block */
	ps_t collapse; /* a write ends the duplicates of one page */
} costs[] = {
	{.moved = {22 * PS_US, 130 * PS_NS}, /* by a CPU */
	 .fresh = {7300 * PS_NS, 101 * PS_NS},
	 .first_fresh = 200 * PS_US,
	 .more = 22 * PS_US,
	 .collapse = 14 * PS_US},
	{.moved = {33400 * PS_NS, 60 * PS_NS}, /* by a GPU */
	 .fresh = {33400 * PS_NS, 40 * PS_NS},
	 .first = 85 * PS_US,
	 .more = 18300 * PS_NS,
	 .collapse = 40 * PS_US},
};
/* A page that is mapped where it is: the first of a touch, and each further one; and the rate at
 * which it is reached from then on. */
static const ps_t map_first = 12 * PS_US, map_more = 4 * PS_US;
static const uint64_t remote_bps = UINT64_C(392000000000);
/* A page that comes to a GPU so often, each time so soon after the last, has to wait; and after so
 * many waits it stays with the CPU for a while. */
enum { THRASH_TIMES = 3, THRASH_WAITS = 10 };
static const ps_t thrash_lapse = 500 * PS_US, thrash_wait = 500 * PS_US, thrash_pin = 300 * PS_MS;

struct touch {
	struct gpu_managed *managed;
	uint32_t who;
	bool is_write;
	ps_t now, delay;
	uint64_t block;	   /* that the last fault was in */
	uint32_t in_block; /* faults of this touch */
	uint32_t mapped;
	uint64_t remote; /* bytes that are reached where they are */
};

/* Whether a GPU reaches it in the host's memory rather than that it comes. */
static bool stays(const struct gpu_managed_page *page, uint32_t who, ps_t now)
{
	return who != GPU_CPU && (page->resident & managed_bit(GPU_CPU)) &&
	       (page->preferred == 1 + GPU_CPU || now < page->pinned_until);
}

/* ---- the tree ---- */

struct region {
	uint32_t first, count; /* pages of a block */
};

/* Pages of [@first, @first + @count) that are with @who, or in the leaf of @page. */
static uint32_t count_with(const struct gpu_managed_block *block, uint32_t who, uint32_t page,
			   uint32_t first, uint32_t count)
{
	uint32_t there = 0;

	for (uint32_t i = first; i < first + count; i++)
		there += (block->pages[i].resident & managed_bit(who)) ||
			 i / GPU_MANAGED_LEAF == page / GPU_MANAGED_LEAF;
	return there;
}

static struct region find_region(const struct gpu_managed_block *block, uint32_t who, uint32_t page)
{
	struct region region = {page - page % GPU_MANAGED_LEAF, GPU_MANAGED_LEAF};

	for (uint32_t count = 2 * GPU_MANAGED_LEAF; count <= GPU_MANAGED_PAGES; count *= 2) {
		const uint32_t first = page - page % count;

		if (count_with(block, who, page, first, count) * 100 > count * GPU_MANAGED_PERCENT)
			region = (struct region){first, count};
	}
	return region;
}

static bool is_new(const struct gpu_managed_block *block)
{
	for (uint32_t i = 0; i < GPU_MANAGED_PAGES; i++)
		if (block->pages[i].resident)
			return false;
	return true;
}

/* ---- thrashing ---- */

/* How long the fault has to wait. */
static ps_t thrash(const struct touch *touch, struct gpu_managed_page *page)
{
	struct gpu_managed_counts *counts = &touch->managed->counts[touch->who];
	const ps_t now = touch->now + touch->delay;
	const bool is_soon = page->moved_at > 0 && now - page->moved_at <= thrash_lapse;

	if (touch->who == GPU_CPU)
		return 0;
	page->moved_at = now;
	page->bounces = is_soon ? (uint8_t)(page->bounces + 1) : 0;
	if (page->bounces < THRASH_TIMES)
		return 0;
	page->bounces = 0;
	counts->throttled++;
	if (++page->throttles >= THRASH_WAITS) {
		page->throttles = 0;
		page->pinned_until = now + thrash_wait + thrash_pin;
		counts->pinned++;
	}
	return thrash_wait;
}

/* ---- faults ---- */

static void tell_fault(const struct touch *touch, uint64_t address, uint64_t bytes)
{
	if (touch->managed->on_fault)
		touch->managed->on_fault(touch->managed, touch->who, address, bytes,
					 touch->now + touch->delay);
}

static void fault_maps(struct touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	page->mapped |= managed_bit(touch->who);
	touch->managed->counts[touch->who].mapped++;
	tell_fault(touch, address, 0);
	touch->delay += touch->mapped++ ? map_more : map_first;
}

/* What bringing so many pages takes that others had, and that nobody had. */
static ps_t time_of(const struct touch *touch, uint64_t moved, uint64_t fresh)
{
	const uint32_t kind = touch->who != GPU_CPU;
	const ps_t fault = touch->in_block > 1 ? costs[kind].more
			   : moved > 0	       ? costs[kind].moved.fault
					       : costs[kind].fresh.fault;

	return fault + moved * costs[kind].moved.kib / 1024 + fresh * costs[kind].fresh.kib / 1024;
}

static void fault_brings(struct touch *touch, uint64_t address)
{
	struct gpu_managed *managed = touch->managed;
	struct gpu_managed_counts *counts = &managed->counts[touch->who];
	const uint64_t offset = address - managed->memory.base;
	struct gpu_managed_block *block = managed->blocks[offset / GPU_MEMORY_BLOCK];
	const uint64_t start = address - offset % GPU_MEMORY_BLOCK;
	const struct region region = find_region(
		block, touch->who, (uint32_t)(offset % GPU_MEMORY_BLOCK / GPU_MANAGED_PAGE));
	const uint64_t moved = counts->moved, fresh = counts->populated;
	const bool was_new = is_new(block);
	const uint32_t kind = touch->who != GPU_CPU;

	for (uint32_t i = region.first; i < region.first + region.count; i++) {
		struct gpu_managed_page *page = &block->pages[i];

		if (!stays(page, touch->who, touch->now))
			(void)gpu_managed_bring(managed, page, touch->who,
						page->is_read_mostly && !touch->is_write);
	}
	if (touch->block != start)
		touch->in_block = 0;
	touch->block = start;
	touch->in_block++;
	tell_fault(touch, start + (uint64_t)region.first * GPU_MANAGED_PAGE,
		   counts->moved - moved + counts->populated - fresh);
	touch->delay += time_of(touch, counts->moved - moved, counts->populated - fresh);
	if (was_new)
		touch->delay += costs[kind].first_fresh;
	else if (!(block->known & managed_bit(touch->who)) && counts->moved > moved)
		touch->delay += costs[kind].first;
	block->known |= managed_bit(touch->who);
	gpu_managed_protect(managed, start + (uint64_t)region.first * GPU_MANAGED_PAGE,
			    (uint64_t)region.count * GPU_MANAGED_PAGE);
}

static void touch_fault(struct touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	touch->managed->counts[touch->who].faults++;
	if (page->resident == 0 && page->preferred == 1 + GPU_CPU && touch->who != GPU_CPU) {
		(void)gpu_managed_bring(touch->managed, page, GPU_CPU, false);
		gpu_managed_protect(touch->managed, address, 1);
	}
	if (stays(page, touch->who, touch->now)) {
		fault_maps(touch, page, address);
		return;
	}
	touch->delay += thrash(touch, page);
	fault_brings(touch, address);
}

/* A write of what is mostly read is seen by all: others' duplicates are no more. It brings no other
 * page along. */
static void collapse(struct touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	struct gpu_managed_counts *counts = &touch->managed->counts[touch->who];

	(void)gpu_managed_bring(touch->managed, page, touch->who, false);
	page->resident = managed_bit(touch->who);
	page->mapped = 0;
	counts->faults++;
	counts->collapsed++;
	tell_fault(touch, address, 0);
	touch->delay += costs[touch->who != GPU_CPU].collapse;
	gpu_managed_protect(touch->managed, address, 1);
}

static void touch_page(struct touch *touch, uint64_t address, uint64_t bytes)
{
	struct gpu_managed_page *page = gpu_managed_page(touch->managed, address);
	const uint64_t bit = managed_bit(touch->who);
	const bool reaches = ((page->resident | page->mapped) & bit) != 0;

	if (touch->is_write && page->resident && page->resident != bit &&
	    (page->is_read_mostly || page->resident & bit))
		collapse(touch, page, address);
	else if (!reaches)
		touch_fault(touch, page, address);
	if (!(page->resident & bit))
		touch->remote += bytes;
}

ps_t gpu_managed_touch(struct gpu_managed *managed, uint32_t who, uint64_t address, uint64_t bytes,
		       bool is_write, ps_t now)
{
	struct touch touch = {.managed = managed, .who = who, .is_write = is_write, .now = now};
	ps_t remote;

	CHECK(who < GPU_MANAGED_OWNERS);
	for (uint64_t at = address, next; at < address + bytes; at = next) {
		next = at - at % GPU_MANAGED_PAGE + GPU_MANAGED_PAGE;
		if (next > address + bytes)
			next = address + bytes;
		touch_page(&touch, at, next - at);
	}
	managed->counts[who].time += touch.delay;
	remote = touch.remote > 0 ? util_tx_time(touch.remote, remote_bps) : 0;
	return touch.delay + remote;
}
