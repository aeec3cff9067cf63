/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_FLOW_H
#define FUZZ_FLOW_H

/* A reader of flow files over any bytes: it says what is wrong, or its flows are sound. */
#include "models/trace/format.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

typedef int fuzz_flow_reader(const struct read_flow_file *from, struct read_flow **ret_flows,
			     uint64_t *ret_count, struct bad_list *errors);

static inline void fuzz_flow(fuzz_flow_reader *read, const uint8_t *data, size_t size)
{
	const struct read_flow_file from = {.bytes = (const char *)data,
					    .length = size,
					    .at = {.file = "fuzz.flow", .line = 1},
					    .priority_count = size % 2 ? 8 : 16};
	struct read_flow *flows;
	struct bad_list errors = {0};
	uint64_t count;
	const int ret = read(&from, &flows, &count, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	CHECK(ret != 0 || errors.count <= 1); /* a warning */
	for (uint64_t i = 0; ret == 0 && i < count; i++) {
		CHECK(flows[i].src != flows[i].dst && flows[i].priority < from.priority_count);
		CHECK(flows[i].bytes > 0 && flows[i].bytes <= READ_FLOW_BYTES_MAX);
		CHECK(flows[i].start_at <= 1000 * PS_S);
	}
	if (ret == 0)
		util_free(flows);
	bad_list_fini(&errors);
}

#endif
