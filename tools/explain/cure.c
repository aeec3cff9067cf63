/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/cure_rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

const struct scenario_switch *advice_switch(const struct advice_run *run, const char *node)
{
	const struct scenario *s = run->scenario;

	for (uint32_t g = 0; g < s->group_count; g++)
		for (uint32_t i = 0; i < s->groups[g].node_count; i++)
			if (strcmp(s->topology.nodes[s->groups[g].nodes[i]].name, node) == 0)
				return &s->groups[g].is;
	return &s->switches;
}

const char *advice_switch_key(const struct advice_run *run, const char *node, const char *rest,
			      size_t offset, size_t size)
{
	const struct scenario *s = run->scenario;
	const struct scenario_switch *own = advice_switch(run, node);

	for (uint32_t g = 0; g < s->group_count; g++)
		if (own == &s->groups[g].is &&
		    memcmp((const char *)own + offset, (const char *)&s->switches + offset, size) !=
			    0)
			return advice_text("switches.%u.%s", g, rest);
	return advice_text("switch.%s", rest);
}

const struct result_port *advice_port(const struct advice_run *run, const char *node,
				      const char *link, uint8_t priority)
{
	const struct result *result = run->result;

	for (uint64_t i = priority; i < result->port_count; i += result->priority_count)
		if (strcmp(result->ports[i].node, node) == 0 &&
		    strcmp(result->ports[i].link, link) == 0)
			return &result->ports[i];
	return NULL;
}

bool advice_is_lossless(const struct scenario_switch *sw, uint8_t priority)
{
	return sw->fc == SCENARIO_FC_PFC && sw->lossless >> priority & 1;
}

uint16_t advice_flow_priorities(const struct advice_run *run)
{
	uint16_t mask = 0;

	for (uint64_t i = 0; i < run->scenario->flow_count; i++)
		mask |= (uint16_t)(1u << run->scenario->flows[i].priority);
	for (uint32_t i = 0; i < run->scenario->stream_count; i++)
		mask |= (uint16_t)(1u << run->scenario->streams[i].priority);
	return mask;
}

const struct scenario_fault *advice_fault(const struct advice_run *run,
					  enum scenario_fault_kind kind, const char *link,
					  const char *sender)
{
	for (uint32_t i = 0; i < run->scenario->fault_count; i++) {
		const struct scenario_fault *fault = &run->scenario->faults[i];

		if (fault->kind == kind && strcmp(fault->link, link) == 0 &&
		    (!sender || !fault->direction || strcmp(fault->direction, sender) == 0))
			return fault;
	}
	return NULL;
}

uint32_t advice_window(const struct advice_run *run)
{
	const uint64_t packet_bits = 8 * (uint64_t)run->scenario->nic.mtu;
	uint64_t rate = 0;

	for (uint32_t i = 0; i < run->fabric->host_count; i++)
		if (run->fabric->hosts[i].node.ports[0].rate_bps > rate)
			rate = run->fabric->hosts[i].node.ports[0].rate_bps;
	return (uint32_t)((u128)run->full_rtt * rate / PS_S / packet_bits) + 1;
}

void advice_root_totals(const struct pause_tree *tree, ps_t ret_totals[PAUSE_PLACES_MAX])
{
	for (uint32_t i = 0; i < tree->place_count; i++)
		ret_totals[i] = tree->places[i].total;
	for (uint32_t i = tree->place_count; i-- > 0;)
		if (tree->places[i].parent >= 0) {
			ret_totals[tree->places[i].parent] += ret_totals[i];
			ret_totals[i] = 0;
		}
}

/* ---- all of it ---- */

/* Of a packet of so many bytes and its acknowledgement, over the first flows: those of a pattern
 * are alike. */
static ps_t longest_rtt(const struct scenario *scenario, const struct traffic *traffic,
			uint32_t bytes)
{
	enum { LOOKED_AT = 1024 };
	ps_t longest = 0;

	for (uint64_t i = 0; traffic && i < scenario->flow_count && i < LOOKED_AT; i++) {
		struct traffic_flow flow = scenario->flows[i];
		ps_t rtt;

		flow.bytes = bytes;
		rtt = traffic_ideal(traffic, &flow);
		if (rtt != PS_NEVER && rtt > longest)
			longest = rtt;
	}
	return longest;
}

static bool is_troubled(const struct advice_run *run)
{
	const struct result *result = run->result;

	for (uint32_t i = 0; i < result->program_count; i++)
		if (result->programs[i].failed || (!result->cut && result->programs[i].unfinished))
			return true;
	return result->drops.buffer + result->drops.fault + result->drops.no_route +
			       result->drops.icrc + result->drops.ttl + result->drops.mtu +
			       result->drops.watchdog + result->drops.unknown + run->retransmitted +
			       result->pfc.paused + result->flow_sums.mismatch_bytes >
		       0 ||
	       (result->flow_sums.failed > 0 && !result->cut);
}

/* Where no rule applies: whether that is well, or only not known. */
static void say_rest(struct advice_run *run)
{
	const struct result *result = run->result;
	struct advice_item *words = &run->spare;
	double slowdown = 0;

	*words = (struct advice_item){.trouble = ""};
	for (uint32_t i = 0; i < result->class_count; i++)
		if (result->classes[i].slowdown_p99 > slowdown)
			slowdown = result->classes[i].slowdown_p99;
	if (is_troubled(run))
		advice_say(words,
			   "The facts of this run do not tell: something was lost, paused, sent "
			   "twice or not completed, and none of the known causes fits it.");
	else
		advice_say(words,
			   "Nothing here asks for a cure: nothing was lost, nobody was paused and "
			   "nothing was sent twice.");
	if (result->flow_sums.failed > 0 && result->cut)
		advice_say(words,
			   "%" PRIu64 " of %" PRIu64
			   " flows were under way when the scenario's time was over (until).",
			   result->flow_sums.failed, result->flow_sums.posted);
	if (!is_troubled(run) && slowdown >= 2)
		advice_say(words,
			   "Flows took up to %.3g times as long as alone: they shared links.",
			   slowdown);
	snprintf(run->advice->rest, sizeof(run->advice->rest), "%s", words->text);
}

int advice_make(const struct advice_source *source, struct advice *ret_advice)
{
	struct advice_run run = {.result = source->result,
				 .scenario = source->result->scenario,
				 .fabric = source->result->fabric,
				 .spells = source->spells,
				 .advice = ret_advice};
	int ret;

	ret_advice->count = 0;
	ret_advice->rest[0] = '\0';
	run.pauses = source->pauses && source->pauses->events && source->pauses->place_count > 0
			     ? source->pauses
			     : NULL;
	run.rtt = longest_rtt(run.scenario, source->traffic, 1);
	run.full_rtt = longest_rtt(run.scenario, source->traffic, run.scenario->nic.mtu);
	for (uint32_t i = 0; i < run.fabric->host_count; i++)
		run.retransmitted +=
			hca_device_counters(run.fabric->hosts[i].hca)->packets_retransmitted;
	ret = advice_routes(&run);
	advice_size(&run);
	advice_inside_faults(&run);
	advice_storms(&run);
	advice_watchdog(&run);
	advice_passing_storms(&run);
	advice_notifications(&run);
	advice_buffers(&run);
	advice_slow_hosts(&run);
	advice_senders(&run);
	advice_gpus(&run);
	advice_hash(&run);
	advice_queues(&run);
	advice_dark_links(&run);
	advice_timeouts(&run);
	advice_bad_links(&run);
	advice_not_ready(&run);
	advice_failures(&run);
	if (ret_advice->count == 0)
		say_rest(&run);
	return ret;
}
