/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

/* Keys that the scenario itself says and that have no effect, for another one goes before them:
 * each is told with a warning. What can only be a mistake is an error elsewhere. */

struct idle {
	enum scenario_key key;
	bool holds; /* it has no effect */
	const char *expected;
};

/* @of: the key whose map, or one of whose maps, @map is. */
static void warn_all(struct scenario_reader *r, const struct yaml_node *map, enum scenario_key of,
		     const struct idle *idle, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (idle[i].holds && scenario_is_own(map, idle[i].key))
			scenario_warn(
				r, map,
				yaml_find(map, scenario_row_key(scenario_row_at(idle[i].key))), of,
				idle[i].expected);
}

#define WARN_ALL(r, map, of, idle) warn_all(r, map, of, idle, sizeof(idle) / sizeof((idle)[0]))

/* What a control without ECN capable packets leaves of marks: switches mark no others. */
static bool hears_marks(const struct scenario_nic *nic)
{
	return nic->cc != SCENARIO_CC_NONE && scenario_cc_ops(nic->cc)->listens;
}

static bool any_marks(const struct scenario *s)
{
	bool any = s->switches.ecn.enabled;

	for (uint32_t i = 0; i < s->group_count; i++)
		any = any || s->groups[i].is.ecn.enabled;
	return any;
}

static void warn_nic(struct scenario_reader *r)
{
	static const char of_cnp[] = "nic.cc: a form of dcqcn beside it, for others have no CNPs";
	static const char of_uc[] = "nic.transport: rc beside it, or a program";
	const struct scenario_nic *nic = &r->scenario->nic;
	const bool selective = nic->retransmit == HCA_SELECTIVE, never = nic->timeout == 0;
	const bool no_cnp = nic->cc == SCENARIO_CC_NONE || scenario_cc_ops(nic->cc)->takes_acks;
	const bool no_acks = nic->uc && r->scenario->program_count == 0;
	/* A gap or a rate to start with tells DCQCN something, too. */
	const bool no_news = hears_marks(nic) && !any_marks(r->scenario) &&
			     nic->start_rate_bps == 0 && (no_cnp || !nic->cnp_on_gap);
	const struct idle idle[] = {
		{KEY_NIC_TIMEOUT, nic->uc, "nic.transport: rc beside it"},
		{KEY_NIC_TIMEOUT, selective && !never && !nic->uc,
		 "none beside nic.retransmit: selective, which goes by nic.rto_low and "
		 "nic.rto_high"},
		{KEY_NIC_RTO_LOW, selective && never && !nic->uc, "nic.timeout above 0 beside it"},
		{KEY_NIC_RTO_HIGH, selective && never && !nic->uc, "nic.timeout above 0 beside it"},
		{KEY_NIC_RETRIES, nic->uc, "nic.transport: rc beside it"},
		{KEY_NIC_RETRANSMIT, no_acks, of_uc},
		{KEY_NIC_RTO_LOW, no_acks && selective, of_uc},
		{KEY_NIC_RTO_HIGH, no_acks && selective, of_uc},
		{KEY_NIC_ACK_EVERY, no_acks, of_uc},
		{KEY_NIC_ACK_PRIORITY, no_acks, of_uc},
		{KEY_NIC_WINDOW, no_acks, of_uc},
		{KEY_NIC_CNP_INTERVAL, no_cnp, of_cnp},
		{KEY_NIC_CNP_MARKS, no_cnp, of_cnp},
		{KEY_NIC_CNP_GAPS, no_cnp, of_cnp},
		{KEY_NIC_CNP_PRIORITY, no_cnp, of_cnp},
		{KEY_NIC_CC, no_news, "switch.ecn beside it, for it goes by marks"},
	};

	WARN_ALL(r, scenario_node(r->root, KEY_NIC), KEY_NIC, idle);
}

static void warn_rx(struct scenario_reader *r)
{
	const struct yaml_node *map = scenario_node(scenario_node(r->root, KEY_NIC), KEY_NIC_RX);
	const bool all = scenario_get(map, KEY_NIC_RX_MTT_ENTRIES).number == 0;
	static const char of_mtt[] = "nic.rx.mtt_entries beside it";
	const bool lossy = r->scenario->switches.fc != SCENARIO_FC_PFC;
	const struct idle idle[] = {
		{KEY_NIC_RX_XOFF, lossy, "switch.pfc beside it"},
		{KEY_NIC_RX_XON, lossy, "switch.pfc beside it"},
		{KEY_NIC_RX_PAGE, all, of_mtt},
		{KEY_NIC_RX_MEMORY, all, of_mtt},
		{KEY_NIC_RX_MTT_MISS, all, of_mtt},
	};

	WARN_ALL(r, map, KEY_NIC_RX, idle);
}

/* Of ports by their rates, where marks or pauses are said to be off. */
static void warn_rates(struct scenario_reader *r, const struct yaml_node *list,
		       const struct scenario_switch *sw)
{
	static const char of_ecn[] = "switch.ecn beside it, and not off";
	const bool no_pfc = sw->fc != SCENARIO_FC_PFC, no_ecn = !sw->ecn.enabled;
	const struct idle idle[] = {
		{KEY_SWITCH_BY_RATE_KMIN, no_ecn, of_ecn},
		{KEY_SWITCH_BY_RATE_KMAX, no_ecn, of_ecn},
		{KEY_SWITCH_BY_RATE_PMAX, no_ecn, of_ecn},
		{KEY_SWITCH_BY_RATE_ALPHA, no_pfc, "switch.pfc beside it, and not off"},
	};

	for (const struct yaml_node *map = list ? list->child : NULL; map; map = map->next)
		WARN_ALL(r, map, KEY_SWITCH_BY_RATE, idle);
}

/* @map: what @sw was read from. */
static void warn_switch(struct scenario_reader *r, const struct yaml_node *map,
			enum scenario_key of, const struct scenario_switch *sw)
{
	const bool off = scenario_is_own(map, KEY_SWITCH_PFC) && !scenario_has(map, KEY_SWITCH_PFC);
	static const char of_pfc[] = "switch.pfc beside it, and not off";
	const struct idle idle[] = {
		{KEY_SWITCH_ECN, sw->ecn.enabled && !hears_marks(&r->scenario->nic),
		 "nic.cc: dcqcn or dctcp beside it, for packets of others cannot be marked"},
		{KEY_SWITCH_ALPHA, off, of_pfc},
		{KEY_SWITCH_XOFF, off, of_pfc},
		{KEY_SWITCH_XON, off, of_pfc},
		{KEY_SWITCH_RESERVE, off, of_pfc},
		{KEY_SWITCH_FLOWLET_GAP, sw->balance != SIM_BALANCE_FLOWLET,
		 "balance: flowlet beside it"},
		{KEY_SWITCH_UNKNOWN, r->scenario->forget_count == 0,
		 "a switch that forgets hosts (faults[].forget)"},
		{KEY_SWITCH_CONWEAVE, sw->balance != SIM_BALANCE_WEAVE,
		 "balance: conweave beside it"},
	};
	const struct yaml_node *classes = scenario_is_own(map, KEY_SWITCH_CLASSES)
						  ? scenario_node(map, KEY_SWITCH_CLASSES)
						  : NULL;

	WARN_ALL(r, map, of, idle);
	if (scenario_is_own(map, KEY_SWITCH_BY_RATE))
		warn_rates(r, scenario_node(map, KEY_SWITCH_BY_RATE), sw);
	for (const struct yaml_node *class = classes ? classes->child : NULL; class;
	     class = class->next) {
		const struct idle of_class[] = {
			{KEY_SWITCH_CLASSES_XON, !scenario_has(class, KEY_SWITCH_CLASSES_XOFF),
			 "xoff beside it"},
		};

		WARN_ALL(r, class, KEY_SWITCH_CLASSES, of_class);
	}
}

void scenario_warn_idle(struct scenario_reader *r)
{
	const struct yaml_node *list = scenario_node(r->root, KEY_SWITCHES);
	const struct yaml_node *map = list && list->kind == YAML_LIST ? list->child : NULL;

	warn_nic(r);
	warn_rx(r);
	warn_switch(r, scenario_node(r->root, KEY_SWITCH), KEY_SWITCH, &r->scenario->switches);
	for (uint32_t i = 0; map && i < r->scenario->group_count; map = map->next)
		if (map->kind == YAML_MAP)
			warn_switch(r, map, KEY_SWITCHES, &r->scenario->groups[i++].is);
}
