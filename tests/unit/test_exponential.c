/* SPDX-License-Identifier: BSD-2-Clause */

/* -ln u by the table: against 60 digits of Python's decimal, and against libm all over. */
#include "tests/test.h"

#include "util/exponential.h"
#include "util/rand.h"

#include <math.h>

enum { WITHIN = 1 << (32 - 24) };

static void assert_near(uint64_t draw, uint64_t expected)
{
	const uint64_t found = util_exponential(draw);

	if (found > expected + WITHIN || expected > found + WITHIN)
		fail_msg("%llx: %llu, expected %llu", (unsigned long long)draw,
			 (unsigned long long)found, (unsigned long long)expected);
}

/* -(Decimal(draw + 1) / Decimal(2 ** 64)).ln() * 2 ** 32 */
static void draws_have_their_logarithms(void **state)
{
	(void)state;
	assert_near(0, 190530846196);
	assert_near(1, 187553801725);
	assert_near(0x7fffffffffffffff, 2977044472);
	assert_near(0x8000000000000000, 2977044472);
	assert_near(0xbfffffffffffffff, 1235585093);
	assert_near(0x123456789abcdef0, 11353796212);
	assert_near(0xffffffff, 95265423098);
	assert_near(UINT64_MAX, 0);
}

/* At both ends and inside of every part of the table, in every power of two. */
static void no_part_of_the_table_is_off(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 56; n++)
		for (uint64_t part = 256; part < 512; part++)
			for (uint64_t in = 0; in < 4; in++) {
				const uint64_t at = in < 3 ? in << 53 : ((uint64_t)1 << 55) - 1;
				const uint64_t u = ((part << 55) + at) >> n;
				const double x = -log(((double)u + 1) / 18446744073709551616.0);

				assert_near(u, (uint64_t)(x * 4294967296.0 + 0.5));
			}
}

/* Mean and variance of an exponential of mean 1 are 1; of 10^6 draws they are within 0.5 % and 1 %
 * (five and three and a half standard deviations: sqrt(1 / n), sqrt(8 / n)). */
static void they_are_exponential(void **state)
{
	struct util_rand rand = {.seed = 7};
	double sum = 0, squares = 0;
	const int n = 1000000;

	(void)state;
	for (int i = 0; i < n; i++) {
		const double x = (double)util_exponential(util_rand_next(&rand)) / 4294967296.0;

		sum += x;
		squares += x * x;
	}
	assert_true(fabs(sum / n - 1) < 0.005);
	assert_true(fabs(squares / n - sum / n * (sum / n) - 1) < 0.01);
}

RUN(T(draws_have_their_logarithms), T(no_part_of_the_table_is_off), T(they_are_exponential))
