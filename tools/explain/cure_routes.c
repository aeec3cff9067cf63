/* SPDX-License-Identifier: BSD-2-Clause */

/* Ways that lead back, buffers that wait in a circle, and one hash for all. */
#include "tools/explain/cure_rules.h"

#include "sim/switch.h"
#include "tools/explain/circle.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ways that lead back ---- */

enum colour { NEW, OPEN, DONE };

/* Whether what is for @dst and comes to @node may come there again, by any of the equal ways. */
static bool leads_back(const struct fabric *fabric, const struct sim_node *node, uint32_t dst,
		       uint8_t *colours)
{
	const uint16_t *set;
	uint16_t only;
	uint32_t count;

	if (node->ops != &sim_switch_ops || colours[node->index] == DONE)
		return false;
	if (colours[node->index] == OPEN)
		return true;
	colours[node->index] = OPEN;
	count = sim_route_set(sim_route_table_of(fabric->routes, node), dst, &set, &only);
	for (uint32_t i = 0; i < count; i++)
		if (leads_back(fabric, node->ports[set[i]].peer, dst, colours))
			return true;
	colours[node->index] = DONE;
	return false;
}

/* The host, or the first one of the switch; NULL: none. */
static const struct sim_node *cure_routes_host_at(const struct fabric *fabric, const char *name)
{
	const struct host *host = fabric_host(fabric, name);
	struct sim_switch *sw = host ? NULL : fabric_switch(fabric, name);
	const struct sim_node *node = sw ? sim_switch_node(sw) : NULL;

	for (uint32_t i = 0; node && i < node->port_count; i++)
		if (node->ports[i].peer->ops != &sim_switch_ops)
			return node->ports[i].peer;
	return host ? &host->node : NULL;
}

/* The way of the scenario that leads back, the first of them; NULL: none. */
static const struct scenario_route *find_loop(const struct advice_run *run)
{
	const struct topology *topology = &run->scenario->topology;
	uint8_t *colours = calloc(sim_node_count(run->fabric->sim) + 1, 1);
	const struct scenario_route *found = NULL;

	for (uint32_t i = 0; colours && i < run->scenario->route_count && !found; i++) {
		const struct scenario_route *route = &run->scenario->routes[i];
		struct sim_switch *at = fabric_switch(run->fabric, topology->nodes[route->at].name);
		const struct sim_node *to =
			cure_routes_host_at(run->fabric, topology->nodes[route->to].name);

		memset(colours, NEW, sim_node_count(run->fabric->sim));
		if (at && to &&
		    leads_back(run->fabric, sim_switch_node(at),
			       sim_route_address(run->fabric->routes, to), colours))
			found = route;
	}
	free(colours);
	return found;
}

/* The links from @from to the node farthest from it; 0: no memory. */
static uint32_t distance_to_farthest(const struct advice_run *run, const struct sim_node *from,
				     const struct sim_node **ret_farthest)
{
	const size_t room = sim_node_count(run->fabric->sim) + 1;
	const struct sim_node **queue = calloc(room, sizeof(struct sim_node *));
	uint32_t *there = calloc(room, sizeof(*there)), head = 0, tail = 0, most = 0;

	*ret_farthest = from;
	if (queue && there) {
		queue[tail++] = from;
		there[from->index] = 1;
	}
	for (; head < tail; head++) {
		const struct sim_node *node = queue[head];

		most = there[node->index] - 1;
		*ret_farthest = node;
		for (uint32_t p = 0; p < node->port_count; p++) {
			const struct sim_node *next = node->ports[p].peer;

			if (there[next->index] > 0)
				continue;
			there[next->index] = there[node->index] + 1;
			queue[tail++] = next;
		}
	}
	free(queue);
	free(there);
	return most;
}

/* Links of the longest of all shortest ways in a tree, and of a long one elsewhere. */
static uint32_t most_hops(const struct advice_run *run)
{
	const struct sim_node *end = &run->fabric->hosts[0].node;

	distance_to_farthest(run, end, &end);
	return distance_to_farthest(run, end, &end);
}

static void say_loop(struct advice_run *run, const struct scenario_route *route, bool is_stuck)
{
	const struct topology_node *nodes = run->scenario->topology.nodes;
	const uint8_t ttl = run->scenario->nic.ttl;
	const uint32_t needed = most_hops(run);
	struct advice_item *item = advice_add(run, "A way leads back");

	advice_say(
		item,
		"What %s sends towards %s goes to %s, from where it comes back: packets go round "
		"until their TTL (%u) ends; %" PRIu64 " of them ended so.",
		nodes[route->at].name, nodes[route->to].name, nodes[route->via].name, ttl,
		run->result->drops.ttl);
	advice_key(item,
		   advice_text("routing.ways.%u.via", (uint32_t)(route - run->scenario->routes)),
		   nodes[route->via].name, "");
	if (!is_stuck) {
		advice_say(item, "Mend that way, or take it out.");
		return;
	}
	advice_say(
		item,
		"They fill lossless buffers that wait for each other, and nothing moves any more. "
		"Mend that way, or take it out; until then a TTL of no more than the fabric needs "
		"ends packets before they fill the links.");
	if (needed > 0 && needed + 1 < ttl)
		advice_key(item, "nic.ttl", advice_text("%u", ttl), advice_text("%u", needed + 1));
}

/* ---- buffers that wait in a circle ---- */

static void cure_routes_say_circle(struct advice_run *run, const struct circle *circle)
{
	const struct events_port *ports = run->pauses->events->ports;
	struct advice_item *item = advice_add(run, "Buffers wait for each other in a circle");
	char names[256] = "";

	for (uint32_t i = 0; i < circle->count && i < 8; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", ports[circle->queues[i].port].node);
	advice_say(item,
		   "%u ports of priority %u (of %s%s) each wait for the next one, and the last for "
		   "the first: none of them will ever send again. No way leads back; the ways "
		   "together close the circle.",
		   circle->count, circle->queues[0].priority, names,
		   circle->count > 8 ? " ..." : "");
	advice_say(
		item,
		"Ways that cannot close a circle of buffers help, such as up and down only; so do "
		"switches that give packets which turn back up another DSCP, of a lossless "
		"priority of its own (switch.rewrite); a PFC watchdog (switch.pfc.watchdog) breaks "
		"it at the price of losses.");
	if (run->scenario->route_count > 0)
		advice_key(item, "routing.ways",
			   advice_text("%u that are not the shortest", run->scenario->route_count),
			   "[]");
	else
		advice_key(item, "routing.ways", "the shortest", "");
	advice_key(item, "switch.rewrite", run->scenario->switches.rewrite_count ? "some" : "none",
		   "");
}

/* Which priorities of which ports are paused at the end: rows of the result and ports of the events
 * are in the same order. */
static int find_circle(const struct advice_run *run, struct circle *ret_circle)
{
	const struct result *result = run->result;
	ps_t *since = malloc((result->port_count + 1) * sizeof(*since));
	int ret;

	*ret_circle = (struct circle){.queues = NULL};
	if (!since)
		return -ENOMEM;
	for (uint64_t i = 0; i < result->port_count; i++)
		since[i] = result->ports[i].paused_since;
	ret = circle_find(run->pauses->events, since, ret_circle);
	free(since);
	return ret;
}

static void say_lost_resume(struct advice_run *run)
{
	struct advice_item *item = advice_add(run, "A port was never told to go on");
	const struct result_port *port = run->result->ports;

	while (port->paused_since == PS_NEVER)
		port++;
	advice_say(
		item,
		"%s towards %s has been paused since %s, nothing is left to happen, and no buffer "
		"behind it waits for another: the frame that lets it go was lost on the link. "
		"Pauses that run out by themselves and are refreshed survive that.",
		port->node, port->peer, advice_time(port->paused_since));
	advice_key(item, ADVICE_SWITCH_KEY(run, port->peer, "pfc.mode", pfc_quanta), "resume",
		   "quanta");
}

static bool has_storm(const struct pause_tree *tree)
{
	for (uint32_t i = 0; i < tree->place_count; i++)
		if (tree->places[i].why == PAUSE_ALONE)
			return true;
	return false;
}

int advice_routes(struct advice_run *run)
{
	const struct scenario_route *loop = find_loop(run);
	const bool is_stuck = run->result->pfc.paused_at_end > 0;
	struct circle circle = {.queues = NULL};
	bool floods;
	int ret = 0;

	/* Of a run that was cut short the queues may be in the middle of something. */
	if (is_stuck && run->pauses && !run->result->partial)
		ret = find_circle(run, &circle);
	floods = advice_floods(run, circle.count);
	run->has_dead_route = loop || circle.count > 0;
	if (loop && (run->result->drops.ttl > 0 || is_stuck))
		say_loop(run, loop, is_stuck);
	else if (circle.count > 0 && !floods)
		cure_routes_say_circle(run, &circle);
	else if (is_stuck && !floods && !run->result->cut && run->pauses && !has_storm(run->pauses))
		say_lost_resume(run);
	free(circle.queues);
	return ret;
}

/* ---- one hash for all ---- */

/* Data frames that left by the port. */
static uint64_t sent_by(const struct advice_run *run, const struct sim_port *port, const char *node)
{
	const struct result_port *rows = advice_port(run, node, port->link_name, 0);
	uint64_t sent = 0;

	for (uint32_t q = 0; rows && q < run->result->priority_count; q++)
		sent += rows[q].sent_packets;
	return sent;
}

/* Over the sets of equal ways of @node: its ports in any of them, and those that nothing left by.
 */
static void count_idle(const struct advice_run *run, const struct sim_node *node, uint8_t *seen,
		       uint32_t *ports, uint32_t *idle)
{
	const struct sim_route_table *table = sim_route_table_of(run->fabric->routes, node);
	uint64_t busy = 0;
	uint32_t own_ports = 0, own_idle = 0;

	memset(seen, 0, node->port_count);
	for (uint32_t g = 0; g < table->group_count; g++) {
		const uint16_t *set;
		uint16_t only;
		const uint32_t count = sim_route_set(table, sim_address(g, 0), &set, &only);

		for (uint32_t i = 0; count > 1 && i < count; i++)
			seen[set[i]] = 1;
	}
	for (uint32_t p = 0; p < node->port_count; p++) {
		const uint64_t sent = seen[p] ? sent_by(run, &node->ports[p], node->name) : 0;

		own_ports += seen[p];
		own_idle += seen[p] && sent == 0;
		busy += sent;
	}
	if (busy == 0) /* nobody went up here */
		return;
	*ports += own_ports;
	*idle += own_idle;
}

/* A hash that is good for one switch leaves ports idle only where flows are few; one for all leaves
 * as many idle behind the second tier as the first has choices, at least half. A quarter is more
 * than chance and less than that. */
enum { IDLE_PART = 4 };

void advice_hash(struct advice_run *run)
{
	const struct fabric *fabric = run->fabric;
	uint8_t seen[SIM_ROUTE_SET];
	uint32_t ports = 0, idle = 0;
	struct advice_item *item;

	if (!run->scenario->same_hash)
		return;
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		count_idle(run, sim_switch_node(fabric->switches[i]), seen, &ports, &idle);
	if (idle == 0 || idle < ports / IDLE_PART)
		return;
	item = advice_add(run, "All switches choose by the same hash");
	advice_say(item,
		   "Of %u ports that equal ways lead by, %u carried nothing while their neighbours "
		   "were in use: switches of the second tier see only flows that have made one "
		   "choice already, and make it again. A hash of its own for each switch spreads "
		   "them.",
		   ports, idle);
	advice_key(item, "routing.hash", "same", "own");
}
