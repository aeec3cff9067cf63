/* SPDX-License-Identifier: BSD-2-Clause */

/* Programs in virtual time: names, order, sleep, memory. */
#include "tests/unit/models_test.h"

#include <errno.h>
#include <string.h>

static struct world world;

struct visit {
	ps_t at;
	const char *name;
	uint64_t sleep_ns[4];
};

static char trace[512];

static void note(const char *name)
{
	strcat(strcat(trace, name), " ");
}

static void sleeps(void *arg)
{
	struct visit *visit = arg;

	note(visit->name);
	for (int i = 0; i < 4 && visit->sleep_ns[i]; i++) {
		vb_sleep_ns(visit->sleep_ns[i]);
		note(visit->name);
	}
	visit->at = vb_now_ps();
}

static void open_world(enum coro_backend backend, uint64_t seed)
{
	world_set_up(&world, 2);
	world.host.coro_backend = backend;
	world.params.seed = seed;
	world_open(&world);
	trace[0] = '\0';
}

static void test_sleep_orders_programs(void **state)
{
	(void)state;
	for (int backend = 0; backend < 2; backend++) {
		struct visit a = {.name = "a", .sleep_ns = {10, 30}};
		struct visit b = {.name = "b", .sleep_ns = {20, 5}};

		open_world(backend, 1);
		world_spawn(&world, 0, "a", sleeps, &a, 1000);
		world_spawn(&world, 0, "b", sleeps, &b, 2000);
		world_run(&world);
		assert_string_equal(trace, "a b a b b a "); /* at 1, 2, 11, 22, 27, 41 ns */
		assert_int_equal(a.at, 41000);
		assert_int_equal(b.at, 27000);
		world_close(&world);
	}
}

static void test_a_name_is_unique_on_its_host(void **state)
{
	struct visit a = {.name = "a"}, b = {.name = "b"};

	(void)state;
	open_world(CORO_STACK, 1);
	world_spawn(&world, 0, "same", sleeps, &a, 0);
	assert_int_equal(vb_spawn((struct vb_host *)world_host(&world, 0), "same", sleeps, &b, 0),
			 -EEXIST);
	world_spawn(&world, 1, "same", sleeps, &b, 0);
	world_run(&world);
	assert_int_equal(strlen(trace), 4);
	world_close(&world);
}

/* Eight programs of one instant. */
static void run_together(enum coro_backend backend, uint64_t seed, const int order[8],
			 char ret_trace[64])
{
	static const char *const names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	struct visit visits[8];

	open_world(backend, seed);
	for (int i = 0; i < 8; i++) {
		const int k = order[i];

		visits[k] = (struct visit){.name = names[k], .sleep_ns = {7}};
		world_spawn(&world, 0, names[k], sleeps, &visits[k], 5000);
	}
	world_run(&world);
	world_close(&world);
	strcpy(ret_trace, trace);
}

static void test_programs_of_one_instant_go_by_chance_of_their_names(void **state)
{
	static const int up[8] = {0, 1, 2, 3, 4, 5, 6, 7}, down[8] = {7, 6, 5, 4, 3, 2, 1, 0},
			 mixed[8] = {3, 0, 7, 1, 6, 2, 5, 4};
	char first[64], other[64];

	(void)state;
	run_together(CORO_STACK, 1, up, first);
	run_together(CORO_STACK, 1, down, other);
	assert_string_equal(first, other);
	run_together(CORO_THREAD, 1, mixed, other);
	assert_string_equal(first, other);
	/* Neither by name, nor as they were spawned, nor the same at the next instant ... */
	assert_null(strstr(first, "a b c d e f g h"));
	assert_null(strstr(first, "h g f e d c b a"));
	assert_int_not_equal(memcmp(first, first + 16, 16), 0);
	/* ... nor with another seed. */
	run_together(CORO_STACK, 2, up, other);
	assert_string_not_equal(first, other);
}

static struct visit child = {.name = "child", .sleep_ns = {1}};

static void parent(void *arg)
{
	struct vb_host *host = (struct vb_host *)world_host(&world, 0);

	(void)arg;
	vb_sleep_ns(100);
	assert_int_equal(vb_spawn(host, "parent", sleeps, &child, 0), -EEXIST);
	assert_int_equal(vb_spawn(host, "child", sleeps, &child, 50000), 0); /* that is past: now */
	note("parent");
	vb_sleep_ns(100);
	note("parent");
}

static void test_a_program_starts_another(void **state)
{
	(void)state;
	for (int backend = 0; backend < 2; backend++) {
		open_world(backend, 1);
		child.at = 0;
		world_spawn(&world, 0, "parent", parent, NULL, 0);
		world_run(&world);
		assert_string_equal(trace, "parent child child parent ");
		assert_int_equal(child.at, 101000);
		world_close(&world);
	}
}

static void test_unfinished_ones_are_counted_and_abandoned(void **state)
{
	(void)state;
	for (int backend = 0; backend < 2; backend++) {
		struct visit late = {.name = "late", .sleep_ns = {3000000000}};
		struct visit soon = {.name = "soon"};

		open_world(backend, 1);
		world_spawn(&world, 0, "late", sleeps, &late, 0);
		world_spawn(&world, 0, "soon", sleeps, &soon, 0);
		assert_int_equal(task_unfinished(world_host(&world, 0)), 2);
		assert_int_equal(fabric_run(&world.fabric, PS_S), 0);
		assert_int_equal(task_unfinished(world_host(&world, 0)), 1);
		world_close(&world);
	}
}

static void test_outside_of_programs_there_is_none(void **state)
{
	(void)state;
	assert_null(task_current());
	assert_int_equal(task_list_worlds(NULL, 0), 0);
}

RUN(T(test_sleep_orders_programs), T(test_a_name_is_unique_on_its_host),
    T(test_programs_of_one_instant_go_by_chance_of_their_names), T(test_a_program_starts_another),
    T(test_unfinished_ones_are_counted_and_abandoned), T(test_outside_of_programs_there_is_none))
