/* SPDX-License-Identifier: BSD-2-Clause */
/* What lanes and tags of a machine have done up to an instant that is nobody's event. */
#include "gpu/bus/bus.h"

#include "tests/test.h"

#include <string.h>

enum { CPU, SWITCH, NIC, PARTS, BURSTS = 8 };

#define SWITCH_TIME (110 * PS_NS)
#define CPU_TIME (200 * PS_NS)
#define CABLE (3 * PS_NS)

struct world {
	struct sim_local local;
	struct bus *bus;
	struct bus_burst bursts[BURSTS];
	uint32_t arrived;
};

static void stats_on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	(void)burst, (void)now;
	w->arrived++;
}

static const struct bus_burst_ops ops = {.arrived = stats_on_arrived};

/* Generation 3 x8: a byte takes 8 x 130 / (128 x 8 x 8) ns = 126.953125 ps. */
static ps_t bytes_time(uint64_t bytes)
{
	return (bytes * 126953125 + 999999) / 1000000;
}

/* The switch between the CPU and the adapter. @headers of posted writes: 0: without end. */
static void open_chain(struct world *w, uint32_t tags, uint32_t headers)
{
	const struct bus_part_params parts[PARTS] = {[CPU] = {.latency = CPU_TIME},
						     [SWITCH] = {.latency = SWITCH_TIME},
						     [NIC] = {.tags = tags}};
	struct bus_lane_params lanes[] = {{.a = CPU, .b = SWITCH}, {.a = SWITCH, .b = NIC}};

	for (int i = 0; i < 2; i++) {
		lanes[i].delay = CABLE;
		lanes[i].link.pcie =
			(struct pcie_link){.gen = 3, .width = 8, .mps = 256, .mrrs = 512};
		lanes[i].room[BUS_POSTED] =
			(struct bus_credits){.headers = headers, .data = 16 * headers};
	}
	memset(w, 0, sizeof(*w));
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(bus_create(&w->local, w, parts, PARTS, lanes, 2, &w->bus), 0);
	for (uint32_t i = 0; i < BURSTS; i++)
		w->bursts[i].ops = &ops;
}

/* All that happens before @until. */
static void run_to(struct world *w, ps_t until)
{
	while (w->local.root && w->local.root->at < until) {
		const struct sim_local_event *next = w->local.root;
		struct sim_local_event *event = sim_local_pop(&w->local, next->at, next->phase);

		event->fn(event, w);
	}
}

static void start_many(struct world *w, bool reads, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		w->bursts[i].bytes = bytes;
		if (reads)
			bus_read(w->bus, &w->bursts[i], NIC, CPU, 0);
		else
			bus_write(w->bus, &w->bursts[i], NIC, CPU, 0);
	}
}

static struct world world;

static void test_a_burst_counts_as_far_as_it_is_on_the_wire(void **state)
{
	struct world *w = &world;
	const ps_t all = bytes_time(16 * 280), third = all / 3;

	(void)state;
	open_chain(w, 0, 0);
	start_many(w, false, 1, 4096);
	run_to(w, third);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, third).busy, third);
	assert_int_equal(bus_way_stats(w->bus, NIC, SWITCH).busy, all);
	run_to(w, PS_NEVER);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, all).busy, all);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, 9 * all).busy, all);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, 9 * all).bytes, 4096);
	assert_int_equal(w->arrived, 1);
	bus_destroy(w->bus);
}

/* The second write waits for the credit of the first, which is back once that has gone on. */
static void test_a_wait_for_credits_counts_while_it_lasts(void **state)
{
	struct world *w = &world;
	const ps_t one = bytes_time(280), gone = 2 * one + CABLE + SWITCH_TIME;
	const ps_t at = one + 7 * PS_NS;

	(void)state;
	open_chain(w, 0, 1);
	start_many(w, false, 2, 256);
	run_to(w, at);
	assert_int_equal(bus_way_stats(w->bus, NIC, SWITCH).starved[BUS_POSTED], 0);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, at).starved[BUS_POSTED], 7 * PS_NS);
	run_to(w, PS_NEVER);
	assert_int_equal(bus_way_stats_at(w->bus, NIC, SWITCH, 99 * gone).starved[BUS_POSTED],
			 gone + CABLE - one);
	bus_destroy(w->bus);
}

/* One tag, three reads of one request each: they take turns, the last of which came later. */
static void test_tags_are_counted_by_time(void **state)
{
	struct world *w = &world;
	const ps_t round = 2 * (bytes_time(24) + CABLE + CABLE) + 2 * SWITCH_TIME + CPU_TIME +
			   bytes_time(276) + bytes_time(2 * 276);
	const ps_t at = round + 7 * PS_NS;
	struct bus_tag_stats stats;

	(void)state;
	open_chain(w, 1, 0);
	start_many(w, true, 2, 512);
	run_to(w, 10 * PS_NS);
	w->bursts[2].bytes = 512;
	bus_read(w->bus, &w->bursts[2], NIC, CPU, 10 * PS_NS);
	run_to(w, at);
	stats = bus_tag_stats(w->bus, NIC, at);
	assert_int_equal(stats.taken, 2);
	assert_int_equal(stats.held, at);
	assert_int_equal(stats.dry, at);
	run_to(w, PS_NEVER);
	assert_int_equal(w->arrived, 3);
	stats = bus_tag_stats(w->bus, NIC, 99 * round);
	assert_int_equal(stats.taken, 3);
	assert_int_equal(stats.held, 3 * round);
	assert_int_equal(stats.dry, 2 * round);
	assert_int_equal(bus_tag_wait(w->bus, NIC), 3 * round - 10 * PS_NS);
	bus_destroy(w->bus);
	/* Any number of them: nothing to count. */
	open_chain(w, 0, 0);
	start_many(w, true, 3, 512);
	run_to(w, PS_NEVER);
	assert_int_equal(bus_tag_stats(w->bus, NIC, round).taken, 0);
	bus_destroy(w->bus);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_burst_counts_as_far_as_it_is_on_the_wire),
		cmocka_unit_test(test_a_wait_for_credits_counts_while_it_lasts),
		cmocka_unit_test(test_tags_are_counted_by_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
