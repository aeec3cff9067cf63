/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_ACCOUNT_H
#define TOOLS_EXPLAIN_ACCOUNT_H

/* Where the time of a flow, or of a work request of a program, went. At its source every instant
 * from its start to its last packet belongs to one account: its own packets on the wire, the same
 * once more for what is sent again, a pause, frames of others, waiting for what was lost, a rate or
 * a window that does not let it send. From there on the time is that of the last packet on its way,
 * of the target, and of the acknowledgement on its way back. Of a READ or an atomic the request is
 * on its way first, the target sends the packets, and the last of them is on its way back. They add
 * up to the completion time, to the picosecond. */
#include "tools/explain/way.h"

enum account_part {
	ACCOUNT_OWN,	/* its packets on the wire */
	ACCOUNT_RESENT, /* packets that were sent again, on the wire */
	ACCOUNT_PAUSED,
	ACCOUNT_BEFORE, /* frames of requests of its queue pair before it, at its port */
	ACCOUNT_OTHERS, /* those of others there */
	/* Before something was sent again: after nothing, a NAK of its sequence or an RNR NAK; what
	 * it was is known where its source sends it, and goes back N. */
	ACCOUNT_LOST,
	ACCOUNT_LOST_TIMEOUT,
	ACCOUNT_LOST_NAK,
	ACCOUNT_LOST_RNR,
	ACCOUNT_HELD,	  /* by its rate, its window, its host */
	ACCOUNT_OUT_WIRE, /* the last packet, behind its own port: on wires and through switches */
	ACCOUNT_OUT_PAUSED,
	ACCOUNT_OUT_QUEUED,
	ACCOUNT_TARGET,	   /* between the last packet and its acknowledgement */
	ACCOUNT_BACK_WIRE, /* the acknowledgement */
	ACCOUNT_BACK_PAUSED,
	ACCOUNT_BACK_QUEUED,
	ACCOUNT_UNSEEN, /* behind all that was seen of it */
	ACCOUNT_PARTS,
};

struct account_flow {
	uint32_t src, dst; /* positions in the host table */
	uint8_t priority;
	bool has_ended, is_ok, is_lost;
	enum hca_wc_status status; /* of one that has ended */
	bool is_answered;	   /* a READ or an atomic: the target sends */
	uint64_t bytes, packets;   /* packets: that it takes at least */
	ps_t start_at, end_at;
	uint32_t class_index; /* of a flow */
	uint32_t qpn;	      /* its own */
	/* Of a request. */
	uint32_t program, rank, last_psn;
	enum hca_wr_opcode opcode;
};

struct account;

/* NULL: no memory. */
struct account *account_create(const struct events *events, const struct stops *stops,
			       struct subject key);
void account_destroy(struct account *account); /* NULL allowed */

/* Before each event, before the first and after the last: not all are there from the beginning ...
 */
void account_find(struct account *account);
/* ... nor to the end: after each window. */
void account_keep(struct account *account);
bool account_is_there(const struct account *account);
/* As it was when it was found, or kept last. NULL: it is not there yet. */
const struct account_flow *account_flow_of(const struct account *account);
/* A frame starts; after stops has heard of what was before. */
void account_add(struct account *account, const struct event *event);

struct account_sum {
	struct subject key;
	struct account_flow flow;
	ps_t whole; /* from its start to its end, or to that of the run */
	ps_t parts[ACCOUNT_PARTS];
	uint64_t packets, resent;      /* that left its host, or of a READ the target */
	const struct ways *out, *back; /* of its packets; of their acknowledgements */
	/* Of the last packet that left its host; of the acknowledgement that ended it, NULL: none.
	 */
	const struct way *last, *answer;
	/* Of one before that, of the same packet, which was lost on its way; NULL: none. */
	const struct way *lost_answer;
};

/* After the run, once. */
struct account_sum account_close(struct account *account);

#endif
