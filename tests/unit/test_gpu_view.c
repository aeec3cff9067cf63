/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses that show memory of GPUs: where stretches of them lie, and what they show. */
#include "gpu/device/view.h"

#include "tests/test.h"

#include <errno.h>

#define BASE ((uint64_t)1 << 42)
#define MIB ((uint64_t)1 << 20)

static struct gpu_views views;
/* Two that are told apart by where they are. */
static char places[2];
#define FIRST ((struct gpu *)&places[0])
#define SECOND ((struct gpu *)&places[1])

static int setup(void **state)
{
	(void)state;
	gpu_views_init(&views, BASE, 64 * MIB);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpu_views_fini(&views);
	return 0;
}

/* Where they lie, in MiB behind BASE. */
static uint64_t reserve(uint64_t mib, uint64_t align_mib, uint64_t wish)
{
	const struct gpu_stretch stretch = {.bytes = mib * MIB};
	uint64_t address;

	assert_int_equal(gpu_views_reserve(&views, &stretch, align_mib * MIB, wish, &address), 0);
	assert_int_equal(address % MIB, 0);
	return (address - BASE) / MIB;
}

static void stretches_lie_at_the_first_place_that_is_free(void **state)
{
	const struct gpu_stretch large = {.bytes = 63 * MIB}, all = {.bytes = 65 * MIB};
	uint64_t address = 1;

	(void)state;
	assert_int_equal(gpu_views_reserve(&views, &all, MIB, 0, &address), -ENOSPC);
	assert_int_equal(reserve(2, 2, 0), 0);
	assert_int_equal(reserve(3, 2, 0), 2);
	assert_int_equal(reserve(4, 4, 0), 8);
	assert_int_equal(reserve(1, 1, 0), 5);
	assert_int_equal(reserve(2, 1, 0), 6);
	assert_int_equal(gpu_views_reserve(&views, &large, MIB, 0, &address), -ENOSPC);
	gpu_views_give_back(&views, BASE + 2 * MIB);
	assert_int_equal(reserve(4, 1, 0), 12);
	assert_int_equal(reserve(3, 1, 0), 2);
	assert_int_equal(reserve(48, 16, 0), 16);
	assert_int_equal(
		gpu_views_reserve(&views, &(struct gpu_stretch){.bytes = MIB}, MIB, 0, &address),
		-ENOSPC);
}

static void a_wish_is_granted_where_it_is_free(void **state)
{
	(void)state;
	assert_int_equal(reserve(4, 2, BASE + 32 * MIB), 32);
	assert_int_equal(reserve(2, 2, BASE + 36 * MIB), 36);
	assert_int_equal(reserve(2, 2, BASE + 34 * MIB), 0);
	assert_int_equal(reserve(2, 2, BASE + 31 * MIB), 2);
	assert_int_equal(reserve(4, 2, BASE + 30 * MIB), 4);
	assert_int_equal(reserve(2, 2, BASE + 30 * MIB), 30);
	assert_int_equal(reserve(2, 2, BASE + 64 * MIB), 8);
	assert_int_equal(reserve(2, 2, BASE - 2 * MIB), 10);
}

static void an_address_lies_in_one_stretch(void **state)
{
	(void)state;
	assert_null(gpu_views_stretch(&views, BASE));
	reserve(2, 1, BASE + 4 * MIB);
	reserve(2, 1, BASE + 8 * MIB);
	assert_null(gpu_views_stretch(&views, BASE + 4 * MIB - 1));
	assert_int_equal(gpu_views_stretch(&views, BASE + 4 * MIB)->address, BASE + 4 * MIB);
	assert_int_equal(gpu_views_stretch(&views, BASE + 6 * MIB - 1)->address, BASE + 4 * MIB);
	assert_null(gpu_views_stretch(&views, BASE + 6 * MIB));
	assert_int_equal(gpu_views_stretch(&views, BASE + 8 * MIB)->address, BASE + 8 * MIB);
	assert_true(gpu_views_have(&views, BASE) && gpu_views_have(&views, BASE + 64 * MIB - 1));
	assert_false(gpu_views_have(&views, BASE + 64 * MIB) || gpu_views_have(NULL, BASE));
}

static struct gpu_view *show(uint64_t at, uint64_t mib, struct gpu *gpu, uint64_t target)
{
	const struct gpu_view view = {
		.address = BASE + at * MIB, .bytes = mib * MIB, .gpu = gpu, .target = target};
	struct gpu_view *added = gpu_views_add(&views, &view);

	assert_non_null(added);
	return added;
}

static void views_are_found_by_what_lies_in_them(void **state)
{
	struct gpu_view *last, *first, *middle;

	(void)state;
	assert_null(gpu_views_behind(&views, BASE));
	last = show(20, 2, FIRST, 0);
	first = show(0, 2, FIRST, 0);
	middle = show(10, 2, SECOND, 0);
	assert_ptr_equal(gpu_views_find(&views, BASE), first);
	assert_ptr_equal(gpu_views_find(&views, BASE + 2 * MIB - 1), first);
	assert_null(gpu_views_find(&views, BASE + 2 * MIB));
	assert_ptr_equal(gpu_views_behind(&views, BASE + 2 * MIB - 1), first);
	assert_ptr_equal(gpu_views_behind(&views, BASE + 2 * MIB), middle);
	assert_ptr_equal(gpu_views_find(&views, BASE + 11 * MIB), middle);
	gpu_views_remove(&views, middle);
	assert_null(gpu_views_find(&views, BASE + 11 * MIB));
	assert_ptr_equal(gpu_views_behind(&views, BASE + 2 * MIB), last);
	assert_null(gpu_views_behind(&views, BASE + 22 * MIB));
}

/* Of what lies in a row only that is one piece of memory whose targets do, too. */
static void what_views_show_is_one_piece_of_memory(void **state)
{
	struct gpu_view *second;
	struct gpu *gpu;
	uint64_t target;

	(void)state;
	reserve(16, 1, 0);
	show(0, 2, FIRST, 100 * MIB);
	second = show(2, 2, FIRST, 102 * MIB);
	show(4, 2, FIRST, 200 * MIB);
	show(6, 2, SECOND, 202 * MIB);
	assert_true(gpu_views_resolve(&views, BASE + MIB, 3 * MIB, &gpu, &target));
	assert_ptr_equal(gpu, FIRST);
	assert_int_equal(target, 101 * MIB);
	assert_false(gpu_views_resolve(&views, BASE + MIB, 3 * MIB + 1, &gpu, &target));
	assert_false(gpu_views_resolve(&views, BASE + 5 * MIB, 2 * MIB, &gpu, &target));
	assert_true(gpu_views_resolve(&views, BASE + 6 * MIB, 2 * MIB, &gpu, &target));
	assert_ptr_equal(gpu, SECOND);
	assert_false(gpu_views_resolve(&views, BASE + 7 * MIB, 2 * MIB, &gpu, &target));
	assert_false(gpu_views_resolve(&views, BASE + 9 * MIB, 1, &gpu, &target));
	second->is_closed = true;
	assert_false(gpu_views_resolve(&views, BASE + MIB, 3 * MIB, &gpu, &target));
	assert_true(gpu_views_resolve(&views, BASE + MIB, MIB, &gpu, &target));
}

static void a_stretch_of_one_gpu_shows_all_of_it(void **state)
{
	const struct gpu_stretch stretch = {.bytes = 4 * MIB, .gpu = SECOND, .target = 7 * MIB};
	uint64_t address, target;
	struct gpu *gpu;

	(void)state;
	assert_int_equal(gpu_views_reserve(&views, &stretch, MIB, 0, &address), 0);
	assert_true(gpu_views_resolve(&views, address + MIB, 3 * MIB, &gpu, &target));
	assert_ptr_equal(gpu, SECOND);
	assert_int_equal(target, 8 * MIB);
	assert_false(gpu_views_resolve(&views, address + MIB, 3 * MIB + 1, &gpu, &target));
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(stretches_lie_at_the_first_place_that_is_free), S(a_wish_is_granted_where_it_is_free),
    S(an_address_lies_in_one_stretch), S(views_are_found_by_what_lies_in_them),
    S(what_views_show_is_one_piece_of_memory), S(a_stretch_of_one_gpu_shows_all_of_it))
