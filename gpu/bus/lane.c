/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* One direction of a lane: what waits for it, which of that may go, and its credits. */

/* ---- what a burst takes ---- */

static const struct bus_link *link_for(const struct bus_way *way, const struct bus_burst *burst)
{
	return burst->is_split ? &way->split : &way->lane->link;
}

/* As @burst has it, whose packets may be smaller. */
static struct bus_link narrowed(const struct bus_link *link, const struct bus_burst *burst)
{
	struct bus_link own = *link;

	if (burst->packet == 0)
		return own;
	if (own.kind == BUS_NVLINK && own.nvlink.payload > burst->packet)
		own.nvlink.payload = burst->packet;
	if (own.kind != BUS_PCIE)
		return own;
	if (own.pcie.mps > burst->packet)
		own.pcie.mps = burst->packet;
	if (own.pcie.mrrs > burst->packet)
		own.pcie.mrrs = burst->packet;
	return own;
}

static __attribute__((noinline)) struct bus_cost make_cost(const struct bus_way *way,
							   const struct bus_burst *burst)
{
	const struct bus_link own = narrowed(link_for(way, burst), burst), *link = &own;
	const uint32_t room = way->lane->room[burst->kind].headers;
	const enum bus_class kind = (enum bus_class)burst->kind;
	const bool is_request = kind == BUS_NON_POSTED;
	const uint32_t most = is_request ? bus_link_request(link) : bus_link_payload(link);
	/* Its first TLP has to be there before the next part knows where it goes. */
	const uint32_t head = burst->bytes < most ? burst->bytes : most;
	struct bus_cost cost = {.bytes = burst->bytes,
				.is_split = burst->is_split,
				.packet = burst->packet,
				.wire_bytes = bus_link_bytes(link, kind, burst->bytes)};

	cost.needs.headers = pcie_tlps(burst->bytes, most);
	if (burst->packet > 0 && room > 0 && cost.needs.headers > room)
		cost.needs.headers = room; /* they follow each other */
	if (!is_request)
		cost.needs.data = (burst->bytes + BUS_CREDIT_BYTES - 1) / BUS_CREDIT_BYTES;
	cost.head = bus_link_time(&way->lane->link, bus_link_bytes(link, kind, head));
	cost.all = bus_link_time(&way->lane->link, cost.wire_bytes);
	if (kind == BUS_POSTED && link->kind == BUS_NVLINK) {
		cost.response_bytes = nvlink_response_bytes(&link->nvlink, burst->bytes);
		cost.response = bus_link_time(link, cost.response_bytes);
	}
	return cost;
}

static inline bool is_of(const struct bus_cost *cost, const struct bus_burst *burst)
{
	return cost->bytes == burst->bytes && cost->is_split == burst->is_split &&
	       cost->packet == burst->packet;
}

static inline __attribute__((always_inline)) const struct bus_cost *
cost_of(struct bus_way *way, const struct bus_burst *burst)
{
	struct bus_cost *costs = way->costs[burst->kind], *oldest;

	if (is_of(&costs[0], burst))
		return &costs[0];
	if (is_of(&costs[1], burst))
		return &costs[1];
	oldest = &costs[way->older[burst->kind]];
	way->older[burst->kind] ^= 1;
	*oldest = make_cost(way, burst);
	return oldest;
}

/* How long it would take, started at @at. */
static ps_t time_of(struct bus_way *way, const struct bus_burst *burst, ps_t at)
{
	const struct bus_cost *cost = cost_of(way, burst);

	return way->fault_count > 0 ? bus_fault_time(way, cost->wire_bytes, at) : cost->all;
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

static inline bool has_credits(struct bus_way *way, const struct bus_burst *burst)
{
	const struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_credits *needs;

	if (pool->is_endless)
		return true;
	needs = &cost_of(way, burst)->needs;
	return pool->headers >= needs->headers && pool->data >= needs->data;
}

/* What is written, for @cost, has come to the end of @way, of NVLink: responses go back, before
 * what waits there. */
static void respond(struct bus_way *way, const struct bus_cost *cost, ps_t now)
{
	struct bus_way *back = bus_way_back(way);

	back->free_at = (back->free_at > now ? back->free_at : now) + cost->response;
	back->stats.wire_bytes += cost->response_bytes;
	back->stats.busy += cost->response;
}

void bus_way_give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now)
{
	struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_cost *cost = cost_of(way, burst);
	const struct bus_credits held = cost->needs;
	uint32_t i;

	if (cost->response_bytes > 0)
		respond(way, cost, now);
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

static void end_starving(struct bus_way *way, uint32_t kind, ps_t now)
{
	struct bus_pool *pool = &way->pools[kind];

	if (pool->starved_from != PS_NEVER)
		way->stats.starved[kind] += now - pool->starved_from;
	pool->starved_from = PS_NEVER;
}

/* ---- order ---- */

/* Whether the first burst of @kind may go before all posted ones that came earlier. */
static bool may_pass_posted(const struct bus_way *way, enum bus_class kind)
{
	const struct bus_burst *posted = way->waiting[BUS_POSTED].first;

	return kind == BUS_POSTED || !posted || posted->order > way->waiting[kind].first->order ||
	       (kind == BUS_COMPLETION && way->lane->relaxed);
}

/* By the limit of the lane, if it is of peers. */
static bool may_go_as_peer(const struct bus_way *way, const struct bus_burst *burst, ps_t now)
{
	return !burst->is_peer || way->peers_at[burst->kind] <= now;
}

/* The earliest that may go; NULL: none. What waits for nothing but credits is remembered. */
static struct bus_burst *pick(struct bus_way *way, ps_t now)
{
	struct bus_burst *best = NULL;

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		struct bus_burst *first = way->waiting[kind].first;
		struct bus_pool *pool = &way->pools[kind];

		if (!first || !may_pass_posted(way, (enum bus_class)kind) ||
		    !may_go_as_peer(way, first, now))
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

/* @burst cannot go on from the part to which it has come, and sets out anew. */
static void turn_back(struct bus_burst *burst, ps_t now)
{
	struct bus_way *on = burst->on;

	on->stats.replays++;
	on->stats.replayed_bytes += cost_of(on, burst)->wire_bytes;
	bus_way_give_back(on, burst, now, now);
	bus_depart(on->bus, burst, now);
}

/* From the part to which its last lane leads. */
static void go_on(struct bus_burst *burst, ps_t now)
{
	const struct bus_way *on = burst->on;
	struct bus_way *next = bus_next(on->bus, on->to, burst, now, &burst->number);

	if (next)
		bus_way_take(next, burst, now);
	else
		turn_back(burst, now);
}

/* It waited for a link, and takes another. */
static void divert(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	if (burst->on)
		go_on(burst, now);
	else
		bus_depart(bus, burst, now);
}

/* A link of NVLink is down: what waits for it takes others. */
static void scatter(struct bus_way *way, ps_t now)
{
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		struct bus_burst *next = way->waiting[kind].first, *burst;

		way->waiting[kind].first = NULL;
		end_starving(way, kind, now);
		while ((burst = next)) {
			next = burst->next;
			way->waiting_count--;
			divert(way->bus, burst, now);
		}
	}
}

static void on_forward(struct sim_local_event *event, void *context)
{
	(void)context;
	go_on(container_of(event, struct bus_burst, event), event->at);
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
	const struct bus_part *part = &bus->parts[way->to];
	const ps_t latency = part->params.latency;
	ps_t at = tail_at + latency;

	if (way->to == burst->via)
		burst->via = BUS_PARTS_MAX;
	if (way->to == burst->to) {
		burst->event.fn = on_finish;
		if (burst->kind == BUS_NON_POSTED && part->fault_count > 0)
			at = bus_fault_answer_at(part, at);
	} else {
		uint64_t number;
		const ps_t early = head_at + latency;
		struct bus_way *next = bus_next(bus, way->to, burst, early, &number);
		const ps_t time = next ? time_of(next, burst, early) : 0;

		burst->event.fn = on_forward;
		at = at > early + time ? at - time : early;
	}
	sim_local_schedule(bus->local, &burst->event, at);
}

static __attribute__((noinline)) void cross_with_faults(struct bus_way *way,
							const struct bus_burst *burst, ps_t now,
							ps_t *ret_head_at, ps_t *ret_tail_at)
{
	const struct bus_crossing crossing = bus_fault_cross(way, link_for(way, burst), burst, now);

	way->stats.wire_bytes += crossing.replayed_bytes;
	way->stats.replays += crossing.replays;
	way->stats.replayed_bytes += crossing.replayed_bytes;
	*ret_head_at = crossing.head_at;
	*ret_tail_at = crossing.tail_at;
}

/* The next of its class may go once this one has gone at the pace of the lane's limit. */
static void pace_peers(struct bus_way *way, const struct bus_burst *burst, ps_t now)
{
	const struct bus_lane_params *lane = way->lane;
	const uint64_t rate =
		burst->kind == BUS_POSTED ? lane->peer_writes_bps : lane->peer_reads_bps;

	if (rate > 0 && burst->kind != BUS_NON_POSTED)
		way->peers_at[burst->kind] = now + util_tx_time(burst->bytes, rate);
}

static void start(struct bus_way *way, struct bus_burst *burst, ps_t now)
{
	struct bus_pool *pool = &way->pools[burst->kind];
	const struct bus_cost *cost = cost_of(way, burst);
	ps_t head_at = now + cost->head, tail_at = now + cost->all;

	if (way->fault_count > 0)
		cross_with_faults(way, burst, now, &head_at, &tail_at);
	(void)bus_dequeue(&way->waiting[burst->kind]);
	way->waiting_count--;
	if (!pool->is_endless) {
		pool->headers -= cost->needs.headers;
		pool->data -= cost->needs.data;
	}
	end_starving(way, burst->kind, now);
	if (burst->on)
		bus_way_give_back(burst->on, burst, tail_at, now);
	else if (burst->kind == BUS_POSTED && burst->ops->left)
		burst->ops->left(burst, way->bus->context, now);
	burst->on = way;
	if (burst->is_peer)
		pace_peers(way, burst, now);
	way->started_at = now;
	way->free_at = tail_at;
	way->stats.bursts++;
	way->stats.bytes += burst->kind == BUS_NON_POSTED ? 0 : burst->bytes;
	way->stats.wire_bytes += cost->wire_bytes;
	way->stats.busy += tail_at - now;
	send_on(burst, head_at + way->lane->delay, tail_at + way->lane->delay);
}

/* From the end of @way nothing goes on any more. */
static bool is_stranded(const struct bus_way *way, const struct bus_burst *burst, ps_t now)
{
	const struct bus *bus = way->bus;

	return bus->mesh.has_outages && burst->is_meshed && way->to != burst->to &&
	       !bus_mesh_is_open(bus, way->to, burst->to, now);
}

/* When something may have changed that keeps the first of @kind from going. */
static ps_t next_look(const struct bus_way *way, uint32_t kind, ps_t now)
{
	const struct bus_pool *pool = &way->pools[kind];
	const struct bus_burst *first = way->waiting[kind].first;

	if (way->free_at > now && first)
		return way->free_at;
	if (first && !may_go_as_peer(way, first, now))
		return way->peers_at[kind];
	if (pool->starved_from != PS_NEVER && pool->count > 0)
		return pool->returns[pool->first].at;
	return PS_NEVER;
}

static void serve(struct bus_way *way, ps_t now)
{
	ps_t again = PS_NEVER;

	if (way->fault_count > 0 && way->free_at <= now && bus_fault_up_at(way, now) > now) {
		if (way->lane->link.kind == BUS_NVLINK)
			scatter(way, now);
		else
			way->free_at = bus_fault_up_at(way, now);
	}
	while (way->free_at <= now) {
		struct bus_burst *burst = pick(way, now);

		if (!burst)
			break;
		if (is_stranded(way, burst, now)) {
			(void)bus_dequeue(&way->waiting[burst->kind]);
			way->waiting_count--;
			divert(way->bus, burst, now);
		} else {
			start(way, burst, now);
		}
	}
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const ps_t look = next_look(way, kind, now);

		again = look < again ? look : again;
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
	way->waiting_count++;
	if (way->free_at > now && way->event.pending && way->event.at <= way->free_at)
		return; /* it will be looked at then */
	/* As most are: it is alone, and nothing keeps it. */
	if (way->free_at <= now && way->waiting_count == 1 && way->fault_count == 0 &&
	    may_go_as_peer(way, burst, now)) {
		if (way->pools[burst->kind].count > 0)
			collect(&way->pools[burst->kind], now);
		if (has_credits(way, burst)) {
			start(way, burst, now);
			return;
		}
	}
	serve(way, now);
}

static void on_lost(struct sim_local_event *event, void *context)
{
	struct bus_burst *burst = container_of(event, struct bus_burst, event);

	burst->ops->arrived(burst, context, event->at);
}

void bus_depart(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	const uint32_t from = burst->from, to = burst->to;

	burst->on = NULL;
	burst->is_peer = burst->is_split = false;
	burst->via = BUS_PARTS_MAX;
	burst->is_meshed = bus_mesh_joins(bus, from, to) && bus_mesh_is_open(bus, from, to, now);
	if (burst->is_meshed) {
		burst->number = bus_mesh_number(bus, from, to, (enum bus_class)burst->kind);
	} else if (!bus_route(bus, from, to)) {
		burst->is_lost = true;
		burst->event.fn = on_lost;
		sim_local_schedule(bus->local, &burst->event, now);
		return;
	} else if (bus->has_peers) {
		bus_peers_set_out(bus, burst);
	}
	bus_way_take(bus_next(bus, from, burst, now, &burst->number), burst, now);
}
