/* SPDX-License-Identifier: BSD-2-Clause */

/* Where programs in virtual time meet. */
#include "tests/unit/models_test.h"

#include "models/program/rendezvous.h"

#include <errno.h>
#include <string.h>

static struct world world;
static struct sim_thread threads[2];

static void set_up_threads(uint32_t thread_count)
{
	world_set_up(&world, 3);
	world.params.thread_count = thread_count;
	world_open(&world);
	for (uint32_t i = 0; i < 2; i++)
		threads[i] = (struct sim_thread){.sim = world.fabric.sim, .number = i};
}

static struct rendezvous *rendezvous(void)
{
	return world.fabric.table.rendezvous;
}

static void put(uint32_t thread, uint64_t host_id, const char *bytes, ps_t now)
{
	assert_int_equal(rendezvous_put(rendezvous(), &threads[thread], host_id, "key", bytes,
					strlen(bytes) + 1, now),
			 0);
}

static void assert_visible(const char *bytes, ps_t at)
{
	char got[16] = "";
	ps_t visible_at = 0;

	assert_int_equal(rendezvous_get(rendezvous(), "key", got, sizeof(got), at - 1, &visible_at),
			 -ENOENT);
	assert_int_equal(visible_at, at);
	assert_string_equal(got, "");
	assert_int_equal(rendezvous_get(rendezvous(), "key", got, sizeof(got), at, &visible_at),
			 (int64_t)strlen(bytes) + 1);
	assert_string_equal(got, bytes);
}

static void test_visible_one_delay_later(void **state)
{
	ps_t visible_at = 0;

	(void)state;
	set_up_threads(1);
	put(0, 1, "x", 5);
	assert_int_equal(rendezvous_get(rendezvous(), "key", NULL, 0, PS_S, &visible_at), -ENOENT);
	assert_int_equal(visible_at, PS_NEVER); /* not before the window ends */
	assert_int_equal(rendezvous_between(rendezvous()), 0);
	assert_visible("x", 20000005);
	world_close(&world);
}

static void test_windows_are_no_longer_than_the_delay(void **state)
{
	(void)state;
	world_set_up(&world, 2);
	world.params.oob_delay = 300 * PS_NS;
	world_open(&world);
	assert_int_equal(sim_lookahead(world.fabric.sim), 300 * PS_NS);
	threads[0] = (struct sim_thread){.sim = world.fabric.sim};
	put(0, 1, "x", 0);
	assert_int_equal(rendezvous_between(rendezvous()), 0);
	assert_visible("x", 300000);
	world_close(&world);
}

static void test_the_first_put_stays(void **state)
{
	(void)state;
	/* Who came first is not who is joined first. */
	for (uint32_t first = 0; first < 2; first++)
		for (int turned = 0; turned < 2; turned++) {
			set_up_threads(2);
			if (turned)
				put(1 - first, 1, "later", 7);
			put(first, 9, "earlier", 6);
			if (!turned)
				put(1 - first, 1, "later", 7);
			assert_int_equal(rendezvous_between(rendezvous()), 0);
			assert_visible("earlier", 20000006);
			put(0, 0, "much later", 1000000);
			assert_int_equal(rendezvous_between(rendezvous()), 0);
			assert_visible("earlier", 20000006);
			world_close(&world);
		}
}

static void test_at_one_instant_the_smaller_host_wins(void **state)
{
	(void)state;
	for (uint32_t first = 0; first < 2; first++) {
		set_up_threads(2);
		put(first, 9, "nine", 6);
		put(1 - first, 3, "three", 6);
		assert_int_equal(rendezvous_between(rendezvous()), 0);
		assert_visible("three", 20000006);
		world_close(&world);
	}
}

static void test_of_one_host_at_one_instant_the_first_call_wins(void **state)
{
	(void)state;
	set_up_threads(2);
	put(1, 3, "first", 6);
	put(1, 3, "second", 6);
	put(1, 3, "third", 6);
	assert_int_equal(rendezvous_between(rendezvous()), 0);
	assert_visible("first", 20000006);
	world_close(&world);
}

static void test_lengths(void **state)
{
	char got[4] = "...";
	ps_t visible_at;

	(void)state;
	set_up_threads(1);
	put(0, 1, "abcdef", 0);
	assert_int_equal(rendezvous_put(rendezvous(), &threads[0], 1, "empty", NULL, 0, 0), 0);
	assert_int_equal(rendezvous_between(rendezvous()), 0);
	assert_int_equal(rendezvous_get(rendezvous(), "key", got, 2, PS_S, &visible_at), 7);
	assert_string_equal(got, "ab.");
	assert_int_equal(rendezvous_get(rendezvous(), "empty", got, 2, PS_S, &visible_at), 0);
	assert_int_equal(rendezvous_get(rendezvous(), "other", got, 2, PS_S, &visible_at), -ENOENT);
	world_close(&world);
}

/* ---- waits, by programs ---- */

struct visit {
	ps_t at;
	int turn; /* the how many-eth getter that went on */
	char got[8];
	const char *bytes;
};

static int turns;

static void getter(void *arg)
{
	struct visit *visit = arg;

	assert_int_equal(vb_get("key", visit->got, sizeof(visit->got)), 2);
	visit->at = vb_now_ps();
	visit->turn = turns++;
}

static void putter(void *arg)
{
	const struct visit *visit = arg;

	assert_int_equal(vb_put("key", visit->bytes, 2), 0);
}

/* Puts at the given times from h1 and h2; waits begin on h0 at 0, 3.9 us and just before. */
static void meet(uint32_t thread_count, ps_t h1_at, ps_t h2_at, ps_t visible_at, const char *bytes)
{
	struct visit gets[5] = {{0}}, puts[2] = {{.bytes = "1"}, {.bytes = "2"}};
	const ps_t begin[5] = {0, 3900000, visible_at - 100000, visible_at, visible_at + 5};
	static const char *const names[5] = {"a", "b", "c", "d", "e"};

	world_set_up(&world, 3);
	world.params.thread_count = thread_count;
	world_open(&world);
	for (int i = 0; i < 5; i++)
		world_spawn(&world, 0, names[i], getter, &gets[i], begin[i]);
	world_spawn(&world, 1, "put", putter, &puts[0], h1_at);
	world_spawn(&world, 2, "put", putter, &puts[1], h2_at);
	world_run(&world);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(gets[i].at, begin[i] < visible_at ? visible_at : begin[i]);
		assert_string_equal(gets[i].got, bytes);
		for (int j = 0; j < i; j++) /* time does not go back */
			assert_true(gets[j].at == gets[i].at || gets[j].turn < gets[i].turn);
	}
	world_close(&world);
}

static void test_who_waits_goes_on_when_it_is_visible(void **state)
{
	(void)state;
	for (uint32_t threads_of_run = 1; threads_of_run <= 2; threads_of_run++) {
		/* In one window, ... */
		meet(threads_of_run, 3200000, 3700000, 23200000, "1");
		meet(threads_of_run, 3700000, 3200000, 23200000, "2");
		/* ... in different ones, ... */
		meet(threads_of_run, 3200000, 8700000, 23200000, "1");
		meet(threads_of_run, 8700000, 3200000, 23200000, "2");
		/* ... on the edge of one. */
		meet(threads_of_run, 3000000, 2999999, 22999999, "2");
	}
}

RUN(T(test_visible_one_delay_later), T(test_windows_are_no_longer_than_the_delay),
    T(test_the_first_put_stays), T(test_at_one_instant_the_smaller_host_wins),
    T(test_of_one_host_at_one_instant_the_first_call_wins), T(test_lengths),
    T(test_who_waits_goes_on_when_it_is_visible))
