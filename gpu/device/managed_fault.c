/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/managed_inner.h"

#include "util/check.h"

/* Touches of managed memory, and what they bring along. */

/* What a fault takes: itself, and each KiB of what it brings. */
struct fault_cost {
	ps_t fault, kib;
};
/* Instead of the fault's own, behind another of these touches in the block: where others had what
 * comes, and where nobody had. */
struct more_cost {
	ps_t moved, fresh;
};

/* Medians of walks page by page fit these within what was seen from run to run; what a whole GPU
 * touches at once comes in batches, fitted by copies and kernels of 64 MiB. */
static const struct {
	struct fault_cost moved, fresh;
	ps_t first;	  /* besides: a GPU never had any of the block, and it is with others */
	ps_t first_fresh; /* besides: nobody had any of the block */
	struct more_cost read, write;
	ps_t copy_more; /* the same of duplicates, which others keep */
	ps_t collapse;	/* a write ends the duplicates of one page */
} costs[] = {
	[GPU_BY_CPU] = {.moved = {22 * PS_US, 130 * PS_NS},
			.fresh = {7300 * PS_NS, 101 * PS_NS},
			.first_fresh = 200 * PS_US,
			.read = {22 * PS_US, 22 * PS_US},
			.write = {22 * PS_US, 22 * PS_US},
			.copy_more = 22 * PS_US,
			.collapse = 14 * PS_US},
	[GPU_BY_ENGINE] = {.moved = {33400 * PS_NS, 60 * PS_NS},
			   .fresh = {33400 * PS_NS, 40 * PS_NS},
			   .first = 85 * PS_US,
			   .read = {18300 * PS_NS, 18300 * PS_NS},
			   .write = {18300 * PS_NS, 18300 * PS_NS},
			   .copy_more = 18300 * PS_NS,
			   .collapse = 40 * PS_US},
	[GPU_BY_THREAD] = {.moved = {33400 * PS_NS, 60 * PS_NS},
			   .fresh = {33400 * PS_NS, 40 * PS_NS},
			   .first = 85 * PS_US,
			   .read = {33400 * PS_NS, 33400 * PS_NS},
			   .write = {33400 * PS_NS, 33400 * PS_NS},
			   .copy_more = 33400 * PS_NS,
			   .collapse = 40 * PS_US},
	[GPU_BY_THREADS] = {.moved = {33400 * PS_NS, 60 * PS_NS},
			    .fresh = {33400 * PS_NS, 40 * PS_NS},
			    .first = 85 * PS_US,
			    .read = {41 * PS_US, 36 * PS_US},
			    .write = {27 * PS_US, 18300 * PS_NS},
			    .copy_more = 18300 * PS_NS,
			    .collapse = 40 * PS_US},
};
/* A page that is mapped where it is: the first of a touch, and each further one; and the rate at
 * which it is reached from then on. */
static const ps_t map_first = 12 * PS_US, map_more = 4 * PS_US;
static const uint64_t there_bps = UINT64_C(392000000000);
/* A page that comes to a GPU so often, each time so soon after the last, has to wait; and after so
 * many waits it stays with the CPU for a while. */
enum { THRASH_TIMES = 3, THRASH_WAITS = 10 };
static const ps_t thrash_lapse = 500 * PS_US, thrash_wait = 500 * PS_US, thrash_pin = 300 * PS_MS;

static ps_t now_of(const struct gpu_touch *touch)
{
	return touch->now + touch->time;
}

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
static ps_t thrash(const struct gpu_touch *touch, struct gpu_managed_page *page)
{
	struct gpu_managed_counts *counts = &touch->managed->counts[touch->who];
	const ps_t now = now_of(touch);
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

static void tell_fault(const struct gpu_touch *touch, uint64_t address, uint64_t bytes)
{
	if (touch->managed->on_fault)
		touch->managed->on_fault(touch->managed, touch->who, address, bytes, now_of(touch));
}

static void fault_maps(struct gpu_touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	page->mapped |= managed_bit(touch->who);
	touch->managed->counts[touch->who].mapped++;
	tell_fault(touch, address, 0);
	touch->time += touch->mapped++ ? map_more : map_first;
}

/* It is to be where a GPU can reach it in the host's memory. */
static void bring_to_host(struct gpu_touch *touch, uint64_t address)
{
	(void)gpu_managed_bring(touch->managed, touch, GPU_CPU, address, false);
	gpu_managed_protect(touch->managed, address, 1);
}

/* What bringing pages takes that others had (and keep: @copied), and that nobody had, in bytes. */
static ps_t time_of(const struct gpu_touch *touch, uint64_t moved, uint64_t copied, uint64_t fresh)
{
	const enum gpu_toucher by = touch->by;
	const struct more_cost *more = touch->is_write ? &costs[by].write : &costs[by].read;
	ps_t fault = moved > 0 ? costs[by].moved.fault : costs[by].fresh.fault;

	if (touch->in_block > 1)
		fault = copied > 0 ? costs[by].copy_more : moved > 0 ? more->moved : more->fresh;
	return fault + moved * costs[by].moved.kib / 1024 + fresh * costs[by].fresh.kib / 1024;
}

static void fault_brings(struct gpu_touch *touch, uint64_t address)
{
	struct gpu_managed *managed = touch->managed;
	struct gpu_managed_counts *counts = &managed->counts[touch->who];
	const uint64_t offset = address - managed->memory.base;
	struct gpu_managed_block *block = managed->blocks[offset / GPU_MEMORY_BLOCK];
	const uint64_t start = address - offset % GPU_MEMORY_BLOCK;
	const struct region region = find_region(
		block, touch->who, (uint32_t)(offset % GPU_MEMORY_BLOCK / GPU_MANAGED_PAGE));
	const struct gpu_managed_counts before = *counts;
	const bool was_new = is_new(block);
	uint64_t moved, fresh;
	const enum gpu_toucher by = touch->by;

	for (uint32_t i = region.first; i < region.first + region.count; i++) {
		const struct gpu_managed_page *page = &block->pages[i];

		if (!stays(page, touch->who, touch->now))
			(void)gpu_managed_bring(managed, touch, touch->who,
						start + (uint64_t)i * GPU_MANAGED_PAGE,
						page->is_read_mostly && !touch->is_write);
	}
	if (touch->block != start)
		touch->in_block = 0;
	touch->block = start;
	touch->in_block++;
	moved = counts->moved - before.moved;
	fresh = counts->populated - before.populated;
	tell_fault(touch, start + (uint64_t)region.first * GPU_MANAGED_PAGE, moved + fresh);
	touch->time += time_of(touch, moved, counts->copied - before.copied, fresh);
	if (was_new)
		touch->time += costs[by].first_fresh;
	else if (!(block->known & managed_bit(touch->who)) && moved > 0)
		touch->time += costs[by].first;
	block->known |= managed_bit(touch->who);
	gpu_managed_protect(managed, start + (uint64_t)region.first * GPU_MANAGED_PAGE,
			    (uint64_t)region.count * GPU_MANAGED_PAGE);
}

static void touch_fault(struct gpu_touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	const bool wants_host =
		page->resident == 0 && page->preferred == 1 + GPU_CPU && touch->who != GPU_CPU;

	touch->managed->counts[touch->who].faults++;
	if (wants_host)
		bring_to_host(touch, address);
	if (stays(page, touch->who, touch->now)) {
		fault_maps(touch, page, address);
		return;
	}
	touch->time += thrash(touch, page);
	if (!gpu_managed_has_room(touch->managed, touch, address)) {
		bring_to_host(touch, address);
		fault_maps(touch, page, address);
		return;
	}
	fault_brings(touch, address);
}

/* A write of what is mostly read is seen by all: others' duplicates are no more. It brings no other
 * page along. */
static void collapse(struct gpu_touch *touch, struct gpu_managed_page *page, uint64_t address)
{
	struct gpu_managed_counts *counts = &touch->managed->counts[touch->who];
	const bool comes = gpu_managed_has_room(touch->managed, touch, address);
	const uint32_t to = comes ? touch->who : (uint32_t)GPU_CPU;

	(void)gpu_managed_bring(touch->managed, touch, to, address, false);
	gpu_managed_settle(touch->managed, address, managed_bit(to));
	page->mapped = comes ? 0 : managed_bit(touch->who);
	counts->faults++;
	counts->collapsed++;
	tell_fault(touch, address, 0);
	touch->time += costs[touch->by].collapse;
	gpu_managed_protect(touch->managed, address, 1);
}

static void touch_page(struct gpu_touch *touch, uint64_t address, uint64_t bytes)
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
		*(touch->is_write ? &touch->written_there : &touch->read_there) += bytes;
}

void gpu_managed_touch(struct gpu_managed *managed, struct gpu_touch *touch, uint64_t address,
		       uint64_t bytes, bool is_write)
{
	const ps_t before = touch->time;

	CHECK(touch->who < GPU_MANAGED_OWNERS);
	touch->managed = managed;
	touch->is_write = is_write;
	for (uint64_t at = address, next; at < address + bytes; at = next) {
		next = at - at % GPU_MANAGED_PAGE + GPU_MANAGED_PAGE;
		if (next > address + bytes)
			next = address + bytes;
		touch_page(touch, at, next - at);
	}
	managed->counts[touch->who].time += touch->time - before;
}

ps_t gpu_managed_there_time(const struct gpu_touch *touch)
{
	const uint64_t bytes = touch->read_there + touch->written_there;

	return bytes > 0 ? util_tx_time(bytes, there_bps) : 0;
}
