/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/scenario.h"

#include "tests/oracle/oracle.h"
#include "util/check.h"

#include <stdlib.h>

/* A link that a rule of @node names, the @nth of them; NULL: there are no more. */
static const char *link_of(const struct scenario *s, const uint8_t *links, uint32_t node,
			   uint32_t nth)
{
	for (uint32_t i = 0; i < s->topology.link_count; i++) {
		const struct topology_link *link = &s->topology.links[i];

		if ((link->a == node && links[i] & SCENARIO_FROM_A) ||
		    (link->b == node && links[i] & SCENARIO_FROM_B))
			if (nth-- == 0)
				return link->name;
	}
	return NULL;
}

/* One rule for each link that it comes by and each that it leaves by, in the order of the rules. */
static void add_rewrites(const struct scenario *s, uint32_t node, const struct scenario_switch *sw,
			 struct net_routing *routing)
{
	struct net_rewrite *all = (struct net_rewrite *)(uintptr_t)routing->rewrites;

	for (uint32_t r = 0; r < sw->rewrite_count; r++) {
		const struct scenario_rewrite *rule = &sw->rewrites[r];

		for (uint32_t i = 0; rule->in ? link_of(s, rule->in, node, i) != NULL : i < 1; i++)
			for (uint32_t o = 0;
			     rule->out ? link_of(s, rule->out, node, o) != NULL : o < 1; o++) {
				const size_t bytes = (routing->rewrite_count + 1) * sizeof(*all);

				all = realloc(all, bytes);
				CHECK(all != NULL);
				all[routing->rewrite_count++] = (struct net_rewrite){
					.at = s->topology.nodes[node].name,
					.in = rule->in ? link_of(s, rule->in, node, i) : NULL,
					.out = rule->out ? link_of(s, rule->out, node, o) : NULL,
					.from = rule->from,
					.to = rule->to};
				routing->rewrites = all;
			}
	}
}

/* All switches are alike to the oracle but for what they rewrite. */
static void find_rewrites(const struct scenario *s, struct net_routing *routing)
{
	for (uint32_t node = 0; node < s->topology.node_count; node++) {
		const struct scenario_switch *sw = &s->switches;

		for (uint32_t g = 0; g < s->group_count; g++)
			for (uint32_t i = 0; i < s->groups[g].node_count; i++)
				if (s->groups[g].nodes[i] == node)
					sw = &s->groups[g].is;
		if (s->topology.nodes[node].is_switch)
			add_rewrites(s, node, sw, routing);
	}
}

uint64_t oracle_scenario(const struct scenario *s, struct fabric *fabric)
{
	const struct topology_node *nodes = s->topology.nodes;
	struct net_down *downs = calloc((size_t)s->fault_count + 1, sizeof(*downs));
	struct net_way *ways = calloc((size_t)s->route_count + 1, sizeof(*ways));
	struct net_forget *forgets = calloc((size_t)s->forget_count + 1, sizeof(*forgets));
	struct net_routing routing = {.downs = downs,
				      .forgets = forgets,
				      .forget_count = s->forget_count,
				      .reconverge = s->reconverge,
				      .weighted = s->weighted_routes,
				      .ways = ways,
				      .way_count = s->route_count};
	uint64_t digest;

	CHECK(downs && ways && forgets);
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
	for (uint32_t i = 0; i < s->forget_count; i++)
		forgets[i] = (struct net_forget){
			.at = nodes[s->forgets[i].at].name,
			.host = fabric->table.hosts[s->forgets[i].host]->node.name,
			.from = s->forgets[i].from_at,
			.until = s->forgets[i].until_at};
	for (uint32_t i = 0; i < s->route_count; i++)
		ways[i] = (struct net_way){.at = nodes[s->routes[i].at].name,
					   .to = nodes[s->routes[i].to].name,
					   .via = nodes[s->routes[i].via].name};
	find_rewrites(s, &routing);
	digest = oracle_fabric(fabric, &routing, s->until);
	free(downs);
	free(ways);
	free(forgets);
	free((void *)(uintptr_t)routing.rewrites);
	return digest;
}
