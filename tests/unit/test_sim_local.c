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

/* ---- a wheel ---- */

enum { STEPS = 20000 };

static uint64_t draw(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Behind @now: at once, with others in one slot, within the wheel or far beyond it; some meet. */
static ps_t time_behind(ps_t now, uint64_t *state)
{
	static const ps_t spans[] = {1, 1000, 100 * PS_NS, PS_US, 9 * PS_US};
	const ps_t span = spans[draw(state) % 5];

	return now + draw(state) % 8 * span / 7;
}

/* The same is done to both, until nothing is left: the same comes first all the time. */
static void test_a_wheel_changes_no_order(void **state)
{
	static struct sim_local_wheel wheel;
	struct sim_local_event plain[EVENTS], wheeled[EVENTS];
	struct sim_local heap, with_wheel;
	uint64_t random = 1;
	ps_t now = 0;

	(void)state;
	sim_local_init(&heap, 1, 2);
	sim_local_init(&with_wheel, 1, 2);
	sim_local_set_wheel(&with_wheel, &wheel);
	for (uint32_t i = 0; i < EVENTS; i++)
		plain[i] = wheeled[i] = (struct sim_local_event){.key = i, .phase = i % 2};
	for (uint32_t step = 0; step < STEPS || heap.root; step++) {
		const uint32_t i = (uint32_t)(draw(&random) % EVENTS);
		const ps_t at = time_behind(now, &random);
		const uint64_t what = draw(&random) % 8;

		if (what < 4 && step < STEPS) {
			sim_local_schedule(&heap, &plain[i], at);
			sim_local_schedule(&with_wheel, &wheeled[i], at);
		} else if (what == 4) {
			sim_local_cancel(&heap, &plain[i]);
			sim_local_cancel(&with_wheel, &wheeled[i]);
		} else if (heap.root) {
			now = heap.root->at;
			sim_local_pop(&heap, now, heap.root->phase);
			assert_non_null(sim_local_pop(&with_wheel, now, with_wheel.root->phase));
		}
		assert_int_equal(!heap.root, !with_wheel.root);
		if (heap.root) {
			assert_int_equal(with_wheel.root->key, heap.root->key);
			assert_int_equal(with_wheel.root->at, heap.root->at);
		}
	}
	assert_int_equal(wheel.words, 0);
	assert_null(wheel.apart);
}

/* What is due before all that has come already comes all the same, and first. */
static void test_a_wheel_takes_what_is_late(void **state)
{
	static struct sim_local_wheel wheel;
	struct sim_local_event events[] = {{.key = 0}, {.key = 1}, {.key = 2}};
	struct sim_local local;

	(void)state;
	sim_local_init(&local, 1, 2);
	sim_local_set_wheel(&local, &wheel);
	sim_local_schedule(&local, &events[0], 5 * PS_US);
	sim_local_schedule(&local, &events[1], 5 * PS_US + PS_NS);
	assert_ptr_equal(sim_local_pop(&local, 5 * PS_US, SIM_LOCAL_TIMER), &events[0]);
	sim_local_schedule(&local, &events[2], PS_US);
	assert_ptr_equal(sim_local_pop(&local, PS_US, SIM_LOCAL_TIMER), &events[2]);
	assert_ptr_equal(sim_local_pop(&local, 5 * PS_US + PS_NS, SIM_LOCAL_TIMER), &events[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order_is_of_their_time),
		cmocka_unit_test(test_moved_ones_too),
		cmocka_unit_test(test_a_wheel_changes_no_order),
		cmocka_unit_test(test_a_wheel_takes_what_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
