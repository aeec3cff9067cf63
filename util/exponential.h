/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_EXPONENTIAL_H
#define UTIL_EXPONENTIAL_H

/* Exponentially distributed numbers without floating point. */
#include <stdint.h>

/* -ln((draw + 1) / 2^64) in Q32.32, within 2^-24: of mean 1 where @draw is any of 2^64 with equal
 * chance. 0 to 44.4. */
uint64_t util_exponential(uint64_t draw);

#endif
