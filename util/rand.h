/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_RAND_H
#define UTIL_RAND_H

/* Keyed, counter-based random streams. A draw is a function of (seed, entity, purpose, counter)
 * alone: neither another entity nor another purpose can shift it, and no draw tells the next. */
#include "util/units.h"

struct util_rand {
	uint64_t seed;
	uint64_t entity;  /* hash of the name */
	uint64_t purpose; /* an enum of the drawing module */
	uint64_t counter;
};

uint64_t util_rand_next(struct util_rand *rand);		  /* any of 2^64, each as likely */
uint64_t util_rand_below(struct util_rand *rand, uint64_t limit); /* limit > 0; unbiased */

#endif
