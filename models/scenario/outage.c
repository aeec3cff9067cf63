/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/build.h"

#include "sim/port.h"
#include "sim/route.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Links that are down: what the switches at their ends make of it once they have noticed, and all
 * switches once the routing has. */

/* One direction of a link between switches, out of order or in order again. */
struct change {
	ps_t at;
	const struct sim_port *port;
	bool down;
};

struct changes {
	struct change *list;
	uint32_t count;
	const struct sim_port **cuts; /* at the time at hand, and how many faults each has */
	uint32_t *faults;
	uint32_t cut_count;
};

static ps_t outage_later(ps_t at, ps_t delay)
{
	return at == PS_NEVER ? PS_NEVER : at + delay;
}

/* Its flow control: obeys nobody once it has noticed, and is heard again as soon as there is a
 * link. */
static int tell(struct sim_fc *fc, uint32_t port, const struct scenario_fault *fault)
{
	const ps_t known_at = fault->from_at + fault->delay;
	int ret = 0;

	if (!fc->ops->outage)
		return 0;
	if (known_at < fault->until_at)
		ret = fc->ops->outage(fc, port, known_at, false);
	if (!ret && fault->until_at != PS_NEVER)
		ret = fc->ops->outage(fc, port, fault->until_at, true);
	return ret;
}

/* Nodes at either end of the link, or the one that sends, know of it a little later. */
int scenario_take_out(const struct fabric *fabric, const struct topology_link *link,
		      const char *const ends[2], const struct scenario_fault *fault)
{
	int ret = 0;

	for (int end = 0; end < 2 && !ret; end++) {
		const struct sim_port *port = sim_port_find(fabric->sim, link->name, ends[end]);
		struct sim_switch *sw;

		if (fault->direction && strcmp(fault->direction, ends[end]) != 0)
			continue;
		sw = fabric_switch(fabric, ends[end]);
		ret = sw ? sim_switch_outage(sw, port->index, fault->from_at + fault->delay,
					     outage_later(fault->until_at, fault->delay))
			 : 0;
		ret = ret ? ret
			  : tell(sw ? sim_switch_fc(sw) : fabric_host(fabric, ends[end])->fc,
				 port->index, fault);
	}
	return ret;
}

/* ---- when the routing hears of what ---- */

static void outage_add_fault(const struct scenario *s, const struct fabric *fabric,
			     const struct scenario_fault *fault, const struct topology_link *link,
			     struct changes *changes)
{
	const struct topology_node *nodes = s->topology.nodes;
	const uint32_t ends[] = {link->a, link->b};
	const ps_t delay = fault->delay + s->reconverge;

	for (int end = 0; end < 2; end++) {
		const char *name = nodes[ends[end]].name;
		const struct sim_port *port = sim_port_find(fabric->sim, link->name, name);
		struct change *change = &changes->list[changes->count];

		if (fault->direction && strcmp(fault->direction, name) != 0)
			continue;
		change[0] = (struct change){fault->from_at + delay, port, true};
		change[1] = (struct change){outage_later(fault->until_at, delay), port, false};
		changes->count += fault->until_at == PS_NEVER ? 1 : 2;
	}
}

static int compare_changes(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return y->down - x->down; /* so that no count falls below 0 */
}

/* A link to a host is no part of a way between switches. */
static void find_changes(const struct scenario *s, const struct fabric *fabric,
			 struct changes *changes)
{
	const struct topology *topology = &s->topology;

	for (uint32_t i = 0; i < s->fault_count; i++)
		for (uint32_t l = 0; l < topology->link_count; l++) {
			const struct topology_link *link = &topology->links[l];

			if (s->faults[i].kind == SCENARIO_FAULT_DOWN &&
			    strcmp(link->name, s->faults[i].link) == 0 &&
			    topology->nodes[link->a].is_switch &&
			    topology->nodes[link->b].is_switch)
				outage_add_fault(s, fabric, &s->faults[i], link, changes);
		}
	if (changes->count > 0)
		qsort(changes->list, changes->count, sizeof(*changes->list), compare_changes);
}

/* Keeps the cuts in the order of their addresses, so that the same are the same list. */
static void outage_cut(struct changes *c, const struct change *change)
{
	uint32_t i = 0;

	while (i < c->cut_count && c->cuts[i] < change->port)
		i++;
	if (i == c->cut_count || c->cuts[i] != change->port) {
		CHECK(change->down);
		memmove(&c->cuts[i + 1], &c->cuts[i], (c->cut_count - i) * sizeof(c->cuts[0]));
		memmove(&c->faults[i + 1], &c->faults[i],
			(c->cut_count++ - i) * sizeof(c->faults[0]));
		c->cuts[i] = change->port;
		c->faults[i] = 0;
	}
	c->faults[i] += change->down ? 1 : UINT32_MAX;
	if (c->faults[i] > 0)
		return;
	memmove(&c->cuts[i], &c->cuts[i + 1], (--c->cut_count - i) * sizeof(c->cuts[0]));
	memmove(&c->faults[i], &c->faults[i + 1], (c->cut_count - i) * sizeof(c->faults[0]));
}

/* ---- the routes ---- */

/* Those without the cuts, made if they are new. */
static int find_routes(const struct fabric *fabric, const struct changes *c,
		       struct scenario_reroutes *r, const struct sim_routes **ret_routes)
{
	struct scenario_state *state = r->states;
	const size_t bytes = c->cut_count * sizeof(c->cuts[0]);
	int ret;

	if (c->cut_count == 0) {
		*ret_routes = fabric->routes;
		return 0;
	}
	for (; state < r->states + r->state_count; state++)
		if (state->cut_count == c->cut_count && memcmp(state->cuts, c->cuts, bytes) == 0) {
			*ret_routes = state->routes;
			return 0;
		}
	state->cuts = util_calloc(c->cut_count, sizeof(c->cuts[0]));
	if (!state->cuts)
		return -ENOMEM;
	r->state_count++;
	memcpy(state->cuts, c->cuts, bytes);
	state->cut_count = c->cut_count;
	ret = sim_routes_without(fabric->routes, state->cuts, state->cut_count, &state->routes);
	*ret_routes = state->routes;
	return ret;
}

static int make_steps(const struct fabric *fabric, struct changes *changes,
		      struct scenario_reroutes *r)
{
	int ret = 0;

	for (uint32_t i = 0; i < changes->count && !ret;) {
		const ps_t at = changes->list[i].at;

		while (i < changes->count && changes->list[i].at == at)
			outage_cut(changes, &changes->list[i++]);
		r->steps[r->step_count].at = at;
		ret = find_routes(fabric, changes, r, &r->steps[r->step_count++].routes);
	}
	return ret;
}

int scenario_reroute(const struct scenario *s, const struct fabric *fabric,
		     struct scenario_reroutes *r)
{
	struct changes changes = {0};
	uint32_t max = 1;
	int ret = -ENOMEM;

	if (s->reconverge == PS_NEVER)
		return 0;
	/* A fault names one link, and has two ends, which have two ends in time. */
	max += 4 * s->fault_count;
	changes.list = util_calloc(max, sizeof(*changes.list));
	changes.cuts = util_calloc(max, sizeof(changes.cuts[0]));
	changes.faults = util_calloc(max, sizeof(*changes.faults));
	r->steps = util_calloc(max, sizeof(*r->steps));
	r->states = util_calloc(max, sizeof(*r->states));
	if (changes.list && changes.cuts && changes.faults && r->steps && r->states) {
		find_changes(s, fabric, &changes);
		ret = make_steps(fabric, &changes, r);
	}
	for (uint32_t i = 0; i < fabric->switch_count && !ret && r->step_count > 0; i++)
		sim_switch_change_routes(fabric->switches[i], r->steps, r->step_count);
	util_free(changes.list);
	util_free(changes.cuts);
	util_free(changes.faults);
	return ret;
}

void scenario_reroutes_fini(struct scenario_reroutes *r)
{
	for (uint32_t i = 0; i < r->state_count; i++) {
		sim_routes_destroy(r->states[i].routes);
		util_free(r->states[i].cuts);
	}
	util_free(r->states);
	util_free(r->steps);
}
