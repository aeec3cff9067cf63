/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/internal.h"

__attribute__((noinline)) void sim_engine_send_hooked(struct engine_thread *et,
						      struct sim_port *port,
						      const struct sim_pkt *pkt, ps_t start,
						      ps_t at)
{
	const struct engine_other *other = et->pub.sim->other;
	(void)at;

	if (port->hooked & SIM_HOOK_ENGINE)
		other->send(other->context, port, pkt, start);
}
