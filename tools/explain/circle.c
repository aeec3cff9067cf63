/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/circle.h"

#include "sim/switch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Where the end of the run came first, ports that have waited for less may well go on. */
enum { PATIENCE_US = 100 };

struct search {
	const struct events *events;
	const ps_t *shut_since;
};

/* A queue by its number: that of the port times that of priorities, and its priority. */
static uint32_t circle_port_of(const struct search *search, uint32_t queue)
{
	return queue / search->events->priority_count;
}

static uint8_t priority_of(const struct search *search, uint32_t queue)
{
	return (uint8_t)(queue % search->events->priority_count);
}

static const struct sim_switch *switch_of(const struct fabric *fabric, const char *name)
{
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		if (strcmp(sim_switch_node(fabric->switches[i])->name, name) == 0)
			return fabric->switches[i];
	return NULL;
}

static bool waits(const struct search *search, uint32_t queue)
{
	const struct events *events = search->events;
	const struct events_port *port = &events->ports[circle_port_of(search, queue)];
	const struct fabric *fabric = events->fabric;
	const ps_t until = events->scenario->until;
	const ps_t now = until == PS_NEVER ? sim_now(fabric->sim) : until;
	const ps_t since = search->shut_since[queue];

	return since != PS_NEVER && !port->is_host &&
	       port->classes[priority_of(search, queue)].queue_bytes > 0 &&
	       (sim_is_done(fabric->sim) || now - since >= PATIENCE_US * PS_US);
}

/* The next queue from @after on that holds what came in by the link of the port of @queue as one of
 * its priority, which waits for it: never one of a host. */
static uint32_t next_of(const struct search *search, uint32_t queue, uint32_t after)
{
	const struct events *events = search->events;
	const struct events_port *in =
		&events->ports[events->ports[circle_port_of(search, queue)].far];
	const struct sim_switch *sw = switch_of(events->fabric, in->node);
	const uint32_t count = events->port_count * events->priority_count;

	for (uint32_t i = sw ? after : count; i < count; i++) {
		const struct events_port *out = &events->ports[circle_port_of(search, i)];
		const uint8_t priority = priority_of(search, i);

		if (out->classes[priority].queue_bytes > 0 && strcmp(out->node, in->node) == 0 &&
		    sim_switch_holds(sw, in->link, priority_of(search, queue), out->link, priority))
			return i;
	}
	return UINT32_MAX;
}

/* Whether something is behind @queue and all of it waits for queues of @stuck. */
static bool circle_is_stuck(const struct search *search, const bool *stuck, uint32_t queue)
{
	uint32_t next = next_of(search, queue, 0);

	if (next == UINT32_MAX)
		return false;
	for (; next != UINT32_MAX; next = next_of(search, queue, next + 1))
		if (!stuck[next])
			return false;
	return true;
}

/* The largest set of queues that wait, each for others of the set alone: none of them can ever go
 * on. Their number. */
static uint32_t find_stuck(const struct search *search, bool *ret_stuck)
{
	const uint32_t queues = search->events->port_count * search->events->priority_count;
	uint32_t count = 0;
	bool removed = true;

	for (uint32_t i = 0; i < queues; i++) {
		ret_stuck[i] = waits(search, i);
		count += ret_stuck[i];
	}
	while (removed) {
		removed = false;
		for (uint32_t i = 0; i < queues; i++) {
			if (!ret_stuck[i] || circle_is_stuck(search, ret_stuck, i))
				continue;
			ret_stuck[i] = false;
			count--;
			removed = true;
		}
	}
	return count;
}

/* From any of the set, of the lowest priority that is there, on to the next one, until one has been
 * there before. */
static void go_round(const struct search *search, const bool *stuck, struct circle *circle)
{
	const uint32_t ports = search->events->port_count, all = search->events->priority_count;
	uint32_t first = 0, queue, begin;

	while (!stuck[first % ports * all + first / ports])
		first++;
	queue = first % ports * all + first / ports;
	for (;;) {
		const struct circle_queue own = {circle_port_of(search, queue),
						 priority_of(search, queue)};

		for (begin = 0;
		     begin < circle->count && (circle->queues[begin].port != own.port ||
					       circle->queues[begin].priority != own.priority);
		     begin++)
			;
		if (begin < circle->count)
			break;
		circle->queues[circle->count++] = own;
		queue = next_of(search, queue, 0);
	}
	circle->count -= begin;
	memmove(circle->queues, circle->queues + begin, circle->count * sizeof(*circle->queues));
}

int circle_find(const struct events *events, const ps_t *shut_since, struct circle *ret_circle)
{
	const struct search search = {.events = events, .shut_since = shut_since};
	const size_t queues = (size_t)events->port_count * events->priority_count;
	bool *stuck = calloc(queues + 1, sizeof(*stuck));

	*ret_circle = (struct circle){.queues = calloc(queues + 1, sizeof(*ret_circle->queues))};
	if (!stuck || !ret_circle->queues) {
		free(stuck);
		return -ENOMEM;
	}
	if (find_stuck(&search, stuck) > 0)
		go_round(&search, stuck, ret_circle);
	free(stuck);
	return 0;
}
