/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/fabric/fabric.h"

#include "models/fabric/flow_control.h"
#include "tests/oracle/oracle.h"
#include "util/check.h"

struct fabric_net {
	struct net net; /* first */
	struct fabric *fabric;
};

static const struct fabric_net *fabric_net_of(const struct net *net)
{
	return (const struct fabric_net *)(const void *)net;
}

/* The latency of a switch was added to the delay of what leads there; its headroom is without. */
static uint32_t headroom_of(const struct net *net, const struct sim_node *node, uint32_t port)
{
	const struct fabric_switch_params *params = &fabric_net_of(net)->fabric->params.switches;
	const struct sim_port *p = &node->ports[port];
	const struct fabric_headroom headroom = {
		.rate_bps = p->rate_bps,
		.delay = p->delay - (p->peer->ops == &sim_switch_ops ? params->latency : 0),
		.latency = params->latency,
		.response_delay = params->pfc->response_delay,
		.frame_bytes = params->mtu_bytes,
	};

	return fabric_headroom_bytes(&headroom);
}

static void between(const struct net *net)
{
	struct rendezvous *rendezvous = fabric_net_of(net)->fabric->table.rendezvous;

	CHECK(!rendezvous || rendezvous_between(rendezvous) == 0);
}

uint64_t oracle_fabric(struct fabric *fabric, const struct net_routing *routing, ps_t until)
{
	const struct fabric_switch_params *switches = &fabric->params.switches;
	struct fabric_net all = {
		.net = {.params = {.seed = fabric->params.seed,
				   .scenario_hash = fabric->params.scenario_hash,
				   .buffer_bytes = switches->buffer_bytes,
				   .between = between,
				   .rewrites = routing->rewrites,
				   .rewrite_count = routing->rewrite_count,
				   .until = until},
			.body = &packet_body_ops,
			.sim = fabric->sim,
			.routes = fabric->routes,
			.routing = *routing},
		.fabric = fabric,
	};
	struct net_params *params = &all.net.params;

	if (switches->pfc) {
		params->fc = NET_PFC;
		params->pfc = *switches->pfc;
		params->pfc.buffer_bytes = switches->buffer_bytes;
		if (!switches->pfc->headroom_bytes)
			params->headroom_of = headroom_of;
	} else if (switches->credit) {
		params->fc = NET_CREDIT;
		params->buffer_bytes = switches->credit->buffer_bytes;
		params->buffers = switches->credit->buffers;
		params->frame_bytes_max = switches->credit->frame_bytes_max;
	}
	if (switches->more) {
		params->extended = true;
		params->more = *switches->more;
	}
	if (switches->ecn) {
		all.net.ecn = *switches->ecn;
		params->marked = 0xffff;
	}
	return oracle_run(&all.net);
}
