/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef FUZZ_TOPOLOGY_H
#define FUZZ_TOPOLOGY_H

/* A reader of topology files over any bytes: it says what is wrong, or its topology is sound. */
#include "models/input/bad.h"
#include "models/topology/topology.h"
#include "util/check.h"

#include <errno.h>

typedef int fuzz_topology_reader(const char *bytes, size_t length, const struct bad_at *at,
				 struct topology *topology, struct bad_list *errors);

static inline void fuzz_topology(fuzz_topology_reader *read, const uint8_t *data, size_t size)
{
	const struct bad_at at = {.file = "fuzz.topology", .line = 1};
	struct topology topology = {0};
	struct bad_list errors = {0};
	const int ret = read((const char *)data, size, &at, &topology, &errors);

	CHECK(ret == 0 || ret == -EINVAL);
	CHECK((ret == 0) == (errors.error_count == 0));
	for (uint32_t i = 0; ret == 0 && i < topology.link_count; i++) {
		const struct topology_link *link = &topology.links[i];

		CHECK(link->a < topology.node_count && link->b < topology.node_count);
		CHECK(link->a != link->b && link->rate_bps >= 1000000 && link->delay >= 1);
		CHECK(link->loss_ppb <= 1000000000);
	}
	if (ret == 0)
		CHECK(topology_name_links(&topology) == 0);
	topology_fini(&topology);
	bad_list_fini(&errors);
}

#endif
