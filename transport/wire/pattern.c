/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/wire/pkt.h"

#include "transport/wire/internal.h"

enum { WORD_SHIFT = 3 };

/* The eight bytes, first one lowest, at the aligned offset of @pattern: one bijection of (stream,
 * offset / 8), so no two words of any two streams are equal. Odd multipliers and shifts by half the
 * width keep it a bijection; it needs to look random, no more. */
static uint64_t word_at(uint64_t pattern)
{
	uint64_t x = (pattern >> WORD_SHIFT) + 1;

	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* The @count bytes of the word at @pattern that begin at @pattern's own offset; count <= 8. */
static void part_of_word(uint64_t pattern, uint8_t *ret_bytes, size_t count)
{
	uint64_t word = word_at(pattern) >> 8 * (pattern & 7);

	for (size_t i = 0; i < count; i++)
		ret_bytes[i] = (uint8_t)(word >> 8 * i);
}

void wire_pattern_bytes(uint64_t pattern, uint8_t *ret_bytes, size_t length)
{
	size_t head = -pattern & 7;

	if (head > length)
		head = length;
	part_of_word(pattern, ret_bytes, head);
	pattern = wire_pattern_add(pattern, head);
	for (ret_bytes += head, length -= head; length >= 8; ret_bytes += 8, length -= 8) {
		put64_le(ret_bytes, word_at(pattern));
		pattern = wire_pattern_add(pattern, 8);
	}
	part_of_word(pattern, ret_bytes, length);
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
