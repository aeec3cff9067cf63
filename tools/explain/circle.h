/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CIRCLE_H
#define TOOLS_CIRCLE_H

/* Ports that wait for each other, each for the next one and the last for the first: a queue of a
 * port is paused by a buffer, which holds what waits in queues of further ports of its switch,
 * which are paused by the next buffer. None of them will ever send again. The queues are of one
 * priority, unless switches rewrite it. */
#include "tools/observe/events.h"

struct circle {
	struct circle_queue {
		uint32_t port; /* place in events.ports */
		uint8_t priority;
	} * queues;
	uint32_t count; /* 0: there is none */
};

/* After the run. @shut_since: by port * events->priority_count + priority, PS_NEVER where it may
 * send. -ENOMEM. The caller frees ret_circle->queues in any case. */
int circle_find(const struct events *events, const ps_t *shut_since, struct circle *ret_circle);

#endif
