/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/spin.h"

#include "util/alloc.h"
#include "util/check.h"

#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { SIGNAL_OFFSET = 6, PERIOD_MS = 100, ANSWER_MS = 1000 };

/* Of one thread of the simulation: what runs there. Written by it, read by the watching thread; the
 * members belong together while @steps stays the same. */
struct mark {
	uint64_t steps;
	const char *host, *program; /* NULL: none is inside its code */
	int tid;
	uint64_t spare[4]; /* a cache line each */
};

/* What the watching thread saw last. */
struct seen {
	uint64_t steps, since_ns;
	bool running;
};

/* Filled by the signal handler of the program's thread. */
struct answer {
	struct spin_report report;
	bool ready;
};

struct spin {
	struct mark *marks;
	struct seen *seen;
	uint32_t thread_count;
	uint64_t limit_ns;
	spin_fn *fn;
	void *owner;
	struct answer answer;
	struct sigaction before;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, has_thread;
};

/* ---- the programs' side ---- */

static int own_tid(void)
{
	static _Thread_local int tid;

	if (tid == 0)
		tid = (int)syscall(SYS_gettid);
	return tid;
}

static void spin_set(struct mark *mark, const char *host, const char *program, int tid)
{
	__atomic_store_n(&mark->host, host, __ATOMIC_RELAXED);
	__atomic_store_n(&mark->program, program, __ATOMIC_RELAXED);
	__atomic_store_n(&mark->tid, tid, __ATOMIC_RELAXED);
	__atomic_store_n(&mark->steps, mark->steps + 1, __ATOMIC_RELEASE);
}

void spin_enter(struct spin *spin, uint32_t number, const char *host, const char *program)
{
	CHECK(number < spin->thread_count);
	spin_set(&spin->marks[number], host, program, own_tid());
}

void spin_touch(struct spin *spin, uint32_t number)
{
	struct mark *mark = &spin->marks[number];

	__atomic_store_n(&mark->steps, mark->steps + 1, __ATOMIC_RELEASE);
}

void spin_leave(struct spin *spin, uint32_t number)
{
	spin_set(&spin->marks[number], NULL, NULL, 0);
}

/* ---- where a program is ---- */

static void *pc_of(const ucontext_t *context)
{
#if defined(__x86_64__)
	return (void *)(uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
	return (void *)(uintptr_t)context->uc_mcontext.pc;
#elif defined(__s390x__)
	return (void *)(uintptr_t)context->uc_mcontext.psw.addr;
#else
	(void)context;
	return NULL;
#endif
}

/* The frames of the handler itself come first. */
uint32_t spin_places(const void *context, void *ret_places[SPIN_PLACES])
{
	void *pc = pc_of(context), *frames[SPIN_PLACES];
	uint32_t first = 0, count = (uint32_t)backtrace(frames, SPIN_PLACES), places = 1;

	while (first < count && frames[first] != pc)
		first++;
	ret_places[0] = pc;
	for (uint32_t i = first + 1; i < count; i++)
		ret_places[places++] = frames[i];
	return places;
}

/* On the stack of the program. The unwinder was loaded by spin_create(), so that it needs no memory
 * here. */
static void spin_on_signal(int number, siginfo_t *info, void *context)
{
	struct answer *answer = info->si_value.sival_ptr;

	(void)number;
	if (info->si_code != SI_QUEUE || info->si_pid != getpid())
		return;
	answer->report.place_count = spin_places(context, answer->report.places);
	__atomic_store_n(&answer->ready, true, __ATOMIC_RELEASE);
}

void spin_stranger(struct spin *spin, const char *host, const char *program)
{
	struct spin_report report = {.host = host, .program = program, .is_stranger = true};

	report.place_count = (uint32_t)backtrace(report.places, SPIN_PLACES);
	spin->fn(spin->owner, &report);
}

static bool spin_ask(struct spin *spin, int tid)
{
	siginfo_t info = {.si_signo = SIGRTMIN + SIGNAL_OFFSET, .si_code = SI_QUEUE};

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_ptr = &spin->answer;
	__atomic_store_n(&spin->answer.ready, false, __ATOMIC_RELAXED);
	return syscall(SYS_rt_tgsigqueueinfo, getpid(), tid, info.si_signo, &info) == 0;
}

/* ---- the watching thread ---- */

/* True: we shall stop. */
static bool pause_ms(struct spin *spin, long ms)
{
	struct timespec until;
	bool stop;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += ms * 1000000;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	pthread_mutex_lock(&spin->lock);
	if (!spin->stop)
		pthread_cond_timedwait(&spin->changed, &spin->lock, &until);
	stop = spin->stop;
	pthread_mutex_unlock(&spin->lock);
	return stop;
}

/* Processor time of a thread by its number, as pthread_getcpuclockid() names it for a handle (linux
 * include/linux/posix-timers.h, CPUCLOCK_PERTHREAD | CPUCLOCK_SCHED). A thread that is gone has
 * none, where a handle to it would be a wild pointer. */
static bool processor_ns(int tid, uint64_t *ret_ns)
{
	const clockid_t clock = (clockid_t)(~(unsigned)tid << 3 | 6u);
	struct timespec used;

	if (clock_gettime(clock, &used) != 0)
		return false;
	*ret_ns = (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
	return true;
}

static bool is_still(const struct mark *mark, uint64_t steps)
{
	return __atomic_load_n(&mark->steps, __ATOMIC_ACQUIRE) == steps;
}

/* Fills the report and returns true where the program of @mark has been at it for too long. */
static bool spin_is_stuck(struct spin *spin, const struct mark *mark, struct seen *seen)
{
	struct spin_report *report = &spin->answer.report;
	const uint64_t steps = __atomic_load_n(&mark->steps, __ATOMIC_ACQUIRE);
	const char *host = __atomic_load_n(&mark->host, __ATOMIC_RELAXED);
	const char *program = __atomic_load_n(&mark->program, __ATOMIC_RELAXED);
	const int tid = __atomic_load_n(&mark->tid, __ATOMIC_RELAXED);
	uint64_t now_ns = 0;

	if (!host || !is_still(mark, steps) || !processor_ns(tid, &now_ns)) {
		seen->running = false;
		return false;
	}
	if (!seen->running || seen->steps != steps) {
		*seen = (struct seen){.steps = steps, .since_ns = now_ns, .running = true};
		return false;
	}
	if (now_ns - seen->since_ns < spin->limit_ns || !spin_ask(spin, tid))
		return false;
	for (int i = 0; i < ANSWER_MS && !__atomic_load_n(&spin->answer.ready, __ATOMIC_ACQUIRE);
	     i++)
		if (pause_ms(spin, 1))
			return false;
	if (!__atomic_load_n(&spin->answer.ready, __ATOMIC_ACQUIRE))
		report->place_count = 0; /* it does not take signals: ThreadSanitizer, a mask */
	report->host = host;
	report->program = program;
	report->used_ms = (now_ns - seen->since_ns) / 1000000;
	return is_still(mark, steps);
}

static void *watch(void *arg)
{
	struct spin *spin = arg;

	while (!pause_ms(spin, PERIOD_MS))
		for (uint32_t i = 0; i < spin->thread_count; i++)
			if (spin_is_stuck(spin, &spin->marks[i], &spin->seen[i])) {
				spin->fn(spin->owner, &spin->answer.report);
				return NULL;
			}
	return NULL;
}

/* Signals are for the program's threads: not for ours. */
static bool spin_start(struct spin *spin)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&spin->thread, NULL, watch, spin) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}

struct spin *spin_create(uint32_t thread_count, uint64_t limit_ms, spin_fn *fn, void *owner)
{
	struct spin *spin = util_calloc(1, sizeof(*spin));
	struct sigaction action = {.sa_sigaction = spin_on_signal,
				   .sa_flags = SA_SIGINFO | SA_RESTART};
	pthread_condattr_t clock;
	void *frames[2];

	if (!spin)
		return NULL;
	spin->marks = util_calloc(thread_count + 1, sizeof(*spin->marks));
	spin->seen = util_calloc(thread_count, sizeof(*spin->seen));
	spin->thread_count = thread_count;
	spin->limit_ns = limit_ms * 1000000;
	spin->fn = fn;
	spin->owner = owner;
	pthread_mutex_init(&spin->lock, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&spin->changed, &clock);
	pthread_condattr_destroy(&clock);
	backtrace(frames, 2);
	sigemptyset(&action.sa_mask);
	CHECK(sigaction(SIGRTMIN + SIGNAL_OFFSET, &action, &spin->before) == 0);
	spin->has_thread = spin->marks && spin->seen && spin_start(spin);
	if (spin->has_thread)
		return spin;
	spin_destroy(spin);
	return NULL;
}

void spin_destroy(struct spin *spin)
{
	if (!spin)
		return;
	pthread_mutex_lock(&spin->lock);
	spin->stop = true;
	pthread_cond_broadcast(&spin->changed);
	pthread_mutex_unlock(&spin->lock);
	if (spin->has_thread)
		pthread_join(spin->thread, NULL);
	sigaction(SIGRTMIN + SIGNAL_OFFSET, &spin->before, NULL);
	pthread_cond_destroy(&spin->changed);
	pthread_mutex_destroy(&spin->lock);
	util_free(spin->marks);
	util_free(spin->seen);
	util_free(spin);
}
