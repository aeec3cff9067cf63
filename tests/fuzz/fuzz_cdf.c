/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of distributions over any bytes; what it takes can be drawn from. */
#include "models/trace/cdf_file.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bad_at at = {.file = "fuzz.cdf", .line = 1};
	struct bad_list errors = {0};
	struct cdf cdf;
	const int ret = read_cdf((const char *)data, size, &at, &cdf, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	for (uint64_t draw = 1; ret == 0 && draw > 0; draw <<= 1) {
		const uint64_t bytes = cdf_sample(&cdf, draw - 1);

		CHECK(bytes >= 1 && bytes <= (uint64_t)1 << 44);
	}
	if (ret == 0) {
		CHECK(cdf_mean_scaled(&cdf) > 0);
		util_free((struct cdf_point *)(uintptr_t)cdf.points);
	}
	bad_list_fini(&errors);
	return 0;
}
