/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_NIC_VERBS_H
#define TESTS_UNIT_NIC_VERBS_H

/* What the tests of the verbs front over a NIC share: the device of the environment, host 1 of this
 * process, and queue pairs joined with themselves. */
#include "tests/unit/nic_test.h"
#include "transport/nic/world.h"

#include <infiniband/verbs.h>
#include <stdio.h>
#include <unistd.h>

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
int post_receive(struct ibv_qp *qp, uint64_t wr_id); /* of no bytes */
void expect_write(struct ibv_cq *cq, uint8_t value);

/* Runs @fn in a process of its own, which ends after a minute at the latest; its exit status as of
 * waitpid(), what it wrote to stderr in @ret_said. */
int in_process(void (*fn)(void), char *ret_said, size_t room);
/* In a process of its own, which says nothing. */
void assert_all_holds(void (*fn)(void));

/* In the processes cmocka does not run: what does not hold ends them. */
#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%d: %s\n", __LINE__, #cond);                              \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

uint32_t thread_count(void); /* of this process */

#endif
