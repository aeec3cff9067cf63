/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/rx.h"

#include "models/machine/host.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

enum { FRAME_MIN = 64 };

/* A frame that waits for the bus. */
struct host_rx_held {
	struct host_rx_held *next; /* among those that are spare */
	uint32_t bytes, count;
	uint8_t priority;
};

enum { CHUNK_HELD = 64 };
struct host_rx_chunk {
	struct host_rx_chunk *next;
	struct host_rx_held held[CHUNK_HELD];
};

struct host_rx {
	struct host_rx_params params;
	struct sim_local_event event; /* the first frame is through */
	struct sim_pkt *frames;	      /* a ring: no frame is shorter than FRAME_MIN */
	uint32_t room, first, count;
	uint64_t waiting_bytes;
	uint64_t *pages; /* the cache: by hash, the page that is there */
	struct host_rx_held *spare, *at_hand;
	struct host_rx_chunk *chunks; /* whose these are: as many as have waited at once */
	struct host_rx_stats stats;
};

/* Packets of a message lie one behind the other: a page is known by its queue pair and its place in
 * the PSNs. In registered memory that is used again it is any page of that, which finds its place
 * in the cache by its number. */
static bool page_is_there(struct host_rx *rx, const struct sim_pkt *frame, uint32_t mtu)
{
	struct wire_pkt pkt;
	uint64_t words[2], page;
	uint32_t place;

	if (rx->params.mtt_entries == 0)
		return true;
	memcpy(&pkt, frame->body, WIRE_HOT_BYTES);
	words[0] = pkt.dest_qpn;
	words[1] = (uint64_t)pkt.psn * mtu / rx->params.page_bytes;
	page = util_hash_words((struct util_key){.k0 = 9}, words, 2) | 1;
	if (rx->params.memory_bytes > 0) {
		const uint64_t pages = (rx->params.memory_bytes - 1) / rx->params.page_bytes + 1;

		page = (uint64_t)((u128)page * pages >> 64) << 1 | 1;
	}
	place = (uint32_t)((page >> 1) % rx->params.mtt_entries);
	if (rx->pages[place] == page)
		return true;
	rx->pages[place] = page;
	rx->stats.mtt_misses++;
	return false;
}

/* Begins with the first frame that waits. */
static void serve(struct host *host)
{
	struct host_rx *rx = host->rx;
	const struct sim_pkt *frame = &rx->frames[rx->first];
	ps_t time = util_tx_time(frame->bytes, rx->params.rate_bps);

	if (!page_is_there(rx, frame, host->params.profile.mtu_max))
		time += rx->params.mtt_miss;
	sim_local_schedule(&host->local, &rx->event, host->now + time);
}

static void machine_rx_let_go(struct host *host, uint8_t priority, uint32_t bytes)
{
	struct sim_fc *fc = host->fc;
	struct sim_class *class = sim_fc_class(fc, 0, priority);

	if (class->watched) {
		fc->ops->on_freed(fc, host->th, 0, priority, bytes, host->now);
		host->fc_timer_at = fc->timer_at;
		return;
	}
	class->ingress_bytes -= bytes;
	fc->used -= sim_fc_shared(fc, class, priority, bytes);
}

static void on_served(struct sim_local_event *event, void *context)
{
	struct host *host = context;
	struct host_rx *rx = host->rx;
	const struct sim_pkt frame = rx->frames[rx->first];

	(void)event;
	rx->first = (rx->first + 1) % rx->room;
	rx->count--;
	rx->waiting_bytes -= frame.bytes;
	if (rx->count > 0)
		serve(host);
	machine_rx_let_go(host, host_priority(host, &frame), frame.bytes);
	host_hand_over(host, &frame);
}

static void machine_rx_drop(struct host *host, const struct sim_pkt *frame)
{
	struct packet_slab *slab = packet_slab_of(frame);

	sim_tell_loss(&host->node, 0, frame, SIM_LOSS_ROOM, host->now);
	host->rx->stats.dropped++;
	if (slab)
		packet_slab_put(host->th, slab);
}

static void take_by_rate(struct host *host, const struct sim_pkt *frame)
{
	struct host_rx *rx = host->rx;

	rx->frames[(rx->first + rx->count) % rx->room] = *frame;
	rx->count++;
	if (rx->count == 1)
		serve(host);
}

static void grow_held(struct host_rx *rx)
{
	struct host_rx_chunk *chunk = util_calloc(1, sizeof(*chunk));

	if (!chunk)
		return;
	chunk->next = rx->chunks;
	rx->chunks = chunk;
	for (uint32_t i = 0; i < CHUNK_HELD; i++) {
		chunk->held[i].next = rx->spare;
		rx->spare = &chunk->held[i];
	}
}

static void take_by_bus(struct host *host, const struct sim_pkt *frame)
{
	struct host_rx *rx = host->rx;
	struct host_rx_held *held;

	if (!rx->spare)
		grow_held(rx);
	held = rx->spare;
	if (!held) {
		machine_rx_drop(host, frame);
		host_give_up(host);
		return;
	}
	rx->spare = held->next;
	rx->count++;
	*held = (struct host_rx_held){
		.bytes = frame->bytes, .count = 1, .priority = host_priority(host, frame)};
	rx->at_hand = held;
	host_hand_over(host, frame);
	rx->at_hand = NULL;
	host_rx_release(host, held);
}

struct host_rx_held *host_rx_hold(struct host *host, uint32_t count)
{
	struct host_rx_held *held = host->rx ? host->rx->at_hand : NULL;

	if (held)
		held->count += count;
	return held;
}

void host_rx_release(struct host *host, struct host_rx_held *held)
{
	struct host_rx *rx = host->rx;

	if (!held || --held->count > 0)
		return;
	rx->count--;
	rx->waiting_bytes -= held->bytes;
	held->next = rx->spare;
	rx->spare = held;
	machine_rx_let_go(host, held->priority, held->bytes);
}

void host_rx_take(struct host *host, const struct sim_pkt *frame)
{
	struct host_rx *rx = host->rx;
	struct sim_fc *fc = host->fc;

	if (rx->count == rx->room ||
	    fc->ops->on_buffered(fc, host->th, 0, host_priority(host, frame), frame->bytes,
				 host->now) == SIM_FC_DROPPED) {
		machine_rx_drop(host, frame);
		return;
	}
	host->fc_timer_at = fc->timer_at;
	rx->waiting_bytes += frame->bytes;
	if (rx->waiting_bytes > rx->stats.bytes_max)
		rx->stats.bytes_max = rx->waiting_bytes;
	if (rx->params.rate_bps > 0)
		take_by_rate(host, frame);
	else
		take_by_bus(host, frame);
}

int host_rx_create(struct host *host, const struct host_rx_params *params)
{
	struct host_rx *rx = util_calloc(1, sizeof(*rx));

	if (!rx)
		return -ENOMEM;
	rx->params = *params;
	rx->room = (uint32_t)(host->fc->buffer_bytes / FRAME_MIN) + 1;
	host->rx = rx;
	if (params->rate_bps == 0)
		return 0;
	rx->frames = util_calloc(rx->room, sizeof(*rx->frames));
	rx->pages = util_calloc((size_t)params->mtt_entries + 1, sizeof(*rx->pages));
	rx->event = (struct sim_local_event){
		.key = util_hash_name("rx"), .phase = SIM_LOCAL_ARRIVAL, .fn = on_served};
	return rx->frames && rx->pages ? 0 : -ENOMEM;
}

void host_rx_destroy(struct host_rx *rx)
{
	if (!rx)
		return;
	util_free(rx->frames);
	util_free(rx->pages);
	while (rx->chunks) {
		struct host_rx_chunk *chunk = rx->chunks;

		rx->chunks = chunk->next;
		util_free(chunk);
	}
	util_free(rx);
}

void host_rx_drain(struct host_rx *rx, struct packet_pools *pools)
{
	for (; rx && rx->frames && rx->count > 0;
	     rx->count--, rx->first = (rx->first + 1) % rx->room) {
		struct packet_slab *slab = packet_slab_of(&rx->frames[rx->first]);

		if (slab)
			packet_slab_return(pools, slab);
	}
}

struct host_rx_stats host_rx_stats(const struct host *host)
{
	return host->rx ? host->rx->stats : (struct host_rx_stats){0};
}
