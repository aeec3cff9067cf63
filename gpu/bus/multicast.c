/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/multicast.h"

#include "gpu/bus/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

enum { FIRST_GENERATION = 4 }; /* of NVLink, to switches that do it */

struct branch {
	struct bus_burst burst;
	struct fan *fan;
};

/* One burst of a team. */
struct fan {
	struct bus_burst *owner; /* whose it is */
	struct bus_burst trunk;	 /* between the sender and the switch */
	struct branch *branches; /* between the switch and each member */
	uint32_t under_way;	 /* of these */
	struct bus_multicast *multicast;
	struct fan *next; /* that is spare */
};

struct bus_multicast {
	struct bus *bus;
	uint32_t from, count;
	uint32_t *members;
	uint64_t number; /* of the next burst: which link is next comes of this */
	struct fan *fans, *spare;
	struct branch *branches;
};

/* ---- which switch ---- */

static bool does_it(const struct bus *bus, const struct bus_way *way)
{
	return bus->parts[way->to].params.is_nvswitch &&
	       way->lane->link.nvlink.gen >= FIRST_GENERATION;
}

static bool leads(const struct bus *bus, uint32_t from, uint32_t to, ps_t now)
{
	return bus->mesh.hops[from * bus->part_count + to] == 1 &&
	       (now == PS_NEVER || bus_mesh_is_open(bus, from, to, now));
}

/* Whether a switch is joined with all of them, at @now; PS_NEVER: at some time. */
static bool joins_all(const struct bus *bus, uint32_t nvswitch, const uint32_t *parts,
		      uint32_t count, ps_t now)
{
	for (uint32_t i = 0; i < count; i++)
		if (!leads(bus, nvswitch, parts[i], now))
			return false;
	return true;
}

bool bus_has_multicast(const struct bus *bus, const uint32_t *parts, uint32_t count)
{
	const struct bus_part *first = &bus->parts[parts[0]];

	for (uint32_t i = 0; i < first->bundle_count; i++)
		if (does_it(bus, first->bundles[i].first) &&
		    joins_all(bus, first->bundles[i].first->to, parts, count, PS_NEVER))
			return true;
	return false;
}

/* By turns; where it does not lead to all, now or ever, the next one. */
static uint32_t choose_switch(struct bus_multicast *multicast, ps_t now)
{
	const struct bus *bus = multicast->bus;
	const struct bus_part *part = &bus->parts[multicast->from];
	/* So that those of several senders do not all take the same links at a time. */
	const uint64_t number = multicast->number++ + multicast->from;
	const ps_t at = bus->mesh.has_outages ? now : PS_NEVER;
	uint32_t to = 0;

	for (uint32_t i = 0; i < part->choice_count; i++) {
		const struct bus_way *way = part->choices[(number + i) % part->choice_count].way;

		to = way->to;
		if (does_it(bus, way) && leads(bus, multicast->from, to, at) &&
		    joins_all(bus, to, multicast->members, multicast->count, at))
			break;
	}
	return to;
}

/* ---- a burst ---- */

static void end(struct fan *fan, ps_t now)
{
	struct bus_multicast *multicast = fan->multicast;
	struct bus_burst *owner = fan->owner;

	owner->is_lost = fan->trunk.is_lost;
	fan->next = multicast->spare;
	multicast->spare = fan;
	owner->ops->arrived(owner, multicast->bus->context, now);
}

static void on_trunk_read(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context;
	end(container_of(burst, struct fan, trunk), now);
}

static void on_branch(struct bus_burst *burst, void *context, ps_t now)
{
	struct fan *fan = container_of(burst, struct branch, burst)->fan;

	(void)context;
	fan->trunk.is_lost |= burst->is_lost;
	if (--fan->under_way > 0)
		return;
	if (fan->trunk.is_read)
		bus_answer(fan->multicast->bus, &fan->trunk, now);
	else
		end(fan, now);
}

static const struct bus_burst_ops branch_ops = {.arrived = on_branch};

static void branch_out(struct fan *fan, ps_t now)
{
	struct bus_multicast *multicast = fan->multicast;
	const uint32_t nvswitch = fan->trunk.to;

	fan->under_way = multicast->count;
	for (uint32_t i = 0; i < multicast->count; i++) {
		struct bus_burst *burst = &fan->branches[i].burst;

		*burst = (struct bus_burst){
			.ops = &branch_ops, .bytes = fan->trunk.bytes, .packet = fan->trunk.packet};
		if (fan->trunk.is_read)
			bus_read(multicast->bus, burst, nvswitch, multicast->members[i], now);
		else
			bus_write(multicast->bus, burst, nvswitch, multicast->members[i], now);
	}
}

static void on_trunk_written(struct bus_burst *burst, void *context, ps_t now)
{
	struct fan *fan = container_of(burst, struct fan, trunk);

	(void)context;
	if (burst->is_lost)
		end(fan, now);
	else
		branch_out(fan, now);
}

static bool on_trunk_reached(struct bus_burst *burst, void *context, ps_t now)
{
	(void)context;
	branch_out(container_of(burst, struct fan, trunk), now);
	return false;
}

static const struct bus_burst_ops write_ops = {.arrived = on_trunk_written};
static const struct bus_burst_ops read_ops = {.arrived = on_trunk_read,
					      .reached = on_trunk_reached};

static struct fan *take_fan(struct bus_multicast *multicast, struct bus_burst *owner,
			    const struct bus_burst_ops *ops)
{
	struct fan *fan = multicast->spare;

	CHECK(fan);
	multicast->spare = fan->next;
	fan->owner = owner;
	fan->trunk = (struct bus_burst){.ops = ops, .bytes = owner->bytes, .packet = owner->packet};
	return fan;
}

void bus_multicast_write(struct bus_multicast *multicast, struct bus_burst *burst, ps_t now)
{
	struct fan *fan = take_fan(multicast, burst, &write_ops);

	bus_write(multicast->bus, &fan->trunk, multicast->from, choose_switch(multicast, now), now);
}

void bus_multicast_read(struct bus_multicast *multicast, struct bus_burst *burst, ps_t now)
{
	struct fan *fan = take_fan(multicast, burst, &read_ops);

	bus_read(multicast->bus, &fan->trunk, multicast->from, choose_switch(multicast, now), now);
}

/* ---- all of them ---- */

int bus_multicast_create(struct bus *bus, uint32_t from, const uint32_t *members, uint32_t count,
			 uint32_t window, struct bus_multicast **ret_multicast)
{
	struct bus_multicast *multicast = util_calloc(1, sizeof(*multicast));

	if (!multicast)
		return -ENOMEM;
	CHECK(count > 0 && window > 0);
	*multicast = (struct bus_multicast){
		.bus = bus,
		.from = from,
		.count = count,
		.members = util_calloc(count, sizeof(*multicast->members)),
		.fans = util_calloc(window, sizeof(*multicast->fans)),
		.branches = util_calloc((size_t)window * count, sizeof(*multicast->branches))};
	if (!multicast->members || !multicast->fans || !multicast->branches) {
		bus_multicast_destroy(multicast);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < count; i++)
		multicast->members[i] = members[i];
	for (uint32_t i = 0; i < window; i++) {
		struct fan *fan = &multicast->fans[i];

		fan->multicast = multicast;
		fan->branches = multicast->branches + (size_t)i * count;
		for (uint32_t k = 0; k < count; k++)
			fan->branches[k].fan = fan;
		fan->next = multicast->spare;
		multicast->spare = fan;
	}
	*ret_multicast = multicast;
	return 0;
}

void bus_multicast_destroy(struct bus_multicast *multicast)
{
	if (!multicast)
		return;
	util_free(multicast->branches);
	util_free(multicast->fans);
	util_free(multicast->members);
	util_free(multicast);
}
