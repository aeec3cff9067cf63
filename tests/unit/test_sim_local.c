/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of one node: which of those that meet comes first. */
#include "sim/local.h"

#include "tests/test.h"

enum { EVENTS = 64 };

static void schedule_all(struct sim_local *local, struct sim_local_event *events, ps_t at)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		sim_local_schedule(local, &events[i], at);
}

/* The keys in the order in which they come out. */
static void take_all(struct sim_local *local, ps_t at, uint64_t *keys)
{
	for (uint32_t i = 0; i < EVENTS; i++)
		keys[i] = sim_local_pop(local, at, SIM_LOCAL_TIMER)->key;
	assert_null(sim_local_pop(local, at, SIM_LOCAL_TIMER));
}

/* An event that has met others before comes where it would come had it not: the order is of the
 * time at which they meet. */
static void test_order_is_of_their_time(void **state)
{
	struct sim_local_event fresh[EVENTS], moved[EVENTS];
	uint64_t first[EVENTS], wanted[EVENTS], got[EVENTS];
	struct sim_local local;

	(void)state;
	sim_local_init(&local, 1, 2);
	for (uint32_t i = 0; i < EVENTS; i++)
		fresh[i] = moved[i] = (struct sim_local_event){.key = i};
	schedule_all(&local, moved, PS_NS);
	take_all(&local, PS_NS, first);
	schedule_all(&local, fresh, PS_US);
	take_all(&local, PS_US, wanted);
	schedule_all(&local, moved, PS_US);
	take_all(&local, PS_US, got);
	assert_memory_equal(got, wanted, sizeof(got));
	assert_memory_not_equal(first, wanted, sizeof(first));
}

/* Moved while they wait, without having come out. */
static void test_moved_ones_too(void **state)
{
	struct sim_local_event fresh[EVENTS], moved[EVENTS];
	uint64_t wanted[EVENTS], got[EVENTS];
	struct sim_local local;

	(void)state;
	sim_local_init(&local, 1, 2);
	for (uint32_t i = 0; i < EVENTS; i++)
		fresh[i] = moved[i] = (struct sim_local_event){.key = i};
	schedule_all(&local, fresh, PS_US);
	take_all(&local, PS_US, wanted);
	schedule_all(&local, moved, PS_NS);
	schedule_all(&local, moved, PS_US);
	take_all(&local, PS_US, got);
	assert_memory_equal(got, wanted, sizeof(got));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_is_of_their_time),
		cmocka_unit_test(test_moved_ones_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
