/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_NVLINK_WORLD_H
#define TESTS_NVLINK_WORLD_H

/* Machines with NVLink for unit tests, and bursts between their parts. */
#include "gpu/bus/bus.h"

#include "tests/test.h"

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

static inline void on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct world *w = context;

	w->at[burst - w->bursts] = now;
	w->arrived_count++;
}

static const struct bus_burst_ops ops = {.arrived = on_arrived};

static inline struct world *begin(void)
{
	memset(&world, 0, sizeof(world));
	world.part_count = 1;
	return &world;
}

static inline uint32_t add_gpus(struct world *w, uint32_t count)
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

static inline uint32_t add_nvswitches(struct world *w, uint32_t count)
{
	const uint32_t first = w->part_count;

	for (uint32_t i = first; i < first + count; i++)
		w->parts[i] = (struct bus_part_params){.is_nvswitch = true};
	w->part_count += count;
	return first;
}

static inline struct nvlink_link link_of(uint8_t gen, uint8_t links)
{
	return (struct nvlink_link){
		.gen = gen, .links = links, .rate_bps = nvlink_rate(gen), .payload = 256};
}

static inline struct bus_lane_params *join(struct world *w, uint32_t a, uint32_t b,
					   struct nvlink_link link)
{
	struct bus_lane_params *lane = &w->lanes[w->lane_count++];

	*lane = (struct bus_lane_params){
		.a = a,
		.b = b,
		.link = {.kind = BUS_NVLINK, .nvlink = link},
		.room = {[BUS_POSTED] = {128, 2048}, [BUS_NON_POSTED] = {128, 0}}};
	return lane;
}

static inline void open_bus(struct world *w)
{
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(
		bus_create(&w->local, w, w->parts, w->part_count, w->lanes, w->lane_count, &w->bus),
		0);
}

/* @count bursts of @bytes, all at once, now. */
static inline void send(struct world *w, uint32_t from, uint32_t to, uint32_t count, uint32_t bytes)
{
	for (uint32_t i = 0; i < count; i++) {
		struct bus_burst *burst = &w->bursts[w->burst_count++];

		*burst = (struct bus_burst){.ops = &ops, .bytes = bytes};
		bus_write(w->bus, burst, from, to, w->now);
	}
}

static inline void run(struct world *w)
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

static inline void close_bus(struct world *w)
{
	bus_destroy(w->bus);
	assert_null(w->local.root);
}

#endif
