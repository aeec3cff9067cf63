/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

/* Loss, corruption, duplication, reordering and delay on one direction of one link. The port, its
 * node and the adapters do not know. What happens to a packet is a function of (seed, link and
 * direction, purpose, number of the packet on the link), so neither another fault nor another link
 * can shift it. A lost frame has taken its time on the wire all the same. */
#include "sim/port.h"

struct sim_fault_params {
	/* Parts per 10^9. */
	uint32_t loss_ppb, corrupt_ppb, duplicate_ppb, reorder_ppb;
	uint64_t bit_error_ppt; /* chance of each bit to be wrong, in 10^-12: corrupts by length */
	ps_t duplicate_delay;	/* of the copy behind the original or the copy before; >= 1 ps */
	ps_t reorder_delay;	/* more, for a packet that is to be overtaken */
	ps_t delay;		/* more, for each */
	ps_t jitter;		/* and up to this much, evenly */
	uint64_t rate_bps;	/* the link is no faster than this; 0: as it is */
	ps_t from, until;	/* of starts; until 0: for ever */
	/* Exactly these are lost, whatever the rates: 1 is the first packet on the link. Ascending.
	 */
	const uint64_t *lost_numbers;
	uint32_t lost_count;
	bool control; /* control frames, too; otherwise they pass and are not counted */
	bool is_down; /* what is lost is so because there is no link: SIM_LOSS_DOWN */
};

struct sim_fault {
	struct sim_fault_params params; /* the array stays the caller's */
	struct sim_fault *next;		/* of the same port */
	uint32_t place;			/* among those */
	uint64_t number;		/* packets so far */
	/* Of all faults of the port, in the first of them. */
	uint64_t lost, corrupted, duplicated, reordered;
	uint64_t refused; /* corrupted packets that the receiver's checks would not take */
};

/* How much longer than usual @pkt, which starts at @start, takes on a link that a fault slows
 * down. */
ps_t sim_fault_slows(const struct sim_port *port, const struct sim_pkt *pkt, ps_t start);

/* Before sim_run(). @fault stays the caller's until sim_destroy(). A port may have several: a
 * packet meets them in the order in which they were attached, which draws from other streams for
 * each. */
void sim_fault_attach(struct sim_fault *fault, struct sim_port *port,
		      const struct sim_fault_params *params);

#endif
