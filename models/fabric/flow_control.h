/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_FABRIC_FC_H
#define MODELS_FABRIC_FC_H

/* The flow control and the marking of a fabric's nodes, by the fabric's parameters. */
#include "models/fabric/fabric.h"

/* What may still come in at a port of a switch after its XOFF. */
struct fabric_headroom {
	uint64_t rate_bps;
	ps_t delay; /* of the link, one way */
	ps_t latency, response_delay;
	uint32_t frame_bytes;
};
uint32_t fabric_headroom_bytes(const struct fabric_headroom *headroom);

/* NULL: no memory. @rx NULL: the host takes whatever comes. */
struct sim_fc *fabric_host_fc(const struct fabric *fabric, struct host *host,
			      const struct host_rx_params *rx);
struct sim_fc *fabric_switch_fc(const struct fabric *fabric, struct sim_node *node);
/* Once each node has its own: tells those at both ends of each link of one another. -ENOMEM. */
int fabric_introduce(const struct fabric *fabric);
/* Marks every queue of data. */
int fabric_mark(const struct fabric *fabric, struct sim_switch *sw);
/* Makes it what it is beside a plain switch. */
int fabric_extend(const struct fabric *fabric, struct sim_switch *sw);

#endif
