/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/limit.h"

/* Shares of the time, in per mille. */
enum { BUSY_LEAST = 900, FULL_LEAST = 970, WAITS_LEAST = 500, STARVED_LEAST = 100, WHOLE = 1000 };

enum { PACKETS = 1 << 16 }; /* so many that the rounding of their time is not seen */

uint64_t limit_payload_rate(const struct bus_link *link, bool is_read)
{
	const uint32_t payload = bus_link_payload(link);
	const uint32_t bytes = bus_link_bytes(link, is_read ? BUS_COMPLETION : BUS_POSTED, payload);

	return (uint64_t)((u128)PACKETS * payload * PS_S /
			  bus_link_time(link, (uint64_t)PACKETS * bytes));
}

uint64_t limit_lane_rate(const struct limit *limit)
{
	struct bus_link link = limit->machine->is->lanes[limit->way / 2].link;

	for (uint32_t i = 0; i < limit->fault_count; i++)
		if (limit->faults[i].way == limit->way)
			link = inside_fault_link(&link, &limit->faults[i]);
	return limit_payload_rate(&link, limit->sends);
}

uint64_t limit_port_rate(const struct limit *limit)
{
	return limit->host->node.ports[0].rate_bps / 8;
}

/* What its port and the narrowest lane on the way would take. */
static uint64_t rate_without_limit(const struct limit *limit)
{
	uint64_t least = limit_port_rate(limit);

	for (uint32_t i = 0; i < limit->way_count; i++) {
		const struct bus_lane_params *lane = &limit->machine->is->lanes[limit->ways[i] / 2];
		const uint64_t rate = limit_payload_rate(&lane->link, limit->sends);

		least = rate < least ? rate : least;
	}
	return least;
}

uint32_t limit_request_bytes(const struct limit *limit)
{
	const uint32_t way = limit->ways[limit->way_count - 1];

	return bus_link_request(&limit->machine->is->lanes[way / 2].link);
}

uint32_t limit_tags_wanted(const struct limit *limit)
{
	const u128 under_way = (u128)rate_without_limit(limit) * limit_round_trip(limit) / PS_S;

	return (uint32_t)(under_way / limit_request_bytes(limit)) + 1;
}

/* What its port, and what is no PCIe on the way, would take. */
static uint64_t rate_beside_slots(const struct limit *limit)
{
	uint64_t least = limit_port_rate(limit);

	for (uint32_t i = 0; i < limit->way_count; i++) {
		const struct bus_link *link = &limit->machine->is->lanes[limit->ways[i] / 2].link;
		const uint64_t rate = limit_payload_rate(link, limit->sends);

		if (link->kind != BUS_PCIE && rate < least)
			least = rate;
	}
	return least;
}

bool limit_slot_wanted(const struct limit *limit, uint32_t way, struct pcie_link *ret_slot)
{
	enum { WIDTH_MAX = 16, GEN_MAX = 7 };
	struct bus_link link = limit->machine->is->lanes[way / 2].link;
	const uint64_t goal = rate_beside_slots(limit);

	if (link.kind != BUS_PCIE || limit_payload_rate(&link, limit->sends) >= goal)
		return false;
	while (limit_payload_rate(&link, limit->sends) < goal && link.pcie.width < WIDTH_MAX)
		link.pcie.width *= 2;
	while (limit_payload_rate(&link, limit->sends) < goal && link.pcie.gen < GEN_MAX)
		link.pcie.gen++;
	*ret_slot = link.pcie;
	return true;
}

static bool is_share(ps_t part, ps_t whole, uint32_t least)
{
	return (u128)part * WHOLE >= (u128)whole * least;
}

/* As the data go. */
static void find_way(const struct machine_watch *watch, struct limit *limit)
{
	const uint32_t from = limit->sends ? limit->memory : limit->nic;
	const uint32_t to = limit->sends ? limit->nic : limit->memory;

	limit->way_count = machine_path(watch->machine, from, to, limit->ways);
}

static uint32_t way_at_memory(const struct limit *limit)
{
	return limit->ways[limit->sends ? 0 : limit->way_count - 1];
}

static uint64_t moved_at(const struct machine_watch *watch, const struct limit *limit)
{
	return limit->way_count > 0 ? machine_watch_way(watch, way_at_memory(limit)).bytes : 0;
}

static bool goes_by(const struct limit *limit, uint32_t way)
{
	for (uint32_t i = 0; i < limit->way_count; i++)
		if (limit->ways[i] == way)
			return true;
	return false;
}

/* The memory of which most was moved: that of the host, or of a GPU, which nothing goes through. */
static void find_memory_moved(const struct machine_watch *watch, struct limit *limit)
{
	const struct host_bus *bus = limit->host->params.bus;
	struct limit of_host = *limit, trial = *limit;
	uint64_t most = 0, left;

	of_host.memory = bus->memory;
	find_way(watch, &of_host);
	*limit = of_host;
	left = moved_at(watch, &of_host);
	for (uint32_t i = 0; i < bus->place_count; i++) {
		uint64_t bytes;

		trial.memory = bus->places[i];
		find_way(watch, &trial);
		bytes = moved_at(watch, &trial);
		if (of_host.way_count > 0 && goes_by(&trial, way_at_memory(&of_host)))
			left -= bytes < left ? bytes : left;
		if (bytes <= most)
			continue;
		most = bytes;
		*limit = trial;
	}
	if (left >= most)
		*limit = of_host;
}

static void find_busiest(const struct machine_watch *watch, struct limit *limit)
{
	for (uint32_t i = 0; i < limit->way_count; i++) {
		const struct bus_way_stats did = machine_watch_way(watch, limit->ways[i]);

		if (i > 0 && did.busy <= limit->did.busy)
			continue;
		limit->way = limit->ways[i];
		limit->did = did;
	}
}

/* @way was never idle for want of anything but credits. */
static bool waits_for_credits(const struct machine_watch *watch, struct limit *limit, uint32_t way,
			      enum bus_class class)
{
	const struct bus_way_stats did = machine_watch_way(watch, way);
	const ps_t starved = did.starved[class];

	if (!is_share(starved, limit->time, STARVED_LEAST) ||
	    !is_share(starved + did.busy, limit->time, BUSY_LEAST))
		return false;
	limit->way = way;
	limit->class = class;
	limit->did = did;
	limit->kind = did.busy > starved && limit_lane_rate(limit) < limit_port_rate(limit)
			      ? LIMIT_LANE
			      : LIMIT_CREDITS;
	return true;
}

/* A lane that gives its credits back late has those before it wait as well: of several it is the
 * last one, as what waits there goes. Requests wait for credits where the answers are slow, too. */
static bool find_credits(const struct machine_watch *watch, struct limit *limit)
{
	const enum bus_class class = limit->sends ? BUS_COMPLETION : BUS_POSTED;

	for (uint32_t i = limit->way_count; i-- > 0;)
		if (waits_for_credits(watch, limit, limit->ways[i], class))
			return true;
	for (uint32_t i = 0; limit->sends && i < limit->way_count; i++)
		if (waits_for_credits(watch, limit, limit->ways[i] ^ 1, BUS_NON_POSTED))
			return true;
	return false;
}

/* Of the lanes on the way, either direction, and of the memory that is read. */
static bool concerns(const struct limit *limit, const struct inside_fault_seen *seen)
{
	if (seen->way == UINT32_MAX)
		return limit->sends && seen->fault->from == limit->memory;
	return goes_by(limit, seen->way) || (limit->sends && goes_by(limit, seen->way ^ 1));
}

static void find_faults(const struct machine_watch *watch, struct limit *limit)
{
	uint32_t at = 0;

	while (limit->fault_count < LIMIT_FAULTS_MAX &&
	       inside_faults_next(watch, &at, &limit->faults[limit->fault_count]))
		if (concerns(limit, &limit->faults[limit->fault_count]) &&
		    inside_fault_matters(&limit->faults[limit->fault_count]))
			limit->fault_count++;
}

int32_t limit_turns_at(const struct limit *limit)
{
	const struct scenario_machine *is = limit->machine->is;

	for (uint32_t i = 0; i < limit->way_count; i++)
		for (uint32_t k = i + 1; k < limit->way_count; k++) {
			const uint32_t part = machine_way_to(is, limit->ways[i]);

			if (part == machine_way_from(is, limit->ways[k]) && k > i + 1 &&
			    is->params[part].redirects)
				return (int32_t)part;
		}
	return -1;
}

bool limit_find(const struct machine_watch *watch, const struct host *host, bool sends,
		struct limit *ret_limit)
{
	struct limit *limit = ret_limit;

	if (!watch->machine || watch->until <= watch->from)
		return false;
	*limit = (struct limit){.machine = watch->machine,
				.host = host,
				.sends = sends,
				.nic = host->params.bus->nic,
				.time = watch->until - watch->from};
	find_memory_moved(watch, limit);
	if (moved_at(watch, limit) == 0)
		return false;
	find_busiest(watch, limit);
	find_faults(watch, limit);
	limit->tags = machine_watch_tags(watch, limit->nic);
	/* One that takes all that the port brings is busy with it, and holds nothing up. */
	if (is_share(limit->did.busy, limit->time,
		     limit_lane_rate(limit) < limit_port_rate(limit) ? BUSY_LEAST : FULL_LEAST))
		limit->kind = LIMIT_LANE;
	else if (sends && is_share(limit->tags.dry, limit->time, WAITS_LEAST))
		limit->kind = LIMIT_TAGS;
	else if (!find_credits(watch, limit) && limit->fault_count > 0)
		limit->kind = LIMIT_FAULT;
	return true;
}
