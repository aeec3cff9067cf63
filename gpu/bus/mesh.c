/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

/* The lanes of NVLink: which pairs of parts they join, and which link a burst takes. */

static uint8_t *hops_of(const struct bus *bus, uint32_t from, uint32_t to)
{
	return &bus->mesh.hops[from * bus->part_count + to];
}

static bool is_mesh(const struct bus_lane_params *lane)
{
	return lane->link.kind == BUS_NVLINK;
}

/* What a switch is joined with is joined with what that is joined with: nothing goes on through any
 * other part. */
static void find_hops(struct bus *bus)
{
	for (uint32_t i = 0; i < bus->part_count * bus->part_count; i++)
		bus->mesh.hops[i] = BUS_APART;
	for (uint32_t i = 0; i < bus->lane_count; i++)
		if (is_mesh(&bus->lanes[i]))
			*hops_of(bus, bus->lanes[i].a, bus->lanes[i].b) =
				*hops_of(bus, bus->lanes[i].b, bus->lanes[i].a) = 1;
	for (uint32_t via = 0; via < bus->part_count; via++)
		for (uint32_t from = 0;
		     bus->parts[via].params.is_nvswitch && from < bus->part_count; from++)
			for (uint32_t to = 0; to < bus->part_count; to++) {
				const uint32_t hops =
					*hops_of(bus, from, via) + *hops_of(bus, via, to);

				if (from != to && hops < *hops_of(bus, from, to))
					*hops_of(bus, from, to) = (uint8_t)hops;
			}
}

/* Those of each part, in the order of the lanes. */
static void gather_bundles(struct bus *bus)
{
	struct bus_bundle *next = bus->mesh.bundles;

	for (uint32_t at = 0; at < bus->part_count; at++) {
		struct bus_part *part = &bus->parts[at];

		part->bundles = next;
		for (uint32_t i = 0; i < bus->way_count; i++) {
			struct bus_way *way = &bus->ways[i];

			if (!is_mesh(way->lane) || way->from != at || way->link > 0)
				continue;
			*next++ = (struct bus_bundle){way, way->lane->link.nvlink.links};
			part->bundle_count++;
		}
	}
}

bool bus_has_nvlink(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bus_mesh_joins(bus, from, to);
}

static void gather_choices(struct bus *bus)
{
	struct bus_choice *next = bus->mesh.choices;

	for (uint32_t at = 0; at < bus->part_count; at++) {
		struct bus_part *part = &bus->parts[at];

		part->choices = next;
		for (uint32_t i = 0; i < part->bundle_count; i++) {
			const struct bus_bundle *bundle = &part->bundles[i];

			for (uint32_t place = 0; place < bundle->count; place++)
				*next++ = (struct bus_choice){bundle->first + 2 * place, place,
							      bundle->count};
		}
		part->choice_count = (uint32_t)(next - part->choices);
	}
}

/* Whether what is for @to may go from part @at over @bundle. */
static bool leads_to(const struct bus *bus, const struct bus_bundle *bundle, uint32_t at,
		     uint32_t to)
{
	const uint32_t next = bundle->first->to;

	return next == to || (bus->parts[next].params.is_nvswitch &&
			      *hops_of(bus, next, to) + 1 == *hops_of(bus, at, to));
}

static uint8_t find_leads(const struct bus *bus, uint32_t at, uint32_t to)
{
	const struct bus_part *part = &bus->parts[at];
	uint32_t count = 0, last = 0;

	for (uint32_t i = 0; i < part->bundle_count; i++)
		if (leads_to(bus, &part->bundles[i], at, to)) {
			count++;
			last = i;
		}
	if (count == 1 && last <= BUS_LEADS_MAX)
		return (uint8_t)last;
	return count > 0 && count == part->bundle_count ? BUS_LEADS_ALL : BUS_LEADS_SOME;
}

int bus_mesh_create(struct bus *bus)
{
	const size_t pairs = (size_t)bus->part_count * bus->part_count;
	uint32_t count = 0, links = 0;

	for (uint32_t i = 0; i < bus->lane_count; i++)
		if (is_mesh(&bus->lanes[i])) {
			count += 2;
			links += 2 * bus->lanes[i].link.nvlink.links;
		}
	if (count == 0)
		return 0;
	bus->mesh.hops = util_calloc(pairs, 1);
	bus->mesh.leads = util_calloc(pairs, 1);
	bus->mesh.choices = util_calloc(links, sizeof(*bus->mesh.choices));
	bus->mesh.numbers = util_calloc(BUS_CLASSES * pairs, sizeof(*bus->mesh.numbers));
	bus->mesh.bundles = util_calloc(count, sizeof(*bus->mesh.bundles));
	if (!bus->mesh.hops || !bus->mesh.leads || !bus->mesh.choices || !bus->mesh.numbers ||
	    !bus->mesh.bundles)
		return -ENOMEM;
	find_hops(bus);
	gather_bundles(bus);
	gather_choices(bus);
	for (uint32_t i = 0; i < pairs; i++)
		bus->mesh.leads[i] = find_leads(bus, i / bus->part_count, i % bus->part_count);
	return 0;
}

void bus_mesh_fini(struct bus *bus)
{
	util_free(bus->mesh.bundles);
	util_free(bus->mesh.numbers);
	util_free(bus->mesh.choices);
	util_free(bus->mesh.leads);
	util_free(bus->mesh.hops);
}

uint64_t bus_mesh_number(struct bus *bus, uint32_t from, uint32_t to, enum bus_class kind)
{
	return bus->mesh.numbers[((size_t)kind * bus->part_count + from) * bus->part_count + to]++;
}

/* ---- which link ---- */

static bool is_open(const struct bus_way *way, ps_t now)
{
	return way->fault_count == 0 || bus_fault_up_at(way, now) == now;
}

static uint32_t count_open(const struct bus *bus, uint32_t at, uint32_t to, ps_t now);

/* The links of @bundle, from part @at, that a burst may take to @to: all or none of those that are
 * not down. */
static uint32_t open_links(const struct bus *bus, const struct bus_bundle *bundle, uint32_t at,
			   uint32_t to, ps_t now)
{
	const uint32_t next = bundle->first->to;
	const bool leads = leads_to(bus, bundle, at, to);
	uint32_t count = 0;

	if (!leads || !bus->mesh.has_outages)
		return leads ? bundle->count : 0;
	for (uint32_t i = 0; i < bundle->count; i++)
		count += is_open(bundle->first + 2 * i, now);
	return next == to || count_open(bus, next, to, now) > 0 ? count : 0;
}

static uint32_t count_open(const struct bus *bus, uint32_t at, uint32_t to, ps_t now)
{
	const struct bus_part *part = &bus->parts[at];
	uint32_t count = 0;

	for (uint32_t i = 0; i < part->bundle_count; i++)
		count += open_links(bus, &part->bundles[i], at, to, now);
	return count;
}

bool bus_mesh_is_open(const struct bus *bus, uint32_t from, uint32_t to, ps_t now)
{
	return !bus->mesh.has_outages || count_open(bus, from, to, now) > 0;
}

/* Number @place of those that are not down. */
static struct bus_way *open_link(const struct bus_bundle *bundle, uint32_t place, ps_t now)
{
	struct bus_way *way = bundle->first;

	for (;; way += 2)
		if (is_open(way, now) && place-- == 0)
			return way;
}

/* As bus_mesh_next(), link by link; @number: the burst's own among those of all senders. */
static __attribute__((noinline)) struct bus_way *next_of_some(const struct bus *bus, uint32_t at,
							      uint32_t to, uint64_t number,
							      ps_t now, uint64_t *ret_number)
{
	const uint32_t all = count_open(bus, at, to, now);
	const struct bus_bundle *bundle = bus->parts[at].bundles;
	uint32_t place, count;

	if (all == 0)
		return NULL;
	place = (uint32_t)(number % all);
	for (;; bundle++, place -= count) {
		count = open_links(bus, bundle, at, to, now);
		if (place < count)
			break;
	}
	*ret_number = number / all * count + place;
	return open_link(bundle, place, now);
}

struct bus_way *bus_mesh_next(const struct bus *bus, uint32_t at, const struct bus_burst *burst,
			      ps_t now, uint64_t *ret_number)
{
	/* So that those of several senders do not all take the same links at a time. */
	const uint64_t number = burst->number + burst->from;
	const struct bus_part *part = &bus->parts[at];
	const uint8_t leads = bus->mesh.leads[at * bus->part_count + burst->to];
	const struct bus_bundle *bundle;
	const struct bus_choice *choice;

	if (bus->mesh.has_outages || leads == BUS_LEADS_SOME)
		return next_of_some(bus, at, burst->to, number, now, ret_number);
	if (leads <= BUS_LEADS_MAX) {
		bundle = &part->bundles[leads];
		*ret_number = number;
		return bundle->first + 2 * (number % bundle->count);
	}
	choice = &part->choices[number % part->choice_count];
	*ret_number = number / part->choice_count * choice->count + choice->place;
	return choice->way;
}
