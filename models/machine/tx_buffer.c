/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/tx_buffer.h"

#include "util/alloc.h"
#include "util/check.h"

enum { CHUNK_PACKETS = 16 };

struct tx_chunk {
	struct tx_chunk *next;
	struct tx_packet packets[CHUNK_PACKETS];
};

void tx_buffer_init(struct tx_buffer *tx, uint64_t share)
{
	*tx = (struct tx_buffer){
		.share = share, .open = (1u << SIM_PRIORITIES_MAX) - 1, .ready_at = PS_NEVER};
}

void tx_buffer_fini(struct tx_buffer *tx)
{
	while (tx->chunks) {
		struct tx_chunk *chunk = tx->chunks;

		tx->chunks = chunk->next;
		util_free(chunk);
	}
}

static void make_spare(struct tx_buffer *tx, struct tx_packet *packet)
{
	packet->next = tx->spare;
	tx->spare = packet;
}

static __attribute__((noinline)) void grow(struct tx_buffer *tx)
{
	struct tx_chunk *chunk = util_calloc(1, sizeof(*chunk));

	if (!chunk)
		return;
	chunk->next = tx->chunks;
	tx->chunks = chunk;
	for (uint32_t i = CHUNK_PACKETS; i > 0; i--)
		make_spare(tx, &chunk->packets[i - 1]);
}

struct tx_packet *tx_buffer_next(struct tx_buffer *tx)
{
	if (__builtin_expect(!tx->spare, false))
		grow(tx);
	return tx->spare;
}

static void may_be_next(struct tx_buffer *tx, const struct tx_packet *first)
{
	if (first->ready_at < tx->ready_at)
		tx->ready_at = first->ready_at;
}

void tx_buffer_keep(struct tx_buffer *tx)
{
	struct tx_packet *packet = tx->spare;
	struct tx_lane *lane = &tx->lanes[packet->priority];
	const uint32_t bit = 1u << packet->priority;

	tx->spare = packet->next;
	packet->next = NULL;
	if (lane->first) {
		lane->last->next = packet;
	} else {
		lane->first = packet;
		tx->waiting |= bit;
		may_be_next(tx, packet);
	}
	lane->last = packet;
	lane->bytes += packet->frame.bytes;
	if (lane->bytes >= tx->share)
		tx->open &= ~bit;
}

void tx_buffer_fetched(struct tx_buffer *tx, struct tx_packet *packet, ps_t now)
{
	CHECK(packet->fetches > 0);
	packet->fetches--;
	if (packet->fetches > 0)
		return;
	packet->ready_at = now;
	if (tx->lanes[packet->priority].first == packet)
		may_be_next(tx, packet);
}

ps_t tx_buffer_earliest(const struct tx_buffer *tx, uint32_t priorities)
{
	ps_t at = PS_NEVER;

	for (uint32_t mask = tx->waiting & priorities; mask; mask &= mask - 1) {
		const struct tx_packet *first = tx->lanes[__builtin_ctz(mask)].first;

		at = first->ready_at < at ? first->ready_at : at;
	}
	return at;
}

static uint32_t highest_ready(const struct tx_buffer *tx, uint32_t priorities, ps_t now)
{
	uint32_t mask = tx->waiting & priorities;

	for (;;) {
		uint32_t priority;

		CHECK(mask != 0);
		priority = 31 - (uint32_t)__builtin_clz(mask);
		if (tx->lanes[priority].first->ready_at <= now)
			return priority;
		mask &= ~(1u << priority);
	}
}

struct tx_packet *tx_buffer_take(struct tx_buffer *tx, uint32_t priorities, ps_t now)
{
	const uint32_t priority = highest_ready(tx, priorities, now), bit = 1u << priority;
	struct tx_lane *lane = &tx->lanes[priority];
	struct tx_packet *packet = lane->first;

	lane->first = packet->next;
	lane->bytes -= packet->frame.bytes;
	if (lane->bytes < tx->share)
		tx->open |= bit;
	if (!lane->first)
		tx->waiting &= ~bit;
	tx->ready_at =
		tx->waiting == bit ? lane->first->ready_at : tx_buffer_earliest(tx, tx->waiting);
	make_spare(tx, packet);
	return packet;
}
