/* SPDX-License-Identifier: BSD-2-Clause */

/* The ring of events: full, late, and of objects that are gone; the front's end of it, and the
 * adapter's. */
#include "tests/unit/verbs_test.h"

#include "transport/verbs/bytes.h"
#include "transport/verbs/internal.h"
#include "transport/verbs/local.h"

enum { MANY = 50 };
_Static_assert((int)MANY > (int)VRB_RING_EVENTS, "more than the ring holds");

static void set_nonblocking(int fd)
{
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
}

/* A queue pair whose two receives are flushed into a queue for one: it fires, then overruns. */
static struct ibv_qp *overrun(struct ibv_cq *cq)
{
	struct ibv_qp_init_attr init = qp_init(&a);
	struct ibv_qp_attr err = {.qp_state = IBV_QPS_ERR};
	struct ibv_qp *own = a.qp, *qp;

	init.recv_cq = cq;
	a.qp = qp = ibv_create_qp(a.pd, &init);
	assert_non_null(qp);
	to_init(&a);
	for (uint64_t i = 0; i < 2; i++)
		assert_int_equal(post_recv(&a, i, 0, 8), 0);
	assert_int_equal(ibv_req_notify_cq(cq, 0), 0);
	assert_int_equal(ibv_modify_qp(qp, &err, IBV_QP_STATE), 0);
	a.qp = own;
	return qp;
}

static void test_a_full_ring_loses_nothing(void **state)
{
	struct ibv_async_event event;
	struct ibv_qp *qp[MANY];
	struct ibv_cq *cq[MANY], *got;
	void *context;

	(void)state;
	set_nonblocking(a.channel->fd);
	set_nonblocking(a.context->async_fd);
	for (int i = 0; i < MANY; i++) {
		cq[i] = ibv_create_cq(a.context, 1, &cq[i], a.channel, 0);
		qp[i] = overrun(cq[i]);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(ibv_get_cq_event(a.channel, &got, &context), 0);
		assert_ptr_equal(got, cq[i]);
		assert_ptr_equal(context, &cq[i]);
		ibv_ack_cq_events(got, 1);
		assert_int_equal(ibv_get_async_event(a.context, &event), 0);
		assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
		assert_ptr_equal(event.element.cq, cq[i]);
		ibv_ack_async_event(&event);
	}
	assert_fails(EAGAIN, ibv_get_cq_event(a.channel, &got, &context) == -1);
	assert_fails(EAGAIN, ibv_get_async_event(a.context, &event) == -1);
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(ibv_destroy_qp(qp[i]), 0);
		assert_int_equal(ibv_destroy_cq(cq[i]), 0);
	}
}

/* An adapter in another process may be slower than the front: its event comes when the queue is
 * gone and another one has its place. */
static void test_an_event_of_a_dead_object_is_nobodys(void **state)
{
	struct vrb_ring *ring = vrb_device(a.context)->ring;
	struct ibv_cq *cq = ibv_create_cq(a.context, 1, NULL, a.channel, 0), *got;
	const uint64_t dead = VRB_TO(vrb_cq, ibv, cq)->handle;
	struct vrb_event event = {.object = dead, .kind = VRB_EVENT_COMPLETION, .value = 1};
	struct ibv_async_event async;
	uint64_t next;
	void *context;

	(void)state;
	set_nonblocking(a.channel->fd);
	set_nonblocking(a.context->async_fd);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	cq = ibv_create_cq(a.context, 1, NULL, a.channel, 0);
	next = VRB_TO(vrb_cq, ibv, cq)->handle;
	assert_int_equal(next & 0xffffffff, dead & 0xffffffff); /* place and kind */
	assert_true(next != dead);
	assert_true(vrb_ring_put(ring, &event));
	event = (struct vrb_event){dead, VRB_EVENT_ASYNC, IBV_EVENT_CQ_ERR};
	assert_true(vrb_ring_put(ring, &event));
	assert_fails(EAGAIN, ibv_get_cq_event(a.channel, &got, &context) == -1);
	assert_fails(EAGAIN, ibv_get_async_event(a.context, &async) == -1);
	event = (struct vrb_event){next, VRB_EVENT_COMPLETION, 2};
	assert_true(vrb_ring_put(ring, &event));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ibv_get_cq_event(a.channel, &got, &context), 0);
		assert_ptr_equal(got, cq);
	}
	ibv_ack_cq_events(cq, 2);
	assert_int_equal(ibv_destroy_cq(cq), 0);
}

/* The descriptor is a blocking one, and nothing is left in it. */
static void test_a_program_may_read_the_descriptor_itself(void **state)
{
	struct ibv_cq *cq = ibv_create_cq(a.context, 1, NULL, a.channel, 0), *got;
	struct ibv_qp *qp = overrun(cq);
	uint64_t count;
	void *context;

	(void)state;
	alarm(10);
	assert_int_equal(read(a.channel->fd, &count, sizeof(count)), sizeof(count));
	assert_int_equal(ibv_get_cq_event(a.channel, &got, &context), 0);
	assert_ptr_equal(got, cq);
	ibv_ack_cq_events(cq, 1);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_cq(cq), 0);
	alarm(0);
}

/* Destroying a queue pair waits for what was got of it to be acknowledged, whatever it was. */
static void test_every_event_of_a_queue_pair_is_acknowledged(void **state)
{
	static const enum ibv_event_type types[] = {
		IBV_EVENT_QP_FATAL,	IBV_EVENT_QP_REQ_ERR,	      IBV_EVENT_QP_ACCESS_ERR,
		IBV_EVENT_COMM_EST,	IBV_EVENT_SQ_DRAINED,	      IBV_EVENT_PATH_MIG,
		IBV_EVENT_PATH_MIG_ERR, IBV_EVENT_QP_LAST_WQE_REACHED};
	const uint64_t qp = VRB_TO(vrb_qp, ibv, a.qp)->handle;
	struct ibv_async_event async;

	(void)state;
	set_nonblocking(a.context->async_fd);
	alarm(10);
	for (uint32_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		const struct vrb_event event = {qp, VRB_EVENT_ASYNC, types[i]};

		assert_true(vrb_ring_put(vrb_device(a.context)->ring, &event));
		assert_int_equal(ibv_get_async_event(a.context, &async), 0);
		assert_int_equal(async.event_type, types[i]);
		assert_ptr_equal(async.element.qp, a.qp);
		ibv_ack_async_event(&async);
		assert_int_equal(a.qp->events_completed, i + 1);
	}
	assert_int_equal(ibv_destroy_qp(a.qp), 0);
	a.qp = NULL;
	alarm(0);
}

/* What is in the ring is not trusted. */
static void test_events_that_are_none(void **state)
{
	const uint64_t cq = VRB_TO(vrb_cq, ibv, a.cq)->handle,
		       qp = VRB_TO(vrb_qp, ibv, a.qp)->handle;
	const struct vrb_event none[] = {
		{0, VRB_EVENT_ASYNC, 1},
		{UINT64_MAX, VRB_EVENT_ASYNC, 1},
		{cq, 0, 1},
		{cq, 77, 1},
		{cq, VRB_EVENT_ASYNC, 32},
		{cq, VRB_EVENT_COMPLETION, 0},
		{qp, VRB_EVENT_COMPLETION, 1},
		{cq + 100, VRB_EVENT_COMPLETION, 1},
	};
	struct ibv_async_event async;
	struct ibv_cq *got;
	void *context;

	(void)state;
	set_nonblocking(a.channel->fd);
	set_nonblocking(a.context->async_fd);
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_true(vrb_ring_put(vrb_device(a.context)->ring, &none[i]));
	assert_fails(EAGAIN, ibv_get_cq_event(a.channel, &got, &context) == -1);
	assert_fails(EAGAIN, ibv_get_async_event(a.context, &async) == -1);
}

/* The adapter's end, without a front. */

static struct toy bare;
static struct {
	const struct vrb_backend *backend;
	void *self;
	struct vrb_ring *ring;
	uint64_t pd, async, channel;
} d;

static int attach(void **state)
{
	struct vrb_info info;
	int fd;

	(void)state;
	toy_init(&bare, 1);
	d.backend = &vrb_local;
	d.self = vrb_local_create(&bare.hosts[0].world);
	if (toy_through_bytes) {
		d.self = vrb_bytes_create(d.backend, d.self);
		d.backend = &vrb_bytes;
	}
	assert_int_equal(d.backend->attach(d.self, &info, &d.ring), 0);
	assert_string_equal(info.name, "toy0");
	assert_int_equal(d.backend->create_pd(d.self, &d.pd), 0);
	assert_int_equal(d.backend->create_channel(d.self, VRB_CHANNEL_ASYNC, &d.async, &fd), 0);
	assert_int_equal(d.backend->create_channel(d.self, VRB_CHANNEL_COMPLETION, &d.channel, &fd),
			 0);
	return 0;
}

static int detach(void **state)
{
	(void)state;
	d.backend->detach(d.self); /* takes along what is left */
	toy_fini(&bare);
	return 0;
}

static uint64_t new_cq(void)
{
	const struct vrb_cq_init init = {.depth = 1, .channel = d.channel, .async = d.async};
	uint32_t depth;
	uint64_t cq;

	assert_int_equal(d.backend->create_cq(d.self, &init, &cq, &depth), 0);
	return cq;
}

/* @cq fires once, and overruns. */
static void fire(uint64_t cq)
{
	const struct vrb_qp_init init = {.type = HCA_QPT_RC,
					 .pd = d.pd,
					 .send_cq = cq,
					 .recv_cq = cq,
					 .async = d.async,
					 .cap = {1, 2, 1, 1, 0}};
	const struct hca_qp_attr to_init_state = {.state = HCA_QPS_INIT, .port = 1};
	const struct hca_qp_attr to_err = {.state = HCA_QPS_ERR};
	const struct hca_recv_wr wr[2] = {{.wr_id = 1}, {.wr_id = 2}};
	const struct vrb_av av = {0};
	uint32_t qpn, done;
	uint64_t qp;

	assert_int_equal(d.backend->create_qp(d.self, &init, &qp, &qpn), 0);
	assert_int_equal(d.backend->modify_qp(d.self, qp, &to_init_state, INIT_MASK, &av, 0), 0);
	assert_int_equal(d.backend->post_recv(d.self, qp, 2, wr, 2, &done), 0);
	assert_int_equal(done, 2);
	assert_int_equal(d.backend->arm_cq(d.self, cq, false), 0);
	assert_int_equal(d.backend->modify_qp(d.self, qp, &to_err, HCA_QP_STATE, &av, 0), 0);
	assert_int_equal(d.backend->destroy_qp(d.self, qp), 0);
}

static void expect(uint64_t cq, enum vrb_event_kind kind, uint32_t value)
{
	struct vrb_event event;

	assert_true(vrb_ring_take(d.ring, &event));
	assert_true(event.object == cq);
	assert_int_equal(event.kind, kind);
	assert_int_equal(event.value, value);
}

static void expect_nothing(void)
{
	struct vrb_event event;

	assert_false(vrb_ring_take(d.ring, &event));
}

static void test_late_events_come_with_room_and_in_order(void **state)
{
	uint64_t cq[VRB_RING_EVENTS];

	(void)state;
	for (int i = 0; i < VRB_RING_EVENTS; i++) {
		cq[i] = new_cq();
		assert_true(vrb_ring_has_more(d.ring) == (i > VRB_RING_EVENTS / 2));
		fire(cq[i]);
	}
	for (int i = 0; i < VRB_RING_EVENTS; i++) {
		if (i == VRB_RING_EVENTS / 2) {
			expect_nothing();
			assert_true(vrb_ring_has_more(d.ring));
			d.backend->refill(d.self);
			assert_false(vrb_ring_has_more(d.ring));
		}
		expect(cq[i], VRB_EVENT_COMPLETION, 1);
		expect(cq[i], VRB_EVENT_ASYNC, IBV_EVENT_CQ_ERR);
	}
	expect_nothing();
}

/* What happens while something is late waits behind it, even when there is room by then. */
static void test_nothing_overtakes_what_is_late(void **state)
{
	uint64_t cq = 0;

	(void)state;
	for (int i = 0; i < VRB_RING_EVENTS / 2; i++)
		fire(new_cq());
	cq = new_cq();
	vrb_on_cq_event(vrb_table_find(&bare.hosts[0].world.local->table, cq, VRB_CQ));
	for (int i = 0; i < VRB_RING_EVENTS / 2; i++) {
		struct vrb_event event;

		assert_true(vrb_ring_take(d.ring, &event));
		assert_true(vrb_ring_take(d.ring, &event));
	}
	fire(cq);
	expect_nothing();
	d.backend->refill(d.self);
	expect(cq, VRB_EVENT_COMPLETION, 2);
	expect(cq, VRB_EVENT_ASYNC, IBV_EVENT_CQ_ERR);
	expect_nothing();
}

/* One object, two kinds of news, and no room for either. */
static void test_all_that_is_late_of_an_object_comes(void **state)
{
	(void)state;
	for (int i = 0; i < VRB_RING_EVENTS / 2; i++)
		fire(new_cq());
	vrb_on_async(&bare.hosts[0].world, NULL, IBV_EVENT_PORT_ACTIVE);
	vrb_on_async(&bare.hosts[0].world, NULL, IBV_EVENT_PORT_ERR);
	for (int i = 0; i < VRB_RING_EVENTS; i++) {
		struct vrb_event event;

		assert_true(vrb_ring_take(d.ring, &event));
		assert_true(event.object != d.async);
	}
	d.backend->refill(d.self);
	expect(d.async, VRB_EVENT_ASYNC, IBV_EVENT_PORT_ACTIVE);
	expect(d.async, VRB_EVENT_ASYNC, IBV_EVENT_PORT_ERR);
	expect_nothing();
	assert_false(vrb_ring_has_more(d.ring));
}

static void test_a_dead_object_has_nothing_late(void **state)
{
	uint64_t dead, next;

	(void)state;
	for (int i = 0; i < VRB_RING_EVENTS / 2; i++)
		fire(new_cq());
	dead = new_cq();
	fire(dead);
	assert_int_equal(d.backend->destroy_cq(d.self, dead), 0);
	for (int i = 0; i < VRB_RING_EVENTS; i++) {
		struct vrb_event event;

		assert_true(vrb_ring_take(d.ring, &event));
		assert_true(event.object != dead);
	}
	d.backend->refill(d.self);
	expect_nothing();
	assert_false(vrb_ring_has_more(d.ring));
	next = new_cq();
	assert_int_equal(next & 0xffffffff, dead & 0xffffffff);
	assert_true(next != dead);
	d.backend->refill(d.self);
	expect_nothing();
}

static void test_handles_that_are_none(void **state)
{
	const struct vrb_cq_init init = {.depth = 1, .channel = d.pd, .async = d.async};
	const struct vrb_cq_init deaf = {.depth = 1, .async = 0};
	const uint64_t dead = new_cq(), wrong[] = {0, d.pd, d.async, dead, UINT64_MAX};
	uint64_t cq;
	uint32_t depth, seen = 0;

	(void)state;
	assert_int_equal(d.backend->destroy_cq(d.self, dead), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct hca_qp_attr attr;
		struct hca_qp_cap cap;
		struct ibv_wc wc;

		assert_int_equal(d.backend->destroy_cq(d.self, wrong[i]), -EINVAL);
		assert_int_equal(d.backend->poll_cq(d.self, wrong[i], 1, &wc), -EINVAL);
		assert_int_equal(d.backend->arm_cq(d.self, wrong[i], false), -EINVAL);
		assert_int_equal(d.backend->destroy_qp(d.self, wrong[i]), -EINVAL);
		assert_int_equal(d.backend->query_qp(d.self, wrong[i], &attr, &cap), -EINVAL);
		assert_int_equal(d.backend->destroy_mr(d.self, wrong[i]), -EINVAL);
	}
	assert_int_equal(d.backend->wait_channel(d.self, d.pd, &seen), -EINVAL);
	assert_int_equal(d.backend->destroy_pd(d.self, d.channel), -EINVAL);
	assert_int_equal(d.backend->create_cq(d.self, &init, &cq, &depth), -EINVAL);
	assert_int_equal(d.backend->create_cq(d.self, &deaf, &cq, &depth), -EINVAL);
}

static void test_a_channel_is_busy_as_long_as_it_is_used(void **state)
{
	const uint64_t cq = new_cq();

	(void)state;
	assert_int_equal(d.backend->destroy_channel(d.self, d.channel), -EBUSY);
	assert_int_equal(d.backend->destroy_channel(d.self, d.async), -EBUSY);
	assert_int_equal(d.backend->destroy_cq(d.self, cq), 0);
	assert_int_equal(d.backend->destroy_channel(d.self, d.channel), 0);
	assert_int_equal(d.backend->destroy_channel(d.self, d.async), 0);
}

#define BARE(name) cmocka_unit_test_setup_teardown(name, attach, detach)

RUN(T(test_a_full_ring_loses_nothing), T(test_an_event_of_a_dead_object_is_nobodys),
    T(test_a_program_may_read_the_descriptor_itself),
    T(test_every_event_of_a_queue_pair_is_acknowledged), T(test_events_that_are_none),
    BARE(test_late_events_come_with_room_and_in_order), BARE(test_nothing_overtakes_what_is_late),
    BARE(test_all_that_is_late_of_an_object_comes), BARE(test_a_dead_object_has_nothing_late),
    BARE(test_handles_that_are_none), BARE(test_a_channel_is_busy_as_long_as_it_is_used))
