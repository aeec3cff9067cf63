/* SPDX-License-Identifier: BSD-2-Clause */

/* Where the time of a flow went. At its source every instant from its start to its end belongs to
 * one account: its own packets on the wire, the same once more for what is sent again, a pause,
 * frames of others, waiting for what was lost, a rate or a window that does not let it send, and
 * the way of the last packet and its acknowledgement. They add up to the completion time, to the
 * picosecond. */
#include "tools/explain/explain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 1 << 16, HOPS_MAX = 32 };

struct slot { /* a packet on its way */
	uint32_t psn, port;
	ps_t ready_at; /* could leave the node that it comes to */
	bool is_used;
};

struct hop {
	uint32_t port;
	uint64_t count;
	ps_t sum, most;
};

struct explain_account {
	const struct events *events;
	const struct traffic_flow *flow; /* NULL: of a stream, and not made yet */
	struct traffic_flow own;	 /* once one of a stream has ended */
	uint64_t number;
	uint32_t source; /* port of the sender */
	ps_t free_at;	 /* the end of its last packet, or its start */
	/* Since then. */
	ps_t shut_since, paused, others;
	uint64_t packets, retransmitted;
	ps_t own_sum, retransmitted_sum, paused_sum, others_sum, lost_sum, held_sum;
	bool is_last_retransmitted; /* its last packet was sent again */
	struct slot *slots;
	struct hop hops[HOPS_MAX];
	uint32_t hop_count;
};

struct explain_account *explain_account_create(const struct events *events, uint64_t flow)
{
	struct explain_account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->events = events;
	a->number = flow;
	a->shut_since = PS_NEVER;
	a->slots = calloc(SLOTS, sizeof(*a->slots));
	if (!a->slots) {
		free(a);
		return NULL;
	}
	return a;
}

void explain_account_find(struct explain_account *a, const struct explain_port *ports)
{
	const struct scenario *scenario = a->events->scenario;
	const char *source;

	if (a->flow)
		return;
	a->flow = a->number < scenario->flow_count
			  ? &scenario->flows[a->number]
			  : traffic_streamed(a->events->traffic, a->number);
	if (!a->flow)
		return;
	a->free_at = a->flow->start_at;
	source = a->events->fabric->table.hosts[a->flow->src]->node.name;
	while (strcmp(a->events->ports[a->source].node, source) != 0)
		a->source++;
	if (ports[a->source].shut >> a->flow->priority & 1)
		a->shut_since = ports[a->source].shut_since[a->flow->priority];
}

bool explain_account_is_there(const struct explain_account *a)
{
	return a->flow != NULL;
}

void explain_account_keep(struct explain_account *a)
{
	if (!a->flow || !a->flow->streamed || a->flow == &a->own ||
	    a->flow->status == TRAFFIC_PENDING)
		return;
	a->own = *a->flow;
	a->own.packets_retransmitted = traffic_retransmitted(a->flow);
	a->flow = &a->own;
}

void explain_account_destroy(struct explain_account *account)
{
	if (account)
		free(account->slots);
	free(account);
}

static ps_t wire_time(const struct explain_account *a, const struct event *event)
{
	const uint64_t rate = a->events->ports[event->port].rate_bps;

	return (ps_t)(((u128)event->bytes * 8 * PS_S + rate - 1) / rate);
}

static ps_t slow_later(ps_t a, ps_t b)
{
	return a > b ? a : b;
}

/* ---- at the source ---- */

static void close_pause(struct explain_account *a, ps_t at)
{
	if (a->shut_since == PS_NEVER)
		return;
	if (at > slow_later(a->shut_since, a->free_at))
		a->paused += at - slow_later(a->shut_since, a->free_at);
	a->shut_since = at;
}

/* What lies between its last packet and @at, where it was sent again or could be sent. */
static void close_gap(struct explain_account *a, ps_t at, bool retransmitted)
{
	ps_t gap = at > a->free_at ? at - a->free_at : 0, part;

	close_pause(a, at);
	part = a->paused < gap ? a->paused : gap;
	a->paused_sum += part;
	gap -= part;
	part = a->others < gap ? a->others : gap;
	a->others_sum += part;
	gap -= part;
	*(retransmitted ? &a->lost_sum : &a->held_sum) += gap;
	a->paused = a->others = 0;
}

static void add_own(struct explain_account *a, const struct event *event)
{
	const ps_t time = wire_time(a, event);

	a->packets++;
	a->retransmitted += event->retransmitted;
	close_gap(a, event->at, event->retransmitted);
	*(event->retransmitted ? &a->retransmitted_sum : &a->own_sum) += time;
	a->is_last_retransmitted = event->retransmitted;
	a->free_at = event->at + time;
}

/* Whether each packet has left once. */
static bool is_all_sent(const struct explain_account *a)
{
	const uint32_t mtu = a->events->scenario->nic.mtu;

	return a->packets - a->retransmitted >= (a->flow->bytes + mtu - 1) / mtu;
}

/* At the end of the flow or of the run: what lies behind its last packet. */
static ps_t slow_close_all(struct explain_account *a, ps_t end)
{
	if (a->free_at > end) { /* with a packet on the wire that nobody needs any more */
		*(a->is_last_retransmitted ? &a->retransmitted_sum : &a->own_sum) -=
			a->free_at - end;
		a->free_at = end;
	}
	if (a->flow->status == TRAFFIC_PENDING && !is_all_sent(a)) {
		close_gap(a, end, false);
		a->free_at = end;
	}
	return end - a->free_at;
}

/* ---- on the way ---- */

static struct hop *hop_of(struct explain_account *a, uint32_t port)
{
	uint32_t i = 0;

	while (i < a->hop_count && a->hops[i].port != port)
		i++;
	if (i == HOPS_MAX)
		return NULL;
	if (i == a->hop_count)
		a->hops[a->hop_count++].port = port;
	return &a->hops[i];
}

static void follow(struct explain_account *a, const struct event *event)
{
	const struct events_port *port = &a->events->ports[event->port];
	struct slot *slot = &a->slots[event->psn % SLOTS];

	if (slot->is_used && slot->psn == event->psn &&
	    strcmp(a->events->ports[slot->port].peer, port->node) == 0) {
		const ps_t wait = event->at > slot->ready_at ? event->at - slot->ready_at : 0;
		struct hop *hop = hop_of(a, event->port);

		if (hop) {
			hop->count++;
			hop->sum += wait;
			hop->most = slow_later(hop->most, wait);
		}
	}
	*slot = (struct slot){.psn = event->psn,
			      .port = event->port,
			      .ready_at = event->at + wire_time(a, event) + port->delay +
					  (a->events->ports[port->far].is_host
						   ? 0
						   : a->events->scenario->switches.latency),
			      .is_used = true};
}

static bool slow_is_own(const struct explain_account *a, const struct event *event)
{
	uint64_t number;

	return event->dst == a->flow->dst && wire_ops[event->opcode].request &&
	       events_flow(a->events, event, &number) && number == a->number;
}

void explain_account_add(struct explain_account *a, const struct event *event)
{
	const bool is_source = event->port == a->source;

	if (a->flow->status != TRAFFIC_PENDING && event->at >= a->flow->end_at)
		return;
	if (event->kind == EVENT_SHUT || event->kind == EVENT_OPEN) {
		if (!is_source || event->priority != a->flow->priority)
			return;
		close_pause(a, event->at);
		a->shut_since = event->kind == EVENT_SHUT ? event->at : PS_NEVER;
		return;
	}
	if (slow_is_own(a, event)) {
		if (is_source)
			add_own(a, event);
		follow(a, event);
	} else if (is_source && a->shut_since == PS_NEVER && event->at >= a->free_at) {
		a->others += wire_time(a, event);
	}
}

/* ---- in words ---- */

static void say_part(const char *what, ps_t time, ps_t whole)
{
	char text[32];

	if (time == 0)
		return;
	snprintf(text, sizeof(text), "%" PRIu64 ".%06" PRIu64 " us", time / PS_US, time % PS_US);
	printf("  %-50s %18s  %5.1f %%\n", what, text,
	       whole ? 100.0 * (double)time / (double)whole : 0);
}

static void say_hops(const struct explain_account *a)
{
	printf("On the way its packets waited:\n");
	for (uint32_t i = 0; i < a->hop_count; i++) {
		const struct hop *hop = &a->hops[i];

		printf("  at %s towards %s: %s in the mean, %s at most\n",
		       a->events->ports[hop->port].node, a->events->ports[hop->port].peer,
		       explain_length(hop->sum / hop->count), explain_length(hop->most));
	}
}

static const char *held_name(const struct explain_account *a)
{
	return a->events->scenario->nic.cc == SCENARIO_CC_NONE
		       ? "its window is full, or its host has not begun"
		       : "its rate (congestion control) or its window";
}

void explain_slow(const struct explain *explain)
{
	struct explain_account *a = explain->account;
	const struct traffic_flow *flow = a->flow;
	struct host *const *hosts = a->events->fabric->table.hosts;
	const bool has_ended = flow->status != TRAFFIC_PENDING;
	const ps_t now = has_ended ? flow->end_at : sim_now(a->events->fabric->sim);
	const ps_t end = slow_later(now, flow->start_at), whole = end - flow->start_at;
	const ps_t tail = slow_close_all(a, end);

	printf("Flow %" PRIu64 ", %s, %s to %s, %" PRIu64 " bytes of priority %u: %s after %s.\n",
	       a->number, a->events->scenario->classes[flow->class_index],
	       hosts[flow->src]->node.name, hosts[flow->dst]->node.name, flow->bytes,
	       flow->priority,
	       traffic_is_lost(flow)	    ? "lost"
	       : !has_ended		    ? "unfinished"
	       : flow->status == TRAFFIC_OK ? "done"
					    : "failed",
	       explain_length(whole));
	printf("%" PRIu64 " packets left its host, %" PRIu64
	       " of them were sent again. Where its time went at the source:\n",
	       a->packets, a->retransmitted);
	say_part("its packets on the wire", a->own_sum, whole);
	say_part("packets that were sent again, on the wire", a->retransmitted_sum, whole);
	say_part("paused", a->paused_sum, whole);
	say_part("frames of others at its port", a->others_sum, whole);
	say_part("waiting before something was sent again", a->lost_sum, whole);
	say_part(held_name(a), a->held_sum, whole);
	say_part(!has_ended		      ? "after its last packet, until the end of the run"
		 : flow->status == TRAFFIC_OK ? "after its last packet, until the acknowledgement"
					      : "after its last packet, until it gave up",
		 tail, whole);
	say_part("in all", whole, whole);
	if (a->hop_count > 0)
		say_hops(a);
}
