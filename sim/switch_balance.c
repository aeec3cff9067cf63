/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch_conweave.h"
#include "util/alloc.h"

#include <errno.h>

/* Which of several equally good ports a frame takes, and ports that are out of order. */

enum { FLOWLETS = 4096 };

struct sim_flowlet { /* flows that hash alike share one */
	ps_t last_at;
	uint32_t port;
	bool known;
};

int sim_switch_balance_init(struct sim_switch *sw)
{
	struct sim_switch_more *more = sw->more;

	more->balanced = more->params.balance != SIM_BALANCE_FLOW;
	if (more->params.balance == SIM_BALANCE_WEAVE)
		return sim_conweave_init(sw);
	if (more->params.balance != SIM_BALANCE_FLOWLET)
		return 0;
	more->flowlets = util_calloc(FLOWLETS, sizeof(*more->flowlets));
	return more->flowlets ? 0 : -ENOMEM;
}

int sim_switch_outage(struct sim_switch *sw, uint32_t port, ps_t from, ps_t until)
{
	struct sim_switch_more *more = sw->more;
	struct sim_outage *outages;

	CHECK(more && port < sw->node.port_count);
	if (!more->choice)
		more->choice = util_calloc((size_t)sw->node.port_count * SIM_ROUTE_WEIGHT_MAX,
					   sizeof(*more->choice));
	if (!more->choice)
		return -ENOMEM;
	outages = util_realloc(more->outages, more->outage_count + 1, sizeof(*outages));
	if (!outages)
		return -ENOMEM;
	more->outages = outages;
	more->balanced = true;
	outages[more->outage_count++] =
		(struct sim_outage){.port = port, .from = from, .until = until};
	return 0;
}

void sim_switch_change_routes(struct sim_switch *sw, const struct sim_route_change *steps,
			      uint32_t count)
{
	struct sim_switch_more *more = sw->more;

	CHECK(more && more->route_change_count == 0);
	for (uint32_t i = 1; i < count; i++)
		CHECK(steps[i - 1].at < steps[i].at);
	more->route_changes = steps;
	more->route_change_count = count;
	more->balanced |= count > 0;
}

/* Frames arrive in order of time, so a step that has come stays. */
static void keep_routes(struct sim_switch *sw, ps_t at)
{
	struct sim_switch_more *more = sw->more;

	for (; more->route_change_count > 0 && more->route_changes->at <= at;
	     more->route_change_count--)
		sw->table = *sim_route_table_of(more->route_changes++->routes, &sw->node);
}

bool sim_switch_port_is_up(const struct sim_switch *sw, uint32_t port, ps_t at)
{
	const struct sim_switch_more *more = sw->more;

	for (uint32_t i = 0; i < more->outage_count; i++) {
		const struct sim_outage *outage = &more->outages[i];

		if (outage->port == port && at >= outage->from && at < outage->until)
			return false;
	}
	return true;
}

bool sim_switch_copies_to(const struct sim_switch *sw, const struct sim_pkt *pkt, uint32_t to)
{
	if (to == pkt->port || (sw->more && !sim_switch_port_is_up(sw, to, pkt->at)))
		return false;
	return !sim_address_is_mcast(pkt->dst) || sim_route_is_in_tree(&sw->table, to);
}

/* The ports that are in order, in the order of the set, where all are not. */
static uint32_t leave_out(struct sim_switch *sw, const uint16_t *set, uint32_t count, ps_t at)
{
	uint16_t *up = sw->more->choice;
	uint32_t left = 0;

	for (uint32_t i = 0; i < count; i++)
		if (sim_switch_port_is_up(sw, set[i], at))
			up[left++] = set[i];
	return left;
}

static uint64_t packet_draw(const struct sim_switch *sw, const struct sim_pkt *pkt)
{
	uint64_t facts[2];

	sw->node.sim->params.body_ops->facts(pkt, facts);
	return sim_mark_draw(sw->table.key, facts, pkt->flow_hash);
}

static uint32_t pick_flowlet(struct sim_switch *sw, const struct sim_pkt *pkt, const uint16_t *set,
			     uint32_t count)
{
	const u128 x = (u128)(sw->table.key ^ pkt->flow_hash) * 0x9e3779b97f4a7c15u;
	struct sim_flowlet *let =
		&sw->more->flowlets[((uint64_t)x ^ (uint64_t)(x >> 64)) % FLOWLETS];
	bool there = false;

	for (uint32_t i = 0; i < count && let->known; i++)
		there = there || set[i] == let->port;
	if (!there || pkt->at - let->last_at > sw->more->params.flowlet_gap)
		let->port = set[sim_route_pick(sw->table.key ^ pkt->at * 0xd6e8feb86659fd93u,
					       pkt->flow_hash, count)];
	let->known = true;
	let->last_at = pkt->at;
	return let->port;
}

/* The shortest queue, of all classes; of equal ones by chance of the packet. The ports are
 * settled. */
static uint32_t pick_shortest(const struct sim_switch *sw, const struct sim_pkt *pkt,
			      const uint16_t *set, uint32_t count)
{
	const uint32_t first = (uint32_t)(packet_draw(sw, pkt) * count >> 32);
	uint64_t least = UINT64_MAX;
	uint32_t best = set[0];

	for (uint32_t i = 0; i < count; i++) {
		const uint32_t port = set[(first + i) % count];
		uint64_t bytes = 0;

		for (uint32_t q = 0; q < sw->priority_count; q++)
			bytes += class_of(sw, port, q)->queue_bytes;
		/* A frame on the wire is in no queue. */
		bytes += sw->node.ports[port].free_at > pkt->at;
		if (bytes < least) {
			least = bytes;
			best = port;
		}
	}
	return best;
}

uint32_t sim_switch_ways(struct sim_switch *sw, const struct sim_pkt *pkt, const uint16_t **ret_set)
{
	struct sim_switch_more *more = sw->more;
	uint32_t count;

	keep_routes(sw, pkt->at);
	count = sim_route_set(&sw->table, pkt->dst, ret_set, &more->only);
	if (more->outage_count > 0 && count > 0) {
		count = leave_out(sw, *ret_set, count, pkt->at);
		*ret_set = more->choice;
	}
	return count;
}

uint32_t sim_switch_balance(struct sim_switch *sw, const struct sim_pkt *pkt)
{
	const uint16_t *set;
	const uint32_t count = sim_switch_ways(sw, pkt, &set);

	if (count <= 1)
		return count == 1 ? set[0] : UINT32_MAX;
	switch (sw->more->params.balance) {
	case SIM_BALANCE_SPRAY:
		return set[packet_draw(sw, pkt) * count >> 32];
	case SIM_BALANCE_FLOWLET:
		return pick_flowlet(sw, pkt, set, count);
	case SIM_BALANCE_SHORTEST:
		return pick_shortest(sw, pkt, set, count);
	case SIM_BALANCE_FLOW:
	case SIM_BALANCE_WEAVE: /* what its edge leaves to the flow's hash */
		break;
	}
	return set[sim_route_pick(sw->table.key, pkt->flow_hash, count)];
}
