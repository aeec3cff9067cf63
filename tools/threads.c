/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/threads.h"

#include "tools/thread_calls.h"
#include "tools/thread_wait.h"
#include "util/check.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { STACK_BYTES = 256 * 1024, STACK_BYTES_MIN = 64 * 1024, NAME_BYTES_MAX = 320 };

static void (*refusal)(const char *call);

/* ---- who runs, and who waits ---- */

struct thread *thread_self(void)
{
	struct task *task = task_current();

	if (!task)
		return NULL;
	task_pay(task);
	return task->thread;
}

void threads_on_refusal(void (*fn)(const char *call))
{
	refusal = fn;
}

_Noreturn void thread_refuse(const char *call)
{
	if (refusal)
		refusal(call);
	fprintf(stderr, "%s() is not served in virtual time\n", call);
	_exit(3);
}

bool thread_wait(struct thread *self, const void *what, ps_t deadline)
{
	struct thread **last = &self->threads->first_waiter;

	while (*last)
		last = &(*last)->next;
	*last = self;
	self->next = NULL;
	self->awaits = what;
	self->woken = false;
	if (deadline != PS_NEVER)
		task_wake(self->task,
			  deadline > self->task->host->now ? deadline : self->task->host->now);
	task_block(self->task);
	self->awaits = NULL;
	if (self->woken)
		return true;
	for (last = &self->threads->first_waiter; *last != self; last = &(*last)->next)
		;
	*last = self->next;
	return false;
}

struct thread *thread_waiting(const struct threads *threads, const void *what)
{
	for (struct thread *thread = threads->first_waiter; thread; thread = thread->next)
		if (thread->awaits == what)
			return thread;
	return NULL;
}

void thread_wake(struct thread *thread)
{
	struct thread **at = &thread->threads->first_waiter;

	while (*at != thread)
		at = &(*at)->next;
	*at = thread->next;
	thread->woken = true;
	task_wake(thread->task, thread->task->host->now);
}

struct thread_object *thread_object(struct threads *threads, const void *address)
{
	for (uint32_t i = 0; i < threads->object_count; i++)
		if (threads->objects[i].address == address)
			return &threads->objects[i];
	return NULL;
}

struct thread_object *thread_object_add(struct threads *threads, const void *address)
{
	struct thread_object *all =
		realloc(threads->objects, (threads->object_count + 1) * sizeof(*all));

	if (!all)
		return NULL;
	threads->objects = all;
	all[threads->object_count] = (struct thread_object){.address = address};
	return &all[threads->object_count++];
}

void thread_object_drop(struct threads *threads, const void *address)
{
	struct thread_object *object = thread_object(threads, address);

	if (object)
		*object = threads->objects[--threads->object_count];
}

/* ---- threads ---- */

static struct thread *add_thread(struct threads *threads)
{
	struct thread **all = realloc(threads->all, (threads->count + 1) * sizeof(*all));
	struct thread *thread = calloc(1, sizeof(*thread));

	if (all)
		threads->all = all;
	if (!all || !thread) {
		free(thread);
		return NULL;
	}
	thread->threads = threads;
	all[threads->count++] = thread;
	thread->number = threads->count;
	return thread;
}

struct threads *threads_create(void)
{
	struct threads *threads = calloc(1, sizeof(*threads));
	struct task *task = task_current();
	struct thread *first = threads ? add_thread(threads) : NULL;

	CHECK(task != NULL && task->process == task);
	if (!first) {
		threads_destroy(threads);
		return NULL;
	}
	first->task = task;
	task->thread = first;
	return threads;
}

void threads_destroy(struct threads *threads)
{
	for (uint32_t i = 0; threads && i < threads->count; i++)
		free(threads->all[i]);
	if (threads) {
		free(threads->all);
		free(threads->objects);
	}
	free(threads);
}

int threads_run(struct threads *threads, threads_main_fn *fn, void *arg, bool may_exit)
{
	struct thread *first = threads->all[0];

	threads->may_exit = may_exit;
	if (_setjmp(first->end) == 0)
		threads->exit_status = fn(arg);
	first->ended = true;
	for (uint32_t i = 1; i < threads->count; i++)
		if (!threads->all[i]->ended)
			task_end(threads->all[i]->task);
	return threads->exit_status;
}

/* POSIX: again and again, as destructors may set values. */
static void end_values(struct thread *self)
{
	enum { ROUNDS = 4 };
	bool any = true;

	for (int round = 0; any && round < ROUNDS; round++) {
		any = false;
		for (uint32_t i = 0; i < self->threads->key_count; i++) {
			void *value = self->values[i];

			self->values[i] = NULL;
			if (!value || !self->threads->ends[i])
				continue;
			any = true;
			self->threads->ends[i](value);
		}
	}
}

static void drop_stack(struct thread *thread)
{
	if (thread->stack)
		memory_unmap_stack(thread->stack, thread->stack_bytes);
	thread->stack = NULL;
}

static void thread_main(void *arg)
{
	struct thread *self = arg;
	struct thread *joins;

	if (_setjmp(self->end) == 0)
		self->result = self->start(self->arg);
	end_values(self);
	self->ended = true;
	joins = thread_waiting(self->threads, self);
	if (joins)
		thread_wake(joins);
	joins = thread_waiting(self->threads, self->threads); /* the first, in pthread_exit() */
	if (joins)
		thread_wake(joins);
}

static struct thread *thread_of(const struct thread *self, pthread_t id)
{
	return (uintptr_t)id >= 1 && (uintptr_t)id <= self->threads->count
		       ? self->threads->all[(uintptr_t)id - 1]
		       : NULL;
}

int thread_create(pthread_t *ret_id, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	struct thread *self = thread_self(), *thread;
	struct task *process = self ? self->task->process : NULL;
	int state = PTHREAD_CREATE_JOINABLE, ret;
	char name[NAME_BYTES_MAX];

	if (!self)
		return pthread_create(ret_id, attr, start, arg);
	if (self->threads->count == THREADS_MAX)
		return EAGAIN;
	thread = add_thread(self->threads);
	if (!thread)
		return EAGAIN;
	thread->start = start;
	thread->arg = arg;
	thread->stack_bytes = STACK_BYTES;
	if (attr) {
		pthread_attr_getdetachstate(attr, &state);
		pthread_attr_getstacksize(attr, &thread->stack_bytes);
	}
	thread->detached = state == PTHREAD_CREATE_DETACHED;
	if (thread->stack_bytes < STACK_BYTES_MIN)
		thread->stack_bytes = STACK_BYTES_MIN;
	thread->stack = memory_map_stack(&thread->stack_bytes);
	snprintf(name, sizeof(name), "%s thread %u", process->name, thread->number - 1);
	ret = task_spawn_thread(process, name, thread_main, thread, thread->stack,
				thread->stack_bytes, &thread->task);
	if (ret) {
		drop_stack(thread);
		self->threads->count--;
		free(thread);
		return EAGAIN;
	}
	thread->task->thread = thread;
	*ret_id = (pthread_t)(uintptr_t)thread->number;
	return 0;
}

int thread_join(pthread_t id, void **ret_result)
{
	struct thread *self = thread_self(), *thread;

	if (!self)
		return pthread_join(id, ret_result);
	thread = thread_of(self, id);
	if (!thread || thread->joined)
		return ESRCH;
	if (thread == self)
		return EDEADLK;
	if (thread->detached || thread_waiting(self->threads, thread))
		return EINVAL;
	if (!thread->ended)
		thread_wait(self, thread, PS_NEVER);
	thread->joined = true;
	drop_stack(thread);
	if (ret_result)
		*ret_result = thread->result;
	return 0;
}

int thread_detach(pthread_t id)
{
	struct thread *self = thread_self(), *thread;

	if (!self)
		return pthread_detach(id);
	thread = thread_of(self, id);
	if (!thread || thread->joined)
		return ESRCH;
	if (thread->detached)
		return EINVAL;
	thread->detached = true;
	return 0;
}

static bool others_run(const struct threads *threads)
{
	for (uint32_t i = 1; i < threads->count; i++)
		if (!threads->all[i]->ended)
			return true;
	return false;
}

/* Of the first thread: the rank ends with the last one, and well. */
_Noreturn void thread_exit(void *result)
{
	struct thread *self = thread_self();

	if (!self)
		pthread_exit(result);
	self->result = result;
	while (self->number == 1 && others_run(self->threads))
		thread_wait(self, self->threads, PS_NEVER);
	_longjmp(self->end, 1);
}

_Noreturn void thread_exit_process(int status)
{
	struct thread *self = thread_self();

	if (!self || !self->threads->may_exit || self->number != 1)
		exit(status);
	self->threads->exit_status = status & 0xff;
	_longjmp(self->end, 1);
}

pthread_t thread_self_id(void)
{
	const struct thread *self = thread_self();

	return self ? (pthread_t)(uintptr_t)self->number : pthread_self();
}

/* ---- values of threads ---- */

/* Keys that were made outside of ranks stay the system's. */
static bool is_own_key(pthread_key_t key)
{
	return key >= THREAD_KEY_FIRST && key < THREAD_KEY_FIRST + THREAD_KEYS;
}

int thread_key_create(pthread_key_t *ret_key, void (*end)(void *))
{
	const struct thread *self = thread_self();

	if (!self)
		return pthread_key_create(ret_key, end);
	if (self->threads->key_count == THREAD_KEYS)
		return EAGAIN;
	self->threads->ends[self->threads->key_count] = end;
	*ret_key = THREAD_KEY_FIRST + self->threads->key_count++;
	return 0;
}

int thread_key_delete(pthread_key_t key)
{
	const struct thread *self = thread_self();

	if (!self || !is_own_key(key))
		return pthread_key_delete(key);
	self->threads->ends[key - THREAD_KEY_FIRST] = NULL;
	for (uint32_t i = 0; i < self->threads->count; i++)
		self->threads->all[i]->values[key - THREAD_KEY_FIRST] = NULL;
	return 0;
}

void *thread_get_value(pthread_key_t key)
{
	const struct thread *self = is_own_key(key) ? thread_self() : NULL;

	return self ? self->values[key - THREAD_KEY_FIRST] : pthread_getspecific(key);
}

int thread_set_value(pthread_key_t key, const void *value)
{
	struct thread *self = is_own_key(key) ? thread_self() : NULL;

	if (!self)
		return pthread_setspecific(key, value);
	self->values[key - THREAD_KEY_FIRST] = (void *)(uintptr_t)value;
	return 0;
}
