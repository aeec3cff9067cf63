/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/build.h"

#include "models/link/ns3.h"
#include "sim/port.h"
#include "transport/wire/bth.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static struct pfc_class build_switch_class_of(const struct scenario_class *class)
{
	return (struct pfc_class){
		.alpha_num = class->alpha_num,
		.alpha_den = class->alpha_den,
		.xoff_bytes = class->xoff_bytes,
		.resume_bytes = class->xoff_bytes - class->xon_bytes,
		.reserve_bytes = class->reserve_bytes,
		.queue_num = class->queue_num,
		.queue_den = class->queue_den,
	};
}

static void make_pfc(const struct scenario *s, const struct scenario_switch *sw,
		     struct scenario_built_switch *built)
{
	const uint32_t gap = 2 * scenario_frame_bytes(s);

	for (uint32_t q = 0; q < s->priority_count; q++) {
		built->classes[q] = build_switch_class_of(&sw->classes[q]);
		if (sw->classes[q].alpha_den)
			built->classes[q].resume_bytes = gap;
	}
	built->watchdog = sw->watchdog;
	built->pfc = (struct pfc_params){
		.lossless = sw->lossless,
		.dynamic = sw->xoff_bytes == 0,
		.alpha_num = sw->alpha_num,
		.alpha_den = sw->alpha_den,
		.xoff_bytes = sw->xoff_bytes,
		.resume_bytes = sw->xoff_bytes > 0 ? sw->xoff_bytes - sw->xon_bytes : gap,
		.reserve_bytes = sw->reserve_bytes,
		.classes = sw->has_classes ? built->classes : NULL,
		.headroom_bytes = sw->headroom_auto ? 0 : sw->headroom_bytes,
		.headroom_pool_bytes = sw->headroom_pool_bytes,
		.watchdog = sw->has_watchdog ? &built->watchdog : NULL,
		.quanta = sw->pfc_quanta,
		.response_delay = sw->response_delay,
		.alpha_by_port = sw->xoff_bytes > 0 ? 0 : sw->alpha_by_rate,
	};
}

const struct scenario_at_rate *scenario_rate_of(const struct scenario_switch *sw, uint64_t rate_bps)
{
	const struct scenario_at_rate *own = NULL;

	for (uint32_t i = 0; i < sw->rate_count; i++)
		if (sw->rates[i].rate_bps <= rate_bps)
			own = &sw->rates[i];
	return own;
}

static void make_rates(const struct scenario_switch *sw, struct scenario_built_switch *built)
{
	for (uint32_t i = 0; i < sw->rate_count; i++) {
		const struct scenario_at_rate *rate = &sw->rates[i];
		struct fabric_at_rate *own = &built->rates[i];

		*own = (struct fabric_at_rate){.rate_bps = rate->rate_bps,
					       .share = {rate->alpha_num, rate->alpha_den}};
		if (sw->ecn.enabled)
			own->ecn = ecn_make(rate->kmin_bytes, rate->kmax_bytes, rate->pmax_num,
					    rate->pmax_den);
	}
}

/* Up to the end of the BTH: what has to be seen of a frame, preamble included. */
static uint32_t build_switch_head_bytes(const struct scenario *s)
{
	enum { TAIL = WIRE_ICRC_BYTES + 4 + 12 }; /* ICRC, FCS and gap */

	if (s->nic.ns3_headers)
		return NS3_DATA_BYTES;
	return wire_frame_overhead(scenario_wire_shape(s)) + (uint32_t)WIRE_BTH_BYTES +
	       (uint32_t)WIRE_ICRC_BYTES - TAIL;
}

/* Bytes of a frame besides its IP packet. */
static uint32_t around_ip(const struct scenario *s)
{
	return s->nic.ns3_headers ? NS3_LINK_BYTES
				  : 8 + 14 + (s->nic.vlan ? WIRE_VLAN_BYTES : 0) + 4 + 12;
}

static bool any_is_down(const struct scenario *s)
{
	for (uint32_t i = 0; i < s->fault_count; i++)
		if (s->faults[i].kind == SCENARIO_FAULT_DOWN)
			return true;
	return false;
}

/* Classes of which it floods what is for a host that it has forgotten. */
static uint16_t floods_of(const struct scenario_switch *sw)
{
	switch (sw->unknown) {
	case SCENARIO_UNKNOWN_DROP:
		return 0;
	case SCENARIO_UNKNOWN_FLOOD_LOSSY:
		return sw->fc == SCENARIO_FC_PFC ? (uint16_t)~sw->lossless : UINT16_MAX;
	case SCENARIO_UNKNOWN_FLOOD:
		break;
	}
	return UINT16_MAX;
}

/* Whether a plain switch will not do. */
static bool make_more(const struct scenario *s, const struct scenario_switch *sw,
		      struct sim_switch_params *ret_more)
{
	bool more = sw->cut_through || sw->mapped || sw->mtu_bytes > 0 ||
		    sw->balance != SIM_BALANCE_FLOW || sw->ecn.at_enqueue || any_is_down(s) ||
		    sw->rewrite_count > 0 || s->forget_count > 0 ||
		    scenario_cc_ops(s->nic.cc)->takes_int;

	*ret_more = (struct sim_switch_params){
		.head_bytes = sw->cut_through ? build_switch_head_bytes(s) : 0,
		.stamps = scenario_cc_ops(s->nic.cc)->takes_int,
		.frame_bytes_max = scenario_frame_bytes(s),
		.balance = sw->balance,
		.flowlet_gap = sw->flowlet_gap,
		.conweave = sw->conweave,
		.marks_arrivals = sw->ecn.at_enqueue,
		.mapped = sw->mapped,
		.forgets = s->forget_count > 0,
		.floods = floods_of(sw),
		/* Preamble, Ethernet, FCS and gap around the IP packet. */
		.frame_limit = sw->mtu_bytes > 0 ? sw->mtu_bytes + around_ip(s) : 0,
	};
	memcpy(ret_more->map, sw->map, sizeof(ret_more->map));
	for (uint32_t q = 0; q < s->priority_count; q++) {
		ret_more->weights[q] = sw->weights[q];
		more = more || sw->weights[q] > 0;
	}
	return more;
}

static void make_switch(const struct scenario *s, const struct scenario_switch *sw,
			struct scenario_built_switch *built)
{
	make_pfc(s, sw, built);
	built->credit = (struct credit_params){.buffers = sw->credit_bytes,
					       .update_bytes = sw->credit_update_bytes,
					       .frame_bytes_max = scenario_frame_bytes(s),
					       .response_delay = sw->response_delay};
	if (sw->ecn.enabled)
		built->ecn = ecn_make(sw->ecn.kmin_bytes, sw->ecn.kmax_bytes, sw->ecn.pmax_num,
				      sw->ecn.pmax_den);
	make_rates(sw, built);
	built->params = (struct fabric_switch_params){
		.buffer_bytes = sw->buffer_bytes,
		.pfc = sw->fc == SCENARIO_FC_PFC || sw->has_classes ? &built->pfc : NULL,
		.credit = sw->fc == SCENARIO_FC_CREDIT ? &built->credit : NULL,
		.mtu_bytes = scenario_frame_bytes(s),
		.ecn = sw->ecn.enabled ? &built->ecn : NULL,
		.rates = built->rates,
		.rate_count = sw->rate_count,
		.latency = sw->latency,
		.more = make_more(s, sw, &built->more) ? &built->more : NULL,
	};
}

int scenario_build_switches(const struct scenario *s, struct scenario_built *ret_built)
{
	struct scenario_built *b = ret_built;

	b->switches = util_calloc(1 + (size_t)s->group_count, sizeof(*b->switches));
	b->switch_of = util_calloc(s->topology.node_count + 1, sizeof(*b->switch_of));
	if (!b->switches || !b->switch_of)
		return -ENOMEM;
	make_switch(s, &s->switches, &b->switches[0]);
	for (uint32_t g = 0; g < s->group_count; g++) {
		make_switch(s, &s->groups[g].is, &b->switches[1 + g]);
		for (uint32_t i = 0; i < s->groups[g].node_count; i++)
			b->switch_of[s->groups[g].nodes[i]] = &b->switches[1 + g].params;
	}
	return 0;
}

/* ---- DSCPs that are rewritten ---- */

static const struct scenario_switch *build_switch_at(const struct scenario *s, uint32_t node)
{
	for (uint32_t g = 0; g < s->group_count; g++)
		for (uint32_t i = 0; i < s->groups[g].node_count; i++)
			if (s->groups[g].nodes[i] == node)
				return &s->groups[g].is;
	return &s->switches;
}

static bool is_way_of(const struct scenario *s, const uint8_t *links, uint32_t link, uint32_t node)
{
	const uint8_t end = s->topology.links[link].a == node ? SCENARIO_FROM_A : SCENARIO_FROM_B;

	return !links || links[link] & end;
}

/* By the way from @in to @out, links of @node. */
static void rewrite_of(const struct scenario *s, uint32_t node, uint32_t in, uint32_t out,
		       uint8_t ret_map[SIM_PRIORITIES])
{
	const struct scenario_switch *sw = build_switch_at(s, node);
	uint8_t left = 0xff;

	for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
		ret_map[q] = q;
	for (uint32_t i = 0; i < sw->rewrite_count; i++) {
		const struct scenario_rewrite *rule = &sw->rewrites[i];

		if (!is_way_of(s, rule->in, in, node) || !is_way_of(s, rule->out, out, node))
			continue;
		for (uint8_t q = 0; q < SIM_PRIORITIES; q++)
			if (left & rule->from & 1u << q)
				ret_map[q] = rule->to;
		left &= (uint8_t)~rule->from;
	}
}

/* @links: room for those of the switch. */
static int set_rewrites_of(const struct scenario *s, const struct fabric *fabric, uint32_t node,
			   uint32_t *links)
{
	const struct topology *topology = &s->topology;
	const char *name = topology->nodes[node].name;
	struct sim_switch *sw = fabric_switch(fabric, name);
	uint32_t count = 0;
	int ret = 0;

	for (uint32_t i = 0; i < topology->link_count; i++)
		if (topology->links[i].a == node || topology->links[i].b == node)
			links[count++] = i;
	for (uint32_t i = 0; i < count && !ret; i++) {
		const char *in = topology->links[links[i]].name;
		const uint32_t from = sim_port_find(fabric->sim, in, name)->index;

		for (uint32_t o = 0; o < count && !ret; o++) {
			const char *out = topology->links[links[o]].name;
			uint8_t map[SIM_PRIORITIES];

			rewrite_of(s, node, links[i], links[o], map);
			ret = sim_switch_rewrite(sw, from,
						 sim_port_find(fabric->sim, out, name)->index, map);
		}
	}
	return ret;
}

int scenario_set_rewrites(const struct scenario *s, const struct fabric *fabric)
{
	uint32_t *links = util_calloc((size_t)s->topology.link_count + 1, sizeof(*links));
	int ret = links ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < s->topology.node_count && !ret; i++)
		if (s->topology.nodes[i].is_switch && build_switch_at(s, i)->rewrite_count > 0)
			ret = set_rewrites_of(s, fabric, i, links);
	util_free(links);
	return ret;
}
