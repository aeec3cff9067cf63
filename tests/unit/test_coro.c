/* SPDX-License-Identifier: BSD-2-Clause */

/* Coroutines, on both back ends. */
#include "tests/test.h"

#include "models/program/coro.h"
#include "models/program/space.h"
#include "util/alloc.h"

#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

enum { STACK = 64 * 1024 };
static const enum coro_backend backends[] = {CORO_STACK, CORO_THREAD};
#define FOR_BACKENDS(b) for (int b = 0; b < 2; b++)

struct trace {
	struct coro *coro;
	char text[64];
	int yields;
};

static void note(struct trace *trace, char c)
{
	const size_t length = strlen(trace->text);

	trace->text[length] = c;
	trace->text[length + 1] = '\0';
}

static void letters(void *arg)
{
	struct trace *trace = arg;

	for (int i = 0; i < trace->yields; i++) {
		note(trace, (char)('a' + i));
		coro_yield(trace->coro);
	}
	note(trace, '!');
}

static void test_runs_from_yield_to_yield(void **state)
{
	(void)state;
	FOR_BACKENDS(b)
	{
		struct trace trace = {.yields = 2};

		trace.coro = coro_create(backends[b], STACK, letters, &trace);
		assert_non_null(trace.coro);
		assert_string_equal(trace.text, ""); /* not before it is resumed */
		assert_true(coro_resume(trace.coro));
		note(&trace, '-');
		assert_true(coro_resume(trace.coro));
		note(&trace, '-');
		assert_false(coro_resume(trace.coro));
		assert_string_equal(trace.text, "a-b-!");
		coro_destroy(trace.coro);
	}
}

static void test_many_go_on_in_any_order(void **state)
{
	enum { COUNT = 200 };
	static struct trace traces[COUNT];

	(void)state;
	FOR_BACKENDS(b)
	{
		memset(traces, 0, sizeof(traces));
		for (int i = 0; i < COUNT; i++) {
			traces[i].yields = i % 5;
			traces[i].coro = coro_create(backends[b], STACK, letters, &traces[i]);
			assert_non_null(traces[i].coro);
		}
		for (int round = 0; round < 5; round++)
			for (int i = 0; i < COUNT; i++) {
				struct trace *trace = &traces[round % 2 ? COUNT - 1 - i : i];

				if (round <= trace->yields)
					assert_int_equal(coro_resume(trace->coro),
							 round < trace->yields);
			}
		for (int i = 0; i < COUNT; i++) {
			const char *expected[] = {"!", "a!", "ab!", "abc!", "abcd!"};

			assert_string_equal(traces[i].text, expected[i % 5]);
			coro_destroy(traces[i].coro);
		}
	}
}

static void test_may_be_abandoned_anywhere(void **state)
{
	(void)state;
	FOR_BACKENDS(b)
	{
		struct trace never = {.yields = 1}, once = {.yields = 3};

		never.coro = coro_create(backends[b], STACK, letters, &never);
		once.coro = coro_create(backends[b], STACK, letters, &once);
		assert_true(coro_resume(once.coro));
		coro_destroy(never.coro);
		coro_destroy(once.coro);
		assert_string_equal(never.text, "");
		assert_string_equal(once.text, "a");
		coro_destroy(NULL);
	}
}

struct sum {
	struct coro *coro;
	uint64_t result;
};

/* Registers, stack and signal mask are its own: what it computes survives others. */
static void adds(void *arg)
{
	struct sum *sum = arg;
	volatile uint64_t local[512];
	uint64_t total = 0;

	for (uint64_t i = 0; i < 512; i++) {
		local[i] = i * i;
		if (i % 64 == 0)
			coro_yield(sum->coro);
	}
	for (uint64_t i = 0; i < 512; i++)
		total += local[i];
	sum->result = total;
}

static void test_each_has_a_stack_of_its_own(void **state)
{
	(void)state;
	FOR_BACKENDS(b)
	{
		struct sum a = {0}, c = {0};
		bool more = true;

		a.coro = coro_create(backends[b], STACK, adds, &a);
		c.coro = coro_create(backends[b], STACK, adds, &c);
		while (more) {
			more = coro_resume(a.coro);
			assert_int_equal(coro_resume(c.coro), more);
		}
		assert_int_equal(a.result, 44608256); /* 511 * 512 * 1023 / 6 */
		assert_int_equal(c.result, 44608256);
		coro_destroy(a.coro);
		coro_destroy(c.coro);
	}
}

/* What a child that runs over the end of its stack dies of. */
static void too_deep(void *arg)
{
	volatile char page[4096];
	volatile int *depth = arg;

	for (int i = 0; i < 4096; i += 64)
		page[i] = (char)*depth;
	if (--*depth > 0)
		too_deep(arg);
	page[*depth] = page[1];
}

static void overflow(int backend)
{
	const struct rlimit none = {0};
	int depth = 16 * STACK / 4096; /* ThreadSanitizer makes stacks larger */
	struct coro *first = coro_create(backends[backend], STACK, too_deep, &depth);

	/* So that there is memory below its stack. */
	for (int i = 0; i < 32; i++)
		coro_create(backends[backend], STACK, too_deep, &depth);
	setrlimit(RLIMIT_CORE, &none);
	signal(SIGSEGV, SIG_DFL);
	coro_resume(first);
	_exit(0);
}

static void test_a_guard_page_ends_what_runs_over(void **state)
{
	(void)state;
	FOR_BACKENDS(b)
	{
		pid_t child = fork();
		int status = 0;

		if (child == 0) {
			if (!freopen("/dev/null", "w", stderr))
				_exit(0);
			overflow(b);
		}
		assert_int_equal(waitpid(child, &status, 0), child);
		/* Sanitizers turn the signal into an exit status of their own. */
		assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGSEGV
						: WEXITSTATUS(status) != 0);
	}
}

static void resume_twice(void *arg)
{
	struct trace trace = {0};

	trace.coro = coro_create(*(const enum coro_backend *)arg, STACK, letters, &trace);
	coro_resume(trace.coro);
	coro_resume(trace.coro);
}

static void test_one_that_returned_is_not_resumed(void **state)
{
	(void)state;
	FOR_BACKENDS(b) assert_check_fails(resume_twice, (void *)(uintptr_t)&backends[b]);
}

static void test_no_memory(void **state)
{
	(void)state;
	FOR_BACKENDS(b)
	{
		struct trace trace = {0};
		struct coro *coro = NULL;

		for (unsigned n = 1; !coro; n++) {
			assert_true(n < 10);
			util_alloc_fail_after(n);
			coro = coro_create(backends[b], STACK, letters, &trace);
		}
		util_alloc_fail_after(0);
		coro_destroy(coro);
	}
}

struct place {
	struct coro *coro;
	uintptr_t at;
};

__attribute__((noinline)) static void stand(void *arg)
{
	struct place *place = arg;
	volatile uint8_t variable = 1;

	place->at = (uintptr_t)&variable;
	coro_yield(place->coro);
	coro_yield(place->coro);
}

/* On a stack that it is given: the same place on both back ends, and it ends there as anywhere. */
static void test_a_stack_may_be_given(void **state)
{
	static _Alignas(4096) uint8_t stack[4 * STACK];
	struct place places[2];

	(void)state;
	if (!space_is_supported())
		skip(); /* then nobody gives one */
	FOR_BACKENDS(b)
	{
		places[b].coro =
			coro_create_on(backends[b], stack, sizeof(stack), stand, &places[b]);
		assert_non_null(places[b].coro);
		assert_true(coro_resume(places[b].coro));
		assert_true(coro_resume(places[b].coro));
		coro_destroy(places[b].coro);
		assert_in_range(places[b].at, (uintptr_t)stack, (uintptr_t)stack + sizeof(stack));
	}
	assert_int_equal(places[0].at, places[1].at);
}

RUN(T(test_runs_from_yield_to_yield), T(test_many_go_on_in_any_order),
    T(test_may_be_abandoned_anywhere), T(test_each_has_a_stack_of_its_own),
    T(test_a_guard_page_ends_what_runs_over), T(test_one_that_returned_is_not_resumed),
    T(test_no_memory), T(test_a_stack_may_be_given))
