/* SPDX-License-Identifier: BSD-2-Clause */
/* Bursts between the parts of a machine: when they are there, by arithmetic. */
#include "gpu/bus/bus.h"

#include "tests/test.h"

#include <errno.h>
#include <string.h>

enum { CPU, SWITCH, NIC, GPU, PARTS, BURSTS = 4096 };

#define SWITCH_TIME (110 * PS_NS)
#define CPU_TIME (200 * PS_NS)
#define CABLE (3 * PS_NS)

struct world {
	struct sim_local local;
	struct bus *bus;
	struct bus_burst bursts[BURSTS];
	ps_t at[BURSTS]; /* arrived; 0: not yet */
	uint32_t order[BURSTS], arrived_count;
	ps_t now;
};

static void on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;
	const uint32_t number = (uint32_t)(burst - w->bursts);

	w->at[number] = now;
	w->order[w->arrived_count++] = number;
}

static const struct bus_burst_ops ops = {.arrived = on_arrived};

static void open_bus(struct world *w, const struct bus_lane_params *lanes, uint32_t count,
		     uint32_t tags)
{
	const struct bus_part_params parts[PARTS] = {[CPU] = {.latency = CPU_TIME},
						     [SWITCH] = {.latency = SWITCH_TIME},
						     [NIC] = {.tags = tags},
						     [GPU] = {.latency = 0}};

	memset(w, 0, sizeof(*w));
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(bus_create(&w->local, w, parts, PARTS, lanes, count, &w->bus), 0);
	for (uint32_t i = 0; i < BURSTS; i++)
		w->bursts[i].ops = &ops;
}

/* A switch below the CPU, an adapter and a GPU below the switch. Generation 3 x8 everywhere: a byte
 * takes 8 x 130 / (128 x 8 x 8) ns = 126.953125 ps. */
static struct bus_lane_params gen3(uint32_t a, uint32_t b)
{
	return (struct bus_lane_params){
		.a = a,
		.b = b,
		.delay = CABLE,
		.link.pcie = {.gen = 3, .width = 8, .mps = 256, .mrrs = 512}};
}

static ps_t bytes_time(uint64_t bytes)
{
	return (bytes * 126953125 + 999999) / 1000000;
}

static void open_tree(struct world *w, uint32_t tags)
{
	const struct bus_lane_params lanes[] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH),
						gen3(SWITCH, GPU)};

	open_bus(w, lanes, 3, tags);
}

static void run(struct world *w)
{
	while (w->local.root) {
		const struct sim_local_event *next = w->local.root;
		struct sim_local_event *event = sim_local_pop(&w->local, next->at, next->phase);

		assert_true(event->at >= w->now);
		w->now = event->at;
		event->fn(event, w);
	}
}

typedef void start_fn(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to,
		      ps_t now);

/* @count of them at once, between the adapter and the CPU, and all arrive. */
static void run_many(struct world *w, start_fn *start, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		w->bursts[i].bytes = bytes;
		start(w->bus, &w->bursts[i], NIC, CPU, 0);
	}
	run(w);
	assert_int_equal(w->arrived_count, count);
}

static void close_bus(struct world *w)
{
	bus_destroy(w->bus);
	assert_null(w->local.root);
}

static struct world world;

/* The tail of it takes the wire once: both lanes are as fast. */
static void test_a_write_cuts_through(void **state)
{
	struct world *w = &world;
	const ps_t head = bytes_time(280), all = bytes_time(16 * 280);

	(void)state;
	open_tree(w, 0);
	w->bursts[0].bytes = 4096;
	bus_write(w->bus, &w->bursts[0], NIC, CPU, 1000);
	w->bursts[1].bytes = 100;
	bus_write(w->bus, &w->bursts[1], GPU, NIC, 1000);
	run(w);
	assert_int_equal(w->at[0], 1000 + head + CABLE + SWITCH_TIME + all + CABLE + CPU_TIME);
	assert_int_equal(w->at[1], 1000 + 2 * (bytes_time(124) + CABLE) + SWITCH_TIME);
	assert_int_equal(bus_way_stats(w->bus, SWITCH, CPU).wire_bytes, 16 * 280);
	assert_int_equal(bus_way_stats(w->bus, SWITCH, CPU).bytes, 4096);
	assert_int_equal(bus_way_stats(w->bus, SWITCH, CPU).busy, all);
	assert_int_equal(bus_way_stats(w->bus, CPU, SWITCH).bursts, 0);
	close_bus(w);
}

/* Each takes what it is, whatever went before it. */
static void test_sizes_take_their_own_time(void **state)
{
	static const uint32_t bytes[] = {4096, 100, 4096, 256, 257};
	struct world *w = &world;
	ps_t wire = 0;

	(void)state;
	open_tree(w, 0);
	for (uint32_t i = 0; i < 5; i++) {
		const ps_t took = bytes_time(bytes[i] + (bytes[i] + 255) / 256 * 24);

		w->bursts[i].bytes = bytes[i];
		bus_write(w->bus, &w->bursts[i], SWITCH, CPU, w->now);
		run(w);
		wire += took;
		assert_int_equal(bus_way_stats(w->bus, SWITCH, CPU).busy, wire);
	}
	close_bus(w);
}

/* From a slow lane to a fast one the last bytes must not be late: four times as fast, so the second
 * begins when three quarters have come. */
static void test_a_fast_lane_waits_for_a_slow_one(void **state)
{
	struct world *w = &world;
	struct bus_lane_params lanes[] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH), gen3(SWITCH, GPU)};

	(void)state;
	lanes[0].link.pcie.gen = 5;
	open_bus(w, lanes, 3, 0);
	w->bursts[0].bytes = 4096;
	bus_write(w->bus, &w->bursts[0], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], bytes_time(16 * 280) + CABLE + SWITCH_TIME + CABLE + CPU_TIME);
	close_bus(w);
}

/* Of 80 Gb/s, 100 ps a byte: four packets of 64 bytes and 16 more, as many requests of 16, and the
 * answer as the write. */
static void test_a_plain_lane_takes_packets(void **state)
{
	struct world *w = &world;
	struct bus_lane_params lanes[] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH), gen3(SWITCH, GPU)};

	(void)state;
	lanes[1].link = (struct bus_link){
		.kind = BUS_PLAIN,
		.plain = {.rate_bps = 80000000000, .payload = 64, .overhead = 16}};
	open_bus(w, lanes, 3, 0);
	w->bursts[0].bytes = w->bursts[1].bytes = 256;
	bus_write(w->bus, &w->bursts[0], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], 8000 + CABLE + SWITCH_TIME + bytes_time(280) + CABLE + CPU_TIME);
	assert_int_equal(bus_way_stats(w->bus, NIC, SWITCH).busy, 32000);
	bus_read(w->bus, &w->bursts[1], NIC, CPU, w->now);
	run(w);
	assert_int_equal(bus_way_stats(w->bus, NIC, SWITCH).wire_bytes, 4 * 80 + 4 * 16);
	assert_int_equal(bus_way_stats(w->bus, SWITCH, NIC).wire_bytes, 4 * 80);
	close_bus(w);
}

/* Into a slow lane it goes at its pace from when the head is there, at the very beginning of time
 * too. */
static void test_a_slow_lane_begins_with_the_head(void **state)
{
	struct world *w = &world;
	struct bus_lane_params lanes[] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH), gen3(SWITCH, GPU)};

	(void)state;
	lanes[0].link.pcie.gen = 1; /* 4 ns a byte over one lane */
	lanes[0].link.pcie.width = 1;
	open_bus(w, lanes, 3, 0);
	w->bursts[0].bytes = 4096;
	bus_write(w->bus, &w->bursts[0], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], bytes_time(280) + CABLE + SWITCH_TIME + 16 * 280 * 4000 + CABLE +
					   CPU_TIME);
	close_bus(w);
}

static void test_a_read_goes_there_and_back(void **state)
{
	struct world *w = &world;
	const ps_t there = 2 * (bytes_time(8 * 24) + CABLE) + SWITCH_TIME -
			   (bytes_time(8 * 24) - bytes_time(24));
	const ps_t back = bytes_time(276) + CABLE + SWITCH_TIME + bytes_time(16 * 276) + CABLE;

	(void)state;
	open_tree(w, 0);
	w->bursts[0].bytes = 4096;
	bus_read(w->bus, &w->bursts[0], NIC, CPU, 0);
	run(w);
	assert_int_equal(w->at[0], there + CPU_TIME + back);
	close_bus(w);
}

/* 64 bytes of memory over generation 3 x8: 500 to 600 ns in the median, read by a device on Haswell
 * and Broadwell servers (Neugebauer et al., SIGCOMM 2018), within 20 %. Of that the
 * wire has 14 ns, there and back; root complex and memory, which is one latency of the model, have
 * the rest. */
static void test_a_small_read_is_one_latency(void **state)
{
	const ps_t latency = 530 * PS_NS, median = 550 * PS_NS;
	struct world *w = &world;
	const struct bus_part_params parts[] = {{.latency = latency}, {.latency = 0}};
	struct bus_lane_params lane = gen3(0, 1);

	(void)state;
	memset(w, 0, sizeof(*w));
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(bus_create(&w->local, w, parts, 2, &lane, 1, &w->bus), 0);
	w->bursts[0] = (struct bus_burst){.ops = &ops, .bytes = 64};
	bus_read(w->bus, &w->bursts[0], 1, 0, 0);
	run(w);
	assert_in_range(w->at[0], median * 80 / 100, median * 120 / 100);
	assert_int_equal(w->at[0], bytes_time(24) + bytes_time(64 + 20) + 2 * CABLE + latency);
	close_bus(w);
}

static bool on_reached(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	w->at[burst - w->bursts] = now;
	return false;
}

/* Who is read may take its time; meanwhile others are answered. */
static void test_an_answer_waits_until_it_is_told(void **state)
{
	static const struct bus_burst_ops slow = {.arrived = on_arrived, .reached = on_reached};
	struct world *w = &world;
	ps_t reached_at;

	(void)state;
	open_tree(w, 2);
	for (uint32_t i = 0; i < 3; i++)
		w->bursts[i].bytes = 256;
	w->bursts[0].ops = &slow;
	for (uint32_t i = 0; i < 3; i++)
		bus_read(w->bus, &w->bursts[i], NIC, CPU, 0);
	run(w);
	reached_at = 2 * (bytes_time(24) + CABLE) + SWITCH_TIME + CPU_TIME;
	assert_int_equal(w->at[0], reached_at);
	assert_int_equal(w->arrived_count, 2); /* the other tag was used twice */
	bus_answer(w->bus, &w->bursts[0], w->now);
	run(w);
	assert_int_equal(w->arrived_count, 3);
	assert_int_equal(w->order[2], 0);
	close_bus(w);
}

/* Tags times their bytes in each round trip; where there are enough, the wire. */
static void test_tags_bound_reads(void **state)
{
	static const uint32_t tags[] = {1, 2, 4, 8, 64};
	const ps_t round = 2 * (bytes_time(24) + CABLE + CABLE) + 2 * SWITCH_TIME + CPU_TIME +
			   bytes_time(276) + bytes_time(2 * 276);
	const uint32_t count = 2000;

	(void)state;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		struct world *w = &world;
		const ps_t wire = count * bytes_time(2 * 276), trips = count * round / tags[i];
		const ps_t wanted = trips > wire ? trips : wire + round;

		open_tree(w, tags[i]);
		run_many(w, bus_read, count, 512);
		assert_in_range(w->now, wanted - wanted / 100, wanted + wanted / 100);
		assert_int_equal(bus_tag_wait(w->bus, NIC) > 0, true);
		close_bus(w);
	}
}

/* Four requests of 128 bytes ask for 512 in packets of 128, whatever a request may ask for: each
 * has a tag. Tags for half a burst more let no more of them go. */
static void test_small_requests_take_their_tags(void **state)
{
	static const uint32_t tags[] = {4, 6, 8, 16, 256};
	const ps_t round = bytes_time(24) + bytes_time(4 * 24) + bytes_time(148) +
			   bytes_time(4 * 148) + 4 * CABLE + 2 * SWITCH_TIME + CPU_TIME;
	const uint32_t count = 2000;

	(void)state;
	for (size_t i = 0; i < sizeof(tags) / sizeof(tags[0]); i++) {
		struct world *w = &world;
		const ps_t wire = count * bytes_time(4 * 148),
			   trips = count * round / (tags[i] / 4);
		const ps_t wanted = trips > wire ? trips : wire + round;

		open_tree(w, tags[i]);
		for (uint32_t k = 0; k < count; k++)
			w->bursts[k].packet = 128;
		run_many(w, bus_read, count, 512);
		assert_in_range(w->now, wanted - wanted / 100, wanted + wanted / 100);
		assert_int_equal(bus_tag_stats(w->bus, NIC, w->now).taken, 4 * count);
		close_bus(w);
	}
}

/* Headers H and round trip t: min(link, H x 256 / t); data D: D x 16 / t. */
static void test_credits_bound_writes(void **state)
{
	static const struct {
		uint32_t headers, data;
	} rows[] = {{1, 1024}, {2, 1024}, {3, 1024}, {4, 1024}, {16, 1024},
		    {64, 16},  {64, 32},  {64, 64},  {64, 1024}};
	const ps_t update = 50 * PS_NS, one = bytes_time(280);
	const ps_t trip = one + CABLE + CPU_TIME + update + CABLE;
	const uint32_t count = 4000;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct world *w = &world;
		struct bus_lane_params lanes[] = {gen3(CPU, NIC), gen3(NIC, SWITCH),
						  gen3(SWITCH, GPU)};
		const uint32_t by_data = rows[i].data / 16;
		const uint32_t window = by_data < rows[i].headers ? by_data : rows[i].headers;
		const ps_t trips = count * trip / window, wire = count * one;
		const ps_t wanted = trips > wire ? trips : wire;

		lanes[0].update = update;
		lanes[0].room[BUS_POSTED] =
			(struct bus_credits){.headers = rows[i].headers, .data = rows[i].data};
		open_bus(w, lanes, 3, 0);
		run_many(w, bus_write, count, 256);
		assert_in_range(w->now, wanted - wanted / 100, wanted + wanted / 100);
		assert_int_equal(bus_way_stats(w->bus, NIC, CPU).starved[BUS_POSTED] > 0,
				 trips > wire);
		close_bus(w);
	}
}

/* With room for 64 TLPs a burst is eight of them, and takes as long as eight bursts of one. */
static void test_large_bursts_agree_with_small_ones(void **state)
{
	ps_t took[2];

	(void)state;
	for (int large = 0; large < 2; large++) {
		struct world *w = &world;
		struct bus_lane_params lanes[] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH),
						  gen3(SWITCH, GPU)};
		uint32_t size;

		for (int i = 0; i < 2; i++) {
			lanes[i].update = 50 * PS_NS;
			lanes[i].room[BUS_POSTED] =
				(struct bus_credits){.headers = 64, .data = 1024};
		}
		open_bus(w, lanes, 3, 0);
		assert_int_equal(bus_burst_most(w->bus, NIC, CPU), 2048);
		assert_int_equal(bus_burst_most(w->bus, GPU, NIC), 2048);
		size = large ? 2048 : 256;
		run_many(w, bus_write, 1024 * 1024 / size, size);
		took[large] = w->now;
		close_bus(w);
	}
	assert_in_range(took[1], took[0] - took[0] / 100, took[0] + took[0] / 100);
}

/* Base specification 2.4.1: a request does not pass a write, nor does a completion that is not
 * relaxed; completions go on while requests have no credits. */
static void test_order(void **state)
{
	struct world *w = &world;

	(void)state;
	for (int relaxed = 0; relaxed < 2; relaxed++) {
		struct bus_lane_params lanes[] = {gen3(CPU, NIC), gen3(NIC, SWITCH),
						  gen3(SWITCH, GPU)};
		uint32_t request = 0, read = 0;

		lanes[0].relaxed = relaxed;
		lanes[0].room[BUS_POSTED] = (struct bus_credits){.headers = 1, .data = 16};
		lanes[0].update = 100 * PS_US;
		open_bus(w, lanes, 3, 0);
		for (uint32_t i = 0; i < 5; i++)
			w->bursts[i].bytes = 256;
		bus_read(w->bus, &w->bursts[0], CPU, GPU, 0); /* its bytes go from NIC to CPU */
		bus_write(w->bus, &w->bursts[1], NIC, CPU, 0);
		bus_write(w->bus, &w->bursts[2], NIC, CPU, 0); /* waits for credits */
		bus_read(w->bus, &w->bursts[3], NIC, CPU, 0);
		bus_write(w->bus, &w->bursts[4], CPU, NIC,
			  0); /* the other way: nobody's business */
		run(w);
		assert_int_equal(w->arrived_count, 5);
		for (uint32_t i = 0; i < 5; i++) {
			request = w->order[i] == 3 ? i : request;
			read = w->order[i] == 0 ? i : read;
		}
		assert_true(w->at[1] < w->at[2]);
		assert_true(w->at[2] < w->at[3]); /* passed nothing */
		assert_int_equal(w->at[0] < w->at[2], relaxed);
		assert_int_equal(request, 4);
		assert_int_equal(read, relaxed ? 2 : 3);
		close_bus(w);
	}
}

static void test_completions_do_not_wait_for_requests(void **state)
{
	struct world *w = &world;
	struct bus_lane_params lanes[] = {gen3(CPU, NIC), gen3(NIC, SWITCH), gen3(SWITCH, GPU)};

	(void)state;
	lanes[0].room[BUS_NON_POSTED] = (struct bus_credits){.headers = 1};
	lanes[0].update = 100 * PS_US;
	open_bus(w, lanes, 3, 0);
	for (uint32_t i = 0; i < 3; i++)
		w->bursts[i].bytes = 256;
	bus_read(w->bus, &w->bursts[0], NIC, CPU, 0);
	bus_read(w->bus, &w->bursts[1], NIC, CPU, 0); /* waits for a credit */
	bus_read(w->bus, &w->bursts[2], CPU, NIC, 0);
	run(w);
	assert_true(w->at[2] < w->at[1]);
	assert_true(w->at[1] > 100 * PS_US);
	assert_true(w->at[2] < PS_US);
	close_bus(w);
}

static void test_what_is_no_tree_is_refused(void **state)
{
	const struct bus_part_params parts[PARTS] = {{.latency = 0}};
	struct bus_lane_params lanes[4] = {gen3(CPU, SWITCH), gen3(NIC, SWITCH), gen3(SWITCH, GPU),
					   gen3(CPU, GPU)};
	struct sim_local local;
	struct bus *bus = NULL;

	(void)state;
	sim_local_init(&local, 1, 2);
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 4, &bus), -EINVAL);
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 2, &bus), -EINVAL);
	lanes[2].b = SWITCH;
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 3, &bus), -EINVAL);
	lanes[2].b = PARTS;
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 3, &bus), -EINVAL);
	lanes[2] = gen3(SWITCH, GPU);
	lanes[2].room[BUS_POSTED] = (struct bus_credits){.headers = 8, .data = 15};
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 3, &bus), -EINVAL);
	lanes[2].room[BUS_POSTED] = (struct bus_credits){.headers = 8, .data = 16};
	assert_int_equal(bus_create(&local, NULL, parts, PARTS, lanes, 3, &bus), 0);
	bus_destroy(bus);
	bus_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_write_cuts_through),
		cmocka_unit_test(test_sizes_take_their_own_time),
		cmocka_unit_test(test_a_fast_lane_waits_for_a_slow_one),
		cmocka_unit_test(test_a_slow_lane_begins_with_the_head),
		cmocka_unit_test(test_a_plain_lane_takes_packets),
		cmocka_unit_test(test_a_read_goes_there_and_back),
		cmocka_unit_test(test_a_small_read_is_one_latency),
		cmocka_unit_test(test_an_answer_waits_until_it_is_told),
		cmocka_unit_test(test_tags_bound_reads),
		cmocka_unit_test(test_small_requests_take_their_tags),
		cmocka_unit_test(test_credits_bound_writes),
		cmocka_unit_test(test_large_bursts_agree_with_small_ones),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_completions_do_not_wait_for_requests),
		cmocka_unit_test(test_what_is_no_tree_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
