/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_CDF_H
#define MODELS_CDF_H

/* Distributions of flow sizes as published: points (bytes, share of flows up to that size) with
 * straight lines between them. */
#include "util/units.h"

#include <stdbool.h>

#define CDF_WHOLE 1000000000u /* the share of all flows; 10^-7 of a percent are told apart */
enum { CDF_POINTS_MAX = 4096 };

struct cdf_point {
	uint64_t bytes;
	uint32_t share;
};

/* The first point has share 0, the last CDF_WHOLE; neither bytes nor shares ever go down. */
struct cdf {
	const struct cdf_point *points;
	uint32_t count;
};

/* "websearch" and others; false: no distribution of that name. */
bool cdf_named(const char *name, struct cdf *ret_cdf);
/* The @i-th name; NULL: no more. */
const char *cdf_name(uint32_t i);

/* A size as often as the distribution has it where @draw is any of 2^64 with equal chance. At least
 * 1, rounded down. */
uint64_t cdf_sample(const struct cdf *cdf, uint64_t draw);
/* Twice the mean size, times CDF_WHOLE: that is a whole number. */
u128 cdf_mean_scaled(const struct cdf *cdf);

#endif
