/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/packet.h"

#include "sim/sim.h"
#include "transport/wire/frame.h"
#include "transport/wire/hop.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

static void packet_room_give_back(struct hca_room *room, void *piece, size_t bytes)
{
	struct packet_pools *pools = container_of(room, struct packet_pools, room);

	__atomic_fetch_sub(&pools->room_bytes, bytes, __ATOMIC_RELAXED);
	util_free(piece);
}

static void *packet_room_take(struct hca_room *room, size_t bytes)
{
	struct packet_pools *pools = container_of(room, struct packet_pools, room);
	const uint64_t all = __atomic_add_fetch(&pools->room_bytes, bytes, __ATOMIC_RELAXED);
	void *piece = all <= pools->bytes_max ? util_alloc(bytes) : NULL;

	if (piece)
		return piece;
	packet_room_give_back(room, NULL, bytes);
	packet_pools_exhaust(pools);
	return NULL;
}

int packet_pools_init(struct packet_pools *pools, uint32_t thread_count, uint32_t mtu,
		      uint64_t bytes_max)
{
	const uint64_t bytes = packet_slab_bytes(mtu), count = bytes_max / thread_count / bytes;
	int ret = 0;

	*pools = (struct packet_pools){.thread_count = thread_count,
				       .room = {packet_room_take, packet_room_give_back},
				       .bytes_max = bytes_max};
	pools->slabs = util_calloc(thread_count, sizeof(*pools->slabs));
	if (!pools->slabs)
		return -ENOMEM;
	for (uint32_t i = 0; i < thread_count && !ret; i++)
		ret = util_arena_init(&pools->slabs[i], bytes, count ? count : 1);
	if (ret)
		packet_pools_fini(pools);
	return ret;
}

void packet_pools_fini(struct packet_pools *pools)
{
	CHECK(pools->room_bytes == 0);
	for (uint32_t i = 0; pools->slabs && i < pools->thread_count; i++)
		util_arena_fini(&pools->slabs[i]);
	util_free(pools->slabs);
	*pools = (struct packet_pools){0};
}

uint64_t packet_pools_used(const struct packet_pools *pools)
{
	uint64_t fresh = 0, free = 0; /* of all: slabs move between threads */

	for (uint32_t i = 0; pools->slabs && i < pools->thread_count; i++) {
		fresh += pools->slabs[i].fresh_count;
		free += pools->slabs[i].free_count;
	}
	return fresh - free;
}

/* Slabs that were given back are there for the next packets. */
static uint64_t slab_bytes(const struct packet_pools *pools)
{
	uint64_t fresh = 0;

	for (uint32_t i = 0; i < pools->thread_count; i++)
		fresh += pools->slabs[i].fresh_count;
	return fresh * pools->slabs[0].object_bytes;
}

void packet_pools_balance(struct packet_pools *pools)
{
	for (uint32_t i = 1; i < pools->thread_count; i++)
		util_arena_balance(&pools->slabs[i - 1], &pools->slabs[i]);
	if (pools->room_bytes > 0 && pools->room_bytes + slab_bytes(pools) > pools->bytes_max)
		packet_pools_exhaust(pools);
}

struct packet_pools *packet_pools_of(const struct sim_thread *th)
{
	return sim_owner(th->sim);
}

struct packet_slab *packet_slab_get(struct sim_thread *th)
{
	struct packet_pools *pools = packet_pools_of(th);
	struct packet_slab *slab = util_arena_get(&pools->slabs[th->number]);

	if (!slab)
		packet_pools_exhaust(pools);
	return slab;
}

void packet_slab_put(struct sim_thread *th, struct packet_slab *slab)
{
	util_arena_put(&packet_pools_of(th)->slabs[th->number], slab);
}

void packet_slab_return(struct packet_pools *pools, struct packet_slab *slab)
{
	util_arena_put(&pools->slabs[0], slab);
}

/* The body's pointer is to the payload, wherever a slab is used. */
void packet_pack_slab(const struct wire_pkt *pkt, struct packet_slab *slab,
		      struct sim_pkt *ret_frame)
{
	uint8_t *bytes;

	CHECK(slab != NULL);
	bytes = slab->bytes;
	if (pkt->has_rare)
		slab->rare = pkt->rare;
	if (pkt->synthetic)
		slab->pattern = pkt->pattern;
	else if (pkt->length > 0 && pkt->payload != bytes)
		memcpy(bytes, pkt->payload, pkt->length);
	memcpy(ret_frame->body + offsetof(struct wire_pkt, payload), &bytes, sizeof(bytes));
}

static void body_release(struct sim_thread *th, struct sim_pkt *frame)
{
	struct packet_slab *slab = frame->frame == SIM_DATA ? packet_slab_of(frame) : NULL;

	if (slab)
		packet_slab_put(th, slab);
}

/* Addresses matter to the ICRC, not to the fabric: any that follow from the frame will do. */
static struct wire_path corruption_path(const struct sim_pkt *frame)
{
	struct wire_path path = {
		.src_ip = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1},
		.dst_ip = {[10] = 0xff, [11] = 0xff, [12] = 10, [15] = 2},
		.src_mac = {2, [5] = 1},
		.dst_mac = {2, [5] = 2},
		.udp_sport = (uint16_t)(0xc000 | (frame->flow_hash & 0x3fff)),
		.ecn = frame->ecn,
		.ttl = frame->ttl,
		.priority = frame->priority,
	};

	return path;
}

/* A damaged PFC frame fails its frame check sequence; only RoCE packets get as far as an ICRC. */
static bool body_corrupt(struct sim_thread *th, struct sim_pkt *frame, uint64_t draw)
{
	uint8_t buf[WIRE_FRAME_MAX];
	struct wire_pkt pkt = {0}, parsed = {0};
	struct packet_slab *slab = packet_slab_of(frame);
	struct wire_path path = corruption_path(frame);
	size_t len;

	(void)th;
	if (frame->frame != SIM_DATA)
		return false;
	packet_unpack(frame, &pkt);
	len = wire_frame_emit(&path, &pkt, buf, sizeof(buf));
	CHECK(len > 0);
	buf[draw / 8 % len] ^= (uint8_t)(1u << (draw % 8));
	if (wire_frame_parse_stamped(&path, &parsed, buf, len) != WIRE_OK)
		return false;
	/* The ICRC let it pass: only fields that may change on the way can differ. */
	parsed.synthetic = pkt.synthetic;
	if (pkt.synthetic)
		parsed.pattern = pkt.pattern;
	packet_pack(&parsed, slab, frame);
	frame->ecn = path.ecn & 3u;
	frame->ttl = path.ttl;
	return true;
}

static bool body_duplicate(struct sim_thread *th, const struct sim_pkt *frame,
			   struct sim_pkt *ret_frame)
{
	struct packet_slab *slab = frame->frame == SIM_DATA ? packet_slab_of(frame) : NULL, *copy;
	struct wire_pkt pkt;

	*ret_frame = *frame;
	if (!slab)
		return true;
	packet_unpack(frame, &pkt);
	copy = packet_slab_get(th);
	if (!copy)
		return false;
	copy->from = slab->from;
	packet_pack(&pkt, copy, ret_frame);
	return true;
}

static void body_facts(const struct sim_pkt *frame, uint64_t ret_words[2])
{
	const struct wire_pkt *pkt = (const void *)frame->body;

	ret_words[0] = (uint64_t)pkt->dest_qpn << 32 | pkt->psn;
	ret_words[1] = (uint64_t)pkt->opcode << 48 | (uint64_t)pkt->length << 32 | pkt->word;
}

/* Packets that ask for telemetry have a slab for it. */
static void body_stamp(struct sim_thread *th, struct sim_pkt *frame, const struct sim_hop *hop)
{
	struct packet_slab *slab = packet_slab_of(frame);
	struct wire_pkt pkt;

	(void)th;
	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	if (!pkt.has_rare || !slab->rare.has_int || slab->rare.hop_count == WIRE_INT_HOPS ||
	    wire_op_find(pkt.opcode)->response)
		return;
	slab->rare.hops[slab->rare.hop_count++] =
		wire_hop_pack(hop->rate_bps, hop->at, hop->sent_bytes, hop->queue_bytes);
}

/* What switches say is a packet like others, without payload. The first word is the PSN, 16 bits of
 * the QPN, which no adapter has given away, and bits of the length; the second the address; the
 * third the immediate and the R_Key. */
enum { AGENT_QPN = 0xfe0000 };

static void body_put_words(struct sim_pkt *frame, const uint64_t words[SIM_AGENT_WORDS])
{
	const struct wire_pkt pkt = {
		.opcode = WIRE_AGENT,
		.psn = words[0] & 0xffffff,
		.dest_qpn = (uint32_t)AGENT_QPN | (uint16_t)(words[0] >> 24),
		.dma_length = (uint32_t)(words[0] >> 40),
		.va = words[1],
		.word = (uint32_t)words[2],
		.rkey = (uint32_t)(words[2] >> 32),
	};

	memcpy(frame->body, &pkt, WIRE_HOT_BYTES);
	frame->bytes = (uint16_t)wire_frame_wire_bytes(0, &pkt);
}

static bool body_get_words(const struct sim_pkt *frame, uint64_t ret_words[SIM_AGENT_WORDS])
{
	struct wire_pkt pkt;

	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	if (pkt.opcode != WIRE_AGENT)
		return false;
	ret_words[0] =
		(uint64_t)pkt.dma_length << 40 | (uint64_t)(pkt.dest_qpn & 0xffff) << 24 | pkt.psn;
	ret_words[1] = pkt.va;
	ret_words[2] = (uint64_t)pkt.rkey << 32 | pkt.word;
	return true;
}

const struct sim_body_ops packet_body_ops = {
	.release = body_release,
	.corrupt = body_corrupt,
	.duplicate = body_duplicate,
	.facts = body_facts,
	.stamp = body_stamp,
	.put_words = body_put_words,
	.get_words = body_get_words,
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	/* The layout of struct wire_pkt, without the flags: see body_facts(). */
	.fact_mask = {UINT64_MAX, UINT64_MAX >> 8},
#endif
};
