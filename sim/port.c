/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/port.h"

#include "sim/internal.h"

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
