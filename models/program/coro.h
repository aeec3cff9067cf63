/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_CORO_H
#define MODELS_CORO_H

/* Functions that can be left in the middle and gone on with: what a program in virtual time runs
 * on. Two back ends with one meaning: a stack of its own switched to in user space (default), or a
 * thread that holds a baton while it runs. */
#include <stdbool.h>
#include <stddef.h>

struct coro;

enum coro_backend { CORO_STACK, CORO_THREAD };

typedef void coro_fn(void *arg);

/* NULL: no memory or no thread. @stack_bytes is rounded up to pages; below it lies a guard page. */
struct coro *coro_create(enum coro_backend backend, size_t stack_bytes, coro_fn *fn, void *arg);
/* The same on a stack of the caller's, which stays until coro_destroy(): @fn and what it calls have
 * their variables at the same places on both back ends. */
struct coro *coro_create_on(enum coro_backend backend, void *stack, size_t stack_bytes, coro_fn *fn,
			    void *arg);
/* A coroutine that has not finished is abandoned where it is (its stack frames are not unwound). */
void coro_destroy(struct coro *coro);

/* Runs @coro until it yields or returns; false once it has returned. Not from inside a
 * coroutine. */
bool coro_resume(struct coro *coro);
/* From inside @coro: back to whoever resumed it. */
void coro_yield(struct coro *coro);

#endif
