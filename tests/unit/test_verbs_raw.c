/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs of raw packets: whole frames. */
#include "tests/unit/verbs_test.h"

static struct ibv_qp *raw_qp(struct end *end, uint64_t ops)
{
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_INIT, .port_num = 1};
	struct ibv_qp_init_attr_ex init = {.qp_type = IBV_QPT_RAW_PACKET,
					   .send_cq = end->cq,
					   .recv_cq = end->cq,
					   .cap = {4, 4, 2, 2, 0},
					   .pd = end->pd,
					   .comp_mask = IBV_QP_INIT_ATTR_PD |
							IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
					   .send_ops_flags = ops};
	struct ibv_qp *qp = ibv_create_qp_ex(end->context, &init);

	if (!qp)
		return NULL;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), EINVAL); /* no port */
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_PORT), 0);
	attr.qp_state = IBV_QPS_RTR;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV), EINVAL);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE), 0);
	return qp;
}

static void test_frames_go_as_they_are(void **state)
{
	struct ibv_qp *from = raw_qp(&a, IBV_QP_EX_WITH_SEND), *to = raw_qp(&b, 0), *own = b.qp;
	struct ibv_qp_ex *ex = ibv_qp_to_qp_ex(from);
	struct ibv_sge sge = {(uintptr_t)a.bytes, 1514, a.mr->lkey};
	struct ibv_send_wr wr = {.wr_id = 1,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .opcode = IBV_WR_SEND,
				 .send_flags = IBV_SEND_SIGNALED},
			   *bad;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	struct ibv_wc wc;

	(void)state;
	assert_non_null(from);
	assert_non_null(to);
	for (uint32_t i = 0; i < 1514; i++)
		a.bytes[i] = (uint8_t)(i * 7);
	b.qp = to;
	assert_int_equal(post_recv(&b, 2, 0, 1600), 0);
	assert_int_equal(post_recv(&b, 3, 2000, 100), 0);
	assert_int_equal(ibv_post_send(from, &wr, &bad), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	wc = poll_one(&b);
	assert_int_equal(wc.wr_id, 2);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 1514);
	assert_int_equal(wc.wc_flags, 0);
	assert_memory_equal(a.bytes, b.bytes, 1514);
	/* The same by the extended calls. */
	ibv_wr_start(ex);
	ex->wr_id = 4;
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.bytes, 60);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll_one(&a).wr_id, 4);
	wc = poll_one(&b);
	assert_int_equal(wc.wr_id, 3);
	assert_int_equal(wc.byte_len, 60);
	assert_int_equal(ibv_query_qp(from, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(init.qp_type, IBV_QPT_RAW_PACKET);
	wr.opcode = IBV_WR_RDMA_WRITE;
	assert_int_equal(ibv_post_send(from, &wr, &bad), EINVAL);
	assert_int_equal(ibv_destroy_qp(from), 0);
	assert_int_equal(ibv_destroy_qp(to), 0);
	b.qp = own;
}

static void test_who_may_not(void **state)
{
	struct ibv_flow_attr flow = {.type = IBV_FLOW_ATTR_NORMAL, .size = sizeof(flow), .port = 1};

	(void)state;
	toy.frames_allowed = -EPERM;
	assert_fails(EPERM, !raw_qp(&a, 0));
	toy.frames_allowed = -EOPNOTSUPP;
	assert_fails(EOPNOTSUPP, !raw_qp(&a, 0));
	/* No steering: ibv_create_flow() has nobody to ask. */
	assert_fails(EOPNOTSUPP, !ibv_create_flow(a.qp, &flow));
}

RUN(T(test_frames_go_as_they_are), T(test_who_may_not))
