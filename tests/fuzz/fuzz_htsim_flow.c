/* SPDX-License-Identifier: BSD-2-Clause */
/* The reader of .cm over any bytes. */
#include "models/read_htsim_flow.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct bad_at at = {"fuzz.flow", 1, NULL};
	struct read_flow *flows;
	struct bad_list errors = {0};
	uint64_t count;
	const int ret = read_htsim_flow((const char *)data, size, &at, &flows, &count, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	CHECK(ret != 0 || errors.count <= 1); /* a warning of priorities */
	for (uint64_t i = 0; ret == 0 && i < count; i++) {
		CHECK(flows[i].src != flows[i].dst);
		CHECK(flows[i].bytes > 0 && flows[i].bytes <= READ_FLOW_BYTES_MAX);
		CHECK(flows[i].start_at <= 1000 * PS_S);
	}
	if (ret == 0)
		util_free(flows);
	bad_list_fini(&errors);
	return 0;
}
