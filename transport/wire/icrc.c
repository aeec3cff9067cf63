/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/icrc.h"

#include "transport/wire/internal.h"
#include "transport/wire/pkt.h"
#include "transport/wire/ways.h"

#include <string.h>
#if defined(__x86_64__) && defined(__SSE2__)
#include <immintrin.h>
#define HAS_FOLDS 1
#endif

enum { STRIDE = 16 }; /* bytes a step: a table row for each */

static const uint32_t table[STRIDE][256] = {
#include "transport/wire/crc_table.inc"
};

static const uint32_t all_ones = 0xffffffff;
/* The register after the eight bytes of ones that stand for a local route header. */
static const uint32_t after_lrh = 0xdebb20e3;

/* What the four bytes of @word do, the last of which has @behind bytes of the step after it. */
static inline uint32_t four(uint32_t word, int behind)
{
	return table[behind + 3][word & 0xff] ^ table[behind + 2][word >> 8 & 0xff] ^
	       table[behind + 1][word >> 16 & 0xff] ^ table[behind][word >> 24];
}

static uint32_t add_by_table(uint32_t state, const uint8_t *bytes, size_t count)
{
	for (; count >= STRIDE; bytes += STRIDE, count -= STRIDE)
		state = four(state ^ get32_le(bytes), 12) ^ four(get32_le(bytes + 4), 8) ^
			four(get32_le(bytes + 8), 4) ^ four(get32_le(bytes + 12), 0);
	for (; count >= 4; bytes += 4, count -= 4)
		state = four(state ^ get32_le(bytes), 0);
	for (; count > 0; bytes++, count--)
		state = state >> 8 ^ table[0][(state ^ *bytes) & 0xff];
	return state;
}

#ifdef HAS_FOLDS
/* Processors that multiply polynomials (PCLMULQDQ) need no table for long runs: sixteen bytes are
 * moved over those behind them, which leaves the remainder as it is. To move 64 bits over n bits is
 * to multiply them by x^n mod P; of reflected ones the first eight bytes by x^(n + 32) and the
 * other eight by x^(n - 32), the constants reflected and one bit to the left (V. Gopal et al., Fast
 * CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction, 2009). */
enum { FOLDS = 4, FOLD = 16, FOLDED_MIN = FOLDS * FOLD };

__attribute__((target("pclmul,sse2"))) static inline __m128i moved(__m128i x, __m128i by)
{
	return _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11));
}

__attribute__((target("pclmul,sse2"))) static inline __m128i taken(const uint8_t *bytes)
{
	return _mm_loadu_si128((const __m128i_u *)bytes);
}

/* @first: FOLDED_MIN bytes, which @count others follow. Four at a time, for a product takes longer
 * than its turn. */
__attribute__((target("pclmul,sse2"))) static uint32_t
add_by_folds(uint32_t state, const uint8_t *first, const uint8_t *bytes, size_t count)
{
	const __m128i over_all = _mm_set_epi64x(0x1c6e41596, 0x154442bd4); /* n = 512 */
	const __m128i over_one = _mm_set_epi64x(0xccaa009e, 0x1751997d0);  /* n = 128 */
	__m128i x[FOLDS];
	uint8_t rest[FOLD];

	for (int i = 0; i < FOLDS; i++)
		x[i] = taken(first + FOLD * i);
	x[0] = _mm_xor_si128(x[0], _mm_cvtsi32_si128((int)state));
	for (; count >= FOLDED_MIN; bytes += FOLDED_MIN, count -= FOLDED_MIN)
		for (int i = 0; i < FOLDS; i++)
			x[i] = _mm_xor_si128(moved(x[i], over_all), taken(bytes + FOLD * i));
	for (int i = 1; i < FOLDS; i++)
		x[0] = _mm_xor_si128(moved(x[0], over_one), x[i]);
	for (; count >= FOLD; bytes += FOLD, count -= FOLD)
		x[0] = _mm_xor_si128(moved(x[0], over_one), taken(bytes));
	_mm_storeu_si128((__m128i_u *)rest, x[0]);
	return add_by_table(add_by_table(0, rest, FOLD), bytes, count);
}

/* The same with registers of four such products (VPCLMULQDQ), for frames of some KiB. What is left
 * in one of them are the first bytes of the narrower way. */
enum { WIDE_FOLD = FOLDED_MIN, WIDE_FOLDED_MIN = FOLDS * WIDE_FOLD };

#define WIDE_FOLDS __attribute__((target("vpclmulqdq,pclmul,avx512f")))

WIDE_FOLDS static inline __m512i wide_moved(__m512i x, __m512i by)
{
	return _mm512_xor_si512(_mm512_clmulepi64_epi128(x, by, 0x00),
				_mm512_clmulepi64_epi128(x, by, 0x11));
}

WIDE_FOLDS static inline __m512i wide_taken(const uint8_t *bytes)
{
	return _mm512_loadu_si512(bytes);
}

/* Takes of the @count bytes, at least WIDE_FOLDED_MIN, what fills its registers, and leaves in
 * @ret_rest bytes with the remainder of those. Their number. */
WIDE_FOLDS static size_t fold_wide(uint32_t state, const uint8_t *bytes, size_t count,
				   uint8_t ret_rest[WIDE_FOLD])
{
	const __m512i over_all =
		_mm512_broadcast_i32x4(_mm_set_epi64x(0x1322d1430, 0x11542778a)); /* n = 2048 */
	const __m512i over_one =
		_mm512_broadcast_i32x4(_mm_set_epi64x(0x1c6e41596, 0x154442bd4)); /* n = 512 */
	__m512i x[FOLDS];
	size_t at = WIDE_FOLDED_MIN;

	for (int i = 0; i < FOLDS; i++)
		x[i] = wide_taken(bytes + WIDE_FOLD * i);
	x[0] = _mm512_xor_si512(x[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)state)));
	for (; count - at >= WIDE_FOLDED_MIN; at += WIDE_FOLDED_MIN)
		for (int i = 0; i < FOLDS; i++)
			x[i] = _mm512_xor_si512(wide_moved(x[i], over_all),
						wide_taken(bytes + at + WIDE_FOLD * i));
	for (int i = 1; i < FOLDS; i++)
		x[0] = _mm512_xor_si512(wide_moved(x[0], over_one), x[i]);
	for (; count - at >= WIDE_FOLD; at += WIDE_FOLD)
		x[0] = _mm512_xor_si512(wide_moved(x[0], over_one), wide_taken(bytes + at));
	_mm512_storeu_si512(ret_rest, x[0]);
	return at;
}

static uint32_t add_by_wide_folds(uint32_t state, const uint8_t *bytes, size_t count)
{
	uint8_t rest[WIDE_FOLD];
	const size_t at = fold_wide(state, bytes, count, rest);

	return add_by_folds(0, rest, bytes + at, count - at);
}

enum wire_way wire_icrc_way(void)
{
	if (!__builtin_cpu_supports("pclmul"))
		return WIRE_PLAIN;
	return __builtin_cpu_supports("vpclmulqdq") && __builtin_cpu_supports("avx512f")
		       ? WIRE_WIDEST
		       : WIRE_WIDE;
}

uint32_t wire_icrc_add_by(enum wire_way way, uint32_t state, const uint8_t *bytes, size_t count)
{
	if (way >= WIRE_WIDEST && count >= WIDE_FOLDED_MIN)
		return add_by_wide_folds(state, bytes, count);
	if (way >= WIRE_WIDE && count >= FOLDED_MIN)
		return add_by_folds(state, bytes, bytes + FOLDED_MIN, count - FOLDED_MIN);
	return add_by_table(state, bytes, count);
}

uint32_t wire_icrc_add(uint32_t state, const uint8_t *bytes, size_t count)
{
	return count < FOLDED_MIN ? add_by_table(state, bytes, count)
				  : wire_icrc_add_by(wire_icrc_way(), state, bytes, count);
}
#else
enum wire_way wire_icrc_way(void)
{
	return WIRE_PLAIN;
}

uint32_t wire_icrc_add_by(enum wire_way way, uint32_t state, const uint8_t *bytes, size_t count)
{
	(void)way;
	return add_by_table(state, bytes, count);
}

uint32_t wire_icrc_add(uint32_t state, const uint8_t *bytes, size_t count)
{
	return add_by_table(state, bytes, count);
}
#endif

uint32_t wire_icrc_ip_udp(const uint8_t *headers)
{
	uint8_t masked[WIRE_IPV6_BYTES + WIRE_UDP_BYTES];
	size_t ip = WIRE_IPV6_BYTES;

	if (headers[0] >> 4 == 4) {
		ip = WIRE_IPV4_BYTES;
		memcpy(masked, headers, WIRE_IPV4_BYTES + WIRE_UDP_BYTES);
		masked[1] = 0xff;		/* type of service */
		masked[8] = 0xff;		/* time to live */
		masked[10] = masked[11] = 0xff; /* header checksum */
	} else {
		memcpy(masked, headers, sizeof(masked));
		masked[0] |= 0x0f; /* traffic class, flow label */
		masked[1] = masked[2] = masked[3] = 0xff;
		masked[7] = 0xff; /* hop limit */
	}
	masked[ip + 6] = masked[ip + 7] = 0xff; /* UDP checksum */
	return wire_icrc_add(after_lrh, masked, ip + WIRE_UDP_BYTES);
}

uint32_t wire_icrc_bth(uint32_t state, const uint8_t *bth)
{
	uint8_t masked[WIRE_BTH_BYTES];

	memcpy(masked, bth, sizeof(masked));
	masked[4] = 0xff; /* FECN, BECN, reserved */
	return wire_icrc_add(state, masked, sizeof(masked));
}

void wire_icrc_put(uint8_t *p, uint32_t icrc)
{
	put32_le(p, icrc);
}

uint32_t wire_icrc_get(const uint8_t *p)
{
	return get32_le(p);
}

uint32_t wire_fcs(const uint8_t *frame, size_t bytes)
{
	return ~wire_icrc_add(all_ones, frame, bytes);
}
