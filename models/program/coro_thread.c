/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/coro_thread.h"

#include "util/alloc.h"
#include "util/check.h"

#include <limits.h>
#include <pthread.h>

enum baton { BATON_OUTSIDE, BATON_INSIDE };

struct coro_thread {
	pthread_t id;
	pthread_mutex_t lock;
	pthread_cond_t passed;
	enum baton baton;
	bool done, abandoned;
	coro_fn *fn;
	void *arg;
	const ucontext_t *home;
};

static void coro_thread_pass(struct coro_thread *thread, enum baton to)
{
	thread->baton = to;
	pthread_cond_broadcast(&thread->passed);
}

static void wait_for(struct coro_thread *thread, enum baton baton)
{
	while (thread->baton != baton)
		pthread_cond_wait(&thread->passed, &thread->lock);
}

/* Inside, giving the lock back: an abandoned coroutine ends here instead of going on. */
static void wait_inside(struct coro_thread *thread)
{
	wait_for(thread, BATON_INSIDE);
	pthread_mutex_unlock(&thread->lock);
	if (!thread->abandoned)
		return;
	if (thread->home)
		setcontext(thread->home);
	pthread_exit(NULL);
}

static void *coro_thread_entry(void *arg)
{
	struct coro_thread *thread = arg;

	pthread_mutex_lock(&thread->lock);
	wait_for(thread, BATON_INSIDE);
	pthread_mutex_unlock(&thread->lock);
	if (!thread->abandoned)
		thread->fn(thread->arg);
	pthread_mutex_lock(&thread->lock);
	thread->done = true;
	coro_thread_pass(thread, BATON_OUTSIDE);
	pthread_mutex_unlock(&thread->lock);
	return NULL;
}

struct coro_thread *coro_thread_create(size_t stack_bytes, coro_fn *fn, void *arg,
				       const ucontext_t *home)
{
	struct coro_thread *thread = util_calloc(1, sizeof(*thread));
	pthread_attr_t attr;
	int ret;

	if (!thread)
		return NULL;
	thread->fn = fn;
	thread->arg = arg;
	thread->home = home;
	pthread_mutex_init(&thread->lock, NULL);
	pthread_cond_init(&thread->passed, NULL);
	CHECK(pthread_attr_init(&attr) == 0);
	if (stack_bytes < (size_t)PTHREAD_STACK_MIN)
		stack_bytes = (size_t)PTHREAD_STACK_MIN;
	CHECK(pthread_attr_setstacksize(&attr, (stack_bytes + 4095) / 4096 * 4096) == 0);
	ret = pthread_create(&thread->id, &attr, coro_thread_entry, thread);
	pthread_attr_destroy(&attr);
	if (ret == 0)
		return thread;
	pthread_cond_destroy(&thread->passed);
	pthread_mutex_destroy(&thread->lock);
	util_free(thread);
	return NULL;
}

void coro_thread_destroy(struct coro_thread *thread)
{
	if (!thread)
		return;
	pthread_mutex_lock(&thread->lock);
	thread->abandoned = true;
	coro_thread_pass(thread, BATON_INSIDE);
	pthread_mutex_unlock(&thread->lock);
	CHECK(pthread_join(thread->id, NULL) == 0);
	pthread_cond_destroy(&thread->passed);
	pthread_mutex_destroy(&thread->lock);
	util_free(thread);
}

bool coro_thread_resume(struct coro_thread *thread)
{
	bool done;

	pthread_mutex_lock(&thread->lock);
	coro_thread_pass(thread, BATON_INSIDE);
	wait_for(thread, BATON_OUTSIDE);
	done = thread->done;
	pthread_mutex_unlock(&thread->lock);
	return !done;
}

void coro_thread_yield(struct coro_thread *thread)
{
	pthread_mutex_lock(&thread->lock);
	coro_thread_pass(thread, BATON_OUTSIDE);
	wait_inside(thread);
}
