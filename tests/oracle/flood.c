/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

/* Hosts that a switch has forgotten: what is for them is dropped, or becomes several. */

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

		if (port == pkt->port || oracle_port_is_down(o, node, port, pkt->at))
			continue;
		CHECK(count < ORACLE_WAYS);
		ret_ports[count++] = port;
	}
	return count;
}

static void flood(struct oracle *o, struct node *node, const struct event *event)
{
	struct sim_thread th = {.sim = o->net->sim};
	uint32_t ports[ORACLE_WAYS];
	const uint32_t count = floods_to(o, node, &event->pkt, ports);
	struct event own = *event;

	if (count == 0) {
		oracle_refuse(o, node, &own.pkt, &node->dropped_unknown);
		return;
	}
	node->flooded++;
	node->flood_copies += count - 1;
	for (uint32_t i = 0; i < count; i++) {
		const bool is_last = i == count - 1;

		own = *event;
		own.whole = true;
		CHECK(is_last || o->net->body->duplicate(&th, &event->pkt, &own.pkt));
		if (node->sim->ports[ports[i]].peer->ops == &sim_switch_ops)
			own.pkt.tag |= 2;
		oracle_go_on(o, node, &own, ports[i]);
	}
}

bool oracle_unknown(struct oracle *o, struct node *node, struct event *event, uint8_t class)
{
	const uint32_t head = oracle_head_bytes(o);
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
	else if (head && !event->whole && pkt->bytes > head)
		oracle_push_whole(o, event);
	else
		flood(o, node, event);
	return true;
}
