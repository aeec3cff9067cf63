/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_SPIN_H
#define MODELS_SPIN_H

/* Finds programs that spin: virtual time stands still while a program computes, so one that waits
 * for memory to change without a call waits for ever. A thread of our own looks now and then at the
 * processor time of whichever program is inside its own code; the one that has used too much of it
 * since its last call is asked, by a signal, where it is. Nothing of this can be seen in a run. */
#include <stdbool.h>
#include <stdint.h>

enum { SPIN_PLACES = 24, SPIN_LIMIT_MS = 2000 };

struct spin_report {
	const char *host, *program;
	bool is_stranger; /* not of a program that spins: spin_stranger() */
	uint64_t used_ms; /* of the processor, since its last call */
	/* Program counters: where it was, then the return addresses around it. None where the
	 * program did not take our signal. */
	uint32_t place_count;
	void *places[SPIN_PLACES];
};

/* From the watching thread, once, while the program goes on spinning; of a stranger on its own
 * thread. */
typedef void spin_fn(void *owner, const struct spin_report *report);

/* From the handler of a signal, with its ucontext_t: where the thread was, and its callers. Returns
 * how many @ret_places were filled. After spin_create(), which loads the unwinder. */
uint32_t spin_places(const void *context, void *ret_places[SPIN_PLACES]);

struct spin;

/* On a thread that a program has made and that is none of those in virtual time: it has called for
 * the adapter of @program, and is reported with its place. */
void spin_stranger(struct spin *spin, const char *host, const char *program);

/* @thread_count: of the simulation. Programs that use @limit_ms without a call are reported. NULL:
 * no memory, no thread. One at a time in a process: it takes a signal, SIGRTMIN + 6. */
struct spin *spin_create(uint32_t thread_count, uint64_t limit_ms, spin_fn *fn, void *owner);
void spin_destroy(struct spin *spin); /* before the hosts go; NULL allowed */

/* A program's own code begins to run, on this thread of the process, for simulation thread @number;
 * calls us; is left. */
void spin_enter(struct spin *spin, uint32_t number, const char *host, const char *program);
void spin_touch(struct spin *spin, uint32_t number);
void spin_leave(struct spin *spin, uint32_t number);

#endif
