/* SPDX-License-Identifier: BSD-2-Clause */

/* What our unit tests use of CMocka, for processors that have no package of it here: the same
 * names, no mocking. tests/matrix/foreign.sh puts it in CMocka's place; nothing else may. */
#ifndef TESTS_MATRIX_CMOCKA_H
#define TESTS_MATRIX_CMOCKA_H

#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
};

enum { CMOCKA_FAILED = 1, CMOCKA_SKIPPED };

static jmp_buf cmocka_test;

static inline void cmocka_fail_at(const char *what, const char *file, int line)
{
	printf("%s:%d: %s\n", file, line, what);
	fflush(stdout);
	longjmp(cmocka_test, CMOCKA_FAILED);
}

static inline void cmocka_expect(int held, const char *what, const char *file, int line)
{
	if (!held)
		cmocka_fail_at(what, file, line);
}

#define CMOCKA_EXPECT(cond) cmocka_expect(cond, #cond, __FILE__, __LINE__)
#define CMOCKA_WORD(x) ((uintmax_t)(x))
#define assert_true(c) CMOCKA_EXPECT(!!(c))
#define assert_false(c) CMOCKA_EXPECT(!(c))
#define assert_null(p) CMOCKA_EXPECT(!(p))
#define assert_non_null(p) CMOCKA_EXPECT(!!(p))
#define assert_ptr_equal(a, b) CMOCKA_EXPECT((const void *)(a) == (const void *)(b))
#define assert_ptr_not_equal(a, b) CMOCKA_EXPECT((const void *)(a) != (const void *)(b))
#define assert_int_equal(a, b) CMOCKA_EXPECT(CMOCKA_WORD(a) == CMOCKA_WORD(b))
#define assert_int_not_equal(a, b) CMOCKA_EXPECT(CMOCKA_WORD(a) != CMOCKA_WORD(b))
#define assert_in_range(v, low, high)                                                              \
	CMOCKA_EXPECT(CMOCKA_WORD(v) - CMOCKA_WORD(low) <= CMOCKA_WORD(high) - CMOCKA_WORD(low))
#define assert_memory_equal(a, b, n) CMOCKA_EXPECT(memcmp(a, b, n) == 0)
#define assert_memory_not_equal(a, b, n) CMOCKA_EXPECT(memcmp(a, b, n) != 0)
#define assert_string_equal(a, b) CMOCKA_EXPECT(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b) CMOCKA_EXPECT(strcmp(a, b) != 0)
#define fail_msg(...) (printf(__VA_ARGS__), cmocka_fail_at(" failed", __FILE__, __LINE__))
#define print_message(...) printf(__VA_ARGS__)
#define skip() longjmp(cmocka_test, CMOCKA_SKIPPED)

#define cmocka_unit_test_setup_teardown(f, s, t) ((struct CMUnitTest){#f, f, s, t})
#define cmocka_unit_test_setup(f, s) cmocka_unit_test_setup_teardown(f, s, NULL)
#define cmocka_unit_test_teardown(f, t) cmocka_unit_test_setup_teardown(f, NULL, t)
#define cmocka_unit_test(f) cmocka_unit_test_setup_teardown(f, NULL, NULL)

static inline int cmocka_run_one(const struct CMUnitTest *test, void **state)
{
	int how = setjmp(cmocka_test);

	if (how == 0) {
		if (test->setup && test->setup(state) != 0)
			return CMOCKA_FAILED;
		test->test(state);
	}
	if (test->teardown && test->teardown(state) != 0)
		return CMOCKA_FAILED;
	return how;
}

static inline int cmocka_run_all(const struct CMUnitTest *tests, size_t count)
{
	static const char *const said[] = {"ok", "FAILED", "skipped"};
	void *state = NULL;
	int failed = 0;

	for (size_t i = 0; i < count; i++) {
		int how = cmocka_run_one(&tests[i], &state);

		printf("%s %s\n", said[how], tests[i].name);
		failed += how == CMOCKA_FAILED;
	}
	return failed;
}

#define cmocka_run_group_tests(tests, setup, teardown)                                             \
	cmocka_run_all(tests, sizeof(tests) / sizeof((tests)[0]))

#endif
