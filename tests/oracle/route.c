/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

/* Ways, of links in order as the routes have them, otherwise by distances of its own: whoever has a
 * neighbour that is nearer by one than he thought moves, until nobody does. */

enum { FAR = UINT32_MAX };

struct ways {
	ps_t *times; /* at which all switches learn of something, ascending */
	uint32_t time_count, group_count;
	const struct sim_node **roots; /* by group: the switch of its hosts, or a host alone */
	uint32_t **distances; /* by place among the times, and group: by node; NULL: not yet */
};

static const struct net_routing *routing_of(const struct oracle *o)
{
	return &o->net->routing;
}

static bool is_switch(const struct sim_node *node)
{
	return node->ops == &sim_switch_ops;
}

static ps_t plus(ps_t at, ps_t delay)
{
	return at == PS_NEVER ? PS_NEVER : at + delay;
}

/* Whether what @node sends by @port is known to be lost, @after so much more time than its ends
 * need. */
static bool is_down(const struct oracle *o, const struct sim_node *node,
		    const struct sim_port *port, ps_t at, ps_t after)
{
	for (uint32_t i = 0; i < routing_of(o)->down_count; i++) {
		const struct net_down *down = &routing_of(o)->downs[i];

		if (strcmp(down->link, port->link_name) == 0 &&
		    (!down->sender || strcmp(down->sender, node->name) == 0) &&
		    at >= down->from + after && at < plus(down->until, after))
			return true;
	}
	return false;
}

bool oracle_port_is_down(const struct oracle *o, const struct node *node, uint32_t port, ps_t at)
{
	return is_down(o, node->sim, &node->sim->ports[port], at, 0);
}

/* The same for everybody. Routes know nothing of a link to a host. */
static bool is_cut(const struct oracle *o, const struct sim_node *node, const struct sim_port *port,
		   ps_t at)
{
	return is_switch(node) && is_switch(port->peer) &&
	       is_down(o, node, port, at, routing_of(o)->reconverge);
}

/* ---- distances ---- */

static bool move(const struct oracle *o, const struct sim_node *node, const struct sim_node *root,
		 ps_t at, uint32_t *distances)
{
	bool moved = false;

	for (uint32_t p = 0; p < node->port_count && node != root; p++) {
		const struct sim_port *port = &node->ports[p];
		const uint32_t next = distances[port->peer->index];

		if (next == FAR || next + 1 >= distances[node->index] ||
		    (port->peer != root && !is_switch(port->peer)) || is_cut(o, node, port, at))
			continue;
		distances[node->index] = next + 1;
		moved = true;
	}
	return moved;
}

/* By node, to @group, while the routes are those of @at. */
static const uint32_t *distances_to(const struct oracle *o, uint32_t group, ps_t at)
{
	struct ways *w = o->ways;
	const uint32_t count = sim_node_count(o->net->sim);
	uint32_t place = 0, **distances;
	bool moved = true;

	while (place < w->time_count && w->times[place] <= at)
		place++;
	distances = &w->distances[(size_t)place * w->group_count + group];
	if (*distances)
		return *distances;
	*distances = malloc(count * sizeof(**distances));
	CHECK(*distances != NULL);
	for (uint32_t i = 0; i < count; i++)
		(*distances)[i] = FAR;
	(*distances)[w->roots[group]->index] = 0;
	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < count; i++)
			moved |= move(o, sim_node_at(o->net->sim, i), w->roots[group], at,
				      *distances);
	}
	return *distances;
}

/* ---- the ways ---- */

/* The port of @node to the neighbour @via. */
static uint32_t port_to(const struct sim_node *node, const char *via)
{
	uint32_t p = 0;

	while (strcmp(node->ports[p].peer->name, via) != 0)
		p++;
	return p;
}

static uint32_t group_of(const struct oracle *o, const char *name)
{
	for (uint32_t i = 0;; i++) {
		const struct sim_node *node = sim_node_at(o->net->sim, i);

		if (strcmp(node->name, name) != 0)
			continue;
		return is_switch(node) ? sim_route_table_of(o->net->routes, node)->own_group
				       : sim_route_address(o->net->routes, node) >> 16;
	}
}

/* What somebody has written down, UINT32_MAX: nothing. */
static uint32_t written(const struct oracle *o, const struct sim_node *node, uint32_t group,
			ps_t at)
{
	uint32_t found = UINT32_MAX;

	for (uint32_t i = 0; i < routing_of(o)->way_count; i++) {
		const struct net_way *way = &routing_of(o)->ways[i];

		if (strcmp(way->at, node->name) == 0 && group_of(o, way->to) == group &&
		    !is_cut(o, node, &node->ports[port_to(node, way->via)], at))
			found = port_to(node, way->via);
	}
	return found;
}

static uint32_t divisor(uint32_t a, uint32_t b)
{
	return b == 0 ? a : divisor(b, a % b);
}

/* Each of @count ports as often as its rate is a part of the fastest one's, in 32 parts. */
static uint32_t weigh(const struct sim_node *node, uint16_t *ports, uint32_t count)
{
	uint16_t once[ORACLE_WAYS];
	uint32_t parts[ORACLE_WAYS], all = 0, sum = 0;
	uint64_t most = 1;

	memcpy(once, ports, count * sizeof(*ports));
	for (uint32_t i = 0; i < count; i++)
		most = node->ports[once[i]].rate_bps > most ? node->ports[once[i]].rate_bps : most;
	for (uint32_t i = 0; i < count; i++) {
		parts[i] = (uint32_t)((2 * (u128)32 * node->ports[once[i]].rate_bps + most) /
				      (2 * (u128)most));
		parts[i] = parts[i] > 1 ? parts[i] : 1;
		all = divisor(parts[i], all);
	}
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t n = 0; n < parts[i] / all; n++) {
			CHECK(sum < ORACLE_WAYS);
			ports[sum++] = once[i];
		}
	return sum;
}

static uint32_t shortest_ways(const struct oracle *o, const struct sim_node *node, uint32_t group,
			      ps_t at, uint16_t *ret_ports)
{
	const uint32_t *distances = distances_to(o, group, at);
	uint32_t count = 0;

	for (uint32_t p = 0; p < node->port_count; p++) {
		const struct sim_port *port = &node->ports[p];

		if (distances[node->index] == FAR || is_cut(o, node, port, at) ||
		    distances[port->peer->index] + 1 != distances[node->index] ||
		    (port->peer != o->ways->roots[group] && !is_switch(port->peer)))
			continue;
		CHECK(count < ORACLE_WAYS);
		ret_ports[count++] = (uint16_t)p;
	}
	return routing_of(o)->weighted ? weigh(node, ret_ports, count) : count;
}

static uint32_t known_ways(const struct oracle *o, const struct sim_node *node, uint32_t dst,
			   ps_t at, uint16_t *ret_ports)
{
	const uint32_t group = dst >> 16;
	const uint16_t *set;
	uint16_t only;
	uint32_t count, own;

	if (routing_of(o)->reconverge != PS_NEVER && group < o->ways->group_count) {
		own = written(o, node, group, at);
		if (own != UINT32_MAX) {
			ret_ports[0] = (uint16_t)own;
			return 1;
		}
		if (o->ways->roots[group] != node)
			return shortest_ways(o, node, group, at, ret_ports);
	}
	count = sim_route_set(sim_route_table_of(o->net->routes, node), dst, &set, &only);
	CHECK(count <= ORACLE_WAYS);
	memcpy(ret_ports, set, count * sizeof(*set));
	return count;
}

uint32_t oracle_ways(const struct oracle *o, const struct node *node, uint32_t dst, ps_t at,
		     uint16_t *ret_ports)
{
	const uint32_t count = known_ways(o, node->sim, dst, at, ret_ports);
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		if (!is_down(o, node->sim, &node->sim->ports[ret_ports[i]], at, 0))
			ret_ports[left++] = ret_ports[i];
	return left;
}

/* ---- beginning and end ---- */

static int compare_times(const void *a, const void *b)
{
	const ps_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

void oracle_ways_init(struct oracle *o)
{
	const struct net_routing *routing = routing_of(o);
	const uint32_t count = sim_node_count(o->net->sim);
	struct ways *w = calloc(1, sizeof(*w));

	CHECK(w != NULL);
	o->ways = w;
	w->times = calloc(2 * (size_t)routing->down_count + 1, sizeof(*w->times));
	w->roots = calloc(count, sizeof(*w->roots));
	CHECK(w->times && w->roots);
	for (uint32_t i = 0; i < routing->down_count; i++) {
		w->times[w->time_count++] = plus(routing->downs[i].from, routing->reconverge);
		w->times[w->time_count++] = plus(routing->downs[i].until, routing->reconverge);
	}
	qsort(w->times, w->time_count, sizeof(*w->times), compare_times);
	for (uint32_t i = 0; i < count; i++) {
		const struct sim_node *node = sim_node_at(o->net->sim, i);
		uint32_t group;

		if (is_switch(node))
			continue;
		group = sim_route_address(o->net->routes, node) >> 16;
		w->roots[group] = node->port_count == 1 && is_switch(node->ports[0].peer)
					  ? node->ports[0].peer
					  : node;
		w->group_count = group + 1 > w->group_count ? group + 1 : w->group_count;
	}
	w->distances = calloc(((size_t)w->time_count + 1) * w->group_count, sizeof(uint32_t *));
	CHECK(w->distances != NULL);
}

void oracle_ways_fini(struct oracle *o)
{
	struct ways *w = o->ways;

	for (size_t i = 0; i < ((size_t)w->time_count + 1) * w->group_count; i++)
		free(w->distances[i]);
	free(w->distances);
	free(w->roots);
	free(w->times);
	free(w);
}
