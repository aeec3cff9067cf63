/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_READ_CDF_H
#define MODELS_READ_CDF_H

/* A distribution of sizes as the traffic generator of the HPCC simulator reads it: lines "BYTES
 * PERCENT" ("10000 15"), the first with 0 percent, the last with 100, neither column ever going
 * down. Lines that begin with # are comments. */
#include "models/input/bad.h"
#include "models/traffic/cdf.h"

/* @at: the file's first line. -EINVAL: in @errors; -ENOMEM. ret_cdf->points is for util_free(). */
int read_cdf(const char *bytes, size_t length, const struct bad_at *at, struct cdf *ret_cdf,
	     struct bad_list *errors);

#endif
