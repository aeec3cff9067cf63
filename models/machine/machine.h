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
 * NAME.nic1, NAME.nic2 and so on. At one instant the timers of all adapters come first, then the
 * packets that they start, the frames that reach them, what they have for themselves (frames of
 * their own, memory, flows), and the programs last. Adapters of one phase go by chance of (seed,
 * machine, adapter, time); frames in the order of the engine. Where adapters share a bus, what
 * happens on it comes before all that. */
#include "models/machine/host.h"

enum { MACHINE_NICS_MAX = 64 };

struct machine {
	struct host **nics;	      /* all of them, the first as well */
	uint32_t count;		      /* 2 to MACHINE_NICS_MAX */
	struct sim_local programs;    /* steps of those of the machine */
	struct sim_local_event pause; /* of the adapter whose turn it is, where others wait */
	struct sim_local inside;      /* what happens on its bus */
	struct sim_local_wheel wheel; /* of @inside */
	struct bus *bus;	      /* NULL: it has none in common */
	uint32_t overtaken;	      /* host_dma.overtaken of all its adapters */

	/* While it runs. Of an adapter only that is looked at which something has happened to. */
	ps_t now;
	uint64_t changed; /* adapters, by place: what is due at them may be something else now */
	ps_t due_at[MACHINE_NICS_MAX]; /* host_due_at() of the others, then or at @now */
	ps_t first_at;		       /* the earliest of these, where none has changed */
	bool given_up;		       /* host_give_up() of an adapter */
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

/* Something on its bus calls @host, for which it is as late as in its machine, if it has one. */
static inline void host_touch(struct host *host)
{
	struct machine *machine = host_machine(host);

	if (!machine) {
		host->dma->touched = true;
		return;
	}
	machine->changed |= 1ull << host->place;
	if (host->now < machine->now)
		host->now = machine->now;
}

/* Joins the adapters of @machine, the @place-th of those that host_table_init() will be given.
 * Their nodes are in @sim, which is not sealed; what @machine points to stays the caller's and
 * lives as long as they. Those whose bus is that of their machine get it, as the first of them has
 * it. -ENOMEM; -EINVAL: its parts are no bus. */
int machine_join(struct machine *machine, uint32_t place, struct sim *sim);
/* Once its adapters have given back what they had under way. */
void machine_fini(struct machine *machine);

/* ---- between a host and its machine ---- */

/* When something is due at @host, but for arrivals; PS_NEVER: nothing is. */
ps_t host_due_at(const struct host *host);
/* What is due first at @host at @at, before which nothing is; @frame: one arrives then. */
enum host_phase { HOST_TIMER, HOST_START, HOST_FRAME, HOST_ARRIVAL, HOST_PROGRAM };
enum host_phase host_due_phase(const struct host *host, bool frame, ps_t at);
/* All that happens at @host until th->until, with @arrivals. */
void host_play(struct host *host, struct sim_thread *th, struct sim_pkt *const *arrivals,
	       uint32_t count);
/* What is due first at @host at @at, and is neither a start nor a frame; that alone. */
void host_play_event(struct host *host, struct sim_thread *th, ps_t at);
void host_finish(struct sim_node *node);

/* For a turn at @at. One that comes before that will ask again. */
static inline void host_ask(struct host *host, ps_t at)
{
	if (host->asked_at >= host->th->until && host->asked_at <= at)
		return;
	host->asked_at = sim_wake(host->th, &host->node, at);
}

#endif
