/* SPDX-License-Identifier: BSD-2-Clause */
/* ATOMIC_WRITE, and FLUSH by the numbers of later headers. */
#include "tests/unit/verbs_test.h"

enum {
	ACCESS_FLUSH_GLOBAL = 1 << 8,
	ACCESS_FLUSH_PERSISTENT = 1 << 9,
	EX_WITH_FLUSH = 1 << 11,
	WC_FLUSH = 8,
	FLUSH_GLOBAL = 1,
	FLUSH_RANGE = 0,
	FLUSH_MR = 1,
	FLUSH_RIGHTS = RIGHTS | ACCESS_FLUSH_GLOBAL
};

typedef void flush_fn(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t length,
		      uint8_t type, uint8_t level);

/* The call that later headers have behind wr_atomic_write. */
static flush_fn *flush_of(struct ibv_qp_ex *ex)
{
	flush_fn *flush;

	memcpy(&flush, (uint8_t *)&ex->wr_atomic_write + sizeof(ex->wr_atomic_write),
	       sizeof(flush));
	return flush;
}

static struct ibv_qp *make_ex(struct end *end, uint64_t ops)
{
	struct ibv_qp_init_attr init = qp_init(end);
	struct ibv_qp_init_attr_ex ex = {.comp_mask = IBV_QP_INIT_ATTR_PD |
						      IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					 .pd = end->pd,
					 .send_ops_flags = ops,
					 .qp_type = init.qp_type,
					 .cap = init.cap,
					 .send_cq = init.send_cq,
					 .recv_cq = init.recv_cq};
	struct ibv_qp *qp = ibv_create_qp_ex(end->context, &ex);

	assert_non_null(qp);
	return qp;
}

/* A's queue pair is extended, B lets it FLUSH. */
static struct ibv_qp_ex *join_ex(uint64_t ops)
{
	struct ibv_qp_attr attr = {.qp_access_flags = FLUSH_RIGHTS};

	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	a.qp = make_ex(&a, ops);
	connect_both();
	assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	return ibv_qp_to_qp_ex(a.qp);
}

static void request(struct ibv_qp_ex *ex, uint64_t wr_id)
{
	ibv_wr_start(ex);
	ex->wr_id = wr_id;
	ex->wr_flags = IBV_SEND_SIGNALED;
}

static void test_eight_bytes_at_once(void **state)
{
	struct ibv_qp_ex *ex = join_ex(IBV_QP_EX_WITH_ATOMIC_WRITE);
	char bytes[9] = "together";
	struct ibv_send_wr wr = {.wr_id = 2,
				 .opcode = IBV_WR_ATOMIC_WRITE,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.rdma = {(uintptr_t)b.bytes + 16, b.mr->rkey}},
			   *bad;
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};
	struct ibv_wc wc;

	(void)state;
	memset(b.bytes, '.', 64);
	request(ex, 1);
	ibv_wr_atomic_write(ex, b.mr->rkey, (uintptr_t)b.bytes + 8, bytes);
	memset(bytes, 0, sizeof(bytes)); /* they are the program's again */
	assert_int_equal(ibv_wr_complete(ex), 0);
	wc = poll_one(&a);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_ATOMIC_WRITE);
	assert_memory_equal(b.bytes, "........together........", 24);
	/* The same by the older call, from a list. */
	memcpy(a.bytes, "a list's", 8);
	wr.sg_list = &sge;
	wr.num_sge = 1;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), 0);
	wc = poll_one(&a);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_ATOMIC_WRITE);
	assert_memory_equal(b.bytes + 8, "togethera list's", 16);
	sge.length = 4;
	assert_int_equal(ibv_post_send(a.qp, &wr, &bad), EINVAL);
	/* To where it cannot be one store. */
	request(ex, 3);
	ibv_wr_atomic_write(ex, b.mr->rkey, (uintptr_t)b.bytes + 4, "displace");
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_REM_INV_REQ_ERR);
	assert_memory_equal(b.bytes, "........", 8);
}

static void test_flush(void **state)
{
	struct ibv_qp_ex *ex = join_ex(EX_WITH_FLUSH | IBV_QP_EX_WITH_RDMA_WRITE);
	struct ibv_mr *mr = ibv_reg_mr(b.pd, b.bytes, 64, FLUSH_RIGHTS);
	struct ibv_wc wc;

	(void)state;
	assert_non_null(mr);
	for (uint8_t level = FLUSH_RANGE; level <= FLUSH_MR; level++) {
		request(ex, level);
		flush_of(ex)(ex, mr->rkey, (uintptr_t)b.bytes, 64, FLUSH_GLOBAL, level);
		assert_int_equal(ibv_wr_complete(ex), 0);
		wc = poll_one(&a);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, level);
		assert_int_equal(wc.opcode, WC_FLUSH);
	}
	request(ex, 3);
	flush_of(ex)(ex, mr->rkey, (uintptr_t)b.bytes, 64, FLUSH_GLOBAL, 2);
	assert_int_equal(ibv_wr_complete(ex), EINVAL);
	request(ex, 4);
	flush_of(ex)(ex, mr->rkey, (uintptr_t)b.bytes, 65, FLUSH_GLOBAL, FLUSH_RANGE);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_REM_ACCESS_ERR);
	assert_fails(EINVAL, !ibv_reg_mr(b.pd, b.bytes, 64, RIGHTS | ACCESS_FLUSH_PERSISTENT));
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void test_what_the_device_says(void **state)
{
	struct ibv_device_attr_ex attr;
	struct ibv_qp *qp = make_ex(&a, IBV_QP_EX_WITH_SEND);

	(void)state;
	assert_int_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	/* linux include/uapi/rdma/ib_user_verbs.h: FLUSH_GLOBAL 38, FLUSH_PERSISTENT 39,
	 * ATOMIC_WRITE 40. */
	assert_int_equal(attr.device_cap_flags_ex >> 38, 5);
	assert_null(flush_of(ibv_qp_to_qp_ex(qp)));
	assert_null(ibv_qp_to_qp_ex(qp)->wr_atomic_write);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

RUN(T(test_eight_bytes_at_once), T(test_flush), T(test_what_the_device_says))
