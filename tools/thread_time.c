/* SPDX-License-Identifier: BSD-2-Clause */

/* The time, and waiting for it. A run begins with the year 2000 for the clock of the day; all other
 * clocks begin with the run. */
#include "tools/thread_calls.h"
#include "tools/thread_wait.h"

#include <errno.h>
#include <unistd.h>

enum { YIELD_NS = 100 }; /* so that a loop around it does not stop the time */

static bool is_time(const struct timespec *time)
{
	return time->tv_sec >= 0 && time->tv_nsec >= 0 && time->tv_nsec < 1000000000;
}

/* PS_NEVER: beyond the end of time. */
static ps_t duration_of(const struct timespec *time)
{
	if ((uint64_t)time->tv_sec >= TASK_END_OF_TIME / PS_S)
		return PS_NEVER;
	return (ps_t)time->tv_sec * PS_S + (ps_t)time->tv_nsec * PS_NS;
}

ps_t thread_time_of(const struct timespec *time)
{
	struct timespec since;

	if (!time)
		return PS_NEVER;
	since = *time;
	if (since.tv_sec >= THREAD_DAY_S)
		since.tv_sec -= THREAD_DAY_S;
	return is_time(&since) ? duration_of(&since) : 0;
}

static struct timespec thread_now(const struct thread *self, bool of_day)
{
	const ps_t now = self->task->host->now;

	return (struct timespec){.tv_sec = (time_t)(now / PS_S) + (of_day ? THREAD_DAY_S : 0),
				 .tv_nsec = (long)(now % PS_S / PS_NS)};
}

/* ---- sleep ---- */

int thread_nanosleep(const struct timespec *time, struct timespec *ret_left)
{
	struct thread *self = thread_self();

	if (!self)
		return nanosleep(time, ret_left);
	if (!is_time(time)) {
		errno = EINVAL;
		return -1;
	}
	task_sleep(self->task, duration_of(time));
	return 0;
}

int thread_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *ret_left)
{
	struct thread *self = thread_self();
	ps_t until, now;

	if (!self)
		return clock_nanosleep(clock, flags, time, ret_left);
	if (!is_time(time))
		return EINVAL;
	now = self->task->host->now;
	until = thread_time_of(time);
	if (!(flags & TIMER_ABSTIME))
		task_sleep(self->task, duration_of(time));
	else if (until > now)
		task_sleep(self->task, until == PS_NEVER ? PS_NEVER : until - now);
	return 0;
}

unsigned thread_sleep(unsigned seconds)
{
	const struct timespec time = {.tv_sec = seconds};

	if (!thread_self())
		return sleep(seconds);
	thread_nanosleep(&time, NULL);
	return 0;
}

int thread_usleep(useconds_t us)
{
	const struct timespec time = {.tv_sec = us / 1000000,
				      .tv_nsec = (long)(us % 1000000) * 1000};

	return thread_self() ? thread_nanosleep(&time, NULL) : usleep(us);
}

int thread_yield(void)
{
	struct thread *self = thread_self();

	if (!self)
		return sched_yield();
	task_sleep(self->task, YIELD_NS * PS_NS);
	return 0;
}

/* Of no descriptors these are sleep, too. */
int thread_poll(struct pollfd *fds, nfds_t count, int ms)
{
	const struct timespec time = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};

	if (count > 0 || ms < 0 || !thread_self())
		return poll(fds, count, ms);
	return thread_nanosleep(&time, NULL);
}

int thread_select(int count, fd_set *reads, fd_set *writes, fd_set *others, struct timeval *time)
{
	struct timespec as_time;

	if (count > 0 || !time || !thread_self())
		return select(count, reads, writes, others, time);
	as_time = (struct timespec){.tv_sec = time->tv_sec, .tv_nsec = time->tv_usec * 1000};
	return thread_nanosleep(&as_time, NULL);
}

/* ---- clocks ---- */

int thread_clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	const struct thread *self = thread_self();

	if (!self)
		return clock_gettime(clock, ret_time);
	*ret_time = thread_now(self, clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE ||
					     clock == CLOCK_TAI);
	return 0;
}

int thread_gettimeofday(struct timeval *ret_time, void *zone)
{
	const struct thread *self = thread_self();
	struct timespec now;

	if (!self)
		return gettimeofday(ret_time, zone);
	now = thread_now(self, true);
	*ret_time = (struct timeval){.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
	return 0;
}

time_t thread_time(time_t *ret_time)
{
	const struct thread *self = thread_self();
	time_t now;

	if (!self)
		return time(ret_time);
	now = thread_now(self, true).tv_sec;
	if (ret_time)
		*ret_time = now;
	return now;
}

clock_t thread_clock(void)
{
	const struct thread *self = thread_self();

	return self ? (clock_t)(self->task->host->now / (PS_S / CLOCKS_PER_SEC)) : clock();
}
