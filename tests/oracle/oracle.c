/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

#include "sim/fault.h"

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

void oracle_push(struct oracle *o, struct event event)
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

void oracle_at_port(struct oracle *o, enum phase phase, struct sim_node *node, uint32_t port,
		    ps_t at)
{
	const uint64_t link_id = node->ports[port].link_id;

	oracle_push(o, (struct event){.at = at,
				      .node_id = node->id,
				      .mix = sim_tie(node->tie_key, link_id, at),
				      .link_id = link_id,
				      .phase = phase,
				      .node = node,
				      .port = port});
}

/* ---- links ---- */

int oracle_priorities(const struct oracle *o)
{
	return (int)sim_priority_count(o->net->sim);
}

uint64_t oracle_credits(const struct oracle *o, int q)
{
	const struct net_params *p = &o->net->params;

	return p->buffers && q < oracle_priorities(o) ? p->buffers[q] : p->buffer_bytes;
}

uint32_t oracle_head_bytes(const struct oracle *o)
{
	return o->net->params.extended ? o->net->params.more.head_bytes : 0;
}

static ps_t oracle_tx_time(const struct sim_port *port, uint32_t bytes, ps_t at)
{
	uint64_t rate = port->rate_bps;

	for (const struct sim_fault *f = port->fault; f; f = f->next)
		if (f->params.rate_bps > 0 && f->params.rate_bps < rate && at >= f->params.from &&
		    at < f->params.until)
			rate = f->params.rate_bps;
	return util_tx_time(bytes, rate);
}

/* How long before its end a frame is heard of at the other end of @port. */
static ps_t early(const struct oracle *o, const struct sim_port *port, uint32_t bytes, bool control)
{
	const uint32_t head = oracle_head_bytes(o);

	if (!head || port->peer->ops != &sim_switch_ops || bytes <= head || control)
		return 0;
	return util_tx_time(bytes, port->rate_bps) - util_tx_time(head, port->rate_bps);
}

ps_t oracle_transmit(struct oracle *o, struct sim_node *node, uint32_t index,
		     const struct sim_pkt *pkt, ps_t at)
{
	struct sim_port *port = &node->ports[index];
	const ps_t end = at + oracle_tx_time(port, pkt->bytes, at);
	const ps_t delay = port->delay + (pkt->frame == SIM_CONTROL ? port->control_delay : 0);
	struct sim_node *peer = sim_turn_of(o->net->sim, port->peer);
	struct event event = {.node_id = peer->id,
			      .link_id = port->peer->ports[port->peer_port].link_id,
			      .number = o->nodes[node->index].ports[index].number++,
			      .phase = ARRIVE,
			      .node = peer,
			      .port = port->peer_place};
	struct oracle_copy copies[ORACLE_COPIES] = {{.pkt = *pkt}};
	struct sim_pkt own = *pkt;
	uint32_t count = 1;

	if (port->fault)
		count = oracle_faults(o->net, port, &own, at, copies);
	for (uint32_t i = 0; i < count; i++) {
		event.at = end + delay + copies[i].delay - early(o, port, pkt->bytes, pkt->frame);
		event.mix = sim_tie(peer->tie_key, event.link_id, event.at);
		event.pkt = copies[i].pkt;
		event.pkt.at = event.at;
		event.pkt.port = (uint16_t)event.port;
		oracle_push(o, event);
	}
	o->nodes[node->index].ports[index].end = end;
	o->nodes[node->index].ports[index].sent_bytes += pkt->bytes;
	return end;
}

/* ---- hosts: everything of one instant at once ---- */

static void oracle_send(void *context, struct sim_port *port, const struct sim_pkt *pkt, ps_t start)
{
	struct sim_port *back = &port->peer->ports[port->peer_port];
	const ps_t end = oracle_transmit(context, back->peer, port->index, pkt, start);

	CHECK(port->free_at == end);
}

static void oracle_wake(void *context, struct sim_node *node, ps_t at)
{
	struct oracle *o = context;

	node = sim_turn_of(o->net->sim, node);
	oracle_push(o, (struct event){.at = at, .node_id = node->id, .phase = WAKE, .node = node});
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

static void finish(struct node *node, const struct sim_routes *routes, bool conweaves)
{
	struct sim_node *s = node->sim;

	if (node->host) {
		s->ops->finish(s);
		return;
	}
	sim_digest_add(s, 0, node->forwarded, node->dropped_route);
	sim_digest_add(s, 0, node->dropped_buffer, node->dropped_headroom);
	if (node->dropped_watchdog > 0)
		sim_digest_add(s, 1, node->dropped_watchdog, node->storms);
	if (node->dropped_mtu > 0)
		sim_digest_add(s, 2, node->dropped_mtu, 0);
	for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
		if (node->rewritten[q] > 0)
			sim_digest_add(s, 3, node->rewritten[q], q);
	if (node->flooded + node->dropped_unknown > 0)
		sim_digest_add(s, 4, node->flooded, node->dropped_unknown);
	if (node->flood_copies + node->not_mine > 0)
		sim_digest_add(s, 5, node->flood_copies, node->not_mine);
	if (node->mcast > 0)
		sim_digest_add(s, 6, node->mcast, node->mcast_copies);
	if (conweaves && sim_route_table_of(routes, s)->own_group != UINT32_MAX)
		oracle_conweave_finish(node);
	for (uint32_t p = 0; p < s->port_count; p++)
		for (uint32_t q = 0; q < SIM_PRIORITIES_MAX; q++) {
			const struct lane *lane = &node->ports[p].lanes[q];

			if (lane->out_packets > 0)
				sim_digest_add(s, s->ports[p].link_id + q, lane->out_bytes,
					       lane->marked);
		}
}

static void link_changes(struct oracle *o, struct sim_node *node, uint32_t port, ps_t at, bool back)
{
	if (at != PS_NEVER)
		oracle_push(o, (struct event){.at = at,
					      .node_id = node->id,
					      .number = back,
					      .phase = TIMER,
					      .node = node,
					      .port = ORACLE_OUTAGE,
					      .pkt.port = (uint16_t)port});
}

/* For the flow control of @node, a switch. */
static void tell_of_outages(struct oracle *o, struct sim_node *node)
{
	for (uint32_t i = 0; i < o->net->routing.down_count && o->net->params.fc == NET_PFC; i++) {
		const struct net_down *down = &o->net->routing.downs[i];

		if (down->sender && strcmp(down->sender, node->name) != 0)
			continue;
		for (uint32_t p = 0; p < node->port_count; p++) {
			if (strcmp(node->ports[p].link_name, down->link) != 0)
				continue;
			if (down->from < down->back_at)
				link_changes(o, node, p, down->from, false);
			link_changes(o, node, p, down->back_at, true);
		}
	}
}

static void begin(struct oracle *o)
{
	const uint32_t count = sim_node_count(o->net->sim);

	o->nodes = calloc(count, sizeof(*o->nodes));
	CHECK(o->nodes != NULL);
	oracle_ways_init(o);
	for (uint32_t i = 0; i < count; i++) {
		struct sim_node *s = sim_node_at(o->net->sim, i);
		struct node *node = &o->nodes[s->index];

		*node = (struct node){
			.sim = s, .host = s->ops != &sim_switch_ops, .poll_at = PS_NEVER};
		node->ports = calloc(s->port_count, sizeof(*node->ports));
		for (uint32_t p = 0; p < s->port_count; p++)
			for (int q = 0; q <= SIM_CONTROL_QUEUE; q++) {
				struct lane *lane = &node->ports[p].lanes[q];

				lane->tail = &lane->head;
				lane->limit = lane->stated = oracle_credits(o, q);
			}
		if (node->host)
			oracle_wake(o, s, 0);
		else
			tell_of_outages(o, s);
	}
}

/* What waits where the run ends before all is done. */
static void free_waiting(struct port *port)
{
	for (int q = 0; q <= SIM_CONTROL_QUEUE; q++)
		for (struct item *item = port->lanes[q].head, *next; item; item = next) {
			next = item->next;
			free(item);
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

		if (net->params.until > 0 && event.at >= net->params.until)
			break;
		o.now = event.at;
		if (node->host) {
			host_instant(&o, node, event);
			if (net->params.between)
				net->params.between(net);
			continue;
		}
		if (event.phase == ARRIVE && !event.whole)
			note_arrival(&o, &event);
		oracle_switch_event(&o, node, &event);
	}
	sim_digest_add(&all, 0, net->params.seed, sim_node_count(net->sim));
	for (uint32_t i = 0; i < sim_node_count(net->sim); i++) {
		struct sim_node *s = sim_node_at(net->sim, i);

		finish(&o.nodes[s->index], net->routes,
		       net->params.extended && net->params.more.balance == SIM_BALANCE_WEAVE);
		sim_digest_add(&all, s->id, s->arrivals, s->digest);
		for (uint32_t p = 0; p < s->port_count; p++)
			free_waiting(&o.nodes[s->index].ports[p]);
		free(o.nodes[s->index].ports);
	}
	for (uint32_t i = 0; i < o.count; i++)
		free(o.heap[i]);
	oracle_ways_fini(&o);
	free(o.nodes);
	free(o.heap);
	return all.digest;
}
