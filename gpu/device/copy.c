/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/copy.h"

#include "gpu/bus/multicast.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

uint64_t copy_side_at(const struct copy_side *side, uint64_t nth, uint64_t *ret_run)
{
	uint64_t row;

	if (side->width == 0) {
		*ret_run = UINT64_MAX - nth;
		return nth;
	}
	nth += side->skip;
	row = nth / side->width;
	*ret_run = side->width - nth % side->width;
	return row / side->rows * side->slice_step + row % side->rows * side->row_step +
	       nth % side->width;
}

void copy_sides(uint8_t *to, const struct copy_side *to_side, const uint8_t *from,
		const struct copy_side *from_side, uint64_t bytes)
{
	for (uint64_t done = 0, run, other; done < bytes; done += run) {
		const uint64_t to_at = copy_side_at(to_side, done, &run);
		const uint64_t from_at = copy_side_at(from_side, done, &other);

		run = run < other ? run : other;
		run = run < bytes - done ? run : bytes - done;
		memmove(to + to_at, from + from_at, run);
	}
}

static void copy_on_arrived(struct bus_burst *burst, void *context, ps_t now);
static void copy_on_left(struct bus_burst *burst, void *context, ps_t now);
static bool copy_on_reached(struct bus_burst *burst, void *context, ps_t now);
static const struct bus_burst_ops copy_burst_ops = {
	.arrived = copy_on_arrived, .left = copy_on_left, .reached = copy_on_reached};

/* What the next one moves: no more than lies in a row at both ends. */
static uint32_t burst_bytes(const struct copy_job *copy)
{
	const uint64_t left = copy->bytes - copy->started;
	uint64_t most = copy->burst_most, run;

	most = most < left ? most : left;
	(void)copy_side_at(&copy->to_side, copy->started, &run);
	most = most < run ? most : run;
	(void)copy_side_at(&copy->from_side, copy->started, &run);
	return (uint32_t)(most < run ? most : run);
}

static void copy_start_burst(struct copy_engine *engine, struct copy_job *copy, ps_t now)
{
	struct copy_burst *burst = engine->spare;

	engine->spare = burst->next;
	burst->burst = (struct bus_burst){
		.ops = &copy_burst_ops, .packet = engine->packet, .bytes = burst_bytes(copy)};
	burst->offset = copy->started;
	burst->is_read = false;
	copy->started += burst->burst.bytes;
	copy->under_way++;
	if (engine->multicast && engine->reads)
		bus_multicast_read(engine->multicast, &burst->burst, now);
	else if (engine->multicast)
		bus_multicast_write(engine->multicast, &burst->burst, now);
	else if (engine->reads)
		bus_read(engine->bus, &burst->burst, engine->own, copy->other, now);
	else
		bus_write(engine->bus, &burst->burst, engine->own, copy->other, now);
}

/* When the next burst may leave. */
static ps_t copy_turn(const struct copy_engine *engine, const struct copy_job *copy)
{
	return engine->began + (ps_t)((u128)copy->spread * copy->started / copy->bytes);
}

/* The next burst would be of what is held. */
static bool is_held(const struct copy_job *copy)
{
	return copy->held > 0 && copy->started + burst_bytes(copy) > copy->bytes - copy->held;
}

static void copy_on_turn(struct sim_local_event *event, void *context);

static void copy_start_more(struct copy_engine *engine, ps_t now)
{
	struct copy_job *copy = engine->first;

	while (engine->spare && copy->started < copy->bytes && copy_turn(engine, copy) <= now &&
	       !is_held(copy))
		copy_start_burst(engine, copy, now);
	if (!engine->spare || copy->started == copy->bytes || engine->event.pending ||
	    is_held(copy))
		return;
	engine->event.fn = copy_on_turn;
	sim_local_schedule(engine->local, &engine->event, copy_turn(engine, copy));
}

static void copy_on_turn(struct sim_local_event *event, void *context)
{
	(void)context;
	copy_start_more(container_of(event, struct copy_engine, event), event->at);
}

static bool has_room(struct copy_burst *own)
{
	if (own->room_bytes < own->burst.bytes) {
		util_free(own->room);
		own->room = util_alloc(own->burst.bytes);
		own->room_bytes = own->room ? own->burst.bytes : 0;
	}
	return own->room != NULL;
}

static void read_bytes(struct copy_burst *own)
{
	struct copy_job *copy = own->engine->first;
	const uint8_t *from;
	uint64_t run;

	own->is_read = copy->to && has_room(own);
	if (!own->is_read)
		return;
	from = copy->from + copy_side_at(&copy->from_side, own->offset, &run);
	if (copy->on_read)
		copy->on_read(copy, from, own->burst.bytes);
	memcpy(own->room, from, own->burst.bytes);
}

static void copy_on_left(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context, (void)now;
	read_bytes(container_of(burst, struct copy_burst, burst));
}

static bool copy_on_reached(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context, (void)now;
	read_bytes(container_of(burst, struct copy_burst, burst));
	return true;
}

static void write_bytes(struct copy_burst *own, const struct copy_job *copy)
{
	uint64_t run;

	if (copy->to)
		memcpy(copy->to + copy_side_at(&copy->to_side, own->offset, &run),
		       own->is_read
			       ? own->room
			       : copy->from + copy_side_at(&copy->from_side, own->offset, &run),
		       own->burst.bytes);
}

static void copy_on_begin(struct sim_local_event *event, void *context)
{
	struct copy_engine *engine = container_of(event, struct copy_engine, event);

	(void)context;
	engine->began = event->at;
	copy_start_more(engine, event->at);
}

static void copy_begin_first(struct copy_engine *engine, ps_t now)
{
	engine->event.fn = copy_on_begin;
	sim_local_schedule(engine->local, &engine->event, now + engine->first->start);
}

static void copy_end_first(struct copy_engine *engine, ps_t now)
{
	struct copy_job *copy = engine->first;

	engine->stats.copies++;
	engine->stats.bytes += copy->bytes;
	engine->stats.busy += now - engine->busy_from;
	engine->busy_from = now;
	engine->first = copy->next;
	if (engine->first)
		copy_begin_first(engine, now);
	copy->on_done(copy, now);
}

static void copy_on_end(struct sim_local_event *event, void *context)
{
	(void)context;
	copy_end_first(container_of(event, struct copy_engine, event), event->at);
}

/* What it had under way has made room. */
static void copy_on_room(struct copy_burst *own, ps_t now)
{
	struct copy_engine *engine = own->engine;
	struct copy_job *copy = engine->first;

	own->next = engine->spare;
	engine->spare = own;
	copy->under_way--;
	if (copy->under_way > 0 || copy->started < copy->bytes) {
		copy_start_more(engine, now);
		return;
	}
	if (now >= engine->began + copy->least) {
		copy_end_first(engine, now);
		return;
	}
	engine->event.fn = copy_on_end;
	sim_local_schedule(engine->local, &engine->event, engine->began + copy->least);
}

static void copy_on_lag(struct sim_local_event *event, void *context)
{
	(void)context;
	copy_on_room(container_of(event, struct copy_burst, event), event->at);
}

static void copy_on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct copy_burst *own = container_of(burst, struct copy_burst, burst);

	(void)context;
	write_bytes(own, own->engine->first);
	own->engine->first->arrived += burst->bytes;
	own->engine->first->is_lost |= burst->is_lost;
	if (own->engine->first->on_placed)
		own->engine->first->on_placed(own->engine->first, now);
	if (own->engine->lag == 0)
		copy_on_room(own, now);
	else
		sim_local_schedule(own->engine->local, &own->event, now + own->engine->lag);
}

int copy_engine_init(struct copy_engine *engine, struct bus *bus, struct sim_local *local,
		     uint32_t own, bool reads, uint64_t key, uint32_t bursts)
{
	*engine = (struct copy_engine){
		.bus = bus,
		.local = local,
		.own = own,
		.reads = reads,
		.bursts = util_calloc(bursts, sizeof(*engine->bursts)),
		.burst_count = bursts,
		.event = {.key = key, .phase = SIM_LOCAL_ARRIVAL, .fn = copy_on_begin}};
	if (!engine->bursts) {
		engine->burst_count = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < bursts; i++) {
		engine->bursts[i].engine = engine;
		engine->bursts[i].event = (struct sim_local_event){
			.key = key + 1 + i, .phase = SIM_LOCAL_ARRIVAL, .fn = copy_on_lag};
		engine->bursts[i].next = engine->spare;
		engine->spare = &engine->bursts[i];
	}
	return 0;
}

void copy_engine_fini(struct copy_engine *engine)
{
	for (uint32_t i = 0; i < engine->burst_count; i++)
		util_free(engine->bursts[i].room);
	util_free(engine->bursts);
	*engine = (struct copy_engine){.bus = NULL};
}

void copy_engine_take(struct copy_engine *engine, struct copy_job *copy, ps_t now)
{
	const bool is_idle = !engine->first;

	CHECK(copy->bytes > 0);
	copy->started = copy->arrived = 0;
	copy->under_way = 0;
	copy->burst_most = bus_burst_most(engine->bus, engine->own, copy->other);
	if (copy->most > 0 && copy->most < copy->burst_most)
		copy->burst_most = copy->most;
	copy->next = NULL;
	*(is_idle ? &engine->first : &engine->last->next) = copy;
	engine->last = copy;
	if (!is_idle)
		return;
	engine->busy_from = now;
	copy_begin_first(engine, now);
}

void copy_engine_release(struct copy_engine *engine, struct copy_job *copy, uint64_t held, ps_t now)
{
	copy->held = held;
	if (engine->first == copy && !engine->event.pending)
		copy_start_more(engine, now);
}

struct copy_stats copy_engine_stats(const struct copy_engine *engine, ps_t at)
{
	struct copy_stats stats = engine->stats;

	if (engine->first && at > engine->busy_from)
		stats.busy += at - engine->busy_from;
	return stats;
}
