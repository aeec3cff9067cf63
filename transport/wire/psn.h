/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WIRE_PSN_H
#define WIRE_PSN_H

/* 24-bit packet sequence numbers: the only place that knows how they wrap. */
#include <stdint.h>

#define WIRE_U24_MAX 0xffffffu

static inline uint32_t wire_psn_add(uint32_t psn, uint32_t count)
{
	return (psn + count) & WIRE_U24_MAX;
}

/* Signed distance from @b to @a, in [-2^23, 2^23). */
static inline int32_t wire_psn_diff(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

#endif
