/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_THREAD_WAIT_H
#define TOOLS_THREAD_WAIT_H

/* What the calls of threads stand on: who runs, and waiting for something that has an address. */
#include "models/program/task.h"

#include <setjmp.h>
#include <time.h>

enum { THREAD_KEYS = 128, THREAD_KEY_FIRST = 1 << 16, THREADS_MAX = 4096 };

struct thread {
	struct threads *threads;
	struct task *task;
	uint32_t number; /* from 1, the first thread: its pthread_t */
	void *(*start)(void *);
	void *arg, *result, *stack;
	size_t stack_bytes;
	jmp_buf end;
	const void *awaits;			     /* NULL: nothing */
	struct thread *next;			     /* of those that wait */
	bool woken, ended, detached, joined, writes; /* a lock for one */
	void *values[THREAD_KEYS];
};

/* A lock that somebody has, a semaphore, a barrier; by its address. */
struct thread_object {
	const void *address;
	struct thread *owner;
	uint32_t count; /* times that the owner has it; those who read; of a semaphore; at a barrier
			 */
	uint32_t all;	/* of a barrier */
};

struct threads {
	struct thread **all;
	uint32_t count, key_count;
	void (*ends[THREAD_KEYS])(void *); /* destructors of keys */
	struct thread *first_waiter;
	struct thread_object *objects;
	uint32_t object_count;
	bool may_exit;
	int exit_status;
};

/* Who calls; NULL: nobody in virtual time. */
struct thread *thread_self(void);
/* Of threads_on_refusal(). */
_Noreturn void thread_refuse(const char *call);

/* Until somebody wakes it for @what; false: @deadline has come before. */
bool thread_wait(struct thread *self, const void *what, ps_t deadline);
/* The one that has waited longest, without waking it; NULL: none does. */
struct thread *thread_waiting(const struct threads *threads, const void *what);
void thread_wake(struct thread *thread);

/* NULL: there is none. */
struct thread_object *thread_object(struct threads *threads, const void *address);
/* All else zero; NULL: no memory. Others move. */
struct thread_object *thread_object_add(struct threads *threads, const void *address);
void thread_object_drop(struct threads *threads, const void *address);

/* Of a time of either clock: that of the day begins with the year 2000, the other with the run.
 * PS_NEVER: NULL, or beyond the end of time. */
#define THREAD_DAY_S 946684800
ps_t thread_time_of(const struct timespec *time);

#endif
