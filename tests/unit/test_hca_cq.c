/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues: how they grow and shrink, overrun on purpose, when they were written, and
 * events that wait for others. */
#include "tests/test.h"
#include "tests/unit/hca_test.h"

#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static struct {
	uint32_t events, async;
	ps_t at;
	void *owner;
} heard;

static void on_wc(void *world, struct hca_cq *cq, const struct hca_wc *wc, ps_t now)
{
	(void)world, (void)cq, (void)wc, (void)now;
}

static void on_event(void *world, void *owner, ps_t now)
{
	(void)world;
	heard.events++;
	heard.at = now;
	heard.owner = owner;
}

static void on_async(void *world, void *owner, int event, ps_t now)
{
	(void)world, (void)owner, (void)event, (void)now;
	heard.async++;
}

static const struct hca_observer observer = {on_wc, on_event, unheard_place, on_async};
static const struct hca_device_params params = {
	.key = {1, 2},
	.observer = &observer,
	.profile = {.line_rate_bps = 1000000000,
		    .mtu_max = 1024,
		    .psn_window = 16,
		    .cc = &cc_none,
		    .cq_max = 3,
		    .cqe_max = 64},
};
static struct hca_device *dev;
static struct hca_cq *cq;

static int set_up(void **state)
{
	(void)state;
	memset(&heard, 0, sizeof(heard));
	dev = hca_device_create(&params);
	/* Completions come from queue pairs, which make room for the alarm of an overrun. */
	return !dev || hca_heap_reserve(&dev->timers, 1) || hca_cq_create(dev, 5, &heard, &cq);
}

static int tear_down(void **state)
{
	(void)state;
	hca_device_destroy(dev);
	return 0;
}

static void push(uint64_t wr_id, ps_t now)
{
	hca_cq_push(cq, &(struct hca_wc){.wr_id = wr_id}, false, now);
}

/* The oldest, which is there. */
static struct hca_wc poll(void)
{
	struct hca_wc wc;

	assert_int_equal(hca_cq_poll(cq, 1, &wc), 1);
	return wc;
}

static void expect_in_order(uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++)
		assert_int_equal(poll().wr_id, i);
	assert_true(hca_cq_is_empty(cq));
}

static void test_resized_it_keeps_what_it_holds(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 7; i++) { /* so that the ring has gone round */
		push(i, 0);
		assert_int_equal(poll().wr_id, i);
	}
	for (uint64_t i = 10; i < 15; i++)
		push(i, 0);
	assert_int_equal(hca_cq_resize(dev, cq, 4), -EINVAL);
	assert_int_equal(hca_cq_resize(dev, cq, 0), -EINVAL);
	assert_int_equal(hca_cq_resize(dev, cq, 65), -EINVAL);
	assert_int_equal(hca_cq_depth(cq), 5);
	util_alloc_fail_after(1);
	assert_int_equal(hca_cq_resize(dev, cq, 20), -ENOMEM);
	util_alloc_fail_after(0);
	assert_int_equal(hca_cq_resize(dev, cq, 20), 0);
	assert_int_equal(hca_cq_depth(cq), 20);
	for (uint64_t i = 15; i < 30; i++)
		push(i, 0);
	expect_in_order(10, 29);
	push(30, 0);
	push(31, 0);
	assert_int_equal(hca_cq_resize(dev, cq, 2), 0);
	assert_int_equal(heard.async, 0);
	expect_in_order(30, 31);
	push(32, 0);
	push(33, 0);
	push(34, 0);
	assert_int_equal(heard.async, 1); /* two is what it has room for */
}

static void test_an_overrun_that_is_ignored_loses_the_oldest(void **state)
{
	(void)state;
	hca_cq_ignore_overrun(cq);
	for (uint64_t i = 0; i < 8; i++)
		push(i, 0);
	assert_int_equal(heard.async, 0);
	expect_in_order(3, 7);
	push(8, 0);
	expect_in_order(8, 8);
}

/* Those of one QP go, the others stay in their order. */
static void test_completions_are_forgotten(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		push(i, 0);
		poll();
	}
	for (uint32_t i = 0; i < 5; i++)
		hca_cq_push(cq, &(struct hca_wc){.wr_id = i, .qpn = i % 2 ? 7 : 6}, false, 0);
	hca_cq_forget(cq, 8);
	hca_cq_forget(cq, 6);
	assert_int_equal(poll().wr_id, 1);
	push(5, 0);
	assert_int_equal(poll().wr_id, 3);
	expect_in_order(5, 5);
}

static void test_completions_say_when(void **state)
{
	(void)state;
	push(0, 7 * PS_US);
	push(1, 9 * PS_US);
	hca_device_move_epoch(dev, 8 * PS_US);
	push(2, 10 * PS_US);
	assert_int_equal(poll().at, -(PS_US));
	assert_int_equal(poll().at, PS_US);
	assert_int_equal(poll().at, 10 * PS_US);
}

static void test_an_event_waits_for_enough_completions(void **state)
{
	(void)state;
	assert_int_equal(hca_cq_moderate(dev, cq, 3, 10 * PS_US, 0), 0);
	push(0, 1);
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER); /* nobody asked */
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(1, 2);
	push(2, 3);
	assert_int_equal(heard.events, 0);
	poll();
	poll();
	push(3, 4);
	assert_int_equal(heard.events, 1);
	assert_int_equal(heard.at, 4);
	assert_ptr_equal(heard.owner, &heard);
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER);
	push(4, 5);
	hca_advance(dev, PS_S);
	assert_int_equal(heard.events, 1);
}

static void test_an_event_waits_no_longer_than_its_time(void **state)
{
	(void)state;
	assert_int_equal(hca_cq_moderate(dev, cq, 3, 10 * PS_US, 0), 0);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(0, 5 * PS_US);
	push(1, 7 * PS_US);
	assert_int_equal(hca_next_at(dev, 0), 15 * PS_US);
	hca_advance(dev, 15 * PS_US - 1);
	assert_int_equal(heard.events, 0);
	hca_advance(dev, 15 * PS_US);
	assert_int_equal(heard.events, 1);
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER);
	/* And again, from nothing. */
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(2, 20 * PS_US);
	assert_int_equal(hca_next_at(dev, 0), 30 * PS_US);
	push(3, 21 * PS_US);
	assert_int_equal(heard.events, 1);
	push(4, 22 * PS_US);
	assert_int_equal(heard.events, 2);
}

/* Count or time alone moderate nothing. */
static void test_half_a_rule_is_none(void **state)
{
	(void)state;
	assert_int_equal(hca_cq_moderate(dev, cq, 1, 10 * PS_US, 0), 0);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(0, 1);
	assert_int_equal(heard.events, 1);
	assert_int_equal(hca_cq_moderate(dev, cq, 9, 0, 2), 0);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(1, 3);
	assert_int_equal(heard.events, 2);
}

static void test_a_new_rule_is_that_of_who_waits(void **state)
{
	(void)state;
	assert_int_equal(hca_cq_moderate(dev, cq, 4, 10 * PS_US, 0), 0);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(0, 0);
	push(1, 0);
	assert_int_equal(hca_cq_moderate(dev, cq, 3, 20 * PS_US, PS_US), 0);
	assert_int_equal(heard.events, 0);
	assert_int_equal(hca_next_at(dev, 0), 21 * PS_US);
	assert_int_equal(hca_cq_moderate(dev, cq, 2, 20 * PS_US, 2 * PS_US), 0);
	assert_int_equal(heard.events, 1);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(2, 3 * PS_US);
	assert_int_equal(hca_cq_moderate(dev, cq, 0, 0, 4 * PS_US), 0);
	assert_int_equal(heard.events, 2);
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER);
}

/* Each has an alarm of its own; one that goes takes it along. */
static void test_queues_wait_apart(void **state)
{
	struct hca_cq *first = cq, *second;

	(void)state;
	assert_int_equal(hca_cq_create(dev, 4, &second, &second), 0);
	assert_int_equal(hca_cq_moderate(dev, first, 2, 10 * PS_US, 0), 0);
	assert_int_equal(hca_cq_moderate(dev, second, 2, 5 * PS_US, 0), 0);
	hca_cq_arm(first, HCA_CQ_ARM_SOLICITED);
	hca_cq_arm(second, HCA_CQ_ARM_ANY);
	push(0, 1 * PS_US); /* not solicited: it starts nothing */
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER);
	hca_cq_push(first, &(struct hca_wc){.wr_id = 1}, true, 2 * PS_US);
	cq = second;
	push(2, 2 * PS_US);
	assert_int_equal(hca_next_at(dev, 0), 7 * PS_US);
	hca_advance(dev, 7 * PS_US);
	assert_int_equal(heard.events, 1);
	assert_ptr_equal(heard.owner, &second);
	assert_int_equal(hca_next_at(dev, 0), 12 * PS_US);
	assert_int_equal(hca_cq_destroy(dev, first), 0);
	assert_int_equal(hca_next_at(dev, 0), PS_NEVER);
}

static void test_no_memory_for_an_alarm(void **state)
{
	(void)state;
	util_alloc_fail_after(1);
	assert_int_equal(hca_cq_moderate(dev, cq, 3, 10 * PS_US, 0), -ENOMEM);
	util_alloc_fail_after(0);
	hca_cq_arm(cq, HCA_CQ_ARM_ANY);
	push(0, 1);
	assert_int_equal(heard.events, 1);
}

#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
RUN(T(test_resized_it_keeps_what_it_holds), T(test_an_overrun_that_is_ignored_loses_the_oldest),
    T(test_completions_are_forgotten), T(test_completions_say_when),
    T(test_an_event_waits_for_enough_completions), T(test_an_event_waits_no_longer_than_its_time),
    T(test_half_a_rule_is_none), T(test_a_new_rule_is_that_of_who_waits), T(test_queues_wait_apart),
    T(test_no_memory_for_an_alarm))
