/* SPDX-License-Identifier: BSD-2-Clause */

/* Extended completion queues and queue pairs. */
#include "tests/unit/verbs_test.h"

#include <pthread.h>

enum {
	ALL_READS = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
		    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK | IBV_WC_EX_WITH_FLOW_TAG
};

static struct ibv_cq_ex *create_cq_ex(struct ibv_cq_init_attr_ex attr)
{
	return ibv_create_cq_ex(a.context, &attr);
}

/* The queue pair of @end, and its completion queue, which is an extended one from now on. */
static struct ibv_cq_ex *extend(struct end *end, struct ibv_cq_init_attr_ex attr)
{
	struct ibv_qp_init_attr init;
	struct ibv_cq_ex *cq;

	assert_int_equal(ibv_destroy_qp(end->qp), 0);
	assert_int_equal(ibv_destroy_cq(end->cq), 0);
	attr.cqe = attr.cqe ? attr.cqe : 16;
	attr.cq_context = end;
	attr.channel = end->channel;
	cq = ibv_create_cq_ex(end->context, &attr);
	assert_non_null(cq);
	end->cq = ibv_cq_ex_to_cq(cq);
	init = qp_init(end);
	end->qp = ibv_create_qp(end->pd, &init);
	assert_non_null(end->qp);
	return cq;
}

static void start(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = {0};
	int ret = ENOENT;

	for (int i = 0; i < 100 && ret == ENOENT; i++)
		ret = ibv_start_poll(cq, &attr);
	assert_int_equal(ret, 0);
}

static void send_some(uint64_t count)
{
	for (uint64_t i = 0; i < count; i++) {
		assert_int_equal(post_recv(&b, 40 + i, 0, 200), 0);
		assert_int_equal(post_send(&a, (struct ibv_send_wr){.wr_id = i,
								    .opcode = IBV_WR_SEND_WITH_IMM,
								    .send_flags = IBV_SEND_SIGNALED,
								    .imm_data = htonl(70)}),
				 0);
	}
	for (uint64_t i = 0; i < count; i++)
		assert_int_equal(poll_one(&a).status, IBV_WC_SUCCESS);
}

static void test_queues_that_there_are_not(void **state)
{
	const struct {
		struct ibv_cq_init_attr_ex attr;
		int error;
	} refused[] = {
		{{.cqe = 0}, EINVAL},
		{{.cqe = 1025}, EINVAL}, /* the toy's adapters take 1024 */
		{{.cqe = 4, .comp_vector = 1}, EINVAL},
		{{.cqe = 4, .comp_mask = 1 << 2}, EINVAL},
		{{.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1 << 2}, EINVAL},
		{{.cqe = 4, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD}, EINVAL},
		{{.cqe = 4,
		  .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		  .parent_domain = a.pd}, /* no parent domain */
		 EINVAL},
		{{.cqe = 4, .wc_flags = IBV_WC_EX_WITH_CVLAN}, EOPNOTSUPP},
		{{.cqe = 4, .wc_flags = IBV_WC_EX_WITH_TM_INFO}, EOPNOTSUPP},
		{{.cqe = 4, .wc_flags = 1 << 12}, EOPNOTSUPP},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
		assert_fails(refused[i].error, !create_cq_ex(refused[i].attr));
}

static void test_what_is_not_asked_for_is_not_read(void **state)
{
	struct ibv_cq_ex *cq = create_cq_ex(
		(struct ibv_cq_init_attr_ex){.cqe = 4, .wc_flags = IBV_WC_EX_WITH_IMM});
	struct ibv_poll_cq_attr bad = {.comp_mask = 1}, good = {0};

	(void)state;
	assert_non_null(cq);
	assert_true(cq->cqe >= 4);
	assert_non_null(cq->read_imm_data);
	assert_non_null(cq->read_opcode);
	assert_null(cq->read_byte_len);
	assert_null(cq->read_completion_ts);
	assert_null(cq->read_completion_wallclock_ns);
	assert_null(cq->read_cvlan);
	assert_null(cq->read_tm_info);
	assert_int_equal(ibv_start_poll(cq, &bad), EINVAL);
	assert_int_equal(ibv_start_poll(cq, &good), ENOENT);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}

static void test_every_part_of_a_completion(void **state)
{
	struct ibv_cq_ex *cq = extend(&b, (struct ibv_cq_init_attr_ex){.wc_flags = ALL_READS});
	uint64_t before = toy.now / PS_NS, ts;

	(void)state;
	connect_both();
	send_some(1);
	start(cq);
	assert_int_equal(cq->wr_id, 40);
	assert_int_equal(cq->status, IBV_WC_SUCCESS);
	assert_int_equal(ibv_wc_read_opcode(cq), IBV_WC_RECV);
	assert_int_equal(ibv_wc_read_byte_len(cq), 100);
	assert_int_equal(ibv_wc_read_imm_data(cq), htonl(70));
	assert_int_equal(ibv_wc_read_qp_num(cq), b.qp->qp_num);
	assert_int_equal(ibv_wc_read_wc_flags(cq), IBV_WC_WITH_IMM);
	assert_int_equal(ibv_wc_read_vendor_err(cq), 0);
	assert_int_equal(ibv_wc_read_src_qp(cq), a.qp->qp_num);
	assert_int_equal(ibv_wc_read_slid(cq), 0);
	assert_int_equal(ibv_wc_read_sl(cq), 0);
	assert_int_equal(ibv_wc_read_dlid_path_bits(cq), 0);
	assert_int_equal(ibv_wc_read_flow_tag(cq), 0);
	ts = ibv_wc_read_completion_ts(cq);
	assert_in_range(ts, before + TOY_RAW_NS + 1, toy.now / PS_NS + TOY_RAW_NS);
	assert_int_equal(ibv_wc_read_completion_wallclock_ns(cq) - ts, TOY_WALL_NS - TOY_RAW_NS);
	assert_int_equal(ibv_next_poll(cq), ENOENT);
	ibv_end_poll(cq);
}

static void test_one_queue_polled_both_ways(void **state)
{
	struct ibv_cq_ex *cq = extend(&b, (struct ibv_cq_init_attr_ex){.wc_flags = ALL_READS});
	uint64_t first;

	(void)state;
	connect_both();
	send_some(4);
	start(cq);
	assert_int_equal(cq->wr_id, 40);
	first = ibv_wc_read_completion_ts(cq);
	assert_int_equal(ibv_next_poll(cq), 0);
	assert_int_equal(cq->wr_id, 41);
	assert_true(ibv_wc_read_completion_ts(cq) > first);
	ibv_end_poll(cq);
	assert_int_equal(poll_one(&b).wr_id, 42);
	start(cq);
	assert_int_equal(cq->wr_id, 43);
	ibv_end_poll(cq);
}

static uint64_t second; /* that another thread has polled */

static void *poll_other(void *cq)
{
	start(cq);
	__atomic_store_n(&second, ((struct ibv_cq_ex *)cq)->wr_id, __ATOMIC_SEQ_CST);
	ibv_end_poll(cq);
	return NULL;
}

/* Who begins while another thread polls waits for its end, and has not changed what that sees. */
static void test_threads_poll_by_turns(void **state)
{
	struct ibv_cq_ex *cq = extend(&b, (struct ibv_cq_init_attr_ex){.wc_flags = ALL_READS});
	pthread_t other;

	(void)state;
	connect_both();
	send_some(2);
	second = 0;
	start(cq);
	assert_int_equal(pthread_create(&other, NULL, poll_other, cq), 0);
	for (int i = 0; i < 1000; i++) {
		sched_yield();
		assert_int_equal(cq->wr_id, 40);
	}
	assert_int_equal(__atomic_load_n(&second, __ATOMIC_SEQ_CST), 0);
	ibv_end_poll(cq);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(second, 41);
}

static void test_the_clock_that_stamps(void **state)
{
	struct ibv_values_ex values = {.comp_mask = IBV_VALUES_MASK_RAW_CLOCK};
	struct ibv_device_attr_ex attr;

	(void)state;
	assert_int_equal(ibv_query_rt_values_ex(a.context, &values), 0);
	assert_int_equal(values.comp_mask, IBV_VALUES_MASK_RAW_CLOCK);
	assert_int_equal(values.raw_clock.tv_sec, 0);
	assert_int_equal(values.raw_clock.tv_nsec, toy.now / PS_NS + TOY_RAW_NS);
	values.comp_mask = 0;
	assert_int_equal(ibv_query_rt_values_ex(a.context, &values), 0);
	assert_int_equal(values.comp_mask, 0);
	values.comp_mask = 1 << 1;
	assert_int_equal(ibv_query_rt_values_ex(a.context, &values), EINVAL);
	assert_int_equal(ibv_query_device_ex(a.context, NULL, &attr), 0);
	assert_int_equal(attr.hca_core_clock, 1000000); /* kHz: a cycle is 1 ns */
	assert_true(attr.completion_timestamp_mask == UINT64_MAX);
}

static bool has_event(void)
{
	struct ibv_cq *cq;
	void *context;

	errno = 0;
	if (ibv_get_cq_event(b.channel, &cq, &context) != 0) {
		assert_int_equal(errno, EAGAIN);
		return false;
	}
	assert_ptr_equal(cq, b.cq);
	ibv_ack_cq_events(cq, 1);
	return true;
}

static void test_events_of_a_moderated_queue(void **state)
{
	struct ibv_modify_cq_attr attr = {.attr_mask = IBV_CQ_ATTR_MODERATE,
					  .moderate = {.cq_count = 3, .cq_period = 60000}};

	(void)state;
	assert_int_equal(fcntl(b.channel->fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(ibv_modify_cq(b.cq, &attr), 0);
	connect_both();
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_some(2);
	assert_false(has_event());
	send_some(1);
	assert_true(has_event());
	/* And at its time. */
	assert_int_equal(ibv_req_notify_cq(b.cq, 0), 0);
	send_some(1);
	assert_false(has_event());
	while (toy_skip(&toy))
		;
	assert_true(has_event());
	attr.attr_mask = 0;
	assert_int_equal(ibv_modify_cq(b.cq, &attr), 0);
	attr.attr_mask = 1 << 1;
	assert_int_equal(ibv_modify_cq(b.cq, &attr), EINVAL);
}

static void test_a_queue_is_resized(void **state)
{
	(void)state;
	connect_both();
	send_some(4);
	assert_int_equal(ibv_resize_cq(b.cq, 3), EINVAL);
	assert_int_equal(ibv_resize_cq(b.cq, 0), EINVAL);
	assert_int_equal(ibv_resize_cq(b.cq, -1), EINVAL);
	assert_int_equal(ibv_resize_cq(b.cq, 1025), EINVAL);
	assert_int_equal(b.cq->cqe, 16);
	assert_int_equal(ibv_resize_cq(b.cq, 4), 0);
	assert_int_equal(b.cq->cqe, 4);
	for (uint64_t i = 40; i < 44; i++)
		assert_int_equal(poll_one(&b).wr_id, i);
}

static void test_an_overrun_may_be_ignored(void **state)
{
	struct ibv_cq_init_attr_ex attr = {.cqe = 2,
					   .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS,
					   .flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN |
						    IBV_CREATE_CQ_ATTR_SINGLE_THREADED};
	struct ibv_async_event event;

	(void)state;
	assert_int_equal(fcntl(b.context->async_fd, F_SETFL, O_NONBLOCK), 0);
	extend(&b, attr);
	connect_both();
	send_some(3);
	assert_int_equal(poll_one(&b).wr_id, 41);
	assert_int_equal(poll_one(&b).wr_id, 42);
	assert_fails(EAGAIN, ibv_get_async_event(b.context, &event) == -1);
	/* Flags without their bit in the mask are none. */
	attr.comp_mask = 0;
	attr.flags = 1 << 2;
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(create_cq_ex(attr))), 0);
}

RUN(T(test_queues_that_there_are_not), T(test_what_is_not_asked_for_is_not_read),
    T(test_every_part_of_a_completion), T(test_one_queue_polled_both_ways),
    T(test_threads_poll_by_turns), T(test_the_clock_that_stamps),
    T(test_events_of_a_moderated_queue), T(test_a_queue_is_resized),
    T(test_an_overrun_may_be_ignored))
