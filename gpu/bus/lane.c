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
	struct bus_cost cost = {.shape = burst->shape,
				.payload = is_request ? 0 : burst->bytes,
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

static __attribute__((noinline)) const struct bus_cost *find_cost(struct bus_way *way,
								  const struct bus_burst *burst)
{
	struct bus_share *share = &way->shares[burst->kind];
	struct bus_cost *cost = &share->costs[1];

	if (cost->shape == burst->shape)
		return cost;
	cost = &share->costs[share->older];
	share->older ^= 1;
	*cost = make_cost(way, burst);
	return cost;
}

static inline const struct bus_cost *cost_of(struct bus_way *way, const struct bus_burst *burst)
{
	const struct bus_cost *cost = way->shares[burst->kind].costs;

	return cost->shape == burst->shape ? cost : find_cost(way, burst);
}

/* How long it would take, started at @at. */
static inline ps_t time_of(struct bus_way *way, const struct bus_burst *burst, ps_t at)
{
	const struct bus_cost *cost = cost_of(way, burst);

	return way->fault_count > 0 ? bus_fault_time(way, cost->wire_bytes, at) : cost->all;
}

/* ---- credits ---- */

static inline uint32_t ring_place(const struct bus_share *share, uint32_t nth)
{
	const uint32_t place = share->first + nth;

	return place < share->room ? place : place - share->room;
}

static inline void collect(struct bus_share *share, ps_t now)
{
	while (share->count > 0 && share->returns[share->first].at <= now) {
		const struct bus_return *back = &share->returns[share->first];

		share->headers += back->headers;
		share->data += back->data;
		share->first = ring_place(share, 1);
		share->count--;
	}
}

static inline bool has_credits(const struct bus_share *share, const struct bus_cost *cost)
{
	return share->is_endless ||
	       (share->headers >= cost->needs.headers && share->data >= cost->needs.data);
}

static inline void take_until(struct bus_way *way, ps_t at)
{
	way->free_at = at;
	if (way->tally->free_at < at)
		way->tally->free_at = at;
}

/* What is written, for @cost, has come to the end of @way, of NVLink: responses go back, before
 * what waits there. */
static void respond(struct bus_way *way, const struct bus_cost *cost, ps_t now)
{
	struct bus_way *back = bus_way_back(way);

	take_until(back, (back->free_at > now ? back->free_at : now) + cost->response);
	back->tally->stats.wire_bytes += cost->response_bytes;
	back->tally->stats.busy += cost->response;
}

/* The place in the ring of what is back at @at. */
static struct bus_return *make_return(struct bus_share *share, ps_t at)
{
	uint32_t i = share->count++;

	CHECK(share->count <= share->room);
	if (i == 0 || share->last_at <= at) {
		share->last_at = at;
		return &share->returns[ring_place(share, i)];
	}
	for (; i > 0; i--) {
		const struct bus_return *before = &share->returns[ring_place(share, i - 1)];

		if (before->at <= at)
			break;
		share->returns[ring_place(share, i)] = *before;
	}
	return &share->returns[ring_place(share, i)];
}

static inline void give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now)
{
	struct bus_share *share = &way->shares[burst->kind];

	if (way->responds && burst->kind == BUS_POSTED)
		respond(way, cost_of(way, burst), now);
	if (share->is_endless)
		return;
	at += way->credit_delay;
	*make_return(share, at) = (struct bus_return){
		.at = at, .headers = burst->held.headers, .data = burst->held.data};
	if (share->starved_from != PS_NEVER && (!way->event.pending || way->event.at > at))
		sim_local_schedule(way->bus->local, &way->event, at > now ? at : now);
}

void bus_way_give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now)
{
	give_back(way, burst, at, now);
}

static inline void end_starving(struct bus_way *way, uint32_t kind, ps_t now)
{
	struct bus_share *share = &way->shares[kind];

	if (share->starved_from == PS_NEVER)
		return;
	way->tally->stats.starved[kind] += now - share->starved_from;
	way->tally->starving--;
	share->starved_from = PS_NEVER;
}

/* ---- order ---- */

/* Whether the first burst of @kind may go before all posted ones that came earlier. */
static bool may_pass_posted(const struct bus_way *way, enum bus_class kind)
{
	const struct bus_burst *posted = way->shares[BUS_POSTED].waiting.first;

	return kind == BUS_POSTED || !posted ||
	       posted->order > way->shares[kind].waiting.first->order ||
	       (kind == BUS_COMPLETION && way->lane->relaxed);
}

/* By the limit of the lane, if it is of peers. */
static inline bool may_go_as_peer(const struct bus_share *share, const struct bus_burst *burst,
				  ps_t now)
{
	return share->peers_at <= now || !burst->is_peer;
}

/* The earliest that may go; NULL: none. What waits for nothing but credits is remembered. */
static struct bus_burst *pick(struct bus_way *way, ps_t now)
{
	struct bus_burst *best = NULL;

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		struct bus_share *share = &way->shares[kind];
		struct bus_burst *first = share->waiting.first;

		if (!first || !may_pass_posted(way, (enum bus_class)kind) ||
		    !may_go_as_peer(share, first, now))
			continue;
		collect(share, now);
		if (!has_credits(share, cost_of(way, first))) {
			if (share->starved_from == PS_NEVER) {
				share->starved_from = now;
				way->tally->starving++;
			}
		} else if (!best || first->order < best->order) {
			best = first;
		}
	}
	return best;
}

/* It waits no longer. */
static void way_dequeue(struct bus_way *way, const struct bus_burst *burst)
{
	(void)bus_dequeue(&way->shares[burst->kind].waiting);
	way->waiting_count--;
}

/* ---- the wire ---- */

/* @burst cannot go on from the part to which it has come, and sets out anew. */
static void turn_back(struct bus_burst *burst, ps_t now)
{
	struct bus_way *on = burst->on;

	on->tally->stats.replays++;
	on->tally->stats.replayed_bytes += cost_of(on, burst)->wire_bytes;
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
		struct bus_burst *next = way->shares[kind].waiting.first, *burst;

		way->shares[kind].waiting.first = NULL;
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
	struct bus_burst *burst = container_of(event, struct bus_burst, event);

	(void)context;
	if (burst->ahead)
		bus_way_take(burst->ahead, burst, event->at);
	else
		go_on(burst, event->at);
}

static void on_finish(struct sim_local_event *event, void *context)
{
	struct bus_burst *burst = container_of(event, struct bus_burst, event);
	struct bus *bus = burst->on->bus;

	(void)context;
	bus_way_give_back(burst->on, burst, event->at, event->at);
	bus->finish(bus, burst, event->at);
}

/* The way behind its last one, as far as it is known at @early: if links of
 * NVLink may be down by then, it is found when it is there. */
static inline struct bus_way *find_ahead(struct bus_burst *burst, ps_t early)
{
	const struct bus_way *on = burst->on;
	const struct bus *bus = on->bus;
	uint64_t number;

	if (!burst->is_meshed)
		return burst->ahead = on->onward[burst->goal];
	if (!bus->mesh.has_outages)
		return burst->ahead = bus_mesh_next(bus, on->to, burst, early, &burst->number);
	burst->ahead = NULL;
	return bus_mesh_next(bus, on->to, burst, early, &number);
}

/* It is on its lane, at whose end the head and the last byte of it are then: when it may go on, or
 * is there, is known. The next lane may begin when the head is through the part, unless it is so
 * fast that the last bytes would be late. */
static inline void send_on(struct bus_burst *burst, ps_t head_at, ps_t tail_at)
{
	const struct bus_way *way = burst->on;
	const struct bus_part *part = way->end;
	const ps_t latency = part->params.latency;
	ps_t at = tail_at + latency;

	if (way->to == burst->to) {
		burst->event.fn = on_finish;
		if (burst->kind == BUS_NON_POSTED && part->fault_count > 0)
			at = bus_fault_answer_at(part, at);
	} else {
		const ps_t early = head_at + latency;
		struct bus_way *next;
		ps_t time;

		if (way->to == burst->goal)
			burst->goal = burst->to;
		next = find_ahead(burst, early);
		time = next ? time_of(next, burst, early) : 0;
		burst->event.fn = on_forward;
		at = at > early + time ? at - time : early;
	}
	sim_local_schedule(way->bus->local, &burst->event, at);
}

static __attribute__((noinline)) void cross_with_faults(struct bus_way *way,
							const struct bus_burst *burst, ps_t now,
							ps_t *ret_head_at, ps_t *ret_tail_at)
{
	const struct bus_crossing crossing = bus_fault_cross(way, link_for(way, burst), burst, now);

	way->crossed++;
	way->tally->stats.wire_bytes += crossing.replayed_bytes;
	way->tally->stats.replays += crossing.replays;
	way->tally->stats.replayed_bytes += crossing.replayed_bytes;
	*ret_head_at = crossing.head_at;
	*ret_tail_at = crossing.tail_at;
}

/* @burst, which waits for nothing more, and takes @cost of @share. */
static __attribute__((noinline)) void start(struct bus_way *way, struct bus_share *share,
					    struct bus_burst *burst, const struct bus_cost *cost,
					    ps_t now)
{
	struct bus_way_stats *stats = &way->tally->stats;
	ps_t head_at = now + cost->head, tail_at = now + cost->all;

	if (way->fault_count > 0)
		cross_with_faults(way, burst, now, &head_at, &tail_at);
	if (!share->is_endless) {
		share->headers -= cost->needs.headers;
		share->data -= cost->needs.data;
	}
	end_starving(way, burst->kind, now);
	if (burst->on)
		give_back(burst->on, burst, tail_at, now);
	else if (burst->kind == BUS_POSTED && burst->ops->left)
		burst->ops->left(burst, way->bus->context, now);
	burst->on = way;
	burst->held = cost->needs;
	/* The next one may go once this one has gone at the pace of the limit. */
	if (share->peers_bps > 0 && burst->is_peer)
		share->peers_at = now + util_tx_time(burst->bytes, share->peers_bps);
	way->started_at = now;
	take_until(way, tail_at);
	stats->bursts++;
	stats->bytes += cost->payload;
	stats->wire_bytes += cost->wire_bytes;
	stats->busy += tail_at - now;
	send_on(burst, head_at + way->delay, tail_at + way->delay);
}

/* From the end of @way nothing goes on any more. */
static bool is_stranded(const struct bus_way *way, const struct bus_burst *burst, ps_t now)
{
	const struct bus *bus = way->bus;

	return bus->mesh.has_outages && burst->is_meshed && way->to != burst->to &&
	       !bus_mesh_is_open(bus, way->to, burst->to, now);
}

/* When something may have changed that keeps the first of @share from going,
 * where it is there. */
static ps_t next_look(const struct bus_share *share, ps_t now)
{
	if (!may_go_as_peer(share, share->waiting.first, now))
		return share->peers_at;
	if (share->starved_from != PS_NEVER && share->count > 0)
		return share->returns[share->first].at;
	return PS_NEVER;
}

/* It is looked at again when something may go. */
static void look_again(struct bus_way *way, ps_t now)
{
	ps_t again = PS_NEVER;

	if (way->waiting_count == 0)
		return;
	if (way->free_at > now)
		again = way->free_at;
	for (uint32_t kind = 0; kind < BUS_CLASSES && way->free_at <= now; kind++)
		if (way->shares[kind].waiting.first) {
			const ps_t look = next_look(&way->shares[kind], now);

			again = look < again ? look : again;
		}
	if (again != PS_NEVER && !(way->event.pending && way->event.at == again))
		sim_local_schedule(way->bus->local, &way->event, again);
}

static void serve(struct bus_way *way, ps_t now)
{
	if (way->fault_count > 0 && way->free_at <= now && bus_fault_up_at(way, now) > now) {
		if (way->lane->link.kind == BUS_NVLINK)
			scatter(way, now);
		else
			take_until(way, bus_fault_up_at(way, now));
	}
	while (way->free_at <= now && way->waiting_count > 0) {
		struct bus_burst *burst = pick(way, now);

		if (!burst)
			break;
		way_dequeue(way, burst);
		if (is_stranded(way, burst, now))
			divert(way->bus, burst, now);
		else
			start(way, &way->shares[burst->kind], burst, cost_of(way, burst), now);
	}
	look_again(way, now);
}

void bus_way_on_event(struct sim_local_event *event, void *context)
{
	struct bus_way *way = container_of(event, struct bus_way, event);

	(void)context;
	serve(way, event->at);
}

/* Most find nothing in their way, and are alone. */
static inline bool is_open_for(const struct bus_way *way, struct bus_share *share,
			       const struct bus_burst *burst, const struct bus_cost *cost, ps_t now)
{
	if (way->free_at > now || way->waiting_count > 0 || way->fault_count > 0 ||
	    !may_go_as_peer(share, burst, now))
		return false;
	collect(share, now);
	return has_credits(share, cost);
}

static __attribute__((noinline)) void take_otherwise(struct bus_way *way, struct bus_burst *burst,
						     ps_t now)
{
	struct bus_share *share = &way->shares[burst->kind];
	const struct bus_cost *cost = cost_of(way, burst);

	if (is_open_for(way, share, burst, cost, now)) {
		start(way, share, burst, cost, now);
		return;
	}
	burst->order = way->next_order++;
	bus_enqueue(&share->waiting, burst);
	way->waiting_count++;
	if (way->free_at <= now)
		serve(way, now);
	else if (!way->event.pending || way->event.at > way->free_at)
		sim_local_schedule(way->bus->local, &way->event, way->free_at);
}

void bus_way_take(struct bus_way *way, struct bus_burst *burst, ps_t now)
{
	struct bus_share *share = &way->shares[burst->kind];
	const struct bus_cost *cost = share->costs;

	if (cost->shape == burst->shape && is_open_for(way, share, burst, cost, now))
		start(way, share, burst, cost, now);
	else
		take_otherwise(way, burst, now);
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
	burst->goal = burst->to;
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
