/* SPDX-License-Identifier: BSD-2-Clause */

/* Shared receive queues as programs see them. */
#include "tests/unit/verbs_test.h"

static struct ibv_srq *new_srq(uint32_t depth)
{
	struct ibv_srq_init_attr init = {.srq_context = &a,
					 .attr = {.max_wr = depth, .max_sge = 2}};
	struct ibv_srq *srq = ibv_create_srq(a.pd, &init);

	assert_non_null(srq);
	return srq;
}

static int post_srq(struct ibv_srq *srq, uint64_t wr_id, uint32_t offset, uint32_t length)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes + offset, length, a.mr->lkey};
	struct ibv_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1}, *bad = NULL;
	int ret = ibv_post_srq_recv(srq, &wr, &bad);

	assert_ptr_equal(bad, ret != 0 ? &wr : NULL);
	return ret;
}

/* The queue pair of @a takes its receives from @srq. */
static void share(struct ibv_srq *srq)
{
	struct ibv_qp_init_attr init = qp_init(&a);

	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	init.srq = srq;
	a.qp = ibv_create_qp(a.pd, &init);
	assert_non_null(a.qp);
	assert_int_equal(init.cap.max_recv_wr, 0);
	assert_int_equal(init.cap.max_recv_sge, 0);
	assert_int_equal(init.cap.max_send_wr, 4);
}

static void drop_qp(void)
{
	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
}

static void expect_async(enum ibv_event_type type, const void *element)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, type);
	assert_ptr_equal(event.element.srq, element);
	ibv_ack_async_event(&event);
}

static void test_creation_of_an_srq(void **state)
{
	struct ibv_srq_init_attr init = {.attr = {.max_wr = 0, .max_sge = 1}};
	struct ibv_device_attr device;
	struct ibv_srq_attr attr;
	struct ibv_srq *srq, *all[32];
	uint32_t count = 0;

	(void)state;
	assert_int_equal(ibv_query_device(a.context, &device), 0);
	assert_int_equal(device.max_srq, 16);
	assert_int_equal(device.max_srq_wr, device.max_qp_wr);
	assert_int_equal(device.max_srq_sge, device.max_sge);
	assert_true(device.device_cap_flags & IBV_DEVICE_SRQ_RESIZE);
	assert_fails(EINVAL, !ibv_create_srq(a.pd, &init));
	init.attr.max_wr = (uint32_t)device.max_srq_wr + 1;
	assert_fails(EINVAL, !ibv_create_srq(a.pd, &init));
	init.attr = (struct ibv_srq_attr){.max_wr = 1, .max_sge = (uint32_t)device.max_srq_sge + 1};
	assert_fails(EINVAL, !ibv_create_srq(a.pd, &init));
	init.attr = (struct ibv_srq_attr){.max_wr = (uint32_t)device.max_srq_wr,
					  .max_sge = (uint32_t)device.max_srq_sge};
	srq = ibv_create_srq(a.pd, &init);
	assert_non_null(srq);
	assert_ptr_equal(srq->context, a.context);
	assert_ptr_equal(srq->pd, a.pd);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, device.max_srq_wr);
	assert_int_equal(attr.max_sge, device.max_srq_sge);
	assert_int_equal(attr.srq_limit, 0);
	for (; count < 15; count++)
		all[count] = new_srq(1);
	assert_fails(ENOMEM, !ibv_create_srq(a.pd, &init));
	while (count-- > 0)
		assert_int_equal(ibv_destroy_srq(all[count]), 0);
	assert_fails(EBUSY, ibv_dealloc_pd(a.pd) == EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_creation_of_an_extended_srq(void **state)
{
	struct ibv_srq_init_attr_ex init = {.attr = {.max_wr = 3, .max_sge = 1},
					    .comp_mask =
						    IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
					    .srq_type = IBV_SRQT_BASIC,
					    .pd = a.pd};
	struct verbs_context *verbs = verbs_get_ctx(a.context);
	struct ibv_srq_attr attr;
	struct ibv_srq *srq = ibv_create_srq_ex(a.context, &init);

	(void)state;
	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	srq = verbs->create_srq_ex(a.context, &init);
	assert_non_null(srq);
	assert_int_equal(ibv_query_srq(srq, &attr), 0);
	assert_int_equal(attr.max_wr, 3);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE;
	assert_fails(EINVAL, !ibv_create_srq_ex(a.context, &init));
	init.comp_mask = 1u << 6 | IBV_SRQ_INIT_ATTR_PD;
	assert_fails(EINVAL, !ibv_create_srq_ex(a.context, &init));
	init.comp_mask = IBV_SRQ_INIT_ATTR_PD;
	init.pd = b.pd;
	assert_fails(EINVAL, !verbs->create_srq_ex(a.context, &init));
	init.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
	init.srq_type = IBV_SRQT_TM;
	assert_fails(EOPNOTSUPP, !ibv_create_srq_ex(a.context, &init));
}

static void test_a_qp_may_share(void **state)
{
	struct ibv_qp_init_attr init = qp_init(&a), got;
	struct ibv_recv_wr wr = {.wr_id = 1}, *bad = NULL;
	struct ibv_srq *srq = new_srq(4);
	struct ibv_qp_attr attr;

	(void)state;
	init.srq = srq;
	init.qp_type = IBV_QPT_UC;
	assert_fails(EINVAL, !ibv_create_qp(a.pd, &init));
	init.qp_type = IBV_QPT_RC;
	init.send_cq = init.recv_cq = b.cq;
	assert_fails(EINVAL, !ibv_create_qp(b.pd, &init)); /* another adapter's */
	share(srq);
	to_init(&a);
	assert_int_equal(ibv_query_qp(a.qp, &attr, IBV_QP_CAP, &got), 0);
	assert_ptr_equal(got.srq, srq);
	assert_int_equal(got.cap.max_recv_wr, 0);
	assert_int_equal(got.cap.max_recv_sge, 0);
	assert_fails(EINVAL, ibv_post_recv(a.qp, &wr, &bad) == EINVAL);
	assert_ptr_equal(bad, &wr);
	assert_fails(EBUSY, ibv_destroy_srq(srq) == EBUSY);
	drop_qp();
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_posts_to_an_srq(void **state)
{
	struct ibv_sge sge[3] = {{(uintptr_t)a.bytes, 1, a.mr->lkey}};
	struct ibv_recv_wr wr[5], *bad = NULL;
	struct ibv_srq *srq = new_srq(4);

	(void)state;
	for (int i = 0; i < 5; i++)
		wr[i] = (struct ibv_recv_wr){.wr_id = (uint64_t)i,
					     .next = i < 4 ? &wr[i + 1] : NULL,
					     .sg_list = sge,
					     .num_sge = 1};
	wr[1].num_sge = 3;
	assert_fails(EINVAL, ibv_post_srq_recv(srq, wr, &bad) == EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = -1;
	assert_fails(EINVAL, ibv_post_srq_recv(srq, &wr[1], &bad) == EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	wr[1].num_sge = 1;
	assert_fails(ENOMEM, ibv_post_srq_recv(srq, wr, &bad) == ENOMEM); /* the fourth of these */
	assert_ptr_equal(bad, &wr[3]);
	sge[0].length = sge[1].length = 1u << 30;
	wr[0] = (struct ibv_recv_wr){.sg_list = sge, .num_sge = 2};
	assert_fails(ENOMEM, ibv_post_srq_recv(srq, wr, &bad) == ENOMEM);
	sge[1].length++;
	assert_fails(EINVAL, ibv_post_srq_recv(srq, wr, &bad) == EINVAL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_a_shared_receive_arrives_with_all_its_fields(void **state)
{
	struct ibv_srq *srq = new_srq(4);
	struct ibv_wc wc;

	(void)state;
	share(srq);
	assert_int_equal(post_srq(srq, 77, 1000, 200), 0);
	assert_int_equal(post_srq(srq, 78, 2000, 200), 0);
	connect_both();
	memset(b.bytes, 'b', 100);
	assert_int_equal(post_send(&b, (struct ibv_send_wr){.opcode = IBV_WR_SEND_WITH_IMM,
							    .imm_data = htonl(5)}),
			 0);
	wc = poll_one(&a);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(wc.imm_data, htonl(5));
	assert_int_equal(wc.qp_num, a.qp->qp_num);
	assert_memory_equal(a.bytes + 1000, b.bytes, 100);
	drop_qp();
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_the_limit_is_told_once(void **state)
{
	struct ibv_srq_attr attr = {.srq_limit = 2}, got;
	struct ibv_srq *srq = new_srq(4);
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	share(srq);
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post_srq(srq, i, 0, 200), 0);
	attr.max_wr = 1;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	assert_fails(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR) == EINVAL);
	assert_fails(EINVAL, ibv_modify_srq(srq, &attr, 4) == EINVAL);
	attr.srq_limit = 5;
	assert_fails(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT) == EINVAL);
	assert_int_equal(ibv_query_srq(srq, &got), 0);
	assert_int_equal(got.srq_limit, 2);
	assert_int_equal(got.max_wr, 4);
	attr.max_wr = 7;
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(ibv_query_srq(srq, &got), 0);
	assert_int_equal(got.max_wr, 7);
	connect_both();
	for (int i = 0; i < 3; i++) {
		assert_int_equal(post_send(&b, (struct ibv_send_wr){.opcode = IBV_WR_SEND}), 0);
		assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
		if (i == 1)
			expect_async(IBV_EVENT_SRQ_LIMIT_REACHED, srq);
		assert_fails(EAGAIN, ibv_get_async_event(a.context, &event) == -1);
	}
	assert_int_equal(srq->events_completed, 1);
	drop_qp();
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static void test_a_failed_qp_says_that_it_takes_no_more(void **state)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_srq *srq = new_srq(4);
	struct ibv_wc wc;

	(void)state;
	share(srq);
	assert_int_equal(post_srq(srq, 1, 0, 200), 0);
	to_init(&a);
	assert_int_equal(ibv_modify_qp(a.qp, &err, IBV_QP_STATE), 0);
	expect_async(IBV_EVENT_QP_LAST_WQE_REACHED, a.qp);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	drop_qp();
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

/* An event that was got is acknowledged before its queue goes; one that was not goes with it. */
static void test_an_srq_takes_its_unread_events_along(void **state)
{
	struct ibv_srq_attr attr = {.srq_limit = 1};
	struct ibv_srq *srq = new_srq(4);
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(fcntl(a.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	share(srq);
	assert_int_equal(post_srq(srq, 1, 0, 200), 0);
	assert_int_equal(ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT), 0);
	connect_both();
	assert_int_equal(post_send(&b, (struct ibv_send_wr){.opcode = IBV_WR_SEND}), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	drop_qp();
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_fails(EAGAIN, ibv_get_async_event(a.context, &event) == -1);
}

RUN(T(test_creation_of_an_srq), T(test_creation_of_an_extended_srq), T(test_a_qp_may_share),
    T(test_posts_to_an_srq), T(test_a_shared_receive_arrives_with_all_its_fields),
    T(test_the_limit_is_told_once), T(test_a_failed_qp_says_that_it_takes_no_more),
    T(test_an_srq_takes_its_unread_events_along))
