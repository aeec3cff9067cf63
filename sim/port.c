/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/port.h"

#include "sim/internal.h"

#include <string.h>

/* The reciprocal gives the quotient or one less; the remainder tells. */
ps_t sim_port_tx_time_slow(const struct sim_port *port, uint32_t bytes)
{
	const uint64_t bits = (uint64_t)bytes * 8 * PS_S;
	uint64_t time = (uint64_t)((u128)bits * port->rate_inverse >> 64);
	uint64_t rest = bits - time * port->rate_bps;

	if (rest >= port->rate_bps) {
		time++;
		rest -= port->rate_bps;
	}
	return time + (rest > 0);
}

void sim_port_send(struct sim_thread *th, struct sim_port *port, const struct sim_pkt *pkt,
		   ps_t start)
{
	CHECK(start >= port->free_at);
	CHECK(start >= th->from);
	CHECK(start < th->until);
	engine_send(engine_of(th), port, pkt, start,
		    port->delay + (pkt->frame == SIM_CONTROL ? port->control_delay : 0));
}

struct sim_port *sim_port_find(const struct sim *sim, const char *link_name, const char *from)
{
	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++) {
			const struct sim_node *node = sim->links[i].ends[end];

			if (strcmp(sim->links[i].name, link_name) != 0 ||
			    strcmp(node->name, from) != 0)
				continue;
			for (uint32_t p = 0; p < node->port_count; p++)
				if (strcmp(node->ports[p].link_name, link_name) == 0)
					return &node->ports[p];
		}
	return NULL;
}
