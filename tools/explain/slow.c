/* SPDX-License-Identifier: BSD-2-Clause */

/* Where the time of a flow went, in words. */
#include "tools/explain/explain.h"

#include "tools/explain/culprits.h"
#include "tools/explain/gpu_words.h"
#include "tools/observe/host_index.h"
#include "tools/result/failures.h"
#include "tools/result/output.h"

#include <inttypes.h>
#include <stdio.h>

static const char *held_name(const struct account_sum *sum, const struct scenario *scenario,
			     bool waits_for_data)
{
	const bool has_cc = scenario->nic.cc != SCENARIO_CC_NONE;

	if (waits_for_data)
		return "its adapter waits for data from memory, see below";
	if (sum->key.is_request)
		return has_cc ? "its rate, its window, or requests before it"
			      : "its window, its host, or requests before it";
	return has_cc ? "its rate (congestion control) or its window"
		      : "its window is full, or its host has not begun";
}

static const char *failed_name(enum hca_wc_status status)
{
	if (status == HCA_WC_REM_ACCESS_ERR || status == HCA_WC_REM_INV_REQ_ERR ||
	    status == HCA_WC_REM_OP_ERR)
		return "after its last packet, until the NAK";
	return status == HCA_WC_WR_FLUSH_ERR ? "after its last packet, until it was flushed"
					     : "after its last packet, until it gave up";
}

static const char *unseen_name(const struct account_flow *flow)
{
	if (flow->src == flow->dst)
		return "within its host: over no wire";
	if (!flow->has_ended)
		return "after its last packet, until the end of the run";
	if (!flow->is_ok)
		return failed_name(flow->status);
	return flow->is_answered ? "after its last packet, until the response"
				 : "after its last packet, until the acknowledgement";
}

/* Of a READ or an atomic. */
static const char *answered_part_name(enum account_part part)
{
	static const char *const names[ACCOUNT_PARTS] = {
		[ACCOUNT_OWN] = "its request and responses on the wire",
		[ACCOUNT_RESENT] = "responses that were sent again, on the wire",
		[ACCOUNT_OUT_WIRE] = "its request: further wires and switches",
		[ACCOUNT_OUT_PAUSED] = "its request: at paused ports of switches",
		[ACCOUNT_OUT_QUEUED] = "its request: behind others in switches",
		[ACCOUNT_TARGET] = "the target, before and between its responses",
		[ACCOUNT_BACK_WIRE] = "the last response: wires and switches",
		[ACCOUNT_BACK_PAUSED] = "the last response: at paused ports of switches",
		[ACCOUNT_BACK_QUEUED] = "the last response: behind others in switches",
	};

	return names[part];
}

static const char *part_name(enum account_part part, const struct account_sum *sum,
			     const struct scenario *scenario, bool waits_for_data)
{
	const char *own = sum->flow.is_answered ? answered_part_name(part) : NULL;

	if (own)
		return own;
	switch (part) {
	case ACCOUNT_OWN:
		return "its packets on the wire";
	case ACCOUNT_RESENT:
		return "packets that were sent again, on the wire";
	case ACCOUNT_PAUSED:
		return "paused";
	case ACCOUNT_BEFORE:
		return "requests before it, at its port";
	case ACCOUNT_OTHERS:
		return "frames of others at its port";
	case ACCOUNT_LOST:
		return "waiting before something was sent again";
	case ACCOUNT_LOST_TIMEOUT:
		return "waiting before it was sent again: ACK timeout";
	case ACCOUNT_LOST_NAK:
		return "waiting before it was sent again: sequence NAK";
	case ACCOUNT_LOST_RNR:
		return "waiting before it was sent again: RNR NAK";
	case ACCOUNT_HELD:
		return held_name(sum, scenario, waits_for_data);
	case ACCOUNT_OUT_WIRE:
		return "its last packet: further wires and switches";
	case ACCOUNT_OUT_PAUSED:
		return "its last packet: at paused ports of switches";
	case ACCOUNT_OUT_QUEUED:
		return "its last packet: behind others in switches";
	case ACCOUNT_TARGET:
		return "the target, until its acknowledgement left";
	case ACCOUNT_BACK_WIRE:
		return "the acknowledgement: wires and switches";
	case ACCOUNT_BACK_PAUSED:
		return "the acknowledgement: at paused ports of switches";
	case ACCOUNT_BACK_QUEUED:
		return "the acknowledgement: behind others in switches";
	case ACCOUNT_UNSEEN:
		return unseen_name(&sum->flow);
	case ACCOUNT_PARTS:
		break;
	}
	return NULL;
}

static void say_part(const char *what, ps_t time, ps_t whole)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64 " us", time / PS_US, time % PS_US);
	printf("  %-50s %18s  %5.1f %%\n", what, text,
	       whole ? 100.0 * (double)time / (double)whole : 0);
}

/* Behind a time: how much of it was a pause. */
static void say_paused(ps_t paused, ps_t whole)
{
	if (paused > 0)
		printf(" (%.1f %% of it paused)", 100.0 * (double)paused / (double)whole);
}

static void say_ways(const struct ways *ways, const struct events *events, const char *what)
{
	if (ways->hop_count > 0)
		printf("%s waited:\n", what);
	for (uint32_t i = 0; i < ways->hop_count; i++) {
		const struct way_hop *hop = &ways->hops[i];

		printf("  at %s towards %s: %s in the mean", events->ports[hop->port].node,
		       events->ports[hop->port].peer, explain_length(hop->sum / hop->count));
		say_paused(hop->paused, hop->sum);
		printf(", %s at most, the last one %s", explain_length(hop->most),
		       explain_length(hop->last));
		say_paused(hop->last_paused, hop->last);
		putchar('\n');
	}
}

/* Where a packet stood for at least a tenth of the time, and behind what. */
static void say_stands(const struct way *way, const struct account_sum *sum,
		       const struct events *events, const char *what)
{
	char bytes[OUTPUT_TEXT_MAX];

	for (uint32_t i = 1; way && i < way->step_count; i++) {
		const struct way_step *step = &way->steps[i];
		const struct events_port *port = &events->ports[step->port];
		const ps_t wait = step->start_at - step->ready_at;

		if (wait <= step->paused || wait < sum->whole / 10)
			continue;
		printf("%s stood %s at %s towards %s", what, explain_length(wait), port->node,
		       port->peer);
		if (step->before_bytes > 0)
			printf(", while %s of priority %u went first",
			       output_bytes(step->before_bytes, bytes), step->before);
		if (step->before_bytes > 0 && step->before != sum->flow.priority)
			printf("; it has priority %u", sum->flow.priority);
		puts(".");
	}
}

/* That one of the same packet came behind it and went on is how it is known. */
static void say_lost_answer(const struct account_sum *sum, const struct events *events)
{
	const struct way_step *last = sum->lost_answer ? way_last(sum->lost_answer) : NULL;

	if (!last)
		return;
	printf("%s before it was lost: it left %s towards %s at ",
	       sum->flow.is_answered ? "A response" : "An acknowledgement",
	       events->ports[last->port].node, events->ports[last->port].peer);
	explain_time(last->start_at);
	printf(", and %s never sent it on.\n", events->ports[last->port].peer);
}

static const char *outcome(const struct account_sum *sum)
{
	const struct account_flow *flow = &sum->flow;

	if (flow->is_lost)
		return sum->key.is_request ? "gone with its queue pair" : "lost";
	if (!flow->has_ended)
		return "unfinished";
	return flow->is_ok ? "done" : "failed";
}

static void say_whose(const struct account_sum *sum, const struct events *events)
{
	const struct account_flow *flow = &sum->flow;
	const struct scenario *scenario = events->scenario;
	struct host *const *hosts = events->fabric->table.hosts;

	if (sum->key.is_request)
		printf("Work request wr%" PRIu64 " of %s, rank %u, a %s,", sum->key.number,
		       scenario->programs[flow->program].name, flow->rank,
		       request_opcode_name(flow->opcode));
	else
		printf("Flow %" PRIu64 ", %s,", sum->key.number,
		       scenario->classes[flow->class_index]);
	printf(" %s to %s, %" PRIu64 " bytes of priority %u: %s after %s.\n",
	       hosts[flow->src]->node.name, host_index_name(events->fabric, flow->dst), flow->bytes,
	       flow->priority, outcome(sum), explain_length(sum->whole));
	if (!flow->has_ended && !flow->is_lost && scenario->until != PS_NEVER)
		printf("The run ended at %s; the last arrival of all was at %s.\n",
		       explain_length(scenario->until),
		       explain_length(sim_now(events->fabric->sim)));
	if (flow->has_ended && !flow->is_ok)
		printf("Its status is %s: %s.\n", failures_name(flow->status),
		       failures_words(flow->status));
}

static uint64_t rate_it_had(const struct account_sum *sum)
{
	return (uint64_t)((u128)sum->flow.bytes * PS_S / sum->whole);
}

/* What the transmit buffer of the adapter, which is as large as what comes from memory in a round
 * trip, lets through: bytes a second; 0: that is more than it had. */
static uint64_t rate_by_buffer(const struct account_sum *sum, const struct limit *limit)
{
	const ps_t trip = limit_round_trip(limit);
	const uint64_t most =
		trip ? (uint64_t)((u128)limit->host->params.bus->tx_bytes * PS_S / trip) : 0;

	return most - most / 5 > rate_it_had(sum) ? 0 : most;
}

static bool say_buffer(const struct account_sum *sum, const struct limit *limit)
{
	const uint64_t most = rate_by_buffer(sum, limit);
	char size[OUTPUT_TEXT_MAX], rate[OUTPUT_TEXT_MAX];

	if (most == 0)
		return false;
	printf("What is left is the transmit buffer of %s: %s (machine.tx) wait for their bytes at "
	       "once, which come after %s in the mean: at most %s/s.\n",
	       limit->host->node.name, output_bytes(limit->host->params.bus->tx_bytes, size),
	       explain_length(limit_round_trip(limit)), output_bytes(most, rate));
	return true;
}

/* Rather than for its window: lanes, tags, credits or its buffer let its data come no faster. */
static bool waits_for_data(const struct explain *explain, const struct account_sum *sum)
{
	struct limit limit;

	return insides_limit_of_flow(&explain->insides, &sum->flow, true, &limit) &&
	       (limit.kind != LIMIT_NONE || rate_by_buffer(sum, &limit) > 0);
}

/* Not where all of it fits into its window. */
static void say_window(const struct account_sum *sum, const struct scenario *scenario)
{
	const u128 window = (u128)scenario->nic.psn_window * scenario->nic.mtu;
	char rate[OUTPUT_TEXT_MAX], bytes[OUTPUT_TEXT_MAX];

	if (window >= sum->flow.bytes)
		return;
	printf("What is left is its window: %u packets of %u bytes (nic.window), %s, go out in "
	       "each "
	       "round trip, which at the %s/s that it had is %s.\n",
	       scenario->nic.psn_window, scenario->nic.mtu, output_bytes((uint64_t)window, bytes),
	       output_bytes(rate_it_had(sum), rate),
	       explain_length((ps_t)(window * sum->whole / sum->flow.bytes)));
}

/* What let data move no faster inside of the machines at both ends, where they have any. */
static void say_insides(const struct explain *explain, const struct account_sum *sum)
{
	const uint64_t own = sum->resent ? 0 : sum->flow.bytes;
	struct limit limits[2];
	bool is_known[2], is_limited = false;

	for (int end = 0; end < 2; end++) {
		struct limit *limit = &limits[end];

		is_known[end] =
			insides_limit_of_flow(&explain->insides, &sum->flow, end == 0, limit);
		if (!is_known[end])
			continue;
		limit_say(limit, own, stdout);
		putchar('\n');
		if (limit_help(limit, "    What would help: ", stdout))
			putchar('\n');
		is_limited = is_limited || limit->kind != LIMIT_NONE;
	}
	if ((!is_known[0] && !is_known[1]) || is_limited ||
	    sum->parts[ACCOUNT_HELD] + sum->parts[ACCOUNT_TARGET] < sum->whole / 4)
		return;
	if (!is_known[0] || !say_buffer(sum, &limits[0]))
		say_window(sum, explain->events->scenario);
}

/* What the machine did before the request was there, and what else while it was. */
static void say_gpus(const struct explain *explain, const struct account_sum *sum)
{
	const struct insides *insides = &explain->insides;
	const struct machine_watch *before = insides_before(insides);
	struct bad_text title;

	if (before) {
		bad_text(&title, "Before it was posted, in the %s since %s, inside %s:",
			 explain_length(before->until - before->from),
			 insides->last_request == UINT64_MAX
				 ? "the run had begun"
				 : "the last request of its rank had ended",
			 before->machine->name);
		(void)gpu_words_say(before, title.text, stdout);
	}
	for (int end = 0; end < (sum->flow.src == sum->flow.dst ? 1 : 2); end++) {
		const struct machine_watch *watch = insides_meanwhile(insides, end);

		if (watch)
			(void)gpu_words_say(
				watch,
				bad_text(&title, "Meanwhile, inside %s:", watch->machine->name),
				stdout);
	}
}

void explain_slow(const struct explain *explain)
{
	const struct events *events = explain->events;
	const struct account_sum sum = account_close(explain->account);
	const bool is_answered = sum.flow.is_answered;
	const bool waits = waits_for_data(explain, &sum);

	say_whose(&sum, events);
	printf("%" PRIu64 " packets left %s, %" PRIu64
	       " of them were sent again. Where its time went%s:\n",
	       sum.packets, is_answered ? "the target" : "its host", sum.resent,
	       is_answered ? "" : ", at the source up to its last packet");
	for (int part = 0; part < ACCOUNT_PARTS; part++)
		if (sum.parts[part] > 0)
			say_part(part_name((enum account_part)part, &sum, events->scenario, waits),
				 sum.parts[part], sum.whole);
	say_part("in all", sum.whole, sum.whole);
	if (!is_answered)
		say_stands(sum.last, &sum, events, "Its last packet");
	say_stands(sum.answer, &sum, events,
		   is_answered ? "The last response" : "The acknowledgement");
	say_lost_answer(&sum, events);
	say_ways(sum.out, events,
		 is_answered ? "On the way its request" : "On the way its packets");
	say_ways(sum.back, events,
		 is_answered ? "On the way back its responses"
			     : "On the way back its acknowledgements");
	culprits_say(explain, &sum);
	say_insides(explain, &sum);
	say_gpus(explain, &sum);
}
