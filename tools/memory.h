/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_MEMORY_H
#define TOOLS_MEMORY_H

/* The memory of the programs of a run, each rank's in a space of its own (models/program/space.h).
 * Modules reach it through the calls of libc that they always made: load_open()
 * (tools/load.h) turns these to the functions here. What is called outside of a rank, or where
 * there are no spaces, is libc's as ever, and what libc gave is given back to libc. */
#include "models/program/space.h"

/* The functions of libc that modules call here instead. */
struct memory_call {
	const char *name;
	void (*fn)(void); /* of the type that libc gives it */
};
extern const struct memory_call memory_calls[];
extern const uint32_t memory_call_count;

/* Spaces for @count ranks, until the next call or the end of the process; there is one such set at
 * a time. No program may run, and the memory of an earlier set is gone. 0, or as space_open():
 * there are none then. */
int memory_open(uint32_t count, size_t stack_bytes);
struct space *memory_space(uint32_t number); /* NULL: there is none */

/* For struct vrb_provider. */
void *memory_calloc(size_t count, size_t bytes);
void memory_free(void *ptr);

/* A stack for a thread of the rank that runs here, above a guard, of *@bytes, which are rounded up;
 * NULL: the rank's memory lies anywhere, or there is none left. */
void *memory_map_stack(size_t *bytes);
void memory_unmap_stack(void *stack, size_t bytes);

#endif
