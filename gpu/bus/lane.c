/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* One direction of a lane: what waits for it, which of that may go, and its credits. */

/* ---- what a burst takes ---- */

static uint32_t wire_bytes(const struct bus_way *way, const struct bus_burst *burst)
{
	return bus_link_bytes(&way->lane->link, (enum bus_class)burst->kind, burst->bytes);
}

/* The first TLP of it, which has to be there before the next part knows where it goes. */
static uint32_t head_bytes(const struct bus_way *way, const struct bus_burst *burst)
{
	const uint32_t most = bus_link_payload(&way->lane->link);
	struct bus_burst head = *burst;

	if (burst->kind == BUS_NON_POSTED)
		head.bytes = 1;
	else if (burst->bytes > most)
		head.bytes = most;
	return wire_bytes(way, &head);
}

static struct bus_credits credits_of(const struct bus_way *way, const struct bus_burst *burst)
{
	const struct bus_link *link = &way->lane->link;

	if (burst->kind == BUS_NON_POSTED)
		return (struct bus_credits){
			.headers = pcie_tlps(burst->bytes, bus_link_request(link))};
	return (struct bus_credits){.headers = pcie_tlps(burst->bytes, bus_link_payload(link)),
				    .data = (burst->bytes + BUS_CREDIT_BYTES - 1) /
					    BUS_CREDIT_BYTES};
}

/* ---- credits ---- */

static void collect(struct bus_pool *pool, ps_t now)
{
	while (pool->count > 0 && pool->returns[pool->first].at <= now) {
		const struct bus_return *back = &pool->returns[pool->first];

		pool->headers += back->headers;
		pool->data += back->data;
		pool->first = (pool->first + 1) % pool->room;
		pool->count--;
	}
}

static bool has_credits(const struct bus_way *way, const struct bus_burst *burst)
{
	const struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_credits needs = credits_of(way, burst);

	return pool->is_endless || (pool->headers >= needs.headers && pool->data >= needs.data);
}

void bus_way_give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now)
{
	struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_credits held = credits_of(way, burst);
	uint32_t i;

	if (pool->is_endless)
		return;
	CHECK(pool->count < pool->room);
	at += way->lane->update + way->lane->delay;
	for (i = pool->count++; i > 0; i--) {
		const uint32_t before = (pool->first + i - 1) % pool->room;

		if (pool->returns[before].at <= at)
			break;
		pool->returns[(before + 1) % pool->room] = pool->returns[before];
	}
	pool->returns[(pool->first + i) % pool->room] =
		(struct bus_return){.at = at, .headers = held.headers, .data = held.data};
	if (pool->starved_from != PS_NEVER && (!way->event.pending || way->event.at > at))
		sim_local_schedule(way->bus->local, &way->event, at > now ? at : now);
}

/* ---- order ---- */

/* Whether the first burst of @kind may go before all posted ones that came earlier. */
static bool may_pass_posted(const struct bus_way *way, enum bus_class kind)
{
	const struct bus_burst *posted = way->waiting[BUS_POSTED].first;

	return kind == BUS_POSTED || !posted || posted->order > way->waiting[kind].first->order ||
	       (kind == BUS_COMPLETION && way->lane->relaxed);
}

/* The earliest that may go; NULL: none. What waits for nothing but credits is remembered. */
static struct bus_burst *pick(struct bus_way *way, ps_t now)
{
	struct bus_burst *best = NULL;

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		struct bus_burst *first = way->waiting[kind].first;
		struct bus_pool *pool = &way->pools[kind];

		if (!first || !may_pass_posted(way, (enum bus_class)kind))
			continue;
		collect(pool, now);
		if (!has_credits(way, first)) {
			if (pool->starved_from == PS_NEVER)
				pool->starved_from = now;
		} else if (!best || first->order < best->order) {
			best = first;
		}
	}
	return best;
}

/* ---- the wire ---- */

static void on_forward(struct sim_local_event *event, void *context)
{
	struct bus_burst *burst = container_of(event, struct bus_burst, event);

	(void)context;
	bus_way_take(bus_route(burst->on->bus, burst->on->to, burst->to), burst, event->at);
}

static void on_finish(struct sim_local_event *event, void *context)
{
	struct bus_burst *burst = container_of(event, struct bus_burst, event);
	struct bus *bus = burst->on->bus;

	(void)context;
	bus_way_give_back(burst->on, burst, event->at, event->at);
	bus->finish(bus, burst, event->at);
}

/* It is on its lane, at whose end the head and the last byte of it are then: when it may go on, or
 * is there, is known. The next lane may begin when the head is through the part, unless it is so
 * fast that the last bytes would be late. */
static void send_on(struct bus_burst *burst, ps_t head_at, ps_t tail_at)
{
	const struct bus_way *way = burst->on;
	const struct bus *bus = way->bus;
	const ps_t latency = bus->parts[way->to].params.latency;
	ps_t at = tail_at + latency;

	if (way->to == burst->to) {
		burst->event.fn = on_finish;
	} else {
		const struct bus_way *next = bus_route(bus, way->to, burst->to);
		const ps_t time = bus_link_time(&next->lane->link, wire_bytes(next, burst));
		const ps_t early = head_at + latency;

		burst->event.fn = on_forward;
		at = at > early + time ? at - time : early;
	}
	sim_local_schedule(bus->local, &burst->event, at);
}

static void start(struct bus_way *way, struct bus_burst *burst, ps_t now)
{
	struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_credits needs = credits_of(way, burst);
	const uint32_t bytes = wire_bytes(way, burst);
	const struct bus_link *link = &way->lane->link;
	const ps_t time = bus_link_time(link, bytes);

	(void)bus_dequeue(&way->waiting[burst->kind]);
	if (!pool->is_endless) {
		pool->headers -= needs.headers;
		pool->data -= needs.data;
	}
	if (pool->starved_from != PS_NEVER) {
		way->stats.starved[burst->kind] += now - pool->starved_from;
		pool->starved_from = PS_NEVER;
	}
	if (burst->on)
		bus_way_give_back(burst->on, burst, now + time, now);
	else if (burst->kind == BUS_POSTED && burst->ops->left)
		burst->ops->left(burst, way->bus->context, now);
	burst->on = way;
	way->started_at = now;
	way->free_at = now + time;
	way->stats.bursts++;
	way->stats.bytes += burst->kind == BUS_NON_POSTED ? 0 : burst->bytes;
	way->stats.wire_bytes += bytes;
	way->stats.busy += time;
	send_on(burst, now + bus_link_time(link, head_bytes(way, burst)) + way->lane->delay,
		now + time + way->lane->delay);
}

static void serve(struct bus_way *way, ps_t now)
{
	ps_t again = PS_NEVER;

	while (way->free_at <= now) {
		struct bus_burst *burst = pick(way, now);

		if (!burst)
			break;
		start(way, burst, now);
	}
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const struct bus_pool *pool = &way->pools[kind];

		if (way->free_at > now && way->waiting[kind].first)
			again = way->free_at;
		else if (pool->starved_from != PS_NEVER && pool->count > 0 &&
			 pool->returns[pool->first].at < again)
			again = pool->returns[pool->first].at;
	}
	if (again != PS_NEVER)
		sim_local_schedule(way->bus->local, &way->event, again);
}

void bus_way_on_event(struct sim_local_event *event, void *context)
{
	struct bus_way *way = container_of(event, struct bus_way, event);

	(void)context;
	serve(way, event->at);
}

void bus_way_take(struct bus_way *way, struct bus_burst *burst, ps_t now)
{
	burst->order = way->next_order++;
	bus_enqueue(&way->waiting[burst->kind], burst);
	serve(way, now);
}
