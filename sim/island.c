/* SPDX-License-Identifier: BSD-2-Clause */

/* Islands: which nodes form them. Real cables are short, too, and with one of a metre windows would
 * be a few nanoseconds long for everybody; so its ends, and whoever else is joined to them by such
 * links, have turns of their own within the long windows of the rest (sim/island_play.c). */
#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>

/* ---- which ---- */

enum {
	FAR = 2,       /* so much longer the next longer links are, or nothing is tried there */
	MEETING = 100, /* what the end of a window costs, in turns of ports */
};
#define TINY (100 * PS_NS)   /* where all windows are shorter, one island is everything ... */
#define AT_ONCE (10 * PS_US) /* ... in windows of that */

struct search {
	const struct sim *sim;
	uint32_t *of; /* by node index: one of the same island with a lesser index, or itself */
	ps_t *look;   /* by the least index of an island: its windows; PS_NEVER: a node alone */
};

static uint32_t island_find(struct search *s, uint32_t node)
{
	while (s->of[node] != node) {
		s->of[node] = s->of[s->of[node]];
		node = s->of[node];
	}
	return node;
}

static void island_join(struct search *s, uint32_t a, uint32_t b, ps_t look)
{
	const uint32_t x = island_find(s, a), y = island_find(s, b), least = x < y ? x : y;

	look = s->look[x] < look ? s->look[x] : look;
	s->look[least] = s->look[y] < look ? s->look[y] : look;
	s->of[x] = s->of[y] = least;
}

/* After so much at the earliest the other end hears of a frame that starts. */
static ps_t ahead(const struct sim *sim, const struct link *link)
{
	const ps_t wire = (ps_t)((u128)sim->params.frame_bytes_min * 8 * PS_S / link->rate_bps);
	const ps_t all = link->delay + wire;

	return all < LOOK_MAX ? all : LOOK_MAX;
}

/* Islands of all links shorter than @below. Returns what that costs: turns of ports a second. */
static u128 try(struct search *s, ps_t below, ps_t look)
{
	const struct sim *sim = s->sim;
	u128 cost = (u128)MEETING * PS_S / look;

	for (uint32_t i = 0; i < sim->node_count; i++) {
		s->of[i] = i;
		s->look[i] = PS_NEVER;
	}
	for (uint32_t i = 0; i < sim->part_count; i++)
		island_join(s, sim->parts[i].lead->index, sim->parts[i].node->index, PS_NEVER);
	for (uint32_t i = 0; i < sim->link_count; i++)
		if (sim->links[i].delay < below)
			island_join(s, sim->links[i].ends[0]->index, sim->links[i].ends[1]->index,
				    ahead(sim, &sim->links[i]));
	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++) {
			const ps_t own = s->look[island_find(s, sim->links[i].ends[end]->index)];

			cost += own == PS_NEVER ? PS_S / look : PS_S / own * 5 / 4;
		}
	return cost;
}

static int compare_delays(const void *a, const void *b)
{
	const ps_t x = *(const ps_t *)a, y = *(const ps_t *)b;

	return x < y ? -1 : x > y;
}

static ps_t limited(const struct sim *sim, ps_t look)
{
	look = look < LOOK_MAX ? look : LOOK_MAX; /* its times fit */
	return sim->params.window_max > 0 && sim->params.window_max < look ? sim->params.window_max
									   : look;
}

/* The links that are no shorter than this are those between islands. @delays are in order. */
static ps_t island_choose(struct search *s, const ps_t *delays, ps_t *ret_look)
{
	const uint32_t links = s->sim->link_count;
	ps_t best = delays[0];
	u128 cost;

	*ret_look = limited(s->sim, best);
	cost = try(s, best, *ret_look);
	for (uint32_t i = 1; i <= links; i++) {
		const ps_t below = i < links ? delays[i] : PS_NEVER;
		const ps_t look = limited(s->sim, i < links ? below : AT_ONCE);
		u128 other;

		if (i == links ? delays[0] >= TINY : below / FAR < delays[i - 1])
			continue;
		other = try(s, below, look);
		if (other >= cost)
			continue;
		cost = other;
		best = below;
		*ret_look = look;
	}
	return best;
}

static uint32_t island_count_all(struct search *s)
{
	uint32_t islands = 0;

	for (uint32_t i = 0; i < s->sim->node_count; i++)
		islands += island_find(s, i) == i && s->look[i] != PS_NEVER;
	return islands;
}

/* Keeps what the last try() has found. */
static int island_keep(struct sim *sim, struct search *s)
{
	const uint32_t islands = island_count_all(s);

	sim->islands = util_calloc((size_t)islands + 1, sizeof(*sim->islands));
	if (!sim->islands)
		return -ENOMEM;
	sim->island_count = islands;
	for (uint32_t i = 0; i < sim->node_count; i++)
		s->of[i] = island_find(s, i);
	for (uint32_t i = 0; i < sim->node_count; i++)
		if (s->look[s->of[i]] == PS_NEVER)
			s->of[i] = UINT32_MAX;
	return 0;
}

int sim_engine_find_islands(struct sim *sim)
{
	ps_t *delays = util_calloc((size_t)sim->link_count + 1, sizeof(*delays));
	struct search s = {.sim = sim,
			   .of = util_calloc((size_t)sim->node_count + 1, sizeof(*s.of)),
			   .look = util_calloc((size_t)sim->node_count + 1, sizeof(*s.look))};
	int ret = delays && s.of && s.look ? 0 : -ENOMEM;

	sim->island_of = s.of;
	sim->look = limited(sim, PS_MS);
	sim->delay_min = PS_MS;
	for (uint32_t i = 0; !ret && i < sim->link_count; i++)
		delays[i] = sim->links[i].delay;
	if (!ret && sim->link_count > 0) {
		ps_t below;

		qsort(delays, sim->link_count, sizeof(*delays), compare_delays);
		sim->delay_min = delays[0];
		below = island_choose(&s, delays, &sim->look);
		try(&s, below, sim->look);
		if (island_count_all(&s) > UINT16_MAX) { /* no room for their numbers */
			sim->look = limited(sim, delays[0]);
			try(&s, delays[0], sim->look);
		}
	} else if (!ret) {
		for (uint32_t i = 0; i < sim->node_count; i++) {
			s.of[i] = i;
			s.look[i] = PS_NEVER;
		}
	}
	ret = ret ? ret : island_keep(sim, &s);
	sim->island_look = s.look;
	util_free(delays);
	return ret;
}
