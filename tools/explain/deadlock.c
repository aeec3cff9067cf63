/* SPDX-License-Identifier: BSD-2-Clause */

/* Ports that wait for each other at the end of a run. */
#include "tools/explain/explain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int explain_find_circle(const struct explain *explain, struct circle *ret_circle)
{
	const struct events *events = explain->events;
	const uint32_t priorities = events->priority_count;
	ps_t *shut_since = calloc((size_t)events->port_count * priorities + 1, sizeof(*shut_since));
	int ret;

	*ret_circle = (struct circle){.queues = NULL};
	if (!shut_since)
		return -ENOMEM;
	for (uint32_t i = 0; i < events->port_count; i++)
		for (uint8_t q = 0; q < priorities; q++)
			shut_since[i * priorities + q] = explain->ports[i].shut >> q & 1
								 ? explain->ports[i].shut_since[q]
								 : PS_NEVER;
	ret = circle_find(events, shut_since, ret_circle);
	free(shut_since);
	return ret;
}

/* Copies may be what waits there. */
static void say_flooding(const struct explain *explain, const char *node)
{
	const struct sim_switch *sw = fabric_switch(explain->events->fabric, node);
	const uint64_t flooded = sw ? sim_switch_stats(sw)->flooded : 0;

	if (flooded > 0)
		printf("%s has sent %" PRIu64
		       " frames for hosts whose port it had forgotten out of "
		       "every other port: the copies wait there, too.\n",
		       node, flooded);
}

static void deadlock_say_circle(const struct explain *explain, const struct circle *circle)
{
	const struct circle_queue *queues = circle->queues;

	printf("There is a deadlock: %u ports wait for each other, priority %u.\n", circle->count,
	       queues[0].priority);
	for (uint32_t i = 0; i < circle->count; i++) {
		const struct events_port *port = &explain->events->ports[queues[i].port];
		const struct explain_port *facts = &explain->ports[queues[i].port];

		printf("  %s towards %s: %u bytes wait, paused by %s since ", port->node,
		       port->peer, port->classes[queues[i].priority].queue_bytes, port->peer);
		explain_time(facts->shut_since[queues[i].priority]);
		if (queues[i].priority != queues[0].priority)
			printf(", priority %u", queues[i].priority);
		putchar('\n');
	}
	printf("  and %s waits for the first of them.\n",
	       explain->events->ports[queues[circle->count - 1].port].peer);
	for (uint32_t i = 0; i < circle->count; i++)
		say_flooding(explain, explain->events->ports[queues[i].port].node);
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
		       : "; what for, --why pfc tells.\n");
}

void explain_deadlock(const struct explain *explain)
{
	struct circle circle;

	if (explain_find_circle(explain, &circle) != 0)
		printf("not enough memory to look for one\n");
	else if (circle.count > 0)
		deadlock_say_circle(explain, &circle);
	else
		say_none(explain);
	free(circle.queues);
}
