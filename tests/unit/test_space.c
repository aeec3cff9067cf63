/* SPDX-License-Identifier: BSD-2-Clause */

/* The memory of programs in virtual time: heap, mappings, and where they lie. */
#include "tests/test.h"

#include "models/program/space.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { MIB = 1 << 20, LIVE = 300, STEPS = 20000 };

/* Nobody else's: its place is what the kernel likes. */
static uint8_t *range_of(size_t bytes)
{
	uint8_t *range = mmap(NULL, bytes + MAPS_GRAIN, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(range, MAP_FAILED);
	munmap(range, bytes + MAPS_GRAIN);
	return (uint8_t *)(((uintptr_t)range + MAPS_GRAIN - 1) / MAPS_GRAIN * MAPS_GRAIN);
}

static struct heap heap_of(size_t bytes)
{
	struct heap heap;

	heap_init(&heap, range_of(bytes), bytes);
	return heap;
}

static void test_blocks_hold_what_was_asked_for(void **state)
{
	struct heap heap = heap_of(64 * MIB);

	(void)state;
	for (size_t bytes = 0; bytes < 5000; bytes++) {
		uint8_t *block = heap_alloc(&heap, bytes, HEAP_ALIGN, false);

		assert_non_null(block);
		assert_int_equal((uintptr_t)block % HEAP_ALIGN, 0);
		assert_true(heap_size(&heap, block) >= bytes);
		/* A quarter more at most, beside the sixteen in front and what aligns. */
		assert_true(heap_size(&heap, block) <= bytes + bytes / 4 + 32);
		memset(block, 0xff, heap_size(&heap, block));
	}
	heap_fini(&heap);
}

static void test_alignment(void **state)
{
	struct heap heap = heap_of(64 * MIB);

	(void)state;
	for (size_t align = 1; align <= MIB; align *= 2) {
		uint8_t *a = heap_alloc(&heap, 100, align, false);
		uint8_t *b = heap_alloc(&heap, align, align, true);

		assert_int_equal((uintptr_t)a % align, 0);
		assert_int_equal((uintptr_t)b % align, 0);
		assert_true(heap_size(&heap, a) >= 100 && heap_size(&heap, b) >= align);
		memset(a, 1, heap_size(&heap, a));
		memset(b, 2, heap_size(&heap, b));
		assert_true(heap_free(&heap, a) && heap_free(&heap, b));
	}
	heap_fini(&heap);
}

static void test_the_last_given_back_is_the_next(void **state)
{
	struct heap heap = heap_of(4 * MIB);
	void *a = heap_alloc(&heap, 100, HEAP_ALIGN, false);
	void *b = heap_alloc(&heap, 100, HEAP_ALIGN, false);
	uint8_t *top = heap.top;

	(void)state;
	assert_true(heap_free(&heap, a) && heap_free(&heap, b));
	assert_ptr_equal(heap_alloc(&heap, 100, HEAP_ALIGN, false), b);
	assert_ptr_equal(heap_alloc(&heap, 99, HEAP_ALIGN, false), a);
	assert_ptr_equal(heap.top, top);
	heap_fini(&heap);
}

static void test_zeroed_where_asked_for(void **state)
{
	static const size_t sizes[] = {10, 1000, MIB};
	struct heap heap = heap_of(8 * MIB);

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *block = heap_alloc(&heap, sizes[i], HEAP_ALIGN, true), *again;

		memset(block, 0xaa, sizes[i]);
		heap_free(&heap, block);
		again = heap_alloc(&heap, sizes[i], HEAP_ALIGN, true);
		assert_ptr_equal(again, block);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(again[k], 0);
	}
	heap_fini(&heap);
}

static void test_what_is_no_block_is_found(void **state)
{
	struct heap heap = heap_of(4 * MIB);
	uint8_t *block = heap_alloc(&heap, 1000, HEAP_ALIGN, false), *stranger = malloc(100);
	uint8_t *copy = block + 128;

	(void)state;
	assert_false(heap_free(&heap, block + 16));
	assert_false(heap_free(&heap, block + 1));
	assert_false(heap_free(&heap, stranger));
	assert_false(heap_free(&heap, heap.base));
	assert_false(heap_free(&heap, heap.top));
	/* What stands in front of a block is of no other place. */
	memcpy(copy - 16, block - 16, 16);
	assert_false(heap_free(&heap, copy));
	assert_int_equal(heap_size(&heap, copy), 0);
	assert_true(heap_free(&heap, block));
	assert_false(heap_free(&heap, block)); /* twice */
	assert_int_equal(heap_size(&heap, block), 0);
	free(stranger);
	heap_fini(&heap);
}

static void write_after_free(void *arg)
{
	struct heap heap = heap_of(4 * MIB);
	uint8_t *block = heap_alloc(&heap, 1000, HEAP_ALIGN, false);

	(void)arg;
	heap_free(&heap, block);
	memset(block - 16, 1, 16);
	heap_alloc(&heap, 1000, HEAP_ALIGN, false);
}

static void test_a_list_that_was_written_over_is_found(void **state)
{
	(void)state;
	assert_check_fails(write_after_free, NULL);
}

static void test_the_range_ends(void **state)
{
	struct heap heap = heap_of(2 * MIB);
	void *blocks[64], *large;
	int count = 0;

	(void)state;
	assert_null(heap_alloc(&heap, 2 * MIB, HEAP_ALIGN, false));
	assert_null(heap_alloc(&heap, SIZE_MAX, HEAP_ALIGN, false));
	assert_null(heap_alloc(&heap, SIZE_MAX - 8, HEAP_ALIGN, false));
	assert_null(heap_alloc(&heap, 1, (size_t)1 << 60, false));
	while ((blocks[count] = heap_alloc(&heap, 60000, HEAP_ALIGN, false)) != NULL)
		memset(blocks[count++], 1, 60000);
	assert_true(count >= 28);
	assert_null(heap_alloc(&heap, 60000, HEAP_ALIGN, false));
	assert_true(heap_free(&heap, blocks[3]));
	assert_ptr_equal(heap_alloc(&heap, 60000, HEAP_ALIGN, false), blocks[3]);
	heap_fini(&heap);
	/* Somebody else is where it wants to grow to. */
	heap = heap_of(4 * MIB);
	large = mmap(heap.base + MIB, MIB, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		     0);
	assert_non_null(heap_alloc(&heap, 1000, HEAP_ALIGN, false));
	assert_null(heap_alloc(&heap, MIB, HEAP_ALIGN, false));
	munmap(large, MIB);
	assert_non_null(heap_alloc(&heap, MIB, HEAP_ALIGN, false));
	heap_fini(&heap);
}

/* Random blocks come and go; no two share a byte, and twice the same calls give the same places. */
static uint64_t churn(struct heap *heap)
{
	struct {
		uint8_t *at;
		size_t bytes;
		uint8_t mark;
	} live[LIVE] = {{NULL, 0, 0}};
	uint64_t sum = 0, draw = 1;

	for (int step = 0; step < STEPS; step++) {
		int i;

		draw = draw * 6364136223846793005u + 1442695040888963407u;
		i = (int)(draw >> 33) % LIVE;
		for (size_t k = 0; k < live[i].bytes; k++)
			assert_int_equal(live[i].at[k], live[i].mark);
		if (live[i].at)
			assert_true(heap_free(heap, live[i].at));
		live[i].bytes = (draw >> 20) % ((draw >> 50) % 16 ? 300 : 70000);
		live[i].mark = (uint8_t)(draw >> 40);
		live[i].at = heap_alloc(heap, live[i].bytes, (size_t)1 << (draw >> 60), false);
		assert_non_null(live[i].at);
		memset(live[i].at, live[i].mark, live[i].bytes);
		sum = sum * 31 + (uint64_t)(live[i].at - heap->base);
	}
	return sum;
}

static void test_random_blocks(void **state)
{
	struct heap heap = heap_of(256 * MIB);
	uint64_t sum;

	(void)state;
	sum = churn(&heap);
	heap_fini(&heap);
	heap = heap_of(256 * MIB);
	assert_int_equal(churn(&heap), sum);
	heap_fini(&heap);
}

static void test_mappings_take_the_lowest_place(void **state)
{
	enum { G = MAPS_GRAIN, BASE = 16 * G };
	struct maps maps;

	(void)state;
	maps_init(&maps, BASE, 10 * G);
	assert_int_equal(maps_take(&maps, 1, 0), BASE);
	assert_int_equal(maps_take(&maps, 2 * G, 0), BASE + G);
	assert_int_equal(maps_take(&maps, G + 1, 0), BASE + 3 * G);
	assert_int_equal(maps_take(&maps, G, 4 * G), BASE + 8 * G);
	assert_int_equal(maps_take(&maps, G, 0), BASE + 5 * G);
	assert_int_equal(maps_take(&maps, 3 * G, 0), 0);
	assert_int_equal(maps_take(&maps, 11 * G, 0), 0);
	assert_int_equal(maps_take(&maps, SIZE_MAX, 0), 0);
	assert_int_equal(maps_take(&maps, 0, 0), 0);
	/* A part of one, in its middle, and its end. */
	assert_true(maps_drop(&maps, BASE + G, 2 * G));
	assert_int_equal(maps_take(&maps, 2 * G, 0), BASE + G);
	assert_true(maps_drop(&maps, BASE + 3 * G, G));
	assert_int_equal(maps_take(&maps, G, 0), BASE + 3 * G);
	assert_true(maps_drop(&maps, BASE, 10 * G));
	assert_int_equal(maps.count, 0);
	assert_int_equal(maps_take(&maps, 10 * G, 0), BASE);
	assert_true(maps_drop(&maps, BASE + 2 * G, 3 * G));
	assert_true(maps_have(&maps, BASE) && !maps_have(&maps, BASE + 10 * G));
	assert_int_equal(maps_take(&maps, 4 * G, 0), 0);
	assert_int_equal(maps_take(&maps, 3 * G, 0), BASE + 2 * G);
	/* No memory for the books. */
	maps_fini(&maps);
	maps_init(&maps, BASE, 10 * G);
	util_alloc_fail_after(1);
	assert_int_equal(maps_take(&maps, G, 0), 0);
	util_alloc_fail_after(0);
	maps_fini(&maps);
}

static void test_spaces_lie_where_they_always_do(void **state)
{
	struct space a, b, c;
	void *stranger;

	(void)state;
	if (!space_is_supported()) {
		assert_int_equal(space_open(&a, 0, 2, 100000), -ENOTSUP);
		return;
	}
	assert_int_equal(space_open(&a, 0, 2, 1 << 18), 0);
	assert_int_equal(space_open(&b, 1, 2, 1 << 18), 0);
	assert_int_equal((uintptr_t)a.stack, SPACE_BASE + MAPS_GRAIN);
	assert_int_equal((uintptr_t)b.stack, SPACE_BASE + space_bytes(2) + MAPS_GRAIN);
	assert_int_equal((uintptr_t)a.heap.base, SPACE_BASE + space_bytes(2) / 16);
	assert_int_equal(a.maps.all.start, SPACE_BASE + space_bytes(2) / 2);
	assert_true((uintptr_t)a.stack + a.stack_bytes <= (uintptr_t)a.heap.base);
	assert_true((uintptr_t)a.heap.end <= a.maps.all.start);
	assert_true(a.maps.all.end <= (uintptr_t)b.start);
	memset(a.stack, 1, a.stack_bytes);
	/* Twice the same is taken, and so is what somebody else has. */
	assert_int_equal(space_open(&c, 0, 2, 1 << 18), -EEXIST);
	space_close(&a);
	stranger = mmap((void *)SPACE_BASE, 4096, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	assert_int_equal(space_open(&a, 0, 2, 1 << 18), -EEXIST);
	space_close(&a);
	munmap(stranger, 4096);
	assert_int_equal(space_open(&a, 0, 2, 1 << 18), 0);
	space_close(&a);
	space_close(&b);
	assert_int_equal(space_open(&a, 0, UINT32_MAX, 1 << 18), -ENOSPC);
	for (uint32_t count = 1; space_bytes(count) > 0; count += count / 3 + 1)
		assert_true(space_bytes(count) <= SPACE_BYTES / count);
}

RUN(T(test_blocks_hold_what_was_asked_for), T(test_alignment),
    T(test_the_last_given_back_is_the_next), T(test_zeroed_where_asked_for),
    T(test_what_is_no_block_is_found), T(test_a_list_that_was_written_over_is_found),
    T(test_the_range_ends), T(test_random_blocks), T(test_mappings_take_the_lowest_place),
    T(test_spaces_lie_where_they_always_do))
