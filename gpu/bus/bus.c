/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/check.h"

/* ---- bursts ---- */

static void set_out(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to,
		    enum bus_class kind, ps_t now)
{
	struct bus_part *part = &bus->parts[from];

	CHECK(from != to && from < bus->part_count && to < bus->part_count);
	burst->from = (uint16_t)from;
	burst->to = (uint16_t)to;
	burst->kind = (uint8_t)kind;
	burst->event =
		(struct sim_local_event){.key = (uint64_t)(from + 1) << 48 | part->next_number++,
					 .phase = SIM_LOCAL_ARRIVAL};
	bus_depart(bus, burst, now);
}

/* An eighth of the room for a class, so that credits come back while others are used. */
static uint32_t part_of(const struct bus_credits *room, uint32_t mps)
{
	const uint32_t headers = room->headers / 8 * mps, data = room->data / 8 * BUS_CREDIT_BYTES;
	uint32_t most = BUS_BURST_MAX;

	if (room->headers > 0 && headers < most)
		most = headers;
	if (room->data > 0 && data < most)
		most = data;
	return most - most % mps;
}

/* What the buffers of a lane, and one of its packets, make of *most and *least. */
static void limit(const struct bus_lane_params *lane, const struct bus_link *link, uint32_t *most,
		  uint32_t *least)
{
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const bool is_request = kind == BUS_NON_POSTED;
		const uint32_t size = is_request ? bus_link_request(link) : bus_link_payload(link);
		const uint32_t part = part_of(&lane->room[kind], size);

		*most = part < *most ? part : *most;
		*least = size < *least ? size : *least;
	}
}

void bus_mesh_limit(struct bus *bus)
{
	bus->mesh.most = bus->mesh.least = BUS_BURST_MAX;
	for (uint32_t i = 0; i < bus->lane_count; i++)
		if (bus->lanes[i].link.kind == BUS_NVLINK)
			limit(&bus->lanes[i], &bus->lanes[i].link, &bus->mesh.most,
			      &bus->mesh.least);
}

uint32_t bus_burst_most(const struct bus *bus, uint32_t from, uint32_t to)
{
	uint32_t most = BUS_BURST_MAX, least = BUS_BURST_MAX;
	struct bus_burst burst = {.from = (uint16_t)from, .to = (uint16_t)to, .via = BUS_PARTS_MAX};

	if (bus->has_peers)
		bus_peers_set_out(bus, &burst);
	for (uint32_t at = from; at != to;) {
		const struct bus_way *way = bus_tree_next(bus, at, &burst);

		limit(way->lane, burst.is_split ? &way->split : &way->lane->link, &most, &least);
		at = way->to;
		if (at == burst.via)
			burst.via = BUS_PARTS_MAX;
	}
	if (bus_mesh_joins(bus, from, to)) {
		most = bus->mesh.most < most ? bus->mesh.most : most;
		least = bus->mesh.least < least ? bus->mesh.least : least;
	}
	return most > least ? most : least;
}

void bus_write(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to, ps_t now)
{
	burst->is_read = false;
	set_out(bus, burst, from, to, BUS_POSTED, now);
}

/* What part @from reads with @burst of @to takes one for each request, which over PCI Express is as
 * small as the burst's packets (base specification 2.2.6.2), or all that there are; over NVLink
 * none. */
static uint32_t tags_of(const struct bus *bus, const struct bus_burst *burst, uint32_t from,
			uint32_t to)
{
	const uint32_t most = bus->parts[from].params.tags;
	const struct bus_link *link;
	uint32_t request, count;

	if (bus_mesh_joins(bus, from, to))
		return 0;
	link = &bus_route(bus, from, to)->lane->link;
	request = bus_link_request(link);
	if (link->kind == BUS_PCIE && burst->packet > 0 && burst->packet < request)
		request = burst->packet;
	count = pcie_tlps(burst->bytes, request);
	return count < most ? count : most;
}

static void ask(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	struct bus_part *part = &bus->parts[burst->from];
	const uint32_t tags = tags_of(bus, burst, burst->from, burst->to);

	bus_count_tags(part, now);
	part->tags -= tags;
	part->tag_stats.taken += tags;
	set_out(bus, burst, burst->from, burst->to, BUS_NON_POSTED, now);
}

static bool has_tags(const struct bus *bus, const struct bus_burst *burst)
{
	return tags_of(bus, burst, burst->from, burst->to) <= bus->parts[burst->from].tags;
}

void bus_read(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to, ps_t now)
{
	struct bus_part *part = &bus->parts[from];

	CHECK(from != to && from < bus->part_count && to < bus->part_count);
	burst->is_read = true;
	burst->from = (uint16_t)from;
	burst->to = (uint16_t)to;
	if (bus_mesh_joins(bus, from, to) || (!part->tagless.first && has_tags(bus, burst))) {
		ask(bus, burst, now);
		return;
	}
	burst->event.at = now;
	if (!part->tagless.first)
		part->dry_from = now;
	bus_enqueue(&part->tagless, burst);
}

/* The bytes of @burst have come back to who asked. */
static void end_read(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	struct bus_part *part = &bus->parts[burst->to];

	bus_count_tags(part, now);
	part->tags += tags_of(bus, burst, burst->to, burst->from);
	while (part->tagless.first && has_tags(bus, part->tagless.first)) {
		struct bus_burst *next = bus_dequeue(&part->tagless);

		part->tag_wait += now - next->event.at;
		if (!part->tagless.first)
			part->tag_stats.dry += now - part->dry_from;
		ask(bus, next, now);
	}
}

void bus_answer(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	CHECK(burst->kind == BUS_NON_POSTED);
	set_out(bus, burst, burst->to, burst->from, BUS_COMPLETION, now);
}

void bus_finish(struct bus *bus, struct bus_burst *burst, ps_t now)
{
	if (burst->kind == BUS_NON_POSTED) {
		if (!burst->ops->reached || burst->ops->reached(burst, bus->context, now))
			bus_answer(bus, burst, now);
		return;
	}
	if (burst->is_read)
		end_read(bus, burst, now);
	burst->ops->arrived(burst, bus->context, now);
}
