/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_PACKET_LOG_H
#define TOOLS_PACKET_LOG_H

/* The packets of a few flows of lists, at every port that they start from, and the states of the
 * flows' queue pairs: what the ladder of the report shows. */
#include "tools/observe/events.h"
#include "transport/hca/qp.h"

enum {
	PACKET_FLOWS_MAX = 16,
	PACKET_RECORDS_MAX = 3000,  /* of a flow; of what comes later ... */
	PACKET_SPECIALS_MAX = 1000, /* ... only what is no ordinary packet or ACK */
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

struct packet_record {
	ps_t at; /* the start */
	uint32_t port, psn, bytes, queue_bytes;
	uint8_t opcode, flags;
};

struct packet_state { /* of a queue pair, from the window on that ends at @at */
	ps_t at;
	bool is_responder;
	enum hca_qp_state state; /* RESET: it is gone */
};

struct packet_flow {
	uint64_t flow; /* place in scenario.flows */
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

/* Before the run; @flows: places in scenario.flows, at most PACKET_FLOWS_MAX of them. -ENOMEM; can
 * be finished in any case. */
int packet_log_start(struct packet_log *log, struct events *events, const uint64_t *flows,
		     uint32_t count);
void packet_log_fini(struct packet_log *log); /* zeroed: allowed */

#endif
