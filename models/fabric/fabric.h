/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_FABRIC_H
#define MODELS_FABRIC_H

/* A whole simulated fabric: hosts and switches of a topology, joined by links, with the memory of
 * its packets, its routes and the rendezvous on which programs meet. */
#include "models/link/credit.h"
#include "models/link/ecn.h"
#include "models/link/pfc.h"
#include "models/machine/machine.h"
#include "models/program/rendezvous.h"
#include "models/topology/topology.h"
#include "sim/sim.h"
#include "sim/switch.h"

/* Ports of a switch whose link has this rate, or more. */
struct fabric_at_rate {
	uint64_t rate_bps;
	struct ecn ecn;		/* where the switch marks */
	struct pfc_share share; /* of the priorities in alpha_by_port of its struct pfc_params */
};

/* A switch of the fabric. */
struct fabric_switch_params {
	uint64_t buffer_bytes;		    /* shared by all ports */
	const struct pfc_params *pfc;	    /* NULL: no PFC. Its buffer and headroom are ... */
	uint32_t mtu_bytes;		    /* ... filled in: frames of this size on the wire */
	const struct credit_params *credit; /* without PFC; of hosts, too. NULL: none */
	ps_t latency;	       /* of data, from its end at the port until it is in its queue */
	const struct ecn *ecn; /* NULL: no marking; lives as long as the fabric */
	/* By rate, ascending; a port goes by the last that is not faster than its link, one that is
	 * slower than all by @ecn and @pfc. They live as long as the fabric. */
	const struct fabric_at_rate *rates;
	uint32_t rate_count;
	const struct sim_switch_params *more; /* NULL: a plain switch */
};

/* The GPUs of a machine: those in its struct host_bus, places. */
struct fabric_gpus {
	const struct host_gpu_params *gpus;
	uint32_t count;
	uint64_t base;	/* where their addresses begin: no two machines share any */
	uint64_t reach; /* as many as one has at most, a multiple of GPU_MEMORY_BLOCK; 0: all */
	uint64_t managed_base, managed_bytes; /* those of managed memory, likewise */
};

struct fabric_params {
	uint64_t seed, scenario_hash;
	uint32_t thread_count;
	uint32_t priority_count;   /* as in struct sim_params */
	uint64_t packet_bytes_max; /* memory for payloads of packets under way */
	ps_t oob_delay;		   /* of the rendezvous; 0: no programs meet */
	bool ipv6;
	const struct host_params *host;
	/* The rate of a host's link becomes its line rate, and with this its parameters of
	 * congestion control follow; NULL: both as in @host. */
	struct cc_params (*cc_params_of)(uint64_t line_rate_bps);
	const struct cc_params *cc_params; /* instead of these, but for the line rate; NULL: none */
	uint64_t start_rate_bps;	   /* in either case, as in struct cc_params */
	struct fabric_switch_params switches;	   /* all of them, unless ... */
	bool weighted_routes, same_hash;	   /* sim_routes_weigh(), sim_routes_polarise() */
	const struct host_rx_params *const *rx_of; /* by number of the host; NULL: none is slow */
	/* By node of the topology, of its hosts; NULL, or NULL for a node: as in @host. */
	const struct host_bus *const *bus_of;
	const struct fabric_gpus *gpus_of; /* likewise, of first adapters */
	/* ... by node of the topology; NULL, or NULL for a node: as all. */
	const struct fabric_switch_params *const *switch_of;
};

struct fabric;

/* Somebody who looks between windows, while nothing moves: series over time, captures, progress. He
 * reads; whatever he changes in the model would be seen in the digest. */
struct fabric_watcher {
	/* 0 goes on, negative ends the run and is what fabric_run() returns. */
	int (*between)(struct fabric_watcher *watcher, struct fabric *fabric);
	struct fabric_watcher *next; /* the fabric's own */
};

struct fabric {
	struct packet_pools pools; /* first: packet_pools_of() */
	struct fabric_params params;
	struct sim *sim;
	struct sim_routes *routes;
	struct host *hosts;	       /* in the order of the topology: adapters of machines */
	struct machine *machines;      /* those with several adapters; NULL: there are none */
	struct host **nics;	       /* of all these */
	struct util_arena host_frames; /* HOST_FRAMES each, in memory once used */
	struct host_sent *host_sent;   /* of each host the fabric's priorities */
	struct sim_switch **switches;
	const struct fabric_switch_params **switch_params; /* by node->index; NULL: a host */
	struct host_table table;
	uint32_t host_count, switch_count, machine_count;
	bool sealed;
	int error; /* what fabric_run() returned */
	struct fabric_watcher *watchers;
	void *belongings; /* of whoever made the fabric: given to @free_belongings at the end */
	void (*free_belongings)(void *belongings); /* NULL: nothing */
};

/* Builds and seals; @topology may go away afterwards, but not its names. -ENOMEM; -EINVAL: a host
 * without or with more than one link, a link that the engine refuses. */
int fabric_create(struct fabric *fabric, const struct topology *topology,
		  const struct fabric_params *params);
void fabric_fini(struct fabric *fabric);

/* Before fabric_run(); @watcher stays the caller's until fabric_fini(). */
void fabric_watch(struct fabric *fabric, struct fabric_watcher *watcher);

/* What the switch @node is. */
static inline const struct fabric_switch_params *fabric_switch_params(const struct fabric *fabric,
								      const struct sim_node *node)
{
	return fabric->switch_params[node->index];
}

/* NULL: no such switch. */
struct sim_switch *fabric_switch(const struct fabric *fabric, const char *name);
/* As sim_route_override(), out of the first port that leads to @via. All three are there. */
int fabric_override(const struct fabric *fabric, const char *at, const char *to, const char *via);

/* NULL: no such host. */
struct host *fabric_host(const struct fabric *fabric, const char *name);

/* As sim_run(), then the final facts of every node. Once. */
int fabric_run(struct fabric *fabric, ps_t until);

#endif
