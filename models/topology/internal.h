/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TOPOLOGY_INTERNAL_H
#define MODELS_TOPOLOGY_INTERNAL_H

/* What the kinds of topologies are laid with. They name their nodes by kind and number and remember
 * where each kind begins. */
#include "models/topology/topology.h"

/* Nodes PREFIX0..; -ENOMEM, -EEXIST. */
int topology_add_nodes(struct topology *topology, const char *prefix, uint32_t count,
		       bool is_switch);
/* One link; -ENOMEM. */
int topology_join(struct topology *topology, uint32_t a, uint32_t b, uint64_t rate_bps, ps_t delay);
/* @per_switch hosts, numbered from @host on, to each of @count switches from @first on. */
int topology_join_hosts(struct topology *topology, uint32_t host, uint32_t first, uint32_t count,
			uint32_t per_switch, struct topology_speed speed);

#endif
