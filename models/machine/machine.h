/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_MACHINE_H
#define MODELS_MACHINE_H

/* A machine with several adapters. Each adapter is a struct host: a node of the engine with its own
 * port, name, address, counters and facts of the digest. What they share is the turn
 * (sim_add_part()): everything in the machine happens in one order of time, so that a program,
 * which belongs to the machine, can call any of its adapters as a function. A machine with one
 * adapter has none of this, and pays for none of it.
 *
 * The first adapter has the machine's own name and may be called NAME.nic0, the others are
 * NAME.nic1, NAME.nic2 and so on. At one instant the adapters come first, in an order by chance of
 * (seed, machine, adapter, time), each with its timers, starts and arrivals; then the programs. */
#include "models/machine/host.h"

enum { MACHINE_NICS_MAX = 64 };

struct machine {
	struct host **nics;	   /* all of them, the first as well */
	uint32_t count;		   /* 2 to MACHINE_NICS_MAX */
	struct sim_local programs; /* steps of those of the machine */
};

/* NULL: it is the only adapter of its machine. */
static inline struct machine *host_machine(const struct host *host)
{
	return host->machine ? &host->table->machines[host->machine - 1] : NULL;
}

/* The adapter that has the machine's name, and its programs. */
static inline struct host *host_first(struct host *host)
{
	return host->machine ? host_machine(host)->nics[0] : host;
}

static inline bool host_is_further(const struct host *host)
{
	return host->machine && host_machine(host)->nics[0] != host;
}

/* Joins the adapters of @machine, the @place-th of those that host_table_init() will be given.
 * Their nodes are in @sim, which is not sealed; what @machine points to stays the caller's and
 * lives as long as they. -ENOMEM. */
int machine_join(struct machine *machine, uint32_t place, struct sim *sim);

/* ---- between a host and its machine ---- */

/* When something is due at @host, but for arrivals; PS_NEVER: nothing is. */
ps_t host_due_at(const struct host *host);
/* All that happens at @host until th->until, with @arrivals. */
void host_play(struct host *host, struct sim_thread *th, struct sim_pkt *const *arrivals,
	       uint32_t count);
void host_finish(struct sim_node *node);

/* For a turn at @at. One that comes before that will ask again. */
static inline void host_ask(struct host *host, ps_t at)
{
	if (host->asked_at >= host->th->until && host->asked_at <= at)
		return;
	host->asked_at = sim_wake(host->th, &host->node, at);
}

#endif
