/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/route.h"

#include "sim/port.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { SETS_MAX = 0x7f00, FAR = UINT16_MAX };
#define NO_ROOT UINT32_MAX

/* Everything here goes by the node's rank: its place in the order of names. */
struct sim_routes {
	const struct sim *sim;
	const struct sim_node_ops *switch_ops;
	uint32_t node_count, group_count;
	uint32_t *rank_of;    /* by node->index */
	uint32_t *address;    /* of hosts, by rank */
	uint32_t *group_root; /* by group: the rank of its switch, or of the host that is alone */
	struct sim_route_table *tables;
	uint16_t *memory;   /* entries of all tables */
	uint16_t *distance; /* of switches and hosts to the group at hand */
	uint32_t *queue;
	bool weighted;
	uint16_t **sets; /* by rank */
	uint32_t *set_words, *set_max;
	struct tree {
		uint64_t *ports;   /* as in the table */
		uint32_t parent;   /* its rank, of a switch that is not the root */
		uint16_t up;	   /* the port to it */
		uint16_t farthest; /* distance of the farthest host that it reaches */
		bool leads;	   /* to hosts, or to switches below it that do */
		bool found;
	} * trees; /* by rank, of switches */
	uint16_t **local;
	uint32_t *first_port; /* by rank: of the node's ports among those of all */
	bool *cut;	      /* by port, of all: its link is out of order; NULL: none is */
	struct override {
		uint32_t at, group; /* rank of the switch */
		uint16_t port;
	} * overrides;
	uint32_t override_count;
};

static bool is_switch(const struct sim_routes *r, const struct sim_node *node)
{
	return node->ops == r->switch_ops;
}

static uint32_t rank(const struct sim_routes *r, const struct sim_node *node)
{
	return r->rank_of[node->index];
}

static bool is_cut(const struct sim_routes *r, const struct sim_node *node, uint32_t port)
{
	return r->cut && r->cut[r->first_port[rank(r, node)] + port];
}

/* The switch whose group @host belongs to, NULL: it is a group of its own. */
static const struct sim_node *home(const struct sim_routes *r, const struct sim_node *host)
{
	if (host->port_count == 1 && is_switch(r, host->ports[0].peer))
		return host->ports[0].peer;
	return NULL;
}

/* ---- groups and places ---- */

static int group_of_switch(struct sim_routes *r, const struct sim_node *node)
{
	const uint32_t me = rank(r, node);
	uint32_t place = 0;
	uint16_t *local;

	for (uint32_t p = 0; p < node->port_count; p++)
		place += !is_switch(r, node->ports[p].peer) && home(r, node->ports[p].peer) == node;
	if (place == 0)
		return 0;
	local = r->local[me] = util_calloc(place, sizeof(*local));
	if (!local)
		return -ENOMEM;
	place = 0;
	for (uint32_t p = 0; p < node->port_count; p++) {
		const struct sim_node *peer = node->ports[p].peer;

		if (is_switch(r, peer) || home(r, peer) != node)
			continue;
		local[place] = (uint16_t)p;
		r->address[rank(r, peer)] = sim_address(r->group_count, place++);
	}
	r->tables[me].local = local;
	r->tables[me].local_count = place;
	r->tables[me].own_group = r->group_count;
	r->group_root[r->group_count++] = me;
	return 0;
}

static int number_groups(struct sim_routes *r)
{
	int ret = 0;

	for (uint32_t i = 0; ret == 0 && i < r->node_count; i++) {
		const struct sim_node *node = sim_node_at(r->sim, i);
		const uint64_t words[] = {node->id};

		r->tables[i].own_group = UINT32_MAX;
		r->tables[i].key = util_hash_words(
			(struct util_key){.k0 = sim_seed(r->sim), .k1 = 2}, words, 1);
		if (is_switch(r, node))
			ret = group_of_switch(r, node);
	}
	for (uint32_t i = 0; ret == 0 && i < r->node_count; i++) {
		const struct sim_node *node = sim_node_at(r->sim, i);

		if (is_switch(r, node) || home(r, node))
			continue;
		r->address[i] = sim_address(r->group_count, 0);
		r->group_root[r->group_count++] = i;
	}
	return r->group_count > 65000 ? -E2BIG : ret;
}

/* ---- shortest paths ---- */

/* Distances of all nodes to @root; only switches pass on. */
static void route_measure(struct sim_routes *r, uint32_t root)
{
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < r->node_count; i++)
		r->distance[i] = FAR;
	r->distance[root] = 0;
	r->queue[tail++] = root;
	while (head < tail) {
		const uint32_t at = r->queue[head++];
		const struct sim_node *node = sim_node_at(r->sim, at);

		if (at != root && !is_switch(r, node))
			continue;
		for (uint32_t p = 0; p < node->port_count; p++) {
			const struct sim_port *port = &node->ports[p];
			const uint32_t next = rank(r, port->peer);

			if (r->distance[next] != FAR || is_cut(r, port->peer, port->peer_port))
				continue;
			r->distance[next] = (uint16_t)(r->distance[at] + 1);
			r->queue[tail++] = next;
		}
	}
}

static bool leads_nearer(const struct sim_routes *r, const struct sim_node *node, uint32_t port,
			 uint32_t root)
{
	const struct sim_node *peer = node->ports[port].peer;
	const uint32_t to = rank(r, peer);

	return r->distance[to] < r->distance[rank(r, node)] && !is_cut(r, node, port) &&
	       (to == root || is_switch(r, peer));
}

/* How often @port stands in a set of whose ports the fastest has @most. */
static uint32_t weight_of(const struct sim_port *port, uint64_t most)
{
	const uint64_t parts =
		(uint64_t)((u128)port->rate_bps * 2 * SIM_ROUTE_WEIGHT_MAX / most + 1) / 2;

	return parts > 0 ? (uint32_t)parts : 1;
}

static uint32_t common_divisor(uint32_t a, uint32_t b)
{
	while (b) {
		const uint32_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* Each of @count ports as often as its rate asks for, from behind: there is room. */
static uint32_t weigh(const struct sim_node *node, uint16_t *ports, uint32_t count)
{
	uint32_t divisor = 0, all = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < count; i++)
		if (node->ports[ports[i]].rate_bps > most)
			most = node->ports[ports[i]].rate_bps;
	for (uint32_t i = 0; i < count; i++) {
		all += weight_of(&node->ports[ports[i]], most);
		divisor = common_divisor(weight_of(&node->ports[ports[i]], most), divisor);
	}
	all /= divisor;
	for (uint32_t i = count, at = all; i-- > 0;) {
		const uint16_t port = ports[i];

		for (uint32_t n = weight_of(&node->ports[port], most) / divisor; n > 0; n--)
			ports[--at] = port;
	}
	return all;
}

/* The set that leads from @node to @root. */
static uint32_t list_set(const struct sim_routes *r, const struct sim_node *node, uint32_t root,
			 uint16_t *ret_ports)
{
	uint32_t count = 0;

	for (uint32_t p = 0; p < node->port_count; p++)
		if (leads_nearer(r, node, p, root))
			ret_ports[count++] = (uint16_t)p;
	return r->weighted ? weigh(node, ret_ports, count) : count;
}

/* The place of the set among the switch's, put there if it is new. Negative: errno. */
static int find_set(struct sim_routes *r, uint32_t me, const struct sim_node *node, uint32_t root)
{
	const uint32_t at = r->set_words[me];
	const uint32_t most = at + 1 + node->port_count * (r->weighted ? SIM_ROUTE_WEIGHT_MAX : 1);
	uint32_t count;
	uint16_t *set;

	if (most > r->set_max[me]) {
		const uint32_t max = most * 2;
		void *sets = util_realloc(r->sets[me], max, sizeof(uint16_t));

		if (!sets)
			return -ENOMEM;
		r->sets[me] = sets;
		r->set_max[me] = max;
	}
	set = r->sets[me] + at;
	count = list_set(r, node, root, set + 1);
	set[0] = (uint16_t)count;
	for (uint32_t old = 0; old < at; old += r->sets[me][old] + 1u)
		if (r->sets[me][old] == count &&
		    memcmp(r->sets[me] + old, set, (count + 1) * sizeof(*set)) == 0)
			return (int)old;
	if (at + count + 1 > SETS_MAX)
		return -E2BIG;
	r->set_words[me] += count + 1;
	return (int)at;
}

static int entry_for(struct sim_routes *r, const struct sim_node *node, uint32_t root,
		     uint16_t *ret_entry)
{
	const uint32_t me = rank(r, node);
	uint32_t count = 0, only = 0;
	int set;

	*ret_entry = SIM_ROUTE_NONE;
	if (me == root) {
		*ret_entry = SIM_ROUTE_LOCAL;
		return 0;
	}
	if (node->port_count == 1 && r->distance[me] != FAR) {
		*ret_entry = 0;
		return 0;
	}
	for (uint32_t p = node->port_count; r->distance[me] != FAR && p-- > 0;)
		if (leads_nearer(r, node, p, root)) {
			only = p;
			count++;
		}
	if (count <= 1) {
		*ret_entry = count == 1 ? (uint16_t)only : (uint16_t)SIM_ROUTE_NONE;
		return 0;
	}
	set = find_set(r, me, node, root);
	if (set < 0)
		return set;
	*ret_entry = (uint16_t)(SIM_ROUTE_SET + set);
	return 0;
}

/* ---- the tree of multicast ---- */

static int make_trees(struct sim_routes *r)
{
	r->trees = util_calloc(r->node_count, sizeof(*r->trees));
	if (!r->trees)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->node_count; i++) {
		const struct sim_node *node = sim_node_at(r->sim, i);

		if (!is_switch(r, node))
			continue;
		r->trees[i].ports = util_calloc(node->port_count / 64 + 1, sizeof(uint64_t));
		if (!r->trees[i].ports)
			return -ENOMEM;
		r->tables[i].tree = r->trees[i].ports;
	}
	return 0;
}

/* The distances are those to one group. */
static void note_farthest(struct sim_routes *r)
{
	for (uint32_t i = 0; i < r->node_count; i++)
		if (r->distance[i] != FAR && r->distance[i] > r->trees[i].farthest)
			r->trees[i].farthest = r->distance[i];
}

/* The root of the next tree, NO_ROOT: all switches are in one. */
static uint32_t next_root(const struct sim_routes *r)
{
	uint32_t root = NO_ROOT;

	for (uint32_t i = 0; i < r->node_count; i++)
		if (r->trees[i].ports && !r->trees[i].found &&
		    (root == NO_ROOT || r->trees[i].farthest < r->trees[root].farthest))
			root = i;
	return root;
}

static void set_tree_port(struct sim_routes *r, uint32_t at, uint32_t port)
{
	r->trees[at].ports[port / 64] |= (uint64_t)1 << port % 64;
}

/* The link between @below and the switch above it. */
static void set_tree_link(struct sim_routes *r, uint32_t below)
{
	const struct tree *tree = &r->trees[below];

	set_tree_port(r, below, tree->up);
	set_tree_port(r, tree->parent, sim_node_at(r->sim, below)->ports[tree->up].peer_port);
}

/* Whether the link at @port carries something there and back. */
static bool link_is_whole(const struct sim_routes *r, const struct sim_node *node, uint32_t port)
{
	return !is_cut(r, node, port) &&
	       !is_cut(r, node->ports[port].peer, node->ports[port].peer_port);
}

/* What hangs on the switch at @at: hosts, and switches that no tree has yet, which are queued. */
static uint32_t branch_out(struct sim_routes *r, uint32_t at, uint32_t tail)
{
	const struct sim_node *node = sim_node_at(r->sim, at);

	for (uint32_t p = 0; p < node->port_count; p++) {
		const struct sim_port *port = &node->ports[p];
		const uint32_t next = rank(r, port->peer);

		if (!link_is_whole(r, node, p) || r->trees[next].found)
			continue;
		if (!is_switch(r, port->peer)) {
			set_tree_port(r, at, p);
			r->trees[at].leads = true;
			continue;
		}
		r->trees[next].found = true;
		r->trees[next].parent = at;
		r->trees[next].up = (uint16_t)port->peer_port;
		r->queue[tail++] = next;
	}
	return tail;
}

/* The root leads to hosts, or to two switches that lead on: with one alone that would be nearer. */
static void grow_tree(struct sim_routes *r, uint32_t root)
{
	uint32_t head = 0, tail = 0;

	r->queue[tail++] = root;
	r->trees[root].found = true;
	while (head < tail)
		tail = branch_out(r, r->queue[head++], tail);
	for (uint32_t i = tail; i-- > 1;) {
		const struct tree *tree = &r->trees[r->queue[i]];

		if (!tree->leads)
			continue;
		r->trees[tree->parent].leads = true;
		set_tree_link(r, r->queue[i]);
	}
}

static int fill_tables(struct sim_routes *r)
{
	int ret = r->trees ? 0 : make_trees(r);

	if (!r->memory)
		r->memory = util_calloc((size_t)r->node_count * r->group_count, sizeof(uint16_t));
	if (ret || !r->memory)
		return -ENOMEM;
	for (uint32_t g = 0; g < r->group_count; g++) {
		route_measure(r, r->group_root[g]);
		note_farthest(r);
		for (uint32_t i = 0; ret == 0 && i < r->node_count; i++)
			ret = entry_for(r, sim_node_at(r->sim, i), r->group_root[g],
					&r->memory[(size_t)i * r->group_count + g]);
	}
	for (uint32_t i = 0; i < r->node_count; i++) {
		r->tables[i].groups = r->memory + (size_t)i * r->group_count;
		r->tables[i].group_count = r->group_count;
		r->tables[i].sets = r->sets[i];
	}
	for (uint32_t root = next_root(r); root != NO_ROOT; root = next_root(r))
		grow_tree(r, root);
	return ret;
}

int sim_routes_weigh(struct sim_routes *routes)
{
	routes->weighted = true;
	memset(routes->set_words, 0, routes->node_count * sizeof(*routes->set_words));
	return fill_tables(routes);
}

void sim_routes_polarise(struct sim_routes *routes)
{
	for (uint32_t i = 0; i < routes->node_count; i++)
		routes->tables[i].key = util_hash_words(
			(struct util_key){.k0 = sim_seed(routes->sim), .k1 = 4}, NULL, 0);
}

static void route_apply(struct sim_routes *r, const struct override *o)
{
	r->memory[(size_t)o->at * r->group_count + o->group] = o->port;
}

int sim_route_override(struct sim_routes *routes, const struct sim_node *at,
		       const struct sim_node *to, uint32_t port)
{
	const uint32_t group = is_switch(routes, to) ? routes->tables[rank(routes, to)].own_group
						     : routes->address[rank(routes, to)] >> 16;
	struct override *overrides;

	CHECK(is_switch(routes, at) && port < at->port_count);
	if (group >= routes->group_count)
		return -EINVAL;
	overrides = util_realloc(routes->overrides, routes->override_count + 1, sizeof(*overrides));
	if (!overrides)
		return -ENOMEM;
	routes->overrides = overrides;
	overrides[routes->override_count] =
		(struct override){.at = rank(routes, at), .group = group, .port = (uint16_t)port};
	route_apply(routes, &overrides[routes->override_count++]);
	return 0;
}

/* Groups and addresses, no ways yet. */
static int route_make(const struct sim *sim, const struct sim_node_ops *switch_ops,
		      struct sim_routes **ret_routes)
{
	const uint32_t count = sim_node_count(sim);
	struct sim_routes *r = util_calloc(1, sizeof(*r));

	*ret_routes = r;
	if (!r)
		return -ENOMEM;
	*r = (struct sim_routes){.sim = sim, .switch_ops = switch_ops, .node_count = count};
	r->rank_of = util_calloc(count, sizeof(*r->rank_of));
	r->address = util_calloc(count, sizeof(*r->address));
	r->group_root = util_calloc(count, sizeof(*r->group_root));
	r->tables = util_calloc(count, sizeof(*r->tables));
	r->distance = util_calloc(count, sizeof(*r->distance));
	r->queue = util_calloc(count, sizeof(*r->queue));
	r->sets = util_calloc(count, sizeof(*r->sets));
	r->set_words = util_calloc(count, sizeof(*r->set_words));
	r->set_max = util_calloc(count, sizeof(*r->set_max));
	r->local = util_calloc(count, sizeof(*r->local));
	if (!r->rank_of || !r->address || !r->group_root || !r->tables || !r->distance ||
	    !r->queue || !r->sets || !r->set_words || !r->set_max || !r->local)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		r->rank_of[sim_node_at(sim, i)->index] = i;
	return number_groups(r);
}

int sim_routes_create(const struct sim *sim, const struct sim_node_ops *switch_ops,
		      struct sim_routes **ret_routes)
{
	struct sim_routes *r;
	int ret = route_make(sim, switch_ops, &r);

	ret = ret ? ret : fill_tables(r);
	if (ret)
		sim_routes_destroy(r);
	else
		*ret_routes = r;
	return ret;
}

static int mark_cuts(struct sim_routes *r, const struct sim_port *const *cuts, uint32_t count)
{
	uint32_t ports = 0;

	r->first_port = util_calloc(r->node_count, sizeof(*r->first_port));
	if (!r->first_port)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->node_count; i++) {
		r->first_port[i] = ports;
		ports += sim_node_at(r->sim, i)->port_count;
	}
	r->cut = util_calloc(ports, sizeof(*r->cut));
	if (!r->cut)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sim_node *node = cuts[i]->peer->ports[cuts[i]->peer_port].peer;

		r->cut[r->first_port[rank(r, node)] + cuts[i]->index] = true;
	}
	return 0;
}

/* Those that are possible. */
static void take_overrides(struct sim_routes *r, const struct sim_routes *from)
{
	for (uint32_t i = 0; i < from->override_count; i++) {
		const struct override *o = &from->overrides[i];

		if (!is_cut(r, sim_node_at(r->sim, o->at), o->port))
			route_apply(r, o);
	}
}

int sim_routes_without(const struct sim_routes *routes, const struct sim_port *const *cuts,
		       uint32_t count, struct sim_routes **ret_routes)
{
	struct sim_routes *r;
	int ret = route_make(routes->sim, routes->switch_ops, &r);

	ret = ret ? ret : mark_cuts(r, cuts, count);
	if (!ret) {
		r->weighted = routes->weighted;
		ret = fill_tables(r);
	}
	if (ret) {
		sim_routes_destroy(r);
		return ret;
	}
	for (uint32_t i = 0; i < r->node_count; i++)
		r->tables[i].key = routes->tables[i].key;
	take_overrides(r, routes);
	*ret_routes = r;
	return 0;
}

void sim_routes_destroy(struct sim_routes *routes)
{
	if (!routes)
		return;
	for (uint32_t i = 0; i < routes->node_count; i++) {
		if (routes->sets)
			util_free(routes->sets[i]);
		if (routes->local)
			util_free(routes->local[i]);
		if (routes->trees)
			util_free(routes->trees[i].ports);
	}
	util_free(routes->rank_of);
	util_free(routes->address);
	util_free(routes->group_root);
	util_free(routes->tables);
	util_free(routes->memory);
	util_free(routes->distance);
	util_free(routes->queue);
	util_free(routes->sets);
	util_free(routes->set_words);
	util_free(routes->set_max);
	util_free(routes->trees);
	util_free(routes->local);
	util_free(routes->first_port);
	util_free(routes->cut);
	util_free(routes->overrides);
	util_free(routes);
}

uint32_t sim_route_address(const struct sim_routes *routes, const struct sim_node *host)
{
	CHECK(!is_switch(routes, host));
	return routes->address[rank(routes, host)];
}

const struct sim_route_table *sim_route_table_of(const struct sim_routes *routes,
						 const struct sim_node *node)
{
	return &routes->tables[rank(routes, node)];
}

uint32_t sim_route_hops(const struct sim_routes *routes, const struct sim_node *from,
			const struct sim_node *to)
{
	const uint32_t dst = sim_route_address(routes, to);
	uint32_t hops = 0;

	for (; from != to; hops++) {
		const uint32_t port = sim_route_port(sim_route_table_of(routes, from), dst, 0);

		if (port >= from->port_count || hops > routes->node_count)
			return UINT32_MAX;
		from = from->ports[port].peer;
	}
	return hops;
}
