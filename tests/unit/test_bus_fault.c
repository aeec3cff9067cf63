/* SPDX-License-Identifier: BSD-2-Clause */
/* What goes wrong on lanes and in parts: when bursts are there, by arithmetic, and that nothing is
 * lost and nothing overtakes. */
#include "gpu/bus/bus.h"

#include "tests/test.h"

#include <string.h>

enum { CPU, NIC, PARTS, BURSTS = 4096 };

#define CABLE (3 * PS_NS)
#define CPU_TIME (200 * PS_NS)
/* Generation 3 x8: a byte takes 8 x 130 / (128 x 8 x 8) ns = 126.953125 ps. */
#define BYTE_FS 126953125ull

struct world {
	struct sim_local local;
	struct bus *bus;
	struct bus_burst bursts[BURSTS];
	ps_t at[BURSTS];
	uint32_t arrived_count;
	ps_t now;
};

static struct world world;

static void on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	assert_ptr_equal(burst, &w->bursts[w->arrived_count]); /* in their order */
	w->at[w->arrived_count++] = now;
}

static const struct bus_burst_ops ops = {.arrived = on_arrived};

static ps_t bytes_time(uint64_t bytes)
{
	return (bytes * BYTE_FS + 999999) / 1000000;
}

static void open_bus(struct world *w, uint64_t seed, const struct bus_fault *faults, uint32_t count)
{
	const struct bus_part_params parts[PARTS] = {
		[CPU] = {.latency = CPU_TIME}, [NIC] = {.latency = 0}};
	const struct bus_lane_params lane = {
		.a = CPU,
		.b = NIC,
		.delay = CABLE,
		.link.pcie = {.gen = 3, .width = 8, .mps = 256, .mrrs = 512}};

	memset(w, 0, sizeof(*w));
	sim_local_init(&w->local, seed, 2);
	assert_int_equal(bus_create(&w->local, w, parts, PARTS, &lane, 1, &w->bus), 0);
	bus_set_faults(w->bus, faults, count);
	for (uint32_t i = 0; i < BURSTS; i++)
		w->bursts[i].ops = &ops;
}

static void run(struct world *w)
{
	while (w->local.root) {
		const struct sim_local_event *next = w->local.root;
		struct sim_local_event *event = sim_local_pop(&w->local, next->at, next->phase);

		w->now = event->at;
		event->fn(event, w);
	}
}

static void write_some(struct world *w, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		w->bursts[i].bytes = bytes;
		bus_write(w->bus, &w->bursts[i], NIC, CPU, 0);
	}
	run(w);
	assert_int_equal(w->arrived_count, count);
}

static void close_bus(struct world *w)
{
	bus_destroy(w->bus);
	assert_null(w->local.root);
}

static struct bus_fault of_way(enum bus_fault_kind kind, ps_t from, ps_t until)
{
	return (struct bus_fault){
		.from = NIC, .to = CPU, .kind = kind, .from_at = from, .until_at = until, .id = 77};
}

/* The third of 16 packets of 280 bytes is on the wire when the lane goes: 14 begin anew. */
static void test_what_had_begun_begins_anew(void **state)
{
	struct world *w = &world;
	const ps_t down = bytes_time(2 * 280) + 10 * PS_NS, up = 5 * PS_US;
	const struct bus_fault fault = of_way(BUS_DOWN, down, up);
	struct bus_way_stats stats;

	(void)state;
	open_bus(w, 1, &fault, 1);
	write_some(w, 2, 4096);
	assert_int_equal(w->at[0], up + bytes_time(14 * 280) + CABLE + CPU_TIME);
	assert_int_equal(w->at[1] - w->at[0], bytes_time(16 * 280));
	stats = bus_way_stats(w->bus, NIC, CPU);
	assert_int_equal(stats.replays, 1);
	assert_int_equal(stats.replayed_bytes, 14 * 280);
	assert_int_equal(stats.wire_bytes, 2 * 16 * 280 + 14 * 280);
	assert_int_equal(stats.busy, up + bytes_time(14 * 280) + bytes_time(16 * 280));
	close_bus(w);
}

/* Two stretches that touch are one; the other direction knows nothing of it. */
static void test_nothing_begins_while_it_is_down(void **state)
{
	struct world *w = &world;
	const struct bus_fault faults[] = {of_way(BUS_DOWN, 0, PS_US),
					   of_way(BUS_DOWN, PS_US, 3 * PS_US)};

	(void)state;
	open_bus(w, 1, faults, 2);
	w->bursts[0].bytes = w->bursts[1].bytes = 256;
	bus_write(w->bus, &w->bursts[0], CPU, NIC, 0);
	bus_write(w->bus, &w->bursts[1], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], bytes_time(280) + CABLE);
	assert_int_equal(w->at[1], 3 * PS_US + bytes_time(280) + CABLE + CPU_TIME);
	assert_int_equal(bus_way_stats(w->bus, NIC, CPU).replays, 0);
	close_bus(w);
}

/* x8 until then, x4 from then on, and of generation 1 for a while: 4 lanes of 250 MB/s. */
static void test_a_narrow_lane_is_slow(void **state)
{
	struct world *w = &world;
	const ps_t whole = bytes_time(16 * 280), late = 10 * PS_US, first = 16 * 280 * PS_NS;
	struct bus_fault faults[] = {of_way(BUS_SLOWER, whole, PS_NEVER),
				     of_way(BUS_SLOWER, late, late + PS_US)};

	(void)state;
	faults[0].width = 4;
	faults[1].gen = 1;
	open_bus(w, 1, faults, 2);
	write_some(w, 2, 4096);
	assert_int_equal(w->at[0], whole + CABLE + CPU_TIME);
	assert_int_equal(w->at[1], whole + bytes_time(2 * 16 * 280) + CABLE + CPU_TIME);
	w->bursts[2].bytes = w->bursts[3].bytes = 4096;
	bus_write(w->bus, &w->bursts[2], NIC, CPU, late);
	bus_write(w->bus, &w->bursts[3], NIC, CPU, late);
	run(w);
	assert_int_equal(w->at[2], late + first + CABLE + CPU_TIME);
	assert_int_equal(w->at[3], late + first + bytes_time(2 * 16 * 280) + CABLE + CPU_TIME);
	close_bus(w);
}

/* Two at a time: the slower one counts, whichever is the first. */
static void test_the_slowest_counts(void **state)
{
	struct world *w = &world;

	(void)state;
	for (int first = 0; first < 2; first++) {
		struct bus_fault faults[] = {of_way(BUS_SLOWER, 0, PS_NEVER),
					     of_way(BUS_SLOWER, 0, PS_NEVER)};

		faults[first].gen = 1;
		faults[first].width = 8;
		faults[!first].gen = 2;
		faults[!first].width = 4;
		open_bus(w, 1, faults, 2);
		write_some(w, 1, 4096);
		assert_int_equal(w->at[0], 16 * 280 * PS_NS + CABLE + CPU_TIME);
		close_bus(w);
	}
}

/* A read that comes while the part is late, and one that comes when it no longer is. */
static void test_a_part_answers_late(void **state)
{
	struct world *w = &world;
	const ps_t reached = bytes_time(24) + CABLE + CPU_TIME, back = bytes_time(276) + CABLE;
	const struct bus_fault fault = {.from = CPU,
					.to = CPU,
					.kind = BUS_LATE,
					.from_at = reached,
					.until_at = reached + 1,
					.late = 7 * PS_US};

	(void)state;
	open_bus(w, 1, &fault, 1);
	w->bursts[0].bytes = w->bursts[1].bytes = 256;
	bus_read(w->bus, &w->bursts[0], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], reached + 7 * PS_US + back);
	bus_read(w->bus, &w->bursts[1], NIC, CPU, w->now);
	run(w);
	assert_int_equal(w->at[1], w->at[0] + reached + back);
	close_bus(w);
}

/* A packet of 280 bytes has 2,240 bits. At 10^-5 each of 4,000 packets is hit with a chance of
 * 1 - (1 - 10^-5)^2240 = 0.0221511, and so is each time that it is sent: 90.6 replays, of which
 * four standard deviations are 38. */
static void test_errors_come_as_often_as_they_should(void **state)
{
	struct world *w = &world;
	struct bus_fault fault = of_way(BUS_ERRORS, 0, PS_NEVER);
	struct bus_way_stats stats;
	ps_t nak;

	(void)state;
	fault.errors_ppt = 10000000;
	open_bus(w, 1, &fault, 1);
	write_some(w, 4000, 256);
	stats = bus_way_stats(w->bus, NIC, CPU);
	assert_in_range(stats.replays, 90 - 38, 91 + 38);
	assert_int_equal(stats.replayed_bytes, stats.replays * 280);
	/* Each costs the packet once more, and the Nak's way: there the bits that were wrong, 8
	 * bytes back. */
	nak = 2 * CABLE + bytes_time(8);
	assert_int_equal(w->now, (4000 + stats.replays) * bytes_time(280) + stats.replays * nak +
					 CABLE + CPU_TIME);
	close_bus(w);
}

/* Where all of the way back is as bad, some Naks do not come: the timer ends, three times 203
 * symbols of a nanosecond at x8 and 256 bytes. */
static void test_a_lost_nak_waits_for_the_timer(void **state)
{
	struct world *w = &world;
	struct bus_fault faults[] = {of_way(BUS_ERRORS, 0, PS_NEVER),
				     of_way(BUS_ERRORS, 0, PS_NEVER)};
	const ps_t nak = 2 * CABLE + bytes_time(8), timer = 3 * 203 * PS_NS;
	uint64_t replays;
	ps_t waited;

	(void)state;
	faults[0].from = CPU;
	faults[0].to = NIC;
	faults[0].id = 78;
	faults[0].errors_ppt = faults[1].errors_ppt = BUS_ERRORS_MAX;
	open_bus(w, 1, faults, 2);
	write_some(w, 4000, 256);
	replays = bus_way_stats(w->bus, NIC, CPU).replays;
	waited = w->now - CABLE - CPU_TIME - (4000 + replays) * bytes_time(280) - replays * nak;
	/* 64 bits at 10^-4: 0.6 % of about 1,004 */
	assert_int_equal(waited % (timer - nak), 0);
	assert_in_range(waited / (timer - nak), 1, 20);
	close_bus(w);
	/* Where that way is good none is lost. */
	open_bus(w, 1, &faults[1], 1);
	write_some(w, 4000, 256);
	replays = bus_way_stats(w->bus, NIC, CPU).replays;
	assert_int_equal(w->now,
			 CABLE + CPU_TIME + (4000 + replays) * bytes_time(280) + replays * nak);
	close_bus(w);
}

/* The first packets of a burst are taken, the rest goes again; another seed hits others. */
static void test_only_the_rest_goes_again(void **state)
{
	struct world *w = &world;
	struct bus_fault fault = of_way(BUS_ERRORS, 0, PS_NEVER);
	struct bus_way_stats stats[2];
	ps_t took[2];

	(void)state;
	fault.errors_ppt = BUS_ERRORS_MAX / 2;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		open_bus(w, seed, &fault, 1);
		write_some(w, 500, 4096);
		stats[seed - 1] = bus_way_stats(w->bus, NIC, CPU);
		took[seed - 1] = w->now;
		assert_int_equal(stats[seed - 1].replayed_bytes % 280, 0);
		assert_in_range(stats[seed - 1].replayed_bytes / 280, stats[seed - 1].replays + 1,
				stats[seed - 1].replays * 16 - 1);
		close_bus(w);
	}
	assert_int_not_equal(took[0], took[1]);
	/* 8,000 packets and those that are hit again, each with 1 - (1 - 5 x 10^-5)^2240 = 0.1060
	 */
	assert_in_range(stats[0].replays, 949 - 130, 949 + 130);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_had_begun_begins_anew),
		cmocka_unit_test(test_nothing_begins_while_it_is_down),
		cmocka_unit_test(test_a_narrow_lane_is_slow),
		cmocka_unit_test(test_the_slowest_counts),
		cmocka_unit_test(test_a_part_answers_late),
		cmocka_unit_test(test_errors_come_as_often_as_they_should),
		cmocka_unit_test(test_a_lost_nak_waits_for_the_timer),
		cmocka_unit_test(test_only_the_rest_goes_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
