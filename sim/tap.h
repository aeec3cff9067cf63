/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_TAP_H
#define SIM_TAP_H

/* Hears of every frame that starts at a port, before any fault: for captures and series over time.
 * Called by the thread that runs the port's node, in order of starts at that port. */
#include "sim/port.h"

struct sim_tap {
	void (*on_start)(struct sim_tap *tap, struct sim_thread *th, const struct sim_port *port,
			 const struct sim_pkt *pkt, ps_t start);
	struct sim_tap *next; /* the port's own */
};

/* Before sim_run(). @tap stays the caller's until sim_destroy(). */
void sim_tap_attach(struct sim_tap *tap, struct sim_port *port);

#endif
