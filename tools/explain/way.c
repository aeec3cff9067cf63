/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/way.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16 };

struct way_slot { /* a packet on its way */
	uint32_t psn, port;
	uint16_t number; /* on the link of the port */
	ps_t ready_at;	 /* could leave the node that it comes to */
	bool is_used;
};

ps_t way_wire_time(const struct way_view *view, const struct event *event)
{
	const uint64_t rate = view->events->ports[event->port].rate_bps;

	return (ps_t)(((u128)event->bytes * 8 * PS_S + rate - 1) / rate);
}

/* The delay of a port holds what the switch behind its link takes. */
static ps_t ready_after(const struct way_view *view, const struct event *event)
{
	return event->at + way_wire_time(view, event) + view->events->ports[event->port].delay;
}

/* Whether @event is of the frame that has started at @port with that @number, and not of another
 * one with the same PSN. */
static bool goes_on(const struct way_view *view, uint32_t port, uint16_t number,
		    const struct event *event)
{
	const struct events *events = view->events;

	return !events->ports[event->port].is_host && event->limit == events->ports[port].far &&
	       (event->held == number || event->held == EVENT_HELD_UNKNOWN);
}

/* ---- one packet ---- */

/* Ports are in order of their nodes. */
static uint32_t first_port_of(const struct events *events, uint32_t port)
{
	while (port > 0 && strcmp(events->ports[port - 1].node, events->ports[port].node) == 0)
		port--;
	return port;
}

static uint32_t port_count_of(const struct events *events, uint32_t first)
{
	uint32_t count = 1;

	while (first + count < events->port_count &&
	       strcmp(events->ports[first + count].node, events->ports[first].node) == 0)
		count++;
	return count;
}

size_t way_room(const struct events *events)
{
	uint32_t most = 0;

	for (uint32_t first = 0, count; first < events->port_count; first += count) {
		count = port_count_of(events, first);
		if (count > most)
			most = count;
	}
	return (size_t)most * events->priority_count;
}

void way_look(struct way *way, const struct way_view *view, ps_t at)
{
	const struct events *events = view->events;
	uint32_t first;

	if (way->step_count == 0 || way->is_ready || at < way->ready_at)
		return;
	way->is_ready = true;
	first = first_port_of(events, events->ports[way->steps[way->step_count - 1].port].far);
	memcpy(way->sent_before, view->sent + (size_t)first * events->priority_count,
	       (size_t)port_count_of(events, first) * events->priority_count *
		       sizeof(*way->sent_before));
}

/* What the port of the step has sent since the packet could have left. */
static void find_before(const struct way *way, const struct way_view *view, struct way_step *step)
{
	const uint32_t priorities = view->events->priority_count;
	const uint32_t first = first_port_of(view->events, step->port);

	for (uint32_t q = 0; way->is_ready && q < priorities; q++) {
		const uint64_t bytes = view->sent[(size_t)step->port * priorities + q] -
				       way->sent_before[(step->port - first) * priorities + q];

		if (bytes > step->before_bytes) {
			step->before = (uint8_t)q;
			step->before_bytes = bytes;
		}
	}
}

static void add_step(struct way *way, const struct way_view *view, const struct event *event,
		     ps_t ready_at)
{
	struct way_step *step = &way->steps[way->step_count];

	*step = (struct way_step){
		.port = event->port,
		.number = event->number,
		.ready_at = ready_at,
		.start_at = event->at,
		.paused = stops_between(view->stops, event->port, event->priority, ready_at,
					event->at),
	};
	if (way->step_count++ > 0)
		find_before(way, view, step);
	way->ready_at = ready_after(view, event);
	way->is_ready = false;
}

const struct way_step *way_last(const struct way *way)
{
	return way->step_count > 0 ? &way->steps[way->step_count - 1] : NULL;
}

void way_begin(struct way *way, const struct way_view *view, const struct event *event)
{
	way->step_count = 0;
	way->psn = event->psn;
	add_step(way, view, event, event->at);
}

void way_follow(struct way *way, const struct way_view *view, const struct event *event)
{
	const struct way_step *last = way_last(way);

	if (!last || way->step_count == WAY_HOPS_MAX || way->psn != event->psn ||
	    !goes_on(view, last->port, last->number, event))
		return;
	add_step(way, view, event, way->ready_at < event->at ? way->ready_at : event->at);
}

bool way_has_passed(const struct way *way, const struct way *other)
{
	const struct way_step *there = way_last(other);

	for (uint32_t i = 0; there && i + 1 < way->step_count; i++)
		if (way->steps[i].port == there->port && way->steps[i].start_at > there->start_at)
			return true;
	return false;
}

bool way_is_at_host(const struct way *way, const struct way_view *view)
{
	const struct events_port *ports = view->events->ports;

	return way->step_count > 0 &&
	       ports[ports[way->steps[way->step_count - 1].port].far].is_host;
}

/* ---- all of them ---- */

int ways_init(struct ways *ways)
{
	*ways = (struct ways){.slots = calloc(SLOTS, sizeof(*ways->slots))};
	return ways->slots ? 0 : -ENOMEM;
}

void ways_fini(struct ways *ways)
{
	free(ways->slots);
	*ways = (struct ways){.slots = NULL};
}

static struct way_hop *hop_of(struct ways *ways, uint32_t port)
{
	uint32_t i = 0;

	while (i < ways->hop_count && ways->hops[i].port != port)
		i++;
	if (i == WAY_HOPS_MAX)
		return NULL;
	if (i == ways->hop_count)
		ways->hops[ways->hop_count++].port = port;
	return &ways->hops[i];
}

static void add_wait(struct way_hop *hop, const struct way_view *view, const struct event *event,
		     ps_t ready_at)
{
	const ps_t wait = event->at > ready_at ? event->at - ready_at : 0;

	hop->count++;
	hop->marks += event->marked;
	hop->sum += wait;
	hop->last = wait;
	if (wait > hop->most)
		hop->most = wait;
	hop->last_paused =
		stops_between(view->stops, event->port, event->priority, ready_at, event->at);
	hop->paused += hop->last_paused;
}

void ways_follow(struct ways *ways, const struct way_view *view, const struct event *event)
{
	struct way_slot *slot = &ways->slots[event->psn % SLOTS];

	if (slot->is_used && slot->psn == event->psn &&
	    goes_on(view, slot->port, slot->number, event)) {
		struct way_hop *hop = hop_of(ways, event->port);

		if (hop)
			add_wait(hop, view, event, slot->ready_at);
	}
	*slot = (struct way_slot){.psn = event->psn,
				  .port = event->port,
				  .number = event->number,
				  .ready_at = ready_after(view, event),
				  .is_used = true};
}
