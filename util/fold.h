/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_FOLD_H
#define UTIL_FOLD_H

/* A fast 64-bit hash of bytes, for digests of placed memory: any change of one 8-byte word changes
 * the result for certain, others with probability 1 - 2^-64. Not keyed, not for tables that an
 * enemy fills. The same on every machine. */
#include <stddef.h>
#include <stdint.h>

uint64_t util_fold_bytes(const void *bytes, size_t length);

#endif
