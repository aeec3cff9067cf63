/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/copy.h"

#include "util/check.h"

static void copy_on_arrived(struct bus_burst *burst, void *context, ps_t now);
static const struct bus_burst_ops copy_burst_ops = {.arrived = copy_on_arrived};

void copy_engine_init(struct copy_engine *engine, struct bus *bus, uint32_t own, uint32_t other,
		      bool reads)
{
	*engine = (struct copy_engine){.bus = bus,
				       .own = own,
				       .other = other,
				       .reads = reads,
				       .burst_most = bus_burst_most(bus, own, other)};
	for (uint32_t i = 0; i < COPY_BURSTS; i++) {
		engine->bursts[i].engine = engine;
		engine->bursts[i].next = engine->spare;
		engine->spare = &engine->bursts[i];
	}
}

static void start_burst(struct copy_engine *engine, struct copy_job *copy, ps_t now)
{
	struct copy_burst *burst = engine->spare;
	const uint64_t left = copy->bytes - copy->started;

	engine->spare = burst->next;
	burst->burst = (struct bus_burst){.ops = &copy_burst_ops,
					  .bytes = left < engine->burst_most ? (uint32_t)left
									     : engine->burst_most};
	copy->started += burst->burst.bytes;
	copy->under_way++;
	if (engine->reads)
		bus_read(engine->bus, &burst->burst, engine->own, engine->other, now);
	else
		bus_write(engine->bus, &burst->burst, engine->own, engine->other, now);
}

static void start_more(struct copy_engine *engine, ps_t now)
{
	struct copy_job *copy = engine->first;

	while (copy && engine->spare && copy->started < copy->bytes)
		start_burst(engine, copy, now);
}

static void copy_on_arrived(struct bus_burst *burst, void *context, ps_t now)
{
	struct copy_burst *own = container_of(burst, struct copy_burst, burst);
	struct copy_engine *engine = own->engine;
	struct copy_job *copy = engine->first;

	(void)context;
	own->next = engine->spare;
	engine->spare = own;
	copy->under_way--;
	if (copy->under_way == 0 && copy->started == copy->bytes) {
		engine->first = copy->next;
		copy->on_done(copy, now);
	}
	start_more(engine, now);
}

void copy_engine_take(struct copy_engine *engine, struct copy_job *copy, ps_t now)
{
	CHECK(copy->bytes > 0);
	copy->started = 0;
	copy->under_way = 0;
	copy->next = NULL;
	*(engine->first ? &engine->last->next : &engine->first) = copy;
	engine->last = copy;
	start_more(engine, now);
}
