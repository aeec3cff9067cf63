/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_CREDIT_H
#define MODELS_CREDIT_H

/* Credits by priority behind sim/fc.h: a frame starts only when the other end has room for it, so
 * nothing is ever dropped. Counts are absolute, as in InfiniBand's FCCL: the receiver says how many
 * bytes may have been sent in all, so the loss of an update is made good by the next one. (The loss
 * of a data frame is not: its room stays taken.) */
#include "sim/fc.h"

struct credit_params {
	uint64_t buffer_bytes;	  /* of each port and priority, at least one frame */
	const uint64_t *buffers;  /* by priority instead; NULL: all alike. Copied */
	uint32_t frame_bytes_max; /* the largest frame on the wire */
	uint32_t update_bytes;	  /* an update goes back when so much was freed; 0: see credit.c */
	uint32_t control_bytes;	  /* of an update on the wire; 0: 84 */
	ps_t response_delay;	  /* until the other end knows */
};

/* For @node, which is sealed; NULL: no memory. The other ends of its links have the same buffers,
 * or credit_meet() says otherwise. */
struct sim_fc *credit_create(struct sim_node *node, const struct credit_params *params);
/* Before the run: what may be sent at @port at first is what @peer, at the other end, has room
 * for. */
void credit_meet(struct sim_fc *fc, uint32_t port, const struct sim_fc *peer);

#endif
