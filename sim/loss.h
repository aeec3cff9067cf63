/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_LOSS_H
#define SIM_LOSS_H

/* Who hears of every frame that is lost, and why: for traces and breakpoints. It only reads, and
 * where nobody listens it costs nothing but on the frames that are lost. */
#include "sim/node.h"

enum sim_loss {
	SIM_LOSS_ROOM,	   /* no room in a buffer, or in its queue; at the port that it came by */
	SIM_LOSS_FAULT,	   /* a fault of the link, at the port that sent it, at its start, or ... */
	SIM_LOSS_DOWN,	   /* ... a link that is down, or ... */
	SIM_LOSS_CORRUPT,  /* ... bits so wrong that the other end would refuse it */
	SIM_LOSS_ROUTE,	   /* a switch knows no way; at the port that it came by, or ... */
	SIM_LOSS_TTL,	   /* ... its TTL has run out, or ... */
	SIM_LOSS_MTU,	   /* ... it is larger than the switch takes, or ... */
	SIM_LOSS_WATCHDOG, /* ... a PFC watchdog discards it, or ... */
	SIM_LOSS_FORGOTTEN, /* ... the switch has forgotten the host, and does not flood it, or ...
			     */
	SIM_LOSS_OTHERS,    /* ... it is a copy of what was flooded, for another switch's host */
	SIM_LOSS_OWN,	    /* from here on reasons of who receives it: models/machine/host.h */
};

struct sim_loss_listener {
	/* Called by the thread that runs @node. @pkt is there during the call. */
	void (*on_loss)(struct sim_loss_listener *listener, const struct sim_node *node,
			uint32_t port, const struct sim_pkt *pkt, uint32_t why, ps_t at);
};

/* Before the run; one at a time. It stays the caller's until sim_destroy(). */
void sim_hear_losses(struct sim *sim, struct sim_loss_listener *listener);
/* From a node's turn: @pkt, which is still there, is lost to @node. */
void sim_tell_loss(const struct sim_node *node, uint32_t port, const struct sim_pkt *pkt,
		   uint32_t why, ps_t at);

#endif
