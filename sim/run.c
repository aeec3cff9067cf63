/* SPDX-License-Identifier: BSD-2-Clause */

/* From window to window. */
#include "sim/internal.h"

#include <errno.h>
#include <string.h>

uint64_t sim_engine_next_busy(const struct engine_thread *et, uint32_t count, uint64_t window)
{
	const uint32_t turn = window % WAKE_SLOTS;
	uint64_t any = 0, first = UINT64_MAX;

	for (uint32_t t = 0; t < count; t++) {
		const uint64_t far = sim_engine_far_first(&et[t]);

		any |= et[t].any;
		first = far < first ? far : first;
	}
	any = turn ? any >> turn | any << (WAKE_SLOTS - turn) : any;
	if (any) {
		const uint64_t near = window + (uint64_t)__builtin_ctzll(any);

		first = near < first ? near : first;
	}
	return first;
}

/* The window at hand, where some of it is not played yet, or the one behind it. */
static uint64_t window_left(const struct sim *sim)
{
	return sim->until / sim->look;
}

static uint64_t next_busy(const struct sim *sim)
{
	return sim_engine_next_busy(sim->threads, sim->params.thread_count, window_left(sim));
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
		util_arena_balance(sim->threads[t - 1].chunks, sim->threads[t].chunks);
		balance_frames(&sim->threads[t - 1], &sim->threads[t]);
	}
}

static void enter_window(struct sim *sim, uint64_t window)
{
	const ps_t begin = window * sim->look;

	sim->window = window;
	sim->from = begin > sim->until ? begin : sim->until;
	sim->until = sim->run_until < sim->cut_at ? sim->run_until : sim->cut_at;
	if (sim->until - begin > sim->look)
		sim->until = begin + sim->look;
	sim->cut_at = PS_NEVER;
	for (uint32_t t = 0; t < sim->params.thread_count; t++)
		sim_engine_far_near(&sim->threads[t], window);
}

/* After a window: the callback, then the next one that has work. */
bool sim_engine_next_window(struct sim *sim)
{
	uint64_t window;

	if (sim->params.thread_count > 1)
		balance(sim);
	if (sim->params.between)
		sim->error = sim->params.between(sim, sim->params.owner);
	if (sim->error == 0)
		sim->error = first_error(sim);
	if (sim->error < 0 || sim->stop)
		return false;
	window = next_busy(sim);
	/* By division: the last window of time must not overflow. */
	if (window == UINT64_MAX || sim->until >= sim->run_until ||
	    window > (sim->run_until - 1) / sim->look) {
		sim->done = window == UINT64_MAX;
		return false;
	}
	enter_window(sim, window);
	return true;
}

static void sim_run_ask(const struct sim *sim, const struct sim_node *node, uint64_t window)
{
	struct engine_thread *et = &sim->threads[node->thread];
	struct island *island = node->island ? &sim->islands[node->island - 1] : NULL;

	if (island)
		sim_engine_wake(&island->own, node->slot, sim->until);
	engine_activate(et, island ? island->first_slot : node->slot, window);
}

/* Everyone is asked in the first window of a run. */
static KEPT_APART bool sim_run_begin(struct sim *sim, ps_t until)
{
	const uint64_t window = window_left(sim);

	if (until <= sim->until)
		return false;
	sim->run_until = until;
	sim->stop = 0;
	sim->running = true;
	for (uint32_t i = 0; i < sim->node_count; i++)
		sim_run_ask(sim, sim->nodes[i], window);
	enter_window(sim, window);
	return true;
}

KEPT_APART int sim_run(struct sim *sim, ps_t until)
{
	int ret = 0;

	CHECK(sim->sealed);
	CHECK(!sim->running);
	CHECK(!sim->finished);
	if (!sim_run_begin(sim, until))
		return 0;
	if (sim->params.thread_count > 1)
		ret = sim_engine_run_threads(sim);
	else
		do
			sim_engine_window(&sim->threads[0]);
		while (sim_engine_next_window(sim));
	sim->running = false;
	return ret != 0 ? ret : sim->error;
}

ps_t sim_next_at(const struct sim *sim)
{
	const uint64_t window = next_busy(sim);

	if (window > (PS_NEVER - 1) / sim->look)
		return PS_NEVER;
	return window * sim->look > sim->until ? window * sim->look : sim->until;
}

void sim_cut(struct sim *sim, ps_t at)
{
	CHECK(!sim->running || at > sim->until);
	if (at < sim->cut_at)
		sim->cut_at = at;
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
