/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/coro.h"

#include "models/program/coro_thread.h"
#include "util/alloc.h"
#include "util/check.h"

#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define CORO_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CORO_ASAN 1
#endif
#endif
#ifndef CORO_ASAN
#define CORO_ASAN 0
#endif

#if CORO_ASAN
#include <sanitizer/common_interface_defs.h>
#endif

/* Of a thread that runs on another. */
enum { THREAD_STACK_BYTES = 64 * 1024 };

struct coro {
	coro_fn *fn;
	void *arg;
	struct coro_thread *thread; /* back end thread; NULL: a stack */
	ucontext_t inside, outside;
	uint8_t *stack;
	size_t stack_bytes;
	uint8_t *map; /* with its guard; NULL: the stack is somebody else's */
	size_t map_bytes;
	bool done;
	/* AddressSanitizer must be told which stack runs. */
	void *fake_inside, *fake_outside;
	const void *outside_bottom;
	size_t outside_bytes;
};

static void switch_begin(void **fake, const void *bottom, size_t bytes)
{
#if CORO_ASAN
	__sanitizer_start_switch_fiber(fake, bottom, bytes);
#else
	(void)fake;
	(void)bottom;
	(void)bytes;
#endif
}

static void switch_end(void *fake, const void **ret_bottom, size_t *ret_bytes)
{
#if CORO_ASAN
	__sanitizer_finish_switch_fiber(fake, ret_bottom, ret_bytes);
#else
	(void)fake;
	(void)ret_bottom;
	(void)ret_bytes;
#endif
}

/* makecontext() passes ints only: the pointer comes in two halves. */
static void stack_main(unsigned high, unsigned low)
{
	struct coro *coro = (struct coro *)((uintptr_t)high << 32 | low);

	switch_end(NULL, &coro->outside_bottom, &coro->outside_bytes);
	coro->fn(coro->arg);
	coro->done = true;
	switch_begin(NULL, coro->outside_bottom, coro->outside_bytes);
	setcontext(&coro->outside);
}

static bool stack_create(struct coro *coro, size_t stack_bytes)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;

	coro->map_bytes = (stack_bytes + page - 1) / page * page + page;
	map = mmap(NULL, coro->map_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (map == MAP_FAILED)
		return false;
	coro->map = map;
	coro->stack = coro->map + page;
	coro->stack_bytes = coro->map_bytes - page;
	return mprotect(map, page, PROT_NONE) == 0;
}

static bool context_create(struct coro *coro)
{
	if (getcontext(&coro->inside) != 0)
		return false;
	coro->inside.uc_stack.ss_sp = coro->stack;
	coro->inside.uc_stack.ss_size = coro->stack_bytes;
	coro->inside.uc_link = NULL;
	makecontext(&coro->inside, (void (*)(void))stack_main, 2, (unsigned)((uintptr_t)coro >> 32),
		    (unsigned)(uintptr_t)coro);
	return true;
}

/* On a thread, whose own stack is not the one that was asked for. */
static void coro_thread_main(void *arg)
{
	struct coro *coro = arg;

	CHECK(swapcontext(&coro->outside, &coro->inside) == 0);
}

struct coro *coro_create_on(enum coro_backend backend, void *stack, size_t stack_bytes, coro_fn *fn,
			    void *arg)
{
	struct coro *coro = util_calloc(1, sizeof(*coro));
	bool ok = true;

	if (!coro)
		return NULL;
	coro->fn = fn;
	coro->arg = arg;
	coro->stack = stack;
	coro->stack_bytes = stack_bytes;
	if (!stack && backend != CORO_THREAD)
		ok = stack_create(coro, stack_bytes);
	if (ok && coro->stack)
		ok = context_create(coro);
	if (ok && backend == CORO_THREAD) {
		coro->thread = stack ? coro_thread_create(THREAD_STACK_BYTES, coro_thread_main,
							  coro, &coro->outside)
				     : coro_thread_create(stack_bytes, fn, arg, NULL);
		ok = coro->thread != NULL;
	}
	if (ok)
		return coro;
	coro_destroy(coro);
	return NULL;
}

struct coro *coro_create(enum coro_backend backend, size_t stack_bytes, coro_fn *fn, void *arg)
{
	return coro_create_on(backend, NULL, stack_bytes, fn, arg);
}

void coro_destroy(struct coro *coro)
{
	if (!coro)
		return;
	coro_thread_destroy(coro->thread);
	if (coro->map)
		munmap(coro->map, coro->map_bytes);
	util_free(coro);
}

bool coro_resume(struct coro *coro)
{
	CHECK(!coro->done);
	if (coro->thread) {
		coro->done = !coro_thread_resume(coro->thread);
		return !coro->done;
	}
	switch_begin(&coro->fake_outside, coro->stack, coro->stack_bytes);
	CHECK(swapcontext(&coro->outside, &coro->inside) == 0);
	switch_end(coro->fake_outside, NULL, NULL);
	return !coro->done;
}

void coro_yield(struct coro *coro)
{
	if (coro->thread) {
		coro_thread_yield(coro->thread);
		return;
	}
	switch_begin(&coro->fake_inside, coro->outside_bottom, coro->outside_bytes);
	CHECK(swapcontext(&coro->inside, &coro->outside) == 0);
	switch_end(coro->fake_inside, &coro->outside_bottom, &coro->outside_bytes);
}
