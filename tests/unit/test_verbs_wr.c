/* SPDX-License-Identifier: BSD-2-Clause */

/* Extended queue pairs: requests that are built one call at a time, and posted all or none. */
#include "tests/unit/verbs_test.h"

#include <pthread.h>

enum {
	RC_OPS = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |
		 IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ |
		 IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD |
		 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_SEND_WITH_INV
};
enum {
	DEPTH = 4,
	INLINE = 64,
	REMOTE = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC
};

static struct ibv_qp_init_attr_ex init_ex(struct end *end, uint64_t ops)
{
	struct ibv_qp_init_attr init = qp_init(end);

	return (struct ibv_qp_init_attr_ex){.send_cq = init.send_cq,
					    .recv_cq = init.recv_cq,
					    .cap = init.cap,
					    .qp_type = init.qp_type,
					    .qp_context = end,
					    .comp_mask = IBV_QP_INIT_ATTR_PD |
							 IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					    .pd = end->pd,
					    .send_ops_flags = ops};
}

/* Instead of the queue pair of @end. */
static struct ibv_qp_ex *extend(struct end *end, uint64_t ops)
{
	struct ibv_qp_init_attr_ex init = init_ex(end, ops);

	assert_int_equal(ibv_destroy_qp(end->qp), 0);
	end->qp = ibv_create_qp_ex(end->context, &init);
	assert_non_null(end->qp);
	assert_non_null(ibv_qp_to_qp_ex(end->qp));
	return ibv_qp_to_qp_ex(end->qp);
}

static struct ibv_qp_ex *extend_and_connect(void)
{
	struct ibv_qp_ex *qp = extend(&a, RC_OPS);
	struct ibv_qp_attr attr = {.qp_access_flags = REMOTE};

	assert_int_equal(ibv_dereg_mr(b.mr), 0);
	b.mr = ibv_reg_mr(b.pd, b.bytes, BYTES, IBV_ACCESS_LOCAL_WRITE | REMOTE);
	assert_non_null(b.mr);
	connect_both();
	assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	return qp;
}

/* The next request of @qp. */
static void name(struct ibv_qp_ex *qp, uint64_t wr_id)
{
	qp->wr_id = wr_id;
	qp->wr_flags = IBV_SEND_SIGNALED;
}

static void expect_done(uint64_t wr_id, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = poll_one(&a);

	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.wr_id, wr_id);
	assert_int_equal(wc.opcode, opcode);
}

static void expect_nothing(void)
{
	struct ibv_wc wc;

	toy_pump(&toy);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
}

static void set_local(struct ibv_qp_ex *qp, uint32_t offset, uint32_t length)
{
	ibv_wr_set_sge(qp, a.mr->lkey, (uintptr_t)a.bytes + offset, length);
}

static void test_pairs_that_there_are_not(void **state)
{
	const struct {
		uint32_t mask, flags;
		uint16_t tso;
		uint64_t ops;
		enum ibv_qp_type type;
		int error;
	} refused[] = {
		{1 << 7, 0, 0, 0, IBV_QPT_RC, EINVAL},
		{IBV_QP_INIT_ATTR_IND_TABLE, 0, 0, 0, IBV_QPT_RC, EOPNOTSUPP},
		{IBV_QP_INIT_ATTR_RX_HASH, 0, 0, 0, IBV_QPT_RC, EOPNOTSUPP},
		{IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_CREATE_SCATTER_FCS, 0, 0, IBV_QPT_RC,
		 EOPNOTSUPP},
		{IBV_QP_INIT_ATTR_CREATE_FLAGS, IBV_QP_CREATE_CVLAN_STRIPPING, 0, 0, IBV_QPT_RC,
		 EOPNOTSUPP},
		{IBV_QP_INIT_ATTR_MAX_TSO_HEADER, 0, 40, 0, IBV_QPT_UD, EOPNOTSUPP},
		{0, 0, 0, IBV_QP_EX_WITH_TSO, IBV_QPT_UD, EOPNOTSUPP},
		{0, 0, 0, IBV_QP_EX_WITH_RDMA_WRITE, IBV_QPT_UD, EOPNOTSUPP},
		{0, 0, 0, IBV_QP_EX_WITH_RDMA_READ, IBV_QPT_UC, EOPNOTSUPP},
		{0, 0, 0, 1ull << 20, IBV_QPT_RC, EOPNOTSUPP},
		{0, 0, 0, 1ull << 40, IBV_QPT_RC, EOPNOTSUPP},
		{0, 0, 0, IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_QPT_RAW_PACKET, EOPNOTSUPP},
		{0, 0, 0, 0, IBV_QPT_DRIVER, EOPNOTSUPP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct ibv_qp_init_attr_ex init = init_ex(&a, refused[i].ops);

		init.comp_mask |= refused[i].mask;
		init.create_flags = refused[i].flags;
		init.max_tso_header = refused[i].tso;
		init.qp_type = refused[i].type;
		assert_fails(refused[i].error, !ibv_create_qp_ex(a.context, &init));
	}
}

static void test_a_pair_needs_its_domain(void **state)
{
	struct ibv_qp_init_attr_ex init = init_ex(&a, 0);

	(void)state;
	init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &init));
	init.comp_mask |= IBV_QP_INIT_ATTR_PD;
	init.pd = NULL;
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &init));
	init.pd = b.pd;
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &init));
}

static void test_what_is_not_asked_for_cannot_be_called(void **state)
{
	struct ibv_qp_init_attr_ex init = init_ex(&a, 0);
	struct ibv_qp_ex *qp = extend(&a, IBV_QP_EX_WITH_SEND);
	struct ibv_qp *plain;

	(void)state;
	assert_non_null(qp->wr_send);
	assert_null(qp->wr_send_imm);
	assert_null(qp->wr_rdma_read);
	assert_null(qp->wr_set_ud_addr);
	assert_null(qp->wr_bind_mw);
	assert_null(qp->wr_send_tso);
	assert_null(ibv_qp_to_qp_ex(b.qp));
	init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS;
	plain = ibv_create_qp_ex(a.context, &init);
	assert_non_null(plain);
	assert_null(ibv_qp_to_qp_ex(plain));
	assert_int_equal(ibv_destroy_qp(plain), 0);
}

/* Lists and bytes are the program's again after each call. */
static void test_requests_of_every_kind_in_one_batch(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	struct ibv_sge list[2] = {{(uintptr_t)a.bytes, 3, a.mr->lkey},
				  {(uintptr_t)a.bytes + 10, 2, a.mr->lkey}};
	char bytes[INLINE] = "in line";
	struct ibv_data_buf bufs[3] = {{bytes, 3}, {NULL, 0}, {bytes + 3, 4}};
	struct ibv_wc wc;

	(void)state;
	memcpy(a.bytes, "one two three", 13);
	assert_int_equal(post_recv(&b, 1, 1000, 100), 0);
	assert_int_equal(post_recv(&b, 2, 2000, 100), 0);
	ibv_wr_start(qp);
	name(qp, 11);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_sge_list(qp, 2, list);
	memset(list, 0xff, sizeof(list));
	name(qp, 12);
	ibv_wr_rdma_write_imm(qp, b.mr->rkey, (uintptr_t)b.bytes + 100, htonl(5));
	ibv_wr_set_inline_data_list(qp, 3, bufs);
	memset(bytes, 'x', sizeof(bytes));
	name(qp, 13);
	ibv_wr_send_imm(qp, htonl(6));
	set_local(qp, 0, 200);
	set_local(qp, 4, 3); /* the last one counts */
	name(qp, 14);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes + 200);
	ibv_wr_set_inline_data(qp, (char[]){"end"}, 3);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_done(11, IBV_WC_RDMA_WRITE);
	expect_done(12, IBV_WC_RDMA_WRITE);
	expect_done(13, IBV_WC_SEND);
	expect_done(14, IBV_WC_RDMA_WRITE);
	wc = poll_one(&b);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.imm_data, htonl(5));
	wc = poll_one(&b);
	assert_int_equal(wc.imm_data, htonl(6));
	assert_int_equal(wc.byte_len, 3);
	assert_memory_equal(b.bytes, "onere", 6);
	assert_memory_equal(b.bytes + 100, "in line", 8);
	assert_memory_equal(b.bytes + 200, "end", 4);
	assert_memory_equal(b.bytes + 2000, "two", 4);
}

static void test_reads_and_atomics(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	uint64_t *word = (void *)(b.bytes + 64);
	uint64_t got[2];

	(void)state;
	*word = 5;
	memcpy(b.bytes, "far away", 8);
	ibv_wr_start(qp);
	name(qp, 1);
	ibv_wr_rdma_read(qp, b.mr->rkey, (uintptr_t)b.bytes);
	set_local(qp, 0, 8);
	name(qp, 2);
	ibv_wr_atomic_fetch_add(qp, b.mr->rkey, (uintptr_t)word, 3);
	set_local(qp, 8, 8);
	name(qp, 3);
	ibv_wr_atomic_cmp_swp(qp, b.mr->rkey, (uintptr_t)word, 8, 100);
	set_local(qp, 16, 8);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_done(1, IBV_WC_RDMA_READ);
	expect_done(2, IBV_WC_FETCH_ADD);
	expect_done(3, IBV_WC_COMP_SWAP);
	assert_memory_equal(a.bytes, "far away", 8);
	memcpy(got, a.bytes + 8, sizeof(got));
	assert_int_equal(got[0], 5);
	assert_int_equal(got[1], 8);
	assert_int_equal(*word, 100);
}

/* Ordinary regions stay valid whoever asks. */
static void test_keys_to_be_invalidated(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	struct ibv_wc wc;

	(void)state;
	ibv_wr_start(qp);
	name(qp, 1);
	ibv_wr_local_inv(qp, a.mr->rkey);
	assert_int_equal(ibv_wr_complete(qp), 0);
	wc = poll_one(&a);
	assert_int_equal(wc.wr_id, 1);
	assert_true(wc.status != IBV_WC_SUCCESS);
	/* The pair has failed; what comes now is flushed. */
	ibv_wr_start(qp);
	name(qp, 2);
	ibv_wr_send_inv(qp, b.mr->rkey);
	set_local(qp, 0, 1);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_WR_FLUSH_ERR);
}

static void test_what_is_aborted_is_not_posted(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();

	(void)state;
	ibv_wr_start(qp);
	name(qp, 1);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	set_local(qp, 0, 1);
	ibv_wr_abort(qp);
	expect_nothing();
	ibv_wr_start(qp);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_nothing();
}

static void write_one(struct ibv_qp_ex *qp, uint64_t wr_id)
{
	name(qp, wr_id);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	set_local(qp, 0, 1);
}

/* The first request is good, and is not posted; nothing is left for the next batch. */
static void expect_refused(struct ibv_qp_ex *qp, int error)
{
	assert_int_equal(ibv_wr_complete(qp), error);
	expect_nothing();
	ibv_wr_start(qp);
	write_one(qp, 99);
	assert_int_equal(ibv_wr_complete(qp), 0);
	expect_done(99, IBV_WC_RDMA_WRITE);
}

static void begin(struct ibv_qp_ex *qp)
{
	ibv_wr_start(qp);
	write_one(qp, 1);
}

static void test_one_that_is_refused_takes_all_along(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	struct ibv_sge list[5] = {{0}};
	uint8_t bytes[129] = {0};
	struct ibv_data_buf bufs[2] = {{bytes, SIZE_MAX}, {bytes, 2}};

	(void)state;
	begin(qp); /* a flag that there is not */
	qp->wr_flags = IBV_SEND_IP_CSUM;
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	set_local(qp, 0, 1);
	expect_refused(qp, EINVAL);
	begin(qp); /* more elements than the pair takes, than any does */
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_sge_list(qp, 3, list);
	expect_refused(qp, EINVAL);
	begin(qp);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_sge_list(qp, 5, list);
	expect_refused(qp, EINVAL);
	begin(qp); /* more bytes in line */
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_inline_data(qp, bytes, INLINE + 1);
	expect_refused(qp, EINVAL);
	begin(qp);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_inline_data(qp, bytes, 129);
	expect_refused(qp, EINVAL);
	begin(qp);
	ibv_wr_rdma_write(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_inline_data_list(qp, 2, bufs);
	expect_refused(qp, EINVAL);
	begin(qp); /* a READ has none */
	ibv_wr_rdma_read(qp, b.mr->rkey, (uintptr_t)b.bytes);
	ibv_wr_set_inline_data(qp, bytes, 1);
	expect_refused(qp, EINVAL);
	ibv_wr_start(qp); /* the list of nothing */
	set_local(qp, 0, 1);
	expect_refused(qp, EINVAL);
}

static void test_no_more_than_there_is_room_for(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();

	(void)state;
	ibv_wr_start(qp);
	for (uint64_t i = 0; i < DEPTH + 1; i++)
		write_one(qp, i);
	expect_refused(qp, ENOMEM);
	ibv_wr_start(qp);
	for (uint64_t i = 0; i < 1000; i++) /* no queue takes more than 128 */
		write_one(qp, i);
	expect_refused(qp, ENOMEM);
	ibv_wr_start(qp);
	for (uint64_t i = 0; i < DEPTH; i++)
		write_one(qp, i);
	assert_int_equal(ibv_wr_complete(qp), 0);
	for (uint64_t i = 0; i < DEPTH; i++)
		expect_done(i, IBV_WC_RDMA_WRITE);
}

static void test_a_state_that_does_not_send(void **state)
{
	struct ibv_qp_ex *qp = extend(&a, RC_OPS);

	(void)state;
	to_init(&a);
	ibv_wr_start(qp);
	write_one(qp, 1);
	assert_int_equal(ibv_wr_complete(qp), EINVAL);
	expect_nothing();
}

/* Requests of a batch cost what as many in a list cost. */
static void test_a_batch_is_charged_for(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	const uint64_t calls = toy.calls[VRB_CALL_POST_SEND];
	const uint64_t requests = toy.amounts[VRB_CALL_POST_SEND];

	(void)state;
	ibv_wr_start(qp);
	for (uint64_t i = 0; i < 3; i++)
		write_one(qp, i);
	assert_int_equal(toy.calls[VRB_CALL_POST_SEND], calls);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(toy.calls[VRB_CALL_POST_SEND], calls + 1);
	assert_int_equal(toy.amounts[VRB_CALL_POST_SEND], requests + 3);
}

static void *begin_and_abort(void *qp)
{
	ibv_wr_start(qp);
	__atomic_store_n(&b.bytes[0], 1, __ATOMIC_SEQ_CST);
	ibv_wr_abort(qp);
	return NULL;
}

/* Who begins while another thread is at it waits for its end. */
static void test_threads_build_by_turns(void **state)
{
	struct ibv_qp_ex *qp = extend_and_connect();
	pthread_t other;

	(void)state;
	ibv_wr_start(qp);
	assert_int_equal(pthread_create(&other, NULL, begin_and_abort, qp), 0);
	for (int i = 0; i < 1000; i++) {
		sched_yield();
		assert_int_equal(__atomic_load_n(&b.bytes[0], __ATOMIC_SEQ_CST), 0);
	}
	write_one(qp, 1);
	assert_int_equal(ibv_wr_complete(qp), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(b.bytes[0], 1);
	expect_done(1, IBV_WC_RDMA_WRITE);
}

static struct ibv_qp *datagrams(struct end *end)
{
	struct ibv_qp_init_attr_ex init =
		init_ex(end, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = 7};
	struct ibv_qp *qp;

	init.qp_type = IBV_QPT_UD;
	qp = ibv_create_qp_ex(end->context, &init);
	assert_non_null(qp);
	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY),
		0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
	return qp;
}

static void test_datagrams_have_their_own_address(void **state)
{
	struct ibv_qp *from = datagrams(&a), *to = datagrams(&b), *rc = b.qp;
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(from);
	struct ibv_ah_attr way = rtr_attr(&b).ah_attr;
	struct ibv_ah *ah = ibv_create_ah(a.pd, &way);
	struct ibv_wc wc;

	(void)state;
	assert_non_null(ah);
	b.qp = to;
	assert_int_equal(post_recv(&b, 3, 0, 200), 0);
	b.qp = rc;
	memcpy(a.bytes, "dear b", 6);
	ibv_wr_start(qp);
	name(qp, 1);
	ibv_wr_send_imm(qp, htonl(8));
	ibv_wr_set_ud_addr(qp, ah, to->qp_num, 7);
	set_local(qp, 0, 6);
	assert_int_equal(ibv_wr_complete(qp), 0);
	wc = poll_one(&b);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.imm_data, htonl(8));
	assert_memory_equal(b.bytes + 40, "dear b", 6);
	expect_done(1, IBV_WC_SEND);
	ibv_wr_start(qp); /* nowhere to go */
	name(qp, 2);
	ibv_wr_send(qp);
	set_local(qp, 0, 6);
	assert_int_equal(ibv_wr_complete(qp), EINVAL);
	assert_int_equal(ibv_destroy_ah(ah), 0);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
}

RUN(T(test_pairs_that_there_are_not), T(test_a_pair_needs_its_domain),
    T(test_what_is_not_asked_for_cannot_be_called), T(test_requests_of_every_kind_in_one_batch),
    T(test_reads_and_atomics), T(test_keys_to_be_invalidated),
    T(test_what_is_aborted_is_not_posted), T(test_one_that_is_refused_takes_all_along),
    T(test_no_more_than_there_is_room_for), T(test_a_state_that_does_not_send),
    T(test_a_batch_is_charged_for), T(test_threads_build_by_turns),
    T(test_datagrams_have_their_own_address))
