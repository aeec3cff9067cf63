/* SPDX-License-Identifier: BSD-2-Clause */

/* Hosts that pause without end or take in too slowly, notifications that come late, receivers that
 * are not ready. */
#include "tools/explain/cure_rules.h"

#include "tools/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- pauses that no buffer asked for ---- */

enum { QUANTA_BITS = 65535 * 512 }; /* the longest pause that a frame may ask for, in bit times */

/* How long @place has paused, by the frames that were heard: one is good for 65535 quanta, and who
 * means it sends the next at half of that. From the first to the last of them at least, whatever a
 * watchdog makes of it; to the end of the last pause that was obeyed, if that was later. */
static ps_t stormed_for(const struct advice_run *run, const struct pause_place *place)
{
	const struct events_port *port = &run->pauses->events->ports[place->port];
	const struct result_port *row = advice_port(run, port->peer, port->link, place->priority);
	const ps_t period = (ps_t)((u128)QUANTA_BITS * PS_S / port->rate_bps / 2);

	const ps_t heard = row && row->pause_received > 0 ? (row->pause_received - 1) * period : 0;
	const ps_t last_at = place->last_at == PS_NEVER ? run->result->time : place->last_at;
	const ps_t obeyed = last_at > place->first_at ? last_at - place->first_at : 0;

	return heard > obeyed ? heard : obeyed;
}

/* Until the end of the run, as far as frames tell: all but its last tenth. */
static bool is_endless(const struct advice_run *run, const struct pause_place *place)
{
	return place->last_at == PS_NEVER || place->first_at + stormed_for(run, place) >=
						     run->result->time - run->result->time / 10;
}

/* The longest pause that did not come from a storm and was taken back. */
static ps_t longest_plain(const struct pause_tree *tree)
{
	ps_t longest = 0;

	for (uint32_t i = 0; i < tree->span_count; i++) {
		const struct pause_span *span = &tree->spans[i];
		const struct pause_place *place = &tree->places[span->place];

		while (place->parent >= 0)
			place = &tree->places[place->parent];
		if (place->why != PAUSE_ALONE && span->until != PS_NEVER &&
		    span->until - span->from > longest)
			longest = span->until - span->from;
	}
	return longest;
}

/* Far above what congestion makes, and soon enough: ten times the longest pause of congestion, from
 * 1 ms up to the 200 ms that SONiC has by default. */
static ps_t detection_for(const struct pause_tree *tree)
{
	const ps_t ten = advice_round_up(10 * longest_plain(tree) + 1);

	return ten < PS_MS ? PS_MS : ten > 200 * PS_MS ? 200 * PS_MS : ten;
}

static void say_fault(struct advice_run *run, struct advice_item *item,
		      const struct events_port *port)
{
	const struct scenario_fault *fault =
		advice_fault(run, SCENARIO_FAULT_PAUSE, port->link, port->node);

	if (fault)
		advice_key(item, advice_text("faults.%u.pause", fault->place),
			   advice_text("%s, of %s", advice_set_priorities(fault->priorities),
				       port->node),
			   "");
}

static void say_unguarded(struct advice_run *run, const struct pause_place *place,
			  const struct events_port *port)
{
	struct advice_item *item = advice_add(run, "A host pauses without end");
	const ps_t detection = detection_for(run->pauses);
	const char *value = advice_set_time(detection);
	static const char *const keys[] = {"pfc.watchdog.detection", "pfc.watchdog.poll",
					   "pfc.watchdog.restoration"};

	advice_say(item,
		   "%s has paused %s since %s, although no buffer of it had asked for that, and no "
		   "switch has a watchdog: what is for %s fills the buffers on its way, and pauses "
		   "spread from "
		   "there (%" PRIu64 " priorities of ports are paused at the end).",
		   port->node, port->peer, advice_time(place->first_at), port->node,
		   run->result->pfc.paused_at_end);
	advice_say(
		item,
		"A PFC watchdog on the switches drops what is for the mad host and lets the rest "
		"go on. Its detection time has to be far above what congestion makes (here %s at "
		"most); real switches have 200 ms. The host itself wants a repair.",
		advice_time(longest_plain(run->pauses)));
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		advice_key(item, ADVICE_SWITCH_KEY(run, port->peer, keys[i], has_watchdog), "off",
			   value);
	say_fault(run, item, port);
}

static void say_guarded(struct advice_run *run, const struct pause_place *place,
			const struct events_port *port, bool endless)
{
	struct advice_item *item =
		advice_add(run, endless ? "A host pauses without end"
					: "A host pauses for no reason of its own");

	advice_say(item,
		   "%s paused %s from %s on, for about %s by its frames, although no buffer of it "
		   "had asked for that.",
		   port->node, port->peer, advice_time(place->first_at),
		   advice_time(stormed_for(run, place)));
	if (endless)
		advice_say(item,
			   "The watchdog keeps it from spreading: %" PRIu64
			   " packets were discarded, and the rest goes on.",
			   run->result->drops.watchdog);
	advice_say(item, "No switch can mend that: the host or its adapter wants a look.");
	say_fault(run, item, port);
}

static void ask_storms(struct advice_run *run, bool endless)
{
	for (uint32_t i = 0; run->pauses && i < run->pauses->place_count; i++) {
		const struct pause_place *place = &run->pauses->places[i];
		const struct events_port *port = &run->pauses->events->ports[place->port];

		if (place->why != PAUSE_ALONE || is_endless(run, place) != endless)
			continue;
		run->has_endless_storm = run->has_endless_storm || endless;
		if (endless && !advice_switch(run, port->peer)->has_watchdog)
			say_unguarded(run, place, port);
		else
			say_guarded(run, place, port, endless);
	}
}

void advice_storms(struct advice_run *run)
{
	ask_storms(run, true);
}

void advice_passing_storms(struct advice_run *run)
{
	ask_storms(run, false);
}

/* ---- a watchdog that barks at congestion ---- */

void advice_watchdog(struct advice_run *run)
{
	static const ps_t sonic = 200 * PS_MS;
	const struct sim_switch *worst = NULL;
	struct advice_item *item;
	const char *node;

	if (run->result->drops.watchdog == 0 || run->has_endless_storm)
		return;
	for (uint32_t i = 0; i < run->fabric->switch_count; i++)
		if (!worst || sim_switch_stats(run->fabric->switches[i])->dropped_watchdog >
				      sim_switch_stats(worst)->dropped_watchdog)
			worst = run->fabric->switches[i];
	node = sim_switch_node((struct sim_switch *)(uintptr_t)worst)->name;
	item = advice_add(run, "The watchdog takes congestion for a storm");
	advice_say(item,
		   "A watchdog discarded %" PRIu64 " packets, %" PRIu64
		   " of them at %s, and no pause went on without end: pauses that end by "
		   "themselves lasted longer than its detection time. SONiC has 200 ms by default, "
		   "far above what congestion makes.",
		   run->result->drops.watchdog, sim_switch_stats(worst)->dropped_watchdog, node);
	advice_key(item, ADVICE_SWITCH_KEY(run, node, "pfc.watchdog.detection", watchdog),
		   advice_set_time(advice_switch(run, node)->watchdog.detection),
		   advice_set_time(sonic));
}

/* ---- notifications that come late ---- */

static uint64_t flows_from(const struct advice_run *run, const char *host)
{
	uint64_t count = 0;

	for (uint64_t i = 0; i < run->scenario->flow_count; i++)
		count += strcmp(run->fabric->table.hosts[run->scenario->flows[i].src]->node.name,
				host) == 0;
	return count;
}

static bool runs_programs(const struct advice_run *run, const char *host)
{
	for (uint32_t i = 0; i < run->result->program_count; i++)
		for (uint32_t k = 0; k < run->result->programs[i].rank_count; k++)
			if (strcmp(run->result->programs[i].ranks[k].host, host) == 0)
				return true;
	return false;
}

/* CNPs that waited at once on the way to a host, over what its flows can get in one interval: so
 * many intervals the last of them was late, at least. 0: not known to be late. */
static uint64_t intervals_late(const struct advice_run *run, const struct result_port *port)
{
	const uint64_t flows = flows_from(run, port->peer);

	if (port->is_host || port->sent_packets == 0 || flows == 0 ||
	    runs_programs(run, port->peer))
		return 0;
	return port->queue_max / (port->sent_bytes / port->sent_packets) / flows;
}

static uint8_t highest(uint16_t mask)
{
	return mask ? (uint8_t)(31 - __builtin_clz(mask)) : 0;
}

/* Where nothing else has the priority of CNPs, its queues are theirs alone. */
void advice_notifications(struct advice_run *run)
{
	const struct scenario_nic *nic = &run->scenario->nic;
	const uint16_t data = advice_flow_priorities(run);
	const uint8_t top = highest(data);
	const struct result_port *worst = NULL;
	struct advice_item *item;
	uint64_t late;

	if (nic->cnp_priority >= top || data >> nic->cnp_priority & 1 ||
	    nic->ack_priority == nic->cnp_priority || run->scenario->stream_count > 0)
		return;
	for (uint64_t i = nic->cnp_priority; i < run->result->port_count;
	     i += run->result->priority_count)
		if (!worst ||
		    intervals_late(run, &run->result->ports[i]) > intervals_late(run, worst))
			worst = &run->result->ports[i];
	late = worst ? intervals_late(run, worst) : 0;
	if (late < 2) /* one of each flow may well wait for the frame in front */
		return;
	item = advice_add(run, "Notifications come late");
	advice_say(item,
		   "CNPs travel on priority %u, behind data of priority %u: up to %" PRIu64
		   " of them waited at %s for %s, which has %" PRIu64
		   " flows that get at most one each per %s, so some came at least %s late. Until "
		   "then the senders do not slow down.",
		   nic->cnp_priority, top,
		   worst->queue_max / (worst->sent_bytes / worst->sent_packets), worst->node,
		   worst->peer, flows_from(run, worst->peer), advice_time(nic->cnp_interval),
		   advice_time((late - 1) * nic->cnp_interval));
	advice_say(item, "CNPs belong on a strict priority of their own, above all data (DSCP 48, "
			 "priority 6, by convention).");
	advice_key(item, "nic.cnp_priority", advice_text("%u", nic->cnp_priority),
		   advice_text("%u", top < 6 ? 6 : 7));
}

/* ---- hosts that take in slowly ---- */

void advice_slow_hosts(struct advice_run *run)
{
	const struct scenario_rx *rx = &run->scenario->nic.rx;
	ps_t totals[PAUSE_PLACES_MAX], all = 0;
	const struct pause_place *worst = NULL;
	const struct events_port *port;
	struct host_rx_stats stats;
	struct advice_item *item;

	if (!run->pauses)
		return;
	advice_root_totals(run->pauses, totals);
	for (uint32_t i = 0; i < run->pauses->place_count; i++) {
		const struct pause_place *place = &run->pauses->places[i];

		all += totals[i];
		if (place->parent < 0 && place->why == PAUSE_QUEUE &&
		    run->pauses->events->ports[place->port].is_host &&
		    (!worst || totals[i] > totals[worst - run->pauses->places]))
			worst = place;
	}
	if (!worst || totals[worst - run->pauses->places] < all / ADVICE_SHARE)
		return;
	port = &run->pauses->events->ports[worst->port];
	stats = host_rx_stats(fabric_host(run->fabric, port->node));
	item = advice_add(run, "A host takes in less than its link brings");
	advice_say(item,
		   "%s had %s pause %" PRIu64
		   " times, with what followed %s in all: its receive buffer was full, %s at most.",
		   port->node, port->peer, worst->count,
		   advice_time(totals[worst - run->pauses->places]), advice_bytes(stats.bytes_max));
	if (advice_slow_machine(run, fabric_host(run->fabric, port->node), item))
		return;
	if (stats.mtt_misses > 0) {
		advice_say(item,
			   "It fetched %" PRIu64
			   " translations of pages that its adapter did not have at hand, %s each. "
			   "Large pages need few; so does a memory that is used again soon.",
			   stats.mtt_misses, advice_time(rx->params.mtt_miss));
		advice_key(item, "nic.rx.page", advice_text("%uKiB", rx->params.page_bytes / 1024),
			   "2MiB");
		advice_key(item, "nic.rx.mtt_entries", advice_text("%u", rx->params.mtt_entries),
			   "")
			->instead = true;
	} else {
		advice_say(item,
			   "It takes in %s from a link of %s: faster memory or PCIe, or fewer "
			   "senders.",
			   advice_rate(rx->params.rate_bps), advice_rate(port->rate_bps));
		advice_key(
			item, "nic.rx.rate", advice_rate(rx->params.rate_bps),
			advice_text("%" PRIu64 "Gbps", (port->rate_bps + 999999999) / 1000000000));
	}
}

/* ---- receivers that are not ready ---- */

static bool has_rank(const struct result_program *program, const char *host, uint64_t *completions)
{
	bool has = false;

	for (uint32_t k = 0; k < program->rank_count; k++)
		if (strcmp(program->ranks[k].host, host) == 0) {
			*completions += program->ranks[k].result->completions;
			has = true;
		}
	return has;
}

/* The program that has ranks on both hosts, the first such; what it has completed at @receiver. */
static bool cure_hosts_program_of(const struct advice_run *run, const char *sender,
				  const char *receiver, uint32_t *ret_place,
				  uint64_t *ret_completions)
{
	for (uint32_t i = 0; i < run->result->program_count; i++) {
		const struct result_program *program = &run->result->programs[i];
		uint64_t sent = 0;

		*ret_completions = 0;
		*ret_place = i;
		if (has_rank(program, sender, &sent) &&
		    has_rank(program, receiver, ret_completions))
			return true;
	}
	return false;
}

/* Once each is how RNR NAKs work where receives come a little late; more of them than messages says
 * that the receiver's own pace is the limit. */
void advice_not_ready(struct advice_run *run)
{
	const struct host *worst = NULL, *sender = NULL;
	uint64_t refused = 0, naks = 0, completions;
	struct advice_item *item;
	uint32_t place;

	for (uint32_t i = 0; i < run->fabric->host_count; i++) {
		const struct host *host = &run->fabric->hosts[i];
		const struct hca_counters *counters = hca_device_counters(host->hca);

		if (counters->rnr_nak_retry_err > naks) { /* UC and UD have none: they drop */
			sender = host;
			naks = counters->rnr_nak_retry_err;
		}
		if (counters->out_of_buffer > refused) {
			worst = host;
			refused = counters->out_of_buffer;
		}
	}
	if (!worst || !sender ||
	    !cure_hosts_program_of(run, sender->node.name, worst->node.name, &place, &completions))
		return;
	item = advice_add(run, refused > completions ? "The receiver posts its receives too slowly"
						     : "Messages come before receives are posted");
	advice_say(item,
		   "%s found no receive posted for %" PRIu64 " packets and had %" PRIu64
		   " completions (out_of_buffer in counters.json): their senders waited for the "
		   "RNR timer and sent again.",
		   worst->node.name, refused, completions);
	if (refused > completions) {
		advice_say(item,
			   "Each message was refused more than once, so it is the receiver's own "
			   "pace. Receives posted ahead of what may come help, or credits in the "
			   "program.");
		advice_key(item, advice_text("programs.%u.args", place),
			   advice_args(&run->scenario->programs[place]), "");
	} else {
		advice_say(item, "A refusal costs the whole RNR timer: more receives posted at "
				 "once help, or a shorter min_rnr_timer of the queue pair.");
		advice_key(item, advice_text("programs.%u.run", place),
			   run->scenario->programs[place].run, "");
	}
}
