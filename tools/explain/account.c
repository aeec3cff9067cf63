/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/account.h"

#include "tools/observe/host_index.h"
#include "transport/wire/psn.h"

#include <stdlib.h>
#include <string.h>

/* Acknowledgements of one packet that are known at once, the latest of them: it is sent again, or
 * others before it are, and each is answered. */
enum { ANSWERS_MAX = 8 };
/* For the port of who receives multicast. */
#define NO_PORT UINT32_MAX

enum role { ROLE_OTHER, ROLE_REQUEST, ROLE_ANSWER };

struct account {
	struct way_view view;
	struct subject key;
	bool is_there;
	struct account_flow flow; /* as it is now */
	uint32_t source, target;  /* ports of the hosts */
	uint32_t sender;	  /* of the two: where its packets come from now */
	ps_t free_at;		  /* the end of its last packet, or its start */
	ps_t others, before_it;	  /* since then: frames of others, and of requests before it */
	/* Kinds of NAKs (WIRE_SYN_...), 0: none: the last since it went back, and why it went back.
	 */
	uint8_t nak, cause;
	uint32_t at_psn; /* of its last packet */
	uint64_t packets, resent;
	ps_t parts[ACCOUNT_PARTS];
	bool is_last_resent;		 /* its last packet was sent again */
	uint32_t high_psn;		 /* the furthest that has left */
	struct way last;		 /* of the last that has left the source */
	struct way answers[ANSWERS_MAX]; /* of those that end it */
	uint64_t *sent, *before;	 /* of view, and of the ways */
	uint32_t answer_count;
	struct ways out, back;
};

struct account *account_create(const struct events *events, const struct stops *stops,
			       struct subject key)
{
	const size_t room = way_room(events);
	struct account *a = calloc(1, sizeof(*a));

	if (!a)
		return NULL;
	a->sent = calloc((size_t)events->port_count * events->priority_count + 1, sizeof(*a->sent));
	a->before = calloc((ANSWERS_MAX + 1) * room + 1, sizeof(*a->before));
	a->view = (struct way_view){events, stops, a->sent};
	a->key = key;
	a->last.sent_before = a->before;
	for (uint32_t i = 0; i < ANSWERS_MAX; i++)
		a->answers[i].sent_before = a->before + (i + 1) * room;
	if (a->sent && a->before && !ways_init(&a->out) && !ways_init(&a->back))
		return a;
	account_destroy(a);
	return NULL;
}

void account_destroy(struct account *account)
{
	if (!account)
		return;
	ways_fini(&account->out);
	ways_fini(&account->back);
	free(account->sent);
	free(account->before);
	free(account);
}

/* ---- what it is of ---- */

static struct account_flow of_flow(const struct account *a, const struct traffic_flow *flow)
{
	const uint32_t mtu = a->view.events->scenario->nic.mtu;

	return (struct account_flow){
		.src = flow->src,
		.dst = flow->dst,
		.class_index = flow->class_index,
		.qpn = flow->source_qpn,
		.priority = flow->priority,
		.has_ended = flow->status != TRAFFIC_PENDING,
		.is_ok = flow->status == TRAFFIC_OK,
		.status = (enum hca_wc_status)flow->wc_status,
		.is_lost = traffic_is_lost(flow),
		.bytes = flow->bytes,
		.packets = (flow->bytes + mtu - 1) / mtu,
		.start_at = flow->start_at,
		.end_at = flow->end_at,
	};
}

static struct account_flow of_request(const struct request *request)
{
	return (struct account_flow){
		.src = request->src,
		.dst = request->dst,
		.priority = request->priority,
		.has_ended = request->state == REQUEST_ENDED,
		.is_ok = request->state == REQUEST_ENDED && request->status == HCA_WC_SUCCESS,
		.status = request->status,
		.is_lost = request->state == REQUEST_GONE,
		.is_answered = request->is_answered,
		.bytes = request->bytes,
		.packets = request->packets,
		.start_at = request->posted_at,
		.end_at = request->end_at,
		.program = request->program,
		.rank = request->rank,
		.qpn = request->qpn,
		.last_psn = wire_psn_add(request->first_psn, request->packets - 1),
		.opcode = request->opcode,
	};
}

/* False: it is not there yet, or, of a stream, not any more. */
static bool look(struct account *a)
{
	const struct events *events = a->view.events;
	const struct traffic_flow *flow;

	if (a->key.is_request) {
		const struct request *request =
			events->requests ? request_log_at(events->requests, a->key.number) : NULL;

		if (request)
			a->flow = of_request(request);
		return request != NULL;
	}
	flow = a->key.number < events->scenario->flow_count
		       ? &events->scenario->flows[a->key.number]
		       : traffic_streamed(events->traffic, a->key.number);
	if (flow)
		a->flow = of_flow(a, flow);
	return flow != NULL;
}

static uint32_t host_port(const struct account *a, uint32_t host)
{
	const char *name = a->view.events->fabric->table.hosts[host]->node.name;
	uint32_t port = 0;

	while (strcmp(a->view.events->ports[port].node, name) != 0)
		port++;
	return port;
}

void account_find(struct account *a)
{
	if ((a->is_there && a->flow.has_ended) || !look(a) || a->is_there)
		return;
	a->is_there = true;
	a->free_at = a->flow.start_at;
	a->source = a->sender = host_port(a, a->flow.src);
	a->target = a->flow.dst == HOST_INDEX_MCAST ? NO_PORT : host_port(a, a->flow.dst);
}

bool account_is_there(const struct account *a)
{
	return a->is_there;
}

const struct account_flow *account_flow_of(const struct account *a)
{
	return a->is_there ? &a->flow : NULL;
}

void account_keep(struct account *a)
{
	if (a->is_there && !a->flow.has_ended)
		look(a);
}

/* ---- at the sender ---- */

/* What it waited for before it sent again. */
static enum account_part lost_part(const struct account *a)
{
	if (a->sender == a->target || a->flow.is_answered ||
	    a->view.events->scenario->nic.retransmit == HCA_SELECTIVE)
		return ACCOUNT_LOST;
	return a->cause == WIRE_SYN_RNR	  ? ACCOUNT_LOST_RNR
	       : a->cause == WIRE_SYN_NAK ? ACCOUNT_LOST_NAK
					  : ACCOUNT_LOST_TIMEOUT;
}

/* What lies between its last packet and @at, where it was sent again or could be sent. */
static void close_gap(struct account *a, ps_t at, bool resent)
{
	const ps_t paused =
		stops_between(a->view.stops, a->sender, a->flow.priority, a->free_at, at);
	ps_t gap = at > a->free_at ? at - a->free_at : 0, part;

	a->parts[ACCOUNT_PAUSED] += paused;
	gap -= paused;
	part = a->before_it < gap ? a->before_it : gap;
	a->parts[ACCOUNT_BEFORE] += part;
	gap -= part;
	part = a->others < gap ? a->others : gap;
	a->parts[ACCOUNT_OTHERS] += part;
	gap -= part;
	a->parts[resent			  ? lost_part(a)
		 : a->sender == a->target ? ACCOUNT_TARGET
					  : ACCOUNT_HELD] += gap;
	a->others = a->before_it = 0;
}

static void add_own(struct account *a, const struct event *event, bool resent)
{
	const ps_t time = way_wire_time(&a->view, event);

	if (resent && wire_psn_diff(event->psn, a->at_psn) <= 0) { /* it goes back */
		a->cause = a->nak;
		a->nak = 0;
	}
	a->at_psn = event->psn;
	a->packets++;
	a->resent += resent;
	close_gap(a, event->at, resent);
	a->parts[resent ? ACCOUNT_RESENT : ACCOUNT_OWN] += time;
	a->is_last_resent = resent;
	a->free_at = event->at + time;
}

/* ---- on the way ---- */

struct walk {
	struct account *account;
	ps_t at, end; /* what is before @at has its part */
};

static void give_part(struct walk *walk, enum account_part part, ps_t until)
{
	if (until > walk->end)
		until = walk->end;
	if (until <= walk->at)
		return;
	walk->account->parts[part] += until - walk->at;
	walk->at = until;
}

/* @wire: the part of wires; behind it those of pauses and of queues. */
static void give_way(struct walk *walk, const struct way *way, enum account_part wire)
{
	for (uint32_t i = 0; i < way->step_count; i++) {
		const struct way_step *step = &way->steps[i];

		give_part(walk, wire + 1, step->ready_at + step->paused);
		give_part(walk, wire + 2, step->start_at);
		give_part(walk, wire,
			  i + 1 < way->step_count ? way->steps[i + 1].ready_at : way->ready_at);
	}
}

/* The target begins to answer a READ: what was before is the way of the request to it. */
static void turn_to_target(struct account *a, ps_t at)
{
	struct walk walk = {a, a->free_at, at};

	give_way(&walk, &a->last, ACCOUNT_OUT_WIRE);
	a->free_at = walk.at;
	a->sender = a->target;
	a->packets = a->resent = 0;
	a->others = a->before_it = 0;
}

static void account_request(struct account *a, const struct event *event)
{
	ways_follow(&a->out, &a->view, event);
	if (event->port != a->source) {
		way_follow(&a->last, &a->view, event);
		return;
	}
	if (a->sender != a->source) /* a part of a READ is asked for again */
		return;
	if (!a->flow.is_answered &&
	    (a->packets == 0 || wire_psn_diff(event->psn, a->high_psn) > 0)) {
		a->high_psn = event->psn;
		a->answer_count = 0;
	}
	add_own(a, event, event->retransmitted);
	way_begin(&a->last, &a->view, event);
}

/* A response of a READ leaves the target. */
static void add_response(struct account *a, const struct event *event)
{
	bool resent;

	if (a->sender != a->target)
		turn_to_target(a, event->at);
	resent = a->packets > 0 && wire_psn_diff(event->psn, a->high_psn) <= 0;
	if (!resent)
		a->high_psn = event->psn;
	add_own(a, event, resent);
}

/* Whether nothing but this one has to come for the account to end. */
static bool is_last_answer(const struct account *a, const struct event *event)
{
	if (a->flow.is_answered)
		return event->psn == a->flow.last_psn;
	/* An acknowledgement of what was posted later is one of this, too. */
	return a->packets > 0 &&
	       (event->psn == a->high_psn ||
		(a->answer_count == 0 && wire_psn_diff(event->psn, a->high_psn) > 0));
}

static void add_answer(struct account *a, const struct event *event)
{
	ways_follow(&a->back, &a->view, event);
	if (event->port == a->target && a->flow.is_answered && wire_ops[event->opcode].payload)
		add_response(a, event);
	if (event->port == a->target && is_last_answer(a, event))
		way_begin(&a->answers[a->answer_count++ % ANSWERS_MAX], &a->view, event);
	else if (event->port != a->target)
		for (uint32_t i = 0; i < a->answer_count && i < ANSWERS_MAX; i++)
			way_follow(&a->answers[i], &a->view, event);
}

/* ---- events ---- */

static enum role role_in_queue(const struct account *a, const struct event *event, bool is_request)
{
	const bool is_later = !is_request && event->qpn == a->flow.qpn &&
			      !wire_ops[event->opcode].payload && !a->flow.is_answered &&
			      wire_psn_diff(event->psn, a->flow.last_psn) >= 0;
	uint64_t number;

	if (is_later)
		return ROLE_ANSWER;
	if (!events_request(a->view.events, event, &number) || number != a->key.number)
		return ROLE_OTHER;
	return is_request ? ROLE_REQUEST : ROLE_ANSWER;
}

static enum role role_of(const struct account *a, const struct event *event)
{
	const struct wire_op *op = &wire_ops[event->opcode];
	const bool is_request = op->request && event->dst == a->flow.dst;
	uint64_t number;

	if (event->is_stray || (!is_request && (!op->response || event->dst != a->flow.src)))
		return ROLE_OTHER;
	if (a->key.is_request)
		return role_in_queue(a, event, is_request);
	if (!events_flow(a->view.events, event, &number) || number != a->key.number)
		return ROLE_OTHER;
	return is_request ? ROLE_REQUEST : ROLE_ANSWER;
}

static void look_ahead(struct account *a, ps_t at)
{
	way_look(&a->last, &a->view, at);
	for (uint32_t i = 0; i < a->answer_count && i < ANSWERS_MAX; i++)
		way_look(&a->answers[i], &a->view, at);
}

/* Whose time a frame of others takes at the sender; NULL: nobody's, since a request that was posted
 * behind this one to the same queue pair does not hold it up. */
static ps_t *other_time(struct account *a, const struct event *event)
{
	const struct request *request;
	uint64_t number;

	request = a->key.is_request ? events_request(a->view.events, event, &number) : NULL;
	if (!request || request->src != a->flow.src || request->qpn != a->flow.qpn)
		return &a->others;
	return number < a->key.number ? &a->before_it : NULL;
}

/* To its queue pair, whose other requests are sent again with it. */
static void hear_nak(struct account *a, const struct event *event)
{
	const struct wire_op *op = &wire_ops[event->opcode];
	const uint8_t type = event->word >> 24 & WIRE_SYN_TYPE_MASK;

	if (event->port == a->target && op->response && op->aeth && type != WIRE_SYN_ACK &&
	    event->dst == a->flow.src && event->qpn == a->flow.qpn)
		a->nak = type;
}

static void account_event(struct account *a, const struct event *event)
{
	ps_t *time;

	if (event->at < a->flow.start_at || (a->flow.has_ended && event->at >= a->flow.end_at))
		return;
	hear_nak(a, event);
	switch (role_of(a, event)) {
	case ROLE_REQUEST:
		account_request(a, event);
		return;
	case ROLE_ANSWER:
		add_answer(a, event);
		return;
	case ROLE_OTHER:
		break;
	}
	if (event->port != a->sender || event->at < a->free_at ||
	    stops_lasts(a->view.stops, a->sender, a->flow.priority))
		return;
	time = other_time(a, event);
	if (time)
		*time += way_wire_time(&a->view, event);
}

void account_add(struct account *a, const struct event *event)
{
	const struct events *events = a->view.events;

	look_ahead(a, event->at);
	account_event(a, event);
	a->sent[(size_t)event->port * events->priority_count + event->priority] += event->bytes;
}

/* ---- at the end ---- */

/* The one that ended it: earlier ones of the same packet came while others were missing. NULL: none
 * has come. */
static const struct way *last_answer(const struct account *a, ps_t end)
{
	const struct way *last = NULL;

	for (uint32_t i = 0; i < a->answer_count && i < ANSWERS_MAX; i++) {
		const struct way *way = &a->answers[i];

		if (way_is_at_host(way, &a->view) && way->ready_at <= end &&
		    (!last || way->ready_at > last->ready_at))
			last = way;
	}
	return last;
}

/* The last of those that were lost before @answer. */
static const struct way *lost_answer(const struct account *a, const struct way *answer)
{
	const struct way *lost = NULL;

	for (uint32_t i = 0; answer && i < a->answer_count && i < ANSWERS_MAX; i++) {
		const struct way *way = &a->answers[i];

		if (way_has_passed(answer, way) && (!lost || way->ready_at > lost->ready_at))
			lost = way;
	}
	return lost;
}

/* What lies behind its last packet. */
static void close_tail(struct account *a, ps_t end)
{
	const struct way *answer = last_answer(a, end);
	struct walk walk = {a, a->free_at, end};

	/* It was sent again although it had come: that one is not the one that counts. */
	if (answer && answer->steps[0].start_at < end)
		walk.end = answer->steps[0].start_at;
	if (a->sender == a->source)
		give_way(&walk, &a->last, ACCOUNT_OUT_WIRE);
	walk.end = end;
	if (answer) {
		give_part(&walk, ACCOUNT_TARGET, answer->steps[0].start_at);
		give_way(&walk, answer, ACCOUNT_BACK_WIRE);
	}
	give_part(&walk, ACCOUNT_UNSEEN, end);
}

/* At the end of the flow or of the run. */
static void close_all(struct account *a, ps_t end)
{
	const bool waits_for_answer =
		a->flow.is_answered && a->sender == a->source && a->packets > 0;
	const bool is_all_sent = a->packets - a->resent >= a->flow.packets || waits_for_answer;

	if (a->free_at > end) { /* with a packet on the wire that nobody needs any more */
		a->parts[a->is_last_resent ? ACCOUNT_RESENT : ACCOUNT_OWN] -= a->free_at - end;
		a->free_at = end;
	}
	if (!a->flow.has_ended && !is_all_sent) {
		close_gap(a, end, false);
		a->free_at = end;
	}
	close_tail(a, end);
}

/* What waits then has waited up to it, also where nothing has arrived for long. */
static ps_t end_of_run(const struct events *events)
{
	const ps_t until = events->scenario->until;

	return until != PS_NEVER ? until : sim_now(events->fabric->sim);
}

struct account_sum account_close(struct account *a)
{
	const struct account_flow *flow = &a->flow;
	const ps_t now = flow->has_ended ? flow->end_at : end_of_run(a->view.events);
	const ps_t end = now > flow->start_at ? now : flow->start_at;
	struct account_sum sum = {
		.key = a->key,
		.flow = *flow,
		.whole = end - flow->start_at,
		.out = &a->out,
		.back = &a->back,
		.last = &a->last,
	};

	close_all(a, end);
	sum.answer = last_answer(a, end);
	sum.lost_answer = lost_answer(a, sum.answer);
	memcpy(sum.parts, a->parts, sizeof(sum.parts));
	sum.packets = a->packets;
	sum.resent = a->resent;
	return sum;
}
