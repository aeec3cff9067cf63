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

static __attribute__((noinline)) void send_elsewhere(struct sim_thread *th, struct sim_port *port,
						     const struct sim_pkt *frame, ps_t start)
{
	uint16_t number;

	engine_start(port, frame->bytes, start, &number);
	sim_engine_send_hooked(engine_of(th), port, frame, start, 0);
}

void sim_port_send(struct sim_thread *th, struct sim_port *port, const struct sim_pkt *pkt,
		   ps_t start)
{
	struct sim_pkt *frame = sim_frame_get(th);

	if (!frame)
		return;
	*frame = *pkt;
	sim_port_forward(th, port, frame, start);
}

void sim_port_forward(struct sim_thread *th, struct sim_port *port, struct sim_pkt *frame,
		      ps_t start)
{
	CHECK(start >= port->free_at);
	CHECK(start >= th->from);
	CHECK(start < th->until);
	if (unlikely(th->sim->other != NULL)) {
		send_elsewhere(th, port, frame, start);
		return;
	}
	engine_forward(engine_of(th), port, frame, start,
		       port->delay + (frame->frame == SIM_CONTROL ? port->control_delay : 0));
}

struct sim_pkt *sim_frame_get(struct sim_thread *th)
{
	return likely(!th->sim->other) ? engine_frame_get(engine_of(th)) : &th->sim->other_frame;
}

void sim_frame_put(struct sim_thread *th, struct sim_pkt *frame)
{
	if (likely(!th->sim->other))
		engine_frame_put(engine_of(th), frame);
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
