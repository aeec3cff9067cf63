/* SPDX-License-Identifier: BSD-2-Clause */

/* Ports that wait for each other at the end of a run: a port is paused by a buffer, which holds
 * what waits for further ports of its switch, which are paused by the next buffer. */
#include "tools/explain.h"

#include "sim/switch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the end of the run came first, ports that have waited for less may well go on. */
enum { PATIENCE_US = 100 };

static const struct sim_switch *switch_of(const struct fabric *fabric, const char *name)
{
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		if (strcmp(sim_switch_node(fabric->switches[i])->name, name) == 0)
			return fabric->switches[i];
	return NULL;
}

static bool waits(const struct explain *explain, uint32_t port, uint8_t priority)
{
	const struct fabric *fabric = explain->events->fabric;
	const ps_t until = explain->events->scenario->until;
	const ps_t now = until == PS_NEVER ? sim_now(fabric->sim) : until;
	const struct explain_port *p = &explain->ports[port];

	return p->shut >> priority & 1 && !explain->events->ports[port].is_host &&
	       explain->events->ports[port].classes[priority].queue_bytes > 0 &&
	       (sim_is_done(fabric->sim) || (now - p->shut_since[priority] >= PATIENCE_US * PS_US &&
					     now - p->sent_at >= PATIENCE_US * PS_US));
}

/* The next port from @after on that holds what came in by the link of @port, which waits for it:
 * never one of a host. */
static uint32_t next_of(const struct explain *explain, uint32_t port, uint32_t after,
			uint8_t priority)
{
	const struct events *events = explain->events;
	const struct events_port *in = &events->ports[events->ports[port].far];
	const struct sim_switch *sw = switch_of(events->fabric, in->node);

	for (uint32_t i = sw ? after : events->port_count; i < events->port_count; i++)
		if (strcmp(events->ports[i].node, in->node) == 0 &&
		    sim_switch_holds(sw, in->link, events->ports[i].link, priority))
			return i;
	return UINT32_MAX;
}

/* Whether something is behind @port and all of it waits for ports of @stuck. */
static bool is_stuck(const struct explain *explain, const bool *stuck, uint32_t port,
		     uint8_t priority)
{
	uint32_t next = next_of(explain, port, 0, priority);

	if (next == UINT32_MAX)
		return false;
	for (; next != UINT32_MAX; next = next_of(explain, port, next + 1, priority))
		if (!stuck[next])
			return false;
	return true;
}

/* The largest set of ports that wait, each for others of the set alone: none of them can ever go
 * on. Their number. */
static uint32_t find_stuck(const struct explain *explain, uint8_t priority, bool *ret_stuck)
{
	const uint32_t port_count = explain->events->port_count;
	uint32_t count = 0;
	bool again = true;

	for (uint32_t i = 0; i < port_count; i++) {
		ret_stuck[i] = waits(explain, i, priority);
		count += ret_stuck[i];
	}
	while (again) {
		again = false;
		for (uint32_t i = 0; i < port_count; i++) {
			if (!ret_stuck[i] || is_stuck(explain, ret_stuck, i, priority))
				continue;
			ret_stuck[i] = false;
			count--;
			again = true;
		}
	}
	return count;
}

/* From any of the set on to the next one, until one has been there before. */
static void find_circle(const struct explain *explain, const bool *stuck,
			struct explain_circle *circle)
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
		port = next_of(explain, port, 0, circle->priority);
	}
	circle->count -= begin;
	memmove(circle->ports, circle->ports + begin, circle->count * sizeof(*circle->ports));
}

int explain_find_circle(const struct explain *explain, struct explain_circle *ret_circle)
{
	const uint32_t count = explain->events->port_count;
	bool *stuck = calloc((size_t)count + 1, sizeof(*stuck));

	*ret_circle = (struct explain_circle){.ports = calloc((size_t)count + 1, sizeof(uint32_t))};
	if (!stuck || !ret_circle->ports) {
		free(stuck);
		return -ENOMEM;
	}
	for (uint8_t q = 0; q < SIM_PRIORITIES && ret_circle->count == 0; q++) {
		ret_circle->priority = q;
		if (find_stuck(explain, q, stuck) > 0)
			find_circle(explain, stuck, ret_circle);
	}
	free(stuck);
	return 0;
}

static void say_circle(const struct explain *explain, const struct explain_circle *circle)
{
	printf("There is a deadlock: %u ports wait for each other, priority %u.\n", circle->count,
	       circle->priority);
	for (uint32_t i = 0; i < circle->count; i++) {
		const struct events_port *port = &explain->events->ports[circle->ports[i]];
		const struct explain_port *facts = &explain->ports[circle->ports[i]];

		printf("  %s towards %s: %u bytes wait, paused by %s since ", port->node,
		       port->peer, port->classes[circle->priority].queue_bytes, port->peer);
		explain_time(facts->shut_since[circle->priority]);
		putchar('\n');
	}
	printf("  and %s waits for the first of them.\n",
	       explain->events->ports[circle->ports[circle->count - 1]].peer);
}

static void say_none(const struct explain *explain)
{
	const struct events *events = explain->events;
	const bool is_done = sim_is_done(events->fabric->sim);
	uint64_t shut = 0;
	uint32_t one = 0;

	for (uint32_t i = 0; i < events->port_count; i++) {
		shut += (uint64_t)__builtin_popcount(explain->ports[i].shut);
		one = explain->ports[i].shut ? i : one;
	}
	printf("There is no deadlock: ");
	if (shut == 0) {
		printf("no port is paused at the end of the run.\n");
		return;
	}
	printf("no ports wait for each other in a circle.\n%" PRIu64
	       " ports and priorities are paused at the end, such as %s towards %s",
	       shut, events->ports[one].node, events->ports[one].peer);
	printf(is_done ? ": it was never told to go on. A resume frame may have been lost.\n"
		       : "; the end of the run came before they could go on.\n");
}

void explain_deadlock(const struct explain *explain)
{
	struct explain_circle circle;

	if (explain_find_circle(explain, &circle) != 0)
		printf("not enough memory to look for one\n");
	else if (circle.count > 0)
		say_circle(explain, &circle);
	else
		say_none(explain);
	free(circle.ports);
}
