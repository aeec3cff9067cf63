/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/internal.h"

void sim_take_over(struct sim *sim, const struct sim_other *other)
{
	CHECK(sim->sealed);
	sim->other = other;
	for (uint32_t i = 0; i < sim->node_count; i++)
		for (uint32_t p = 0; p < sim->nodes[i]->port_count; p++)
			sim->nodes[i]->ports[p].hooked |= SIM_HOOK_ENGINE;
}

__attribute__((noinline)) void sim_engine_send_hooked(struct engine_thread *et,
						      struct sim_port *port,
						      const struct sim_pkt *pkt, ps_t start,
						      ps_t at)
{
	const struct sim_other *other = et->pub.sim->other;
	(void)at;

	if (port->hooked & SIM_HOOK_ENGINE)
		other->send(other->context, port, pkt, start);
}
