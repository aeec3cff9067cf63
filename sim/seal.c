/* SPDX-License-Identifier: BSD-2-Clause */

/* All nodes and links are there: windows, islands, places, threads, ports and inboxes. */
#include "sim/internal.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>
#include <string.h>

enum { LONGEST_FRAME = 9300 };

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

/* ---- parts ---- */

static int find_leads(struct sim *sim)
{
	if (sim->part_count == 0)
		return 0;
	sim->first_part = util_calloc(sim->node_count, sizeof(struct part *));
	sim->lead_of = util_calloc(sim->node_count, sizeof(*sim->lead_of));
	if (!sim->first_part || !sim->lead_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->node_count; i++)
		sim->lead_of[i] = i;
	for (uint32_t i = sim->part_count; i-- > 0;) {
		struct part *part = &sim->parts[i];

		CHECK(sim->lead_of[part->node->index] == part->node->index);
		sim->lead_of[part->node->index] = part->lead->index;
		part->next = sim->first_part[part->lead->index];
		sim->first_part[part->lead->index] = part;
	}
	for (uint32_t i = 0; i < sim->part_count; i++)
		CHECK(sim->lead_of[sim->parts[i].lead->index] == sim->parts[i].lead->index);
	return 0;
}

static bool is_part(const struct sim *sim, const struct sim_node *node)
{
	return engine_lead(sim, node) != node->index;
}

/* ---- places ---- */

/* The islands get their numbers in the order in which their first members come. */
static void number_islands(struct sim *sim, struct sim_node *const *order)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < sim->node_count; i++) {
		const uint32_t first = sim->island_of[order[i]->index];
		struct sim_node *node = order[i],
				*known = first != UINT32_MAX ? sim->nodes[first] : NULL;
		struct island *island;

		node->island = 0;
		if (!known)
			continue;
		/* Its representative knows the number, once there is one. */
		if (known->slot == 0)
			known->slot = ++count;
		node->island = (uint16_t)known->slot;
		island = &sim->islands[node->island - 1];
		island->count++;
		island->look = sim->island_look[first];
		island->ports += node->port_count;
	}
	CHECK(count == sim->island_count);
}

/* To which thread each node belongs: contiguous parts of about equal numbers of ports. Islands stay
 * whole. */
static void seal_share_out(struct sim *sim, struct sim_node *const *order)
{
	const uint32_t threads = sim->params.thread_count;
	const uint64_t total = sim->node_count + 2 * (uint64_t)sim->link_count;
	uint64_t before = 0;
	uint16_t thread = 0;

	for (uint32_t i = 0; i < sim->node_count; i++) {
		struct sim_node *node = order[i];
		struct island *island = node->island ? &sim->islands[node->island - 1] : NULL;

		while (thread + 1u < threads && before * threads >= total * (thread + 1u))
			thread++;
		if (!island) {
			node->thread = thread;
			before += 1 + node->port_count;
			continue;
		}
		if (!island->own.outer) {
			island->own.outer = &sim->threads[thread];
			before += island->count + island->ports;
		}
		node->thread = (uint16_t)(island->own.outer - sim->threads);
	}
	for (uint32_t i = 0; i < sim->part_count; i++)
		sim->parts[i].node->thread = sim->parts[i].lead->thread;
}

static uint32_t outer_slot(const struct sim *sim, const struct sim_node *node)
{
	return node->slot + (node->island ? sim->islands[node->island - 1].first_slot : 0);
}

/* Each thread's nodes, and then each of its islands, begin at a new word of the bitmaps. */
static uint32_t number_slots(struct sim *sim, struct sim_node *const *order)
{
	uint32_t slot = 0, k = 0;

	for (uint32_t t = 0; t < sim->params.thread_count; t++) {
		struct engine_thread *et = &sim->threads[t];

		et->first_slot = slot;
		for (uint32_t i = 0; i < sim->node_count; i++)
			if (order[i]->thread == t && !order[i]->island && !is_part(sim, order[i]))
				order[i]->slot = slot++;
		et->end_slot = slot;
		slot = (slot + 63) / 64 * 64;
		et->islands = &sim->islands[k];
		for (; k < sim->island_count && sim->islands[k].own.outer == et; k++) {
			sim->islands[k].first_slot = slot;
			slot = (slot + sim->islands[k].count + 63) / 64 * 64;
			et->island_count++;
		}
	}
	for (uint32_t i = 0; i < sim->island_count; i++)
		sim->islands[i].count = 0;
	for (uint32_t i = 0; i < sim->node_count; i++)
		if (order[i]->island && !is_part(sim, order[i]))
			order[i]->slot = sim->islands[order[i]->island - 1].count++;
	for (uint32_t i = 0; i < sim->part_count; i++)
		sim->parts[i].node->slot = sim->parts[i].lead->slot;
	return slot;
}

static int assign_slots(struct sim *sim)
{
	struct sim_node **order = util_calloc(sim->node_count, sizeof(*order));
	int ret = order ? sim_engine_place(sim, order) : -ENOMEM;

	for (uint32_t i = 0; i < sim->link_count; i++)
		for (int end = 0; end < 2; end++)
			sim->links[i].ends[end]->port_count++;
	for (uint32_t i = 0; i < sim->node_count; i++)
		sim->nodes[i]->slot = 0;
	if (ret == 0) {
		number_islands(sim, order);
		seal_share_out(sim, order);
		sim->slot_count = number_slots(sim, order);
		sim->by_slot = util_calloc(sim->slot_count + 1, sizeof(*sim->by_slot));
		ret = sim->by_slot ? 0 : -ENOMEM;
	}
	for (uint32_t i = 0; ret == 0 && i < sim->node_count; i++)
		if (!is_part(sim, order[i]))
			sim->by_slot[outer_slot(sim, order[i])] = order[i];
	util_free(order);
	return ret;
}

/* ---- ports ---- */

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

static void fill_port(const struct sim *sim, struct sim_port *port, const struct link *link,
		      int end)
{
	struct sim_node *node = link->ends[end], *peer = link->ends[1 - end];
	const bool within = node->island && node->island == peer->island;
	const uint64_t words[] = {link->id, node->id};

	*port = (struct sim_port){
		.delay = link->delay,
		.ps_per_byte_q32 = ps_per_byte_q32(link->rate_bps),
		.link_id = util_hash_words((struct util_key){0}, words, 2),
		.peer_slot = within ? peer->slot : outer_slot(sim, peer),
		.hooked = within	 ? SIM_HOOK_WITHIN
			  : node->island ? SIM_HOOK_OUT
					 : 0,
		.index = (uint16_t)(port - node->ports),
		.peer = peer,
		.rate_bps = link->rate_bps,
		.rate_inverse = UINT64_MAX / link->rate_bps,
		.link_name = link->name,
	};
}

/* Ports that are not filled yet. Returns what comes behind them. */
static struct sim_port *give_ports(const struct sim *sim, struct sim_node *node,
				   struct sim_port *ports)
{
	struct sim_port *behind = ports + node->port_count;

	node->ports = ports;
	node->link_ids = sim->link_ids + (ports - sim->ports);
	CHECK(node->port_count <= UINT16_MAX);
	node->port_count = 0;
	return behind;
}

static uint16_t seal_place_of(const struct sim *sim, const struct sim_node *node,
			      const struct sim_port *port)
{
	const ptrdiff_t place = port - sim->nodes[engine_lead(sim, node)]->ports;

	CHECK(place >= 0 && place <= UINT16_MAX);
	return (uint16_t)place;
}

/* Ports of a node lie together, in order of link name; nodes in that of their slots, and parts
 * behind their lead. */
static int lay_out_ports(struct sim *sim)
{
	const size_t count = 2 * (size_t)sim->link_count;
	struct sim_port *next;

	next = sim->ports = util_calloc(count, sizeof(*sim->ports));
	sim->link_ids = util_calloc(count, sizeof(*sim->link_ids));
	if (!sim->ports || !sim->link_ids)
		return -ENOMEM;
	for (uint32_t i = 0; i < sim->slot_count; i++) {
		struct sim_node *node = sim->by_slot[i];

		if (!node)
			continue;
		next = give_ports(sim, node, next);
		for (struct part *part = engine_first_part(sim, node); part; part = part->next)
			next = give_ports(sim, part->node, next);
	}
	for (uint32_t i = 0; i < sim->link_count; i++) {
		struct link *link = &sim->links[i];
		struct sim_port *port[2];

		for (int end = 0; end < 2; end++) {
			struct sim_node *node = link->ends[end];

			port[end] = &node->ports[node->port_count++];
			fill_port(sim, port[end], link, end);
		}
		for (int end = 0; end < 2; end++) {
			port[end]->peer_port = port[1 - end]->index;
			port[end]->peer_place =
				seal_place_of(sim, link->ends[1 - end], port[1 - end]);
		}
	}
	for (size_t i = 0; i < count; i++)
		sim->link_ids[i] = sim->ports[i].link_id;
	return 0;
}

/* ---- windows and inboxes ---- */

/* How many windows of @look the inboxes reach ahead. */
static uint32_t choose_reach(const struct sim *sim, ps_t look)
{
	uint32_t slots = 4;
	ps_t reach = 0;

	for (uint32_t i = 0; i < sim->link_count; i++) {
		const struct link *link = &sim->links[i];
		const ps_t far = link->delay + LONGEST_FRAME * 8 * PS_S / link->rate_bps + 1;

		reach = far > reach ? far : reach;
	}
	while (slots < INBOX_SLOTS_MAX && slots < reach / look + 3)
		slots *= 2;
	return slots;
}

/* Inboxes and bitmaps for @slots nodes. 0 or -ENOMEM. */
static int seal_lay_out(struct engine_thread *et, ps_t look, uint32_t inbox_slots, uint32_t slots)
{
	const size_t words = slots / 64 + 1, boxes = (size_t)inbox_slots * (slots + 1);

	et->slot_count = slots;
	et->end = et->look = look;
	et->two_looks = 2 * look;
	et->window_mask = inbox_slots - 1;
	while ((look - 1) >> et->sort_shift >= 64)
		et->sort_shift++;
	et->active[0] = util_calloc(words * WAKE_SLOTS, sizeof(uint64_t));
	et->inboxes[0] = util_calloc(boxes, sizeof(struct inbox));
	et->visits = util_calloc(slots + 8, sizeof(uint32_t));
	et->far_wake_at = util_alloc((slots + 1) * sizeof(uint64_t));
	if (!et->active[0] || !et->inboxes[0] || !et->visits || !et->far_wake_at)
		return -ENOMEM;
	for (uint32_t i = 1; i < WAKE_SLOTS; i++)
		et->active[i] = et->active[0] + words * i;
	for (uint32_t i = 1; i < inbox_slots; i++)
		et->inboxes[i] = et->inboxes[0] + (size_t)(slots + 1) * i;
	for (size_t i = 0; i < boxes; i++)
		et->inboxes[0][i].write = INBOX_FULL;
	for (uint32_t i = 0; i <= slots; i++)
		et->far_wake_at[i] = UINT64_MAX;
	return 0;
}

static int thread_init(struct sim *sim, uint32_t number)
{
	struct engine_thread *et = &sim->threads[number];
	int ret;

	et->pub.sim = sim;
	et->pub.number = number;
	et->by_slot = sim->by_slot;
	et->writers = sim->threads;
	et->writer_count = sim->params.thread_count;
	et->chunks = &et->own_chunks;
	et->store = (struct sim_pkt *)(void *)sim->store.base;
	et->frame_fresh = (uint32_t)(sim->params.frames_max * number);
	et->frame_end = (uint32_t)(sim->params.frames_max * (number + 1));
	/* All frames of all threads may end here; one chunk of an inbox may be nearly empty. */
	ret = util_arena_init(&et->own_chunks, CHUNK_BYTES,
			      sim->store.count_max / CHUNK_KEYS +
				      (uint64_t)INBOX_SLOTS_MAX * (sim->slot_count + 1) * 2 + 2);
	et->spill = ret == 0 ? util_arena_get(&et->own_chunks) : NULL;
	ret = ret ? ret
		  : seal_lay_out(et, sim->look, choose_reach(sim, sim->look), sim->slot_count);
	return ret ? ret : sim_engine_make_room(et, CHUNK_KEYS);
}

static int island_init(struct sim *sim, struct island *island)
{
	struct engine_thread *own = &island->own;

	own->pub = own->outer->pub;
	own->by_slot = sim->by_slot + island->first_slot;
	own->store = own->outer->store;
	return sim_engine_island_init(island);
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
	ret = find_leads(sim);
	if (ret == 0)
		ret = sim_engine_find_islands(sim);
	if (ret == 0)
		ret = assign_slots(sim);
	if (ret == 0)
		ret = lay_out_ports(sim);
	if (ret == 0)
		ret = util_arena_init(&sim->store, sizeof(struct sim_pkt),
				      sim->params.frames_max * sim->params.thread_count);
	for (uint32_t i = 0; ret == 0 && i < sim->params.thread_count; i++)
		ret = thread_init(sim, i);
	for (uint32_t i = 0; ret == 0 && i < sim->island_count; i++)
		ret = island_init(sim, &sim->islands[i]);
	util_free(sim->island_of);
	util_free(sim->island_look);
	sim->island_of = NULL;
	sim->island_look = NULL;
	sim->sealed = ret == 0;
	return ret;
}
