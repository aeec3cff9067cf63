/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_VERBS_TEST_H
#define TESTS_UNIT_VERBS_TEST_H

/* Two ends with a PD, a CQ with its channel, a region and a QP each, on two adapters of the toy
 * world. */
#include "tests/test.h"

#include "tests/programs/toy.h"
#include <arpa/inet.h>
#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <sched.h>
#include <string.h>

enum { BYTES = 4096, RIGHTS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE };
enum {
	INIT_MASK = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	RTR_MASK = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		   IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	RTS_MASK = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
		   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
};

/* Fails with @number in errno. */
#define assert_fails(number, call)                                                                 \
	do {                                                                                       \
		errno = 0;                                                                         \
		assert_true(call);                                                                 \
		assert_int_equal(errno, number);                                                   \
	} while (0)

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	uint8_t bytes[BYTES];
};

extern struct toy toy;
extern struct end a, b;

/* Before and after each test: both ends with their QPs in RESET. What a test destroys it sets to
 * NULL. */
int set_up(void **state);
int tear_down(void **state);

struct ibv_qp_init_attr qp_init(struct end *end);
struct ibv_qp_attr rtr_attr(const struct end *peer);
void to_init(struct end *end);
void to_rts(struct end *end, const struct end *peer);
void connect_both(void);
int post_recv(struct end *end, uint64_t wr_id, uint32_t offset, uint32_t length);
/* 100 bytes from the region's start where @wr has no list. */
int post_send(struct end *end, struct ibv_send_wr wr);
struct ibv_wc poll_one(struct end *end);

/* With an argument every call goes through bytes (transport/verbs/bytes.h). */
#undef RUN
#define RUN(...)                                                                                   \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		const struct CMUnitTest tests[] = {__VA_ARGS__};                                   \
		(void)argv;                                                                        \
		toy_through_bytes = argc > 1;                                                      \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

#endif
