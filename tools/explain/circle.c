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
	uint8_t priority;
};

static const struct sim_switch *switch_of(const struct fabric *fabric, const char *name)
{
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		if (strcmp(sim_switch_node(fabric->switches[i])->name, name) == 0)
			return fabric->switches[i];
	return NULL;
}

static bool waits(const struct search *search, uint32_t port)
{
	const struct events *events = search->events;
	const struct fabric *fabric = events->fabric;
	const ps_t until = events->scenario->until;
	const ps_t now = until == PS_NEVER ? sim_now(fabric->sim) : until;
	const ps_t since =
		search->shut_since[(size_t)port * events->priority_count + search->priority];

	return since != PS_NEVER && !events->ports[port].is_host &&
	       events->ports[port].classes[search->priority].queue_bytes > 0 &&
	       (sim_is_done(fabric->sim) || now - since >= PATIENCE_US * PS_US);
}

/* The next port from @after on that holds what came in by the link of @port, which waits for it:
 * never one of a host. */
static uint32_t next_of(const struct search *search, uint32_t port, uint32_t after)
{
	const struct events *events = search->events;
	const struct events_port *in = &events->ports[events->ports[port].far];
	const struct sim_switch *sw = switch_of(events->fabric, in->node);

	for (uint32_t i = sw ? after : events->port_count; i < events->port_count; i++)
		if (strcmp(events->ports[i].node, in->node) == 0 &&
		    sim_switch_holds(sw, in->link, events->ports[i].link, search->priority))
			return i;
	return UINT32_MAX;
}

/* Whether something is behind @port and all of it waits for ports of @stuck. */
static bool circle_is_stuck(const struct search *search, const bool *stuck, uint32_t port)
{
	uint32_t next = next_of(search, port, 0);

	if (next == UINT32_MAX)
		return false;
	for (; next != UINT32_MAX; next = next_of(search, port, next + 1))
		if (!stuck[next])
			return false;
	return true;
}

/* The largest set of ports that wait, each for others of the set alone: none of them can ever go
 * on. Their number. */
static uint32_t find_stuck(const struct search *search, bool *ret_stuck)
{
	const uint32_t port_count = search->events->port_count;
	uint32_t count = 0;
	bool removed = true;

	for (uint32_t i = 0; i < port_count; i++) {
		ret_stuck[i] = waits(search, i);
		count += ret_stuck[i];
	}
	while (removed) {
		removed = false;
		for (uint32_t i = 0; i < port_count; i++) {
			if (!ret_stuck[i] || circle_is_stuck(search, ret_stuck, i))
				continue;
			ret_stuck[i] = false;
			count--;
			removed = true;
		}
	}
	return count;
}

/* From any of the set on to the next one, until one has been there before. */
static void go_round(const struct search *search, const bool *stuck, struct circle *circle)
{
	uint32_t port = 0, begin;

	while (!stuck[port])
		port++;
	for (;;) {
		for (begin = 0; begin < circle->count && circle->ports[begin] != port; begin++)
			;
		if (begin < circle->count)
			break;
		circle->ports[circle->count++] = port;
		port = next_of(search, port, 0);
	}
	circle->count -= begin;
	memmove(circle->ports, circle->ports + begin, circle->count * sizeof(*circle->ports));
}

int circle_find(const struct events *events, const ps_t *shut_since, struct circle *ret_circle)
{
	struct search search = {.events = events, .shut_since = shut_since};
	bool *stuck = calloc((size_t)events->port_count + 1, sizeof(*stuck));

	*ret_circle = (struct circle){
		.ports = calloc((size_t)events->port_count + 1, sizeof(*ret_circle->ports))};
	if (!stuck || !ret_circle->ports) {
		free(stuck);
		return -ENOMEM;
	}
	for (; search.priority < events->priority_count && ret_circle->count == 0;
	     search.priority++) {
		ret_circle->priority = search.priority;
		if (find_stuck(&search, stuck) > 0)
			go_round(&search, stuck, ret_circle);
	}
	free(stuck);
	return 0;
}
