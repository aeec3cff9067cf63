/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_MODELS_TEST_H
#define TESTS_UNIT_MODELS_TEST_H

/* A star of hosts h0, h1, ... at 100 Gb/s, 1 us a link, on which functions run as tasks. A test
 * sets it up, changes what it likes, opens, spawns, runs and closes. */
#include "tests/test.h"

#include "include/verbena/verbena.h"
#include "models/fabric/fabric.h"
#include "models/program/spawn.h"
#include "models/program/task.h"

struct world {
	uint32_t host_count;
	uint32_t nic_count; /* of each host: a machine with so many adapters; 0: one */
	struct host_params host;
	struct fabric_params params;
	struct topology topology;
	struct fabric fabric;
};

/* Costs: none; rendezvous: 20 us; one thread; coroutines on stacks. */
void world_set_up(struct world *world, uint32_t host_count);
int world_try_open(struct world *world);
void world_open(struct world *world);
struct host *world_host(const struct world *world, uint32_t i);
void world_spawn(struct world *world, uint32_t host, const char *name, vb_fn *fn, void *arg,
		 ps_t start);
/* Everything finishes. The digest. */
uint64_t world_run(struct world *world);
void world_close(struct world *world);

/* Slabs that are out: not counting those that hosts keep for their next payload. */
uint64_t world_slabs_out(const struct world *world);

#endif
