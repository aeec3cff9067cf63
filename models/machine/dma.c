/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/dma.h"

#include "models/machine/host.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

enum { FRAME_MIN = 64 };

/* An operation under way, in the bytes of a slab. */
struct request {
	struct sim_local_event event;
	struct hca_dma dma;
	struct request *next, *prev; /* in the order in which they were handed over */
	struct packet_slab *payload; /* of a placement; NULL: it has no bytes */
	uint32_t blockers;	     /* what was handed over before and has to happen first */
	uint32_t place;		     /* fetch: of its packet, in the ring of its lane */
	uint8_t lane;
	uint8_t leg;   /* enum host_bus_leg */
	bool arrived;  /* is at the memory, but for blockers */
	bool released; /* the region is gone, and what there was to do is done */
	uint64_t word; /* atomic: what was there, then what is to be there */
};
_Static_assert(sizeof(struct request) <= 256, "the least MTU");

struct waiting { /* a packet */
	struct sim_pkt frame;
	struct wire_path path;
	struct hca_dma_ticket ticket;
	uint32_t fetches; /* that have not come */
};

struct lane {
	struct waiting *ring;
	uint32_t first, count;
	uint64_t bytes;
};

struct host_dma {
	struct request *oldest, *newest;
	struct lane lanes[SIM_PRIORITIES_MAX];
	/* Bit masks of lanes: with room for another packet; whose first packet has all its bytes.
	 */
	uint32_t open, ready;
	uint32_t room;	  /* of each ring: no frame is shorter than FRAME_MIN */
	uint32_t fetched; /* operations of the packet that is being decided: the newest ones */
	struct waiting *memory;
};

/* ---- what is under way ---- */

static struct packet_slab *slab_of(struct request *r)
{
	return container_of((uint8_t *)r, struct packet_slab, bytes[0]);
}

static void machine_dma_append(struct host_dma *dma, struct request *r)
{
	r->next = NULL;
	r->prev = dma->newest;
	*(dma->newest ? &dma->newest->next : &dma->oldest) = r;
	dma->newest = r;
}

static void machine_dma_take_out(struct host_dma *dma, struct request *r)
{
	*(r->prev ? &r->prev->next : &dma->oldest) = r->next;
	*(r->next ? &r->next->prev : &dma->newest) = r->prev;
}

static bool is_write(const struct hca_dma *dma)
{
	return dma->kind == HCA_DMA_PLACE || dma->kind == HCA_DMA_ATOMIC;
}

static bool touch_same_bytes(const struct hca_dma *a, const struct hca_dma *b)
{
	if (a->synthetic || b->synthetic || a->kind == HCA_DMA_COMPLETE ||
	    b->kind == HCA_DMA_COMPLETE)
		return false;
	return a->address - b->address < b->length || b->address - a->address < a->length;
}

/* Whether @b, which was handed over later, has to wait for @a. */
static bool blocks(const struct hca_dma *a, const struct hca_dma *b)
{
	if (a->kind == HCA_DMA_COMPLETE)
		return b->kind == HCA_DMA_COMPLETE && a->cqn == b->cqn;
	if (is_write(a) && b->fenced && a->qpn == b->qpn)
		return true;
	if (a->kind == HCA_DMA_PLACE && b->kind == HCA_DMA_PLACE && a->region == b->region)
		return true;
	return (is_write(a) || is_write(b)) && touch_same_bytes(a, b);
}

static void set_off(struct host *host, struct request *r, enum host_bus_leg leg)
{
	const struct host_bus *bus = host->params.bus;
	const uint64_t words[] = {r->dma.sequence, leg};

	r->leg = (uint8_t)leg;
	r->event.key = util_hash_words((struct util_key){.k0 = 11}, words, 2);
	sim_local_schedule(&host->local, &r->event,
			   host->now + bus->ops->delay(bus, host, &r->dma, leg));
}

static void machine_dma_end(struct host *host, struct request *r)
{
	machine_dma_take_out(host->dma, r);
	if (r->payload)
		packet_slab_put(host->th, r->payload);
	packet_slab_put(host->th, slab_of(r));
}

/* ---- at the memory ---- */

static void write_bytes(struct host *host, const struct request *r)
{
	const uint8_t *word = (const void *)&r->word;

	if (r->released)
		return;
	if (!r->dma.synthetic)
		hca_mem_host_write(r->dma.address,
				   r->dma.kind == HCA_DMA_ATOMIC ? word : r->payload->bytes,
				   r->dma.length);
	host_note_placement(host, &r->dma);
}

/* Something of the lane of @priority has changed. */
static void note_lane(struct host *host, uint32_t priority)
{
	struct host_dma *dma = host->dma;
	const struct lane *lane = &dma->lanes[priority];
	const uint32_t bit = 1u << priority;
	const bool is_ready = lane->count > 0 && lane->ring[lane->first].fetches == 0;

	dma->open = lane->bytes < host->params.bus->tx_bytes ? dma->open | bit : dma->open & ~bit;
	dma->ready = is_ready ? dma->ready | bit : dma->ready & ~bit;
}

static void read_payload(struct host *host, const struct request *r)
{
	struct waiting *w = &host->dma->lanes[r->lane].ring[r->place];
	struct packet_slab *slab = packet_slab_of(&w->frame);
	struct wire_pkt pkt;

	packet_unpack(&w->frame, &pkt);
	if (r->released || pkt.synthetic)
		return;
	if (r->dma.synthetic)
		wire_pattern_bytes(wire_pattern(r->dma.stream, r->dma.offset),
				   slab->bytes + r->dma.at, r->dma.length);
	else
		hca_mem_host_read(r->dma.address, slab->bytes + r->dma.at, r->dma.length);
}

static void machine_dma_read_word(struct request *r)
{
	uint8_t *word = (void *)&r->word;

	if (r->released)
		return;
	if (r->dma.synthetic)
		wire_pattern_bytes(wire_pattern(r->dma.stream, r->dma.offset), word,
				   sizeof(r->word));
	else
		hca_mem_host_read(r->dma.address, word, sizeof(r->word));
}

/* What waited for @r only is not held any more. */
static void unblock(const struct request *r)
{
	for (struct request *later = r->next; later; later = later->next)
		later->blockers -= blocks(&r->dma, &later->dma);
}

/* It is at the memory, and nothing is in its way. */
static void machine_dma_act(struct host *host, struct request *r)
{
	r->arrived = false;
	switch ((enum hca_dma_kind)r->dma.kind) {
	case HCA_DMA_FETCH:
		read_payload(host, r);
		unblock(r);
		set_off(host, r, HOST_BUS_BACK);
		return;
	case HCA_DMA_ATOMIC:
		if (r->leg == HOST_BUS_THERE) {
			machine_dma_read_word(r);
			set_off(host, r, HOST_BUS_BACK);
			return;
		}
		write_bytes(host, r);
		break;
	case HCA_DMA_PLACE:
		write_bytes(host, r);
		break;
	case HCA_DMA_COMPLETE:
		hca_dma_completed(host->hca, r->dma.cqn, host->now);
		break;
	}
	unblock(r);
	machine_dma_end(host, r);
}

static void came_back(struct host *host, struct request *r)
{
	if (r->dma.kind == HCA_DMA_FETCH) {
		host->dma->lanes[r->lane].ring[r->place].fetches--;
		note_lane(host, r->lane);
		machine_dma_end(host, r);
		return;
	}
	r->word = hca_dma_atomic(host->hca, &r->dma, r->word, host->now);
	set_off(host, r, HOST_BUS_AGAIN);
}

static void machine_dma_on_event(struct sim_local_event *event, void *context)
{
	struct request *r = container_of(event, struct request, event);
	struct host *host = context;

	if (r->leg == HOST_BUS_BACK) {
		came_back(host, r);
		return;
	}
	r->arrived = true;
	/* In their order, and again as long as one sets others free. */
	for (r = host->dma->oldest; r;) {
		if (r->arrived && r->blockers == 0) {
			machine_dma_act(host, r);
			r = host->dma->oldest;
		} else {
			r = r->next;
		}
	}
}

/* ---- the seam ---- */

static bool take_bytes(struct host *host, struct request *r, const uint8_t *bytes)
{
	if (!bytes)
		return true;
	r->payload = packet_slab_get(host->th);
	if (!r->payload)
		return false;
	memcpy(r->payload->bytes, bytes, r->dma.length);
	return true;
}

static void machine_dma_hand(void *world, const struct hca_dma *dma, const uint8_t *bytes)
{
	struct host *host = world;
	struct packet_slab *slab = packet_slab_get(host->th);
	struct request *r = slab ? (void *)slab->bytes : NULL;

	if (r)
		*r = (struct request){
			.dma = *dma,
			.event = {.phase = SIM_LOCAL_ARRIVAL, .fn = machine_dma_on_event}};
	if (!r || !take_bytes(host, r, bytes)) {
		if (slab)
			packet_slab_put(host->th, slab);
		host_give_up(host);
		return;
	}
	for (const struct request *e = host->dma->oldest; e; e = e->next)
		if (e->dma.kind != HCA_DMA_FETCH || e->leg == HOST_BUS_THERE)
			r->blockers += blocks(&e->dma, dma);
	machine_dma_append(host->dma, r);
	host->dma->fetched += dma->kind == HCA_DMA_FETCH;
	set_off(host, r, HOST_BUS_THERE);
}

/* What is left to do with a region's bytes happens now, in its order; all else goes its way. */
static void machine_dma_release(void *world, uint32_t region)
{
	struct host *host = world;

	for (struct request *r = host->dma->oldest; r; r = r->next) {
		if (r->dma.region != region || r->dma.kind == HCA_DMA_COMPLETE)
			continue;
		if (r->dma.kind == HCA_DMA_FETCH && r->leg == HOST_BUS_THERE) {
			read_payload(host, r);
		} else if (r->dma.kind == HCA_DMA_ATOMIC && r->leg != HOST_BUS_AGAIN) {
			uint64_t original;

			if (r->leg == HOST_BUS_THERE)
				machine_dma_read_word(r);
			original = r->word;
			r->word = hca_dma_result(&r->dma, original);
			write_bytes(host, r);
			r->word = original;
		} else if (is_write(&r->dma)) {
			write_bytes(host, r);
		}
		r->released = true;
	}
}

const struct hca_dma_ops host_dma_ops = {
	.name = "host", .hand = machine_dma_hand, .release = machine_dma_release};

/* ---- the transmit buffer ---- */

int host_dma_create(struct host *host)
{
	struct host_dma *dma = util_calloc(1, sizeof(*dma));

	host->dma = dma;
	if (!dma)
		return -ENOMEM;
	dma->room = host->params.bus->tx_bytes / FRAME_MIN + 1;
	dma->memory = util_calloc((size_t)dma->room * SIM_PRIORITIES_MAX, sizeof(*dma->memory));
	for (uint32_t i = 0; dma->memory && i < SIM_PRIORITIES_MAX; i++)
		dma->lanes[i].ring = dma->memory + (size_t)i * dma->room;
	dma->open = (1u << SIM_PRIORITIES_MAX) - 1;
	return dma->memory ? 0 : -ENOMEM;
}

void host_dma_destroy(struct host_dma *dma)
{
	if (!dma)
		return;
	util_free(dma->memory);
	util_free(dma);
}

static void return_slab(struct packet_pools *pools, struct packet_slab *slab)
{
	if (slab)
		packet_slab_return(pools, slab);
}

void host_dma_drain(struct host_dma *dma, struct packet_pools *pools)
{
	for (uint32_t i = 0; dma && i < SIM_PRIORITIES_MAX; i++) {
		struct lane *lane = &dma->lanes[i];

		for (; lane->count > 0; lane->count--, lane->first = (lane->first + 1) % dma->room)
			return_slab(pools, packet_slab_of(&lane->ring[lane->first].frame));
	}
	while (dma && dma->oldest) {
		struct request *r = dma->oldest;

		machine_dma_take_out(dma, r);
		return_slab(pools, r->payload);
		packet_slab_return(pools, slab_of(r));
	}
}

uint32_t host_dma_open(const struct host *host)
{
	return host->dma->open;
}

uint32_t host_dma_ready(const struct host *host)
{
	return host->dma->ready;
}

void host_dma_keep(struct host *host, const struct sim_pkt *frame, const struct wire_path *path,
		   const struct hca_dma_ticket *ticket)
{
	struct host_dma *dma = host->dma;
	const uint8_t priority = host_priority(host, frame);
	struct lane *lane = &dma->lanes[priority];
	const uint32_t place = (lane->first + lane->count) % dma->room;
	struct request *r = dma->newest;

	CHECK(lane->count < dma->room);
	lane->ring[place] = (struct waiting){*frame, *path, *ticket, dma->fetched};
	lane->count++;
	lane->bytes += frame->bytes;
	for (; dma->fetched > 0; dma->fetched--, r = r->prev) {
		CHECK(r && r->dma.kind == HCA_DMA_FETCH);
		r->lane = priority;
		r->place = place;
	}
	note_lane(host, priority);
}

bool host_dma_take(struct host *host, uint32_t priorities, struct sim_pkt *ret_frame,
		   struct wire_path *ret_path)
{
	struct host_dma *dma = host->dma;
	const uint32_t priority = 31 - __builtin_clz(priorities);
	struct lane *lane = &dma->lanes[priority];
	const struct waiting *w = &lane->ring[lane->first];

	CHECK(lane->count > 0 && w->fetches == 0);
	*ret_frame = w->frame;
	*ret_path = w->path;
	lane->first = (lane->first + 1) % dma->room;
	lane->count--;
	lane->bytes -= ret_frame->bytes;
	note_lane(host, priority);
	return hca_dma_start(host->hca, &w->ticket, host->now);
}
