/* SPDX-License-Identifier: BSD-2-Clause */
/* Where pages of managed memory are, which faults walks over them make, and what those take: as
 * measured on an H100 (facts of the machine, section 10). */
#include "gpu/device/gpu.h"
#include "gpu/device/managed.h"

#include "tests/test.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define BASE ((uint64_t)1 << 40)
#define MIB ((uint64_t)1 << 20)

enum { PAGE = 4096, PAGES = 512, LOG = 64, GPU = 1, OTHER = 2 };

static struct gpu_managed managed;
static struct {
	uint32_t count;
	uint32_t page[LOG], bytes[LOG]; /* that was touched, and what came */
} faults;
static uint32_t touched;	/* the page */
static uint8_t access_of[2048]; /* of a CPU */

static void on_fault(struct gpu_managed *m, uint32_t who, uint64_t address, uint64_t bytes,
		     ps_t now)
{
	(void)m, (void)who, (void)address, (void)now;
	assert_in_range(faults.count, 0, LOG - 1);
	faults.page[faults.count] = touched;
	faults.bytes[faults.count++] = (uint32_t)(bytes / PAGE);
}

static void protect(struct gpu_managed *m, uint64_t address, uint64_t bytes, enum gpu_access access)
{
	(void)m;
	assert_int_equal(address % PAGE, 0);
	assert_int_equal(bytes % PAGE, 0);
	memset(access_of + (address - BASE) / PAGE, (int)access, bytes / PAGE);
}

static struct {
	uint64_t first, bytes;
} forgotten;

static void forget(struct gpu_managed *m, uint64_t address, uint64_t bytes)
{
	(void)m;
	forgotten.first = address;
	forgotten.bytes = bytes;
}

static int setup(void **state)
{
	(void)state;
	assert_int_equal(gpu_managed_init(&managed, BASE, 64 * MIB), 0);
	managed.on_fault = on_fault;
	managed.protect = protect;
	managed.forget = forget;
	memset(&faults, 0, sizeof(faults));
	memset(access_of, 0, sizeof(access_of));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	gpu_managed_fini(&managed);
	return 0;
}

static uint64_t take(uint64_t bytes)
{
	uint64_t address = 0;

	assert_int_equal(gpu_managed_take(&managed, bytes, &address), 0);
	return address;
}

static ps_t range_time(uint32_t who, uint64_t offset, uint64_t bytes, bool is_write, ps_t now)
{
	struct gpu_touch one = {
		.who = who, .by = who == GPU_CPU ? GPU_BY_CPU : GPU_BY_ENGINE, .now = now};

	gpu_managed_touch(&managed, &one, BASE + offset, bytes, is_write);
	return one.time + gpu_managed_there_time(&one);
}

/* In ns. */
static uint64_t touch_at(uint32_t who, uint32_t page, bool is_write, ps_t now)
{
	touched = page;
	return range_time(who, (uint64_t)page * PAGE, 4, is_write, now) / PS_NS;
}

static uint64_t touch(uint32_t who, uint32_t page, bool is_write)
{
	return touch_at(who, page, is_write, PS_S);
}

static void prefetch(uint32_t who, uint64_t offset, uint64_t bytes)
{
	gpu_managed_prefetch(&managed, &(struct gpu_touch){.who = who}, BASE + offset, bytes);
}

static void all_at(uint32_t who, uint64_t bytes)
{
	prefetch(who, 0, bytes);
}

static void assert_faults(uint32_t count, const uint32_t *pages, const uint32_t *bytes)
{
	assert_int_equal(faults.count, count);
	for (uint32_t i = 0; i < count; i++) {
		assert_int_equal(faults.page[i], pages[i]);
		assert_int_equal(faults.bytes[i], bytes[i]);
	}
	faults.count = 0;
}

static const uint32_t in_order[] = {0, 16, 32, 64, 128, 256, 512, 528, 544, 576, 640, 768};
static const uint32_t sizes[] = {16, 16, 32, 64, 128, 256, 16, 16, 32, 64, 128, 256};

/* 12 faults in 4 MiB, at the same places whoever walks and whoever had it. */
static void test_walk_in_order(void **state)
{
	const uint32_t who[] = {GPU, GPU_CPU, GPU};

	(void)state;
	(void)take(4 * MIB);
	for (int round = 0; round < 3; round++) {
		for (uint32_t page = 0; page < 2 * PAGES; page++)
			(void)touch(who[round], page, round == 1);
		assert_faults(12, in_order, sizes);
	}
	assert_int_equal(managed.counts[GPU].populated, 4 * MIB);
	assert_int_equal(managed.counts[GPU].moved, 4 * MIB);
	assert_int_equal(managed.counts[GPU].faults, 24);
	assert_int_equal(managed.counts[GPU_CPU].moved, 4 * MIB);
}

static void test_walk_backwards(void **state)
{
	static const uint32_t pages[] = {511, 495, 479, 447, 383, 255};

	(void)state;
	(void)take(2 * MIB);
	for (uint32_t page = PAGES; page-- > 0;)
		(void)touch(GPU, page, false);
	assert_faults(6, pages, sizes);
}

/* The third of four leaves brings the fourth; two of four do not, be they neighbours or not. */
static void test_three_of_four(void **state)
{
	static const uint32_t pages[] = {5, 40, 16}, bytes[] = {16, 16, 32};

	(void)state;
	(void)take(2 * MIB);
	(void)touch(GPU, 5, true);
	(void)touch(GPU, 40, true);
	(void)touch(GPU, 16, true); /* leaf 1: and 3 */
	(void)touch(GPU, 63, true);
	assert_faults(3, pages, bytes);
}

/* Half of it is not more than 51 %: 16 leaves of 32, and the seventeenth brings the rest. */
static void test_half_is_not_enough(void **state)
{
	(void)state;
	(void)take(2 * MIB);
	prefetch(GPU, 0, MIB - 64 * 1024);
	(void)touch(GPU, 255, false); /* leaf 15: 16 of 32 */
	assert_int_equal(faults.bytes[0], 16);
	(void)touch(GPU, 511, false); /* 17 of 32 */
	assert_int_equal(faults.bytes[1], 256);
}

/* Of another processor nothing counts. */
static void test_a_tree_for_each(void **state)
{
	(void)state;
	(void)take(2 * MIB);
	all_at(OTHER, 2 * MIB);
	(void)touch(GPU, 100, true);
	assert_int_equal(faults.bytes[0], 16);
	assert_int_equal(gpu_managed_missing(&managed, OTHER, BASE, 2 * MIB), 64 * 1024);
	assert_int_equal(gpu_managed_missing(&managed, GPU, BASE, 2 * MIB), 2 * MIB - 64 * 1024);
	(void)touch(GPU_CPU, 100, true);
	assert_int_equal(faults.bytes[1], 16);
	assert_int_equal(gpu_managed_missing(&managed, GPU, BASE, 2 * MIB), 2 * MIB);
}

/* What was seen from run to run, in us: from, to. */
static void assert_us(uint64_t ns, uint64_t from, uint64_t to)
{
	assert_in_range(ns, from * 1000, to * 1000);
}

static void test_times_of_a_gpu(void **state)
{
	static const uint32_t measured[6][2] = {{103, 155}, {34, 71}, {41, 59},
						{39, 62},   {48, 83}, {77, 111}};

	(void)state;
	(void)take(4 * MIB);
	all_at(GPU_CPU, 2 * MIB);
	for (int i = 0; i < 6; i++)
		assert_us(touch(GPU, in_order[i], false), measured[i][0], measured[i][1]);
	for (int i = 0; i < 6; i++) /* nobody had it */
		assert_us(touch(GPU, in_order[6 + i], true), 28, 78);
	assert_int_equal(touch(GPU, 3, true), 0);
}

static void test_times_of_a_cpu(void **state)
{
	/* 22 us and 0.13 us a KiB; and of what nobody had, measured. */
	static const uint32_t ns[6] = {30320, 30320, 38640, 55280, 88560, 155120};
	static const uint32_t fresh[6][2] = {{200, 230}, {13, 15}, {18, 21},
					     {32, 34},	 {57, 60}, {109, 113}};

	(void)state;
	(void)take(4 * MIB);
	all_at(GPU, 2 * MIB);
	for (int i = 0; i < 6; i++)
		assert_int_equal(touch(GPU_CPU, in_order[i], i & 1), ns[i]);
	for (int i = 0; i < 6; i++)
		assert_us(touch(GPU_CPU, in_order[6 + i], true), fresh[i][0], fresh[i][1]);
}

/* 64 MiB at once: GB/s as measured, within 15 %. */
static uint64_t gbps_of_all(uint32_t who, bool is_write)
{
	const ps_t time = range_time(who, 0, 64 * MIB, is_write, PS_S);

	faults.count = 0;
	return 64 * MIB * 1000000 / time; /* in MB/s */
}

static void test_all_at_once(void **state)
{
	(void)state;
	managed.on_fault = NULL;
	managed.protect = NULL;
	(void)take(64 * MIB);
	assert_in_range(gbps_of_all(GPU, true), 9095, 12305); /* nobody had it: 10.7 */
	gpu_managed_fini(&managed);
	(void)setup(state);
	managed.on_fault = NULL;
	managed.protect = NULL;
	(void)take(64 * MIB);
	all_at(GPU_CPU, 64 * MIB);
	assert_in_range(gbps_of_all(GPU, true), 6290, 8510); /* the CPU had it: 7.4 */
}

/* From the call to where it is known to be over, beside the prefetch. */
#define COMMAND (5300 * PS_NS)

/* GB/s within 15 %. */
static uint64_t prefetch_mbps(uint32_t who, uint64_t bytes)
{
	return bytes * 1000000 / (gpu_managed_prefetch_time(who, bytes, bytes) + COMMAND);
}

static void test_prefetch(void **state)
{
	(void)state;
	(void)take(4 * MIB);
	assert_in_range(prefetch_mbps(GPU, 64 << 10), 2465, 3335);
	assert_in_range(prefetch_mbps(GPU, 2 * MIB), 22100, 29900);
	assert_in_range(prefetch_mbps(GPU, 4 * MIB), 30600, 41400);
	assert_in_range(prefetch_mbps(GPU, 64 * MIB), 41650, 56350);
	assert_in_range(prefetch_mbps(GPU, 1024 * MIB), 41650, 56350);
	assert_in_range(prefetch_mbps(GPU_CPU, 64 << 10), 2465, 3335);
	assert_in_range(prefetch_mbps(GPU_CPU, 2 * MIB), 6970, 9430);
	assert_in_range(prefetch_mbps(GPU_CPU, 4 * MIB), 8415, 11385);
	assert_in_range(prefetch_mbps(GPU_CPU, 64 * MIB), 8755, 11845);
	assert_int_equal(gpu_managed_prefetch_time(GPU, 0, 2 * MIB), 100 * PS_NS);
	assert_int_equal(gpu_managed_prefetch_time(GPU, 0, 12 * MIB), 12100 * PS_NS);
	/* Of whole pages, and those alone. */
	prefetch(GPU, 100, 4096);
	assert_int_equal(gpu_managed_missing(&managed, GPU, BASE, 4 * MIB), 4 * MIB - 8192);
	(void)touch(GPU, 1, true);
	assert_int_equal(faults.count, 0);
}

/* What is mostly read is with all who read it, until somebody writes. */
static void test_read_mostly(void **state)
{
	(void)state;
	(void)take(2 * MIB);
	all_at(GPU_CPU, 2 * MIB);
	assert_int_equal(access_of[20], GPU_ACCESS_WRITE);
	gpu_managed_advise(&managed, BASE, 2 * MIB, GPU_READ_MOSTLY, 0);
	(void)touch(GPU, 20, false);
	assert_int_equal(managed.counts[GPU].copied, 64 << 10);
	assert_int_equal(access_of[20], GPU_ACCESS_READ);
	assert_int_equal(access_of[40], GPU_ACCESS_WRITE);
	assert_int_equal(touch(GPU_CPU, 20, false), 0);
	assert_us(touch(GPU, 20, true), 36, 44); /* 40 us a page */
	assert_int_equal(managed.counts[GPU].collapsed, 1);
	assert_int_equal(access_of[20], GPU_ACCESS_NONE);
	assert_int_equal(access_of[21], GPU_ACCESS_READ);
	assert_us(touch(GPU_CPU, 21, true), 13, 15);
	assert_int_equal(access_of[21], GPU_ACCESS_WRITE);
	assert_true(touch(GPU, 21, false) > 0);
	/* A write brings its page alone. */
	assert_int_equal(gpu_managed_missing(&managed, GPU, BASE, 2 * MIB), 2 * MIB - 65536);
	assert_us(touch(GPU, 400, true), 36, 44);
	assert_int_equal(gpu_managed_missing(&managed, GPU, BASE, 2 * MIB), 2 * MIB - 65536 - 4096);
}

/* What prefers the host's memory stays there, a page a fault, and is reached over the bus. */
static void test_preferred_cpu(void **state)
{
	static const uint32_t pages[] = {0, 1, 16}, bytes[] = {0, 0, 0};

	(void)state;
	(void)take(2 * MIB);
	gpu_managed_advise(&managed, BASE, 2 * MIB, GPU_PREFERRED, GPU_CPU);
	all_at(GPU_CPU, MIB);
	assert_us(touch(GPU, 0, false), 12, 12);
	(void)touch(GPU, 1, true);
	(void)touch(GPU, 16, false);
	assert_us(touch(GPU, 0, true), 0, 0);
	assert_faults(3, pages, bytes);
	assert_int_equal(managed.counts[GPU].mapped, 3);
	assert_int_equal(managed.counts[GPU].moved, 0);
	assert_int_equal(access_of[0], GPU_ACCESS_WRITE);
	/* Nobody had it: it comes to the host. */
	(void)touch(GPU, 300, true);
	assert_int_equal(managed.counts[GPU_CPU].populated, MIB + 4096);
	assert_int_equal(access_of[300], GPU_ACCESS_WRITE);
	assert_int_equal(touch(GPU_CPU, 300, true), 0);
	/* 4096 bytes at 49 GB/s. */
	assert_int_equal(range_time(GPU, 0, 4096, false, PS_S), 83592);
	gpu_managed_advise(&managed, BASE, 2 * MIB, GPU_UNSET_PREFERRED, 0);
	(void)touch(GPU, 17, false);
	assert_int_equal(managed.counts[GPU].moved, 64 << 10);
}

/* It is mapped at once, and again where it comes back. */
static void test_accessed_by(void **state)
{
	(void)state;
	(void)take(2 * MIB);
	all_at(GPU_CPU, 2 * MIB);
	gpu_managed_advise(&managed, BASE, 2 * MIB, GPU_ACCESSED_BY, GPU);
	(void)touch(GPU, 7, true);
	assert_int_equal(managed.counts[GPU].faults, 0);
	(void)touch(OTHER, 7, true);
	assert_int_equal(managed.counts[OTHER].faults, 1);
	(void)touch(GPU_CPU, 7, true);
	(void)touch(GPU, 7, true);
	assert_int_equal(managed.counts[GPU].faults, 0);
	gpu_managed_advise(&managed, BASE, 2 * MIB, GPU_UNSET_ACCESSED_BY, GPU);
	(void)touch(GPU, 7, true);
	assert_int_equal(managed.counts[GPU].faults, 1);
}

/* Every fourth round of a ping-pong has to wait, and in the end the page stays. */
static void test_thrashing(void **state)
{
	uint32_t waits[10] = {0}, count = 0;
	ps_t now = PS_S;

	(void)state;
	(void)take(2 * MIB);
	managed.on_fault = NULL;
	all_at(GPU_CPU, 4096);
	for (uint32_t round = 0; count < 10; round++) {
		const uint64_t ns = touch_at(GPU, 0, true, now);

		if (ns >= 500000)
			waits[count++] = round;
		now += ns * PS_NS;
		now += touch_at(GPU_CPU, 0, true, now) * PS_NS;
	}
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(waits[i], 3 + 4 * i);
	assert_int_equal(managed.counts[GPU].throttled, 10);
	assert_int_equal(managed.counts[GPU].pinned, 1);
	assert_us(touch_at(GPU, 0, true, now), 12, 12);
	assert_int_equal(touch_at(GPU_CPU, 0, true, now), 0);
	/* Who comes later than 500 us does not wait. */
	now += 301 * PS_MS;
	gpu_managed_advise(&managed, BASE, 4096, GPU_UNSET_ACCESSED_BY, GPU); /* not mapped now */
	for (int i = 0; i < 20; i++, now += 501 * PS_US) {
		assert_us(touch_at(GPU, 0, true, now), 30, 60);
		(void)touch_at(GPU_CPU, 0, true, now);
	}
	/* Nor does it count that it came soon before that. */
	for (int i = 0; i < 20; i++, now += i % 3 == 2 ? 501 * PS_US : 100 * PS_US) {
		assert_us(touch_at(GPU, 0, true, now), 30, 60);
		(void)touch_at(GPU_CPU, 0, true, now);
	}
}

/* In steps of 512 bytes; what is given back is nowhere, but for pages that others are in. */
static void test_given_out_and_back(void **state)
{
	uint64_t a, b;

	(void)state;
	a = take(6000);
	b = take(600);
	assert_int_equal(b, a + 6144);
	assert_true(gpu_managed_has(&managed, a, 6000));
	assert_false(gpu_managed_has(&managed, a, 6001));
	assert_false(gpu_managed_has(&managed, a + 6000, 1));
	assert_false(gpu_managed_has(&managed, BASE - 1, 1));
	(void)touch(GPU_CPU, 0, true);
	assert_int_equal(gpu_managed_drop(&managed, a + 512), -ENOENT);
	assert_int_equal(gpu_managed_drop(&managed, a), 0);
	assert_int_equal(forgotten.first, a);
	assert_int_equal(forgotten.bytes, 4096);
	assert_int_equal(access_of[0], GPU_ACCESS_NONE);
	assert_int_equal(access_of[1], GPU_ACCESS_WRITE);
	assert_int_equal(gpu_managed_drop(&managed, b), 0);
	assert_int_equal(forgotten.first, a + 4096);
	assert_int_equal(forgotten.bytes, 4096);
	assert_int_equal(gpu_managed_missing(&managed, GPU_CPU, a, 8192), 8192);
	assert_int_equal(gpu_managed_free_time(64 * MIB) / PS_US, 795);
}

/* A fault brings a leaf, of which the allocation is but a part: all of it goes with that, and what
 * the block had of the GPU's memory. */
static void test_what_came_around_goes_too(void **state)
{
	static struct gpu gpu;
	uint64_t a;

	(void)state;
	gpu_memory_init(&gpu.memory, BASE + 64 * MIB, 8 * MIB);
	managed.gpus[1] = &gpu;
	a = take(6000);
	(void)touch(1, 0, true);
	assert_int_equal(gpu_managed_missing(&managed, 1, a, 16 * PAGE), 0);
	assert_int_equal(gpu.memory.lent, 2 * MIB);
	assert_int_equal(gpu_managed_drop(&managed, a), 0);
	assert_int_equal(gpu.memory.lent, 0);
	assert_null(managed.used[1].first);
	assert_null(managed.used[1].last);
	assert_null(managed.unused[1].first);
	assert_null(managed.unused[1].last);
	assert_int_equal(take(16 * PAGE), a);
	assert_int_equal(gpu_managed_missing(&managed, 1, a, 16 * PAGE), 16 * PAGE);
	managed.gpus[1] = NULL;
	gpu_memory_fini(&gpu.memory);
}

#define S(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN(S(test_walk_in_order), S(test_walk_backwards), S(test_three_of_four),
    S(test_half_is_not_enough), S(test_a_tree_for_each), S(test_times_of_a_gpu),
    S(test_times_of_a_cpu), S(test_all_at_once), S(test_prefetch), S(test_read_mostly),
    S(test_preferred_cpu), S(test_accessed_by), S(test_thrashing), S(test_given_out_and_back),
    S(test_what_came_around_goes_too))
