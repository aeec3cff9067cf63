/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_SIPHASH_H
#define UTIL_SIPHASH_H

/* SipHash-2-4: the one hash behind names, ties, digests and random streams. */
#include <stddef.h>
#include <stdint.h>

struct util_key {
	uint64_t k0, k1;
};

uint64_t util_hash_bytes(struct util_key key, const void *buf, size_t len);
/* The same value as util_hash_bytes() of the words in little-endian order, on every machine. */
uint64_t util_hash_words(struct util_key key, const uint64_t *words, size_t count);
uint64_t util_hash_name(const char *name);

/* Of words that begin as others did: what comes of the first ones is worked out once. */
struct util_hash_start {
	uint64_t v0, v1, v2, v3;
	size_t count;
};
struct util_hash_start util_hash_begin(struct util_key key, const uint64_t *words, size_t count);
/* util_hash_words() of the words of @start and of @words behind them. */
uint64_t util_hash_end(const struct util_hash_start *start, const uint64_t *words, size_t count);

#endif
