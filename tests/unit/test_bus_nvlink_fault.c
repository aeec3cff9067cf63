/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong on links of NVLink, and which others take what these do not. */
#include "tests/nvlink_world.h"

/* A burst of 4096 bytes over a link of 25 GB/s. */
#define BURST_TIME 174080

/* Two GPUs with two links, on which that goes wrong. */
static struct world *begin_with(const struct bus_fault *faults, uint32_t count, uint64_t seed)
{
	struct world *w = begin();

	(void)add_gpus(w, 2);
	join(w, 1, 2, link_of(2, 2));
	open_bus(w);
	w->local.seed = seed;
	bus_set_faults(w->bus, faults, count);
	return w;
}

static struct bus_fault down(uint16_t from, uint16_t to, uint8_t link, ps_t from_at, ps_t until_at)
{
	return (struct bus_fault){.from = from,
				  .to = to,
				  .is_nvlink = true,
				  .link = link,
				  .kind = BUS_DOWN,
				  .from_at = from_at,
				  .until_at = until_at};
}

/* Once it is back it has its share again. */
static void test_the_other_link_takes_all(void **state)
{
	const struct bus_fault fault = down(1, 2, 1, 0, 101 * BURST_TIME);
	struct world *w = begin_with(&fault, 1, 1);

	(void)state;
	send(w, 1, 2, 100, 4096);
	run(w);
	assert_int_equal(w->now, 100 * BURST_TIME);
	w->now = 101 * BURST_TIME;
	send(w, 1, 2, 100, 4096);
	run(w);
	assert_int_equal(w->now, 151 * BURST_TIME);
	assert_int_equal(bus_nvlink_stats(w->bus, 1, 2).bytes, 200 * 4096);
	close_bus(w);
}

/* The 26th is on it when it goes down, and comes through; 24 that wait for it take the other. */
static void test_what_waits_for_a_link_takes_the_other(void **state)
{
	const struct bus_fault fault = down(1, 2, 0, 51 * BURST_TIME / 2, PS_NEVER);
	struct world *w = begin_with(&fault, 1, 1);

	(void)state;
	send(w, 1, 2, 100, 4096);
	run(w);
	assert_int_equal(w->at[51], 26 * BURST_TIME);
	assert_int_equal(bus_nvlink_stats(w->bus, 1, 2).replays, 0);
	assert_int_equal(w->now, 74 * BURST_TIME);
	close_bus(w);
}

/* After 26 on either link nothing is left but PCI Express. */
static void test_pcie_takes_what_no_link_does(void **state)
{
	const struct bus_fault faults[] = {down(1, 2, 0, 51 * BURST_TIME / 2, PS_NEVER),
					   down(1, 2, 1, 51 * BURST_TIME / 2, PS_NEVER)};
	struct world *w = begin_with(faults, 2, 1);

	(void)state;
	send(w, 1, 2, 100, 4096);
	send(w, 2, 1, 10, 4096);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, 1, 2).bytes, 52 * 4096);
	assert_int_equal(bus_way_stats(w->bus, 1, 0).bytes, 48 * 4096);
	assert_int_equal(bus_nvlink_stats(w->bus, 2, 1).bytes, 10 * 4096);
	close_bus(w);
}

/* Two planes of one link, of which the first ends behind its switch: nothing goes there any more.
 * What was on its way sets out anew: both bursts whose head was in the switch by then. */
static void test_a_plane_that_ends_behind_its_switch(void **state)
{
	const struct bus_fault fault = down(3, 2, 0, 21 * BURST_TIME / 2, PS_NEVER);
	struct world *w = begin();

	(void)state;
	(void)add_gpus(w, 2);
	(void)add_nvswitches(w, 2);
	for (uint32_t i = 0; i < 2; i++)
		for (uint32_t s = 0; s < 2; s++)
			join(w, 1 + i, 3 + s, link_of(4, 1));
	w->lanes[w->lane_count - 4].delay = w->lanes[w->lane_count - 2].delay = BURST_TIME;
	open_bus(w);
	bus_set_faults(w->bus, &fault, 1);
	send(w, 1, 2, 100, 4096);
	run(w);
	assert_int_equal(bus_nvlink_stats(w->bus, 3, 2).bursts, 10);
	assert_int_equal(bus_nvlink_stats(w->bus, 1, 3).replays,
			 bus_nvlink_stats(w->bus, 1, 3).bursts - 10);
	assert_in_range(bus_nvlink_stats(w->bus, 1, 3).replays, 1, 2);
	assert_int_equal(bus_nvlink_stats(w->bus, 4, 2).bursts, 90);
	assert_int_equal(bus_way_stats(w->bus, 1, 0).bursts, 0);
	close_bus(w);
}

/* No plane leads there any more. */
static void test_planes_that_all_end(void **state)
{
	const struct bus_fault faults[] = {down(3, 2, 0, 0, PS_NEVER), down(4, 2, 0, 0, PS_NEVER)};
	struct world *w = begin();

	(void)state;
	(void)add_gpus(w, 2);
	(void)add_nvswitches(w, 2);
	for (uint32_t i = 0; i < 4; i++)
		join(w, 1 + i / 2, 3 + i % 2, link_of(4, 1));
	open_bus(w);
	bus_set_faults(w->bus, faults, 2);
	send(w, 1, 2, 100, 4096);
	run(w);
	assert_int_equal(bus_way_stats(w->bus, 1, 0).bytes, 100 * 4096);
	close_bus(w);
}

/* Bits are wrong at 10^-6, and bursts have 34,816: of 1800 some 63 are hit, and of these again
 * some. What is hit costs a round trip and a part of it, in no case more than its time anew; each
 * link keeps its order. */
static uint64_t with_errors(uint64_t seed)
{
	struct bus_fault faults[] = {down(1, 2, 0, 0, PS_NEVER), down(1, 2, 1, 0, PS_NEVER)};
	struct world *w;
	uint64_t replays;

	for (int i = 0; i < 2; i++) {
		faults[i].kind = BUS_ERRORS;
		faults[i].errors_ppt = 1000000;
		faults[i].id = 7 + (uint64_t)i;
	}
	w = begin_with(faults, 2, seed);
	send(w, 1, 2, 1800, 4096);
	run(w);
	for (uint32_t i = 2; i < 1800; i++)
		assert_true(w->at[i] >= w->at[i - 2] + BURST_TIME);
	replays = bus_nvlink_stats(w->bus, 1, 2).replays;
	assert_in_range(replays, 40, 90);
	assert_in_range(w->now, 900 * BURST_TIME + 1, (900 + replays) * BURST_TIME);
	replays = replays << 48 | w->now;
	close_bus(w);
	return replays;
}

static void test_what_is_hit_goes_again_in_order(void **state)
{
	const uint64_t first = with_errors(1);

	(void)state;
	assert_true(with_errors(1) == first);
	assert_true(with_errors(2) != first);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_other_link_takes_all),
		cmocka_unit_test(test_what_waits_for_a_link_takes_the_other),
		cmocka_unit_test(test_pcie_takes_what_no_link_does),
		cmocka_unit_test(test_a_plane_that_ends_behind_its_switch),
		cmocka_unit_test(test_planes_that_all_end),
		cmocka_unit_test(test_what_is_hit_goes_again_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
