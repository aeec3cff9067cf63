/* SPDX-License-Identifier: BSD-2-Clause */
/* What a kernel has written before others see it, and how fast so many threads are. */
#include "gpu/device/kernel.h"

#include "tests/test.h"
#include "util/alloc.h"
#include "util/rand.h"

#include <errno.h>
#include <string.h>

enum { BYTES = 3 * 4096 };

static uint8_t memory[BYTES + 4096];

/* From the middle of one page to that of another, and two bytes of a third. */
static int write_some(struct overlay *overlay)
{
	static const uint8_t ones[BYTES] = {[0 ... BYTES - 1] = 1};
	int ret = overlay_write(overlay, memory + 100, ones, 4096);

	return ret ? ret : overlay_write(overlay, memory + BYTES - 1, ones, 2);
}

static bool is_written(size_t i)
{
	return (i >= 100 && i < 4196) || i == BYTES - 1 || i == BYTES;
}

static void test_writes_are_seen_by_the_writer_alone(void **state)
{
	struct overlay overlay = {.slots = NULL};
	uint8_t seen[sizeof(memory)];

	(void)state;
	memset(memory, 7, sizeof(memory));
	assert_int_equal(write_some(&overlay), 0);
	overlay_read(&overlay, seen, memory, sizeof(seen));
	for (size_t i = 0; i < sizeof(seen); i++) {
		assert_int_equal(memory[i], 7);
		assert_int_equal(seen[i], is_written(i) ? 1 : 7);
	}
	/* What others write beside it meanwhile stays. */
	memory[99] = memory[4196] = memory[BYTES + 1] = 9;
	memory[100] = 9;
	overlay_lay_down(&overlay);
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_equal(memory[i], is_written(i)			     ? 1
					    : i == 99 || i == 4196 || i == BYTES + 1 ? 9
										     : 7);
	assert_int_equal(overlay.count, 0);
}

/* As an array of bytes would have it, whatever overlaps. */
static void test_any_stretches(void **state)
{
	struct overlay overlay = {.slots = NULL};
	uint8_t model[sizeof(memory)], seen[300];
	struct util_rand rand = {.seed = 1};

	(void)state;
	memset(memory, 7, sizeof(memory));
	memcpy(model, memory, sizeof(model));
	for (uint32_t i = 0; i < 2000; i++) {
		const size_t bytes = util_rand_below(&rand, i % 2 ? 9 : sizeof(seen));
		const size_t at = util_rand_below(&rand, sizeof(memory) - sizeof(seen));

		if (i % 3 == 0) {
			overlay_read(&overlay, seen, memory + at, bytes);
			assert_memory_equal(seen, model + at, bytes);
			continue;
		}
		memset(model + at, (int)(i % 251), bytes);
		assert_int_equal(overlay_write(&overlay, memory + at, model + at, bytes), 0);
		assert_int_equal(memory[at], 7);
		if (i % 500 == 499) {
			overlay_lay_down(&overlay);
			assert_memory_equal(memory, model, sizeof(model));
			memset(memory, 7, sizeof(memory));
			memset(model, 7, sizeof(model));
		}
	}
	overlay_lay_down(&overlay);
	assert_memory_equal(memory, model, sizeof(model));
}

static void test_what_is_lost_is_not_in_memory(void **state)
{
	struct overlay overlay = {.slots = NULL};

	(void)state;
	memset(memory, 7, sizeof(memory));
	assert_int_equal(write_some(&overlay), 0);
	overlay_fini(&overlay);
	for (size_t i = 0; i < sizeof(memory); i++)
		assert_int_equal(memory[i], 7);
}

static void test_many_pages_are_found(void **state)
{
	enum { PAGES = 3000 };
	uint8_t *pages = calloc(PAGES, 4096);
	struct overlay overlay = {.slots = NULL};

	(void)state;
	assert_non_null(pages);
	for (uint32_t i = 0; i < PAGES; i++)
		assert_int_equal(overlay_write(&overlay, pages + 4096 * (size_t)i + i, &i, 4), 0);
	for (uint32_t i = 0, seen; i < PAGES; i++) {
		overlay_read(&overlay, &seen, pages + 4096 * (size_t)i + i, 4);
		assert_int_equal(seen, i);
	}
	overlay_fini(&overlay);
	free(pages);
}

static void test_memory_may_be_missing(void **state)
{
	struct overlay overlay = {.slots = NULL};
	unsigned int n = 0;
	int ret;

	(void)state;
	do {
		overlay_fini(&overlay);
		util_alloc_fail_after(++n);
		ret = write_some(&overlay);
		util_alloc_fail_after(0);
		assert_true(ret == 0 || ret == -ENOMEM);
	} while (ret != 0);
	assert_true(n > 3);
	overlay_fini(&overlay);
}

static uint64_t gbps(uint64_t threads, uint32_t width, bool writes)
{
	return gpu_kernel_rate(&gpu_h100, threads, width, writes) / 8 / 1000000000;
}

/* What was measured, between it, before it, and no more than all that run at once. */
static void test_rates_are_those_of_threads_at_once(void **state)
{
	(void)state;
	assert_int_equal(gbps(8 * 1024, 16, false), 325);
	assert_int_equal(gbps(132 * 1024, 16, true), 2918);
	assert_int_equal(gbps(12 * 1024, 16, false), (325700 + 638100) / 2000);
	assert_int_equal(gbps(1024, 16, false), 163100 / 4000);
	assert_int_equal(gbps(32 * 1024, 4, false), 325);
	assert_int_equal(gbps(1000000, 16, false), 2878);
	assert_int_equal(gbps(1000000, 4, false), gbps(132 * 2048, 4, false));
	assert_true(gpu_kernel_rate(&gpu_h100, 1, 1, false) > 0);
}

/* As cuStreamWaitValue32() and cuStreamWaitValue64() say it: (int32_t)(there - value) >= 0, there
 * == value, (there & value) != 0, ~(there | value) != 0. */
static void test_values_are_compared(void **state)
{
	static const struct {
		uint64_t there, value;
		uint8_t bytes;
		enum gpu_compare compare;
		bool holds;
	} rows[] = {{5, 5, 4, GPU_GEQ, true},
		    {4, 5, 4, GPU_GEQ, false},
		    {3, UINT32_MAX, 4, GPU_GEQ, true}, /* it has gone round */
		    {UINT32_MAX, 3, 4, GPU_GEQ, false},
		    {0x80000004, 5, 4, GPU_GEQ, true},
		    {0x80000005, 5, 4, GPU_GEQ, false},
		    {3, UINT32_MAX, 8, GPU_GEQ, false},
		    {3, UINT64_MAX, 8, GPU_GEQ, true},
		    {UINT64_MAX, 3, 8, GPU_GEQ, false},
		    {UINT64_C(7) << 32 | 5, 5, 4, GPU_EQ, true}, /* half of it is another's */
		    {UINT64_C(7) << 32 | 5, 5, 8, GPU_EQ, false},
		    {6, 2, 4, GPU_AND, true},
		    {5, 2, 4, GPU_AND, false},
		    {UINT64_C(1) << 40, UINT64_C(1) << 40, 8, GPU_AND, true},
		    {0xffff0000, 0xffff, 4, GPU_NOR, false},
		    {0xfffe0000, 0xffff, 4, GPU_NOR, true},
		    {0xffff0000, 0xffff, 8, GPU_NOR, true}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t there = rows[i].there;
		const struct gpu_value value = {.at = (uint8_t *)&there,
						.value = rows[i].value,
						.bytes = rows[i].bytes,
						.compare = rows[i].compare};

		assert_int_equal(gpu_has_value(&value), rows[i].holds);
	}
}

RUN(T(test_values_are_compared), T(test_writes_are_seen_by_the_writer_alone), T(test_any_stretches),
    T(test_what_is_lost_is_not_in_memory), T(test_many_pages_are_found),
    T(test_memory_may_be_missing), T(test_rates_are_those_of_threads_at_once))
