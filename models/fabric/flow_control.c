/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/fabric/flow_control.h"

#include "sim/switch.h"
#include "util/alloc.h"

#include <errno.h>

/* A buffer of its own, where it is slow; what still comes after XOFF fits behind it. */
static void give_buffer(struct pfc_params *gate, const struct fabric *fabric,
			const struct host_rx_params *rx, const struct sim_port *port)
{
	const struct fabric_headroom headroom = {
		.rate_bps = port->rate_bps,
		.delay = port->delay,
		.response_delay = gate->response_delay,
		.frame_bytes = fabric->params.switches.mtu_bytes,
	};

	gate->dynamic = false;
	gate->classes = NULL;
	gate->reserve_bytes = 0;
	gate->headroom_pool_bytes = 0;
	gate->xoff_bytes = rx->xoff_bytes;
	gate->resume_bytes = rx->xoff_bytes - rx->xon_bytes;
	gate->headroom_bytes = fabric_headroom_bytes(&headroom);
	gate->buffer_bytes =
		rx->buffer_bytes +
		(uint64_t)gate->headroom_bytes * (uint32_t)__builtin_popcount(gate->lossless);
}

struct sim_fc *fabric_host_fc(const struct fabric *fabric, struct host *host,
			      const struct host_rx_params *rx)
{
	const struct pfc_params *pfc = fabric->params.switches.pfc;
	struct pfc_params gate;

	if (!pfc && fabric->params.switches.credit)
		return credit_create(&host->node, fabric->params.switches.credit);
	if (!pfc)
		return sim_fc_none(&host->node, rx ? rx->buffer_bytes : 0);
	gate = *pfc;
	gate.buffer_bytes = 0;
	gate.headrooms = NULL;
	gate.watchdog = NULL;
	if (rx)
		give_buffer(&gate, fabric, rx, host->node.ports);
	return pfc_create(&host->node, &gate);
}

uint32_t fabric_headroom_bytes(const struct fabric_headroom *headroom)
{
	const struct pfc_headroom link = {
		.rate_bps = headroom->rate_bps,
		.delay = headroom->delay,
		.response_delay = headroom->response_delay + headroom->latency,
		.frame_bytes_max = headroom->frame_bytes,
		.lossless_bytes_max = headroom->frame_bytes,
	};

	return pfc_headroom_bytes(&link);
}

/* By port. */
static uint32_t *headrooms_of(const struct fabric_switch_params *params,
			      const struct sim_node *node)
{
	uint32_t *headrooms = util_calloc(node->port_count, sizeof(*headrooms));

	for (uint32_t i = 0; headrooms && i < node->port_count; i++) {
		const struct fabric_headroom headroom = {
			.rate_bps = node->ports[i].rate_bps,
			.delay = node->ports[i].delay,
			.latency = params->latency,
			.response_delay = params->pfc->response_delay,
			.frame_bytes = params->mtu_bytes,
		};

		headrooms[i] = fabric_headroom_bytes(&headroom);
	}
	return headrooms;
}

/* NULL: the port goes by what all have. */
static const struct fabric_at_rate *rate_of(const struct fabric_switch_params *params,
					    const struct sim_port *port)
{
	const struct fabric_at_rate *own = NULL;

	for (uint32_t i = 0; i < params->rate_count; i++)
		if (params->rates[i].rate_bps <= port->rate_bps)
			own = &params->rates[i];
	return own;
}

/* By port. */
static struct pfc_share *shares_of(const struct fabric_switch_params *params,
				   const struct sim_node *node)
{
	struct pfc_share *shares = util_calloc(node->port_count, sizeof(*shares));

	for (uint32_t i = 0; shares && i < node->port_count; i++) {
		const struct fabric_at_rate *rate = rate_of(params, &node->ports[i]);

		shares[i] =
			rate ? rate->share
			     : (struct pfc_share){params->pfc->alpha_num, params->pfc->alpha_den};
	}
	return shares;
}

struct sim_fc *fabric_switch_fc(const struct fabric *fabric, struct sim_node *node)
{
	const struct fabric_switch_params *params = fabric_switch_params(fabric, node);
	struct pfc_params pfc;
	uint32_t *headrooms = NULL;
	struct pfc_share *shares = NULL;
	struct sim_fc *fc = NULL;

	if (!params->pfc && params->credit)
		return credit_create(node, params->credit);
	if (!params->pfc)
		return sim_fc_none(node, params->buffer_bytes);
	pfc = *params->pfc;
	pfc.buffer_bytes = params->buffer_bytes;
	if (!pfc.headroom_bytes && !pfc.headrooms) {
		headrooms = headrooms_of(params, node);
		if (!headrooms)
			return NULL;
		pfc.headrooms = headrooms;
	}
	if (params->rate_count > 0 && pfc.alpha_by_port)
		pfc.shares = shares = shares_of(params, node);
	if (params->rate_count == 0 || !pfc.alpha_by_port || shares)
		fc = pfc_create(node, &pfc);
	util_free(shares);
	util_free(headrooms);
	return fc;
}

int fabric_introduce(const struct fabric *fabric)
{
	const uint32_t count = sim_node_count(fabric->sim);
	struct sim_fc **of;

	if (fabric->params.switches.pfc || !fabric->params.switches.credit)
		return 0;
	of = util_calloc(count, sizeof(struct sim_fc *));
	if (!of)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		of[fabric->hosts[i].node.index] = fabric->hosts[i].fc;
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		of[sim_switch_node(fabric->switches[i])->index] =
			sim_switch_fc(fabric->switches[i]);
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t port = 0; port < of[i]->node->port_count; port++)
			credit_meet(of[i], port, of[of[i]->node->ports[port].peer->index]);
	util_free(of);
	return 0;
}

int fabric_mark(const struct fabric *fabric, struct sim_switch *sw)
{
	const struct sim_node *node = sim_switch_node(sw);
	const struct fabric_switch_params *params = fabric_switch_params(fabric, node);
	int ret = 0;

	for (uint32_t port = 0; params->ecn && port < node->port_count; port++) {
		const struct fabric_at_rate *rate = rate_of(params, &node->ports[port]);
		const struct ecn *ecn = rate ? &rate->ecn : params->ecn;

		for (uint8_t priority = 0; priority < sim_priority_count(fabric->sim) && !ret;
		     priority++)
			ret = sim_switch_mark(sw, port, priority, &ecn->mark);
	}
	return ret;
}

int fabric_extend(const struct fabric *fabric, struct sim_switch *sw)
{
	const struct fabric_switch_params *params =
		fabric_switch_params(fabric, sim_switch_node(sw));

	return params->more ? sim_switch_extend(sw, params->more) : 0;
}
