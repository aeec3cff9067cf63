/* SPDX-License-Identifier: BSD-2-Clause */

/* Faults of verbs: their text, whose turn it is by counts, and what time brings. */
#include "tests/test.h"

#include "transport/verbs/fault.h"
#include <errno.h>

#define MS ((uint64_t)1000000)

static struct vrb_faults faults;

static int parse(const char *text)
{
	return vrb_faults_parse(text, &faults);
}

static bool meets(enum vrb_fault_kind kind, enum vrb_fault_op op, uint64_t age_ns)
{
	return vrb_fault_met(&faults, kind, op, 1, age_ns) != NULL;
}

static void test_text_is_read_or_refused(void **state)
{
	(void)state;
	assert_int_equal(parse("0:1:2:3:4:5:6:7:8:kv"), 0);
	assert_int_equal(faults.count, 1);
	assert_int_equal(faults.rules[0].op, 1);
	assert_int_equal(faults.rules[0].qp, 2);
	assert_int_equal(faults.rules[0].nth, 3);
	assert_int_equal(faults.rules[0].count, 4);
	assert_int_equal(faults.rules[0].a, 5);
	assert_int_equal(faults.rules[0].b, 6);
	assert_int_equal(faults.rules[0].from_ns, 7);
	assert_int_equal(faults.rules[0].until_ns, 8);
	assert_string_equal(faults.rules[0].program, "kv");
	assert_int_equal(parse("2:31:0:0:1:1:1:7:0:-;3:31:0:0:1:1:0:0:9:-;4:31:0:0:1:0:0:7:0:-"),
			 0);
	assert_int_equal(faults.count, 3);
	assert_int_equal(parse(""), -EINVAL);
	assert_int_equal(parse("0:1:0:1:1:5:0:-"), -EINVAL);	  /* no times */
	assert_int_equal(parse("5:1:0:1:1:5:0:0:0:-"), -EINVAL);  /* no such kind */
	assert_int_equal(parse("0:1:0:1:0:5:0:0:0:-"), -EINVAL);  /* none of them */
	assert_int_equal(parse("0:1:0:0:1:5:0:7:0:-"), -EINVAL);  /* a post by time alone */
	assert_int_equal(parse("1:1:0:0:1:5:0:7:0:-"), -EINVAL);  /* a completion, too */
	assert_int_equal(parse("0:1:0:1:1:5:0:7:7:-"), -EINVAL);  /* over before it begins */
	assert_int_equal(parse("3:31:0:0:1:1:0:7:0:-"), -EINVAL); /* a storm without an end */
	assert_int_equal(parse("3:31:0:1:1:0:0:7:9:-"), -EINVAL); /* a count with one */
	assert_int_equal(parse("0:1:0:1:1:5:0:0:0:-:"), -EINVAL); /* more than that */
}

static void test_counts_begin_and_end_with_their_time(void **state)
{
	(void)state;
	assert_int_equal(parse("0:1:0:2:2:5:0:10:20:-"), 0);
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 8));
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 9));
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 10)); /* the first */
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_WRITE, 11));
	assert_true(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 11));
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 20));
	assert_true(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 19));
	assert_false(meets(VRB_FAULT_POST, VRB_FAULT_SEND, 19)); /* the fourth */
	assert_int_equal(parse("0:1:0:1:4294967295:5:0:0:0:-"), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_true(meets(VRB_FAULT_POST, VRB_FAULT_SEND, i * MS));
}

/* "KIND BEGINS-OR-ENDS" of the next that is due. */
static void expect_due(uint64_t age_ns, enum vrb_fault_kind kind, bool is_over)
{
	bool over = !is_over;
	const struct vrb_fault *due = vrb_fault_due(&faults, age_ns, &over);

	assert_non_null(due);
	assert_int_equal(due->kind, kind);
	assert_int_equal(over, is_over);
}

static void expect_none(uint64_t age_ns)
{
	bool over;

	assert_null(vrb_fault_due(&faults, age_ns, &over));
}

static void test_time_brings_each_once_and_in_order(void **state)
{
	(void)state;
	assert_int_equal(parse("3:31:0:0:1:1:0:20:40:-;2:31:0:0:1:1:1:30:0:-;4:31:0:0:1:0:0:50:0:-"
			       ";3:31:0:2:5:0:0:60:0:-"),
			 0);
	assert_int_equal(vrb_fault_next_ns(&faults), 20);
	expect_none(19);
	assert_false(meets(VRB_FAULT_PORT, VRB_FAULT_WRITE, 35)); /* no request brings it */
	expect_due(20, VRB_FAULT_RNR, false);
	expect_none(20);
	assert_int_equal(vrb_fault_next_ns(&faults), 30);
	/* late: the earliest first */
	expect_due(55, VRB_FAULT_PORT, false);
	expect_due(55, VRB_FAULT_RNR, true);
	expect_due(55, VRB_FAULT_FATAL, false);
	expect_none(55);
	assert_int_equal(vrb_fault_next_ns(&faults), 60);
	expect_due(100, VRB_FAULT_RNR, false);
	expect_none(UINT64_MAX - 1);
	assert_int_equal(vrb_fault_next_ns(&faults), UINT64_MAX);
}

/* Those of counts are nobody's but who counts. */
static void test_time_brings_no_counts(void **state)
{
	(void)state;
	assert_int_equal(parse("0:1:0:1:1:5:0:10:0:-;1:1:0:1:1:5:0:10:20:-;2:31:0:1:1:1:1:0:0:-;3:"
			       "31:0:1:1:0:0:0:0:-"),
			 0);
	assert_int_equal(vrb_fault_next_ns(&faults), UINT64_MAX);
	expect_none(UINT64_MAX - 1);
	assert_true(meets(VRB_FAULT_PORT, VRB_FAULT_WRITE, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_text_is_read_or_refused),
		cmocka_unit_test(test_counts_begin_and_end_with_their_time),
		cmocka_unit_test(test_time_brings_each_once_and_in_order),
		cmocka_unit_test(test_time_brings_no_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
