/* SPDX-License-Identifier: BSD-2-Clause */

/* In which order the nodes lie in memory and are shared out to threads: neighbours together. Ends
 * of the fabric go in the order of their addition, and a node in between follows as soon as half of
 * its neighbours are there: the switches of a pod come behind its hosts, those above all pods in
 * the middle. What nodes do depends on none of it. */
#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>

struct places {
	struct sim_node **order;
	uint32_t count;
	uint32_t *first;     /* by node index: of its neighbours; one more at the end */
	uint32_t *neighbour; /* node indices */
	uint32_t *placed;    /* by node index: how many of the neighbours have their place */
	bool *done;
};

static int find_neighbours(const struct sim *sim, struct places *p)
{
	p->first = util_calloc((size_t)sim->node_count + 2, sizeof(*p->first));
	p->neighbour = util_calloc(2 * (size_t)sim->link_count, sizeof(*p->neighbour));
	p->placed = util_calloc(sim->node_count, sizeof(*p->placed));
	p->done = util_calloc(sim->node_count, sizeof(*p->done));
	if (!p->first || !p->neighbour || !p->placed || !p->done)
		return -ENOMEM;
	/* Counted two places ahead, so that filling in leaves each where it begins. */
	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++)
			p->first[sim->links[i].ends[end]->index + 2]++;
	for (uint32_t i = 2; i < sim->node_count + 2; i++)
		p->first[i] += p->first[i - 1];
	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++) {
			const struct link *link = &sim->links[i];

			p->neighbour[p->first[link->ends[end]->index + 1]++] =
				link->ends[1 - end]->index;
		}
	return 0;
}

/* @node, and whoever has only waited for it. */
static void sim_place(const struct sim *sim, struct places *p, uint32_t index)
{
	uint32_t next = p->count;

	p->done[index] = true;
	p->order[p->count++] = sim->nodes[index];
	for (; next < p->count; next++) {
		const uint32_t at = p->order[next]->index;

		for (uint32_t i = p->first[at]; i < p->first[at + 1]; i++) {
			const uint32_t other = p->neighbour[i];

			p->placed[other]++;
			if (p->done[other] ||
			    2 * p->placed[other] < p->first[other + 1] - p->first[other])
				continue;
			p->done[other] = true;
			p->order[p->count++] = sim->nodes[other];
		}
	}
}

int sim_engine_place(const struct sim *sim, struct sim_node **ret_order)
{
	struct places p = {.order = ret_order};
	const int ret = find_neighbours(sim, &p);

	for (uint32_t i = 0; ret == 0 && i < sim->node_count; i++)
		if (p.first[i + 1] - p.first[i] <= 1 && !p.done[i])
			sim_place(sim, &p, i);
	for (uint32_t i = 0; ret == 0 && i < sim->node_count; i++)
		if (!p.done[i])
			sim_place(sim, &p, i);
	util_free(p.first);
	util_free(p.neighbour);
	util_free(p.placed);
	util_free(p.done);
	return ret;
}
