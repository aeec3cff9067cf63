/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_WORK_H
#define BENCH_WORK_H

/* What the reference works put on a fabric: flows, or a program on every host. */
#include "models/fabric/fabric.h"

struct load {
	uint64_t posted, completed; /* flows, or ranks that returned 0 */
	uint64_t wrong_bytes;	    /* placed, but not what was sent: must be 0 */
};

/* A flow from every host, or (@fan_in > 0) from so many to the first. */
struct flows;
struct flows *flows_start(struct fabric *fabric, uint32_t fan_in,
			  uint64_t bytes); /* NULL: no memory */
/* As many flows from the first host to all others in turn. */
struct flows *flows_start_fan(struct fabric *fabric, uint32_t count, uint64_t bytes);
/* As many flows from all hosts in turn, to each of the others in turn. */
struct flows *flows_start_all(struct fabric *fabric, uint32_t count, uint64_t bytes);
/* WebSearch flows from every host to others, to half of the rate of its link, until then. */
struct flows *flows_start_load(struct fabric *fabric, ps_t until);
/* About @count flows of @bytes from every host to others, to 3/10 of the rate of its link, each
 * made when it starts. */
struct flows *flows_start_stream(struct fabric *fabric, uint64_t count, uint64_t bytes);
struct load flows_end(struct flows *flows);

/* bench/neighbour.c on every host, the ranks dealt out to @pods so that no two neighbours share
 * one.
 * @bytes: of each WRITE. */
struct ring;
struct ring *ring_start(struct fabric *fabric, uint32_t pods, uint64_t bytes);
/* bench/gpu_pair.c on both hosts of a fabric, whose machines have one of gpus_buses. */
struct ring *ring_start_gpus(struct fabric *fabric, uint64_t bytes);
struct load ring_load(const struct ring *ring);
void ring_end(struct ring *ring); /* once the fabric is gone */

struct vb_prog;
int gpu_pair_main(const struct vb_prog *prog);

/* Machines with an adapter and a GPU, one or two switches between them, for a star of two hosts. */
enum { GPUS_NODES = 3 };
extern const struct host_bus gpus_buses[2];
extern const struct fabric_gpus gpus_of[GPUS_NODES];
/* Bursts of all lanes of all such machines. */
uint64_t gpus_burst_hops(const struct fabric *fabric);

#endif
