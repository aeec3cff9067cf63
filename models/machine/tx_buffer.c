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
	*tx = (struct tx_buffer){.share = share, .open = (1u << SIM_PRIORITIES_MAX) - 1};
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
	packet->fetches = 0;
	packet->ready_at = 0;
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

void tx_buffer_keep(struct tx_buffer *tx, uint8_t priority)
{
	struct tx_packet *packet = tx->spare;
	struct tx_lane *lane = &tx->lanes[priority];

	tx->spare = packet->next;
	packet->next = NULL;
	packet->priority = priority;
	if (lane->first) {
		lane->last->next = packet;
	} else {
		lane->first = packet;
		tx->ready |= (uint32_t)(packet->fetches == 0) << priority;
	}
	lane->last = packet;
	lane->bytes += packet->frame.bytes;
	if (lane->bytes >= tx->share)
		tx->open &= ~(1u << priority);
}

void tx_buffer_fetched(struct tx_buffer *tx, struct tx_packet *packet)
{
	CHECK(packet->fetches > 0);
	packet->fetches--;
	if (packet->fetches == 0 && tx->lanes[packet->priority].first == packet)
		tx->ready |= 1u << packet->priority;
}

static struct tx_packet *tx_buffer_find(const struct tx_buffer *tx, uint32_t priorities, ps_t now)
{
	for (uint32_t mask = tx->ready & priorities; mask;) {
		const uint32_t priority = 31 - (uint32_t)__builtin_clz(mask);

		if (tx->lanes[priority].first->ready_at <= now)
			return tx->lanes[priority].first;
		mask &= ~(1u << priority);
	}
	return NULL;
}

struct tx_packet *tx_buffer_take(struct tx_buffer *tx, uint32_t priorities, ps_t now)
{
	struct tx_packet *packet = tx_buffer_find(tx, priorities, now);
	struct tx_lane *lane;

	CHECK(packet != NULL);
	lane = &tx->lanes[packet->priority];
	lane->first = packet->next;
	lane->bytes -= packet->frame.bytes;
	if (lane->bytes < tx->share)
		tx->open |= 1u << packet->priority;
	if (!lane->first || lane->first->fetches > 0)
		tx->ready &= ~(1u << packet->priority);
	make_spare(tx, packet);
	return packet;
}
