/* SPDX-License-Identifier: BSD-2-Clause */

/* Distributions of sizes against what their authors say of them, and open-loop arrivals against the
 * load that was asked for. */
#include "tests/test.h"

#include "models/traffic/arrivals.h"
#include "util/rand.h"
#include "util/siphash.h"

#include <math.h>
#include <string.h>

static struct cdf named(const char *name)
{
	struct cdf cdf;

	assert_true(cdf_named(name, &cdf));
	return cdf;
}

/* sum((b1 - b0) / 100 * (a0 + a1) / 2 for (a0, b0), (a1, b1) in zip(points, points[1:])) over the
 * published points: 1.711 MB, 120.4 KB, 40.9 KB, 39.4 KB, and 2.98 KB of the 40 points kept. */
static void means_are_those_of_the_papers(void **state)
{
	static const struct {
		const char *name;
		double mean;
	} cases[] = {{"websearch", 1711250.0},
		     {"fb_hadoop", 120420.75},
		     {"alistorage2019", 40869.8},
		     {"solar2022", 39423.50452},
		     {"google_rpc", 2976.54005455}};

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		const struct cdf cdf = named(cases[i].name);
		const double mean = (double)cdf_mean_scaled(&cdf) / 2e9;

		assert_string_equal(cdf_name((uint32_t)i), cases[i].name);
		if (fabs(mean / cases[i].mean - 1) > 1e-9)
			fail_msg("%s: %f", cases[i].name, mean);
		assert_int_equal(cdf.points[0].share, 0);
		assert_int_equal(cdf.points[cdf.count - 1].share, CDF_WHOLE);
	}
	assert_null(cdf_name(5));
}

/* The draw of a share, in per mille. */
static uint64_t draw_of(unsigned per_mille)
{
	return (uint64_t)(((u128)per_mille << 64) / 1000);
}

/* By the line between the two points around: at half of WebSearch 50000 + 30000 * 10 / 13. */
static void percentiles_lie_on_the_lines(void **state)
{
	const struct cdf web = named("websearch"), fb = named("fb_hadoop");
	const struct cdf ali = named("alistorage2019");

	(void)state;
	assert_int_equal(cdf_sample(&web, 0), 1);
	assert_int_equal(cdf_sample(&web, draw_of(75)), 4999);
	assert_int_equal(cdf_sample(&web, draw_of(500)), 73076);
	assert_int_equal(cdf_sample(&web, draw_of(985)), 19999999);
	assert_int_equal(cdf_sample(&web, UINT64_MAX), 29999999);
	assert_int_equal(cdf_sample(&fb, draw_of(500) + 1), 700);
	assert_int_equal(cdf_sample(&fb, draw_of(965)), 719999);
	assert_int_equal(cdf_sample(&ali, draw_of(500)), 6339);
}

static void one_size_is_always_that(void **state)
{
	static const struct cdf_point alike[] = {{1000, 0}, {1000, CDF_WHOLE}};
	const struct cdf cdf = {alike, 2};

	(void)state;
	assert_int_equal(cdf_sample(&cdf, 0), 1000);
	assert_int_equal(cdf_sample(&cdf, UINT64_MAX), 1000);
	assert_int_equal(cdf_mean_scaled(&cdf) / CDF_WHOLE, 2000);
}

/* Every seventh of 2^64, in the order of a stream: the mean of 200,000 is within 1 %. (The standard
 * deviation of WebSearch is 3.2 times its mean: 0.7 % of 200,000.) */
static void draws_have_the_mean(void **state)
{
	const struct cdf web = named("websearch");
	struct util_rand rand = {.seed = 3};
	double sum = 0;

	(void)state;
	for (int i = 0; i < 200000; i++)
		sum += (double)cdf_sample(&web, util_rand_next(&rand));
	assert_true(fabs(sum / 200000 / 1711250.0 - 1) < 0.01);
}

static struct arrivals arrivals_of(struct cdf cdf, ps_t until)
{
	return (struct arrivals){
		.seed = 1,
		.class_id = util_hash_name("load"),
		.sizes = cdf,
		.until = until,
		.load_num = 3,
		.load_den = 10,
	};
}

/* 1711250 * 8 / (0.3 * 10^11) s */
static void the_gap_follows_from_the_load(void **state)
{
	struct arrivals a = arrivals_of(named("websearch"), PS_S);

	(void)state;
	assert_int_equal(arrivals_gap(&a, 100000000000u), 456333333);
	a.load_num = 100000;
	a.load_den = 1;
	assert_int_equal(arrivals_gap(&a, 100000000000u), 1369);
	a.load_num = UINT32_MAX;
	assert_int_equal(arrivals_gap(&a, 10000000000000u), 1);
}

struct seen {
	uint64_t count, bytes, hash, long_gaps; /* above the mean */
	uint32_t to[64];
};

static struct seen play(const struct arrivals *a, const char *name, uint32_t others)
{
	struct arrivals_host host = {.id = util_hash_name(name),
				     .gap = arrivals_gap(a, 100000000000u),
				     .at = a->start_at};
	struct seen seen = {.count = 0};
	struct arrivals_flow flow;
	ps_t before = a->start_at;

	while (arrivals_next(a, &host, others, &flow)) {
		const uint64_t words[] = {seen.hash, flow.start_at, flow.bytes};

		assert_true(flow.start_at >= before && flow.start_at < a->until);
		assert_true(flow.to < others);
		seen.long_gaps += flow.start_at - before > host.gap;
		before = flow.start_at;
		seen.hash = util_hash_words((struct util_key){0}, words, 3);
		seen.count++;
		seen.bytes += flow.bytes;
		seen.to[flow.to]++;
	}
	return seen;
}

/* 8 KB at 30 % of 100 Gb/s is a flow each 2.133 us: 468,750 in a second, and five standard
 * deviations are 5 * sqrt(468750). 1 / e of the gaps are longer than their mean: 172,443, within 5
 * * 330. Of 16 others each has its share, by chi-squared of 15 (0.9999: 44.3). */
static void the_rate_is_that_of_the_load(void **state)
{
	static const struct cdf_point alike[] = {{8000, 0}, {8000, CDF_WHOLE}};
	const struct arrivals a = arrivals_of((struct cdf){alike, 2}, PS_S);
	const struct seen seen = play(&a, "h0", 16);
	double chi = 0;

	(void)state;
	assert_true(fabs((double)seen.count - 468750) < 3424);
	assert_true(fabs((double)seen.long_gaps / (double)seen.count - exp(-1)) < 0.0036);
	for (int i = 0; i < 16; i++) {
		const double share = (double)seen.count / 16;

		chi += (seen.to[i] - share) * (seen.to[i] - share) / share;
	}
	assert_true(chi < 44.3 && chi > 1);
}

/* Who else is there changes neither when a host sends nor how much. */
static void a_host_has_draws_of_its_own(void **state)
{
	struct arrivals a = arrivals_of(named("fb_hadoop"), PS_S);
	const struct seen few = play(&a, "h0", 3), many = play(&a, "h0", 60);
	const struct seen other = play(&a, "h1", 3);
	struct seen late;

	(void)state;
	assert_true(few.count > 10000);
	assert_int_equal(few.hash, many.hash);
	assert_int_not_equal(few.hash, other.hash);
	a.class_id++;
	assert_int_not_equal(play(&a, "h0", 3).hash, few.hash);
	a.class_id--;
	a.seed = 2;
	assert_int_not_equal(play(&a, "h0", 3).hash, few.hash);
	a.seed = 1;
	a.until /= 2; /* the first half is the same */
	late = play(&a, "h0", 3);
	assert_true(late.count < few.count && late.bytes < few.bytes && late.count > 4000);
}

RUN(T(means_are_those_of_the_papers), T(percentiles_lie_on_the_lines), T(one_size_is_always_that),
    T(draws_have_the_mean), T(the_gap_follows_from_the_load), T(the_rate_is_that_of_the_load),
    T(a_host_has_draws_of_its_own))
