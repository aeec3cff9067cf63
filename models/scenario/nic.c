/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "models/link/ns3.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"
#include "util/quantity.h"

/* The adapters of a scenario, and the two figures that windows are made of: the longest round trip
 * of the idle fabric, and what fits into it. */

enum { DSCP_MAX = 63 };

/* ---- base round trip ---- */

/* A walk over the topology, fewest links first. */
struct walk {
	const struct scenario *scenario;
	uint32_t *first, *links; /* links of node i: links[first[i] .. first[i + 1]) */
	uint32_t *queue;
	ps_t *latency; /* of node i, if a switch */
	ps_t *there;   /* of a full packet there and its ACK back; 0: not reached */
};

static ps_t frame_time(uint32_t bytes, uint64_t rate_bps)
{
	return (ps_t)(((u128)bytes * 8 * PS_S + rate_bps - 1) / rate_bps);
}

static ps_t link_time(const struct scenario *s, const struct topology_link *link)
{
	const uint32_t roce = wire_frame_overhead(scenario_wire_shape(s)) +
			      (uint32_t)(WIRE_BTH_BYTES + WIRE_AETH_BYTES + WIRE_ICRC_BYTES);
	const uint32_t ack = s->nic.ns3_headers ? NS3_ACK_BYTES : roce;

	return 2 * link->delay + frame_time(scenario_frame_bytes(s), link->rate_bps) +
	       frame_time(ack, link->rate_bps);
}

static void index_links(struct walk *walk)
{
	const struct topology *t = &walk->scenario->topology;

	for (uint32_t i = 0; i < t->link_count; i++) {
		walk->first[t->links[i].a + 1]++;
		walk->first[t->links[i].b + 1]++;
	}
	for (uint32_t i = 0; i < t->node_count; i++)
		walk->first[i + 1] += walk->first[i];
	for (uint32_t i = 0; i < t->link_count; i++) {
		const uint32_t ends[] = {t->links[i].a, t->links[i].b};

		/* The places of a node are filled from the last one on. */
		for (int end = 0; end < 2; end++)
			walk->links[walk->first[ends[end] + 1] - ++walk->queue[ends[end]]] = i;
	}
}

static void note_latencies(struct walk *walk)
{
	const struct scenario *s = walk->scenario;

	for (uint32_t i = 0; i < s->topology.node_count; i++)
		walk->latency[i] = s->topology.nodes[i].is_switch ? s->switches.latency : 0;
	for (uint32_t g = 0; g < s->group_count; g++)
		for (uint32_t i = 0; i < s->groups[g].node_count; i++)
			walk->latency[s->groups[g].nodes[i]] = s->groups[g].is.latency;
}

/* The host farthest from @from. */
static uint32_t farthest(struct walk *walk, uint32_t from)
{
	const struct scenario *s = walk->scenario;
	const struct topology *t = &s->topology;
	uint32_t head = 0, tail = 0, best = from;

	for (uint32_t i = 0; i < t->node_count; i++)
		walk->there[i] = 0;
	walk->there[from] = 1; /* been there */
	walk->queue[tail++] = from;
	while (head < tail) {
		const uint32_t node = walk->queue[head++];

		if (!t->nodes[node].is_switch && walk->there[node] > walk->there[best])
			best = node;
		for (uint32_t i = walk->first[node]; i < walk->first[node + 1]; i++) {
			const struct topology_link *link = &t->links[walk->links[i]];
			const uint32_t next = link->a == node ? link->b : link->a;

			if (walk->there[next])
				continue;
			walk->there[next] =
				walk->there[node] + link_time(s, link) + 2 * walk->latency[next];
			walk->queue[tail++] = next;
		}
	}
	return best;
}

/* From the host farthest from any to the one farthest from that: the longest way in a tree, and a
 * long one elsewhere. 0: no memory. */
static ps_t base_rtt(struct scenario_reader *r)
{
	const struct topology *t = &r->scenario->topology;
	struct walk walk = {
		.scenario = r->scenario,
		.latency = scenario_alloc(r, t->node_count + 1, sizeof(ps_t)),
		.first = scenario_alloc(r, t->node_count + 1, sizeof(uint32_t)),
		.links = scenario_alloc(r, 2 * (size_t)t->link_count + 1, sizeof(uint32_t)),
		.queue = scenario_alloc(r, t->node_count + 1, sizeof(uint32_t)),
		.there = scenario_alloc(r, t->node_count + 1, sizeof(ps_t)),
	};
	ps_t rtt = 0;

	if (walk.latency && walk.first && walk.links && walk.queue && walk.there &&
	    t->node_count > 0) {
		index_links(&walk);
		note_latencies(&walk);
		rtt = walk.there[farthest(&walk, farthest(&walk, 0))] - 1;
	}
	util_free(walk.latency);
	util_free(walk.first);
	util_free(walk.links);
	util_free(walk.queue);
	util_free(walk.there);
	return rtt;
}

/* The fastest link of a host. */
static uint64_t host_rate(const struct topology *t)
{
	uint64_t rate = 1;

	for (uint32_t i = 0; i < t->link_count; i++) {
		const struct topology_link *link = &t->links[i];

		if ((!t->nodes[link->a].is_switch || !t->nodes[link->b].is_switch) &&
		    link->rate_bps > rate)
			rate = link->rate_bps;
	}
	return rate;
}

/* ---- keys ---- */

/* What fits into the longest round trip, as IRN has it. */
static void read_selective(struct scenario_reader *r, const struct yaml_node *map)
{
	struct scenario_nic *nic = &r->scenario->nic;
	const uint64_t frame_bits = 8 * (uint64_t)scenario_frame_bytes(r->scenario);
	const u128 bits = (u128)nic->base_rtt * host_rate(&r->scenario->topology) / PS_S;
	const uint64_t fits = (uint64_t)(bits / frame_bits) + 1;

	if (nic->rto_high < nic->rto_low)
		scenario_refuse(r, map,
				scenario_node(map, scenario_has(map, KEY_NIC_RTO_HIGH)
							   ? KEY_NIC_RTO_HIGH
							   : KEY_NIC_RTO_LOW),
				KEY_NIC, "rto_low at most rto_high");
	if (!scenario_has(map, KEY_NIC_WINDOW))
		nic->psn_window =
			fits < HCA_SELECTIVE_WINDOW_MAX ? (uint32_t)fits : HCA_SELECTIVE_WINDOW_MAX;
	else if (nic->psn_window > HCA_SELECTIVE_WINDOW_MAX)
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_WINDOW), KEY_NIC,
				"at most 32768 with nic.retransmit: selective");
}

/* What goes by ACKs, a window of a round trip or a control, hears of each packet unless told
 * otherwise: with fewer ACKs a lone flow waits for them. */
static uint32_t ack_every(const struct scenario_nic *nic)
{
	return nic->retransmit == HCA_SELECTIVE || scenario_cc_ops(nic->cc)->takes_acks ? 1 : 64;
}

/* Keys that mean something beside another one only. */
static void refuse_alone(struct scenario_reader *r, const struct yaml_node *map,
			 const enum scenario_key *keys, size_t count, const char *expected)
{
	for (size_t i = 0; i < count; i++)
		if (scenario_has(map, keys[i]))
			scenario_refuse(r, map, scenario_node(map, keys[i]), KEY_NIC, expected);
}

/* What ACKs would have to tell nobody tells; the order of receives would be that of arrivals. */
static void check_uc(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct scenario_nic *nic = &r->scenario->nic;

	if (scenario_cc_ops(nic->cc)->takes_acks)
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_CC), KEY_NIC,
				"none or a form of dcqcn with nic.transport: uc");
	if (nic->qp_per_pair)
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_QP), KEY_NIC,
				"per-flow with nic.transport: uc");
}

static void scenario_nic_read_dscp(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *list = scenario_node(map, KEY_NIC_DSCP);
	uint8_t *dscp = r->scenario->nic.dscp;
	uint32_t count = 0;
	uint64_t value;

	for (uint8_t q = 0; q < r->scenario->priority_count; q++)
		dscp[q] = (uint8_t)(r->scenario->priority_count > SIM_PRIORITIES ? q << 2 : q << 3);
	if (!list || list->kind != YAML_LIST)
		return;
	for (const struct yaml_node *node = list->child; node; node = node->next, count++) {
		if (!node->text || count >= SIM_PRIORITIES ||
		    util_count_parse(node->text, node->length, &value) != UTIL_QUANTITY_OK ||
		    value > DSCP_MAX)
			break;
		dscp[count] = (uint8_t)value;
	}
	if (count != SIM_PRIORITIES || list->child_count != SIM_PRIORITIES)
		scenario_refuse(r, map, list, KEY_NIC, "eight numbers up to 63");
}

void scenario_read_nic(struct scenario_reader *r)
{
	static const enum scenario_key of_ethernet[] = {KEY_NIC_DSCP, KEY_NIC_VLAN};
	static const enum scenario_key rto[] = {KEY_NIC_RTO_LOW, KEY_NIC_RTO_HIGH};
	const struct yaml_node *map = scenario_node(r->root, KEY_NIC);
	struct scenario_nic *nic = &r->scenario->nic;

	scenario_put(map, KEY_NIC, false, nic);
	if (nic->ack_every == UINT32_MAX) /* auto */
		nic->ack_every = ack_every(nic);
	if (nic->retransmit != HCA_SELECTIVE)
		refuse_alone(r, map, rto, 2, "nic.retransmit: selective beside it");
	scenario_nic_read_dscp(r, map);
	if (r->scenario->priority_count > SIM_PRIORITIES)
		refuse_alone(r, map, of_ethernet, 2, "priorities: 8, for it knows no more");
	if (nic->start_rate_bps > 0 &&
	    (nic->cc == SCENARIO_CC_NONE || nic->cc == SCENARIO_CC_SWIFT))
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_START_RATE), KEY_NIC,
				"line with nic.cc: none, which has no rate, or swift, which has a "
				"window");
	if (nic->uc)
		check_uc(r, map);
	if (nic->vlan && nic->ns3_headers)
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_VLAN), KEY_NIC,
				"0 with nic.headers: ns3");
	if (nic->mtu == 1000 && !nic->ns3_headers)
		scenario_refuse(r, map, scenario_node(map, KEY_NIC_MTU), KEY_NIC,
				"a power of two, or nic.headers: ns3 beside it");
	scenario_hash_map(r, &r->hash, map, KEY_NIC);
}

void scenario_read_windows(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(r->root, KEY_NIC);
	struct scenario_nic *nic = &r->scenario->nic;

	if (!r->topology_bad && (nic->retransmit == HCA_SELECTIVE || nic->cc == SCENARIO_CC_SWIFT ||
				 nic->cc == SCENARIO_CC_HPCC))
		nic->base_rtt = base_rtt(r);
	if (nic->retransmit == HCA_SELECTIVE && !r->topology_bad)
		read_selective(r, map);
	scenario_read_cc(r, map, host_rate(&r->scenario->topology));
}
