/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread: a peer's READ is answered and a lost packet repeated while the application
 * computes, sleeps, or watches its memory. It gives way to an application that polls. */
#include "transport/nic/internal.h"
#include "util/trap.h"

#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static bool app_polls(const struct nic *nic)
{
	return nic->app_turn_at != 0 && nic_now(nic) - nic->app_turn_at < NIC_APP_POLLS;
}

static void nap(struct nic *nic)
{
	const struct timespec time = {.tv_nsec = NIC_NAP_NS};

	nic_unlock(nic);
	(void)nanosleep(&time, NULL);
	nic_lock(nic);
}

static void drain_wakes(struct nic *nic)
{
	uint64_t count;

	(void)!read(nic->wake_fd, &count, sizeof(count));
}

static void nic_progress_work(struct nic *nic)
{
	nic_lock(nic);
	while (!atomic_load(&nic->stop) && !nic_is_dead(nic)) {
		nic_mind_epoch(nic);
		if (app_polls(nic)) {
			nap(nic);
		} else if (nic_loop_turn(nic) == 0) {
			nic->asleep_until = hca_next_at(nic->hca, 0xff);
			nic_loop_wait(nic, -1);
			nic->asleep_until = 0;
			drain_wakes(nic);
		} else { /* let others at the lock */
			nic_unlock(nic);
			sched_yield();
			nic_lock(nic);
		}
	}
	nic_unlock(nic);
}

static void *nic_progress(void *arg)
{
	struct nic *nic = arg;
	struct util_trap trap;

	if (!nic->params.on_fatal || nic->params.aborts) {
		nic_progress_work(nic);
	} else if (UTIL_TRAP_SET(&trap)) {
		nic_progress_work(nic);
		util_trap_clear(&trap);
	} else {
		fprintf(stderr,
			"verbena: an internal check failed: %s:%d: %s: the device is dead\n",
			trap.file, trap.line, trap.cond);
		nic_kill(nic);
		nic->params.on_fatal(nic->params.world);
	}
	return NULL;
}

int nic_start(struct nic *nic)
{
	sigset_t all, old;
	int ret;

	atomic_store(&nic->stop, false);
	/* Signals are the application's. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&nic->thread, NULL, nic_progress, nic);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	nic->thread_ready = ret == 0;
	return -ret;
}

void nic_stop(struct nic *nic)
{
	const uint64_t one = 1;

	if (!nic->thread_ready)
		return;
	atomic_store(&nic->stop, true);
	(void)!write(nic->wake_fd, &one, sizeof(one));
	pthread_join(nic->thread, NULL);
	nic->thread_ready = false;
}
