/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/loss.h"

#include "sim/internal.h"

void sim_hear_losses(struct sim *sim, struct sim_loss_listener *listener)
{
	sim->losses = listener;
}

void sim_tell_loss(const struct sim_node *node, uint32_t port, const struct sim_pkt *pkt,
		   uint32_t why, ps_t at)
{
	struct sim_loss_listener *listener = node->sim->losses;

	if (listener)
		listener->on_loss(listener, node, port, pkt, why, at);
}
