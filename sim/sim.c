/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/sim.h"

#include "sim/internal.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { FRAMES_DEFAULT = 1 << 24, SEAL_BYTES = 9300 };

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
	sim = util_calloc(1, sizeof(*sim));
	if (sim) {
		sim->params = *params;
		sim->cut_at = PS_NEVER;
		if (sim->params.frames_max == 0)
			sim->params.frames_max = FRAMES_DEFAULT;
		if (sim->params.frames_max > FRAMES_MAX / params->thread_count)
			sim->params.frames_max = FRAMES_MAX / params->thread_count;
	}
	return sim;
}

static int grow(void **array, uint32_t count, uint32_t *max, size_t bytes)
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
	ret = grow(&array, sim->node_count, &sim->node_max, sizeof(*sim->nodes));
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
	ret = grow(&array, sim->link_count, &sim->link_max, sizeof(*sim->links));
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

/* ---- sealing ---- */

/* Heap sort: a total order (names differ), no recursion, no memory. */
static void sort(void *array, uint32_t count, bool (*before)(void *array, uint32_t a, uint32_t b),
		 void (*swap)(void *array, uint32_t a, uint32_t b))
{
	for (uint32_t start = count / 2, end = count; end > 1;) {
		uint32_t root, child;

		if (start > 0)
			start--;
		else
			swap(array, 0, --end);
		for (root = start; (child = 2 * root + 1) < end; root = child) {
			if (child + 1 < end && before(array, child, child + 1))
				child++;
			if (!before(array, root, child))
				break;
			swap(array, root, child);
		}
	}
}

static bool link_before(void *array, uint32_t a, uint32_t b)
{
	const struct link *links = array;

	return strcmp(links[a].name, links[b].name) < 0;
}

static void link_swap(void *array, uint32_t a, uint32_t b)
{
	struct link *links = array, link = links[a];

	links[a] = links[b];
	links[b] = link;
}

static bool node_before(void *array, uint32_t a, uint32_t b)
{
	struct sim_node **nodes = array;

	return strcmp(nodes[a]->name, nodes[b]->name) < 0;
}

static void node_swap(void *array, uint32_t a, uint32_t b)
{
	struct sim_node **nodes = array, *node = nodes[a];

	nodes[a] = nodes[b];
	nodes[b] = node;
}

/* 8 * 10^12 / rate in 32.32, rounded down: exact where the fraction is 0. */
static uint64_t ps_per_byte_q32(uint64_t rate_bps)
{
	uint64_t quotient = 8 * PS_S / rate_bps, rest = 8 * PS_S % rate_bps;

	CHECK(rate_bps <= UINT64_MAX / 2);
	if (quotient > UINT32_MAX)
		return 1; /* slower than 2 kb/s: never exact */
	for (int i = 0; i < 32; i++) {
		rest *= 2;
		quotient = quotient << 1 | (rest >= rate_bps);
		rest -= rest >= rate_bps ? rate_bps : 0;
	}
	return quotient | (rest > 0); /* never mistaken for exact */
}

static void fill_port(struct sim_port *port, const struct link *link, int end)
{
	struct sim_node *node = link->ends[end], *peer = link->ends[1 - end];
	const uint64_t words[] = {link->id, node->id};

	*port = (struct sim_port){
		.delay = link->delay,
		.ps_per_byte_q32 = ps_per_byte_q32(link->rate_bps),
		.link_id = util_hash_words((struct util_key){0}, words, 2),
		.peer_slot = peer->slot,
		.index = (uint16_t)(port - node->ports),
		.peer = peer,
		.rate_bps = link->rate_bps,
		.rate_inverse = UINT64_MAX / link->rate_bps,
		.link_name = link->name,
	};
}

/* Ports of a node lie together, in order of link name; nodes in that of their slots. */
static int lay_out_ports(struct sim *sim)
{
	const size_t count = 2 * (size_t)sim->link_count;
	struct sim_port *next;

	next = sim->ports = util_calloc(count, sizeof(*sim->ports));
	sim->link_ids = util_calloc(count, sizeof(*sim->link_ids));
	if (!sim->ports || !sim->link_ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++)
			sim->links[i].ends[end]->port_count++;
	for (uint32_t i = 0; i < sim->slot_count; i++) {
		struct sim_node *node = sim->by_slot[i];

		if (!node)
			continue;
		node->ports = next;
		node->link_ids = sim->link_ids + (next - sim->ports);
		next += node->port_count;
		CHECK(node->port_count <= UINT16_MAX);
		node->port_count = 0;
	}
	for (uint32_t i = 0; i < sim->link_count; i++) {
		struct link *link = &sim->links[i];
		struct sim_port *port[2];

		for (int end = 0; end < 2; end++) {
			struct sim_node *node = link->ends[end];

			port[end] = &node->ports[node->port_count++];
			fill_port(port[end], link, end);
		}
		port[0]->peer_port = port[1]->index;
		port[1]->peer_port = port[0]->index;
	}
	for (size_t i = 0; i < count; i++)
		sim->link_ids[i] = sim->ports[i].link_id;
	return 0;
}

/* Contiguous parts of about equal numbers of ports; each begins at a new word of the bitmaps. */
static uint32_t share_out(struct sim *sim, struct sim_node *const *order)
{
	const uint32_t threads = sim->params.thread_count;
	const uint64_t total = sim->node_count + 2 * (uint64_t)sim->link_count;
	uint64_t before = 0;
	uint32_t slot = 0, thread = 0;

	for (uint32_t i = 0; i < sim->link_count; i++) {
		sim->links[i].ends[0]->port_count++;
		sim->links[i].ends[1]->port_count++;
	}
	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct sim_node *node = order[i];

		while (thread + 1 < threads && before * threads >= total * (thread + 1)) {
			sim->threads[thread].end_slot = slot;
			slot = (slot + 63) / 64 * 64;
			sim->threads[++thread].first_slot = slot;
		}
		node->thread = thread;
		node->slot = slot++;
		before += 1 + node->port_count;
		node->port_count = 0;
	}
	sim->threads[thread].end_slot = slot;
	slot = (slot + 63) / 64 * 64;
	while (++thread < threads)
		sim->threads[thread].first_slot = sim->threads[thread].end_slot = slot;
	return slot;
}

static int assign_slots(struct sim *sim)
{
	struct sim_node **order = util_calloc(sim->node_count, sizeof(*order));
	int ret = order ? sim_engine_place(sim, order) : -ENOMEM;

	if (ret == 0) {
		sim->slot_count = share_out(sim, order);
		sim->by_slot = util_calloc(sim->slot_count + 1, sizeof(*sim->by_slot));
		ret = sim->by_slot ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; ret == 0 && i < sim->node_count; i++)
		sim->by_slot[order[i]->slot] = order[i];
	util_free(order);
	return ret;
}

/* The window, and how many of them the inboxes reach ahead. */
static void choose_windows(struct sim *sim)
{
	ps_t reach = 0;

	sim->delay_min = sim->link_count > 0 ? PS_NEVER : PS_MS;
	for (uint32_t i = 0; i < sim->link_count; i++)
		if (sim->links[i].delay < sim->delay_min)
			sim->delay_min = sim->links[i].delay;
	sim->look = sim->delay_min < LOOK_MAX ? sim->delay_min : LOOK_MAX; /* its times fit */
	if (sim->params.window_max > 0 && sim->params.window_max < sim->look)
		sim->look = sim->params.window_max;
	for (uint32_t i = 0; i < sim->link_count; i++) {
		const struct link *link = &sim->links[i];
		const ps_t far = link->delay + SEAL_BYTES * 8 * PS_S / link->rate_bps + 1;

		reach = far > reach ? far : reach;
	}
	for (sim->inbox_slots = 4; sim->inbox_slots < INBOX_SLOTS_MAX;)
		if (sim->inbox_slots >= reach / sim->look + 3)
			break;
		else
			sim->inbox_slots *= 2;
}

static int thread_init(struct sim *sim, uint32_t number)
{
	struct engine_thread *et = &sim->threads[number];
	const size_t words = sim->slot_count / 64 + 1;
	int ret;

	et->pub.sim = sim;
	et->pub.number = number;
	et->end = et->look = sim->look;
	et->two_looks = 2 * sim->look;
	et->window_mask = sim->inbox_slots - 1;
	while ((sim->look - 1) >> et->sort_shift >= 64)
		et->sort_shift++;
	et->store = (struct sim_pkt *)(void *)sim->store.base;
	et->frame_fresh = (uint32_t)(sim->params.frames_max * number);
	et->frame_end = (uint32_t)(sim->params.frames_max * (number + 1));
	/* All frames of all threads may end here; one chunk of an inbox may be nearly empty. */
	ret = util_arena_init(&et->chunks, CHUNK_BYTES,
			      sim->store.count_max / CHUNK_KEYS +
				      (uint64_t)sim->inbox_slots * (sim->slot_count + 1) + 2);
	et->spill = ret == 0 ? util_arena_get(&et->chunks) : NULL;
	et->active[0] = util_calloc(words * WAKE_SLOTS, sizeof(uint64_t));
	et->inboxes[0] =
		util_calloc((size_t)sim->inbox_slots * (sim->slot_count + 1), sizeof(struct inbox));
	et->visits = util_calloc(sim->slot_count + 8, sizeof(uint32_t));
	et->far_wake_at = util_alloc((sim->slot_count + 1) * sizeof(uint64_t));
	if (ret != 0 || !et->active[0] || !et->inboxes[0] || !et->visits || !et->far_wake_at)
		return -ENOMEM;
	for (uint32_t i = 1; i < WAKE_SLOTS; i++)
		et->active[i] = et->active[0] + words * i;
	for (uint32_t i = 1; i < sim->inbox_slots; i++)
		et->inboxes[i] = et->inboxes[0] + (size_t)(sim->slot_count + 1) * i;
	for (size_t i = 0; i < (size_t)sim->inbox_slots * (sim->slot_count + 1); i++)
		et->inboxes[0][i].write = INBOX_FULL;
	for (uint32_t i = 0; i <= sim->slot_count; i++)
		et->far_wake_at[i] = UINT64_MAX;
	return sim_engine_make_room(et, CHUNK_KEYS);
}

int sim_seal(struct sim *sim)
{
	int ret;

	CHECK(!sim->sealed);
	sort(sim->links, sim->link_count, link_before, link_swap);
	sim->by_name = util_calloc(sim->node_count + 1, sizeof(*sim->by_name));
	sim->threads = util_calloc(sim->params.thread_count, sizeof(*sim->threads));
	if (!sim->by_name || !sim->threads)
		return -ENOMEM;
	if (sim->node_count > 0)
		memcpy(sim->by_name, sim->nodes, sim->node_count * sizeof(*sim->nodes));
	sort(sim->by_name, sim->node_count, node_before, node_swap);
	choose_windows(sim);
	ret = assign_slots(sim);
	if (ret == 0)
		ret = lay_out_ports(sim);
	if (ret == 0)
		ret = util_arena_init(&sim->store, sizeof(struct sim_pkt),
				      sim->params.frames_max * sim->params.thread_count);
	for (uint32_t i = 0; ret == 0 && i < sim->params.thread_count; i++)
		ret = thread_init(sim, i);
	sim->sealed = ret == 0;
	return ret;
}

/* ---- the end ---- */

static void release(struct engine_thread *et, struct sim_pkt *pkt)
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
			release(et, engine_frame_of(et, chunk->keys[i]));
	}
}

/* What is under way at the end. A chunk may come from another thread's memory, so all threads do
 * this before the first gives its own back. */
static void thread_release(struct engine_thread *et)
{
	const struct sim *sim = et->pub.sim;

	if (!sim->sealed || sim->error != 0)
		return;
	for (size_t i = 0; i < (size_t)sim->inbox_slots * (sim->slot_count + 1); i++)
		release_inbox(et, &et->inboxes[0][i]);
	for (uint32_t i = 0; i < et->far_frame_count; i++)
		release(et, &et->store[et->far_frames[i].number]);
}

static void thread_fini(struct engine_thread *et)
{
	util_arena_fini(&et->chunks);
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
	for (uint32_t i = 0; sim->threads && i < sim->params.thread_count; i++)
		if (sim->threads[i].pub.sim)
			thread_release(&sim->threads[i]);
	for (uint32_t i = 0; sim->threads && i < sim->params.thread_count; i++)
		thread_fini(&sim->threads[i]);
	util_arena_fini(&sim->store);
	for (uint32_t i = 0; i < sim->link_count; i++)
		util_free(sim->links[i].name);
	util_free(sim->links);
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

bool sim_is_done(const struct sim *sim)
{
	return sim->done;
}

ps_t sim_now(const struct sim *sim)
{
	ps_t last = 0;

	if (sim->running)
		return sim->from;
	for (uint32_t i = 0; i < sim->params.thread_count; i++)
		last = sim->threads[i].last_at > last ? sim->threads[i].last_at : last;
	return last;
}

ps_t sim_played(const struct sim *sim)
{
	return sim->until;
}

uint64_t sim_packet_hops(const struct sim *sim)
{
	uint64_t hops = 0;

	for (uint32_t i = 0; i < sim->params.thread_count; i++)
		hops += sim->threads[i].hops;
	return hops;
}

uint64_t sim_events(const struct sim *sim)
{
	uint64_t events = 0;

	for (uint32_t i = 0; i < sim->params.thread_count; i++)
		events += sim->threads[i].events;
	return events;
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

void sim_finish(struct sim *sim)
{
	CHECK(!sim->finished);
	sim->finished = true;
	for (uint32_t i = 0; i < sim->node_count; i++)
		sim->by_name[i]->ops->finish(sim->by_name[i]);
}
