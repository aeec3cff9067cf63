/* SPDX-License-Identifier: BSD-2-Clause */

/* From window to window. */
#include "sim/internal.h"

#include <errno.h>
#include <string.h>

/* The first window after @window in which anyone has something to do. */
static uint64_t next_busy(const struct sim *sim, uint64_t window)
{
	const uint32_t turn = (window + 1) % WAKE_SLOTS;
	uint64_t any = 0, first = UINT64_MAX;

	for (uint32_t t = 0; t < sim->params.thread_count; t++) {
		const uint64_t far = sim_engine_far_first(&sim->threads[t]);

		any |= sim->threads[t].any;
		first = far < first ? far : first;
	}
	any = turn ? any >> turn | any << (WAKE_SLOTS - turn) : any;
	if (any) {
		const uint64_t near = window + 1 + (uint64_t)__builtin_ctzll(any);

		first = near < first ? near : first;
	}
	return first;
}

static int first_error(const struct sim *sim)
{
	for (uint32_t t = 0; t < sim->params.thread_count; t++)
		if (sim->threads[t].error != 0)
			return sim->threads[t].error;
	return 0;
}

/* Frames are given back where they end: the threads' free ones are evened out. */
static void balance_frames(struct engine_thread *a, struct engine_thread *b)
{
	enum { SLACK = 64 };

	if (a->frame_free_count < b->frame_free_count) {
		struct engine_thread *swap = a;

		a = b;
		b = swap;
	}
	while (a->frame_free_count > b->frame_free_count + SLACK)
		engine_frame_put(b, engine_frame_get(a));
}

static __attribute__((noinline)) void balance(struct sim *sim)
{
	for (uint32_t t = 1; t < sim->params.thread_count; t++) {
		util_arena_balance(&sim->threads[t - 1].chunks, &sim->threads[t].chunks);
		balance_frames(&sim->threads[t - 1], &sim->threads[t]);
	}
}

static void enter_window(struct sim *sim, uint64_t window)
{
	sim->window = window;
	for (uint32_t t = 0; t < sim->params.thread_count; t++)
		sim_engine_far_near(&sim->threads[t], window);
}

/* After a window: the callback, then the next one that has work. */
bool sim_engine_next_window(struct sim *sim)
{
	uint64_t window;

	for (uint32_t t = 0; t < sim->params.thread_count; t++)
		sim->threads[t].any &= ~((uint64_t)1 << sim->window % WAKE_SLOTS);
	if (sim->params.thread_count > 1)
		balance(sim);
	if (sim->params.between)
		sim->error = sim->params.between(sim, sim->params.owner);
	if (sim->error == 0)
		sim->error = first_error(sim);
	if (sim->error < 0 || sim->stop)
		return false;
	window = next_busy(sim, sim->window);
	/* By division: the last window of time must not overflow. */
	if (window == UINT64_MAX || window > (sim->until - 1) / sim->look) {
		sim->done = window == UINT64_MAX;
		return false;
	}
	enter_window(sim, window);
	return true;
}

/* Everyone is asked in the first window of a run. */
static bool begin(struct sim *sim, ps_t until)
{
	const uint64_t window = sim->window;

	if (until == 0 || window > (until - 1) / sim->look)
		return false;
	sim->until = until;
	sim->stop = 0;
	sim->running = true;
	for (uint32_t i = 0; i < sim->node_count; i++)
		engine_activate(&sim->threads[sim->nodes[i]->thread], sim->nodes[i]->slot, window);
	enter_window(sim, window);
	return true;
}

#if defined(__GNUC__) && !defined(__clang__)
#define KEPT_APART __attribute__((noipa))
#else
#define KEPT_APART __attribute__((noinline))
#endif

KEPT_APART int sim_run(struct sim *sim, ps_t until)
{
	int ret = 0;

	CHECK(sim->sealed);
	CHECK(!sim->running);
	CHECK(!sim->finished);
	if (!begin(sim, until))
		return 0;
	if (sim->params.thread_count > 1)
		ret = sim_engine_run_threads(sim);
	else
		do
			sim_engine_window(&sim->threads[0]);
		while (sim_engine_next_window(sim));
	sim->window++;
	sim->running = false;
	return ret != 0 ? ret : sim->error;
}

ps_t sim_next_at(const struct sim *sim)
{
	const uint64_t window = next_busy(sim, sim->window);

	return window > (PS_NEVER - 1) / sim->look ? PS_NEVER : window * sim->look;
}

void sim_stop(struct sim *sim)
{
	sim->stop = 1;
}

void sim_fail(struct sim_thread *th, int error)
{
	CHECK(error < 0);
	engine_of(th)->error = error;
}
