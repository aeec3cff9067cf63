/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_PORT_H
#define SIM_PORT_H

/* The sending half of a link. When a frame starts, its arrival is certain: sim_port_send() puts it
 * straight into the peer's inbox. A port is settled lazily by the node that owns it: there is no
 * event for the end of a transmission. */
#include "sim/node.h"

struct sim_fault;
struct sim_tap;

/* Of control frames beside the priorities: their bit in port->waiting. */
enum { SIM_CONTROL_QUEUE = SIM_PRIORITIES_MAX };

/* Why port->hooked is not 0. */
enum {
	SIM_HOOK_FAULT = 1,
	SIM_HOOK_TAP = 2,
	SIM_HOOK_ENGINE = 4,
	SIM_HOOK_HEAD = 8,
	SIM_HOOK_WITHIN = 16, /* both ends are of one island */
	SIM_HOOK_OUT = 32     /* the sender is of an island, and the peer is not */
};

/* The first line is what a frame costs; the second is seldom read. */
struct sim_port {
	ps_t free_at; /* the frame on the wire has left (its gap included) */
	ps_t delay;
	uint64_t ps_per_byte_q32;	   /* serialisation, see sim_port_tx_time() */
	uint64_t sent_bytes, sent_packets; /* frames started on this link so far */
	uint32_t peer_slot;
	uint16_t peer_port, index;
	uint32_t waiting; /* the owner's: queues that hold a frame, bit SIM_CONTROL_QUEUE for
			     control */
	uint16_t paused;  /* the gate's (sim/fc.h): priorities that may not start */
	uint8_t hooked;
	uint32_t head_bytes; /* SIM_HOOK_HEAD: the peer hears of a data frame when so much is there
			      */
	uint16_t peer_place; /* what frames have as their port: peer_port, but for parts */
	uint16_t unused;

	struct sim_node *peer;
	uint64_t rate_bps;
	uint64_t rate_inverse; /* floor((2^64 - 1) / rate) */
	ps_t control_delay;    /* more delay of control frames: the peer's interface and response */
	const char *link_name;
	struct sim_fault *fault; /* NULL: none */
	struct sim_tap *tap;	 /* NULL: none */
	uint64_t link_id;	 /* hash of the link's name, with the direction mixed in */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct sim_port) == 128, "two cache lines");

/* The sending port of @link_name at the node called @from; NULL: none such. @sim is sealed. */
struct sim_port *sim_port_find(const struct sim *sim, const char *link_name, const char *from);

ps_t sim_port_tx_time_slow(const struct sim_port *port, uint32_t bytes);

/* Exact, rounded up: ceil(bytes * 8 * 10^12 / rate). No division. */
static inline ps_t sim_port_tx_time(const struct sim_port *port, uint32_t bytes)
{
	if (__builtin_expect((uint32_t)port->ps_per_byte_q32 != 0, 0))
		return sim_port_tx_time_slow(port, bytes);
	return (port->ps_per_byte_q32 >> 32) * bytes;
}

/* @pkt starts at @start (>= port->free_at, within the window) and is copied away. The gate is asked
 * beforehand, by the caller. */
void sim_port_send(struct sim_thread *th, struct sim_port *port, const struct sim_pkt *pkt,
		   ps_t start);
/* The same without a copy: @frame comes from sim_frame_get() and is gone. */
void sim_port_forward(struct sim_thread *th, struct sim_port *port, struct sim_pkt *frame,
		      ps_t start);

/* One of the engine's frames, to be filled. NULL: the memory limit, the run ends. */
struct sim_pkt *sim_frame_get(struct sim_thread *th);
void sim_frame_put(struct sim_thread *th, struct sim_pkt *frame);

#endif
