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

/* A newcomer waits, or a message of queue pair 1: see to it now and then, even where there is
 * always something to do. */
static void mind_door(struct nic *nic)
{
	const ps_t now = nic_now(nic);

	if (now - nic->door_looked_at < PS_MS)
		return;
	nic->door_looked_at = now;
	nic_board_publish(nic);
	if (nic->group)
		nic_group_serve(nic->group);
	if (nic->shm)
		nic_shm_serve(nic->shm);
	nic_loop_mind_gsi(nic, true);
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

/* Where packets come by rings, the next one mostly comes sooner than a thread that sleeps is awake:
 * it goes on looking for a while, and lets others have the core that want it. */
static bool nic_lingers(struct nic *nic, bool moved)
{
	const ps_t now = nic_now(nic);

	if (moved)
		nic->moved_at = now;
	return nic->shm && nic_shm_has_guests(nic->shm) && nic->moved_at != 0 &&
	       now - nic->moved_at < NIC_LINGER;
}

/* Others get the lock where they want it, and the core where there was nothing to do. */
static void let_others(struct nic *nic, bool moved)
{
	if (moved && atomic_load(&nic->wanted) == 0)
		return;
	nic_unlock(nic);
	sched_yield();
	nic_lock(nic);
}

static void nic_sleep(struct nic *nic, int64_t wait_ns)
{
	nic_board_publish(nic);
	nic->asleep_until = nic_loop_next_at(nic);
	nic_loop_wait(nic, wait_ns);
	nic->asleep_until = 0;
	drain_wakes(nic);
}

static void nic_progress_work(struct nic *nic)
{
	int64_t wait_ns = -1;

	nic_lock(nic);
	while (!atomic_load(&nic->stop) && !nic_is_dead(nic)) {
		bool moved;

		nic_mind_epoch(nic);
		if (nic->params.on_time)
			wait_ns = nic->params.on_time(nic->params.world);
		if (!nic_is_mine(nic))
			return;
		mind_door(nic);
		if (app_polls(nic)) {
			nap(nic);
			continue;
		}
		moved = nic_loop_turn(nic) > 0;
		if (nic_lingers(nic, moved))
			let_others(nic, moved);
		else
			nic_sleep(nic, wait_ns);
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
	int ret = nic->params.shares ? nic_link_open(nic) : 0;

	if (ret != 0) {
		nic_link_close(nic);
		return ret;
	}
	nic_board_open(nic);
	atomic_store(&nic->stop, false);
	/* Signals are the application's, but for faults, which are not blocked where memory is
	 * reached. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	ret = pthread_create(&nic->thread, NULL, nic_progress, nic);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	nic->thread_ready = ret == 0;
	if (ret != 0)
		nic_board_close(nic);
	if (ret != 0 && nic->params.shares)
		nic_link_close(nic);
	return -ret;
}

/* What a rule still holds leaves now: the last ACK of a program that ends is not lost with it.
 * Where the socket is full it is. */
static void let_held_go(struct nic *nic)
{
	uint32_t moved;

	if (!nic->impair)
		return;
	nic_lock(nic);
	nic_impair_hurry(nic->impair, true);
	do {
		moved = 0;
		nic_loop_flush(nic, &moved);
	} while (moved > 0 && nic_impair_next_at(nic->impair) != PS_NEVER);
	nic_impair_hurry(nic->impair, false);
	nic_unlock(nic);
}

static void tell_the_last(struct nic *nic)
{
	nic_lock(nic);
	nic_board_publish(nic);
	nic_unlock(nic);
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
	if (!nic_is_dead(nic))
		let_held_go(nic);
	if (!nic_is_dead(nic))
		tell_the_last(nic);
	nic_board_close(nic);
	if (nic->params.shares)
		nic_link_close(nic);
}
