/* SPDX-License-Identifier: BSD-2-Clause */

/* Frames and wake-ups that lie beyond the ring of windows: two binary heaps a thread, by window.
 * Order within a window does not matter here: inboxes are sorted when they are read. */
#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* Both heaps hold elements that begin with their window. */
static uint64_t window_at(const char *heap, size_t bytes, uint32_t i)
{
	uint64_t window;

	memcpy(&window, heap + bytes * i, sizeof(window));
	return window;
}

static void far_sift_up(char *heap, size_t bytes, uint32_t i, const void *element, uint64_t window)
{
	while (i > 0 && window_at(heap, bytes, (i - 1) / 2) > window) {
		memcpy(heap + bytes * i, heap + bytes * ((i - 1) / 2), bytes);
		i = (i - 1) / 2;
	}
	memcpy(heap + bytes * i, element, bytes);
}

/* Takes the first element out: the last one finds its place from the top. */
static void pop(char *heap, size_t bytes, uint32_t count)
{
	const char *last = heap + bytes * (count - 1);
	const uint64_t window = window_at(heap, bytes, count - 1);
	uint32_t i = 0, child;

	while ((child = 2 * i + 1) < count - 1) {
		if (child + 1 < count - 1 &&
		    window_at(heap, bytes, child + 1) < window_at(heap, bytes, child))
			child++;
		if (window_at(heap, bytes, child) >= window)
			break;
		memcpy(heap + bytes * i, heap + bytes * child, bytes);
		i = child;
	}
	if (i != count - 1)
		memcpy(heap + bytes * i, last, bytes);
}

static bool room(struct engine_thread *et, void **heap, uint32_t count, uint32_t *max, size_t bytes)
{
	const uint32_t more = *max ? *max * 2 : 64;
	void *grown;

	if (count < *max)
		return true;
	grown = util_realloc(*heap, more, bytes);
	if (!grown) {
		et->error = -ENOMEM;
		return false;
	}
	*heap = grown;
	*max = more;
	return true;
}

static void post(struct engine_thread *et, uint32_t slot, uint32_t number, uint64_t window)
{
	struct inbox *box = et->inboxes[window & et->window_mask] + slot;
	const ps_t offset = et->store[number].at - window * et->look;

	if (((uintptr_t)box->write & (CHUNK_BYTES - 1)) == (uintptr_t)INBOX_FULL)
		sim_engine_chunk_new(et, box, slot, window);
	*box->write++ = engine_key(et, &et->store[number], offset);
}

__attribute__((noinline)) void sim_engine_far_post(struct engine_thread *et, uint32_t slot,
						   struct sim_pkt *frame)
{
	const struct far_frame far = {
		.window = frame->at / et->look,
		.slot = slot,
		.number = (uint32_t)(frame - et->store),
	};
	void *heap = et->far_frames;

	CHECK(frame->at >= et->pub.until); /* or it should have been known when that began */
	if (far.window <= et->window + et->window_mask) {
		post(et, slot, far.number, far.window);
		return;
	}
	if (room(et, &heap, et->far_frame_count, &et->far_frame_max, sizeof(far)))
		far_sift_up(heap, sizeof(far), et->far_frame_count++, &far, far.window);
	et->far_frames = heap;
}

static void far_wake(struct engine_thread *et, uint32_t slot, uint64_t window)
{
	const struct far_wake far = {.window = window, .slot = slot};
	void *heap = et->far_wakes;

	if (room(et, &heap, et->far_wake_count, &et->far_wake_max, sizeof(far))) {
		far_sift_up(heap, sizeof(far), et->far_wake_count++, &far, window);
		et->far_wake_at[slot] = window;
	}
	et->far_wakes = heap;
}

ps_t sim_engine_wake(struct engine_thread *et, uint32_t slot, ps_t at)
{
	uint64_t windows;

	if (et->outer)
		return sim_engine_island_wake(island_of(et), slot, at);
	windows = 1 + (at - et->end) / et->look;
	if (at < et->end) {
		engine_activate(et, slot, et->window);
		return at;
	}
	if (windows < WAKE_SLOTS) {
		engine_activate(et, slot, et->window + windows);
		return at;
	}
	if (et->far_wake_at[slot] <= et->window + windows)
		return et->far_wake_at[slot] * et->look;
	far_wake(et, slot, et->window + windows);
	return at;
}

ps_t sim_wake(struct sim_thread *th, struct sim_node *node, ps_t at)
{
	const struct sim_other *other = th->sim->other;

	CHECK(at >= th->until);
	if (likely(!other))
		return engine_wake(engine_of(th), node->slot, at);
	other->wake(other->context, node, at);
	return at;
}

void sim_wake_between(struct sim *sim, struct sim_node *node, ps_t at)
{
	struct engine_thread *et = &sim->threads[node->thread];
	uint32_t slot = node->slot;

	if (sim->other) {
		sim->other->wake(sim->other->context, node, at);
		return;
	}
	at = at < et->pub.until ? et->pub.until : at;
	if (node->island > 0) {
		sim_engine_wake(&sim->islands[node->island - 1].own, slot, at);
		slot = sim->islands[node->island - 1].first_slot;
	}
	engine_wake(et, slot, at);
}

uint64_t sim_engine_far_first(const struct engine_thread *et)
{
	uint64_t first = et->far_frame_count > 0 ? et->far_frames[0].window : UINT64_MAX;

	if (et->far_wake_count > 0 && et->far_wakes[0].window < first)
		first = et->far_wakes[0].window;
	return first;
}

void sim_engine_far_near(struct engine_thread *et, uint64_t window)
{
	while (et->far_frame_count > 0 && et->far_frames[0].window <= window + et->window_mask) {
		const struct far_frame far = et->far_frames[0];

		pop((char *)et->far_frames, sizeof(far), et->far_frame_count--);
		post(et, far.slot, far.number, far.window);
	}
	while (et->far_wake_count > 0 && et->far_wakes[0].window < window + WAKE_SLOTS) {
		const struct far_wake far = et->far_wakes[0];

		pop((char *)et->far_wakes, sizeof(far), et->far_wake_count--);
		if (et->far_wake_at[far.slot] == far.window)
			et->far_wake_at[far.slot] = UINT64_MAX;
		engine_activate(et, far.slot, far.window);
	}
}
