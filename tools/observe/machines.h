/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MACHINES_H
#define TOOLS_MACHINES_H

/* The machines of a fabric that have parts and lanes, as the commands look at them. */
#include "models/fabric/fabric.h"
#include "models/scenario/scenario.h"

struct machine_seen {
	const char *name; /* that of its first adapter */
	uint32_t host;	  /* which one that is: its place in the host table */
	const struct scenario_machine *is;
	const struct bus *bus;		   /* NULL: there is no fabric */
	const struct host_gpus *gpus;	   /* NULL: it has none, or there is no fabric */
	const struct gpu_managed *managed; /* NULL: nobody asked for managed memory */
};

struct machines {
	struct machine_seen *all; /* in order of their names */
	uint32_t count;
};

/* Of a fabric that is built; @fabric NULL: as the scenario alone has them. -ENOMEM; can be finished
 * in any case. */
int machines_init(struct machines *machines, const struct scenario *scenario,
		  const struct fabric *fabric);
void machines_fini(struct machines *machines); /* zeroed: allowed */
/* That of the adapter @host; NULL: it has no parts. */
const struct machine_seen *machines_of(const struct machines *machines, struct host *host);

/* Whether any of its machines has GPUs. */
bool machines_have_gpus(const struct scenario *scenario);

/* A direction of a lane, by number: those of lane i are 2 i and 2 i + 1. */
static inline uint32_t machine_ways(const struct scenario_machine *machine)
{
	return 2 * machine->lane_count;
}
static inline uint32_t machine_way_from(const struct scenario_machine *machine, uint32_t way)
{
	const struct bus_lane_params *lane = &machine->lanes[way / 2];

	return way % 2 ? lane->b : lane->a;
}
static inline uint32_t machine_way_to(const struct scenario_machine *machine, uint32_t way)
{
	return machine_way_from(machine, way ^ 1);
}
/* Of how many links it is: such of NVLink are taken each for itself, and their times together are
 * this many times those of one. */
uint32_t machine_way_links(const struct scenario_machine *machine, uint32_t way);
/* " nvlink" or " xgmi" of a lane that lies beside the one way between any two parts, to be said
 * behind the names of its ends, which another lane may have, too; else "". */
const char *machine_way_mark(const struct scenario_machine *machine, uint32_t way);
/* The ways that bursts between an adapter and a memory take, one behind the other: room for
 * BUS_PATH_MAX. How many; 0: it is one part. There is a fabric. */
uint32_t machine_path(const struct machine_seen *machine, uint32_t from, uint32_t to,
		      uint32_t *ret_ways);
/* At @at, as bus_way_stats_at() has it, of all links together. */
struct bus_way_stats machine_way_stats(const struct machine_seen *machine, uint32_t way, ps_t at);

#endif
