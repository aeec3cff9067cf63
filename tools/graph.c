/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int graph_name_order(const char *a, const char *b)
{
	const char *x = a, *y = b;

	for (; *x && *y; x++, y++) {
		const size_t m = strspn(x, "0123456789"), n = strspn(y, "0123456789");

		if (m > 0 && n > 0 && m != n && *x != '0' && *y != '0')
			return m < n ? -1 : 1;
		if (*x != *y)
			break;
	}
	return strcmp(x, y);
}

static int graph_compare_hosts(const void *a, const void *b, void *context)
{
	const struct topology *topology = context;

	return graph_name_order(topology->nodes[*(const uint32_t *)a].name,
				topology->nodes[*(const uint32_t *)b].name);
}

static int compare_edges(const void *a, const void *b, void *context)
{
	const struct topology *topology = context;
	const struct graph_edge *x = a, *y = b;
	const int order = strcmp(topology->links[x->link].name, topology->links[y->link].name);

	return order ? order : (x->to > y->to) - (x->to < y->to);
}

static void graph_add(struct graph *graph, uint32_t *fill, uint32_t from, uint32_t to,
		      uint32_t link)
{
	graph->edges[graph->first[from] + fill[from]++] = (struct graph_edge){to, link};
}

static void lay_edges(struct graph *graph, uint32_t *fill)
{
	const struct topology *topology = graph->topology;

	for (uint32_t i = 0; i < topology->link_count; i++) {
		graph->first[topology->links[i].a + 1]++;
		graph->first[topology->links[i].b + 1]++;
	}
	for (uint32_t i = 0; i < topology->node_count; i++)
		graph->first[i + 1] += graph->first[i];
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];

		graph_add(graph, fill, link->a, link->b, i);
		graph_add(graph, fill, link->b, link->a, i);
	}
	for (uint32_t i = 0; i < topology->node_count; i++)
		qsort_r(graph->edges + graph->first[i], graph->first[i + 1] - graph->first[i],
			sizeof(*graph->edges), compare_edges, (void *)(uintptr_t)topology);
}

int graph_make(struct graph *graph, const struct topology *topology)
{
	uint32_t *fill = calloc((size_t)topology->node_count + 1, sizeof(*fill));

	*graph = (struct graph){
		.topology = topology,
		.first = calloc((size_t)topology->node_count + 2, sizeof(*graph->first)),
		.edges = calloc(2 * (size_t)topology->link_count + 1, sizeof(*graph->edges)),
		.hosts = calloc((size_t)topology->node_count + 1, sizeof(*graph->hosts)),
	};
	if (!fill || !graph->first || !graph->edges || !graph->hosts) {
		free(fill);
		graph_free(graph);
		return -ENOMEM;
	}
	lay_edges(graph, fill);
	free(fill);
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (!topology->nodes[i].is_switch)
			graph->hosts[graph->host_count++] = i;
	qsort_r(graph->hosts, graph->host_count, sizeof(*graph->hosts), graph_compare_hosts,
		(void *)(uintptr_t)topology);
	return 0;
}

void graph_free(struct graph *graph)
{
	free(graph->first);
	free(graph->edges);
	free(graph->hosts);
	*graph = (struct graph){.topology = NULL};
}

void graph_distances(const struct graph *graph, uint32_t from, uint32_t *ret_distances,
		     uint32_t *queue)
{
	uint32_t head = 0, tail = 0;

	memset(ret_distances, 0xff, graph->topology->node_count * sizeof(*ret_distances));
	ret_distances[from] = 0;
	queue[tail++] = from;
	while (head < tail) {
		const uint32_t node = queue[head++];

		if (node != from && !graph->topology->nodes[node].is_switch)
			continue;
		for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
			const uint32_t to = graph->edges[e].to;

			if (ret_distances[to] != GRAPH_FAR)
				continue;
			ret_distances[to] = ret_distances[node] + 1;
			queue[tail++] = to;
		}
	}
}

static uint64_t ways_of(const struct graph *graph, uint32_t node, const uint32_t *distances,
			const uint64_t *ways)
{
	uint64_t sum = 0;

	for (uint32_t e = graph->first[node]; e < graph->first[node + 1]; e++) {
		const uint32_t to = graph->edges[e].to;

		if (distances[to] == GRAPH_FAR || distances[to] + 1 != distances[node] ||
		    (distances[to] > 0 && !graph->topology->nodes[to].is_switch))
			continue;
		sum = sum > UINT64_MAX - ways[to] ? UINT64_MAX : sum + ways[to];
	}
	return sum;
}

/* The queue has every node behind those that are nearer. */
uint64_t graph_ways(const struct graph *graph, uint32_t from, const uint32_t *distances,
		    const uint32_t *queue, uint64_t *ways)
{
	ways[queue[0]] = 1;
	for (uint32_t i = 1; i < graph->topology->node_count && queue[i - 1] != from; i++)
		ways[queue[i]] = ways_of(graph, queue[i], distances, ways);
	return ways[from];
}

/* ---- bisection ---- */

/* Two arcs a link, one each way, that are each other's residual; likewise from the source to the
 * hosts of the first half and from those of the second to the sink. */
struct arc {
	uint32_t to, next, twin;
	uint64_t room;
};

struct net {
	struct arc *arcs;
	uint32_t *heads, *levels, *turns, *queue;
	uint32_t arc_count, node_count, source, sink;
};

static void graph_join(struct net *net, uint32_t a, uint32_t b, uint64_t there, uint64_t back)
{
	const uint32_t n = net->arc_count;

	net->arcs[n] = (struct arc){b, net->heads[a], n + 1, there};
	net->heads[a] = n;
	net->arcs[n + 1] = (struct arc){a, net->heads[b], n, back};
	net->heads[b] = n + 1;
	net->arc_count += 2;
}

static bool find_levels(struct net *net)
{
	uint32_t head = 0, tail = 0;

	memset(net->levels, 0xff, net->node_count * sizeof(*net->levels));
	net->levels[net->source] = 0;
	net->queue[tail++] = net->source;
	while (head < tail) {
		const uint32_t node = net->queue[head++];

		for (uint32_t a = net->heads[node]; a != UINT32_MAX; a = net->arcs[a].next) {
			const struct arc *arc = &net->arcs[a];

			if (arc->room == 0 || net->levels[arc->to] != GRAPH_FAR)
				continue;
			net->levels[arc->to] = net->levels[node] + 1;
			net->queue[tail++] = arc->to;
		}
	}
	return net->levels[net->sink] != GRAPH_FAR;
}

/* As deep as the fabric is wide in links: shortest ways only. */
static uint64_t graph_push(struct net *net, uint32_t node, uint64_t limit)
{
	if (node == net->sink)
		return limit;
	for (; net->turns[node] != UINT32_MAX;
	     net->turns[node] = net->arcs[net->turns[node]].next) {
		struct arc *arc = &net->arcs[net->turns[node]];
		uint64_t pushed;

		if (arc->room == 0 || net->levels[arc->to] != net->levels[node] + 1)
			continue;
		pushed = graph_push(net, arc->to, limit < arc->room ? limit : arc->room);
		if (pushed == 0)
			continue;
		arc->room -= pushed;
		net->arcs[arc->twin].room += pushed;
		return pushed;
	}
	return 0;
}

static void lay_net(struct net *net, const struct graph *graph)
{
	const struct topology *topology = graph->topology;

	memset(net->heads, 0xff, net->node_count * sizeof(*net->heads));
	for (uint32_t i = 0; i < topology->link_count; i++)
		graph_join(net, topology->links[i].a, topology->links[i].b,
			   topology->links[i].rate_bps, topology->links[i].rate_bps);
	for (uint32_t i = 0; i < graph->host_count; i++)
		if (i < graph->host_count / 2)
			graph_join(net, net->source, graph->hosts[i], UINT64_MAX / 2, 0);
		else
			graph_join(net, graph->hosts[i], net->sink, UINT64_MAX / 2, 0);
}

static uint64_t greatest_flow(struct net *net)
{
	uint64_t flow = 0, pushed;

	while (find_levels(net)) {
		memcpy(net->turns, net->heads, net->node_count * sizeof(*net->turns));
		while ((pushed = graph_push(net, net->source, UINT64_MAX / 2)) > 0)
			flow += pushed;
	}
	return flow;
}

int graph_bisection(const struct graph *graph, uint64_t *ret_bps)
{
	const uint32_t nodes = graph->topology->node_count + 2;
	struct net net = {
		.arcs = calloc(2 * ((size_t)graph->topology->link_count + graph->host_count) + 1,
			       sizeof(*net.arcs)),
		.heads = calloc(nodes, sizeof(uint32_t)),
		.levels = calloc(nodes, sizeof(uint32_t)),
		.turns = calloc(nodes, sizeof(uint32_t)),
		.queue = calloc(nodes, sizeof(uint32_t)),
		.node_count = nodes,
		.source = nodes - 2,
		.sink = nodes - 1,
	};
	const bool room = net.arcs && net.heads && net.levels && net.turns && net.queue;

	if (room) {
		lay_net(&net, graph);
		*ret_bps = greatest_flow(&net);
	}
	free(net.arcs);
	free(net.heads);
	free(net.levels);
	free(net.turns);
	free(net.queue);
	return room ? 0 : -ENOMEM;
}
