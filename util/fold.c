/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/fold.h"

#include "util/units.h"

#include <string.h>

static const uint64_t prime[4] = {0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u, 0xa0761d6478bd642fu,
				  0xe7037ed1a0b428dbu};

static uint64_t load_le(const uint8_t *p)
{
	uint64_t word;

	memcpy(&word, p, sizeof(word));
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

static uint64_t mix(uint64_t a, uint64_t b)
{
	const u128 product = (u128)(a ^ prime[2]) * (b ^ prime[3]);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Each step of a lane is a bijection of the lane for a given word, and of the word for a given
 * lane: the multiplier is odd. Four lanes keep four multiplications under way. */
uint64_t util_fold_bytes(const void *bytes, size_t length)
{
	const uint8_t *p = bytes;
	uint64_t a = length, b = prime[0], c = prime[1], d = prime[2];
	uint8_t tail[32] = {0};
	size_t left = length;

	for (; left >= 32; left -= 32, p += 32) {
		a = (a ^ load_le(p)) * prime[0];
		b = (b ^ load_le(p + 8)) * prime[0];
		c = (c ^ load_le(p + 16)) * prime[0];
		d = (d ^ load_le(p + 24)) * prime[0];
	}
	if (left) {
		memcpy(tail, p, left);
		a = (a ^ load_le(tail)) * prime[0];
		b = (b ^ load_le(tail + 8)) * prime[0];
		c = (c ^ load_le(tail + 16)) * prime[0];
		d = (d ^ load_le(tail + 24)) * prime[0];
	}
	a ^= a >> 32;
	b ^= b >> 32;
	c ^= c >> 32;
	d ^= d >> 32;
	return mix(mix(a, b), mix(c, d));
}
