/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/bus/internal.h"

/* Traffic of peers, neither of which is a root, over lanes other than NVLink: which roots it
 * passes, whether they let it, and what they and switches with access control make of it (base
 * specification 6.12). */

/* ---- once ---- */

static uint32_t count_lanes(const struct bus *bus, uint32_t from, uint32_t to)
{
	uint32_t count = 0;

	for (uint32_t at = from; at != to; at = bus_route(bus, at, to)->to)
		count++;
	return count;
}

static void find_root(struct bus *bus, uint32_t number)
{
	struct bus_part *part = &bus->parts[number];

	part->root = BUS_PARTS_MAX;
	for (uint32_t i = 0; i < bus->part_count; i++) {
		const bool is_root = bus->parts[i].params.is_root && !part->params.is_nvswitch;
		const uint32_t depth = is_root ? count_lanes(bus, number, i) : 0;

		if (is_root && (part->root == BUS_PARTS_MAX || depth < part->depth)) {
			part->root = i;
			part->depth = depth;
		}
	}
}

/* What goes down from a root, or on to another one, is in packets of at most what that root says.
 */
static void split_way(const struct bus *bus, struct bus_way *way)
{
	const struct bus_part *part = &bus->parts[way->from];
	const bool is_up = part->depth > bus->parts[way->to].depth;
	const uint32_t most = part->root == BUS_PARTS_MAX || is_up
				      ? 0
				      : bus->parts[part->root].params.peer_payload;

	way->split = way->lane->link;
	if (way->split.kind == BUS_PCIE && most > 0 && most < way->split.pcie.mps)
		way->split.pcie.mps = (uint16_t)most;
}

void bus_peers_init(struct bus *bus)
{
	for (uint32_t i = 0; i < bus->part_count; i++) {
		const struct bus_part_params *part = &bus->parts[i].params;

		bus->has_peers |= part->is_root;
		bus->has_rules |= part->peer_payload > 0 || part->redirects;
		find_root(bus, i);
	}
	for (uint32_t i = 0; i < bus->way_count; i++)
		split_way(bus, &bus->ways[i]);
}

/* ---- each burst ---- */

static bool are_peers(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bus->has_peers && !bus->parts[from].params.is_root && !bus->parts[to].params.is_root;
}

/* What the roots on the way from @from to @to allow at most; *ret_top: the part that is nearest to
 * a root of those in between, at which what goes up turns around. BUS_PARTS_MAX: none is. */
static enum bus_peers allowed_on(const struct bus *bus, uint32_t from, uint32_t to,
				 uint32_t *ret_top)
{
	uint8_t peers = BUS_PEERS_FULL;

	*ret_top = BUS_PARTS_MAX;
	for (uint32_t at = bus_route(bus, from, to)->to; at != to;
	     at = bus_route(bus, at, to)->to) {
		const struct bus_part *part = &bus->parts[at];

		if (*ret_top == BUS_PARTS_MAX || part->depth < bus->parts[*ret_top].depth)
			*ret_top = at;
		if (part->params.is_root && part->params.peers > peers)
			peers = part->params.peers;
	}
	return (enum bus_peers)peers;
}

/* The root that what would turn around at @top goes to first; BUS_PARTS_MAX: none. */
static uint32_t root_beyond(const struct bus *bus, uint32_t top)
{
	return top < BUS_PARTS_MAX && bus->parts[top].params.redirects ? bus->parts[top].root
								       : BUS_PARTS_MAX;
}

void bus_peers_set_out(const struct bus *bus, struct bus_burst *burst)
{
	uint32_t top, root;

	if (!are_peers(bus, burst->from, burst->to))
		return;
	burst->is_peer = true;
	if (!bus->has_rules)
		return;
	(void)allowed_on(bus, burst->from, burst->to, &top);
	root = root_beyond(bus, top);
	if (root < BUS_PARTS_MAX)
		burst->goal = (uint16_t)root;
	burst->is_split =
		root < BUS_PARTS_MAX || (top < BUS_PARTS_MAX && bus->parts[top].params.is_root);
}

uint32_t bus_path(const struct bus *bus, uint32_t from, uint32_t to, uint32_t *ret_parts)
{
	struct bus_burst burst = {.from = (uint16_t)from, .to = (uint16_t)to, .goal = (uint16_t)to};
	uint32_t count = 0, at = from;

	if (from != to)
		bus_peers_set_out(bus, &burst);
	ret_parts[count++] = from;
	while (at != to) {
		at = bus_tree_next(bus, at, &burst)->to;
		if (at == burst.goal)
			burst.goal = (uint16_t)to;
		ret_parts[count++] = at;
	}
	return count;
}

static enum bus_peers allowed(const struct bus *bus, uint32_t from, uint32_t to)
{
	enum bus_peers peers, above = BUS_PEERS_FULL;
	uint32_t top, root;

	if (from == to || !are_peers(bus, from, to) || bus_mesh_joins(bus, from, to))
		return BUS_PEERS_FULL;
	peers = allowed_on(bus, from, to, &top);
	root = root_beyond(bus, top);
	if (root < BUS_PARTS_MAX)
		above = (enum bus_peers)bus->parts[root].params.peers;
	return above > peers ? above : peers;
}

bool bus_may_write(const struct bus *bus, uint32_t from, uint32_t to)
{
	return allowed(bus, from, to) < BUS_PEERS_NONE;
}

bool bus_may_read(const struct bus *bus, uint32_t from, uint32_t to)
{
	return allowed(bus, from, to) < BUS_PEERS_WRITES;
}
