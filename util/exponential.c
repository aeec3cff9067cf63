/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/exponential.h"

#include "util/units.h"

#define LN_2_Q40 762123384786u /* ln 2 * 2^40 */

/* ln(c) in Q0.40 of the middle c of each of 256 parts of [1, 2). */
static const uint64_t middles[256] = {
#include "util/neglog.inc"
};

/* u = 2^-n m with 1 <= m < 2, and m = c (1 + x) with |x| < 2^-9, where ln(1 + x) = x - x^2 / 2
 * within 2^-28. */
uint64_t util_exponential(uint64_t draw)
{
	const uint64_t u = draw + 1; /* 0: 2^64 */
	const uint32_t n = u ? (uint32_t)__builtin_clzll(u) + 1 : 0;
	const uint64_t m = u ? n < 64 ? u << n : 0 : 0; /* behind the point, Q0.64 */
	const uint32_t part = (uint32_t)(m >> 56);
	const int64_t c = ((int64_t)2 * part + 513) << 31; /* Q1.40 */
	const int64_t d = (int64_t)((m >> 24) + ((uint64_t)1 << 40)) - c;
	const int64_t x = d * ((int64_t)1 << 20) / (c >> 20); /* Q0.40 */
	const int64_t ln_m = (int64_t)middles[part] + x - ((x >> 10) * (x >> 10) >> 21);
	const int64_t whole = (int64_t)n * (int64_t)LN_2_Q40 - ln_m;

	return whole > 0 ? (uint64_t)whole >> 8 : 0;
}
