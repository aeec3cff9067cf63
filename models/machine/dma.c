/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/dma.h"

#include "models/machine/machine.h"
#include "util/alloc.h"
#include "util/siphash.h"

#include <errno.h>

enum {
	CQE_BYTES = 64,	    /* of an entry of a completion queue: struct mlx5_cqe64 of rdma-core */
	DOORBELL_BYTES = 8, /* what a register of 64 bits takes */
};

/* An operation under way, in the bytes of a slab. */
struct host_dma_request {
	union {
		struct sim_local_event event;
		struct crossing crossing; /* where the bus has parts */
	};
	struct host *host;
	struct hca_dma dma;
	struct host_dma_request *next, *prev; /* in the order in which they were handed over */
	struct packet_slab *payload;	      /* of a placement; NULL: it has no bytes */
	struct tx_packet *packet;	      /* fetch: whose */
	struct host_rx_held
		*held;	   /* placement over lanes: the frame that it comes from; NULL: none */
	uint32_t blockers; /* what was handed over before and has to happen first */
	uint8_t leg;	   /* enum host_bus_leg */
	bool arrived;	   /* is at the memory, but for blockers */
	bool released;	   /* the region is gone, and what there was to do is done */
	bool overtaken;	   /* placement: the completion behind it can be seen already */
	uint64_t word;	   /* atomic: what was there, then what is to be there */
};
_Static_assert(sizeof(struct host_dma_request) <= PACKET_SLAB_LEAST,
	       "it is in the bytes of a slab");

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

static bool has_region(const struct hca_dma *dma)
{
	return dma->kind != HCA_DMA_COMPLETE && dma->kind != HCA_DMA_DOORBELL;
}

static bool touch_same_bytes(const struct hca_dma *a, const struct hca_dma *b)
{
	if (a->synthetic || b->synthetic || !has_region(a) || !has_region(b))
		return false;
	return a->address - b->address < b->length || b->address - a->address < a->length;
}

/* Whether @b, which was handed over later, has to wait for @a. */
static bool blocks(const struct hca_dma *a, const struct hca_dma *b)
{
	if (a->kind == HCA_DMA_COMPLETE)
		return b->kind == HCA_DMA_COMPLETE && a->cqn == b->cqn;
	/* To another memory goes another way, with an order of its own: a completion does not wait
	 * for data in a GPU. */
	if (is_write(a) && b->fenced && a->qpn == b->qpn &&
	    (b->kind != HCA_DMA_COMPLETE || a->place == 0))
		return true;
	if (a->kind == HCA_DMA_PLACE && b->kind == HCA_DMA_PLACE && a->region == b->region)
		return true;
	return (is_write(a) || is_write(b)) && touch_same_bytes(a, b);
}

static const struct crossing_ops crossing_ops;

static ps_t bus_delay(const struct host *host, const struct hca_dma *dma, enum host_bus_leg leg)
{
	const struct host_bus *bus = host->params.bus;

	return bus->ops ? bus->ops->delay(bus, host, dma, leg) : bus->way;
}

/* @r is at the other end of the bus at @at. */
static void machine_dma_arrive(struct host *host, struct host_dma_request *r, enum host_bus_leg leg,
			       ps_t at)
{
	r->leg = (uint8_t)leg;
	r->event.key = (r->dma.sequence << 2 | leg) * 0x9e3779b97f4a7c15u;
	sim_local_schedule(&host->local, &r->event, at);
}

static bool goes_with_doorbell(const struct host_bus *bus, const struct hca_dma *dma)
{
	return dma->length <= bus->blueflame;
}

/* Its bytes on the bus. */
static uint32_t machine_dma_bytes(const struct host_bus *bus, const struct hca_dma *dma)
{
	if (dma->kind == HCA_DMA_DOORBELL && !goes_with_doorbell(bus, dma))
		return DOORBELL_BYTES;
	return dma->kind == HCA_DMA_COMPLETE ? (uint32_t)CQE_BYTES : dma->length;
}

/* The part whose memory it touches: queues of requests and completions are in that of the host. */
static uint32_t memory_of(const struct host_bus *bus, const struct hca_dma *dma)
{
	return dma->place > 0 && dma->place <= bus->place_count ? bus->places[dma->place - 1]
								: bus->memory;
}

/* From part to part. Reads go there and back. */
static void set_off_by_lanes(struct host *host, struct host_dma_request *r, enum host_bus_leg leg)
{
	const struct host_bus *bus = host->params.bus;
	const bool reads = r->dma.kind == HCA_DMA_FETCH || r->dma.kind == HCA_DMA_ATOMIC;
	const uint32_t memory = memory_of(bus, &r->dma);

	r->leg = (uint8_t)leg;
	if (r->dma.kind == HCA_DMA_DOORBELL)
		crossing_write(&r->crossing, memory, bus->nic, host->now);
	else if (leg == HOST_BUS_BACK)
		crossing_answer(&r->crossing, host->now);
	else if (leg == HOST_BUS_THERE && reads)
		crossing_read(&r->crossing, bus->nic, memory, host->now);
	else
		crossing_write(&r->crossing, bus->nic, memory, host->now);
}

static void set_off(struct host *host, struct host_dma_request *r, enum host_bus_leg leg)
{
	if (host->dma->bus)
		set_off_by_lanes(host, r, leg);
	else
		machine_dma_arrive(host, r, leg, host->now + bus_delay(host, &r->dma, leg));
}

static void machine_dma_end(struct host *host, struct host_dma_request *r)
{
	machine_dma_take_out(host->dma, r);
	host->dma->overtaken -= r->overtaken;
	if (r->payload)
		packet_slab_put(host->th, r->payload);
	if (host->dma->bus)
		crossing_fini(&r->crossing, host->th);
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

/* Data for memory of GPUs, of which the completion @r is there, and they are not. */
static void note_overtaken(struct host_dma *dma, struct host_dma_request *r)
{
	for (struct host_dma_request *data = r->prev; data; data = data->prev) {
		if (data->dma.kind != HCA_DMA_PLACE || data->dma.place == 0 ||
		    data->dma.qpn != r->dma.qpn || data->overtaken)
			continue;
		data->overtaken = true;
		dma->overtaken++;
	}
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
		if (r->prev)
			note_overtaken(host->dma, r);
		hca_dma_completed(host->hca, r->dma.cqn, host->now);
		break;
	case HCA_DMA_DOORBELL:
		break;
	}
	unblock(r);
	machine_dma_end(host, r);
}

static void came_back(struct host *host, struct host_dma_request *r)
{
	if (r->dma.kind == HCA_DMA_FETCH) {
		tx_buffer_fetched(&host->dma->tx, r->packet, host->now);
		machine_dma_end(host, r);
		return;
	}
	r->word = hca_dma_atomic(host->hca, &r->dma, r->word, host->now);
	set_off(host, r, HOST_BUS_AGAIN);
}

/* A doorbell has come to the adapter, which asks for the request behind it; or that has come to the
 * memory, or the request to the adapter. */
static void doorbell_arrived(struct host *host, struct host_dma_request *r)
{
	const struct host_bus *bus = host->params.bus;

	if (r->leg == HOST_BUS_AGAIN) {
		r->leg = HOST_BUS_BACK;
		crossing_answer(&r->crossing, host->now);
	} else if (r->leg == HOST_BUS_THERE && !goes_with_doorbell(bus, &r->dma)) {
		r->leg = HOST_BUS_AGAIN;
		if (crossing_init(&r->crossing, host->th, r->dma.length, host->dma->burst_most))
			crossing_read(&r->crossing, bus->nic, bus->memory, host->now);
		else
			host_give_up(host);
	} else {
		hca_dma_posted(host->hca, &r->dma, host->now);
		machine_dma_end(host, r);
	}
}

/* It has come to an end of the bus. */
static void machine_dma_arrived(struct host *host, struct host_dma_request *r)
{
	if (r->dma.kind == HCA_DMA_DOORBELL) {
		doorbell_arrived(host, r);
		return;
	}
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

static void machine_dma_on_event(struct sim_local_event *event, void *context)
{
	machine_dma_arrived(context, container_of(event, struct host_dma_request, event));
}

/* An answer starts when nothing is in the way of what was asked for. */
static void on_crossed(struct crossing *crossing, ps_t now)
{
	struct host_dma_request *r = container_of(crossing, struct host_dma_request, crossing);

	(void)now;
	host_touch(r->host);
	machine_dma_arrived(r->host, r);
}

static void on_left(struct crossing *crossing, ps_t now)
{
	struct host_dma_request *r = container_of(crossing, struct host_dma_request, crossing);

	(void)now;
	host_touch(r->host);
	host_rx_release(r->host, r->held);
}

static const struct crossing_ops crossing_ops = {.arrived = on_crossed, .left = on_left};

/* ---- what takes no event ---- */

static bool is_even(const struct host *host)
{
	return !host->params.bus->ops && !host->params.bus->parts;
}

static struct host_dma_known *known_place(const struct host_dma *dma, uint32_t number)
{
	return &dma->known[number & dma->known_mask];
}

/* Room for twice as many; false: no memory. */
static bool grow_known(struct host_dma *dma)
{
	const uint32_t mask = 2 * dma->known_mask + 1, count = dma->known_end - dma->known_first;
	struct host_dma_known *known = util_calloc(mask + 1, sizeof(*known));

	if (!known)
		return false;
	for (uint32_t i = 0; i < count; i++)
		known[i] = *known_place(dma, dma->known_first + i);
	util_free(dma->known);
	dma->known = known;
	dma->known_first = 0;
	dma->known_end = count;
	dma->known_mask = mask;
	return true;
}

/* There is room for one more, always; where there is no memory the run is void. */
static __attribute__((noinline)) void make_room(struct host *host)
{
	if (!grow_known(host->dma))
		host_give_up(host);
}

static inline ps_t first_known_at(const struct host_dma *dma)
{
	return dma->known_first != dma->known_end ? known_place(dma, dma->known_first)->at
						  : PS_NEVER;
}

static inline void expect(struct host *host, uint32_t region, uint64_t stream, uint64_t offset,
			  uint32_t length)
{
	struct host_dma *dma = host->dma;
	struct host_dma_known *place = known_place(dma, dma->known_end++);

	place->at = host->now + dma->way;
	place->stream = stream;
	place->offset = offset;
	place->length = length;
	place->region = region;
	if (place->at < dma->known_at)
		dma->known_at = place->at;
	if (dma->known_end - dma->known_first > dma->known_mask)
		make_room(host);
}

void host_dma_on_place(void *world, const struct hca_mr *mr, uint64_t offset, uint32_t length,
		       bool is_word, ps_t now)
{
	(void)is_word, (void)now;
	expect(world, mr->number, mr->stream, offset, length);
}

bool host_dma_tell(struct host *host, ps_t until)
{
	struct host_dma *dma = host->dma;
	const bool somebody_waits = host->placement_waiters > 0;
	ps_t at = dma->known_at;

	while (at <= until) {
		const struct host_dma_known *k = known_place(dma, dma->known_first++);

		host->now = at;
		dma->known_at = at = first_known_at(dma);
		host_note_pattern(host, k->stream, k->offset, k->length, host->now);
		if (somebody_waits)
			return true;
	}
	return false;
}

/* The region is about to go: what is on its way into it has happened. */
static void tell_region(struct host *host, uint32_t region)
{
	struct host_dma *dma = host->dma;
	uint32_t end = dma->known_first;

	for (uint32_t i = dma->known_first; i != dma->known_end; i++) {
		const struct host_dma_known k = *known_place(dma, i);

		if (k.region == region)
			host_note_pattern(host, k.stream, k.offset, k.length, host->now);
		else
			*known_place(dma, end++) = k;
	}
	dma->known_end = end;
	dma->known_at = first_known_at(dma);
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

/* NULL: no memory. */
static struct host_dma_request *make_request(struct host *host, const struct hca_dma *dma,
					     const uint8_t *bytes)
{
	struct packet_slab *slab = packet_slab_get(host->th);
	struct host_dma_request *r = slab ? (void *)slab->bytes : NULL;
	bool has_room = true;

	if (!r)
		return NULL;
	*r = (struct host_dma_request){.dma = *dma, .host = host};
	if (host->dma->bus) {
		r->crossing = (struct crossing){.ops = &crossing_ops, .bus = host->dma->bus};
		has_room = crossing_init(&r->crossing, host->th,
					 machine_dma_bytes(host->params.bus, dma),
					 host->dma->burst_most);
		if (dma->kind == HCA_DMA_PLACE)
			r->held = host_rx_hold(host,
					       crossing_count(dma->length, host->dma->burst_most));
	} else {
		r->event = (struct sim_local_event){.phase = SIM_LOCAL_ARRIVAL,
						    .fn = machine_dma_on_event};
	}
	if (has_room && take_bytes(host, r, bytes))
		return r;
	if (host->dma->bus)
		crossing_fini(&r->crossing, host->th);
	packet_slab_put(host->th, slab);
	return NULL;
}

static void set_out(struct host *host, const struct hca_dma *dma, const uint8_t *bytes)
{
	struct host_dma_request *r = make_request(host, dma, bytes);

	if (!r) {
		if (dma->kind == HCA_DMA_FETCH)
			host->dma->tx.spare->fetches++; /* its packet never starts */
		host_give_up(host);
		return;
	}
	for (const struct host_dma_request *e = host->dma->oldest; e; e = e->next)
		if (e->dma.kind != HCA_DMA_FETCH || e->leg == HOST_BUS_THERE)
			r->blockers += blocks(&e->dma, dma);
	machine_dma_append(host->dma, r);
	if (dma->kind == HCA_DMA_FETCH) {
		r->packet = host->dma->tx.spare;
		r->packet->fetches++;
	}
	set_off(host, r, HOST_BUS_THERE);
}

static void machine_dma_hand(void *world, const struct hca_dma *dma, const uint8_t *bytes)
{
	struct host *host = world;

	if (dma->kind == HCA_DMA_PLACE && dma->synthetic && is_even(host))
		expect(host, dma->region, dma->stream, dma->offset, dma->length);
	else
		set_out(host, dma, bytes);
}

/* What is left to do with a region's bytes happens now, in its order; all else goes its way. */
static void machine_dma_release(void *world, uint32_t region)
{
	struct host *host = world;

	tell_region(host, region);
	for (struct host_dma_request *r = host->dma->oldest; r; r = r->next) {
		if (r->dma.region != region || !has_region(&r->dma))
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

const struct hca_dma_ops *host_dma_ops(const struct host_bus *bus)
{
	static const struct hca_dma_ops uneven = {
		.name = "host", .hand = machine_dma_hand, .release = machine_dma_release};
	static const struct hca_dma_ops lanes = {.name = "host, lanes",
						 .has_doorbells = true,
						 .hand = machine_dma_hand,
						 .release = machine_dma_release};
	static const struct hca_dma_ops even = {.name = "host, even",
						.is_even = true,
						.hand = machine_dma_hand,
						.release = machine_dma_release};

	return bus->parts ? &lanes : bus->ops ? &uneven : &even;
}

/* ---- the host's ---- */

bool host_dma_is_overtaken(const struct host_dma *dma, uint64_t address, uint64_t bytes)
{
	const struct host_dma_request *r = dma->overtaken > 0 ? dma->oldest : NULL;

	for (; r; r = r->next)
		if (r->overtaken && !r->released && r->dma.address < address + bytes &&
		    address < r->dma.address + r->dma.length)
			return true;
	return false;
}

void host_dma_set_bus(struct host *host, struct bus *bus)
{
	const struct host_bus *params = host->params.bus;

	host->dma->bus = bus;
	host->dma->burst_most = bus_burst_most(bus, params->nic, params->memory);
	for (uint32_t i = 0; i < params->place_count; i++) {
		const uint32_t most = bus_burst_most(bus, params->nic, params->places[i]);

		if (most < host->dma->burst_most)
			host->dma->burst_most = most;
	}
}

static int create_bus(struct host *host)
{
	const struct host_parts *parts = host->params.bus->parts;
	struct sim_local_wheel *wheel;
	struct bus *bus;
	int ret;

	wheel = util_calloc(1, sizeof(*wheel));
	if (!wheel)
		return -ENOMEM;
	sim_local_set_wheel(&host->local, wheel);
	ret = bus_create(&host->local, host, parts->parts, parts->part_count, parts->lanes,
			 parts->lane_count, &bus);
	if (ret == 0) {
		bus_set_faults(bus, parts->faults, parts->fault_count);
		host_dma_set_bus(host, bus);
	}
	return ret;
}

int host_dma_create(struct host *host)
{
	host->dma = util_calloc(1, sizeof(*host->dma));
	if (!host->dma)
		return -ENOMEM;
	tx_buffer_init(&host->dma->tx, host->params.bus->tx_bytes);
	host->dma->known_at = PS_NEVER;
	host->dma->way = is_even(host) ? host->params.bus->way : 0;
	if (!grow_known(host->dma))
		return -ENOMEM;
	return host->params.bus->parts && !host->params.bus->is_of_machine ? create_bus(host) : 0;
}

void host_dma_destroy(struct host *host)
{
	struct host_dma *dma = host->dma;

	if (!dma)
		return;
	if (!host->params.bus->is_of_machine)
		bus_destroy(dma->bus);
	tx_buffer_fini(&dma->tx);
	util_free(dma->known);
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
		if (dma->bus)
			crossing_drain(&r->crossing, pools);
		packet_slab_return(pools, slab_of(r));
	}
}
