/* SPDX-License-Identifier: BSD-2-Clause */

/* Threads of the engine: one barrier a window. The only file of this folder that knows threads. */
#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Some microseconds for those who are nearly there; then, where others need this core, they have
 * it; and a sleep, which takes some ten microseconds to end, for what takes much longer than a
 * window. */
enum { SPINS = 2000, YIELDS = 1000 };

struct barrier {
	struct sim *sim;
	uint32_t count, waiting;
	uint32_t round; /* a futex */
	uint32_t sleeping;
	bool go_on;
};

struct worker {
	struct barrier *barrier;
	struct engine_thread *et;
	pthread_t thread;
};

static bool threads_is_over(const struct barrier *barrier, uint32_t round)
{
	return __atomic_load_n(&barrier->round, __ATOMIC_SEQ_CST) != round;
}

static void threads_let_go(struct barrier *barrier, uint32_t round)
{
	__atomic_store_n(&barrier->waiting, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&barrier->round, round + 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&barrier->sleeping, __ATOMIC_SEQ_CST) > 0)
		syscall(SYS_futex, &barrier->round, FUTEX_WAKE_PRIVATE, barrier->count);
}

static void await(struct barrier *barrier, uint32_t round)
{
	for (uint32_t i = 0; i < SPINS + YIELDS; i++) {
		if (threads_is_over(barrier, round))
			return;
		if (i >= SPINS)
			sched_yield();
	}
	__atomic_add_fetch(&barrier->sleeping, 1, __ATOMIC_SEQ_CST);
	while (!threads_is_over(barrier, round))
		syscall(SYS_futex, &barrier->round, FUTEX_WAIT_PRIVATE, round, NULL);
	__atomic_sub_fetch(&barrier->sleeping, 1, __ATOMIC_SEQ_CST);
}

/* The last one in chooses the next window. */
static bool meet(struct barrier *barrier)
{
	const uint32_t round = __atomic_load_n(&barrier->round, __ATOMIC_ACQUIRE);

	if (__atomic_add_fetch(&barrier->waiting, 1, __ATOMIC_ACQ_REL) == barrier->count) {
		barrier->go_on = sim_engine_next_window(barrier->sim);
		threads_let_go(barrier, round);
	} else {
		await(barrier, round);
	}
	return barrier->go_on;
}

static void *threads_work(void *arg)
{
	struct worker *worker = arg;

	do
		sim_engine_window(worker->et);
	while (meet(worker->barrier));
	return NULL;
}

/* A worker for each that has nodes; how many. An island is not split: where it is most of the
 * fabric, some have none, and would only be waited for. */
static uint32_t threads_employ(struct barrier *barrier, struct worker *workers)
{
	const struct sim *sim = barrier->sim;
	uint32_t count = 0;

	for (uint32_t t = 0; t < sim->params.thread_count; t++) {
		struct engine_thread *et = &sim->threads[t];

		if (t == 0 || et->end_slot > et->first_slot || et->island_count > 0)
			workers[count++] = (struct worker){.barrier = barrier, .et = et};
	}
	return count;
}

int sim_engine_run_threads(struct sim *sim)
{
	struct worker *workers = util_calloc(sim->params.thread_count, sizeof(*workers));
	struct barrier barrier = {.sim = sim};
	uint32_t started = 1;

	if (!workers)
		return -ENOMEM;
	barrier.count = threads_employ(&barrier, workers);
	/* Nobody passes the first barrier before all are there: a thread that cannot be had is
	 * found before any work is done. */
	while (started < barrier.count &&
	       pthread_create(&workers[started].thread, NULL, threads_work, &workers[started]) == 0)
		started++;
	CHECK(started == barrier.count);
	threads_work(&workers[0]);
	for (uint32_t i = 1; i < barrier.count; i++)
		pthread_join(workers[i].thread, NULL);
	util_free(workers);
	return 0;
}
