/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/siphash.h"

#include <string.h>

struct sip {
	uint64_t v0, v1, v2, v3;
};

static uint64_t rotl(uint64_t x, int bits)
{
	return x << bits | x >> (64 - bits);
}

static inline __attribute__((always_inline)) void sip_round(struct sip *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotl(s->v1, 13) ^ s->v0;
	s->v3 = rotl(s->v3, 16) ^ s->v2;
	s->v0 = rotl(s->v0, 32) + s->v3;
	s->v2 += s->v1;
	s->v3 = rotl(s->v3, 21) ^ s->v0;
	s->v1 = rotl(s->v1, 17) ^ s->v2;
	s->v2 = rotl(s->v2, 32);
}

static struct sip sip_start(struct util_key key)
{
	return (struct sip){key.k0 ^ 0x736f6d6570736575u, key.k1 ^ 0x646f72616e646f6du,
			    key.k0 ^ 0x6c7967656e657261u, key.k1 ^ 0x7465646279746573u};
}

static inline __attribute__((always_inline)) void sip_absorb(struct sip *s, uint64_t word)
{
	s->v3 ^= word;
	sip_round(s);
	sip_round(s);
	s->v0 ^= word;
}

static uint64_t sip_finish(struct sip *s)
{
	s->v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		sip_round(s);
	return s->v0 ^ s->v1 ^ s->v2 ^ s->v3;
}

static uint64_t get_le(const uint8_t *p, size_t len)
{
	uint64_t word = 0;

	for (size_t i = 0; i < len; i++)
		word |= (uint64_t)p[i] << (8 * i);
	return word;
}

uint64_t util_hash_bytes(struct util_key key, const void *buf, size_t len)
{
	struct sip s = sip_start(key);
	const uint8_t *p = buf;
	size_t i = 0;

	for (; len - i >= 8; i += 8)
		sip_absorb(&s, get_le(p + i, 8));
	sip_absorb(&s, get_le(p + i, len - i) | (uint64_t)len << 56);
	return sip_finish(&s);
}

struct util_hash_start util_hash_begin(struct util_key key, const uint64_t *words, size_t count)
{
	struct sip s = sip_start(key);

	for (size_t i = 0; i < count; i++)
		sip_absorb(&s, words[i]);
	return (struct util_hash_start){s.v0, s.v1, s.v2, s.v3, count};
}

uint64_t util_hash_end(const struct util_hash_start *start, const uint64_t *words, size_t count)
{
	struct sip s = {start->v0, start->v1, start->v2, start->v3};

	for (size_t i = 0; i < count; i++)
		sip_absorb(&s, words[i]);
	sip_absorb(&s, (uint64_t)((start->count + count) * 8) << 56);
	return sip_finish(&s);
}

uint64_t util_hash_words(struct util_key key, const uint64_t *words, size_t count)
{
	const struct util_hash_start start = util_hash_begin(key, words, count);

	return util_hash_end(&start, NULL, 0);
}

uint64_t util_hash_name(const char *name)
{
	return util_hash_bytes((struct util_key){0}, name, strlen(name));
}
