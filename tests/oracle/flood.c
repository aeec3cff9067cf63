/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

/* What becomes several: what is for hosts that a switch has forgotten (or is dropped), and
 * multicast. */

static bool is_forgotten(const struct oracle *o, const struct node *node, const struct sim_pkt *pkt)
{
	for (uint32_t i = 0; i < o->net->routing.forget_count; i++) {
		const struct net_forget *forget = &o->net->routing.forgets[i];

		if (strcmp(forget->at, node->sim->name) != 0 || pkt->at < forget->from ||
		    pkt->at >= forget->until)
			continue;
		for (uint32_t p = 0; p < node->sim->port_count; p++)
			if (strcmp(node->sim->ports[p].peer->name, forget->host) == 0 &&
			    sim_route_address(o->net->routes, node->sim->ports[p].peer) == pkt->dst)
				return true;
	}
	return false;
}

static bool is_mcast(const struct sim_pkt *pkt)
{
	return pkt->dst >> 16 == 0xffff;
}

static bool is_in_tree(const struct oracle *o, const struct node *node, uint32_t port)
{
	return sim_route_is_in_tree(sim_route_table_of(o->net->routes, node->sim), port);
}

/* The ports that a copy goes to, the first one first. */
static uint32_t floods_to(const struct oracle *o, const struct node *node,
			  const struct sim_pkt *pkt, uint32_t ret_ports[ORACLE_WAYS])
{
	const uint32_t all = node->sim->port_count;
	const uint64_t mix =
		sim_tie(node->sim->tie_key, node->sim->ports[pkt->port].link_id, pkt->at);
	const uint32_t first = (uint32_t)((u128)mix * all >> 64);
	uint32_t count = 0;

	for (uint32_t i = first; i < first + all; i++) {
		const uint32_t port = i % all;

		if (port == pkt->port || oracle_port_is_down(o, node, port, pkt->at) ||
		    (is_mcast(pkt) && !is_in_tree(o, node, port)))
			continue;
		CHECK(count < ORACLE_WAYS);
		ret_ports[count++] = port;
	}
	return count;
}

/* @dropped: of those that go nowhere. */
static void flood(struct oracle *o, struct node *node, const struct event *event, uint64_t *dropped,
		  uint64_t *frames, uint64_t *copies)
{
	const uint8_t tag = is_mcast(&event->pkt) ? 0 : 2;
	struct sim_thread th = {.sim = o->net->sim};
	uint32_t ports[ORACLE_WAYS];
	const uint32_t count = floods_to(o, node, &event->pkt, ports);
	struct event own = *event;

	if (count == 0) {
		oracle_refuse(o, node, &own.pkt, dropped);
		return;
	}
	++*frames;
	*copies += count - 1;
	for (uint32_t i = 0; i < count; i++) {
		const bool is_last = i == count - 1;

		own = *event;
		own.whole = true;
		CHECK(is_last || o->net->body->duplicate(&th, &event->pkt, &own.pkt));
		if (node->sim->ports[ports[i]].peer->ops == &sim_switch_ops)
			own.pkt.tag |= tag & 3u;
		oracle_go_on(o, node, &own, ports[i]);
	}
}

/* Its bytes are not all here yet. */
static bool comes_whole(struct oracle *o, const struct event *event)
{
	const uint32_t head = oracle_head_bytes(o);

	if (!head || event->whole || event->pkt.bytes <= head)
		return false;
	oracle_push_whole(o, event);
	return true;
}

bool oracle_mcast(struct oracle *o, struct node *node, struct event *event)
{
	if (!is_mcast(&event->pkt))
		return false;
	if (event->pkt.ttl == 0)
		oracle_refuse(o, node, &event->pkt, &node->dropped_route);
	else if (!comes_whole(o, event))
		flood(o, node, event, &node->dropped_route, &node->mcast, &node->mcast_copies);
	return true;
}

bool oracle_unknown(struct oracle *o, struct node *node, struct event *event, uint8_t class)
{
	struct sim_pkt *pkt = &event->pkt;

	if (!o->net->params.extended || !o->net->params.more.forgets)
		return false;
	if (pkt->tag >= 2) {
		oracle_refuse(o, node, pkt, &node->not_mine);
		return true;
	}
	if (!is_forgotten(o, node, pkt))
		return false;
	if (pkt->ttl == 0)
		oracle_refuse(o, node, pkt, &node->dropped_route);
	else if (!(o->net->params.more.floods & 1u << class))
		oracle_refuse(o, node, pkt, &node->dropped_unknown);
	else if (!comes_whole(o, event))
		flood(o, node, event, &node->dropped_unknown, &node->flooded, &node->flood_copies);
	return true;
}
