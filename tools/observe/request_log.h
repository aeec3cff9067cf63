/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_REQUEST_LOG_H
#define TOOLS_REQUEST_LOG_H

/* The work requests that programs post to send queues: when each was posted and when it ended,
 * whether or not there was a completion, and whose packets are its own. They are numbered in the
 * order in which they were posted; at one instant by host, then queue pair. */
#include "models/scenario/scenario.h"

/* Of each host; what comes later is counted and not kept. */
#define REQUESTS_MAX ((uint32_t)1 << 20)

enum request_state {
	REQUEST_UNFINISHED,
	REQUEST_ENDED,
	REQUEST_GONE, /* its queue pair was reset or destroyed before */
};

struct request {
	uint32_t src, dst; /* positions in the host table */
	uint32_t program, rank;
	uint32_t qpn, dest_qpn;
	uint64_t wr_id;
	enum hca_wr_opcode opcode;
	bool is_answered; /* as in struct hca_posted */
	uint8_t priority;
	enum request_state state;
	enum hca_wc_status status; /* of one that has ended */
	uint32_t bytes;
	uint32_t first_psn, packets; /* 0 packets: it stays in the adapter */
	ps_t posted_at, end_at;	     /* end_at: once it has ended */
	/* Of it that were sent again, by either end; once it is settled. */
	uint64_t packets_retransmitted;
};

struct request_log;

struct request_rank { /* of a program of the scenario */
	uint32_t program, rank;
};

/* Before fabric_run(), where @scenario has programs. @scenario and @fabric outlive the log, which
 * outlives what is in @fabric. @whose: whose code runs on this thread; false: no rank's. -ENOMEM.
 */
int request_log_create(const struct scenario *scenario, struct fabric *fabric,
		       bool (*whose)(struct request_rank *ret_rank), struct request_log **ret_log);
void request_log_destroy(struct request_log *log); /* NULL allowed */

/* While nothing runs: numbers what was posted since the last call. -ENOMEM. */
int request_log_settle(struct request_log *log);
uint64_t request_log_count(const struct request_log *log); /* that have numbers */
/* Posted by a program of the scenario, but not kept. */
uint64_t request_log_left_out(const struct request_log *log, uint32_t program);
const struct request *request_log_at(const struct request_log *log, uint64_t number);

/* Whose packet it is that goes to queue pair @qpn of @host and is a request, or an answer to one;
 * of several the one that was posted last by @at. NULL: of none. */
const struct request *request_log_find(const struct request_log *log, uint32_t host, uint32_t qpn,
				       bool is_answer, uint32_t psn, ps_t at, uint64_t *ret_number);

/* "write", "send_imm", ... */
const char *request_opcode_name(enum hca_wr_opcode opcode);

#endif
