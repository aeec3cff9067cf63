/* SPDX-License-Identifier: BSD-2-Clause */

/* Ports that wait for each other at the end of a run: a port is paused by a buffer, which holds
 * what waits for further ports of its switch, which are paused by the next buffer. */
#include "tools/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the end of the run came first, ports that have waited for less may well go on. */
enum { PATIENCE_US = 100 };

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

/* The next port in the way of what @port would send: one of the node behind it that waits, too. Frames go
 * back by the link they came by only where a route has a loop, so that counts where nothing moves any
 * more. */
static uint32_t next_of(const struct explain *explain, uint32_t port, uint32_t after,
			uint8_t priority)
{
	const struct events *events = explain->events;
	const char *node = events->ports[port].peer;
	const bool back = sim_is_done(events->fabric->sim);

	for (uint32_t i = after; i < events->port_count; i++)
		if ((back || i != events->ports[port].far) && strcmp(events->ports[i].node, node) == 0 &&
		    waits(explain, i, priority))
			return i;
	return UINT32_MAX;
}

struct search {
	const struct explain *explain;
	uint8_t priority;
	uint8_t *state; /* by port: 0 new, 1 on the way here, 2 done */
	uint32_t *way, length;
};

/* The way from a port back to itself: its begin in search.way; UINT32_MAX: none from here. */
static uint32_t find_cycle(struct search *s, uint32_t port)
{
	s->state[port] = 1;
	s->way[s->length++] = port;
	while (s->length > 0) {
		const uint32_t at = s->way[s->length - 1];
		uint32_t next = next_of(s->explain, at, 0, s->priority);

		while (next != UINT32_MAX && s->state[next] == 2)
			next = next_of(s->explain, at, next + 1, s->priority);
		if (next == UINT32_MAX) {
			s->state[at] = 2;
			s->length--;
			continue;
		}
		if (s->state[next] == 1) {
			uint32_t begin = 0;

			while (s->way[begin] != next)
				begin++;
			return begin;
		}
		s->state[next] = 1;
		s->way[s->length++] = next;
	}
	return UINT32_MAX;
}

static void say_cycle(const struct search *s, uint32_t begin)
{
	const struct explain *explain = s->explain;

	printf("There is a deadlock: %u ports wait for each other, priority %u.\n",
	       s->length - begin, s->priority);
	for (uint32_t i = begin; i < s->length; i++) {
		const struct events_port *port = &explain->events->ports[s->way[i]];
		const struct explain_port *facts = &explain->ports[s->way[i]];

		printf("  %s towards %s: %u bytes wait, paused by %s since ", port->node,
		       port->peer, port->classes[s->priority].queue_bytes, port->peer);
		explain_time(facts->shut_since[s->priority]);
		putchar('\n');
	}
	printf("  and %s waits for the first of them.\n",
	       explain->events->ports[s->way[s->length - 1]].peer);
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
	const uint32_t count = explain->events->port_count;
	struct search search = {.explain = explain,
				.state = calloc((size_t)count + 1, 1),
				.way = calloc((size_t)count + 1, sizeof(uint32_t))};
	uint32_t begin = UINT32_MAX;

	for (uint8_t q = 0; search.state && search.way && q < SIM_PRIORITIES; q++) {
		search.priority = q;
		search.length = 0;
		memset(search.state, 0, count);
		for (uint32_t i = 0; i < count && begin == UINT32_MAX; i++)
			if (search.state[i] == 0 && waits(explain, i, q))
				begin = find_cycle(&search, i);
		if (begin != UINT32_MAX)
			break;
	}
	if (!search.state || !search.way)
		printf("not enough memory to look for one\n");
	else if (begin != UINT32_MAX)
		say_cycle(&search, begin);
	else
		say_none(explain);
	free(search.state);
	free(search.way);
}
