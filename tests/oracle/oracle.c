/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/oracle.h"

#include "sim/order.h"
#include "sim/tap.h"
#include "util/check.h"

#include <stdlib.h>
#include <string.h>

enum phase { TIMER, DEPART, ARRIVE, WAKE };

struct event {
	ps_t at;
	uint64_t node_id, mix, link_id, number;
	enum phase phase;
	struct sim_node *node;
	uint32_t port;
	struct sim_pkt pkt;
};

struct item {
	struct item *next;
	struct sim_pkt pkt;
};

/* One priority of one port. */
struct lane {
	struct item *head, **tail;
	uint64_t queue, ingress, headroom, freed, stated, sent, limit; /* bytes */
	uint64_t out_bytes, marked, out_packets;
	ps_t until, refresh;
	bool paused, stopped; /* by the other end; the other end by us */
};

struct port {
	bool busy;
	ps_t end; /* of the frame on the wire */
	uint64_t number;
	struct lane lanes[SIM_QUEUES];
};

struct node {
	struct sim_node *sim;
	struct port *ports;
	bool host;
	uint64_t used, forwarded, dropped_route, dropped_buffer, dropped_headroom;
};

struct oracle {
	struct net *net;
	struct event **heap;
	uint32_t count, max;
	struct node *nodes; /* by sim_node.index */
	ps_t now;
};

/* ---- the heap ---- */

static bool before(const struct event *a, const struct event *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->node_id != b->node_id)
		return a->node_id < b->node_id;
	if (a->phase != b->phase)
		return a->phase < b->phase;
	if (a->mix != b->mix)
		return a->mix < b->mix;
	if (a->link_id != b->link_id)
		return a->link_id < b->link_id;
	return a->number < b->number;
}

static void push(struct oracle *o, struct event event)
{
	struct event *new = malloc(sizeof(*new));
	uint32_t i = o->count++;

	CHECK(new != NULL);
	CHECK(event.at >= o->now);
	*new = event;
	if (o->count > o->max) {
		o->max = o->max ? o->max * 2 : 1024;
		o->heap = realloc(o->heap, o->max * sizeof(struct event *));
		CHECK(o->heap != NULL);
	}
	for (; i > 0 && before(new, o->heap[(i - 1) / 2]); i = (i - 1) / 2)
		o->heap[i] = o->heap[(i - 1) / 2];
	o->heap[i] = new;
}

static struct event pop(struct oracle *o)
{
	struct event first = *o->heap[0], *last;
	uint32_t i = 0, child;

	free(o->heap[0]);
	last = o->heap[--o->count];
	while ((child = 2 * i + 1) < o->count) {
		if (child + 1 < o->count && before(o->heap[child + 1], o->heap[child]))
			child++;
		if (!before(o->heap[child], last))
			break;
		o->heap[i] = o->heap[child];
		i = child;
	}
	o->heap[i] = last;
	return first;
}

static void at_port(struct oracle *o, enum phase phase, struct sim_node *node, uint32_t port,
		    ps_t at)
{
	const uint64_t link_id = node->ports[port].link_id;

	push(o, (struct event){.at = at,
			       .node_id = node->id,
			       .mix = sim_tie(node->tie_key, link_id, at),
			       .link_id = link_id,
			       .phase = phase,
			       .node = node,
			       .port = port});
}

/* ---- links ---- */

/* The frame arrives, as its faults will have it; returns when it has left. */
static ps_t transmit(struct oracle *o, struct sim_node *node, uint32_t index,
		     const struct sim_pkt *pkt, ps_t at)
{
	struct sim_port *port = &node->ports[index];
	const ps_t end = at + util_tx_time(pkt->bytes, port->rate_bps);
	const ps_t delay = port->delay + (pkt->frame == SIM_CONTROL ? port->control_delay : 0);
	struct sim_node *peer = port->peer;
	struct event event = {.node_id = peer->id,
			      .link_id = peer->ports[port->peer_port].link_id,
			      .number = o->nodes[node->index].ports[index].number++,
			      .phase = ARRIVE,
			      .node = peer,
			      .port = port->peer_port};
	struct oracle_copy copies[ORACLE_COPIES] = {{.pkt = *pkt}};
	struct sim_pkt own = *pkt;
	uint32_t count = 1;

	if (port->fault)
		count = oracle_faults(o->net, port, &own, at, copies);
	for (uint32_t i = 0; i < count; i++) {
		event.at = end + delay + copies[i].delay;
		event.mix = sim_tie(peer->tie_key, event.link_id, event.at);
		event.pkt = copies[i].pkt;
		event.pkt.at = event.at;
		event.pkt.port = (uint16_t)event.port;
		push(o, event);
	}
	o->nodes[node->index].ports[index].end = end;
	return end;
}

/* ---- switches ---- */

/* From a switch; the taps of a host's port have heard of the frame already. */
static ps_t depart(struct oracle *o, struct sim_node *node, uint32_t index,
		   const struct sim_pkt *pkt, ps_t at)
{
	struct sim_thread th = {.sim = o->net->sim};

	for (struct sim_tap *tap = node->ports[index].tap; tap; tap = tap->next)
		tap->on_start(tap, &th, &node->ports[index], pkt, at);
	return transmit(o, node, index, pkt, at);
}

static const struct pfc_params *pfc(const struct oracle *o)
{
	return o->net->params.fc == NET_PFC ? &o->net->params.pfc : NULL;
}

static uint64_t headroom(const struct oracle *o, const struct sim_node *node, uint32_t port)
{
	const struct net_params *p = &o->net->params;

	return p->headroom_of ? p->headroom_of(o->net, node, port) : p->pfc.headroom_bytes;
}

static uint64_t pool(const struct oracle *o, const struct sim_node *node)
{
	const struct pfc_params *p = pfc(o);
	uint64_t headrooms = 0;

	if (!p)
		return o->net->params.fc == NET_CREDIT ? UINT64_MAX : o->net->params.buffer_bytes;
	for (uint32_t port = 0; port < node->port_count; port++)
		headrooms += headroom(o, node, port);
	return p->buffer_bytes - node->port_count * (uint64_t)p->reserve_bytes -
	       headrooms * (uint64_t)__builtin_popcount(p->lossless);
}

static uint64_t threshold(const struct oracle *o, const struct node *node)
{
	const struct pfc_params *p = pfc(o);
	const uint64_t all = pool(o, node->sim);

	if (!p->dynamic)
		return p->xoff_bytes;
	return node->used < all ? (all - node->used) * p->alpha_num / p->alpha_den : 0;
}

static void try_start(struct oracle *o, struct node *node, uint32_t index, ps_t at);

static void send_control(struct oracle *o, struct node *node, uint32_t port, enum sim_control kind,
			 uint8_t classes, uint64_t value, ps_t at, bool now)
{
	struct lane *lane = &node->ports[port].lanes[SIM_CONTROL_QUEUE];
	struct item *item = malloc(sizeof(*item));

	CHECK(item != NULL);
	sim_control_make(&item->pkt, 84, kind, classes, value);
	item->next = NULL;
	*lane->tail = item;
	lane->tail = &item->next;
	if (now)
		try_start(o, node, port, at);
	else
		at_port(o, DEPART, node->sim, port, at);
}

static ps_t quanta_time(const struct sim_port *port, uint64_t quanta)
{
	return (ps_t)(((u128)quanta * 512 * PS_S + port->rate_bps - 1) / port->rate_bps);
}

static uint16_t quanta(const struct oracle *o)
{
	return pfc(o)->pause_quanta ? pfc(o)->pause_quanta : 65535;
}

static void stop(struct oracle *o, struct node *node, uint32_t port, uint8_t q, ps_t at, bool now)
{
	struct lane *lane = &node->ports[port].lanes[q];

	lane->stopped = true;
	if (pfc(o)->quanta) {
		lane->refresh = at + quanta_time(&node->sim->ports[port], quanta(o)) / 2;
		at_port(o, TIMER, node->sim, port, lane->refresh);
	}
	send_control(o, node, port, SIM_CONTROL_PFC, (uint8_t)(1 << q), quanta(o), at, now);
}

static void free_room(struct oracle *o, struct node *node, uint32_t port, uint8_t q, uint64_t bytes,
		      ps_t at)
{
	struct lane *lane = &node->ports[port].lanes[q];
	const uint64_t headroom = lane->headroom < bytes ? lane->headroom : bytes;
	uint64_t level;

	lane->headroom -= headroom;
	lane->ingress -= bytes - headroom;
	node->used -= bytes - headroom;
	if (o->net->params.fc == NET_CREDIT) {
		const uint32_t frame = o->net->params.frame_bytes_max;
		const uint64_t buffer = o->net->params.buffer_bytes,
			       spare = buffer - (frame ? frame : NET_FRAME_MAX) + 1;
		const uint64_t quarter = buffer / 4 + 1;

		lane->freed += bytes;
		if (lane->freed + buffer - lane->stated < (quarter < spare ? quarter : spare))
			return;
		lane->stated = lane->freed + buffer;
		send_control(o, node, port, SIM_CONTROL_CREDIT, q, lane->stated, at, true);
	}
	if (!lane->stopped)
		return;
	level = threshold(o, node);
	level = level > pfc(o)->resume_bytes ? level - pfc(o)->resume_bytes : 0;
	if (lane->headroom > 0 || lane->ingress > level)
		return;
	lane->stopped = false;
	lane->refresh = PS_NEVER;
	send_control(o, node, port, SIM_CONTROL_PFC, (uint8_t)(1 << q), 0, at, true);
}

static void mark(struct oracle *o, struct node *node, struct lane *lane, struct sim_pkt *pkt)
{
	const struct net_params *p = &o->net->params;
	const struct ecn *ecn = &o->net->ecn;
	uint64_t facts[2];
	u128 share, draw;

	if (!ecn->mark.mark || !(p->marked >> pkt->priority & 1) || pkt->ecn == 0 ||
	    pkt->ecn == 3 || lane->queue <= ecn->kmin_bytes)
		return;
	o->net->body->facts(pkt, facts);
	draw = sim_mark_draw(sim_mark_key(p->seed, node->sim->id), facts, pkt->flow_hash);
	share = (u128)ecn->pmax_q32 * (lane->queue - ecn->kmin_bytes);
	if (lane->queue <= ecn->kmax_bytes && draw * (ecn->kmax_bytes - ecn->kmin_bytes) >= share)
		return;
	pkt->ecn = 3;
	lane->marked++;
}

/* The queue that may start a frame, -1: none. */
static int choose(const struct oracle *o, const struct port *port)
{
	for (int q = SIM_CONTROL_QUEUE; q >= 0; q--) {
		const struct lane *lane = &port->lanes[q];

		if (!lane->head || lane->paused)
			continue;
		if (q < SIM_CONTROL_QUEUE && o->net->params.fc == NET_CREDIT &&
		    lane->sent + lane->head->pkt.bytes > lane->limit)
			continue;
		return q;
	}
	return -1;
}

static void try_start(struct oracle *o, struct node *node, uint32_t index, ps_t at)
{
	struct port *port = &node->ports[index];
	const int q = port->busy ? -1 : choose(o, port);
	struct lane *lane;
	struct item *item;
	struct sim_pkt pkt;

	if (q < 0)
		return;
	lane = &port->lanes[q];
	item = lane->head;
	lane->head = item->next;
	if (!lane->head)
		lane->tail = &lane->head;
	pkt = item->pkt;
	free(item);
	port->busy = true;
	if (q < SIM_CONTROL_QUEUE) {
		lane->queue -= pkt.bytes;
		lane->out_bytes += pkt.bytes;
		lane->out_packets++;
		lane->sent += pkt.bytes;
		mark(o, node, lane, &pkt);
	}
	at_port(o, DEPART, node->sim, index, depart(o, node->sim, index, &pkt, at));
	if (q < SIM_CONTROL_QUEUE)
		free_room(o, node, pkt.port, (uint8_t)q, pkt.bytes, at);
}

static void take_control(struct oracle *o, struct node *node, uint32_t index,
			 const struct sim_pkt *pkt)
{
	const struct sim_control_body body = sim_control_read(pkt);
	struct port *port = &node->ports[index];

	if (body.kind == SIM_CONTROL_CREDIT && port->lanes[body.classes].limit < body.value)
		port->lanes[body.classes].limit = body.value;
	for (int q = 0; body.kind == SIM_CONTROL_PFC && q < SIM_PRIORITIES; q++) {
		struct lane *lane = &port->lanes[q];

		if (!(body.classes >> q & 1))
			continue;
		lane->paused = body.value > 0;
		lane->until = PS_NEVER;
		if (pfc(o) && pfc(o)->quanta && body.value > 0) {
			lane->until = pkt->at + quanta_time(&node->sim->ports[index], body.value);
			at_port(o, TIMER, node->sim, index, lane->until);
		}
	}
	try_start(o, node, index, pkt->at);
}

/* False: dropped. */
static bool buffer(struct oracle *o, struct node *node, const struct sim_pkt *pkt)
{
	struct lane *lane = &node->ports[pkt->port].lanes[pkt->priority];
	const bool fits = node->used + pkt->bytes <= pool(o, node->sim);
	const bool safe = pfc(o) && pfc(o)->lossless >> pkt->priority & 1;
	bool below = true;

	node->used += pkt->bytes;
	lane->ingress += pkt->bytes;
	if (safe)
		below = fits && lane->ingress <= threshold(o, node);
	if (fits && !(safe && lane->stopped && !below))
		goto taken;
	node->used -= pkt->bytes;
	lane->ingress -= pkt->bytes;
	if (!safe || lane->headroom + pkt->bytes > headroom(o, node->sim, pkt->port)) {
		node->dropped_headroom += safe;
		node->dropped_buffer += !safe;
		return false;
	}
	lane->headroom += pkt->bytes;
taken:
	if (!below && !lane->stopped)
		stop(o, node, pkt->port, pkt->priority, pkt->at, true);
	return true;
}

/* What its body holds goes back. */
static void drop(struct oracle *o, struct sim_pkt *pkt)
{
	struct sim_thread th = {.sim = o->net->sim};

	o->net->body->release(&th, pkt);
}

static void arrive_at_switch(struct oracle *o, struct node *node, struct sim_pkt *pkt)
{
	const uint32_t index = sim_route_port(sim_route_table_of(o->net->routes, node->sim),
					      pkt->dst, pkt->flow_hash);
	struct port *port = &node->ports[index];
	struct lane *lane;
	struct item *item;

	if (index == UINT32_MAX || pkt->ttl == 0) {
		node->dropped_route++;
		drop(o, pkt);
		return;
	}
	lane = &port->lanes[pkt->priority];
	pkt->ttl--;
	node->forwarded++;
	if (!port->busy && !lane->paused && o->net->params.fc != NET_CREDIT) {
		CHECK(choose(o, port) < 0);
		port->busy = true;
		lane->out_bytes += pkt->bytes;
		lane->out_packets++;
		at_port(o, DEPART, node->sim, index, depart(o, node->sim, index, pkt, pkt->at));
		return;
	}
	if (!buffer(o, node, pkt)) {
		drop(o, pkt);
		return;
	}
	item = malloc(sizeof(*item));
	CHECK(item != NULL);
	*item = (struct item){.pkt = *pkt};
	*lane->tail = item;
	lane->tail = &item->next;
	lane->queue += pkt->bytes;
	try_start(o, node, index, pkt->at);
}

static void timer(struct oracle *o, struct node *node, uint32_t index, ps_t at)
{
	for (uint8_t q = 0; q < SIM_PRIORITIES; q++) {
		struct lane *lane = &node->ports[index].lanes[q];

		if (lane->stopped && lane->refresh == at)
			stop(o, node, index, q, at, false);
		if (lane->paused && lane->until == at) {
			lane->paused = false;
			at_port(o, DEPART, node->sim, index, at);
		}
	}
}

static void switch_event(struct oracle *o, struct node *node, struct event *event)
{
	if (event->phase == TIMER) {
		timer(o, node, event->port, event->at);
	} else if (event->phase == DEPART) {
		/* The end of a transmission, or a port that was let go while it stood idle. */
		if (event->at >= node->ports[event->port].end)
			node->ports[event->port].busy = false;
		try_start(o, node, event->port, event->at);
	} else if (event->pkt.frame == SIM_CONTROL) {
		take_control(o, node, event->port, &event->pkt);
	} else {
		arrive_at_switch(o, node, &event->pkt);
	}
}

/* ---- hosts: everything of one instant at once ---- */

static void oracle_send(void *context, struct sim_port *port, const struct sim_pkt *pkt, ps_t start)
{
	struct sim_port *back = &port->peer->ports[port->peer_port];
	const ps_t end = transmit(context, back->peer, port->index, pkt, start);

	CHECK(port->free_at == end);
}

static void oracle_wake(void *context, struct sim_node *node, ps_t at)
{
	struct oracle *o = context;

	push(o, (struct event){.at = at, .node_id = node->id, .phase = WAKE, .node = node});
}

static void note_arrival(const struct oracle *o, const struct event *event)
{
	uint64_t facts[2] = {event->pkt.body_words[0], event->pkt.body_words[1]};

	if (event->pkt.frame == SIM_DATA)
		o->net->body->facts(&event->pkt, facts);
	event->node->arrivals =
		sim_digest_arrival(event->node->arrivals, &event->pkt, event->link_id, facts);
}

static void host_instant(struct oracle *o, struct node *node, struct event first)
{
	enum { MANY = 64 };
	struct sim_pkt pkts[MANY], *arrivals[MANY];
	struct sim_thread th = {
		.sim = o->net->sim, .from = first.at, .until = first.at + 1, .number = 0};
	uint32_t count = 0;

	for (struct event event = first;; event = pop(o)) {
		if (event.phase == ARRIVE) {
			note_arrival(o, &event);
			CHECK(count < MANY);
			pkts[count] = event.pkt;
			arrivals[count] = &pkts[count];
			count++;
		}
		if (o->count == 0 || o->heap[0]->at != first.at || o->heap[0]->node != node->sim)
			break;
	}
	node->sim->ops->run(&th, node->sim, arrivals, count);
}

/* ---- the run ---- */

static void finish(struct node *node)
{
	struct sim_node *s = node->sim;

	if (node->host) {
		s->ops->finish(s);
		return;
	}
	sim_digest_add(s, 0, node->forwarded, node->dropped_route);
	sim_digest_add(s, 0, node->dropped_buffer, node->dropped_headroom);
	for (uint32_t p = 0; p < s->port_count; p++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++) {
			const struct lane *lane = &node->ports[p].lanes[q];

			if (lane->out_packets > 0)
				sim_digest_add(s, s->ports[p].link_id + q, lane->out_bytes,
					       lane->marked);
		}
}

static void begin(struct oracle *o)
{
	const uint32_t count = sim_node_count(o->net->sim);

	o->nodes = calloc(count, sizeof(*o->nodes));
	CHECK(o->nodes != NULL);
	for (uint32_t i = 0; i < count; i++) {
		struct sim_node *s = sim_node_at(o->net->sim, i);
		struct node *node = &o->nodes[s->index];

		*node = (struct node){.sim = s, .host = s->ops != &sim_switch_ops};
		node->ports = calloc(s->port_count, sizeof(*node->ports));
		for (uint32_t p = 0; p < s->port_count; p++)
			for (int q = 0; q < SIM_QUEUES; q++) {
				struct lane *lane = &node->ports[p].lanes[q];

				lane->tail = &lane->head;
				lane->limit = lane->stated = o->net->params.buffer_bytes;
			}
		if (node->host)
			oracle_wake(o, s, 0);
	}
}

uint64_t oracle_run(struct net *net)
{
	struct oracle o = {.net = net};
	const struct sim_other other = {.send = oracle_send, .wake = oracle_wake, .context = &o};
	struct sim_node all = {.digest = net->params.scenario_hash};

	sim_take_over(net->sim, &other);
	begin(&o);
	while (o.count > 0) {
		struct event event = pop(&o);
		struct node *node = &o.nodes[event.node->index];

		o.now = event.at;
		if (node->host) {
			host_instant(&o, node, event);
			if (net->params.between)
				net->params.between(net);
			continue;
		}
		if (event.phase == ARRIVE)
			note_arrival(&o, &event);
		switch_event(&o, node, &event);
	}
	sim_digest_add(&all, 0, net->params.seed, sim_node_count(net->sim));
	for (uint32_t i = 0; i < sim_node_count(net->sim); i++) {
		struct sim_node *s = sim_node_at(net->sim, i);

		finish(&o.nodes[s->index]);
		sim_digest_add(&all, s->id, s->arrivals, s->digest);
		free(o.nodes[s->index].ports);
	}
	free(o.nodes);
	free(o.heap);
	return all.digest;
}
