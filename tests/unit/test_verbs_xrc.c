/* SPDX-License-Identifier: BSD-2-Clause */

/* XRC as programs see it. */
#include "tests/unit/verbs_test.h"

#include <stdio.h>

/* Of @b, which receives; @a sends. */
static struct ibv_xrcd *xrcd;
static struct ibv_srq *srq;
static uint32_t srqn;

static struct ibv_xrcd *open_domain(struct ibv_context *context, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask =
						  IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
					  .fd = fd,
					  .oflags = oflags};

	return ibv_open_xrcd(context, &attr);
}

static struct ibv_srq_init_attr_ex srq_init(void)
{
	return (struct ibv_srq_init_attr_ex){.attr = {.max_wr = 4, .max_sge = 1},
					     .comp_mask =
						     IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
						     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
					     .srq_type = IBV_SRQT_XRC,
					     .pd = b.pd,
					     .xrcd = xrcd,
					     .cq = b.cq};
}

static struct ibv_qp_init_attr_ex recv_init(void)
{
	return (struct ibv_qp_init_attr_ex){.qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_XRCD,
					    .xrcd = xrcd,
					    .qp_context = &b};
}

static struct ibv_qp_init_attr_ex send_init(void)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_XRC_SEND,
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = a.pd,
		.send_cq = a.cq,
		.cap = {.max_send_wr = 4, .max_send_sge = 1, .max_recv_wr = 9, .max_recv_sge = 9}};
}

/* In the place of the queue pairs of RC that both ends have. */
static void set_up_xrc(void)
{
	struct ibv_srq_init_attr_ex init;
	struct ibv_qp_init_attr_ex recv, send = send_init();

	xrcd = open_domain(b.context, -1, O_CREAT);
	assert_non_null(xrcd);
	init = srq_init();
	srq = ibv_create_srq_ex(b.context, &init);
	assert_non_null(srq);
	assert_int_equal(ibv_get_srq_num(srq, &srqn), 0);
	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	recv = recv_init();
	b.qp = ibv_create_qp_ex(b.context, &recv);
	assert_non_null(b.qp);
	a.qp = ibv_create_qp_ex(a.context, &send);
	assert_non_null(a.qp);
	assert_int_equal(send.cap.max_recv_wr, 0);
}

static void connect_xrc(void)
{
	struct ibv_qp_attr attr;

	to_init(&a);
	to_init(&b);
	attr = rtr_attr(&b);
	/* With what only the other end needs, as perftest has it: it is left out. */
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTR_MASK), 0);
	attr = rtr_attr(&a);
	assert_int_equal(ibv_modify_qp(b.qp, &attr, RTR_MASK), 0);
	attr = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7,
				    .sq_psn = 0xffffff,
				    .max_rd_atomic = 1};
	assert_int_equal(ibv_modify_qp(a.qp, &attr, RTS_MASK), 0);
	assert_fails(EINVAL, ibv_modify_qp(b.qp, &attr, RTS_MASK & ~IBV_QP_TIMEOUT) == EINVAL);
	assert_int_equal(ibv_modify_qp(b.qp, &attr, RTS_MASK), 0);
}

static void tear_down_xrc(void)
{
	if (b.qp)
		assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	if (srq)
		assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

static int post_srq(uint64_t wr_id, uint32_t offset)
{
	struct ibv_sge sge = {(uintptr_t)b.bytes + offset, 200, b.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static void test_domains_are_shared_by_file(void **state)
{
	struct ibv_xrcd_init_attr attr = {.comp_mask = IBV_XRCD_INIT_ATTR_FD, .fd = -1};
	FILE *one = tmpfile(), *two = tmpfile();
	struct ibv_srq_init_attr_ex init;
	struct ibv_xrcd *again;

	(void)state;
	assert_fails(EINVAL, !ibv_open_xrcd(b.context, &attr));
	attr.comp_mask = 1u << 2 | IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
	assert_fails(ENOSYS, !ibv_open_xrcd(b.context, &attr));
	assert_fails(EBADF, !open_domain(b.context, 9999, O_CREAT));
	assert_fails(EAGAIN, !open_domain(b.context, fileno(one), 0));
	xrcd = open_domain(b.context, fileno(one), O_CREAT | O_EXCL);
	assert_non_null(xrcd);
	assert_fails(EINVAL, !open_domain(b.context, fileno(one), O_CREAT | O_EXCL));
	assert_fails(EAGAIN, !open_domain(b.context, fileno(two), 0));
	again = open_domain(b.context, fileno(one), 0);
	assert_non_null(again);
	init = srq_init();
	srq = ibv_create_srq_ex(b.context, &init);
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_fails(EBUSY, ibv_destroy_cq(b.cq) == EBUSY);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_fails(EBUSY, ibv_close_xrcd(again) == EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(again), 0);
	assert_fails(EAGAIN, !open_domain(b.context, fileno(one), 0));
	fclose(one);
	fclose(two);
}

static void test_creation_of_what_xrc_has(void **state)
{
	struct verbs_context *verbs = verbs_get_ctx(b.context);
	struct ibv_srq_init_attr basic_init = {.attr = {.max_wr = 1, .max_sge = 1}};
	struct ibv_srq_init_attr_ex init;
	struct ibv_qp_init_attr_ex recv, send = send_init();
	struct ibv_device_attr device;
	struct ibv_qp_init_attr got;
	struct ibv_qp_attr attr;
	struct ibv_srq *basic;
	struct ibv_qp *qp;
	uint32_t number;

	(void)state;
	assert_int_equal(ibv_query_device(b.context, &device), 0);
	assert_true(device.device_cap_flags & IBV_DEVICE_XRC);
	set_up_xrc();
	init = srq_init();
	init.comp_mask &= ~(uint32_t)IBV_SRQ_INIT_ATTR_CQ;
	assert_fails(EINVAL, !ibv_create_srq_ex(b.context, &init));
	init.comp_mask = srq_init().comp_mask & ~(uint32_t)IBV_SRQ_INIT_ATTR_XRCD;
	assert_fails(EINVAL, !ibv_create_srq_ex(b.context, &init));
	init = srq_init();
	init.cq = a.cq;
	assert_fails(EINVAL, !ibv_create_srq_ex(b.context, &init));
	init = srq_init();
	init.srq_type = IBV_SRQT_BASIC;
	assert_fails(EINVAL, !ibv_create_srq_ex(b.context, &init));
	assert_true(srqn > 1 && srqn <= 0xffffff);
	basic = ibv_create_srq(b.pd, &basic_init);
	assert_non_null(basic);
	assert_fails(EOPNOTSUPP, ibv_get_srq_num(basic, &number) == EOPNOTSUPP);
	assert_int_equal(ibv_destroy_srq(basic), 0);
	recv = recv_init();
	recv.comp_mask |= IBV_QP_INIT_ATTR_PD;
	recv.pd = b.pd; /* librdmacm names one, which means nothing here */
	qp = ibv_create_qp_ex(b.context, &recv);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	recv = recv_init();
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &recv));
	recv.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	recv.create_flags = IBV_QP_CREATE_SCATTER_FCS;
	assert_fails(EOPNOTSUPP, !ibv_create_qp_ex(b.context, &recv));
	send.srq = srq;
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &send));
	send = send_init();
	send.send_cq = NULL;
	assert_fails(EINVAL, !ibv_create_qp_ex(a.context, &send));
	send = send_init();
	qp = verbs->create_qp_ex(a.context, &send); /* as the inline function does where it must */
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_query_qp(b.qp, &attr, IBV_QP_STATE, &got), 0);
	assert_int_equal(got.qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(got.cap.max_recv_wr, 0);
	assert_null(got.recv_cq);
	assert_ptr_equal(got.qp_context, &b);
	tear_down_xrc();
}

static void test_a_request_names_its_receives(void **state)
{
	struct ibv_srq_init_attr_ex init;
	struct ibv_srq *first = NULL;
	struct ibv_wc wc;

	(void)state;
	set_up_xrc();
	first = srq;
	init = srq_init();
	srq = ibv_create_srq_ex(b.context, &init);
	assert_non_null(srq);
	assert_int_equal(post_srq(77, 1000), 0);
	assert_int_equal(ibv_get_srq_num(srq, &srqn), 0);
	connect_xrc();
	memset(a.bytes, 'x', 100);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND,
							    .qp_type.xrc.remote_srqn = srqn}),
			 0);
	wc = poll_one(&b);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.qp_num, b.qp->qp_num);
	assert_memory_equal(b.bytes + 1000, a.bytes, 100);
	assert_fails(EINVAL, post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND,
								.qp_type.xrc.remote_srqn =
									1u << 24}) == EINVAL);
	assert_int_equal(ibv_destroy_srq(first), 0);
	tear_down_xrc();
}

static void test_a_request_that_is_built_names_them_too(void **state)
{
	struct ibv_qp_init_attr_ex init = send_init();
	struct ibv_qp_ex *ex;

	(void)state;
	set_up_xrc();
	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	init.send_ops_flags = IBV_QP_EX_WITH_SEND;
	a.qp = ibv_create_qp_ex(a.context, &init);
	assert_non_null(a.qp);
	assert_int_equal(post_srq(8, 0), 0);
	connect_xrc();
	ex = ibv_qp_to_qp_ex(a.qp);
	ibv_wr_start(ex);
	ex->wr_flags = IBV_SEND_SIGNALED;
	ibv_wr_send(ex);
	ibv_wr_set_xrc_srqn(ex, srqn);
	ibv_wr_set_sge(ex, a.mr->lkey, (uintptr_t)a.bytes, 10);
	assert_int_equal(ibv_wr_complete(ex), 0);
	assert_int_equal(poll_one(&b).wr_id, 8);
	tear_down_xrc();
}

static void expect_last_wqe(struct ibv_context *context, const struct ibv_qp *qp)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_LAST_WQE_REACHED);
	assert_ptr_equal(event.element.qp, qp);
	ibv_ack_async_event(&event);
}

/* All of its handles are equal: each is told, and it goes with the last one. */
static void test_a_queue_pair_opened_again(void **state)
{
	struct ibv_qp_open_attr open = {.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
						     IBV_QP_OPEN_ATTR_TYPE |
						     IBV_QP_OPEN_ATTR_CONTEXT,
					.qp_type = IBV_QPT_XRC_RECV,
					.qp_context = &a};
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR}, attr;
	struct ibv_qp *first, *second, *third;
	struct ibv_qp_init_attr init;
	struct ibv_xrcd *other;

	(void)state;
	set_up_xrc();
	connect_xrc();
	first = b.qp;
	open.xrcd = xrcd;
	open.qp_num = first->qp_num;
	second = ibv_open_qp(b.context, &open);
	third = ibv_open_qp(b.context, &open);
	assert_true(second && third);
	assert_int_equal(second->qp_num, first->qp_num);
	assert_ptr_equal(second->qp_context, &a);
	open.qp_num++;
	assert_fails(EINVAL, !ibv_open_qp(b.context, &open));
	open.qp_num--;
	open.qp_type = IBV_QPT_RC;
	assert_fails(EINVAL, !ibv_open_qp(b.context, &open));
	open.qp_type = IBV_QPT_XRC_RECV;
	other = open_domain(b.context, -1, O_CREAT);
	open.xrcd = other;
	assert_fails(EINVAL, !ibv_open_qp(b.context, &open));
	assert_int_equal(ibv_close_xrcd(other), 0);
	open.xrcd = xrcd;
	open.comp_mask &= ~(uint32_t)IBV_QP_OPEN_ATTR_TYPE;
	assert_fails(EINVAL, !ibv_open_qp(b.context, &open));
	assert_int_equal(ibv_destroy_qp(first), 0);
	b.qp = NULL;
	assert_int_equal(ibv_query_qp(second, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.qp_state, IBV_QPS_RTS);
	assert_int_equal(ibv_modify_qp(third, &err, IBV_QP_STATE), 0);
	expect_last_wqe(b.context, second);
	expect_last_wqe(b.context, third);
	assert_int_equal(ibv_destroy_qp(third), 0);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	srq = NULL;
	assert_fails(EBUSY, ibv_close_xrcd(xrcd) == EBUSY);
	assert_int_equal(ibv_destroy_qp(second), 0);
	tear_down_xrc();
}

RUN(T(test_domains_are_shared_by_file), T(test_creation_of_what_xrc_has),
    T(test_a_request_names_its_receives), T(test_a_request_that_is_built_names_them_too),
    T(test_a_queue_pair_opened_again))
