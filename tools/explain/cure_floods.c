/* SPDX-License-Identifier: BSD-2-Clause */

/* Switches that flood what is for hosts that they have forgotten. */
#include "tools/explain/cure_rules.h"

#include "sim/switch.h"

#include <inttypes.h>

/* Whether it floods a class that is lossless and that flows use. */
static bool floods_lossless(const struct advice_run *run, const char *node)
{
	const struct scenario_switch *sw = advice_switch(run, node);

	return sw->unknown == SCENARIO_UNKNOWN_FLOOD && sw->fc == SCENARIO_FC_PFC &&
	       (run->scenario->program_count > 0 || sw->lossless & advice_flow_priorities(run));
}

/* The first host that the switch has forgotten. */
static const char *forgotten_by(const struct advice_run *run, const char *node)
{
	const struct scenario *s = run->scenario;
	uint32_t i = 0;

	while (fabric_switch(run->fabric, s->topology.nodes[s->forgets[i].at].name) !=
	       fabric_switch(run->fabric, node))
		i++;
	return run->fabric->table.hosts[s->forgets[i].host]->node.name;
}

static void say_floods(struct advice_run *run, uint32_t circle, const struct sim_switch *worst)
{
	const char *node = sim_switch_fc(worst)->node->name;
	const struct sim_switch_stats *stats = sim_switch_stats(worst);
	struct advice_item *item = advice_add(run, "Lossless packets are flooded");

	advice_say(item,
		   "%s had forgotten by which port %s is reached, and sent %" PRIu64
		   " packets for such hosts out of every port but the one that they came by: "
		   "%" PRIu64
		   " more copies, which hold room of the lossless buffer until they have "
		   "left, those that go up again as well.",
		   node, forgotten_by(run, node), stats->flooded, stats->flood_copies);
	if (circle > 0)
		advice_say(item,
			   "Ways that go up and down only cannot close a circle of buffers, but "
			   "copies that go up do: %u ports each wait for the next one, and the "
			   "last for the first, and none of them will ever send again.",
			   circle);
	advice_say(item, "Switches that drop lossless packets whose port they do not know close no "
			 "circle (Guo et al., SIGCOMM 2016); other packets may be flooded.");
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "unknown", unknown), "flood", "flood_lossy");
}

bool advice_floods(struct advice_run *run, uint32_t circle)
{
	const struct sim_switch *worst = NULL;

	for (uint32_t i = 0; i < run->fabric->switch_count; i++) {
		const struct sim_switch *sw = run->fabric->switches[i];

		if (sim_switch_stats(sw)->flooded >
			    (worst ? sim_switch_stats(worst)->flooded : 0) &&
		    floods_lossless(run, sim_switch_fc(sw)->node->name))
			worst = sw;
	}
	if (worst)
		say_floods(run, circle, worst);
	return worst != NULL;
}
