/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TASK_END_H
#define TESTS_UNIT_TASK_END_H

/* One end of a connection, as a task of a test has it: from a device to a queue pair that can
 * write. */
#include "tests/unit/models_test.h"

#include <infiniband/verbs.h>

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint64_t words[4];
};

struct address {
	uint64_t addr;
	uint32_t qpn, rkey;
	union ibv_gid gid;
};

/* On the @device-th of the list. What the other end has to know. */
struct address end_open(struct end *end, int device);
void end_connect(struct end *end, const struct address *peer);
void end_close(struct end *end);
/* The first word to the peer's second; the time at which the call returned. */
ps_t end_write(struct end *end, const struct address *peer);

#endif
