/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_UNITS_H
#define UTIL_UNITS_H

/* Time, rates and the conversions between them. Integers only. */
#include <stddef.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 u128;

typedef uint64_t ps_t; /* picoseconds since the run or the device began; 213 days fit */
#define PS_NEVER UINT64_MAX
#define PS_NS ((ps_t)1000)
#define PS_US ((ps_t)1000000)
#define PS_MS ((ps_t)1000000000)
#define PS_S ((ps_t)1000000000000)

/* Rounded up per packet, so that packets back to back never overlap. */
static inline ps_t util_tx_time(uint64_t bytes, uint64_t rate_bps)
{
	return (ps_t)(((u128)bytes * 8 * PS_S + rate_bps - 1) / rate_bps);
}

/* The value of a 32-bit field in network order. */
static inline uint32_t util_from_be32(uint32_t be)
{
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	return __builtin_bswap32(be);
#else
	return be;
#endif
}

#define container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#endif
