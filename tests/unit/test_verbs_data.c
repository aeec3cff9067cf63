/* SPDX-License-Identifier: BSD-2-Clause */

/* Posting, polling and events. */
#include "tests/unit/verbs_test.h"

#include <sys/mman.h>

/* Posting and polling */

static void test_posts_that_are_refused(void **state)
{
	struct ibv_sge sge[3] = {{(uintptr_t)a.bytes, 1, a.mr->lkey},
				 {(uintptr_t)a.bytes, 1, a.mr->lkey},
				 {(uintptr_t)a.bytes, 1, a.mr->lkey}};
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND};

	(void)state;
	assert_fails(EINVAL, post_recv(&a, 1, 0, 8) == EINVAL); /* RESET */
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	to_init(&a);
	to_init(&b);
	assert_int_equal(post_recv(&a, 1, 0, 8), 0);
	assert_fails(EINVAL, post_send(&a, send) == EINVAL); /* INIT */
	to_rts(&a, &b);
	to_rts(&b, &a);
	send.opcode = IBV_WR_TSO;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send.opcode = (enum ibv_wr_opcode)40;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send = (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_IP_CSUM};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send = (struct ibv_send_wr){.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 3};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send.num_sge = -1;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	/* None of so many is read. */
	send.num_sge = 1 << 28;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	send.send_flags = IBV_SEND_INLINE;
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
	sge[0].length = 65;
	send = (struct ibv_send_wr){
		.opcode = IBV_WR_SEND, .sg_list = sge, .num_sge = 1, .send_flags = IBV_SEND_INLINE};
	assert_fails(EINVAL, post_send(&a, send) == EINVAL);
}

static void test_a_full_queue_refuses_and_says_which(void **state)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};
	struct ibv_send_wr wr[6], *bad = NULL;
	uint64_t calls, requests;

	(void)state;
	connect_both();
	for (int i = 0; i < 6; i++)
		wr[i] = (struct ibv_send_wr){.wr_id = (uint64_t)i,
					     .next = i < 5 ? &wr[i + 1] : NULL,
					     .sg_list = &sge,
					     .num_sge = 1,
					     .opcode = IBV_WR_SEND,
					     .send_flags = IBV_SEND_SIGNALED};
	calls = toy.calls[VRB_CALL_POST_SEND];
	requests = toy.amounts[VRB_CALL_POST_SEND];
	assert_fails(ENOMEM, ibv_post_send(a.qp, wr, &bad) == ENOMEM);
	assert_ptr_equal(bad, &wr[4]);
	/* The world is asked once, for all of them. */
	assert_int_equal(toy.calls[VRB_CALL_POST_SEND] - calls, 1);
	assert_int_equal(toy.amounts[VRB_CALL_POST_SEND] - requests, 6);
	for (int i = 0; i < 4; i++)
		assert_int_equal(post_recv(&b, (uint64_t)i, 0, 8), 0);
	assert_fails(ENOMEM, post_recv(&b, 4, 0, 8) == ENOMEM);
	for (int i = 0; i < 4; i++)
		assert_int_equal(poll_one(&a).wr_id, i);
}

/* Everything has been acknowledged, and still the places are the program's: what is polled gives
 * back its own and those of all before it. */
static void test_places_come_back_as_completions_are_polled(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_SEND}, *bad;
	struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RESET};
	struct ibv_wc wc;

	(void)state;
	connect_both();
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_recv(&b, i, 0, 100), 0);
	for (wr.wr_id = 0; wr.wr_id < 4; wr.wr_id++) {
		wr.send_flags = wr.wr_id == 2 ? IBV_SEND_SIGNALED : 0;
		assert_int_equal(post_send(&a, wr), 0);
	}
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(poll_one(&b).wr_id, i);
	while (toy_pump(&toy))
		continue;
	assert_fails(ENOMEM, post_send(&a, wr) == ENOMEM);
	assert_int_equal(poll_one(&a).wr_id, 2);
	wr.send_flags = IBV_SEND_SIGNALED;
	for (uint64_t i = 0; i < 3; i++)
		assert_int_equal(post_send(&a, wr), 0);
	assert_fails(ENOMEM, post_send(&a, wr) == ENOMEM);
	/* In error each is told, and each has its place until it is polled. */
	attr.qp_state = IBV_QPS_ERR;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	assert_fails(ENOMEM, post_send(&a, wr) == ENOMEM);
	assert_int_equal(poll_one(&a).status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(post_send(&a, wr), 0);
	/* More than one place, for what was not signalled before it. */
	assert_int_equal(post_send(&a, wr), 0);
	assert_fails(ENOMEM, ibv_post_send(a.qp, &wr, &bad) == ENOMEM);
	assert_ptr_equal(bad, &wr);
	attr.qp_state = IBV_QPS_RESET;
	assert_int_equal(ibv_modify_qp(a.qp, &attr, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	to_init(&a);
	to_rts(&a, &b);
	for (uint64_t i = 0; i < 4; i++)
		assert_int_equal(post_send(&a, wr), 0);
	assert_fails(ENOMEM, post_send(&a, wr) == ENOMEM);
}

static void test_a_list_in_a_circle_fills_the_queue(void **state)
{
	struct ibv_sge sge = {(uintptr_t)b.bytes, 8, b.mr->lkey};
	struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1, .next = &recv}, *bad_recv = NULL;
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .next = &send}, *bad = NULL;

	(void)state;
	connect_both();
	assert_int_equal(ibv_post_recv(b.qp, &recv, &bad_recv), ENOMEM);
	assert_ptr_equal(bad_recv, &recv);
	assert_int_equal(ibv_post_send(a.qp, &send, &bad), ENOMEM);
	assert_ptr_equal(bad, &send);
}

static void test_a_send_arrives_with_all_its_fields(void **state)
{
	struct ibv_wc wc;

	(void)state;
	connect_both();
	memset(a.bytes, 0x5a, 100);
	assert_int_equal(post_recv(&b, 77, 200, 1000), 0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.wr_id = 88,
							    .opcode = IBV_WR_SEND_WITH_IMM,
							    .imm_data = htonl(0x01020304),
							    .send_flags = IBV_SEND_SIGNALED}),
			 0);
	wc = poll_one(&a);
	assert_int_equal(wc.wr_id, 88);
	assert_int_equal(wc.status, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_SEND);
	assert_int_equal(wc.qp_num, a.qp->qp_num);
	wc = poll_one(&b);
	assert_int_equal(wc.wr_id, 77);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 100);
	assert_int_equal(ntohl(wc.imm_data), 0x01020304);
	assert_true(wc.wc_flags & IBV_WC_WITH_IMM);
	assert_int_equal(wc.qp_num, b.qp->qp_num);
	assert_memory_equal(b.bytes + 200, a.bytes, 100);
	assert_int_equal(b.bytes[300], 0);
}

static void test_a_write_reaches_the_address_of_its_region(void **state)
{
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};
	struct ibv_mr *far;

	(void)state;
	connect_both();
	far = ibv_reg_mr_iova(b.pd, b.bytes + 1000, 200, 0x7000000000, RIGHTS);
	memset(a.bytes, 0x33, 100);
	wr.wr.rdma.remote_addr = 0x7000000000 + 50;
	wr.wr.rdma.rkey = far->rkey;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
	assert_memory_equal(b.bytes + 1050, a.bytes, 100);
	assert_int_equal(b.bytes[1049], 0);
	assert_int_equal(ibv_dereg_mr(far), 0);
}

static void test_atomics_take_their_own_fields(void **state)
{
	struct ibv_sge sge = {(uintptr_t)a.bytes, 8, a.mr->lkey};
	struct ibv_send_wr wr = {.opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				 .sg_list = &sge,
				 .num_sge = 1,
				 .send_flags = IBV_SEND_SIGNALED};
	struct ibv_qp_attr attr = {.qp_access_flags = IBV_ACCESS_REMOTE_ATOMIC};
	uint64_t words[2] = {5, 6}, old;
	struct ibv_mr *mr;

	(void)state;
	connect_both();
	assert_int_equal(ibv_modify_qp(b.qp, &attr, IBV_QP_ACCESS_FLAGS), 0);
	mr = ibv_reg_mr(b.pd, words, sizeof(words),
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
	assert_non_null(mr);
	wr.wr.atomic.remote_addr = (uintptr_t)&words[1];
	wr.wr.atomic.rkey = mr->rkey;
	wr.wr.atomic.compare_add = 6;
	wr.wr.atomic.swap = 0x1122334455667788;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).opcode, IBV_WC_COMP_SWAP);
	memcpy(&old, a.bytes, sizeof(old));
	assert_int_equal(old, 6);
	assert_true(words[1] == 0x1122334455667788);
	assert_int_equal(words[0], 5);
	assert_int_equal(ibv_dereg_mr(mr), 0);
}

static void test_many_completions_come_at_once(void **state)
{
	struct ibv_wc wc[40];
	struct ibv_qp_init_attr init = qp_init(&a);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_cq *cq = ibv_create_cq(a.context, 64, NULL, NULL, 0);
	struct ibv_qp *qp, *own = a.qp;

	(void)state;
	init.recv_cq = cq;
	init.cap.max_recv_wr = 40;
	qp = ibv_create_qp(a.pd, &init);
	a.qp = qp;
	to_init(&a);
	for (uint64_t i = 0; i < 40; i++)
		assert_int_equal(post_recv(&a, i, 0, 8), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	assert_int_equal(ibv_poll_cq(cq, 37, wc), 37);
	assert_int_equal(ibv_poll_cq(cq, 37, wc + 37), 3);
	for (uint64_t i = 0; i < 40; i++) {
		assert_int_equal(wc[i].wr_id, i);
		assert_int_equal(wc[i].status, IBV_WC_WR_FLUSH_ERR);
		assert_int_equal(wc[i].qp_num, qp->qp_num);
	}
	a.qp = own;
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* Events */

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

static void no_event(struct end *end)
{
	struct ibv_cq *cq;
	void *context;

	while (toy_pump(&toy))
		;
	assert_fails(EAGAIN, ibv_get_cq_event(end->channel, &cq, &context) == -1);
}

static void one_event(struct end *end)
{
	struct ibv_cq *cq = NULL;
	void *context = NULL;

	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_get_cq_event(end->channel, &cq, &context), 0);
	assert_ptr_equal(cq, end->cq);
	assert_ptr_equal(context, end);
}

static void send_one(unsigned int flags)
{
	assert_int_equal(post_recv(&b, 1, 0, 100), 0);
	assert_int_equal(
		post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND, .send_flags = flags}), 0);
}

static void test_an_armed_cq_tells_once(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	send_one(0);
	no_event(&b); /* not armed */
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	no_event(&b); /* what is there already does not count */
	send_one(0);
	one_event(&b);
	send_one(0);
	no_event(&b); /* once */
	ibv_ack_cq_events(b.cq, 1);
}

static void test_a_cq_armed_for_solicited_ones(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(b.cq, 1), 0);
	send_one(0);
	no_event(&b);
	send_one(IBV_SEND_SOLICITED);
	one_event(&b);
	ibv_ack_cq_events(b.cq, 1);
}

static void test_events_wait_unread_and_in_order(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(b.context, 4, NULL, b.channel, 0), *got;
	struct ibv_qp_init_attr init = qp_init(&b);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *qp, *own = b.qp;
	void *context;

	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	init.recv_cq = cq;
	qp = ibv_create_qp(b.pd, &init);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	b.qp = qp;
	to_init(&b);
	assert_int_equal(post_recv(&b, 1, 0, 8), 0);
	b.qp = own;
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	one_event(&b);
	assert_int_equal(ibv_get_cq_event(b.channel, &got, &context), 0);
	assert_ptr_equal(got, cq);
	one_event(&b);
	no_event(&b);
	ibv_ack_cq_events(b.cq, 2);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

static void test_a_destroyed_cq_takes_its_unread_events_along(void **state)
{
	(void)state;
	connect_both();
	set_nonblocking(b.channel->fd);
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	while (toy_pump(&toy))
		;
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(b.cq), 0);
	b.cq = NULL;
	no_event(&b);
}

static bool acked;

static uint64_t waits(void)
{
	uint64_t calls;

	pthread_mutex_lock(&toy.lock);
	calls = toy.calls[VRB_CALL_CHANNEL];
	pthread_mutex_unlock(&toy.lock);
	return calls;
}

/* Once somebody has been seen to wait. */
static void *ack_later(void *arg)
{
	const uint64_t first = waits();

	while (waits() < first + 20)
		sched_yield();
	__atomic_store_n(&acked, true, __ATOMIC_RELEASE);
	ibv_ack_cq_events(arg, 1);
	return NULL;
}

static void test_destroy_cq_waits_for_acknowledgements(void **state)
{
	pthread_t thread;

	(void)state;
	acked = false;
	connect_both();
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_one(0);
	one_event(&b);
	assert_int_equal(ibv_destroy_qp(b.qp), 0);
	b.qp = NULL;
	assert_int_equal(pthread_create(&thread, NULL, ack_later, b.cq), 0);
	assert_int_equal(ibv_destroy_cq(b.cq), 0);
	b.cq = NULL;
	assert_true(__atomic_load_n(&acked, __ATOMIC_ACQUIRE));
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void test_a_bad_key_is_an_event_of_the_responder(void **state)
{
	struct ibv_async_event event = {.event_type = IBV_EVENT_CQ_ERR};
	struct ibv_send_wr wr = {.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED};

	(void)state;
	connect_both();
	set_nonblocking(b.context->async_fd);
	assert_fails(EAGAIN, ibv_get_async_event(b.context, &event) == -1);
	wr.wr.rdma.remote_addr = (uintptr_t)b.bytes;
	wr.wr.rdma.rkey = b.mr->rkey ^ 0x100;
	assert_int_equal(post_send(&a, wr), 0);
	assert_int_equal(poll_one(&a).status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(ibv_get_async_event(b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	assert_ptr_equal(event.element.qp, b.qp);
	ibv_ack_async_event(&event);
	assert_fails(EAGAIN, ibv_get_async_event(b.context, &event) == -1);
}

static void test_events_of_the_port_reach_every_context(void **state)
{
	struct ibv_context *second = ibv_open_device(a.context->device);
	struct ibv_async_event event;

	(void)state;
	vrb_on_async(&toy.hosts[0].world, NULL, IBV_EVENT_PORT_ERR);
	vrb_on_async(&toy.hosts[0].world, NULL, IBV_EVENT_PORT_ACTIVE);
	for (int i = 0; i < 2; i++) {
		struct ibv_context *context = i == 0 ? a.context : second;

		set_nonblocking(context->async_fd);
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		assert_int_equal(event.element.port_num, 1);
		ibv_ack_async_event(&event);
		assert_int_equal(ibv_get_async_event(context, &event), 0);
		assert_fails(EAGAIN, ibv_get_async_event(context, &event) == -1);
	}
	assert_int_equal(ibv_close_device(second), 0);
}

/* A queue pair in INIT with receives posted. */
static struct ibv_qp *receiver(struct ibv_cq *send_cq, struct ibv_cq *recv_cq, uint32_t receives)
{
	struct ibv_qp_init_attr init = qp_init(&a);
	struct ibv_qp *own = a.qp, *qp;

	init.send_cq = send_cq;
	init.recv_cq = recv_cq;
	a.qp = qp = ibv_create_qp(a.pd, &init);
	assert_non_null(qp);
	to_init(&a);
	for (uint32_t i = 0; i < receives; i++)
		assert_int_equal(post_recv(&a, i, 0, 8), 0);
	a.qp = own;
	return qp;
}

static struct ibv_qp *flush_into(struct ibv_cq *cq, uint32_t receives)
{
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *qp = receiver(a.cq, cq, receives);

	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	return qp;
}

static void test_an_overrun_cq_is_an_event_of_its_own(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(a.context, 2, NULL, NULL, 0);
	struct ibv_qp *qp = flush_into(cq, 3);
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(ibv_get_async_event(a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	assert_ptr_equal(event.element.cq, cq);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* What the first CQ's loss flushes overruns the second, whose users have numbers on both sides of
 * the one that uses both. */
static void test_a_flush_that_overruns_another_cq(void **state)
{
	enum { USERS = 8, BOTH = 5, FLUSHED = USERS, COUNT };
	struct ibv_cq *first = ibv_create_cq(a.context, 1, NULL, NULL, 0);
	struct ibv_cq *second = ibv_create_cq(a.context, 1, NULL, NULL, 0);
	uint32_t below = 0, fatal = 0, lost = 0;
	struct ibv_async_event event;
	struct ibv_qp *qp[COUNT];
	struct ibv_wc wc;

	(void)state;
	for (int i = 0; i < USERS; i++)
		qp[i] = i == BOTH ? receiver(first, second, 2) : receiver(a.cq, second, 0);
	for (int i = 0; i < USERS; i++)
		below += qp[i]->qp_num < qp[BOTH]->qp_num;
	assert_in_range(below, 1, USERS - 2);
	qp[FLUSHED] = flush_into(first, 2);
	assert_int_equal(ibv_poll_cq(a.cq, 1, &wc), 0);
	for (int i = 0; i < COUNT; i++) {
		struct ibv_qp_init_attr init;
		struct ibv_qp_attr attr;

		assert_int_equal(ibv_query_qp(qp[i], &attr, IBV_QP_STATE, &init), 0);
		assert_int_equal(attr.qp_state, IBV_QPS_ERR);
	}
	set_nonblocking(a.context->async_fd);
	while (ibv_get_async_event(a.context, &event) == 0) {
		lost += event.event_type == IBV_EVENT_CQ_ERR;
		fatal += event.event_type == IBV_EVENT_QP_FATAL;
		ibv_ack_async_event(&event);
	}
	assert_int_equal(lost, 2);
	assert_int_equal(fatal, USERS);
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
	assert_int_equal(ibv_destroy_cq(first), 0);
	assert_int_equal(ibv_destroy_cq(second), 0);
}

/* A CQ in use is refused at once, whatever else its destruction would wait for. */
static void test_a_used_cq_is_refused_before_its_events_are_acknowledged(void **state)
{
	struct ibv_cq *cq;
	void *context;

	(void)state;
	connect_both();
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	assert_int_equal(post_recv(&b, 1, 0, 100), 0);
	assert_int_equal(post_send(&a, (struct ibv_send_wr){.opcode = IBV_WR_SEND}), 0);
	assert_int_equal(ibv_get_cq_event(b.channel, &cq, &context), 0);
	assert_fails(EBUSY, ibv_destroy_cq(b.cq) == EBUSY);
	ibv_ack_cq_events(b.cq, 1);
}

/* The list ends with its page, and says that it goes on. */
static void test_a_list_is_not_read_before_its_length_is_known(void **state)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint8_t *pages =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_sge *last = (void *)(pages + page - sizeof(*last));
	struct ibv_send_wr send = {.opcode = IBV_WR_SEND, .sg_list = last, .num_sge = 1 << 28},
			   *bad_send;
	struct ibv_recv_wr recv = {.sg_list = last, .num_sge = 1 << 28}, *bad_recv;

	(void)state;
	assert_true(pages != MAP_FAILED);
	*last = (struct ibv_sge){(uintptr_t)a.bytes, 1, a.mr->lkey};
	assert_int_equal(munmap(pages + page, page), 0);
	connect_both();
	assert_fails(EINVAL, ibv_post_send(a.qp, &send, &bad_send) == EINVAL);
	send.send_flags = IBV_SEND_INLINE;
	assert_fails(EINVAL, ibv_post_send(a.qp, &send, &bad_send) == EINVAL);
	assert_fails(EINVAL, ibv_post_recv(a.qp, &recv, &bad_recv) == EINVAL);
	assert_int_equal(munmap(pages, page), 0);
}

RUN(T(test_posts_that_are_refused), T(test_a_full_queue_refuses_and_says_which),
    T(test_places_come_back_as_completions_are_polled), T(test_a_list_in_a_circle_fills_the_queue),
    T(test_a_send_arrives_with_all_its_fields), T(test_a_write_reaches_the_address_of_its_region),
    T(test_atomics_take_their_own_fields), T(test_many_completions_come_at_once),
    T(test_an_armed_cq_tells_once), T(test_a_cq_armed_for_solicited_ones),
    T(test_events_wait_unread_and_in_order), T(test_a_destroyed_cq_takes_its_unread_events_along),
    T(test_destroy_cq_waits_for_acknowledgements), T(test_a_bad_key_is_an_event_of_the_responder),
    T(test_events_of_the_port_reach_every_context), T(test_an_overrun_cq_is_an_event_of_its_own),
    T(test_a_flush_that_overruns_another_cq),
    T(test_a_used_cq_is_refused_before_its_events_are_acknowledged),
    T(test_a_list_is_not_read_before_its_length_is_known))
