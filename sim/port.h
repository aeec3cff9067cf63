/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PORT_H
#define SIM_PORT_H

/* The sending half of a link. When a frame starts, its arrival is certain: sim_port_send() puts it
 * straight into the peer's inbox. A port is settled lazily by the node that owns it: there is no
 * event for the end of a transmission. */
#include "sim/node.h"

struct sim_fault;
struct sim_tap;

struct sim_port {
	ps_t free_at; /* the frame on the wire has left (its gap included) */
	ps_t delay;
	uint64_t ps_per_byte_q32; /* serialisation, see sim_port_tx_time() */
	uint64_t rate_bps;
	struct sim_node *peer;
	uint16_t peer_port, index;
	uint32_t sent_count; /* frames started on this link so far */
	uint64_t link_id;    /* hash of the link's name, with the direction mixed in */
	const char *link_name;
	struct sim_fault *fault; /* NULL: none */
	struct sim_tap *tap;	 /* NULL: none */
	uint64_t sent_bytes, sent_packets;
};

/* Exact, rounded up: ceil(bytes * 8 * 10^12 / rate). No division. */
ps_t sim_port_tx_time(const struct sim_port *port, uint32_t bytes);

/* @pkt starts at @start (>= port->free_at, within the window) and is copied away. */
void sim_port_send(struct sim_thread *th, struct sim_port *port, const struct sim_pkt *pkt,
		   ps_t start);

#endif
