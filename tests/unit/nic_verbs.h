/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_NIC_VERBS_H
#define TESTS_UNIT_NIC_VERBS_H

/* What the tests of the verbs front over a NIC share: the device of the environment, host 1 of this
 * process, and queue pairs joined with themselves. */
#include "tests/unit/nic_test.h"
#include "transport/nic/world.h"

#include <infiniband/verbs.h>

enum { BYTES = 5000, ALL_RIGHTS = 15 };

struct nic_verbs {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	uint8_t memory[2 * BYTES];
};
extern struct nic_verbs t;

void nic_verbs_addresses(unsigned count); /* of hosts 1, 2.. of this process, to the environment */
int nic_verbs_open(void **state);
int nic_verbs_close(void **state);

struct ibv_qp *create_qp(struct ibv_cq *cq);
void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer); /* of the same device */
/* A queue pair that talks to itself, through the socket. */
struct ibv_qp *open_qp(struct ibv_cq *cq);
/* Of BYTES bytes of @value, which is the wr_id, too. */
void write_to_self(struct ibv_qp *qp, uint8_t value);
void expect_write(struct ibv_cq *cq, uint8_t value);

#endif
