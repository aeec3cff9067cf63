/* SPDX-License-Identifier: BSD-2-Clause */

/* Pauses, marks and drops: where the first was and why, or how near it came. */
#include "tools/explain/explain.h"

#include "models/link/pfc.h"
#include "sim/fault.h"
#include "sim/switch.h"
#include "tools/result/output.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* ---- pauses ---- */

static void say_xoff(const struct explain *explain, const struct explain_xoff *xoff)
{
	const struct events_port *in = &explain->events->ports[xoff->port];
	const struct events_port *out = &explain->events->ports[xoff->way_out];

	explain_time(xoff->at);
	printf(": %s held %" PRIu64 " bytes of priority %u from %s, the threshold was %" PRIu64
	       ", so it had %s pause.\n",
	       in->node, xoff->held, xoff->priority, in->peer, xoff->limit, in->peer);
	if (xoff->queue_bytes && !in->is_host)
		printf("    They waited above all for %s: %u bytes were queued there.\n", out->peer,
		       xoff->queue_bytes);
}

/* What thresholds are a share of, where they are a share. */
static void say_pool(const struct explain *explain, const char *node)
{
	const struct scenario *scenario = explain->events->scenario;
	const struct fabric *fabric = explain->events->fabric;
	const bool has_reserves = scenario->switches.reserve_bytes > 0 ||
				  scenario->switches.has_classes || scenario->group_count > 0;
	uint32_t i = 0;
	uint64_t pool, buffer;

	while (i < fabric->switch_count &&
	       strcmp(sim_switch_node(fabric->switches[i])->name, node) != 0)
		i++;
	if (i == fabric->switch_count)
		return;
	buffer = sim_switch_fc(fabric->switches[i])->buffer_bytes;
	pool = pfc_pool_bytes(sim_switch_fc(fabric->switches[i]));
	printf("Of the buffer of %s, %" PRIu64 " bytes, %" PRIu64
	       " are headroom%s, for what still comes once a pause is decided. Its ports share the "
	       "other %" PRIu64 ".\n",
	       node, buffer, buffer - pool, has_reserves ? " and reserves" : "", pool);
}

/* One that its own memory holds up, as far as that is known. */
void explain_slow_host(const struct explain *explain, uint32_t port)
{
	const struct events *events = explain->events;
	struct host *host = fabric_host(events->fabric, events->ports[port].node);
	struct bad_text when;
	struct limit limit;

	printf("    That is the root: %s took packets in more slowly than its link brought them",
	       events->ports[port].node);
	if (!spells_limit_of_receiver(&explain->spells, host, &limit)) {
		puts(".");
		return;
	}
	printf(",\n    %s", limit.kind == LIMIT_NONE ? "though no lane was full: " : "because ");
	limit_reason(&limit, spells_time(&explain->spells, &limit, &when), stdout);
	puts(".");
	if (limit_help(&limit, "    What would help: ", stdout))
		putchar('\n');
}

static bool is_covered(const struct explain *explain, uint8_t priority)
{
	const struct scenario_switch *sw = &explain->events->scenario->switches;

	return sw->fc == SCENARIO_FC_PFC && sw->lossless >> priority & 1;
}

void explain_slow_loss(const struct explain *explain, uint32_t port)
{
	const struct explain_port *own = &explain->ports[port];

	printf("%s had no room for %" PRIu64 " frames of priority %u",
	       explain->events->ports[port].node, own->drops, own->first_drop_priority);
	if (is_covered(explain, own->first_drop_priority))
		puts(".");
	else
		printf(", for which it has nobody pause (%s): there a slow receiver shows as "
		       "loss.\n",
		       explain->events->scenario->switches.fc == SCENARIO_FC_PFC
			       ? "switch.pfc.priorities has others"
			       : "PFC is off: no switch.pfc");
	explain_slow_host(explain, port);
}

/* Of the host that lost most for want of room. */
static void say_slow_loss(const struct explain *explain)
{
	const struct events *events = explain->events;
	int64_t worst = -1;

	for (uint32_t i = 0; i < events->port_count; i++)
		if (events->ports[i].is_host && explain->ports[i].drops > 0 &&
		    (worst < 0 || explain->ports[i].drops > explain->ports[worst].drops))
			worst = i;
	if (worst >= 0)
		explain_slow_loss(explain, (uint32_t)worst);
}

void explain_storm(const struct events_port *out)
{
	printf("    That is the root: %s had paused %s, although no buffer of it had asked for "
	       "that: a pause storm.\n",
	       out->peer, out->node);
}

/* From the pause that others led to down to the one that nobody had caused. */
static void say_chain(const struct explain *explain, const struct explain_xoff *xoff)
{
	const struct events_port *out;
	char rate[OUTPUT_TEXT_MAX];

	for (; xoff->cause >= 0; xoff = &explain->xoffs[xoff->cause]) {
		say_xoff(explain, xoff);
		out = &explain->events->ports[xoff->way_out];
		printf("    That port could not send, since %s had paused %s:\n  ", out->peer,
		       out->node);
	}
	say_xoff(explain, xoff);
	if (explain->events->ports[xoff->port].is_host) {
		explain_slow_host(explain, xoff->port);
		return;
	}
	if (xoff->queue_bytes == 0) {
		printf("    Next to nothing of it waited there: the threshold had shrunk, since "
		       "others had taken the shared buffer.\n");
		return;
	}
	out = &explain->events->ports[xoff->way_out];
	if (xoff->is_stormed) {
		explain_storm(out);
		return;
	}
	printf("    That is the root: nobody had paused %s towards %s; more came than its %s could "
	       "take.\n",
	       out->node, out->peer, output_rate(out->rate_bps, rate));
}

/* The fault that has that end of a link send pauses; NULL: none. */
static const struct scenario_fault *pausing_fault(const struct scenario *scenario,
						  const struct events_port *port)
{
	for (uint32_t i = 0; i < scenario->fault_count; i++) {
		const struct scenario_fault *fault = &scenario->faults[i];

		if (fault->kind == SCENARIO_FAULT_PAUSE && strcmp(fault->link, port->link) == 0 &&
		    (!fault->direction || strcmp(fault->direction, port->node) == 0))
			return fault;
	}
	return NULL;
}

/* Pauses that no buffer asked for. */
static void say_storms(const struct explain *explain)
{
	const struct events *events = explain->events;

	for (uint32_t i = 0; i < events->port_count; i++) {
		const struct explain_port *port = &explain->ports[i];
		const struct scenario_fault *fault;
		const char *comma = " ";

		if (port->pauses == 0 || port->xoffs > 0)
			continue;
		fault = pausing_fault(events->scenario, &events->ports[i]);
		printf("%s had %s pause%s, with %" PRIu64 " PFC frame%s from ",
		       events->ports[i].node, events->ports[i].peer,
		       fault ? "" : ", although no buffer of it had asked for that", port->pauses,
		       port->pauses == 1 ? "" : "s");
		explain_time(port->first_pause_at);
		printf(" on, priority");
		for (int q = 0; q < SIM_PRIORITIES_MAX; q++)
			if (port->first_pause_classes >> q & 1) {
				printf("%s%d", comma, q);
				comma = ", ";
			}
		if (fault)
			printf(": no buffer of it had asked for that, but a fault of the scenario, "
			       "faults.%u.pause",
			       fault->place);
		puts(".");
	}
}

static void say_no_pause(const struct explain *explain)
{
	const struct explain_near *near = &explain->pause;

	printf("No buffer ever had anybody pause.\n");
	say_storms(explain);
	say_slow_loss(explain);
	if (explain->events->scenario->switches.fc != SCENARIO_FC_PFC)
		printf("PFC is off: the scenario has no switch.pfc.\n");
	else if (near->limit == 0)
		printf("Nothing of a lossless priority ever waited in a switch.\n");
	else
		printf("It came nearest at %s, in the window that begins at %s: %" PRIu64
		       " bytes of priority %u from %s were held, the threshold was %" PRIu64
		       " (%.1f %%).\n",
		       near->node, explain_length(near->at), near->held, near->priority, near->peer,
		       near->limit, percent(near->held, near->limit));
}

static const char *times(uint64_t count, char ret_text[OUTPUT_TEXT_MAX])
{
	snprintf(ret_text, OUTPUT_TEXT_MAX, count == 1 ? "once" : "%" PRIu64 " times", count);
	return ret_text;
}

void explain_pfc(const struct explain *explain)
{
	const struct explain_xoff *deepest = explain->xoffs;
	char all[OUTPUT_TEXT_MAX], most[OUTPUT_TEXT_MAX];
	uint64_t busiest = 0;

	if (explain->xoff_count == 0) {
		say_no_pause(explain);
		return;
	}
	for (uint64_t i = 1; i < explain->xoff_count; i++)
		if (explain->xoffs[i].depth > deepest->depth)
			deepest = &explain->xoffs[i];
	for (uint32_t i = 0; i < explain->events->port_count; i++)
		if (explain->ports[i].xoffs > explain->ports[busiest].xoffs)
			busiest = i;
	printf("Full buffers had somebody pause %s; most often %s had %s do so, %s.\nThe first "
	       "time:\n  ",
	       times(explain->xoff_count, all), explain->events->ports[busiest].node,
	       explain->events->ports[busiest].peer, times(explain->ports[busiest].xoffs, most));
	say_chain(explain, explain->xoffs);
	say_pool(explain, explain->events->ports[explain->xoffs->port].node);
	if (deepest->depth == 1) {
		printf("No pause led to another one.\n");
		say_storms(explain);
		return;
	}
	printf("The longest chain, %u pauses, from its end to its root:\n  ", deepest->depth);
	say_chain(explain, deepest);
	say_storms(explain);
}

/* ---- marks ---- */

static void say_no_mark(const struct explain *explain)
{
	const struct scenario_ecn *ecn = &explain->events->scenario->switches.ecn;
	uint32_t longest = 0;
	uint8_t priority = 0;

	for (uint32_t i = 0; i < explain->events->port_count; i++)
		for (uint8_t q = 0; q < explain->events->priority_count; q++)
			if (!explain->events->ports[i].is_host &&
			    explain->ports[i].queue_max[q] >
				    explain->ports[longest].queue_max[priority]) {
				longest = i;
				priority = q;
			}
	printf("No packet was ever marked.\n");
	if (!ecn->enabled) {
		printf("ECN is off: the scenario has no switch.ecn.\n");
		return;
	}
	if (!explain->events->fabric->params.host->profile.cc->listens) {
		printf("No host sends packets that may be marked (ECT): nic.cc is %s, which does "
		       "not go by marks.\n",
		       explain->events->fabric->params.host->profile.cc->name);
		return;
	}
	printf("The longest queue was at %s towards %s, %u bytes of priority %u; marks begin at "
	       "kmin, %u bytes (%.1f %%).\n",
	       explain->events->ports[longest].node, explain->events->ports[longest].peer,
	       explain->ports[longest].queue_max[priority], priority, ecn->kmin_bytes,
	       percent(explain->ports[longest].queue_max[priority], ecn->kmin_bytes));
}

void explain_ecn(const struct explain *explain)
{
	const struct scenario_ecn *ecn = &explain->events->scenario->switches.ecn;
	const struct events *events = explain->events;
	uint64_t marks = 0, handled = 0;
	uint32_t most = 0, first = UINT32_MAX;

	for (uint32_t i = 0; i < events->port_count; i++) {
		const struct explain_port *port = &explain->ports[i];

		marks += port->marks;
		if (port->marks > explain->ports[most].marks)
			most = i;
		if (port->marks && (first == UINT32_MAX ||
				    port->first_mark_at < explain->ports[first].first_mark_at))
			first = i;
	}
	if (marks == 0) {
		say_no_mark(explain);
		return;
	}
	for (uint32_t i = 0; i < events->fabric->host_count; i++)
		handled += hca_device_counters(events->fabric->hosts[i].hca)->rp_cnp_handled;
	printf("%" PRIu64 " packets were marked, most of them, %" PRIu64 ", at %s towards %s.\n"
	       "The first at ",
	       marks, explain->ports[most].marks, events->ports[most].node,
	       events->ports[most].peer);
	explain_time(explain->ports[first].first_mark_at);
	printf(" at %s towards %s: %u bytes were queued behind it; kmin is %u, kmax %u.\n"
	       "Receivers sent %" PRIu64 " CNPs, senders slowed down for %" PRIu64 " of them.\n",
	       events->ports[first].node, events->ports[first].peer,
	       explain->ports[first].first_mark_queue, ecn->kmin_bytes, ecn->kmax_bytes,
	       explain->cnps, handled);
	if (explain->cnps > 0 && handled == 0)
		printf("No sender has congestion control (nic.cc).\n");
}

/* ---- drops ---- */

static uint64_t say_fault_drops(const struct explain *explain)
{
	const struct sim *sim = explain->events->fabric->sim;
	uint64_t lost = 0;

	for (uint32_t i = 0; i < sim_node_count(sim); i++)
		for (uint32_t p = 0; p < sim_node_at(sim, i)->port_count; p++) {
			const struct sim_port *port = &sim_node_at(sim, i)->ports[p];
			const uint64_t own =
				port->fault ? port->fault->lost + port->fault->refused : 0;

			if (own)
				printf("A fault of link %s took %" PRIu64 " frames of %s.\n",
				       port->link_name, own, sim_node_at(sim, i)->name);
			lost += own;
		}
	return lost;
}

/* Copies are no losses, but what becomes of them is asked here. */
static void say_flood(const struct sim_switch_stats *stats, const char *name)
{
	if (stats->flooded)
		printf("%s sent %" PRIu64 " frames for hosts whose port it had forgotten out of "
		       "every other port: %" PRIu64 " more copies.\n",
		       name, stats->flooded, stats->flood_copies);
	if (stats->not_mine)
		printf("%s discarded %" PRIu64
		       " copies of floods, which were not for its MAC address.\n",
		       name, stats->not_mine);
}

static uint64_t say_switch_drops(const struct explain *explain)
{
	const struct fabric *fabric = explain->events->fabric;
	uint64_t dropped = 0;

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_switch_stats *stats = sim_switch_stats(fabric->switches[i]);
		const char *name = sim_switch_node(fabric->switches[i])->name;

		if (stats->dropped_route)
			printf("%s knew no way for %" PRIu64 " frames.\n", name,
			       stats->dropped_route);
		if (stats->dropped_ttl)
			printf("%s dropped %" PRIu64 " frames whose TTL had run out.\n", name,
			       stats->dropped_ttl);
		if (stats->dropped_mtu)
			printf("%s dropped %" PRIu64 " frames that were larger than its MTU.\n",
			       name, stats->dropped_mtu);
		if (stats->dropped_watchdog)
			printf("The PFC watchdog of %s discarded %" PRIu64
			       " frames: a port had been paused for longer than its detection "
			       "time.\n",
			       name, stats->dropped_watchdog);
		if (stats->dropped_unknown)
			printf("%s dropped %" PRIu64
			       " frames for hosts whose port it had forgotten.\n",
			       name, stats->dropped_unknown);
		say_flood(stats, name);
		dropped += stats->dropped_route + stats->dropped_ttl + stats->dropped_mtu +
			   stats->dropped_watchdog + stats->dropped_unknown;
	}
	return dropped;
}

static void say_buffer_drops(const struct explain *explain, uint64_t drops, uint32_t first,
			     uint32_t most)
{
	const struct events *events = explain->events;
	const struct explain_port *port = &explain->ports[first];
	const struct scenario_switch *sw = &events->scenario->switches;
	const bool lossless =
		sw->fc == SCENARIO_FC_PFC && sw->lossless >> port->first_drop_priority & 1;

	printf("%" PRIu64 " frames found no room in a buffer, most of them, %" PRIu64
	       ", at %s, from %s.\nThe first at ",
	       drops, explain->ports[most].drops, events->ports[most].node,
	       events->ports[most].peer);
	explain_time(port->first_drop_at);
	printf(" at %s, from %s, of priority %u, which is %s.\n", events->ports[first].node,
	       events->ports[first].peer, port->first_drop_priority,
	       lossless ? "lossless: the headroom was too short for what came after the pause"
			: "not lossless: nobody is told to pause for it");
}

void explain_drop(const struct explain *explain)
{
	const struct events *events = explain->events;
	uint64_t drops = 0, retransmitted = 0, others;
	uint32_t first = UINT32_MAX, most = 0;

	for (uint32_t i = 0; i < events->port_count; i++) {
		const struct explain_port *port = &explain->ports[i];

		drops += port->drops;
		retransmitted += port->retransmissions;
		if (port->drops > explain->ports[most].drops)
			most = i;
		if (port->drops && (first == UINT32_MAX ||
				    port->first_drop_at < explain->ports[first].first_drop_at))
			first = i;
	}
	if (drops)
		say_buffer_drops(explain, drops, first, most);
	say_slow_loss(explain);
	others = say_switch_drops(explain) + say_fault_drops(explain);
	if (drops + others > 0) {
		printf("%" PRIu64 " packets were sent again.\n", retransmitted);
		return;
	}
	printf("Nothing was dropped.\n");
	if (explain->buffer.limit)
		printf("The fullest buffer was that of %s, in the window that begins at %s: "
		       "%" PRIu64 " of %" PRIu64 " bytes (%.1f %%).\n",
		       explain->buffer.node, explain_length(explain->buffer.at),
		       explain->buffer.held, explain->buffer.limit,
		       percent(explain->buffer.held, explain->buffer.limit));
}
