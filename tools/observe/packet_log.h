/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PACKET_LOG_H
#define TOOLS_PACKET_LOG_H

/* The packets of a few flows of lists and work requests of programs, at every port that they start
 * from, and the states of their queue pairs: what the ladder of the report shows, with the headers
 * of each. */
#include "tools/observe/events.h"
#include "transport/hca/qp.h"
#include "transport/wire/frame.h"

enum {
	PACKET_FLOWS_MAX = EVENTS_KEPT_MAX / 2, /* each has two ends */
	PACKET_RECORDS_MAX = 3000,		/* of a flow; of what comes later ... */
	PACKET_SPECIALS_MAX = 1000,		/* ... only what is no ordinary packet or ACK */
	PACKET_STATES_MAX = 64,
};

enum packet_flag {
	PACKET_MARKED = 1, /* ECN, at this port */
	PACKET_CE = 2,
	PACKET_AGAIN = 4, /* a retransmission, as it leaves its host */
	PACKET_NAK = 8,
	PACKET_RNR = 16,
	PACKET_CNP = 32,
};

/* What a capture at the port would show of the packet, less its payload. */
struct packet_headers {
	uint8_t net[WIRE_ETH_BYTES + WIRE_VLAN_BYTES + WIRE_IPV6_BYTES + WIRE_UDP_BYTES];
	/* BTH, what follows it, and the ICRC that stands behind the payload. */
	uint8_t transport[WIRE_HEADERS_MAX + WIRE_INT_BYTES + WIRE_ICRC_BYTES];
	uint8_t net_bytes, transport_bytes; /* 0: not known */
};

struct packet_record {
	ps_t at; /* the start */
	uint32_t port, psn, bytes, queue_bytes;
	uint8_t opcode, flags;
	struct packet_headers headers;
};

struct packet_state { /* of a queue pair, from the window on that ends at @at */
	ps_t at;
	bool is_responder;
	enum hca_qp_state state; /* RESET: it is gone */
};

struct packet_subject {
	struct subject is; /* of a flow: its place in scenario.flows */
	struct events_end requester, responder;
};

struct packet_flow {
	struct packet_subject subject;
	struct packet_record *records;
	uint32_t count, special_count;
	uint64_t left_out;
	struct packet_state states[PACKET_STATES_MAX];
	uint32_t state_count;
};

struct packet_log {
	struct events_listener listener;
	const struct events *events;
	struct packet_flow flows[PACKET_FLOWS_MAX];
	uint32_t flow_count;
};

/* The ends of a flow that is built. */
struct packet_subject packet_subject_of_flow(const struct scenario *scenario, uint64_t flow);
/* Those of a request are known once it was posted, as in a run before this one. */
struct packet_subject packet_subject_of_request(const struct request_log *requests,
						uint64_t number);

/* Before the run; @subjects: at most PACKET_FLOWS_MAX of them. -ENOMEM; can be finished in any
 * case. */
int packet_log_start(struct packet_log *log, struct events *events,
		     const struct packet_subject *subjects, uint32_t count);
void packet_log_fini(struct packet_log *log); /* zeroed: allowed */

#endif
