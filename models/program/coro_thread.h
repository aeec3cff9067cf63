/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_CORO_THREAD_H
#define MODELS_CORO_THREAD_H

/* The thread back end of models/program/coro.h: one thread a coroutine, one baton; ThreadSanitizer
 * and debuggers see ordinary threads. */
#include "models/program/coro.h"
#include <ucontext.h>

struct coro_thread;

/* @home: where an unfinished one that is on another stack than its thread's goes in order to end;
 * NULL: it is on that stack. */
struct coro_thread *coro_thread_create(size_t stack_bytes, coro_fn *fn, void *arg,
				       const ucontext_t *home);
void coro_thread_destroy(struct coro_thread *thread); /* NULL allowed; ends an unfinished one */
bool coro_thread_resume(struct coro_thread *thread);  /* false: it has returned */
void coro_thread_yield(struct coro_thread *thread);

#endif
