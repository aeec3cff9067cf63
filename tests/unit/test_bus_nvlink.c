/* SPDX-License-Identifier: BSD-2-Clause */
/* What NVLink carries, and how what moves is spread over its links, by arithmetic. Flits and
 * packets: Foley and Danskin, IEEE Micro 37(2), 2017; rates: NVIDIA's white papers of P100, V100,
 * A100, H100 and Blackwell. */
#include "gpu/bus/bus.h"

#include "tests/test.h"

#include <errno.h>
#include <string.h>

enum { PARTS = 48, LANES = 256, BURSTS = 8192 };

#define GB 1000000000ull

/* A machine, of which part 0 is the socket that all others but NVSwitches are joined with by PCI
 * Express, and bursts between its parts. */
struct world {
	struct sim_local local;
	struct bus *bus;
	struct bus_part_params parts[PARTS];
	struct bus_lane_params lanes[LANES];
	uint32_t part_count, lane_count;
	struct bus_burst bursts[BURSTS];
	uint32_t burst_count, arrived_count;
	ps_t at[BURSTS], now;
};

static struct world world;

static void on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	w->at[burst - w->bursts] = now;
	w->arrived_count++;
}

static const struct bus_burst_ops ops = {.arrived = on_arrived};

static struct world *begin(void)
{
	memset(&world, 0, sizeof(world));
	world.part_count = 1;
	return &world;
}

static uint32_t add_gpus(struct world *w, uint32_t count)
{
	const uint32_t first = w->part_count;

	for (uint32_t i = first; i < first + count; i++)
		w->lanes[w->lane_count++] = (struct bus_lane_params){
			.a = 0,
			.b = i,
			.link.pcie = {.gen = 3, .width = 16, .mps = 256, .mrrs = 512}};
	w->part_count += count;
	return first;
}

static uint32_t add_nvswitches(struct world *w, uint32_t count)
{
	const uint32_t first = w->part_count;

	for (uint32_t i = first; i < first + count; i++)
		w->parts[i] = (struct bus_part_params){.is_nvswitch = true};
	w->part_count += count;
	return first;
}

static struct nvlink_link link_of(uint8_t gen, uint8_t links)
{
	return (struct nvlink_link){
		.gen = gen, .links = links, .rate_bps = nvlink_rate(gen), .payload = 256};
}

static struct nvlink_link *join(struct world *w, uint32_t a, uint32_t b, struct nvlink_link link)
{
	struct bus_lane_params *lane = &w->lanes[w->lane_count++];

	*lane = (struct bus_lane_params){
		.a = a, .b = b, .link = {.kind = BUS_NVLINK, .nvlink = link}};
	return &lane->link.nvlink;
}

static void open_bus(struct world *w)
{
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(
		bus_create(&w->local, w, w->parts, w->part_count, w->lanes, w->lane_count, &w->bus),
		0);
}

/* @count bursts of @bytes, all at once. */
static void send(struct world *w, uint32_t from, uint32_t to, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &ops, .bytes = bytes};
		bus_write(w->bus, burst, from, to, 0);
	}
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
	assert_int_equal(w->arrived_count, w->burst_count);
}

static void close_bus(struct world *w)
{
	bus_destroy(w->bus);
	assert_null(w->local.root);
}

static void test_rates_of_generations(void **state)
{
	static const uint64_t gigabytes[] = {[1] = 20, [2] = 25, [3] = 25, [4] = 25, [5] = 50};

	(void)state;
	for (uint8_t gen = 1; gen <= 5; gen++)
		assert_int_equal(nvlink_rate(gen), gigabytes[gen] * 8 * GB);
}

static void test_sizes_in_flits(void **state)
{
	struct nvlink_link link = link_of(4, 1);

	(void)state;
	assert_int_equal(nvlink_write_bytes(&link, 256), 17 * 16);
	assert_int_equal(nvlink_write_bytes(&link, 1), 2 * 16);
	assert_int_equal(nvlink_write_bytes(&link, 257), (17 + 2) * 16);
	assert_int_equal(nvlink_write_bytes(&link, 4096), 16 * 17 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 4096), 16 * 16);
	assert_int_equal(nvlink_data_bytes(&link, 4096), 16 * 17 * 16);
	assert_int_equal(nvlink_response_bytes(&link, 4096), 16 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 0), 16);
	link.has_extension = true;
	assert_int_equal(nvlink_write_bytes(&link, 256), 18 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 256), 2 * 16);
	assert_int_equal(nvlink_data_bytes(&link, 256), 17 * 16);
	link.has_enables = true;
	assert_int_equal(nvlink_write_bytes(&link, 240), 18 * 16);
	assert_int_equal(nvlink_request_bytes(&link, 256), 2 * 16);
	assert_int_equal(nvlink_response_bytes(&link, 256), 16);
}

/* Two GPUs, two links: bursts by turns, so that all are there after half of the time. */
static void test_neighbours_use_all_links(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2);

	(void)state;
	join(w, gpu, gpu + 1, link_of(2, 2));
	open_bus(w);
	send(w, gpu, gpu + 1, 100, 4096);
	run(w);
	/* 16 packets of 17 flits at 25 GB/s: 174.08 ns. */
	assert_int_equal(w->now, 50 * 174080);
	assert_int_equal(bus_way_stats(w->bus, gpu, gpu + 1, true).bytes, 100 * 4096);
	assert_int_equal(bus_way_stats(w->bus, 0, gpu + 1, false).bursts, 0);
	close_bus(w);
}

/* Over a GPU in between nothing goes: the way is that over PCI Express. */
static void test_no_way_through_a_gpu(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 3);

	(void)state;
	join(w, gpu, gpu + 1, link_of(2, 1));
	join(w, gpu + 1, gpu + 2, link_of(2, 1));
	open_bus(w);
	send(w, gpu, gpu + 2, 10, 4096);
	run(w);
	assert_int_equal(bus_way_stats(w->bus, gpu, gpu + 1, true).bursts, 0);
	assert_int_equal(bus_way_stats(w->bus, 0, gpu + 2, false).bytes, 10 * 4096);
	close_bus(w);
}

/* Two links to one NVSwitch and three to another, so 2 and 3 bursts of each 5, and each link as
 * many as any other. */
static void test_planes_take_turns(void **state)
{
	struct world *w = begin();
	const uint32_t gpu = add_gpus(w, 2), nvs = add_nvswitches(w, 2);

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		join(w, gpu + i, nvs, link_of(4, 2));
		join(w, nvs + 1, gpu + i, link_of(4, 3));
	}
	open_bus(w);
	send(w, gpu, gpu + 1, 100, 4096);
	run(w);
	assert_int_equal(bus_way_stats(w->bus, gpu, nvs, true).bursts, 40);
	assert_int_equal(bus_way_stats(w->bus, nvs + 1, gpu + 1, true).bursts, 60);
	/* 20 each of 174.08 ns; of the first hop the head, a packet, is seen. */
	assert_int_equal(w->now, 20 * 174080 + 10880);
	close_bus(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rates_of_generations),
		cmocka_unit_test(test_sizes_in_flits),
		cmocka_unit_test(test_neighbours_use_all_links),
		cmocka_unit_test(test_no_way_through_a_gpu),
		cmocka_unit_test(test_planes_take_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
