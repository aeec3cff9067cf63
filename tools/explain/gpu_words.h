/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_EXPLAIN_GPU_WORDS_H
#define TOOLS_EXPLAIN_GPU_WORDS_H

/* What the GPUs of a machine did in a span of time, and what programs had to do with them, in
 * sentences: copy engines and the lanes that they use, copies of memory that is not pinned, pins,
 * flushes, kernels, managed memory, windows. */
#include "tools/explain/machine_watch.h"

#include <stdio.h>

/* A line for each that took a twentieth of the span, behind @title. False: there is none, and
 * nothing is written. */
bool gpu_words_say(const struct machine_watch *watch, const char *title, FILE *file);

/* Directions of lanes that an engine of the n-th GPU uses: over NVLink all that lead from it, where
 * it has such. Room for all ways of the machine. How many. */
uint32_t gpu_words_ways(const struct machine_seen *machine, uint32_t gpu, enum gpu_engine engine,
			uint32_t *ret_ways);

#endif
