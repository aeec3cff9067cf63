/* SPDX-License-Identifier: BSD-2-Clause */

/* One thread's part of one window: which nodes have something to do, what has arrived for them and
 * in which order, and their turn. */
#include "sim/internal.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

enum { SMALL = 16, BUCKETS = 64, BUCKETS_MAX = 4096 };

__attribute__((noinline)) void sim_engine_chunk_new(struct engine_thread *et, struct inbox *box,
						    uint32_t slot, uint64_t window)
{
	struct chunk *chunk = util_arena_get(et->chunks);
	bool was_empty;

	if (!chunk) {
		/* What is written from here on is lost, and the run ends. */
		et->error = -ENOMEM;
		chunk = et->spill;
	}
	was_empty = !box->first;
	if (was_empty)
		box->first = chunk;
	else
		container_of(box->write, struct chunk, next)->next = chunk;
	box->write = chunk->keys;
	if (was_empty) /* last: neither is needed any more, so that no register is saved for it */
		engine_activate(et, slot, window);
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

	UNROLL
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
	UNROLL
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

/* @key behind @done keys in order; to[-1] is 0. */
static inline void window_insert(uint64_t *to, uint32_t done, uint64_t key)
{
	uint64_t *at = to + done;

	for (; at[-1] > key; at--)
		at[0] = at[-1];
	*at = key;
}

static inline void sort_nearly(uint64_t *keys, uint32_t count)
{
	uint64_t last = keys[0];

	for (uint32_t i = 1; i < count; i++) {
		const uint64_t key = keys[i];

		if (unlikely(key < last))
			window_insert(keys, i, key);
		else
			last = key;
	}
}

/* Many keys: one counting pass, then insertion. */
static __attribute__((noinline)) uint64_t *sort_many(struct engine_thread *et, uint32_t count)
{
	uint64_t *keys = et->keys;

	keys = count < 256 ? scatter_small(et, keys, count) : scatter_large(et, keys, count);
	sort_nearly(keys, count);
	return keys;
}

static __attribute__((noinline)) bool
before_by_link(const struct sim_node *node, const struct sim_pkt *a, const struct sim_pkt *b)
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
		const uint64_t mix = sim_tie(node->tie_key, node->link_ids[pkt->port], pkt->at);
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

/* Arrays of keys have a 0 in front and room for one more behind. */
static uint64_t *grow_keys(uint64_t *keys, uint32_t max)
{
	uint64_t *grown = util_realloc(keys ? keys - 1 : NULL, (size_t)max + 2, sizeof(*keys));

	if (!grown)
		return NULL;
	*grown = 0;
	return grown + 1;
}

int sim_engine_make_room(struct engine_thread *et, uint32_t count)
{
	uint32_t max = et->arrivals_max ? et->arrivals_max : 1024;
	void *array[3];

	if (count <= et->arrivals_max)
		return 0;
	while (max < count)
		max *= 2;
	array[0] = grow_keys(et->keys, max);
	et->keys = array[0] ? array[0] : et->keys;
	array[1] = grow_keys(et->keys_other, max);
	et->keys_other = array[1] ? array[1] : et->keys_other;
	array[2] = util_realloc(et->arrivals, max, sizeof(struct sim_pkt *));
	et->arrivals = array[2] ? array[2] : et->arrivals;
	if (!array[0] || !array[1] || !array[2])
		return -ENOMEM;
	et->arrivals_max = max;
	return 0;
}

/* Takes key @i, and its frame comes into the cache. */
static inline uint64_t take_key(const struct engine_thread *et, const struct chunk *chunk,
				uint32_t i)
{
	__builtin_prefetch(engine_frame_of(et, chunk->keys[i]), 1);
	return chunk->keys[i];
}

/* As few as SMALL keys are in order at once. */
static inline void take_chunk(struct engine_thread *et, struct chunk *chunk, uint32_t done,
			      uint32_t count)
{
	uint64_t *to = et->keys + done;

	if (done + count <= SMALL) {
		for (uint32_t i = 0; i < count; i++)
			window_insert(to, i, take_key(et, chunk, i));
	} else {
		UNROLL
		for (uint32_t i = 0; i < count; i++)
			to[i] = take_key(et, chunk, i);
	}
	util_arena_put(et->chunks, chunk);
}

/* Empties @box to behind @done keys; its chunks go back. 0: no memory. */
static __attribute__((noinline)) uint32_t take_keys(struct engine_thread *et, struct inbox *box,
						    uint32_t done)
{
	struct chunk *next;

	for (struct chunk *chunk = box->first; chunk; chunk = next) {
		const uint32_t count = engine_chunk_keys(box, chunk, &next);

		if (unlikely(done + count > et->arrivals_max) &&
		    sim_engine_make_room(et, done + count) != 0) {
			et->error = -ENOMEM;
			return 0;
		}
		take_chunk(et, chunk, done, count);
		done += count;
	}
	*box = (struct inbox){.write = INBOX_FULL};
	return done;
}

/* Keys of all that threads have sent to the node for this window. */
static __attribute__((noinline)) uint32_t collect_all(struct engine_thread *et, uint32_t slot)
{
	uint32_t count = 0;

	for (uint32_t t = 0; t < et->writer_count; t++) {
		struct inbox *box = &et->writers[t].inboxes[et->window & et->window_mask][slot];

		if (box->first)
			count = take_keys(et, box, count);
	}
	return count;
}

/* The same where there is but one writer, with its inboxes of this window; or NULL. */
static inline uint32_t collect(struct engine_thread *et, uint32_t slot, struct inbox *alone)
{
	struct chunk *chunk, *next;
	uint32_t count;

	if (!alone)
		return collect_all(et, slot);
	chunk = alone[slot].first;
	if (!chunk)
		return 0;
	count = engine_chunk_keys(&alone[slot], chunk, &next);
	if (next)
		return take_keys(et, &alone[slot], 0);
	take_chunk(et, chunk, 0, count);
	alone[slot] = (struct inbox){.write = INBOX_FULL};
	return count;
}

/* Of a window that is not played to its end: what arrives in the rest stays in the inbox, which is
 * empty. How many are left. */
static __attribute__((noinline)) uint32_t hold_back(struct engine_thread *et, uint32_t slot,
						    uint32_t count)
{
	const uint64_t limit = (et->look - (et->end - et->pub.until)) << KEY_BITS;
	struct inbox *box = &et->inboxes[et->window & et->window_mask][slot];
	uint32_t kept = 0;

	for (uint32_t i = 0; i < count; i++) {
		const uint64_t key = et->keys[i];

		if (key < limit) {
			et->keys[kept++] = key;
			continue;
		}
		if (((uintptr_t)box->write & (CHUNK_BYTES - 1)) == (uintptr_t)INBOX_FULL)
			sim_engine_chunk_new(et, box, slot, et->window);
		*box->write++ = key;
	}
	if (kept > 0 && kept <= SMALL)
		sort_nearly(et->keys, kept);
	return kept;
}

uint32_t sim_engine_collect(struct engine_thread *et, uint32_t slot)
{
	uint32_t count = collect_all(et, slot);
	const uint64_t *keys;

	if (et->pub.until < et->end)
		count = hold_back(et, slot, count);
	keys = count <= SMALL ? et->keys : sort_many(et, count);
	for (uint32_t i = 0; i < count; i++)
		et->arrivals[i] = engine_frame_of(et, keys[i]);
	return count;
}

/* @ops: NULL where the facts are where body ops say, under @mask. */
static inline uint64_t digest_one(const struct sim_body_ops *ops, uint64_t mask,
				  const struct sim_node *node, uint64_t digest,
				  const struct sim_pkt *pkt)
{
	uint64_t facts[2] = {pkt->body_words[0], pkt->body_words[1]};

	if (likely(pkt->frame == SIM_DATA)) {
		if (ops)
			ops->facts(pkt, facts);
		else
			facts[1] &= mask;
	}
	return sim_digest_arrival(digest, pkt, node->link_ids[pkt->port], facts);
}

/* Frames of one instant, those of @keys from @first on, in their order and into the digest. Returns
 * where they end. */
static __attribute__((noinline)) uint32_t arrange_tie(struct engine_thread *et,
						      struct sim_node *node, uint64_t *keys,
						      uint32_t first, uint32_t count)
{
	const struct sim_body_ops *ops = et->pub.sim->params.body_ops;
	const uint64_t key = keys[first];
	uint32_t end = first;

	for (; end < count && (keys[end] ^ key) <= KEY_MASK; end++)
		et->arrivals[end] = engine_frame_of(et, keys[end]);
	sort_tie(node, et->arrivals + first, end - first, keys + first);
	for (uint32_t i = first; i < end; i++)
		node->arrivals = digest_one(ops->fact_mask[0] ? NULL : ops, ops->fact_mask[1], node,
					    node->arrivals, et->arrivals[i]);
	return end;
}

/* In order, ties by chance, and each into the digest. */
static inline __attribute__((always_inline)) void
arrange_by(struct engine_thread *et, struct sim_node *node, uint64_t *keys, uint32_t count,
	   const struct sim_body_ops *ops, uint64_t mask)
{
	uint64_t digest = node->arrivals, next = keys[0];
	struct sim_pkt **to = et->arrivals;
	uint64_t i = 0;

	keys[count] = UINT64_MAX; /* alike to none */
	while (i < count) {
		const uint64_t key = next;

		next = keys[i + 1];
		if (unlikely((key ^ next) <= KEY_MASK)) {
			node->arrivals = digest;
			i = arrange_tie(et, node, keys, (uint32_t)i, count);
			digest = node->arrivals;
			next = keys[i];
			continue;
		}
		to[i] = engine_frame_of(et, key);
		digest = digest_one(ops, mask, node, digest, to[i]);
		i++;
	}
	node->arrivals = digest;
}

static void arrange(struct engine_thread *et, struct sim_node *node, uint32_t count)
{
	const struct sim_body_ops *ops = et->pub.sim->params.body_ops;
	uint64_t *keys = count <= SMALL ? et->keys : sort_many(et, count);
	ps_t last_at;

	if (likely(ops->fact_mask[0] != 0))
		arrange_by(et, node, keys, count, NULL, ops->fact_mask[1]);
	else
		arrange_by(et, node, keys, count, ops, 0);
	last_at = et->arrivals[count - 1]->at;
	et->last_at = last_at > et->last_at ? last_at : et->last_at;
}

/* The same of et->arrivals, which lack but the order of ties. */
static inline void arrange_frames(struct engine_thread *et, struct sim_node *node, uint32_t count)
{
	const struct sim_body_ops *ops = et->pub.sim->params.body_ops;
	const uint64_t mask = ops->fact_mask[1];
	struct sim_pkt **frames = et->arrivals;
	uint64_t digest = node->arrivals;

	ops = ops->fact_mask[0] ? NULL : ops;
	for (uint32_t i = 0, sorted = 0; i < count; i++) {
		const ps_t at = frames[i]->at;

		if (unlikely(i + 1 < count && frames[i + 1]->at == at && i >= sorted)) {
			for (sorted = i + 2; sorted < count && frames[sorted]->at == at;)
				sorted++;
			sort_tie(node, frames + i, sorted - i, et->keys);
		}
		digest = digest_one(ops, mask, node, digest, frames[i]);
		et->last_at = at > et->last_at ? at : et->last_at;
	}
	node->arrivals = digest;
}

/* ---- the window ---- */

/* Whoever has asked for a turn in the window has one in each part of it. */
uint64_t sim_engine_turns(struct engine_thread *et, uint32_t word)
{
	const bool in_parts = et->pub.until < et->end;
	const uint64_t ring = et->window % WAKE_SLOTS;
	uint64_t turns = 0;

	for (uint32_t t = 0; t < et->writer_count; t++) {
		turns |= et->writers[t].active[ring][word];
		if (!in_parts)
			et->writers[t].active[ring][word] = 0;
	}
	return turns;
}

static uint32_t list_visits(struct engine_thread *et)
{
	uint32_t count = 0;

	for (uint32_t w = et->first_slot / 64; w < (et->end_slot + 63) / 64; w++)
		for (uint64_t word = sim_engine_turns(et, w); word; word &= word - 1)
			et->visits[count++] = w * 64 + (uint32_t)__builtin_ctzll(word);
	return count;
}

void sim_engine_play(struct engine_thread *et, uint64_t window, ps_t from, ps_t until)
{
	struct inbox *alone = NULL;
	uint64_t hops = 0;
	uint32_t visits;

	et->window = window;
	et->end = (window + 1) * et->look;
	et->pub.from = from;
	et->pub.until = until;
	if (until == et->end)
		et->any &= ~((uint64_t)1 << window % WAKE_SLOTS);
	if (et->writer_count == 1)
		alone = et->inboxes[window & et->window_mask];
	for (uint32_t i = 0; i < 2; i++)
		et->near[i] = et->inboxes[(window + 1 + i) & et->window_mask];
	visits = list_visits(et);
	for (uint32_t i = 0; i < 2; i++)
		et->visits[visits + i] = visits > 0 ? et->visits[visits - 1] : 0;
	for (uint32_t i = 0; i < visits; i++) {
		struct sim_node *node = et->by_slot[et->visits[i]];
		const struct sim_node_ops *ops = node->ops;
		uint32_t count = collect(et, et->visits[i], alone);

		if (unlikely(until < et->end))
			count = hold_back(et, et->visits[i], count);
		__builtin_prefetch(et->by_slot[et->visits[i + 2]]);
		if (count > 0)
			arrange(et, node, count);
		hops += count;
		ops->run(&et->pub, node, et->arrivals, count);
		if (!ops->keeps_frames)
			for (uint32_t k = 0; k < count; k++)
				engine_frame_put(et, et->arrivals[k]);
	}
	et->hops += hops;
	et->events += visits;
}

void sim_engine_turn(struct engine_thread *et, struct sim_node *node, uint32_t count)
{
	arrange_frames(et, node, count);
	node->ops->run(&et->pub, node, et->arrivals, count);
	if (!node->ops->keeps_frames)
		for (uint32_t k = 0; k < count; k++)
			engine_frame_put(et, et->arrivals[k]);
	et->hops += count;
	et->events++;
}

void sim_engine_window(struct engine_thread *et)
{
	const struct sim *sim = et->pub.sim;

	sim_engine_play(et, sim->window, sim->from, sim->until);
	if (et->island_count > 0)
		sim_engine_islands(et);
}
