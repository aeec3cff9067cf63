/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_HOST_LOOP_H
#define MODELS_HOST_LOOP_H

/* What a host sends to itself turns round inside the adapter: it takes the sending pipeline for as
 * long as it would take the wire, then a fixed time to the receiving side, and never reaches the
 * switch or the gates of flow control. Between the two lies a short queue; while it is full,
 * nothing is sent. */
#include "sim/local.h"
#include "sim/packet.h"

struct host;
struct wire_path;

enum { HOST_LOOP_FRAMES = 16 }; /* a round figure: 1 KB of descriptors */

struct host_loop {
	struct sim_local_event event; /* the first of them arrives */
	struct sim_pkt *frames;	      /* a ring; at: when it arrives */
	uint32_t first, count;
	ps_t sent_at; /* the latest has left the pipeline */
};

void host_loop_init(struct host *host, struct sim_pkt *frames); /* HOST_LOOP_FRAMES */
/* @frame, for this very host, starts now: host->loop_open_at has come. Its slab passes along. */
void host_loop_send(struct host *host, const struct sim_pkt *frame);
/* @frame, which starts now, is for a group that queue pairs here are in, too: they get a copy,
 * inside the adapter. Else nothing. */
void host_copy_to_groups(struct host *host, const struct sim_pkt *frame,
			 const struct wire_path *path);

#endif
