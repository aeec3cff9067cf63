/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/rand.h"

#include "util/check.h"
#include "util/siphash.h"

uint64_t util_rand_next(struct util_rand *rand)
{
	const uint64_t words[] = {rand->entity, rand->purpose, rand->counter++};

	return util_hash_words((struct util_key){.k0 = rand->seed}, words, 3);
}

/* Lemire 2019: multiply, and reject the few values that would favour small results. */
uint64_t util_rand_below(struct util_rand *rand, uint64_t limit)
{
	u128 product;

	CHECK(limit > 0);
	do {
		product = (u128)util_rand_next(rand) * limit;
	} while ((uint64_t)product < -limit % limit);
	return (uint64_t)(product >> 64);
}

bool util_rand_chance(struct util_rand *rand, uint32_t ppm)
{
	return (u128)util_rand_next(rand) * 1000000 >> 64 < ppm;
}

/* Von Neumann 1951: comparisons of uniforms only, so exact without a logarithm. A falling run of
 * odd length that starts at x has probability exp(-x); an even one adds a whole mean. */
ps_t util_rand_exponential(struct util_rand *rand, ps_t mean)
{
	for (ps_t whole = 0;; whole += mean) {
		uint64_t first = util_rand_next(rand), last = first, next;
		uint32_t run = 1;

		for (; (next = util_rand_next(rand)) < last; last = next)
			run++;
		if (run % 2 == 1)
			return whole + (ps_t)((u128)first * mean >> 64);
	}
}
