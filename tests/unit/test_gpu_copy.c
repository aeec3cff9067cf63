/* SPDX-License-Identifier: BSD-2-Clause */
/* A copy engine: one copy after the other, what it has moved, and how long it was busy. */
#include "gpu/device/copy.h"

#include "tests/test.h"

#include <string.h>

enum { HOST, GPU, PARTS, BYTES = 1 << 16, JOBS = 3 };

struct world {
	struct sim_local local;
	struct bus *bus;
	struct copy_engine engine;
	struct copy_job jobs[JOBS + 1];
	ps_t ended_at[JOBS + 1], now;
	uint32_t ended;
	uint8_t from[BYTES], to[JOBS + 1][BYTES];
};

static struct world world;

static void on_done(struct copy_job *job, ps_t now)
{
	struct world *w = &world;

	assert_ptr_equal(job, &w->jobs[w->ended]); /* in their order */
	w->ended_at[w->ended++] = now;
}

static void take(struct world *w, uint32_t job)
{
	w->jobs[job] = (struct copy_job){.bytes = BYTES,
					 .from = w->from,
					 .to = w->to[job],
					 .start = PS_US,
					 .other = HOST,
					 .on_done = on_done};
	copy_engine_take(&w->engine, &w->jobs[job], w->now);
}

static void run_to(struct world *w, ps_t until)
{
	while (w->local.root && w->local.root->at <= until) {
		const struct sim_local_event *next = w->local.root;
		struct sim_local_event *event = sim_local_pop(&w->local, next->at, next->phase);

		w->now = event->at;
		event->fn(event, w);
	}
}

static ps_t busy_at(const struct world *w, ps_t at)
{
	return copy_engine_stats(&w->engine, at).busy;
}

static void test_it_is_busy_once_at_a_time(void **state)
{
	static const struct bus_part_params parts[PARTS] = {{.latency = 0}, {.latency = 0}};
	static const struct bus_lane_params lane = {
		.a = HOST, .b = GPU, .link.pcie = {.gen = 3, .width = 16, .mps = 256, .mrrs = 512}};
	struct world *w = &world;
	ps_t one, later;

	(void)state;
	memset(w->from, 7, sizeof(w->from));
	sim_local_init(&w->local, 1, 2);
	assert_int_equal(bus_create(&w->local, w, parts, PARTS, &lane, 1, &w->bus), 0);
	assert_int_equal(copy_engine_init(&w->engine, w->bus, &w->local, GPU, false, 9, 8), 0);
	for (uint32_t i = 0; i < JOBS; i++)
		take(w, i);
	run_to(w, 0);
	assert_int_equal(busy_at(w, PS_US / 2), PS_US / 2);
	run_to(w, PS_NEVER - 1);
	assert_int_equal(w->ended, JOBS);
	one = w->ended_at[0];
	assert_true(one > PS_US);
	for (uint32_t i = 0; i < JOBS; i++)
		assert_int_equal(w->ended_at[i], (i + 1) * one);
	assert_int_equal(busy_at(w, w->now), JOBS * one);
	assert_int_equal(busy_at(w, 99 * one), JOBS * one);
	later = w->now = 100 * one;
	take(w, JOBS);
	run_to(w, later + PS_US / 2);
	assert_int_equal(busy_at(w, later + PS_US / 2), JOBS * one + PS_US / 2);
	assert_int_equal(copy_engine_stats(&w->engine, later).copies, JOBS);
	run_to(w, PS_NEVER - 1);
	assert_int_equal(w->ended_at[JOBS], later + one);
	assert_int_equal(busy_at(w, w->now), (JOBS + 1) * one);
	assert_int_equal(copy_engine_stats(&w->engine, w->now).bytes, (JOBS + 1) * BYTES);
	for (uint32_t i = 0; i <= JOBS; i++)
		assert_memory_equal(w->to[i], w->from, BYTES);
	copy_engine_fini(&w->engine);
	bus_destroy(w->bus);
}

RUN(T(test_it_is_busy_once_at_a_time))
