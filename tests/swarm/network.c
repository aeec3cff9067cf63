/* SPDX-License-Identifier: BSD-2-Clause */

/* The fabric of a plan: topology, flow control, marking, adapters, faults. */
#include "tests/swarm/plan.h"
#include "transport/wire/frame.h"
#include "util/check.h"

#include <stdio.h>
#include <string.h>

enum { FRAME_MAX = 4300, CREDIT_FRAME_MAX = 9100 };

static uint64_t draw_rate(struct draw *draw)
{
	static const uint64_t mbps[] = {10000,	25000,	40000,	100000,
					100000, 106250, 200000, 400000};

	return mbps[draw_below(draw, 8)] * 1000000;
}

static ps_t draw_delay(struct draw *draw)
{
	switch (draw_below(draw, 8)) {
	case 0:
		return draw_range(draw, 20, 200) * PS_NS;
	case 1:
		return draw_range(draw, 3000, 10000) * PS_NS;
	default:
		return draw_range(draw, 200, 2000) * PS_NS + draw_below(draw, 1000);
	}
}

static uint32_t add_node(struct plan *plan, const char *letter, uint32_t i, bool is_switch)
{
	char name[16];

	snprintf(name, sizeof(name), "%s%u", letter, i);
	CHECK(topology_add_node(&plan->topology, name, is_switch) == 0);
	return plan->topology.node_count - 1;
}

static void add_link(struct plan *plan, uint32_t a, uint32_t b)
{
	CHECK(topology_add_link(&plan->topology, &(struct topology_link){.a = a, .b = b}) == 0);
}

/* A tree of switches, and where frames may be dropped (nothing can wait in a circle) more links. */
static void random_graph(struct plan *plan, struct draw *draw, uint32_t hosts)
{
	const uint32_t switches = (uint32_t)draw_range(draw, 1, 5);

	for (uint32_t i = 0; i < switches; i++) {
		add_node(plan, "s", i, true);
		if (i > 0)
			add_link(plan, i, (uint32_t)draw_below(draw, i));
	}
	for (uint32_t i = 0; plan->fc == PLAN_FC_NONE && switches > 1 && i < switches; i++) {
		const uint32_t a = (uint32_t)draw_below(draw, switches);

		add_link(plan, a, (a + 1 + (uint32_t)draw_below(draw, switches - 1)) % switches);
	}
	for (uint32_t i = 0; i < hosts; i++)
		add_link(plan, add_node(plan, "h", i, false), (uint32_t)draw_below(draw, switches));
}

static void topology(struct plan *plan, struct draw *draw)
{
	const struct topology_speed speed = {1, 1, 1};
	struct topology *t = &plan->topology;
	uint64_t rate, delay;

	switch (draw_below(draw, 5)) {
	case 0:
		CHECK(topology_star(t, (uint32_t)draw_range(draw, 2, 12), speed) == 0);
		break;
	case 1:
		CHECK(topology_leaf_spine(t, (uint32_t)draw_range(draw, 2, 3),
					  (uint32_t)draw_range(draw, 1, 3),
					  (uint32_t)draw_range(draw, 1, 4), speed) == 0);
		break;
	case 2:
		CHECK(topology_fat_tree(t, draw_one_in(draw, 2) ? 2 : 4, speed) == 0);
		break;
	default:
		random_graph(plan, draw, (uint32_t)draw_range(draw, 2, 12));
	}
	rate = draw_rate(draw);
	delay = draw_delay(draw);
	const bool alike = draw_one_in(draw, 2);

	for (uint32_t i = 0; i < t->link_count; i++) {
		t->links[i].rate_bps = alike ? rate : draw_rate(draw);
		t->links[i].delay = alike ? delay : draw_delay(draw);
	}
	CHECK(topology_name_links(t) == 0);
	for (uint32_t i = 0; i < t->node_count && plan->host_count < PLAN_HOSTS_MAX; i++)
		if (!t->nodes[i].is_switch)
			plan->hosts[plan->host_count++] = t->nodes[i].name;
}

static uint32_t ports_max(const struct topology *t)
{
	uint32_t max = 0;

	for (uint32_t n = 0; n < t->node_count; n++) {
		uint32_t ports = 0;

		for (uint32_t i = 0; i < t->link_count; i++)
			ports += (t->links[i].a == n) + (t->links[i].b == n);
		max = ports > max ? ports : max;
	}
	return max;
}

/* One headroom for all: that of the link which needs most. */
static void pfc(struct plan *plan, struct draw *draw)
{
	struct pfc_params *p = &plan->pfc;

	*p = (struct pfc_params){
		.lossless = (uint8_t)(1u << draw_below(draw, 8) | 1u << draw_below(draw, 8)),
		.dynamic = draw_one_in(draw, 2),
		.alpha_num = 1,
		.alpha_den = 1u << draw_below(draw, 5),
		.xoff_bytes = (uint32_t)draw_range(draw, 4300, 20000),
		.resume_bytes = (uint32_t)draw_range(draw, 0, 8600),
		.reserve_bytes = (uint32_t)draw_below(draw, 2) * 5000,
		.quanta = draw_one_in(draw, 2),
		.response_delay = draw_below(draw, 2) * 300 * PS_NS,
	};
	if (p->quanta && draw_one_in(draw, 2))
		p->pause_quanta = (uint16_t)draw_range(draw, 200, 3000);
	for (uint32_t i = 0; i < plan->topology.link_count; i++) {
		const struct pfc_headroom link = {.rate_bps = plan->topology.links[i].rate_bps,
						  .delay = plan->topology.links[i].delay,
						  .response_delay = p->response_delay,
						  .frame_bytes_max = FRAME_MAX,
						  .lossless_bytes_max = FRAME_MAX};
		const uint32_t bytes = pfc_headroom_bytes(&link);

		p->headroom_bytes = bytes > p->headroom_bytes ? bytes : p->headroom_bytes;
	}
	plan->buffer_bytes = draw_range(draw, 20000, 100000) +
			     (uint64_t)ports_max(&plan->topology) * 2 *
				     ((uint64_t)p->reserve_bytes + p->headroom_bytes);
	p->buffer_bytes = plan->buffer_bytes;
}

/* Cut-through, turns of priorities. */
static void more(struct plan *plan, struct draw *draw)
{
	plan->has_more = draw_one_in(draw, 2);
	plan->more = (struct sim_switch_params){
		.head_bytes = draw_one_in(draw, 2) ? 62 : 0,
		.frame_bytes_max = FRAME_MAX,
	};
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
		plan->more.weights[q] =
			(uint8_t)(draw_one_in(draw, 2) ? draw_range(draw, 1, 50) : 0);
}

static void switches(struct plan *plan, struct draw *draw)
{
	const uint32_t kmin = (uint32_t)draw_range(draw, 0, 20000);

	plan->buffer_bytes = draw_one_in(draw, 2) ? 8u << 20 : draw_range(draw, 5000, 40000);
	if (plan->fc == PLAN_FC_PFC)
		pfc(plan, draw);
	if (plan->fc == PLAN_FC_CREDIT) {
		plan->buffer_bytes = draw_range(draw, CREDIT_FRAME_MAX, 30000);
		plan->credit = (struct credit_params){.buffer_bytes = plan->buffer_bytes,
						      .frame_bytes_max = CREDIT_FRAME_MAX};
	}
	plan->has_ecn = !draw_one_in(draw, 4);
	const uint32_t pmax = (uint32_t)draw_range(draw, 1, 10);

	more(plan, draw);
	plan->ecn = ecn_make(kmin, kmin + (uint32_t)draw_below(draw, 40000), pmax, 10);
}

static void adapters(struct plan *plan, struct draw *draw)
{
	static const uint32_t ack_every[] = {0, 1, 2, 5, 16, 64};
	struct hca_profile *p = &plan->host.profile;
	const uint64_t line = draw_rate(draw);
	uint64_t control;

	*p = (struct hca_profile){
		.line_rate_bps = line,
		.mtu_max = 4096,
		.psn_window = (uint32_t)(draw_one_in(draw, 3) ? draw_range(draw, 1, 8)
							      : draw_range(draw, 8, 4000)),
		.ack_every = ack_every[draw_below(draw, 6)],
		.ack_on_data_priority = draw_one_in(draw, 2),
		.ack_priority = (uint8_t)draw_below(draw, 8),
		.cnp_priority = (uint8_t)draw_below(draw, 8),
		.cnp_enabled = !draw_one_in(draw, 8),
		.cnp_interval = draw_one_in(draw, 2) ? 50 * PS_US : 4 * PS_US,
		.wire_overhead = wire_frame_overhead(plan->ipv6 ? WIRE_SHAPE_IPV6 : 0),
		.qp_max = 64,
		.cq_max = 8,
		.mr_max = 256,
		.pd_max = 8,
		.wr_max = 1024,
		.sge_max = 8,
		.cqe_max = 65536,
		.inline_max = 256,
		.rd_atomic_max = 16,
	};
	/* Where buffers overflow, a long message that begins anew may never end: with PFC the
	 * priorities that are not lossless get enough. */
	if (plan->fc != PLAN_FC_NONE && draw_one_in(draw, 3)) {
		p->retransmit = HCA_GO_BACK_0;
		plan->buffer_bytes += plan->fc == PLAN_FC_PFC ? 8u << 20 : 0;
		plan->pfc.buffer_bytes = plan->buffer_bytes;
	} else if (draw_one_in(draw, 3)) {
		p->retransmit = HCA_SELECTIVE;
	}
	p->rto_low = (ps_t)draw_range(draw, 30, 60) * PS_MS;
	p->rto_high = p->rto_low + (ps_t)draw_below(draw, 30) * PS_MS;
	p->cc_params = cc_dcqcn_params(line);
	p->cc_params.rate_min_bps = line / 100;
	p->cc_params.mtu_bytes = 1024;
	p->cc_params.nv = cc_nv_defaults();
	p->cc_params.timely = cc_timely_defaults(false);
	p->cc_params.swift = cc_swift_defaults((ps_t)draw_range(draw, 1, 50) * PS_US);
	p->cc_params.dctcp = cc_dctcp_defaults(line);
	/* Where packets lie farther apart than the timeout, a READ that begins anew never ends. */
	control = draw_below(draw, 8);
	if (p->retransmit == HCA_GO_BACK_0 && control > 2)
		control = 0;
	switch (control) {
	case 0:
		p->cc = &cc_none;
		break;
	case 1:
	case 2:
		p->cc = &cc_dcqcn;
		p->cc_params = cc_dcqcn_params(line);
		break;
	case 3:
		p->cc = &cc_dcqcn_nv;
		break;
	case 4:
		p->cc = &cc_swift;
		break;
	case 5:
		p->cc = &cc_timely;
		break;
	case 6:
		p->cc = &cc_dctcp;
		break;
	default:
		p->cc = &cc_dcqcn_hpcc;
		p->cc_params = cc_dcqcn_hpcc_params(line);
	}
	plan->host.cost = host_cost_none();
	plan->host.loop_delay = draw_range(draw, 1, 200) * PS_NS;
}

static void one_fault(struct plan_fault *fault, struct draw *draw, uint32_t kinds)
{
	struct sim_fault_params *p = &fault->params;
	uint64_t number = 0;

	if (kinds >> FAULT_LOSS & 1)
		p->loss_ppb = (uint32_t)draw_range(draw, 1, 60) * 1000000;
	if (kinds >> FAULT_CORRUPT & 1)
		p->corrupt_ppb = (uint32_t)draw_range(draw, 1, 60) * 1000000;
	if (kinds >> FAULT_DUPLICATE & 1) {
		p->duplicate_ppb = (uint32_t)draw_range(draw, 1, 200) * 1000000;
		p->duplicate_delay = draw_range(draw, 1, 20000000);
	}
	if (kinds >> FAULT_REORDER & 1) {
		p->reorder_ppb = (uint32_t)draw_range(draw, 1, 100) * 1000000;
		p->reorder_delay = draw_range(draw, 1, 20000000);
	}
	if (kinds >> FAULT_DELAY & 1) {
		p->delay = draw_below(draw, 5000000);
		p->jitter = draw_below(draw, 2) * draw_below(draw, 5000000);
	}
	if (kinds >> FAULT_DROP & 1) {
		p->lost_count = (uint32_t)draw_range(draw, 1, PLAN_LOST_MAX);
		for (uint32_t i = 0; i < p->lost_count; i++)
			fault->lost[i] = number += draw_range(draw, 1, 12);
	}
	p->from = draw_one_in(draw, 3) ? draw_below(draw, 100) * PS_US : 0;
	p->until = p->from + draw_range(draw, 20, 1500) * PS_US;
}

/* With credits a lost frame takes its room along for ever, so there frames are only late. */
static void faults(struct plan *plan, struct draw *draw)
{
	const uint32_t links = plan->topology.link_count;
	uint32_t kinds = 1u << draw_below(draw, FAULT_KINDS);
	bool used[256] = {false};

	if (draw_one_in(draw, 4))
		return;
	if (draw_one_in(draw, 2))
		kinds |= 1u << draw_below(draw, FAULT_KINDS) | 1u << draw_below(draw, FAULT_KINDS);
	if (plan->fc == PLAN_FC_CREDIT)
		kinds = 1u << FAULT_DELAY | (kinds & 1u << FAULT_REORDER);
	for (uint64_t n = draw_range(draw, 1, PLAN_FAULTS_MAX); n > 0; n--) {
		const uint32_t end = (uint32_t)draw_below(draw, 2 * links);
		struct plan_fault *fault = &plan->faults[plan->fault_count];

		if (end >= sizeof(used) || used[end])
			continue;
		used[end] = true;
		plan->fault_count++;
		*fault = (struct plan_fault){.link = end / 2, .backwards = end & 1};
		one_fault(fault, draw, kinds);
		/* A pause that runs out may be lost, a resume for which one waits may not. */
		fault->params.control =
			plan->fc == PLAN_FC_PFC && plan->pfc.quanta && draw_one_in(draw, 2);
	}
}

/* Flows that leave slow ways, where nothing is cut through and nobody counts credits. (Ways that
 * change without order would reorder for ever: that is go-back-N.) */
static void balance(struct plan *plan, struct draw *draw)
{
	if (plan->fc == PLAN_FC_CREDIT || draw_one_in(draw, 2))
		return;
	plan->has_more = true;
	plan->more.head_bytes = 0;
	plan->more.balance = SIM_BALANCE_WEAVE;
	plan->more.conweave =
		(struct sim_conweave_params){.reply = draw_range(draw, 0, 3000) * PS_NS,
					     .busy = draw_range(draw, 0, 20) * PS_US,
					     .resume = draw_range(draw, 1, 200) * PS_US,
					     .expiry = draw_range(draw, 1, 300) * PS_US};
}

/* Links that go down and come back; those between switches are of interest. With PFC switches far
 * away never learn of it: by ways that go down and up again frames might wait in a circle. */
static void downs(struct plan *plan, struct draw *draw)
{
	const struct topology *t = &plan->topology;

	plan->reconverge = PS_NEVER;
	if (plan->fc == PLAN_FC_CREDIT || !draw_one_in(draw, 3))
		return;
	plan->has_more = true;
	if (plan->fc == PLAN_FC_NONE && !draw_one_in(draw, 3))
		plan->reconverge = draw_range(draw, 0, 30) * PS_US;
	for (uint64_t n = draw_range(draw, 1, 3 * PLAN_DOWNS_MAX); n > 0; n--) {
		const struct topology_link *link = &t->links[draw_below(draw, t->link_count)];
		const bool between = t->nodes[link->a].is_switch && t->nodes[link->b].is_switch;
		const ps_t from = draw_below(draw, 100) * PS_US;

		if (plan->down_count == PLAN_DOWNS_MAX || (!between && !draw_one_in(draw, 4)))
			continue;
		plan->downs[plan->down_count++] = (struct scenario_fault){
			.link = link->name,
			.direction = draw_one_in(draw, 3) ? t->nodes[link->a].name : NULL,
			.kind = SCENARIO_FAULT_DOWN,
			.num = 1,
			.den = 1,
			.delay = draw_below(draw, 10) * PS_US,
			.control = true,
			.from_at = from,
			.until_at = from + draw_range(draw, 1, 300) * PS_US,
		};
	}
}

/* Sixteen priorities where nobody pauses and nothing is rerouted: what was in one of eight is there
 * or eight above. */
void plan_widen(struct plan *plan, struct draw *draw)
{
	plan->priority_count = SIM_PRIORITIES;
	if (plan->fc == PLAN_FC_PFC || plan->more.balance == SIM_BALANCE_WEAVE ||
	    draw_one_in(draw, 2))
		return;
	plan->priority_count = SIM_PRIORITIES_MAX;
	plan->host.profile.ack_priority += (uint8_t)(8 * draw_below(draw, 2));
	plan->host.profile.cnp_priority += (uint8_t)(8 * draw_below(draw, 2));
	for (uint32_t i = 0; i < plan->side_count; i += 2) {
		plan->sides[i].priority += (uint8_t)(8 * draw_below(draw, 2));
		plan->sides[i + 1].priority = plan->sides[i].priority;
	}
	for (uint32_t q = SIM_PRIORITIES; q < SIM_PRIORITIES_MAX; q++)
		plan->more.weights[q] =
			(uint8_t)(draw_one_in(draw, 2) ? draw_range(draw, 1, 50) : 0);
}

/* Switches that rewrite DSCPs, where nobody reroutes, counts credits or has sixteen priorities. */
void plan_rewrites(struct plan *plan, struct draw *draw)
{
	const struct topology *t = &plan->topology;

	if (plan->fc == PLAN_FC_CREDIT || plan->more.balance == SIM_BALANCE_WEAVE ||
	    plan->priority_count > SIM_PRIORITIES || !draw_one_in(draw, 3))
		return;
	plan->has_more = true;
	for (uint64_t n = draw_range(draw, 1, PLAN_REWRITES_MAX); n > 0; n--) {
		const struct topology_link *link = &t->links[draw_below(draw, t->link_count)];
		const struct topology_node *a = &t->nodes[link->a], *b = &t->nodes[link->b];

		plan->rewrites[plan->rewrite_count++] = (struct net_rewrite){
			.at = a->is_switch && (!b->is_switch || draw_one_in(draw, 2)) ? a->name
										      : b->name,
			.in = draw_one_in(draw, 2) ? link->name : NULL,
			.out = draw_one_in(draw, 4) ? link->name : NULL,
			.from = (uint8_t)draw_range(draw, 1, 255),
			.to = (uint8_t)draw_below(draw, SIM_PRIORITIES),
		};
	}
}

/* Hosts that their switches forget for a while, where nobody counts credits or keeps an order of
 * his own. With PFC only in trees: by copies that go up again frames may wait in a circle. */
void plan_forgets(struct plan *plan, struct draw *draw)
{
	const struct topology *t = &plan->topology;

	if (plan->fc == PLAN_FC_CREDIT || plan->more.balance == SIM_BALANCE_WEAVE ||
	    (plan->fc == PLAN_FC_PFC && t->link_count >= t->node_count) || !draw_one_in(draw, 2))
		return;
	plan->has_more = plan->more.forgets = true;
	plan->more.floods = draw_one_in(draw, 3) ? (uint16_t)draw_below(draw, 65536) : 0xffff;
	for (uint64_t n = draw_range(draw, 1, PLAN_FORGETS_MAX); n > 0; n--) {
		const struct topology_link *link = &t->links[draw_below(draw, t->link_count)];
		const struct topology_node *a = &t->nodes[link->a], *b = &t->nodes[link->b];
		const ps_t from = draw_below(draw, 60) * PS_US;

		if (a->is_switch == b->is_switch)
			continue;
		plan->forgets[plan->forget_count++] = (struct net_forget){
			.at = a->is_switch ? a->name : b->name,
			.host = a->is_switch ? b->name : a->name,
			.from = from,
			.until = from + draw_range(draw, 1, 300) * PS_US,
		};
	}
}

void plan_network(struct plan *plan, struct draw *draw)
{
	plan->fc = (enum plan_fc)draw_below(draw, 3);
	plan->ipv6 = draw_one_in(draw, 3);
	topology(plan, draw);
	switches(plan, draw);
	adapters(plan, draw);
	faults(plan, draw);
	balance(plan, draw);
	downs(plan, draw);
	plan->has_bus = draw_one_in(draw, 3);
	plan->bus_tx_bytes = (uint32_t)draw_range(draw, 4200, 32000);
}
