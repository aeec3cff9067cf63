/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/dma.h"

#include "models/machine/host.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

/* An operation under way, in the bytes of a slab. */
struct host_dma_request {
	struct sim_local_event event;
	struct hca_dma dma;
	struct host_dma_request *next, *prev; /* in the order in which they were handed over */
	struct packet_slab *payload;	      /* of a placement; NULL: it has no bytes */
	struct tx_packet *packet;	      /* fetch: whose */
	uint32_t blockers; /* what was handed over before and has to happen first */
	uint8_t leg;	   /* enum host_bus_leg */
	bool arrived;	   /* is at the memory, but for blockers */
	bool released;	   /* the region is gone, and what there was to do is done */
	uint64_t word;	   /* atomic: what was there, then what is to be there */
};
_Static_assert(sizeof(struct host_dma_request) <= 256, "the least MTU");

/* ---- what is under way ---- */

static struct packet_slab *slab_of(struct host_dma_request *r)
{
	return container_of((uint8_t *)r, struct packet_slab, bytes[0]);
}

static void machine_dma_append(struct host_dma *dma, struct host_dma_request *r)
{
	r->next = NULL;
	r->prev = dma->newest;
	*(dma->newest ? &dma->newest->next : &dma->oldest) = r;
	dma->newest = r;
}

static void machine_dma_take_out(struct host_dma *dma, struct host_dma_request *r)
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

static ps_t bus_delay(const struct host *host, const struct hca_dma *dma, enum host_bus_leg leg)
{
	return host->params.bus->ops->delay(host->params.bus, host, dma, leg);
}

/* @r is at the other end of the bus at @at. */
static void machine_dma_arrive(struct host *host, struct host_dma_request *r, enum host_bus_leg leg,
			       ps_t at)
{
	r->leg = (uint8_t)leg;
	r->event.key = (r->dma.sequence << 2 | leg) * 0x9e3779b97f4a7c15u;
	sim_local_schedule(&host->local, &r->event, at);
}

static void set_off(struct host *host, struct host_dma_request *r, enum host_bus_leg leg)
{
	machine_dma_arrive(host, r, leg, host->now + bus_delay(host, &r->dma, leg));
}

static void machine_dma_end(struct host *host, struct host_dma_request *r)
{
	machine_dma_take_out(host->dma, r);
	if (r->payload)
		packet_slab_put(host->th, r->payload);
	packet_slab_put(host->th, slab_of(r));
}

/* ---- at the memory ---- */

static void write_bytes(struct host *host, const struct host_dma_request *r)
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

static void read_payload(const struct host_dma_request *r)
{
	struct packet_slab *slab;

	if (r->released || r->dma.by_reference)
		return;
	slab = packet_slab_of(&r->packet->frame);
	if (r->dma.synthetic)
		wire_pattern_bytes(wire_pattern(r->dma.stream, r->dma.offset),
				   slab->bytes + r->dma.at, r->dma.length);
	else
		hca_mem_host_read(r->dma.address, slab->bytes + r->dma.at, r->dma.length);
}

static void machine_dma_read_word(struct host_dma_request *r)
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
static void unblock(const struct host_dma_request *r)
{
	for (struct host_dma_request *later = r->next; later; later = later->next)
		later->blockers -= blocks(&r->dma, &later->dma);
}

/* It is at the memory, and nothing is in its way. */
static void machine_dma_act(struct host *host, struct host_dma_request *r)
{
	r->arrived = false;
	switch ((enum hca_dma_kind)r->dma.kind) {
	case HCA_DMA_FETCH:
		read_payload(r);
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

static void came_back(struct host *host, struct host_dma_request *r)
{
	if (r->dma.kind == HCA_DMA_FETCH) {
		tx_buffer_fetched(&host->dma->tx, r->packet);
		machine_dma_end(host, r);
		return;
	}
	r->word = hca_dma_atomic(host->hca, &r->dma, r->word, host->now);
	set_off(host, r, HOST_BUS_AGAIN);
}

static void machine_dma_on_event(struct sim_local_event *event, void *context)
{
	struct host_dma_request *r = container_of(event, struct host_dma_request, event);
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

/* ---- what takes no event ---- */

static const struct host_dma_known *known_place(const struct host_dma *dma, uint32_t i)
{
	return &dma->known[(dma->known_first + i) % HOST_DMA_KNOWN];
}

bool host_dma_tell(struct host *host, ps_t until)
{
	struct host_dma *dma = host->dma;
	const bool somebody_waits = host->placement_waiters > 0;

	while (dma->known_count > 0 && known_place(dma, 0)->at <= until) {
		const struct host_dma_known *k = known_place(dma, 0);

		host->now = k->at;
		dma->known_first = (dma->known_first + 1) % HOST_DMA_KNOWN;
		dma->known_count--;
		host_note_pattern(host, k->stream, k->offset, k->length, k->at);
		if (somebody_waits)
			return true;
	}
	return false;
}

/* The region is about to go: what is on its way into it has happened. */
static void tell_region(struct host *host, uint32_t region)
{
	struct host_dma *dma = host->dma;
	const uint32_t count = dma->known_count;

	dma->known_count = 0;
	for (uint32_t i = 0; i < count; i++) {
		const struct host_dma_known k = *known_place(dma, i);

		if (k.region == region)
			host_note_pattern(host, k.stream, k.offset, k.length, host->now);
		else
			dma->known[(dma->known_first + dma->known_count++) % HOST_DMA_KNOWN] = k;
	}
}

/* How much of what is under way and takes an event holds @dma up. */
static uint32_t count_blockers(const struct host_dma *all, const struct hca_dma *dma)
{
	uint32_t count = 0;

	for (const struct host_dma_request *e = all->oldest; e; e = e->next)
		if (e->dma.kind != HCA_DMA_FETCH || e->leg == HOST_BUS_THERE)
			count += blocks(&e->dma, dma);
	return count;
}

/* Whether all that is to be known of @dma is known. */
static bool is_known(struct host *host, const struct hca_dma *dma)
{
	struct host_dma *all = host->dma;
	struct tx_packet *packet = all->tx.spare; /* that is being decided */
	ps_t at;

	if (dma->fenced || !dma->synthetic)
		return false;
	if (dma->kind == HCA_DMA_FETCH) {
		if (!dma->by_reference)
			return false;
		at = host->now + bus_delay(host, dma, HOST_BUS_THERE) +
		     bus_delay(host, dma, HOST_BUS_BACK);
		packet->ready_at = at > packet->ready_at ? at : packet->ready_at;
		return true;
	}
	at = host->now + bus_delay(host, dma, HOST_BUS_THERE);
	if (all->known_count == HOST_DMA_KNOWN ||
	    (all->known_count > 0 && known_place(all, all->known_count - 1)->at > at) ||
	    count_blockers(all, dma) > 0)
		return false;
	all->known[(all->known_first + all->known_count++) % HOST_DMA_KNOWN] =
		(struct host_dma_known){.at = at,
					.stream = dma->stream,
					.offset = dma->offset,
					.length = dma->length,
					.region = dma->region,
					.qpn = dma->qpn};
	return true;
}

/* The last of those that hold @dma up and whose time is known has happened. */
static ps_t known_before(const struct host_dma *all, const struct hca_dma *dma)
{
	ps_t at = 0;

	for (uint32_t i = 0; i < all->known_count; i++) {
		const struct host_dma_known *k = known_place(all, i);
		const struct hca_dma place = {.kind = HCA_DMA_PLACE,
					      .synthetic = true,
					      .region = k->region,
					      .qpn = k->qpn};

		if (blocks(&place, dma))
			at = k->at;
	}
	return at;
}

/* ---- the seam ---- */

static bool take_bytes(struct host *host, struct host_dma_request *r, const uint8_t *bytes)
{
	if (!bytes)
		return true;
	r->payload = packet_slab_get(host->th);
	if (!r->payload)
		return false;
	memcpy(r->payload->bytes, bytes, r->dma.length);
	return true;
}

static void hand_unknown(struct host *host, const struct hca_dma *dma, const uint8_t *bytes)
{
	struct packet_slab *slab = packet_slab_get(host->th);
	struct host_dma_request *r = slab ? (void *)slab->bytes : NULL;
	ps_t at, before;

	if (r)
		*r = (struct host_dma_request){
			.dma = *dma,
			.event = {.phase = SIM_LOCAL_ARRIVAL, .fn = machine_dma_on_event}};
	if (!r || !take_bytes(host, r, bytes)) {
		if (slab)
			packet_slab_put(host->th, slab);
		host_give_up(host);
		return;
	}
	r->blockers = count_blockers(host->dma, dma);
	machine_dma_append(host->dma, r);
	if (dma->kind == HCA_DMA_FETCH) {
		r->packet = host->dma->tx.spare;
		r->packet->fetches++;
	}
	at = host->now + bus_delay(host, dma, HOST_BUS_THERE);
	before = known_before(host->dma, dma);
	machine_dma_arrive(host, r, HOST_BUS_THERE, at > before ? at : before);
}

static void machine_dma_hand(void *world, const struct hca_dma *dma, const uint8_t *bytes)
{
	struct host *host = world;

	if (!is_known(host, dma))
		hand_unknown(host, dma, bytes);
}

/* What is left to do with a region's bytes happens now, in its order; all else goes its way. */
static void machine_dma_release(void *world, uint32_t region)
{
	struct host *host = world;

	tell_region(host, region);
	for (struct host_dma_request *r = host->dma->oldest; r; r = r->next) {
		if (r->dma.region != region || r->dma.kind == HCA_DMA_COMPLETE)
			continue;
		if (r->dma.kind == HCA_DMA_FETCH && r->leg == HOST_BUS_THERE) {
			read_payload(r);
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

/* ---- the host's ---- */

int host_dma_create(struct host *host)
{
	host->dma = util_calloc(1, sizeof(*host->dma));
	if (!host->dma)
		return -ENOMEM;
	tx_buffer_init(&host->dma->tx, host->params.bus->tx_bytes);
	return 0;
}

void host_dma_destroy(struct host_dma *dma)
{
	if (!dma)
		return;
	tx_buffer_fini(&dma->tx);
	util_free(dma);
}

static void return_slab(struct packet_pools *pools, struct packet_slab *slab)
{
	if (slab)
		packet_slab_return(pools, slab);
}

void host_dma_drain(struct host_dma *dma, struct packet_pools *pools)
{
	if (!dma)
		return;
	for (uint32_t i = 0; i < SIM_PRIORITIES_MAX; i++) {
		const struct tx_packet *packet = dma->tx.lanes[i].first;

		for (; packet; packet = packet->next)
			return_slab(pools, packet_slab_of(&packet->frame));
	}
	while (dma->oldest) {
		struct host_dma_request *r = dma->oldest;

		machine_dma_take_out(dma, r);
		return_slab(pools, r->payload);
		packet_slab_return(pools, slab_of(r));
	}
}
