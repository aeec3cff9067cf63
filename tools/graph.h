/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_GRAPH_H
#define TOOLS_GRAPH_H

/* Questions about a topology as a graph: how far, how many ways, how much fits through. As in the
 * fabric (sim/route.h), hosts do not forward. */
#include "models/topology/topology.h"

struct graph_edge { /* a link, seen from one end */
	uint32_t to, link;
};

struct graph {
	const struct topology *topology;
	uint32_t *first;	  /* of each node: its place in @edges; one more at the end */
	struct graph_edge *edges; /* of a node in order of the links' names */
	uint32_t *hosts;	  /* nodes, in natural order of their names: h2 before h10 */
	uint32_t host_count;
};

enum { GRAPH_FAR = UINT32_MAX };

/* As strcmp(), but runs of digits go by their value: h2 before h10. */
int graph_name_order(const char *a, const char *b);

int graph_make(struct graph *graph, const struct topology *topology); /* -ENOMEM */
void graph_free(struct graph *graph);

/* Links of the shortest way from @from to each node; GRAPH_FAR: none. @queue: room for all nodes.
 */
void graph_distances(const struct graph *graph, uint32_t from, uint32_t *ret_distances,
		     uint32_t *queue);
/* How many shortest ways lead from @from to where @distances are 0; @queue as graph_distances()
 * left it, @ways: room for all nodes. UINT64_MAX: that or more. */
uint64_t graph_ways(const struct graph *graph, uint32_t from, const uint32_t *distances,
		    const uint32_t *queue, uint64_t *ways);

/* What the hosts of the first half can send to those of the second at once, in bit/s: the greatest
 * flow, all links together (Dinic 1970). A lower bound of the bisection where hosts are numbered
 * along the fabric, as generators do. -ENOMEM. */
int graph_bisection(const struct graph *graph, uint64_t *ret_bps);

#endif
