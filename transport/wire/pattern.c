/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/pkt.h"

#include "transport/wire/internal.h"
#include "transport/wire/ways.h"

#if defined(__x86_64__) && defined(__SSE2__)
#include <immintrin.h>
#define HAS_WIDE_WORDS 1
#endif

enum { WORD_SHIFT = 3 };
static const uint64_t step = 0x9e3779b97f4a7c15u, factor = 0xd6e8feb86659fd93u;

/* The eight bytes, first one lowest, at the aligned offset of @pattern: one bijection of (stream,
 * offset / 8), so no two words of any two streams are equal. Odd multipliers and shifts by half the
 * width keep it a bijection; it needs to look random, no more. */
static inline uint64_t mixed(uint64_t x)
{
	x ^= x >> 32;
	x *= factor;
	return x ^ x >> 32;
}

static uint64_t word_at(uint64_t pattern)
{
	return mixed(((pattern >> WORD_SHIFT) + 1) * step);
}

/* The @count bytes of the word at @pattern that begin at @pattern's own offset; count <= 8. */
static void part_of_word(uint64_t pattern, uint8_t *ret_bytes, size_t count)
{
	uint64_t word = word_at(pattern) >> 8 * (pattern & 7);

	for (size_t i = 0; i < count; i++)
		ret_bytes[i] = (uint8_t)(word >> 8 * i);
}

/* How many words of the @length bytes at the aligned @pattern come before its stream begins anew.
 */
static size_t words_in_row(uint64_t pattern, size_t length)
{
	const uint64_t left = (wire_pattern(0, UINT64_MAX) - wire_pattern(0, pattern) + 1) / 8;

	return length / 8 < left ? length / 8 : (size_t)left;
}

/* @x: (number of the word + 1) * step. Neighbours differ by @step, so that a word costs one
 * multiplication. */
static void plain_words(uint64_t x, uint8_t *ret_bytes, size_t count)
{
	for (size_t i = 0; i < count; i++, x += step)
		put64_le(ret_bytes + 8 * i, mixed(x));
}

#ifdef HAS_WIDE_WORDS
enum { WIDE = 4, WIDEST = 8 };

/* The same by AVX2, four at a time, which multiplies halves. */
__attribute__((target("avx2"))) static void wide_words(uint64_t from, uint8_t *ret_bytes,
						       size_t count)
{
	const __m256i low = _mm256_set1_epi64x((long long)factor);
	const __m256i high = _mm256_srli_epi64(low, 32);
	const __m256i steps = _mm256_set1_epi64x((long long)(WIDE * step));
	__m256i x = _mm256_set_epi64x((long long)(from + 3 * step), (long long)(from + 2 * step),
				      (long long)(from + step), (long long)from);
	size_t i = 0;

	for (; i + WIDE <= count; i += WIDE) {
		const __m256i y = _mm256_xor_si256(x, _mm256_srli_epi64(x, 32));
		const __m256i across = _mm256_add_epi64(
			_mm256_mul_epu32(_mm256_srli_epi64(y, 32), low), _mm256_mul_epu32(y, high));
		const __m256i z =
			_mm256_add_epi64(_mm256_mul_epu32(y, low), _mm256_slli_epi64(across, 32));

		_mm256_storeu_si256((__m256i_u *)(ret_bytes + 8 * i),
				    _mm256_xor_si256(z, _mm256_srli_epi64(z, 32)));
		x = _mm256_add_epi64(x, steps);
	}
	plain_words(from + i * step, ret_bytes + 8 * i, count - i);
}

/* The same by AVX-512, eight at a time, which multiplies words. */
__attribute__((target("avx512f,avx512dq"))) static void
widest_words(uint64_t from, uint8_t *ret_bytes, size_t count)
{
	const __m512i by = _mm512_set1_epi64((long long)factor);
	const __m512i steps = _mm512_set1_epi64((long long)(WIDEST * step));
	__m512i x = _mm512_add_epi64(_mm512_set1_epi64((long long)from),
				     _mm512_mullo_epi64(_mm512_set_epi64(7, 6, 5, 4, 3, 2, 1, 0),
							_mm512_set1_epi64((long long)step)));
	size_t i = 0;

	for (; i + WIDEST <= count; i += WIDEST) {
		const __m512i y =
			_mm512_mullo_epi64(_mm512_xor_si512(x, _mm512_srli_epi64(x, 32)), by);

		_mm512_storeu_si512(ret_bytes + 8 * i,
				    _mm512_xor_si512(y, _mm512_srli_epi64(y, 32)));
		x = _mm512_add_epi64(x, steps);
	}
	plain_words(from + i * step, ret_bytes + 8 * i, count - i);
}

enum wire_way wire_pattern_way(void)
{
	if (!__builtin_cpu_supports("avx2"))
		return WIRE_PLAIN;
	return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") ? WIRE_WIDEST
										       : WIRE_WIDE;
}

static void words(enum wire_way way, uint64_t x, uint8_t *ret_bytes, size_t count)
{
	if (way >= WIRE_WIDEST && count >= WIDEST)
		widest_words(x, ret_bytes, count);
	else if (way >= WIRE_WIDE && count >= WIDE)
		wide_words(x, ret_bytes, count);
	else
		plain_words(x, ret_bytes, count);
}
#else
enum wire_way wire_pattern_way(void)
{
	return WIRE_PLAIN;
}

static void words(enum wire_way way, uint64_t x, uint8_t *ret_bytes, size_t count)
{
	(void)way;
	plain_words(x, ret_bytes, count);
}
#endif

void wire_pattern_bytes_by(enum wire_way way, uint64_t pattern, uint8_t *ret_bytes, size_t length)
{
	size_t head = -pattern & 7;

	if (head > length)
		head = length;
	part_of_word(pattern, ret_bytes, head);
	pattern = wire_pattern_add(pattern, head);
	ret_bytes += head;
	length -= head;
	while (length >= 8) {
		const size_t count = words_in_row(pattern, length);

		words(way, ((pattern >> WORD_SHIFT) + 1) * step, ret_bytes, count);
		pattern = wire_pattern_add(pattern, 8 * count);
		ret_bytes += 8 * count;
		length -= 8 * count;
	}
	part_of_word(pattern, ret_bytes, length);
}

void wire_pattern_bytes(uint64_t pattern, uint8_t *ret_bytes, size_t length)
{
	wire_pattern_bytes_by(wire_pattern_way(), pattern, ret_bytes, length);
}

bool wire_pattern_matches(uint64_t pattern, const uint8_t *bytes, size_t length)
{
	uint8_t chunk[256], differ = 0;

	while (length > 0 && differ == 0) {
		size_t n = length < sizeof(chunk) ? length : sizeof(chunk);

		wire_pattern_bytes(pattern, chunk, n);
		for (size_t i = 0; i < n; i++)
			differ |= chunk[i] ^ bytes[i];
		pattern = wire_pattern_add(pattern, n);
		bytes += n;
		length -= n;
	}
	return differ == 0;
}
