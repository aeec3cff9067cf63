/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/scenario.h"

#include "tests/oracle/oracle.h"
#include "util/check.h"

#include <stdlib.h>

uint64_t oracle_scenario(const struct scenario *s, struct fabric *fabric)
{
	const struct topology_node *nodes = s->topology.nodes;
	struct net_down *downs = calloc((size_t)s->fault_count + 1, sizeof(*downs));
	struct net_way *ways = calloc((size_t)s->route_count + 1, sizeof(*ways));
	struct net_routing routing = {.downs = downs,
				      .reconverge = s->reconverge,
				      .weighted = s->weighted_routes,
				      .ways = ways,
				      .way_count = s->route_count};
	uint64_t digest;

	CHECK(downs && ways);
	for (uint32_t i = 0; i < s->fault_count; i++) {
		const struct scenario_fault *fault = &s->faults[i];
		const ps_t until = fault->until_at;

		if (fault->kind == SCENARIO_FAULT_DOWN)
			downs[routing.down_count++] = (struct net_down){
				.link = fault->link,
				.sender = fault->direction,
				.from = fault->from_at + fault->delay,
				.until = until == PS_NEVER ? PS_NEVER : until + fault->delay,
				.back_at = until};
	}
	for (uint32_t i = 0; i < s->route_count; i++)
		ways[i] = (struct net_way){.at = nodes[s->routes[i].at].name,
					   .to = nodes[s->routes[i].to].name,
					   .via = nodes[s->routes[i].via].name};
	digest = oracle_fabric(fabric, &routing, s->until);
	free(downs);
	free(ways);
	return digest;
}
