/* SPDX-License-Identifier: BSD-2-Clause */

/* Whom pauses hurt beside those who caused them. */
#include "tools/explain/cure_rules.h"

#include "sim/route.h"
#include "sim/switch.h"

#include <stdlib.h>
#include <string.h>

enum {
	FLOWS_MAX = 1 << 16, /* of more nobody looks at the ways */
	HOPS_MAX = 64,
};

static const double hurt_slowdown = 1.1; /* of its time alone: what is less is no harm */

struct named {
	const char *node, *link;
};

static int compare_names(const void *a, const void *b)
{
	const struct named *name = a;
	const struct events_port *port = b;
	const int order = strcmp(name->node, port->node);

	return order ? order : strcmp(name->link, port->link);
}

static bool is_root_port(const struct events *events, const bool *roots, const char *node,
			 const char *link)
{
	const struct named name = {node, link};
	const struct events_port *port =
		bsearch(&name, events->ports, events->port_count, sizeof(*port), compare_names);

	return port && roots[port - events->ports];
}

/* Whether @flow goes through one of these ports. False, too, where its way is not known. */
static bool goes_through(const struct advice_run *run, const struct traffic_flow *flow,
			 const bool *roots)
{
	struct host *const *hosts = run->fabric->table.hosts;
	const struct host *dst = hosts[flow->dst];
	struct wire_path path = {.ttl = HOPS_MAX};
	const struct sim_node *node = &hosts[flow->src]->node;

	host_ip(dst, path.dst_ip);
	if (host_resolve(hosts[flow->src], &path, flow->source_qpn, flow->sink_qpn) != 0)
		return false;
	for (uint32_t out = 0, hop = 0; node != &dst->node && hop < HOPS_MAX; hop++) {
		if (out >= node->port_count)
			return false;
		if (is_root_port(run->pauses->events, roots, node->name,
				 node->ports[out].link_name))
			return true;
		node = node->ports[out].peer;
		if (node == &dst->node || node->ops != &sim_switch_ops)
			return false;
		out = sim_route_port(sim_route_table_of(run->fabric->routes, node), path.link_dst,
				     path.link_hash);
	}
	return false;
}

/* Whether all flows that took long go through a queue where pauses began. */
static bool all_are_part(const struct advice_run *run, const bool *roots)
{
	const struct result *result = run->result;

	for (uint64_t i = 0; i < result->flow_count; i++)
		if ((!result->flows[i].ok || result->flows[i].slowdown > hurt_slowdown) &&
		    !goes_through(run, &run->scenario->flows[i], roots))
			return false;
	return true;
}

/* Into @ret_roots the ports whose queues had much of the pausing begin: at least a tenth of what
 * the worst of them did. */
static void find_roots(const struct pause_tree *tree, ps_t *sums, bool *ret_roots)
{
	ps_t totals[PAUSE_PLACES_MAX], most = 0;

	advice_root_totals(tree, totals);
	for (uint32_t i = 0; i < tree->place_count; i++) {
		const struct pause_place *place = &tree->places[i];

		if (place->parent >= 0 || place->why != PAUSE_QUEUE)
			continue;
		sums[place->way_out] += totals[i];
		if (sums[place->way_out] > most)
			most = sums[place->way_out];
	}
	for (uint32_t i = 0; i < tree->events->port_count; i++)
		ret_roots[i] = sums[i] > 0 && sums[i] >= most / ADVICE_SHARE;
}

bool advice_hurts_nobody(const struct advice_run *run)
{
	const struct pause_tree *tree = run->pauses;
	const struct scenario *s = run->scenario;
	bool *roots, nobody;
	ps_t *sums;

	if (!tree || s->stream_count > 0 || s->program_count > 0 || s->flow_count == 0 ||
	    s->flow_count > FLOWS_MAX || s->switches.balance != SIM_BALANCE_FLOW)
		return false;
	roots = calloc((size_t)tree->events->port_count + 1, sizeof(*roots));
	sums = calloc((size_t)tree->events->port_count + 1, sizeof(*sums));
	if (roots && sums)
		find_roots(tree, sums, roots);
	nobody = roots && sums && all_are_part(run, roots);
	free(sums);
	free(roots);
	return nobody;
}
