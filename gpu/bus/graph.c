/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>

/* The parts of a machine, and the one way between any two over lanes other than NVLink. */

/* Follows all lanes from @part, to which @way leads, which came from @back: where they lead to is
 * reached from @from by @first. False: a way is too long, or there are two. */
static bool explore(struct bus *bus, uint32_t from, uint32_t part, struct bus_way *first,
		    const struct bus_lane_params *back, uint32_t hops)
{
	for (uint32_t i = 0; i < bus->way_count; i++) {
		struct bus_way *way = &bus->ways[i];
		struct bus_way **route = &bus->routes[from * bus->part_count + way->to];

		if (way->from != part || way->lane == back || way->lane->link.kind == BUS_NVLINK)
			continue;
		if (hops == BUS_HOPS_MAX || way->to == from || *route)
			return false;
		*route = first ? first : way;
		if (!explore(bus, from, way->to, *route, way->lane, hops + 1))
			return false;
	}
	return true;
}

static bool find_routes(struct bus *bus)
{
	for (uint32_t from = 0; from < bus->part_count; from++) {
		if (bus->parts[from].params.is_nvswitch)
			continue;
		if (!explore(bus, from, from, NULL, NULL, 0))
			return false;
		for (uint32_t to = 0; to < bus->part_count; to++)
			if (to != from && !bus->parts[to].params.is_nvswitch &&
			    !bus_route(bus, from, to))
				return false;
	}
	return true;
}

/* No lane but of NVLink leads to an NVSwitch, and none of these is a second one. */
static bool ends_are_valid(const struct bus *bus, const struct bus_lane_params *lane)
{
	if (lane->a >= bus->part_count || lane->b >= bus->part_count || lane->a == lane->b)
		return false;
	if (lane->link.kind != BUS_NVLINK)
		return !bus->parts[lane->a].params.is_nvswitch &&
		       !bus->parts[lane->b].params.is_nvswitch;
	for (const struct bus_lane_params *other = bus->lanes; other < lane; other++)
		if (other->link.kind == BUS_NVLINK &&
		    ((other->a == lane->a && other->b == lane->b) ||
		     (other->a == lane->b && other->b == lane->a)))
			return false;
	return true;
}

static bool lane_is_valid(const struct bus *bus, const struct bus_lane_params *lane)
{
	if (!ends_are_valid(bus, lane) || !bus_link_is_valid(&lane->link))
		return false;
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const struct bus_credits *room = &lane->room[kind];
		const uint32_t data = kind == BUS_NON_POSTED
					      ? 0
					      : bus_link_payload(&lane->link) / BUS_CREDIT_BYTES;

		if ((room->headers == 0) != (room->data == 0) && kind != BUS_NON_POSTED)
			return false;
		if (room->headers > 0 && room->data < data)
			return false;
	}
	return true;
}

static uint32_t returns_of(const struct bus_lane_params *lane)
{
	uint32_t count = 0;

	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++)
		count += lane->room[kind].headers;
	return count;
}

static uint64_t peers_of(const struct bus_lane_params *lane, enum bus_class kind)
{
	if (kind == BUS_NON_POSTED)
		return 0;
	return kind == BUS_POSTED ? lane->peer_writes_bps : lane->peer_reads_bps;
}

/* Way @number, one of those of a @link of @lane. */
static struct bus_return *init_way(struct bus *bus, uint32_t number,
				   const struct bus_lane_params *lane, uint32_t link,
				   struct bus_return *returns)
{
	struct bus_way *way = &bus->ways[number];

	way->bus = bus;
	way->lane = lane;
	way->tally = &bus->tallies[2 * (lane - bus->lanes) + number % 2];
	way->link = link;
	way->from = number % 2 ? lane->b : lane->a;
	way->to = number % 2 ? lane->a : lane->b;
	way->end = &bus->parts[way->to];
	way->onward = &bus->routes[way->to * bus->part_count];
	way->delay = lane->delay;
	way->credit_delay = lane->update + lane->delay;
	way->responds = lane->link.kind == BUS_NVLINK;
	way->event = (struct sim_local_event){
		.key = number, .phase = SIM_LOCAL_TIMER, .is_inside = true, .fn = bus_way_on_event};
	for (uint32_t kind = 0; kind < BUS_CLASSES; kind++) {
		const struct bus_credits *room = &lane->room[kind];

		way->shares[kind] =
			(struct bus_share){.peers_bps = peers_of(lane, (enum bus_class)kind),
					   .is_endless = room->headers == 0,
					   .headers = room->headers,
					   .data = room->data,
					   .returns = returns,
					   .room = room->headers,
					   .starved_from = PS_NEVER,
					   .costs = {{.shape = UINT64_MAX}, {.shape = UINT64_MAX}}};
		returns += room->headers;
	}
	return returns;
}

static uint32_t links_of(const struct bus_lane_params *lane)
{
	return lane->link.kind == BUS_NVLINK ? lane->link.nvlink.links : 1;
}

static int init_ways(struct bus *bus)
{
	struct bus_return *returns;
	uint32_t count = 1, number = 0;

	for (uint32_t i = 0; i < bus->lane_count; i++) {
		const struct bus_lane_params *lane = &bus->lanes[i];

		if (!lane_is_valid(bus, lane))
			return -EINVAL;
		bus->way_count += 2 * links_of(lane);
		count += 2 * links_of(lane) * returns_of(lane);
	}
	bus->ways = util_calloc(bus->way_count + 1, sizeof(*bus->ways));
	bus->tallies = util_calloc(2 * bus->lane_count + 1, sizeof(*bus->tallies));
	bus->returns = returns = util_calloc(count, sizeof(*returns));
	if (!bus->ways || !bus->tallies || !returns)
		return -ENOMEM;
	for (uint32_t i = 0; i < bus->lane_count; i++)
		for (uint32_t k = 0; k < 2 * links_of(&bus->lanes[i]); k++)
			returns = init_way(bus, number++, &bus->lanes[i], k / 2, returns);
	if (!find_routes(bus))
		return -EINVAL;
	bus_peers_init(bus);
	bus_mesh_limit(bus);
	return bus_mesh_create(bus);
}

int bus_create(struct sim_local *local, void *context, const struct bus_part_params *parts,
	       uint32_t part_count, const struct bus_lane_params *lanes, uint32_t lane_count,
	       struct bus **ret_bus)
{
	struct bus *bus = util_calloc(1, sizeof(*bus));
	int ret = -ENOMEM;

	if (!bus)
		return -ENOMEM;
	CHECK(part_count >= 2 && part_count <= BUS_PARTS_MAX);
	bus->local = local;
	bus->context = context;
	bus->finish = bus_finish;
	bus->part_count = part_count;
	bus->lane_count = lane_count;
	bus->parts = util_calloc(part_count, sizeof(*bus->parts));
	bus->lanes = util_calloc(lane_count + 1, sizeof(*bus->lanes));
	bus->routes = util_calloc((size_t)part_count * part_count, sizeof(struct bus_way *));
	if (bus->parts && bus->lanes && bus->routes) {
		for (uint32_t i = 0; i < part_count; i++) {
			bus->parts[i].params = parts[i];
			bus->parts[i].tags = parts[i].tags;
		}
		for (uint32_t i = 0; i < lane_count; i++)
			bus->lanes[i] = lanes[i];
		ret = init_ways(bus);
	}
	if (ret != 0) {
		bus_destroy(bus);
		return ret;
	}
	*ret_bus = bus;
	return 0;
}

void bus_destroy(struct bus *bus)
{
	if (!bus)
		return;
	for (uint32_t i = 0; bus->ways && i < bus->way_count; i++)
		if (bus->ways[i].event.pending)
			sim_local_cancel(bus->local, &bus->ways[i].event);
	bus_mesh_fini(bus);
	util_free(bus->returns);
	util_free(bus->routes);
	util_free(bus->tallies);
	util_free(bus->ways);
	util_free(bus->lanes);
	util_free(bus->parts);
	util_free(bus);
}
