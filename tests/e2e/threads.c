/* SPDX-License-Identifier: BSD-2-Clause */

/* Threads of a program in virtual time. The first argument says what they do. */
#include "include/verbena/verbena.h"
#include "tests/programs/util.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { THREADS = 4, ROUNDS = 3 };

#define US 1000000u /* in picoseconds */
#define HOLDS(cond)                                                                                \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			prog_say(all->prog, "line %d: not so: %s", __LINE__, #cond);               \
			return -1;                                                                 \
		}                                                                                  \
	} while (0)

struct all {
	const struct vb_prog *prog;
	pthread_t ids[THREADS];
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_rwlock_t rw;
	pthread_barrier_t barrier;
	pthread_once_t once;
	pthread_key_t key;
	sem_t sem;
	int count, inside, ended, turn;
	struct prog_ctx ctx;
	struct prog_qp qp;
	uint64_t seen[64];
};

static int start(struct all *all, void *(*fn)(void *))
{
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&all->ids[i], NULL, fn, all) != 0)
			return -1;
	return 0;
}

static int join(const struct all *all)
{
	for (int i = 0; i < THREADS; i++) {
		void *result = NULL;

		if (pthread_join(all->ids[i], &result) != 0 || result != all)
			return -1;
	}
	return 0;
}

/* ---- locks ---- */

/* Each holds the lock for 10 us, ROUNDS times. */
static void *holds_lock(void *arg)
{
	struct all *all = arg;

	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(&all->lock);
		all->inside++;
		usleep(10);
		all->count += all->inside == 1;
		all->inside--;
		pthread_mutex_unlock(&all->lock);
	}
	return all;
}

static int locks(struct all *all)
{
	const uint64_t begin = vb_now_ps();

	HOLDS(start(all, holds_lock) == 0);
	HOLDS(join(all) == 0);
	HOLDS(all->count == THREADS * ROUNDS);
	HOLDS(vb_now_ps() - begin == (uint64_t)THREADS * ROUNDS * 10 * US);
	HOLDS(pthread_mutex_trylock(&all->lock) == 0);
	HOLDS(pthread_mutex_trylock(&all->lock) == EBUSY);
	HOLDS(pthread_mutex_unlock(&all->lock) == 0);
	HOLDS(pthread_join(all->ids[0], NULL) == ESRCH);
	HOLDS(pthread_join(pthread_self(), NULL) == EDEADLK);
	return 0;
}

/* One after another, by number. */
static void *takes_turns(void *arg)
{
	struct all *all = arg;
	int mine;

	pthread_mutex_lock(&all->lock);
	mine = all->count++;
	while (all->turn != mine)
		pthread_cond_wait(&all->changed, &all->lock);
	usleep(5);
	all->turn++;
	pthread_cond_broadcast(&all->changed);
	pthread_mutex_unlock(&all->lock);
	return all;
}

static int conditions(struct all *all)
{
	const uint64_t begin = vb_now_ps();
	struct timespec until;
	uint64_t before;

	HOLDS(start(all, takes_turns) == 0);
	HOLDS(join(all) == 0);
	HOLDS(all->turn == THREADS);
	HOLDS(vb_now_ps() - begin == (uint64_t)THREADS * 5 * US);
	pthread_mutex_lock(&all->lock);
	for (int day = 0; day < 2; day++) {
		clock_gettime(day ? CLOCK_REALTIME : CLOCK_MONOTONIC, &until);
		until.tv_nsec += 70000;
		before = vb_now_ps();
		HOLDS(pthread_cond_timedwait(&all->changed, &all->lock, &until) == ETIMEDOUT);
		/* Clocks count nanoseconds. */
		HOLDS(vb_now_ps() - before <= 70 * US && vb_now_ps() - before > 70 * US - 1000);
	}
	pthread_mutex_unlock(&all->lock);
	return 0;
}

static void *reads_or_writes(void *arg)
{
	struct all *all = arg;

	pthread_barrier_wait(&all->barrier);
	pthread_rwlock_rdlock(&all->rw);
	usleep(10); /* all of them at once */
	pthread_rwlock_unlock(&all->rw);
	pthread_barrier_wait(&all->barrier);
	pthread_rwlock_wrlock(&all->rw);
	usleep(10); /* one after another */
	pthread_rwlock_unlock(&all->rw);
	sem_post(&all->sem);
	return all;
}

static int other_locks(struct all *all)
{
	const uint64_t begin = vb_now_ps();
	int value = -1;

	HOLDS(pthread_barrier_init(&all->barrier, NULL, THREADS) == 0);
	HOLDS(sem_init(&all->sem, 0, 0) == 0);
	HOLDS(sem_trywait(&all->sem) == -1 && errno == EAGAIN);
	HOLDS(start(all, reads_or_writes) == 0);
	for (int i = 0; i < THREADS; i++)
		HOLDS(sem_wait(&all->sem) == 0);
	HOLDS(vb_now_ps() - begin == (1 + THREADS) * 10 * US);
	HOLDS(join(all) == 0);
	HOLDS(sem_getvalue(&all->sem, &value) == 0 && value == 0);
	return 0;
}

/* ---- values, once, ends ---- */

static int times;

static void count_once(void)
{
	times++;
	usleep(1);
}

static void add_to(void *value)
{
	++*(int *)value;
}

static void *has_values(void *arg)
{
	struct all *all = arg;

	pthread_once(&all->once, count_once);
	if (pthread_getspecific(all->key) != NULL)
		return NULL;
	pthread_setspecific(all->key, &all->ended);
	sched_yield();
	if (pthread_getspecific(all->key) != &all->ended || times != 1)
		return NULL;
	pthread_exit(arg);
}

static int values(struct all *all)
{
	times = 0;
	HOLDS(pthread_key_create(&all->key, add_to) == 0);
	HOLDS(start(all, has_values) == 0);
	HOLDS(join(all) == 0);
	HOLDS(all->ended == THREADS);
	HOLDS(pthread_getspecific(all->key) == NULL);
	return 0;
}

static void *waits_for_ever(void *arg)
{
	struct all *all = arg;

	pthread_mutex_lock(&all->lock);
	while (all->count == 0)
		pthread_cond_wait(&all->changed, &all->lock);
	return arg;
}

static void *outlives(void *arg)
{
	struct all *all = arg;

	usleep(1000);
	prog_say(all->prog, "here I am");
	return arg;
}

/* ---- time ---- */

static int clocks(struct all *all)
{
	const struct timespec ms = {.tv_nsec = 1000000};
	struct timespec before, after;
	struct timeval day;

	clock_gettime(CLOCK_MONOTONIC, &before);
	HOLDS((uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec ==
	      vb_now_ps() / 1000);
	sleep(1);
	HOLDS(nanosleep(&ms, NULL) == 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	HOLDS((after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec ==
	      1001000000);
	after.tv_sec++;
	HOLDS(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &after, NULL) == 0);
	HOLDS((vb_now_ps() - (uint64_t)after.tv_sec * 1000000000000) / 1000 ==
	      (uint64_t)after.tv_nsec);
	HOLDS(gettimeofday(&day, NULL) == 0 && day.tv_sec == time(NULL));
	HOLDS(day.tv_sec == 946684800 + after.tv_sec); /* date -d '2000-01-01 UTC' +%s */
	return 0;
}

/* ---- verbs ---- */

/* Completions of what the first thread posts. */
static void *polls(void *arg)
{
	struct all *all = arg;
	struct ibv_wc wc;

	for (int i = 0; i < 64; i++) {
		if (prog_poll(&all->ctx, &wc) != 0)
			return NULL;
		pthread_mutex_lock(&all->lock);
		all->seen[wc.wr_id] = vb_now_ps();
		all->count++;
		pthread_cond_signal(&all->changed);
		pthread_mutex_unlock(&all->lock);
	}
	return arg;
}

static int sends(struct all *all, uint8_t *bytes)
{
	void *result = NULL;

	HOLDS(pthread_create(&all->ids[0], NULL, polls, all) == 0);
	for (int i = 0; i < 64; i++) {
		HOLDS(prog_post_send(&all->qp, (struct prog_send){.wr_id = (uint64_t)i,
								  .opcode = IBV_WR_RDMA_WRITE,
								  .bytes = bytes,
								  .length = 1000}) == 0);
		pthread_mutex_lock(&all->lock);
		while (all->count + 8 <= i) /* so many under way */
			pthread_cond_wait(&all->changed, &all->lock);
		pthread_mutex_unlock(&all->lock);
	}
	HOLDS(pthread_join(all->ids[0], &result) == 0 && result == all);
	for (int i = 1; i < 64; i++)
		HOLDS(all->seen[i] > all->seen[i - 1]);
	return 0;
}

static int verbs(struct all *all)
{
	uint8_t *bytes = calloc(1, 4096);
	int ret;

	if (!bytes || prog_open(&all->ctx, all->prog, 128, bytes, 4096) != 0)
		return -1;
	if (prog_qp_open(&all->qp, &all->ctx,
			 (struct prog_qp_params){.peer = 1 - all->prog->rank,
						 .send_depth = 64,
						 .recv_depth = 1}) != 0 ||
	    prog_connect(&all->qp, 1) != 0)
		return -1;
	ret = all->prog->rank == 0 ? sends(all, bytes) : 0;
	ret = ret ? ret : prog_close(&all->ctx, &all->qp, 1);
	free(bytes);
	return ret;
}

/* ---- what is told ---- */

static void *spins(void *arg)
{
	for (volatile int i = 0; i >= 0;)
		;
	return arg;
}

static void *calls_the_adapter(void *arg)
{
	struct all *all = arg;
	struct ibv_wc wc;

	ibv_poll_cq(all->ctx.cq, 1, &wc);
	return arg;
}

/* By a way that nobody has changed. */
static int stranger(struct all *all)
{
	int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	static uint8_t bytes[64];
	void *symbol = dlsym(RTLD_DEFAULT, "pthread_create");

	memcpy(&create, &symbol, sizeof(symbol));
	if (prog_open(&all->ctx, all->prog, 16, bytes, sizeof(bytes)) != 0)
		return -1;
	create(&all->ids[0], NULL, calls_the_adapter, all);
	for (;;)
		vb_sleep_ns(1000);
}

static int run(struct all *all, const char *what)
{
	if (strcmp(what, "locks") == 0)
		return locks(all);
	if (strcmp(what, "conditions") == 0)
		return conditions(all);
	if (strcmp(what, "other_locks") == 0)
		return other_locks(all);
	if (strcmp(what, "values") == 0)
		return values(all);
	if (strcmp(what, "clocks") == 0)
		return clocks(all);
	if (strcmp(what, "verbs") == 0)
		return verbs(all);
	if (strcmp(what, "left") == 0)
		return start(all, outlives);
	if (strcmp(what, "never") == 0)
		return start(all, waits_for_ever) == 0 ? join(all) : -1;
	if (strcmp(what, "spin") == 0)
		return start(all, spins) == 0 ? join(all) : -1;
	if (strcmp(what, "alarm") == 0)
		return (int)alarm(1);
	return strcmp(what, "stranger") == 0 ? stranger(all) : -1;
}

int prog_main(const struct vb_prog *prog)
{
	struct all all = {.prog = prog,
			  .lock = PTHREAD_MUTEX_INITIALIZER,
			  .changed = PTHREAD_COND_INITIALIZER,
			  .rw = PTHREAD_RWLOCK_INITIALIZER,
			  .once = PTHREAD_ONCE_INIT};

	return prog->arg_count == 1 ? run(&all, prog->args[0]) : -1;
}
