/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario_internal.h"

#include "util/alloc.h"
#include "util/quantity.h"
#include "util/text.h"

/* ---- nic ---- */

static void read_nic(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(r->root, "nic");
	struct scenario_nic *nic = &r->scenario->nic;
	const struct scenario_value every = scenario_get(map, "nic.ack_every");
	const struct scenario_value ack = scenario_get(map, "nic.ack_priority");
	const struct scenario_value interval = scenario_get(map, "nic.cnp_interval");

	*nic = (struct scenario_nic){
		.mtu = 256u << scenario_get(map, "nic.mtu").word,
		.cc = (enum scenario_cc)scenario_get(map, "nic.cc").word,
		.ack_every = every.word < 0 ? (uint32_t)every.number : 0,
		.psn_window = (uint32_t)scenario_get(map, "nic.window").number,
		.retransmit = (enum hca_retransmit)scenario_get(map, "nic.retransmit").word,
		.timeout = (uint8_t)scenario_get(map, "nic.timeout").number,
		.retry_cnt = (uint8_t)scenario_get(map, "nic.retries").number,
		.ack_priority = ack.word < 0 ? (int)ack.number : -1,
		.cnp_priority = (uint8_t)scenario_get(map, "nic.cnp_priority").number,
		.loop_delay = scenario_get(map, "nic.loop_delay").number,
		.ipv6 = scenario_get(map, "nic.ip").word == 1,
	};
	nic->cnp_interval = interval.word < 0			  ? interval.number
			    : nic->cc == SCENARIO_CC_DCQCN_HPCC ? 4 * PS_US
								  : 50 * PS_US;
	util_text(nic->profile, sizeof(nic->profile), "%s",
		  scenario_get(map, "nic.profile").word == 0 ? "generic" : "none");
}

/* ---- switch ---- */

static void read_ecn(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *node = scenario_node(map, "ecn");
	const struct scenario_value pmax = scenario_get(node, "switch.ecn.pmax");
	struct scenario_ecn *ecn = &r->scenario->switches.ecn;
	struct bad_text found, expected;
	char kmin[32], kmax[32];

	if (!node)
		return;
	*ecn = (struct scenario_ecn){
		.enabled = true,
		.kmin_bytes = (uint32_t)scenario_get(node, "switch.ecn.kmin").number,
		.kmax_bytes = (uint32_t)scenario_get(node, "switch.ecn.kmax").number,
		.pmax_num = pmax.num,
		.pmax_den = pmax.den,
	};
	if (ecn->kmin_bytes <= ecn->kmax_bytes)
		return;
	util_quantity_format(kmin, ecn->kmin_bytes, UTIL_UNIT_BYTES);
	util_quantity_format(kmax, ecn->kmax_bytes, UTIL_UNIT_BYTES);
	bad(r->errors, &node->at, "switch.ecn.kmin", bad_text(&found, "%s", kmin),
	    bad_text(&expected, "at most kmax, which is %s", kmax));
}

/* Fixed thresholds, or a share of what is free. */
static void read_thresholds(struct scenario_reader *r, const struct yaml_node *map)
{
	struct scenario_switch *sw = &r->scenario->switches;
	const struct scenario_value alpha = scenario_get(map, "switch.alpha");
	const struct yaml_node *xoff = scenario_node(map, "xoff"), *xon = scenario_node(map, "xon");
	const uint32_t gap = 2 * scenario_frame_bytes(r->scenario);

	sw->alpha_num = alpha.num;
	sw->alpha_den = alpha.den;
	if (!xoff) {
		if (xon)
			scenario_refuse(r, map, xon, "switch", "switch.xoff beside it");
		return;
	}
	if (scenario_has(map, "alpha"))
		scenario_refuse(r, map, xoff, "switch", "it without switch.alpha, or that without it");
	sw->xoff_bytes = (uint32_t)scenario_get(map, "switch.xoff").number;
	sw->xon_bytes = sw->xoff_bytes > gap ? sw->xoff_bytes - gap : 0;
	if (xon)
		sw->xon_bytes = (uint32_t)scenario_get(map, "switch.xon").number;
	if (sw->xon_bytes > sw->xoff_bytes)
		scenario_refuse(r, map, xon, "switch", "at most switch.xoff");
}

/* Each switch has more buffer than it keeps free. */
static void check_headroom(struct scenario_reader *r, const struct yaml_node *pfc)
{
	const struct topology *topology = &r->scenario->topology;
	const struct scenario_switch *sw = &r->scenario->switches;
	uint64_t *taken = scenario_alloc(r, topology->node_count + 1, sizeof(*taken));
	const uint32_t priorities = (uint32_t)__builtin_popcount(sw->lossless);
	struct bad_text found, expected;

	if (!taken)
		return;
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const uint64_t bytes = (uint64_t)priorities *
				       scenario_headroom_bytes(r->scenario, link);

		taken[link->a] += bytes;
		taken[link->b] += bytes;
	}
	for (uint32_t i = 0; i < topology->node_count; i++) {
		if (!topology->nodes[i].is_switch || taken[i] < sw->buffer_bytes)
			continue;
		bad(r->errors, &pfc->at, "switch.buffer",
		    bad_text(&found, "%lluB, of which headroom takes %lluB at %s",
			     (unsigned long long)sw->buffer_bytes, (unsigned long long)taken[i],
			     topology->nodes[i].name),
		    bad_text(&expected, "more than %lluB", (unsigned long long)taken[i]));
		break;
	}
	util_free(taken);
}

static void read_pfc(struct scenario_reader *r, const struct yaml_node *map)
{
	const struct yaml_node *pfc = scenario_node(map, "pfc");
	const struct scenario_value headroom = scenario_get(pfc, "switch.pfc.headroom");
	struct scenario_switch *sw = &r->scenario->switches;

	sw->fc = SCENARIO_FC_PFC;
	sw->lossless = (uint8_t)scenario_get(pfc, "switch.pfc.priorities").number;
	sw->headroom_auto = headroom.word == 0;
	sw->headroom_bytes = headroom.word < 0 ? (uint32_t)headroom.number : 0;
	sw->pfc_quanta = scenario_get(pfc, "switch.pfc.mode").word == 1;
	sw->response_delay = scenario_get(pfc, "switch.pfc.response_delay").number;
	read_thresholds(r, map);
	check_headroom(r, pfc);
}

static void read_credit(struct scenario_reader *r, const struct yaml_node *credit)
{
	struct scenario_switch *sw = &r->scenario->switches;
	struct bad_text found, expected;

	sw->fc = SCENARIO_FC_CREDIT;
	sw->credit_bytes = (uint32_t)scenario_get(credit, "switch.credit.buffer").number;
	sw->response_delay = scenario_get(credit, "switch.credit.response_delay").number;
	if (sw->credit_bytes < scenario_frame_bytes(r->scenario))
		bad(r->errors, &credit->at, "switch.credit.buffer",
		    bad_text(&found, "%uB", sw->credit_bytes),
		    bad_text(&expected, "at least a frame, which has %uB",
			     scenario_frame_bytes(r->scenario)));
	for (uint32_t i = 0; i < r->scenario->topology.link_count; i++) {
		const struct topology_link *link = &r->scenario->topology.links[i];

		if (link->error_ppt == 0 && link->loss_ppb == 0)
			continue;
		bad(r->errors, &credit->at, "switch.credit",
		    bad_text(&found, "link %s, which loses frames", link->name),
		    "links that lose nothing, for the counts must stay right");
		break;
	}
}

/* Keys of the map that mean something with pauses only. */
static void refuse_thresholds(struct scenario_reader *r, const struct yaml_node *map)
{
	static const char *const keys[] = {"alpha", "xoff", "xon"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (scenario_has(map, keys[i]))
			scenario_refuse(r, map, scenario_node(map, keys[i]), "switch",
					"switch.pfc beside it");
}

void scenario_read_switch(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(r->root, "switch");
	const struct yaml_node *pfc = scenario_node(map, "pfc");
	const struct yaml_node *credit = scenario_node(map, "credit");
	struct scenario_switch *sw = &r->scenario->switches;

	read_nic(r);
	sw->buffer_bytes = scenario_get(map, "switch.buffer").number;
	sw->latency = scenario_get(map, "switch.latency").number;
	sw->alpha_num = sw->alpha_den = 1;
	read_ecn(r, map);
	if (pfc && credit)
		scenario_refuse(r, map, credit, "switch", "either switch.pfc or switch.credit");
	else if (pfc)
		read_pfc(r, map);
	else if (credit)
		read_credit(r, credit);
	if (!pfc)
		refuse_thresholds(r, map);
	scenario_hash_map(r, &r->hash, scenario_node(r->root, "nic"), "nic");
	scenario_hash_map(r, &r->hash, map, "switch");
}
