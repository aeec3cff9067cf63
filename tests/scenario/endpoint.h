/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SCENARIO_ENDPOINT_H
#define TESTS_SCENARIO_ENDPOINT_H

/* A host for tests of the engine and the fabric: sends flows of packets at given times, answers
 * each with a small packet if asked to, counts what arrives. No adapter. What it does depends on
 * model facts only, whatever windows it is run in. */
#include "sim/fc.h"
#include "sim/sim.h"

enum { ENDPOINT_ACK_BYTES = 86 };

struct endpoint_flow {
	uint32_t id, dst, flow_hash;
	uint32_t packets;	    /* still to be sent */
	uint32_t number;	    /* sent so far */
	uint16_t bytes, last_bytes; /* on the wire; last_bytes 0: as the others */
	uint8_t priority, ecn;
	bool answer; /* the receiver answers to @reply_dst */
	uint32_t reply_dst;
	ps_t next_at;	    /* of the next packet */
	ps_t gap;	    /* between starts; 0: at line rate */
	const ps_t *starts; /* of each packet instead, ascending; NULL: none */
};

/* What a test wants to know of each arrival; may be NULL. */
struct endpoint;
typedef void endpoint_seen_fn(struct endpoint *ep, const struct sim_pkt *pkt, void *context);

struct endpoint {
	struct sim_node node; /* first */
	struct sim_port *port;
	struct sim_fc *fc; /* NULL: none */
	struct endpoint_flow *flows;
	uint32_t flow_count, flow_max;
	struct sim_pkt *queue; /* answers and control frames that wait */
	uint32_t head, tail, queue_max;
	endpoint_seen_fn *seen;
	void *context;
	uint64_t sent_packets, sent_bytes, received_packets, received_bytes, answers;
	uint64_t received_flow_max, marked;
	uint64_t lost, returned; /* of sent packets: given back by the fabric */
	ps_t last_at;		 /* of the last arrival */
	uint64_t late_packet;	 /* plants: the n-th packet sent starts 1 ps later; 0: none */
	bool swap; /* plants: two deliveries of one instant are taken in the other order */
};

extern const struct sim_body_ops endpoint_body;

void endpoint_init(struct endpoint *ep, const char *name);
void endpoint_fini(struct endpoint *ep);
/* After sim_seal(). */
void endpoint_ready(struct endpoint *ep, struct sim_fc *fc);
struct endpoint_flow *endpoint_add(struct endpoint *ep, struct endpoint_flow flow);

#endif
