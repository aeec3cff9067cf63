/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/sim.h"

#include "sim/internal.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { FRAMES_DEFAULT = 1 << 24 };

/* ---- names ---- */

static bool id_set_has(const struct id_set *set, uint64_t id)
{
	if (set->count == 0)
		return false;
	for (uint64_t i = id;; i++) {
		if (set->ids[i & set->mask] == 0)
			return false;
		if (set->ids[i & set->mask] == id)
			return true;
	}
}

static void id_set_put(struct id_set *set, uint64_t id)
{
	uint64_t i = id;

	while (set->ids[i & set->mask] != 0)
		i++;
	set->ids[i & set->mask] = id;
	set->count++;
}

/* 0 stands for an empty place; no name hashes to it in practice, and none may. */
static int id_set_add(struct id_set *set, uint64_t id)
{
	CHECK(id != 0);
	if (id_set_has(set, id))
		return -EEXIST;
	if (!set->ids || set->count * 2 > set->mask) {
		const uint32_t size = set->ids ? (set->mask + 1) * 2 : 64;
		struct id_set grown = {.ids = util_calloc(size, sizeof(uint64_t)),
				       .mask = size - 1};

		if (!grown.ids)
			return -ENOMEM;
		for (uint32_t i = 0; set->ids && i <= set->mask; i++)
			if (set->ids[i] != 0)
				id_set_put(&grown, set->ids[i]);
		util_free(set->ids);
		*set = grown;
	}
	id_set_put(set, id);
	return 0;
}

/* ---- creation ---- */

struct sim *sim_create(const struct sim_params *params)
{
	struct sim *sim;

	CHECK(params->thread_count >= 1);
	CHECK(params->thread_count <= THREADS_MAX);
	CHECK(params->body_ops != NULL);
	CHECK(params->priority_count == 0 || params->priority_count == SIM_PRIORITIES ||
	      params->priority_count == SIM_PRIORITIES_MAX);
	sim = util_calloc(1, sizeof(*sim));
	if (sim) {
		sim->params = *params;
		sim->cut_at = PS_NEVER;
		if (sim->params.priority_count == 0)
			sim->params.priority_count = SIM_PRIORITIES;
		if (sim->params.frames_max == 0)
			sim->params.frames_max = FRAMES_DEFAULT;
		if (sim->params.frames_max > FRAMES_MAX / params->thread_count)
			sim->params.frames_max = FRAMES_MAX / params->thread_count;
	}
	return sim;
}

static int sim_grow(void **array, uint32_t count, uint32_t *max, size_t bytes)
{
	uint32_t more = *max ? *max * 2 : 16;
	void *grown;

	if (count < *max)
		return 0;
	grown = util_realloc(*array, more, bytes);
	if (!grown)
		return -ENOMEM;
	*array = grown;
	*max = more;
	return 0;
}

static uint64_t tie_key(const struct sim *sim, uint64_t id)
{
	return util_hash_words((struct util_key){.k0 = sim->params.seed, .k1 = 1}, &id, 1);
}

int sim_add_node(struct sim *sim, struct sim_node *node)
{
	void *array = sim->nodes;
	int ret;

	CHECK(!sim->sealed);
	CHECK(node->ops != NULL);
	ret = sim_grow(&array, sim->node_count, &sim->node_max, sizeof(*sim->nodes));
	sim->nodes = array;
	if (ret == 0)
		ret = id_set_add(&sim->ids, util_hash_name(node->name));
	if (ret != 0)
		return ret;
	node->sim = sim;
	node->id = util_hash_name(node->name);
	node->digest = node->arrivals = node->id;
	node->tie_key = tie_key(sim, node->id);
	node->index = sim->node_count;
	node->port_count = 0;
	node->ports = NULL;
	sim->nodes[sim->node_count++] = node;
	return 0;
}

int sim_add_part(struct sim *sim, struct sim_node *lead, struct sim_node *part)
{
	void *array = sim->parts;
	int ret;

	CHECK(!sim->sealed);
	CHECK(lead->sim == sim && part->sim == sim);
	ret = sim_grow(&array, sim->part_count, &sim->part_max, sizeof(*sim->parts));
	sim->parts = array;
	if (ret == 0)
		sim->parts[sim->part_count++] = (struct part){lead, part, NULL};
	return ret;
}

int sim_add_link(struct sim *sim, struct sim_node *a, struct sim_node *b,
		 const struct sim_link_params *params)
{
	void *array = sim->links;
	const size_t length = strlen(params->name);
	const uint64_t id = util_hash_name(params->name);
	char *name;
	int ret;

	CHECK(!sim->sealed);
	if (a == b || a->sim != sim || b->sim != sim || params->delay < 1 || params->rate_bps < 1)
		return -EINVAL;
	ret = sim_grow(&array, sim->link_count, &sim->link_max, sizeof(*sim->links));
	sim->links = array;
	if (ret != 0)
		return ret;
	name = util_alloc(length + 1);
	if (!name)
		return -ENOMEM;
	ret = id_set_add(&sim->ids, id);
	if (ret != 0) {
		util_free(name);
		return ret;
	}
	memcpy(name, params->name, length + 1);
	sim->links[sim->link_count++] = (struct link){
		.name = name,
		.id = id,
		.rate_bps = params->rate_bps,
		.delay = params->delay,
		.ends = {a, b},
	};
	return 0;
}

/* ---- the end ---- */

static void sim_release(struct engine_thread *et, struct sim_pkt *pkt)
{
	if (pkt->frame == SIM_DATA)
		et->pub.sim->params.body_ops->release(&et->pub, pkt);
}

static void release_inbox(struct engine_thread *et, struct inbox *box)
{
	struct chunk *next;

	for (struct chunk *chunk = box->first; chunk; chunk = next) {
		const uint32_t count = engine_chunk_keys(box, chunk, &next);

		for (uint32_t i = 0; i < count; i++)
			sim_release(et, engine_frame_of(et, chunk->keys[i]));
	}
}

/* What is under way at the end. A chunk may come from another thread's memory, so all threads do
 * this before the first gives its own back. */
static void thread_release(struct engine_thread *et)
{
	const struct sim *sim = et->pub.sim;

	if (!sim->sealed || sim->error != 0)
		return;
	for (size_t i = 0; i < (et->window_mask + 1) * (et->slot_count + 1); i++)
		release_inbox(et, &et->inboxes[0][i]);
	for (uint32_t i = 0; i < et->far_frame_count; i++)
		sim_release(et, &et->store[et->far_frames[i].number]);
}

static void island_release(struct island *island)
{
	const struct sim *sim = island->own.pub.sim;

	if (!sim || !sim->sealed || sim->error != 0)
		return;
	for (uint32_t i = 0; i < island->count; i++) {
		const struct member *member = &island->members[i];

		for (uint32_t k = 0; k < member->inner_count; k++)
			sim_release(&island->own, member->inner[k].frame);
		for (uint32_t k = member->outer_first; k < member->outer_count; k++)
			sim_release(&island->own, member->outer[k].frame);
	}
}

static void thread_fini(struct engine_thread *et)
{
	util_arena_fini(&et->own_chunks);
	util_free(et->active[0]);
	util_free(et->inboxes[0]);
	util_free(et->visits);
	util_free(et->far_wake_at);
	util_free(et->far_frames);
	util_free(et->far_wakes);
	util_free(et->keys ? et->keys - 1 : NULL);
	util_free(et->keys_other ? et->keys_other - 1 : NULL);
	util_free(et->arrivals);
}

void sim_destroy(struct sim *sim)
{
	if (!sim)
		return;
	for (uint32_t i = 0; i < sim->island_count; i++)
		island_release(&sim->islands[i]);
	for (uint32_t i = 0; sim->threads && i < sim->params.thread_count; i++)
		if (sim->threads[i].pub.sim)
			thread_release(&sim->threads[i]);
	for (uint32_t i = 0; i < sim->island_count; i++)
		sim_engine_island_fini(&sim->islands[i]);
	util_free(sim->islands);
	util_free(sim->island_of);
	util_free(sim->island_look);
	for (uint32_t i = 0; sim->threads && i < sim->params.thread_count; i++)
		thread_fini(&sim->threads[i]);
	util_arena_fini(&sim->store);
	for (uint32_t i = 0; i < sim->link_count; i++)
		util_free(sim->links[i].name);
	util_free(sim->links);
	util_free(sim->parts);
	util_free(sim->first_part);
	util_free(sim->lead_of);
	util_free(sim->nodes);
	util_free(sim->by_name);
	util_free(sim->by_slot);
	util_free(sim->ports);
	util_free(sim->link_ids);
	util_free(sim->ids.ids);
	util_free(sim->threads);
	util_free(sim);
}

/* ---- questions ---- */

uint64_t sim_seed(const struct sim *sim)
{
	return sim->params.seed;
}

uint32_t sim_priority_count(const struct sim *sim)
{
	return sim->params.priority_count;
}

void *sim_owner(const struct sim *sim)
{
	return sim->params.owner;
}

ps_t sim_lookahead(const struct sim *sim)
{
	return sim->look;
}

ps_t sim_delay_min(const struct sim *sim)
{
	return sim->delay_min;
}

uint32_t sim_node_count(const struct sim *sim)
{
	return sim->node_count;
}

struct sim_node *sim_node_at(const struct sim *sim, uint32_t i)
{
	CHECK(i < sim->node_count);
	return sim->by_name[i];
}

struct sim_node *sim_turn_of(const struct sim *sim, const struct sim_node *node)
{
	return sim->nodes[engine_lead(sim, node)];
}

bool sim_is_done(const struct sim *sim)
{
	return sim->done;
}

/* Threads, then islands. */
static uint32_t player_count(const struct sim *sim)
{
	return sim->params.thread_count + sim->island_count;
}

static const struct engine_thread *player(const struct sim *sim, uint32_t i)
{
	return i < sim->params.thread_count ? &sim->threads[i]
					    : &sim->islands[i - sim->params.thread_count].own;
}

ps_t sim_now(const struct sim *sim)
{
	ps_t last = 0;

	if (sim->running)
		return sim->from;
	for (uint32_t i = 0; i < player_count(sim); i++)
		last = player(sim, i)->last_at > last ? player(sim, i)->last_at : last;
	return last;
}

ps_t sim_played(const struct sim *sim)
{
	return sim->until;
}

uint64_t sim_packet_hops(const struct sim *sim)
{
	uint64_t hops = 0;

	for (uint32_t i = 0; i < player_count(sim); i++)
		hops += player(sim, i)->hops;
	return hops;
}

uint64_t sim_events(const struct sim *sim)
{
	uint64_t events = 0;

	for (uint32_t i = 0; i < player_count(sim); i++)
		events += player(sim, i)->events;
	return events;
}

uint32_t sim_island_count(const struct sim *sim)
{
	return sim->island_count;
}

uint64_t sim_digest(const struct sim *sim)
{
	struct sim_node all = {.digest = sim->params.scenario_hash};

	sim_digest_add(&all, 0, sim->params.seed, sim->node_count);
	for (uint32_t i = 0; i < sim->node_count; i++) {
		const struct sim_node *node = sim->by_name[i];

		sim_digest_add(&all, node->id, node->arrivals, node->digest);
	}
	return all.digest;
}

KEPT_APART void sim_finish(struct sim *sim)
{
	CHECK(!sim->finished);
	sim->finished = true;
	for (uint32_t i = 0; i < sim->node_count; i++)
		sim->by_name[i]->ops->finish(sim->by_name[i]);
}
