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
