/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a GPU's memory is given out: as measured on an H100. */
#include "gpu/device/memory.h"

#include "tests/test.h"

#include <errno.h>
#include <stdbool.h>

#define BASE ((uint64_t)1 << 40)
#define MIB ((uint64_t)1 << 20)

static struct gpu_memory memory;

static int setup(void **state)
{
	(void)state;
	gpu_memory_init(&memory, BASE, 64 * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpu_memory_fini(&memory);
	return 0;
}

static uint64_t take(uint64_t bytes)
{
	uint64_t address;

	assert_int_equal(gpu_memory_take(&memory, bytes, NULL, &address), 0);
	return address;
}

static void drop(uint64_t address)
{
	assert_int_equal(gpu_memory_drop(&memory, address), 0);
}

/* 4096 allocations of one byte in a block, and the next one in another. */
static void test_small_ones_share_a_block(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4096; i++)
		assert_int_equal(take(1), BASE + 512 * i);
	assert_int_equal(gpu_memory_free_bytes(&memory), 62 * MIB);
	assert_int_equal(take(1), BASE + 2 * MIB);
	assert_int_equal(gpu_memory_free_bytes(&memory), 60 * MIB);
}

/* After the second and the fourth are gone the next takes the place of the second. */
static void test_first_fit_from_the_bottom(void **state)
{
	uint64_t places[5];

	(void)state;
	for (int i = 0; i < 5; i++)
		places[i] = take(100000);
	drop(places[3]);
	drop(places[1]);
	assert_int_equal(take(100000), places[1]);
	assert_int_equal(take(100001 + 511), BASE + 5 * 100352);
	assert_int_equal(take(100000), places[3]);
}

static void test_large_ones_take_blocks(void **state)
{
	(void)state;
	assert_int_equal(take(MIB + 1), BASE);
	assert_int_equal(take(2 * MIB + 1), BASE + 2 * MIB);
	assert_int_equal(take(4 * MIB + 1), BASE + 6 * MIB);
	assert_int_equal(take(MIB), BASE + 12 * MIB);
	assert_int_equal(take(MIB), BASE + 13 * MIB);
	assert_int_equal(gpu_memory_free_bytes(&memory), 50 * MIB);
}

/* A small one does not go behind a large one into its last block. */
static void test_kinds_share_no_block(void **state)
{
	uint64_t small;

	(void)state;
	small = take(4096);
	assert_int_equal(take(MIB + 1), BASE + 2 * MIB);
	assert_int_equal(take(4096), BASE + 4096);
	drop(small);
	assert_int_equal(take(3 * MIB), BASE + 4 * MIB);
}

static void test_what_is_full(void **state)
{
	uint64_t address, all;

	(void)state;
	assert_int_equal(gpu_memory_take(&memory, 0, NULL, &address), -EINVAL);
	assert_int_equal(gpu_memory_take(&memory, UINT64_MAX, NULL, &address), -ENOSPC);
	assert_int_equal(gpu_memory_take(&memory, 64 * MIB + 1, NULL, &address), -ENOSPC);
	all = take(64 * MIB);
	assert_int_equal(gpu_memory_take(&memory, 1, NULL, &address), -ENOSPC);
	assert_int_equal(gpu_memory_free_bytes(&memory), 0);
	drop(all);
	assert_int_equal(gpu_memory_free_bytes(&memory), 64 * MIB);
}

/* Within what was asked for, and not behind it in its grain. */
static void test_what_an_address_belongs_to(void **state)
{
	const uint64_t a = take(100), b = take(513);

	(void)state;
	assert_int_equal(gpu_memory_find(&memory, a + 99)->address, a);
	assert_null(gpu_memory_find(&memory, a + 100));
	assert_int_equal(gpu_memory_find(&memory, b)->bytes, 513);
	assert_null(gpu_memory_find(&memory, BASE - 1));
	assert_null(gpu_memory_find(&memory, b + 513));
	assert_int_equal(gpu_memory_drop(&memory, a + 1), -ENOENT);
	assert_int_equal(gpu_memory_drop(&memory, b + 512), -ENOENT);
	drop(a);
	assert_int_equal(gpu_memory_drop(&memory, a), -ENOENT);
	assert_null(gpu_memory_find(&memory, a));
	assert_true(gpu_memory_has(&memory, BASE + 64 * MIB - 1));
	assert_false(gpu_memory_has(&memory, BASE + 64 * MIB));
	assert_false(gpu_memory_has(&memory, BASE - 1));
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_small_ones_share_a_block), S(test_first_fit_from_the_bottom),
    S(test_large_ones_take_blocks), S(test_kinds_share_no_block), S(test_what_is_full),
    S(test_what_an_address_belongs_to))
