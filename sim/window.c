/* SPDX-License-Identifier: BSD-2-Clause */

/* One thread's part of one window: which nodes have something to do, what has arrived for them and
 * in which order, and their turn. */
#include "sim/internal.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum { SMALL = 16, BUCKETS = 64, BUCKETS_MAX = 4096 };

void sim_engine_activate(struct engine_thread *et, uint32_t slot, uint64_t window)
{
	et->active[window % WAKE_SLOTS][slot / 64] |= (uint64_t)1 << slot % 64;
	et->any |= (uint64_t)1 << window % WAKE_SLOTS;
}

__attribute__((noinline)) void sim_engine_chunk_new(struct engine_thread *et, struct inbox *box,
						    uint32_t slot, uint64_t window)
{
	struct chunk *chunk = util_arena_get(&et->chunks);

	if (!chunk) {
		/* What is written from here on is lost, and the run ends. */
		et->error = -ENOMEM;
		chunk = et->spill;
	}
	if (!box->first) {
		box->first = chunk;
		sim_engine_activate(et, slot, window);
	} else {
		container_of(box->write, struct chunk, next)->next = chunk;
	}
	box->write = chunk->keys;
}

__attribute__((noinline)) struct sim_pkt *sim_engine_frame_fresh(struct engine_thread *et)
{
	if (et->frame_fresh < et->frame_end)
		return &et->store[et->frame_fresh++];
	et->error = -ENOMEM;
	return NULL;
}

/* ---- order ---- */

/* Eight counters of a byte to a word: enough for fewer than 256 keys. */
static uint64_t *scatter_small(struct engine_thread *et, uint64_t *keys, uint32_t count)
{
	const uint32_t shift = et->sort_shift + KEY_BITS;
	uint64_t *to = et->keys_other, carry = 0;
	union {
		uint8_t byte[BUCKETS];
		uint64_t word[BUCKETS / 8];
	} place = {{0}};

	for (uint32_t i = 0; i < count; i++)
		place.byte[keys[i] >> shift]++;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	for (uint32_t i = 0; i < BUCKETS / 8; i++) {
		const uint64_t counts = place.word[i], sums = counts * 0x0101010101010101u;

		place.word[i] = sums - counts + carry * 0x0101010101010101u;
		carry += sums >> 56;
	}
#else
	for (uint32_t i = 0; i < BUCKETS; i++) {
		const uint8_t counts = place.byte[i];

		place.byte[i] = (uint8_t)carry;
		carry += counts;
	}
#endif
	for (uint32_t i = 0; i < count; i++)
		to[place.byte[keys[i] >> shift]++] = keys[i];
	return to;
}

static uint64_t *scatter_large(struct engine_thread *et, uint64_t *keys, uint32_t count)
{
	uint32_t place[BUCKETS_MAX], buckets = BUCKETS, sum = 0;
	uint32_t shift = et->sort_shift + KEY_BITS;
	uint64_t *to = et->keys_other;

	while (buckets < BUCKETS_MAX && buckets < count / 4 && shift > KEY_BITS) {
		buckets *= 2;
		shift--;
	}
	memset(place, 0, buckets * sizeof(*place));
	for (uint32_t i = 0; i < count; i++)
		place[keys[i] >> shift]++;
	for (uint32_t i = 0; i < buckets; i++) {
		const uint32_t counts = place[i];

		place[i] = sum;
		sum += counts;
	}
	for (uint32_t i = 0; i < count; i++)
		to[place[keys[i] >> shift]++] = keys[i];
	return to;
}

/* One counting pass, then insertion. */
static uint64_t *sort_keys(struct engine_thread *et, uint64_t *keys, uint32_t count)
{
	if (count >= 256)
		keys = scatter_large(et, keys, count);
	else if (count > SMALL)
		keys = scatter_small(et, keys, count);
	for (uint32_t i = 1; i < count; i++) {
		const uint64_t key = keys[i];
		uint32_t j = i;

		for (; j > 0 && keys[j - 1] > key; j--)
			keys[j] = keys[j - 1];
		keys[j] = key;
	}
	return keys;
}

static __attribute__((noinline)) bool before_by_link(const struct sim_node *node,
						     const struct sim_pkt *a,
						     const struct sim_pkt *b)
{
	const uint64_t link_a = node->link_ids[a->port], link_b = node->link_ids[b->port];

	if (link_a != link_b)
		return link_a < link_b;
	CHECK(a->number != b->number); /* or the order is not total */
	return (int16_t)(a->number - b->number) < 0;
}

/* Frames of one instant: by chance of their ports, then as they were sent. @mixes: room. */
static __attribute__((noinline)) void sort_tie(const struct sim_node *node, struct sim_pkt **pkts,
					       uint32_t count, uint64_t *mixes)
{
	for (uint32_t i = 0; i < count; i++) {
		struct sim_pkt *pkt = pkts[i];
		const uint64_t mix =
			sim_tie(node->tie_key, node->link_ids[pkt->port], pkt->at);
		uint32_t j = i;

		for (; j > 0 && (mix < mixes[j - 1] ||
				 (mix == mixes[j - 1] && before_by_link(node, pkt, pkts[j - 1])));
		     j--) {
			pkts[j] = pkts[j - 1];
			mixes[j] = mixes[j - 1];
		}
		pkts[j] = pkt;
		mixes[j] = mix;
	}
}

/* ---- arrivals ---- */

static int make_room(struct engine_thread *et, uint32_t count)
{
	uint32_t max = et->arrivals_max ? et->arrivals_max : 1024;
	void *array[3];

	if (count <= et->arrivals_max)
		return 0;
	while (max < count)
		max *= 2;
	array[0] = util_realloc(et->keys, max, sizeof(*et->keys));
	et->keys = array[0] ? array[0] : et->keys;
	array[1] = util_realloc(et->keys_other, max, sizeof(*et->keys_other));
	et->keys_other = array[1] ? array[1] : et->keys_other;
	array[2] = util_realloc(et->arrivals, max, sizeof(struct sim_pkt *));
	et->arrivals = array[2] ? array[2] : et->arrivals;
	if (!array[0] || !array[1] || !array[2])
		return -ENOMEM;
	et->arrivals_max = max;
	return 0;
}

static inline struct inbox *inbox_of(const struct engine_thread *et, uint32_t thread, uint32_t slot)
{
	return &et->pub.sim->threads[thread].inboxes[et->window & et->window_mask][slot];
}

/* Empties @box to behind @done keys; its chunks go back. 0: no memory. */
static uint32_t take_keys(struct engine_thread *et, struct inbox *box, uint32_t done)
{
	struct chunk *next;

	for (struct chunk *chunk = box->first; chunk; chunk = next) {
		const uint32_t count = engine_chunk_keys(box, chunk, &next);

		if (unlikely(done + count > et->arrivals_max) && make_room(et, done + count) != 0) {
			et->error = -ENOMEM;
			return 0;
		}
		for (uint32_t i = 0; i < count; i++)
			et->keys[done + i] = chunk->keys[i];
		done += count;
		util_arena_put(&et->chunks, chunk);
	}
	*box = (struct inbox){.write = INBOX_FULL};
	return done;
}

/* Keys of all that threads have sent to the node for this window. */
static uint32_t collect(struct engine_thread *et, uint32_t slot)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < et->pub.sim->params.thread_count; t++) {
		struct inbox *box = inbox_of(et, t, slot);

		if (box->first)
			count = take_keys(et, box, count);
	}
	return count;
}

/* Each into the digest, in order. */
static void digest_arrivals(struct engine_thread *et, struct sim_node *node, uint32_t count)
{
	const struct sim_body_ops *body = et->pub.sim->params.body_ops;
	const uint64_t mask[2] = {body->fact_mask[0], body->fact_mask[1]};
	struct sim_pkt *const *pkts = et->arrivals;
	uint64_t digest = node->arrivals;

	for (uint32_t i = 0; i < count; i++) {
		const struct sim_pkt *pkt = pkts[i];
		uint64_t facts[2] = {pkt->body_words[0], pkt->body_words[1]};

		if (likely(pkt->frame == SIM_DATA)) {
			if (mask[0] == 0)
				body->facts(pkt, facts);
			else
				facts[1] &= mask[1];
		}
		digest = sim_digest_arrival(digest, pkt, node->link_ids[pkt->port], facts);
	}
	node->arrivals = digest;
}

/* In order, ties by chance. */
static void arrange(struct engine_thread *et, struct sim_node *node, uint32_t count)
{
	const uint64_t *keys = sort_keys(et, et->keys, count);
	struct sim_pkt **to = et->arrivals;
	uint64_t last = UINT64_MAX;
	uint32_t first = 0;
	bool tied = false;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t key = keys[i];

		to[i] = engine_frame_of(et, key);
		tied |= (key ^ last) <= KEY_MASK;
		last = key;
	}
	for (uint32_t i = 1; unlikely(tied) && i <= count; i++)
		if (i == count || to[i]->at != to[first]->at) {
			if (i - first > 1)
				sort_tie(node, to + first, i - first, et->keys);
			first = i;
		}
	digest_arrivals(et, node, count);
	et->last_at = to[count - 1]->at > et->last_at ? to[count - 1]->at : et->last_at;
}

/* ---- the window ---- */

static void prefetch_node(const struct engine_thread *et, uint32_t slot)
{
	const struct sim_node *node = et->pub.sim->by_slot[slot];
	const struct inbox *box = &et->inboxes[et->window & et->window_mask][slot];
	const uint32_t ports = node->port_count < 32 ? node->port_count : 32;
	uint32_t frames = 0;
	struct chunk *next;

	if (box->first)
		frames = engine_chunk_keys(box, box->first, &next);
	for (uint32_t i = 0; i < frames; i++)
		__builtin_prefetch(engine_frame_of(et, box->first->keys[i]), 1);
	for (uint32_t i = 0; i < ports; i++)
		__builtin_prefetch(&node->ports[i], 1);
}

static uint32_t list_visits(struct engine_thread *et)
{
	const struct sim *sim = et->pub.sim;
	const uint64_t ring = et->window % WAKE_SLOTS;
	uint32_t count = 0;

	for (uint32_t w = et->first_slot / 64; w < (et->end_slot + 63) / 64; w++) {
		uint64_t word = 0;

		for (uint32_t t = 0; t < sim->params.thread_count; t++) {
			word |= sim->threads[t].active[ring][w];
			sim->threads[t].active[ring][w] = 0;
		}
		for (; word; word &= word - 1)
			et->visits[count++] = w * 64 + (uint32_t)__builtin_ctzll(word);
	}
	return count;
}

void sim_engine_window(struct engine_thread *et)
{
	struct sim *sim = et->pub.sim;
	uint32_t visits;

	et->window = sim->window;
	et->pub.from = sim->window * sim->look;
	et->pub.until = et->pub.from + sim->look;
	for (uint32_t i = 0; i < 2; i++)
		et->near[i] = et->inboxes[(et->window + 1 + i) & et->window_mask];
	visits = list_visits(et);
	for (uint32_t i = 0; i < 3; i++)
		et->visits[visits + i] = visits > 0 ? et->visits[visits - 1] : 0;
	for (uint32_t i = 0; i < visits; i++) {
		struct sim_node *node = sim->by_slot[et->visits[i]];
		uint32_t count;

		__builtin_prefetch(sim->by_slot[et->visits[i + 2]]);
		prefetch_node(et, et->visits[i + 1]);
		count = collect(et, et->visits[i]);
		if (count > 0)
			arrange(et, node, count);
		et->hops += count;
		et->events++;
		node->ops->run(&et->pub, node, et->arrivals, count);
		for (uint32_t k = 0; !node->ops->keeps_frames && k < count; k++)
			engine_frame_put(et, et->arrivals[k]);
	}
}
