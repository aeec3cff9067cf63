/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_THREADS_H
#define TOOLS_THREADS_H

/* Threads of programs, in virtual time: each a task with the adapters of its rank. One runs at a
 * time, until it waits: for a lock, another thread, a time or a verbs call; who waited first goes
 * on first. Modules reach this through the calls of libc that they always made (load_open(),
 * tools/load.h). */
#include "tools/memory.h"

#include <stdbool.h>
#include <stdint.h>

struct threads; /* of one rank */

typedef int threads_main_fn(void *arg);

/* For the task that runs here. NULL: no memory. */
struct threads *threads_create(void);
void threads_destroy(struct threads *threads); /* once its tasks are gone; NULL allowed */
/* Calls @fn as the first thread, with which all others end. What it returns or, where it
 * @may_exit, gives to exit(). */
int threads_run(struct threads *threads, threads_main_fn *fn, void *arg, bool may_exit);

/* @fn hears, on the thread that calls, of a call that is not served, and does not return; without
 * it the process ends with a line. */
void threads_on_refusal(void (*fn)(const char *call));

extern const struct memory_call thread_calls[];
extern const uint32_t thread_call_count;

#endif
