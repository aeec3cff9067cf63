/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PROGRAMS_CONGEST_H
#define TESTS_PROGRAMS_CONGEST_H

/* Trouble on the way of programs in virtual time: flows that fill the buffers, and lost frames. */
#include "models/fabric/fabric.h"
#include "models/traffic/traffic.h"

struct sim_fault;

struct congest {
	struct fabric *fabric;
	struct traffic_flow *flows;
	struct traffic *traffic;
	struct sim_fault *faults;
};

struct congest_params {
	uint32_t ranks, hosts;	   /* h0.. run programs, the others write ... */
	uint64_t background_bytes; /* ... so much to each of them; 0: nothing */
	uint64_t loss_ppm;	   /* of data frames on every link, in both directions */
};

/* Before fabric_run(). -ENOMEM. */
int congest_start(struct congest *congest, struct fabric *fabric,
		  const struct congest_params *params);
/* One line on stderr: flows, pauses, marks, drops, losses. */
void congest_print(const struct congest *congest);
/* After fabric_fini(). */
void congest_fini(struct congest *congest);

#endif
