/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/scenario/endpoint.h"

#include "util/check.h"

#include <stdlib.h>
#include <string.h>

/* The body: what the packet is, where an answer goes, its number, and where it came from. */
enum { WORD_KIND, WORD_NUMBER, WORD_REPLY, WORD_SENDER };
enum { KIND_DATA = 1, KIND_ANSWER };

static void body_release(struct sim_thread *th, struct sim_pkt *pkt)
{
	struct endpoint *ep = (struct endpoint *)(uintptr_t)pkt->body_words[WORD_SENDER];

	(void)th;
	if (ep) /* or it says words */
		__atomic_fetch_add(&ep->returned, 1, __ATOMIC_RELAXED);
}

static bool body_corrupt(struct sim_thread *th, struct sim_pkt *pkt, uint64_t draw)
{
	(void)th;
	(void)pkt;
	(void)draw;
	return false;
}

static bool body_duplicate(struct sim_thread *th, const struct sim_pkt *pkt,
			   struct sim_pkt *ret_pkt)
{
	(void)th;
	*ret_pkt = *pkt;
	return true;
}

static void body_facts(const struct sim_pkt *pkt, uint64_t ret_words[2])
{
	ret_words[0] = pkt->body_words[WORD_KIND];
	ret_words[1] = pkt->body_words[WORD_NUMBER];
}

static void body_put_words(struct sim_pkt *pkt, const uint64_t words[SIM_AGENT_WORDS])
{
	pkt->body_words[WORD_KIND] = words[0];
	pkt->body_words[WORD_NUMBER] = words[1];
	pkt->body_words[WORD_REPLY] = words[2];
	pkt->body_words[WORD_SENDER] = 0;
	pkt->bytes = 102;
}

static bool body_get_words(const struct sim_pkt *pkt, uint64_t ret_words[SIM_AGENT_WORDS])
{
	ret_words[0] = pkt->body_words[WORD_KIND];
	ret_words[1] = pkt->body_words[WORD_NUMBER];
	ret_words[2] = pkt->body_words[WORD_REPLY];
	return !pkt->body_words[WORD_SENDER];
}

const struct sim_body_ops endpoint_body = {
	.release = body_release,
	.corrupt = body_corrupt,
	.duplicate = body_duplicate,
	.facts = body_facts,
	.put_words = body_put_words,
	.get_words = body_get_words,
};

static void enqueue(struct endpoint *ep, const struct sim_pkt *pkt, bool in_front)
{
	const uint32_t count = ep->tail - ep->head;

	if (count == ep->queue_max) {
		const uint32_t max = ep->queue_max * 2;
		struct sim_pkt *queue = malloc(max * sizeof(*queue));

		CHECK(queue != NULL);
		for (uint32_t i = 0; i < count; i++)
			queue[i] = ep->queue[(ep->head + i) & (ep->queue_max - 1)];
		free(ep->queue);
		ep->queue = queue;
		ep->queue_max = max;
		ep->head = 0;
		ep->tail = count;
	}
	if (in_front)
		ep->queue[--ep->head & (ep->queue_max - 1)] = *pkt;
	else
		ep->queue[ep->tail++ & (ep->queue_max - 1)] = *pkt;
}

static bool may_send(const struct endpoint *ep, uint8_t priority, uint32_t bytes)
{
	return !ep->fc || sim_fc_may_send(ep->fc, 0, priority, bytes);
}

static uint16_t next_bytes(const struct endpoint_flow *flow)
{
	return flow->packets == 1 && flow->last_bytes ? flow->last_bytes : flow->bytes;
}

/* The flow that may send first; ties go to the one that was added first. */
static struct endpoint_flow *pick(struct endpoint *ep)
{
	struct endpoint_flow *best = NULL;

	for (uint32_t i = 0; i < ep->flow_count; i++) {
		struct endpoint_flow *flow = &ep->flows[i];

		if (flow->packets > 0 && (!best || flow->next_at < best->next_at) &&
		    may_send(ep, flow->priority, next_bytes(flow)))
			best = flow;
	}
	return best;
}

static void send(struct endpoint *ep, struct sim_thread *th, const struct sim_pkt *pkt, ps_t at)
{
	if (pkt->frame == SIM_DATA) {
		ep->sent_packets++;
		ep->sent_bytes += pkt->bytes;
		if (ep->fc)
			sim_fc_sent(ep->fc, 0, pkt);
	}
	sim_port_send(th, ep->port, pkt, at);
}

static void send_flow(struct endpoint *ep, struct sim_thread *th, struct endpoint_flow *flow,
		      ps_t at)
{
	struct sim_pkt pkt = {
		.dst = flow->dst,
		.flow_hash = flow->flow_hash,
		.bytes = next_bytes(flow),
		.ttl = 64,
	};

	sim_pkt_set_priority(&pkt, flow->priority);
	pkt.ecn = flow->ecn & 3u;
	pkt.body_words[WORD_KIND] =
		(uint64_t)KIND_DATA << 56 | (uint64_t)flow->answer << 48 | flow->id;
	pkt.body_words[WORD_NUMBER] = flow->number++;
	pkt.body_words[WORD_REPLY] = flow->reply_dst;
	pkt.body_words[WORD_SENDER] = (uintptr_t)ep;
	flow->packets--;
	flow->next_at = at + flow->gap;
	if (flow->starts && flow->packets > 0)
		flow->next_at = flow->starts[flow->number];
	send(ep, th, &pkt, at);
}

/* Since the port may have been idle, nothing starts before now. */
static void touch(struct endpoint *ep, ps_t at)
{
	if (ep->port->free_at < at)
		ep->port->free_at = at;
}

/* When the next frame starts if nothing changes: what waits in the queue, else of a flow. */
static ps_t next_start(struct endpoint *ep, struct endpoint_flow **ret_flow)
{
	const struct sim_pkt *front = &ep->queue[ep->head & (ep->queue_max - 1)];
	const ps_t at = ep->port->free_at;
	struct endpoint_flow *flow;

	*ret_flow = NULL;
	if (ep->head != ep->tail &&
	    (front->frame == SIM_CONTROL ||
	     may_send(ep, sim_pkt_priority(front, sim_priority_count(ep->node.sim)), front->bytes)))
		return at;
	*ret_flow = flow = pick(ep);
	if (!flow)
		return PS_NEVER;
	if (ep->late_packet && ep->sent_packets + 1 == ep->late_packet) {
		flow->next_at = (flow->next_at > at ? flow->next_at : at) + 1;
		ep->late_packet = 0;
	}
	return flow->next_at > at ? flow->next_at : at;
}

/* Does everything up to @until; returns when the next thing is due. */
static ps_t settle(struct endpoint *ep, struct sim_thread *th, ps_t until)
{
	for (;;) {
		struct endpoint_flow *flow;
		const ps_t at = next_start(ep, &flow);

		if (ep->fc && ep->fc->timer_at <= at) {
			const ps_t timer_at = ep->fc->timer_at;

			if (timer_at > until || timer_at == PS_NEVER)
				return timer_at;
			ep->fc->ops->on_timer(ep->fc, th, timer_at);
			touch(ep, timer_at);
			continue;
		}
		if (at > until)
			return at;
		if (flow)
			send_flow(ep, th, flow, at);
		else
			send(ep, th, &ep->queue[ep->head++ & (ep->queue_max - 1)], at);
	}
}

static void answer(struct endpoint *ep, const struct sim_pkt *pkt)
{
	struct sim_pkt back = {
		.dst = (uint32_t)pkt->body_words[WORD_REPLY],
		.flow_hash = ~pkt->flow_hash,
		.bytes = ENDPOINT_ACK_BYTES,
		.priority = 6,
		.ttl = 64,
	};

	if (sim_priority_count(ep->node.sim) > SIM_PRIORITIES)
		sim_pkt_set_priority(&back, 14);
	back.body_words[WORD_KIND] =
		(uint64_t)KIND_ANSWER << 56 | (uint32_t)pkt->body_words[WORD_KIND];
	back.body_words[WORD_NUMBER] = pkt->body_words[WORD_NUMBER];
	back.body_words[WORD_SENDER] = (uintptr_t)ep;
	enqueue(ep, &back, false);
}

static void arrive(struct endpoint *ep, struct sim_thread *th, const struct sim_pkt *pkt)
{
	settle(ep, th, pkt->at);
	touch(ep, pkt->at);
	if (ep->fc)
		sim_fc_receive(ep->fc, th, pkt);
	if (pkt->frame == SIM_DATA) {
		ep->received_packets++;
		ep->received_bytes += pkt->bytes;
		ep->marked += pkt->ecn == 3;
		ep->last_at = pkt->at;
		if (pkt->body_words[WORD_KIND] >> 56 == KIND_ANSWER)
			ep->answers++;
		else if (pkt->body_words[WORD_KIND] >> 48 & 1)
			answer(ep, pkt);
		if (ep->seen)
			ep->seen(ep, pkt, ep->context);
	}
	settle(ep, th, pkt->at);
}

static void endpoint_run(struct sim_thread *th, struct sim_node *node,
			 struct sim_pkt *const *arrivals, uint32_t count)
{
	struct endpoint *ep = container_of(node, struct endpoint, node);
	ps_t next;

	for (uint32_t i = 0; i < count; i++)
		arrive(ep, th, arrivals[i]);
	next = settle(ep, th, th->until - 1);
	if (next != PS_NEVER)
		sim_wake(th, node, next);
}

static void endpoint_finish(struct sim_node *node)
{
	struct endpoint *ep = container_of(node, struct endpoint, node);

	sim_digest_add(node, 0, ep->sent_packets, ep->received_packets);
}

static const struct sim_node_ops endpoint_ops = {
	.kind = "endpoint",
	.run = endpoint_run,
	.finish = endpoint_finish,
};

static void on_control_frame(struct sim_thread *th, struct sim_node *node, uint32_t port,
			     const struct sim_pkt *pkt, ps_t at)
{
	(void)th;
	(void)port;
	(void)at;
	enqueue(container_of(node, struct endpoint, node), pkt, true);
}

static void on_gate(struct sim_thread *th, struct sim_node *node, uint32_t port, ps_t at)
{
	(void)th;
	(void)node;
	(void)port;
	(void)at;
}

static const struct sim_fc_user user = {.control = on_control_frame, .gate = on_gate};

void endpoint_init(struct endpoint *ep, const char *name)
{
	*ep = (struct endpoint){.node = {.ops = &endpoint_ops, .name = name}, .queue_max = 8};
	ep->queue = calloc(ep->queue_max, sizeof(*ep->queue));
	CHECK(ep->queue != NULL);
}

void endpoint_fini(struct endpoint *ep)
{
	for (uint32_t i = ep->head; i != ep->tail; i++)
		ep->lost++;
	sim_fc_destroy(ep->fc);
	free(ep->flows);
	free(ep->queue);
}

void endpoint_ready(struct endpoint *ep, struct sim_fc *fc)
{
	CHECK(ep->node.port_count == 1);
	ep->port = ep->node.ports;
	ep->fc = fc;
	if (fc)
		fc->user = &user;
}

struct endpoint_flow *endpoint_add(struct endpoint *ep, struct endpoint_flow flow)
{
	if (ep->flow_count == ep->flow_max) {
		ep->flow_max = ep->flow_max ? ep->flow_max * 2 : 4;
		ep->flows = realloc(ep->flows, ep->flow_max * sizeof(flow));
		CHECK(ep->flows != NULL);
	}
	ep->flows[ep->flow_count] = flow;
	return &ep->flows[ep->flow_count++];
}
