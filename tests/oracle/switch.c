/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

/* Switches whose ports are never settled late. */

/* From a switch; the taps of a host's port have heard of the frame already. */
static ps_t depart(struct oracle *o, struct sim_node *node, uint32_t index,
		   const struct sim_pkt *pkt, ps_t at)
{
	struct sim_thread th = {.sim = o->net->sim};

	for (struct sim_tap *tap = node->ports[index].tap; tap; tap = tap->next)
		tap->on_start(tap, &th, &node->ports[index], pkt, at);
	return oracle_transmit(o, node, index, pkt, at);
}

/* In-band telemetry: what is true as @pkt starts. */
static void stamp(const struct oracle *o, const struct node *node, uint32_t index,
		  const struct lane *lane, struct sim_pkt *pkt, ps_t at)
{
	const struct sim_hop hop = {.rate_bps = node->sim->ports[index].rate_bps,
				    .at = at,
				    .sent_bytes = node->ports[index].sent_bytes,
				    .queue_bytes = (uint32_t)lane->queue};
	struct sim_thread th = {.sim = o->net->sim};

	if (o->net->params.extended && o->net->params.more.stamps)
		o->net->body->stamp(&th, pkt, &hop);
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

/* What class @q has, in a form of the oracle's own. */
static struct pfc_class class_of(const struct oracle *o, uint32_t q)
{
	const struct pfc_params *p = pfc(o);
	struct pfc_class class = {.xoff_bytes = UINT32_MAX};

	if (!p)
		return class;
	if (p->classes)
		return p->classes[q];
	if (p->lossless >> q & 1)
		class = (struct pfc_class){.alpha_num = p->alpha_num,
					   .alpha_den = p->dynamic ? p->alpha_den : 0,
					   .xoff_bytes = p->xoff_bytes,
					   .resume_bytes = p->resume_bytes,
					   .reserve_bytes = p->reserve_bytes};
	return class;
}

static uint64_t pool(const struct oracle *o, const struct sim_node *node)
{
	const struct pfc_params *p = pfc(o);
	uint64_t left;

	if (!p)
		return o->net->params.fc == NET_CREDIT ? UINT64_MAX : o->net->params.buffer_bytes;
	left = p->buffer_bytes - p->headroom_pool_bytes;
	for (uint32_t q = 0; (int)q < oracle_priorities(o); q++)
		for (uint32_t port = 0; port < node->port_count; port++) {
			left -= class_of(o, q).reserve_bytes;
			if (p->lossless >> q & 1 && !p->headroom_pool_bytes)
				left -= headroom(o, node, port);
		}
	return left;
}

/* Of the pool: all that is in the switch but what lies in reserves or headroom. */
static uint64_t used(const struct oracle *o, const struct node *node)
{
	uint64_t bytes = 0;

	for (uint32_t port = 0; port < node->sim->port_count; port++)
		for (uint32_t q = 0; (int)q < oracle_priorities(o); q++) {
			const uint64_t ingress = node->ports[port].lanes[q].ingress;
			const uint64_t reserve = class_of(o, q).reserve_bytes;

			bytes += ingress > reserve ? ingress - reserve : 0;
		}
	return bytes;
}

static uint64_t share(const struct oracle *o, const struct node *node, uint32_t num, uint32_t den)
{
	const uint64_t all = pool(o, node->sim), in = used(o, node);

	return in < all ? (all - in) * num / den : 0;
}

static uint64_t threshold(const struct oracle *o, const struct node *node, uint32_t q)
{
	const struct pfc_class class = class_of(o, q);

	return class.alpha_den ? share(o, node, class.alpha_num, class.alpha_den)
			       : class.xoff_bytes;
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
	item->to_mark = false;
	item->came = 0;
	*lane->tail = item;
	lane->tail = &item->next;
	if (now)
		try_start(o, node, port, at);
	else
		oracle_at_port(o, DEPART, node->sim, port, at);
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

	lane->stopped = lane->said = true;
	if (pfc(o)->quanta) {
		lane->refresh = at + quanta_time(&node->sim->ports[port], quanta(o)) / 2;
		oracle_at_port(o, TIMER, node->sim, port, lane->refresh);
	}
	send_control(o, node, port, SIM_CONTROL_PFC, (uint8_t)(1 << q), quanta(o), at, now);
}

static void free_room(struct oracle *o, struct node *node, uint32_t port, uint8_t q, uint64_t bytes,
		      ps_t at, bool now)
{
	struct lane *lane = &node->ports[port].lanes[q];
	const uint64_t headroom = lane->headroom < bytes ? lane->headroom : bytes;
	uint64_t level;

	lane->headroom -= headroom;
	node->in_headroom -= headroom;
	lane->ingress -= bytes - headroom;
	if (o->net->params.fc == NET_CREDIT) {
		const uint32_t frame = o->net->params.frame_bytes_max;
		const uint64_t buffer = oracle_credits(o, q),
			       spare = buffer - (frame ? frame : NET_FRAME_MAX) + 1;
		const uint64_t quarter = buffer / 4 + 1;

		lane->freed += bytes;
		if (lane->freed + buffer - lane->stated < (quarter < spare ? quarter : spare))
			return;
		lane->stated = lane->freed + buffer;
		send_control(o, node, port, SIM_CONTROL_CREDIT, q, lane->stated, at, now);
	}
	if (!lane->stopped)
		return;
	level = threshold(o, node, q);
	level = level > class_of(o, q).resume_bytes ? level - class_of(o, q).resume_bytes : 0;
	if (lane->headroom > 0 || lane->ingress > level)
		return;
	lane->stopped = false;
	lane->refresh = PS_NEVER;
	send_control(o, node, port, SIM_CONTROL_PFC, (uint8_t)(1 << q), 0, at, now);
}

static bool marks_arrivals(const struct oracle *o)
{
	return o->net->params.extended && o->net->params.more.marks_arrivals;
}

/* Whether @pkt is marked for the queue as it is. */
static bool draws_mark(const struct oracle *o, const struct node *node, const struct lane *lane,
		       int q, const struct sim_pkt *pkt)
{
	const struct net_params *p = &o->net->params;
	const struct ecn *ecn = &o->net->ecn;
	uint64_t facts[2];
	u128 share, draw;

	if (!ecn->mark.mark || !(p->marked >> q & 1) || pkt->ecn == 0 || pkt->ecn == 3 ||
	    lane->queue <= ecn->kmin_bytes)
		return false;
	o->net->body->facts(pkt, facts);
	draw = sim_mark_draw(sim_mark_key(p->seed, node->sim->id), facts, pkt->flow_hash);
	share = (u128)ecn->pmax_q32 * (lane->queue - ecn->kmin_bytes);
	return lane->queue > ecn->kmax_bytes || draw * (ecn->kmax_bytes - ecn->kmin_bytes) < share;
}

static bool may_start(const struct oracle *o, const struct lane *lane, int q)
{
	if (!lane->head || lane->paused)
		return false;
	return q == SIM_CONTROL_QUEUE || o->net->params.fc != NET_CREDIT ||
	       lane->sent + lane->head->pkt.bytes <= lane->limit;
}

static uint32_t weight(const struct oracle *o, int q)
{
	return o->net->params.extended && q < oracle_priorities(o) ? o->net->params.more.weights[q]
								   : 0;
}

static uint64_t quantum(const struct oracle *o, int q)
{
	uint32_t most = 0;

	for (int i = 0; i < oracle_priorities(o); i++)
		most = weight(o, i) > most ? weight(o, i) : most;
	return (uint64_t)o->net->params.more.frame_bytes_max * weight(o, q) / most;
}

/* Round by round, as the book has it. */
static int take_turns(const struct oracle *o, struct port *port)
{
	for (;; port->turn = (port->turn + 1) % oracle_priorities(o), port->begun = false) {
		const int q = port->turn;
		struct lane *lane = &port->lanes[q];

		if (weight(o, q) == 0)
			continue;
		if (!lane->head)
			lane->deficit = 0;
		if (!may_start(o, lane, q))
			continue;
		lane->deficit += port->begun ? 0 : quantum(o, q);
		port->begun = true;
		if (lane->deficit < lane->head->pkt.bytes)
			continue;
		lane->deficit -= lane->head->pkt.bytes;
		return q;
	}
}

/* The queue that starts a frame, -1: none. */
static int choose(const struct oracle *o, struct port *port)
{
	bool others = false;

	for (int q = SIM_CONTROL_QUEUE; q >= 0; q--) {
		if (!may_start(o, &port->lanes[q], q))
			continue;
		if (weight(o, q) == 0)
			return q;
		others = true;
	}
	return others ? take_turns(o, port) : -1;
}

static void try_start(struct oracle *o, struct node *node, uint32_t index, ps_t at)
{
	struct port *port = &node->ports[index];
	const int q = port->busy ? -1 : choose(o, port);
	struct lane *lane;
	struct item *item;
	struct sim_pkt pkt;
	uint8_t came;
	bool to_mark;

	if (q < 0)
		return;
	lane = &port->lanes[q];
	item = lane->head;
	lane->head = item->next;
	if (!lane->head)
		lane->tail = &lane->head;
	pkt = item->pkt;
	to_mark = item->to_mark;
	came = item->came;
	free(item);
	port->busy = true;
	if (q < SIM_CONTROL_QUEUE) {
		lane->queue -= pkt.bytes;
		lane->count--;
		lane->out_bytes += pkt.bytes;
		lane->out_packets++;
		lane->sent += pkt.bytes;
		if (marks_arrivals(o) ? to_mark : draws_mark(o, node, lane, q, &pkt)) {
			pkt.ecn = 3;
			lane->marked++;
		}
		stamp(o, node, index, lane, &pkt, at);
	}
	oracle_at_port(o, DEPART, node->sim, index, depart(o, node->sim, index, &pkt, at));
	if (q < SIM_CONTROL_QUEUE)
		free_room(o, node, pkt.port, came, pkt.bytes, at, true);
}

/* ---- the watchdog ---- */

static const struct pfc_watchdog *watchdog(const struct oracle *o)
{
	return pfc(o) ? pfc(o)->watchdog : NULL;
}

static void poll_after(struct oracle *o, struct node *node, ps_t at)
{
	node->poll_at = (at / watchdog(o)->poll + 1) * watchdog(o)->poll;
	/* After all other timers of its instant. */
	oracle_push(o, (struct event){.at = node->poll_at,
				      .node_id = node->sim->id,
				      .mix = UINT64_MAX,
				      .phase = TIMER,
				      .node = node->sim,
				      .port = UINT32_MAX});
}

static void hear(struct oracle *o, struct node *node, struct lane *lane, ps_t at)
{
	lane->heard_at = at;
	if (watchdog(o) && node->poll_at == PS_NEVER)
		poll_after(o, node, at);
}

static void drop(struct oracle *o, struct sim_pkt *pkt);

static void begin_storm(struct oracle *o, struct node *node, uint32_t index, uint8_t q, ps_t at)
{
	struct lane *lane = &node->ports[index].lanes[q];

	lane->storm = true;
	lane->paused = false;
	lane->until = PS_NEVER;
	node->storms++;
	lane->shut = watchdog(o)->drops;
	while (lane->shut && lane->head) {
		struct item *item = lane->head;

		lane->head = item->next;
		if (!lane->head)
			lane->tail = &lane->head;
		lane->queue -= item->pkt.bytes;
		lane->count--;
		node->dropped_watchdog++;
		free_room(o, node, item->pkt.port, item->came, item->pkt.bytes, at, false);
		drop(o, &item->pkt);
		free(item);
	}
	oracle_at_port(o, DEPART, node->sim, index, at);
}

static void poll(struct oracle *o, struct node *node, ps_t at)
{
	bool more = false;

	for (uint32_t p = 0; p < node->sim->port_count; p++)
		for (uint8_t q = 0; q < SIM_PRIORITIES_MAX; q++) {
			struct lane *lane = &node->ports[p].lanes[q];
			const bool paused = lane->paused;

			if (lane->storm && at - lane->heard_at >= watchdog(o)->restoration)
				lane->storm = lane->shut = false;
			else if (!lane->storm && paused && lane->count > 0 &&
				 at - lane->paused_at >= watchdog(o)->detection)
				begin_storm(o, node, p, q, at);
			more |= paused || lane->storm;
		}
	node->poll_at = PS_NEVER;
	if (more)
		poll_after(o, node, at);
}

static void take_control(struct oracle *o, struct node *node, uint32_t index,
			 const struct sim_pkt *pkt)
{
	const struct sim_control_body body = sim_control_read(pkt);
	struct port *port = &node->ports[index];

	if (body.kind == SIM_CONTROL_CREDIT && port->lanes[body.classes].limit < body.value)
		port->lanes[body.classes].limit = body.value;
	for (int q = 0; body.kind == SIM_CONTROL_PFC && q < 8; q++) {
		struct lane *lane = &port->lanes[q];
		const bool was = lane->paused;

		if (!(body.classes >> q & 1))
			continue;
		lane->paused = body.value > 0 && !lane->storm;
		if (body.value > 0)
			hear(o, node, lane, pkt->at);
		if (lane->paused && !was)
			lane->paused_at = pkt->at;
		lane->until = PS_NEVER;
		if (pfc(o) && pfc(o)->quanta && lane->paused) {
			lane->until = pkt->at + quanta_time(&node->sim->ports[index], body.value);
			oracle_at_port(o, TIMER, node->sim, index, lane->until);
		}
	}
	try_start(o, node, index, pkt->at);
}

/* False: dropped. */
static bool buffer(struct oracle *o, struct node *node, uint8_t q, const struct sim_pkt *pkt)
{
	struct lane *lane = &node->ports[pkt->port].lanes[q];
	const bool safe = pfc(o) && pfc(o)->lossless >> q & 1;
	const uint64_t shared = pfc(o) ? pfc(o)->headroom_pool_bytes : 0;
	bool fits, below;

	lane->ingress += pkt->bytes;
	fits = used(o, node) <= pool(o, node->sim);
	below = fits && lane->ingress <= threshold(o, node, q);
	if (safe ? fits && (!lane->stopped || below) : below)
		goto taken;
	lane->ingress -= pkt->bytes;
	if (!safe || lane->headroom + pkt->bytes > headroom(o, node->sim, pkt->port) ||
	    (shared && node->in_headroom + pkt->bytes > shared)) {
		node->dropped_headroom += safe;
		node->dropped_buffer += !safe;
		return false;
	}
	lane->headroom += pkt->bytes;
	node->in_headroom += pkt->bytes;
taken:
	if (safe && !below && !lane->stopped)
		stop(o, node, pkt->port, q, pkt->at, true);
	return true;
}

/* What its body holds goes back. */
static void drop(struct oracle *o, struct sim_pkt *pkt)
{
	struct sim_thread th = {.sim = o->net->sim};

	o->net->body->release(&th, pkt);
}

/* The class of the frame here. */
static uint8_t class_here(const struct oracle *o, const struct sim_pkt *pkt)
{
	const struct sim_switch_params *more = &o->net->params.more;
	uint8_t q = pkt->priority;

	if (oracle_priorities(o) == 16 && pkt->tag % 2 == 1)
		q += 8;
	return o->net->params.extended && more->mapped ? more->map[q] : q;
}

/* It came in, and goes nowhere; who counts credits has the room of it back. */
void oracle_refuse(struct oracle *o, struct node *node, struct sim_pkt *pkt, uint64_t *counter)
{
	const uint8_t q = class_here(o, pkt);

	++*counter;
	if (o->net->params.fc == NET_CREDIT) {
		CHECK(buffer(o, node, q, pkt));
		free_room(o, node, pkt->port, q, pkt->bytes, pkt->at, true);
	}
	drop(o, pkt);
}

void oracle_push_whole(struct oracle *o, const struct event *event)
{
	const struct sim_port *from = &event->node->ports[event->port];
	struct event again = *event;

	again.whole = true;
	again.at += util_tx_time(event->pkt.bytes, from->rate_bps) -
		    util_tx_time(oracle_head_bytes(o), from->rate_bps);
	again.pkt.at = again.at;
	again.mix = sim_tie(event->node->tie_key, event->link_id, again.at);
	oracle_push(o, again);
}

/* A frame that has to come in whole, and is not yet. */
static bool comes_later(struct oracle *o, const struct event *event, const struct sim_port *to)
{
	const struct sim_port *from = &event->node->ports[event->port];
	const uint32_t head = oracle_head_bytes(o);

	if (!head || event->whole || event->pkt.bytes <= head || to->rate_bps <= from->rate_bps)
		return false;
	oracle_push_whole(o, event);
	return true;
}

static bool queue_is_full(const struct oracle *o, const struct node *node, const struct lane *lane,
			  uint8_t q, const struct sim_pkt *pkt)
{
	const struct pfc_class class = class_of(o, q);

	return class.queue_den &&
	       lane->queue + pkt->bytes > share(o, node, class.queue_num, class.queue_den);
}

static uint32_t draw_of(const struct oracle *o, uint64_t key, const struct sim_pkt *pkt)
{
	uint64_t facts[2];

	o->net->body->facts(pkt, facts);
	return sim_mark_draw(key, facts, pkt->flow_hash);
}

static uint32_t flowlet(const struct oracle *o, struct node *node, uint64_t key,
			const struct sim_pkt *pkt, const uint16_t *set, uint32_t count)
{
	const u128 x = (u128)(key ^ pkt->flow_hash) * 0x9e3779b97f4a7c15u;
	const uint32_t place = ((uint64_t)x ^ (uint64_t)(x >> 64)) & 4095;
	const uint32_t old = node->flowlets[place].port;
	bool stays = false;

	for (uint32_t i = 0; i < count; i++)
		stays |= old == set[i] + 1u;
	stays &= pkt->at - node->flowlets[place].at <= o->net->params.more.flowlet_gap;
	if (!stays)
		node->flowlets[place].port =
			1u + set[sim_route_pick(key ^ pkt->at * 0xd6e8feb86659fd93u, pkt->flow_hash,
						count)];
	node->flowlets[place].at = pkt->at;
	return node->flowlets[place].port - 1;
}

static uint32_t shortest(const struct node *node, const uint16_t *set, uint32_t count,
			 uint32_t first)
{
	uint64_t lengths[64];
	uint32_t best = first;

	CHECK(count <= 64);
	for (uint32_t i = 0; i < count; i++) {
		lengths[i] = node->ports[set[i]].busy;
		for (int q = 0; q < SIM_PRIORITIES_MAX; q++)
			lengths[i] += node->ports[set[i]].lanes[q].queue;
	}
	for (uint32_t i = 1; i < count; i++)
		if (lengths[(first + i) % count] < lengths[best])
			best = (first + i) % count;
	return set[best];
}

uint32_t oracle_way(const struct oracle *o, struct node *node, const struct sim_pkt *pkt)
{
	const struct sim_route_table *table = sim_route_table_of(o->net->routes, node->sim);
	const uint64_t key = table->key;
	uint16_t set[ORACLE_WAYS];
	const uint32_t count = oracle_ways(o, node, pkt->dst, pkt->at, set);

	if (count < 2)
		return count == 0 ? UINT32_MAX : set[0];
	if (!o->net->params.extended)
		return sim_route_port(table, pkt->dst, pkt->flow_hash);
	switch (o->net->params.more.balance) {
	case SIM_BALANCE_SPRAY:
		return set[(uint64_t)draw_of(o, key, pkt) * count >> 32];
	case SIM_BALANCE_FLOWLET:
		return flowlet(o, node, key, pkt, set, count);
	case SIM_BALANCE_SHORTEST:
		return shortest(node, set, count,
				(uint32_t)((uint64_t)draw_of(o, key, pkt) * count >> 32));
	case SIM_BALANCE_FLOW:
	case SIM_BALANCE_WEAVE:
		break;
	}
	return set[sim_route_pick(key, pkt->flow_hash, count)];
}

static void queue_up(struct oracle *o, struct node *node, struct item *item, uint32_t index,
		     ps_t at, bool now)
{
	struct lane *lane = &node->ports[index].lanes[class_here(o, &item->pkt)];

	item->to_mark = draws_mark(o, node, lane, class_here(o, &item->pkt), &item->pkt);
	*lane->tail = item;
	lane->tail = &item->next;
	lane->queue += item->pkt.bytes;
	lane->count++;
	if (now)
		try_start(o, node, index, at);
	else
		oracle_at_port(o, DEPART, node->sim, index, at);
}

void oracle_queue(struct oracle *o, struct node *node, struct item *item, uint32_t index, ps_t at,
		  bool now)
{
	item->came = class_here(o, &item->pkt);
	queue_up(o, node, item, index, at, now);
}

static bool has_room(struct oracle *o, struct node *node, uint8_t came, struct sim_pkt *pkt)
{
	if (buffer(o, node, came, pkt))
		return true;
	drop(o, pkt);
	return false;
}

bool oracle_room(struct oracle *o, struct node *node, struct sim_pkt *pkt)
{
	return has_room(o, node, class_here(o, pkt), pkt);
}

/* It came in as one of the class @came, which its room belongs to. */
static void pass_on(struct oracle *o, struct node *node, const struct sim_pkt *pkt, uint8_t came,
		    uint32_t index)
{
	const uint8_t q = class_here(o, pkt);
	struct port *port = &node->ports[index];
	struct lane *lane = &port->lanes[q];
	struct sim_pkt own = *pkt;
	struct item *item;

	if (!port->busy && !lane->paused && o->net->params.fc != NET_CREDIT) {
		CHECK(choose(o, port) < 0);
		port->busy = true;
		lane->out_bytes += pkt->bytes;
		lane->out_packets++;
		stamp(o, node, index, lane, &own, pkt->at);
		oracle_at_port(o, DEPART, node->sim, index,
			       depart(o, node->sim, index, &own, pkt->at));
		return;
	}
	if (queue_is_full(o, node, lane, q, pkt)) {
		node->dropped_buffer++;
		drop(o, &own);
		return;
	}
	if (!has_room(o, node, came, &own))
		return;
	item = malloc(sizeof(*item));
	CHECK(item != NULL);
	*item = (struct item){.pkt = *pkt, .came = came};
	queue_up(o, node, item, index, pkt->at, true);
}

void oracle_pass_on(struct oracle *o, struct node *node, const struct sim_pkt *pkt, uint32_t index)
{
	pass_on(o, node, pkt, class_here(o, pkt), index);
}

/* To its way on, by a switch that flows change their ways at. */
static void conweave(struct oracle *o, struct node *node, struct sim_pkt *pkt, uint32_t index)
{
	const struct sim_route_table *table = sim_route_table_of(o->net->routes, node->sim);
	const bool from_host = node->sim->ports[pkt->port].peer->ops != &sim_switch_ops;
	const bool stays = pkt->dst >> 16 == table->own_group;
	uint16_t set[ORACLE_WAYS];
	uint32_t count;

	if (from_host == stays || pkt->dst >> 16 == 0xffff) {
		oracle_pass_on(o, node, pkt, index);
	} else if (stays) {
		oracle_conweave_last(o, node, pkt, index);
	} else {
		count = oracle_ways(o, node, pkt->dst, pkt->at, set);
		oracle_conweave_first(o, node, pkt, set, count, table->key, table->own_group);
	}
}

static bool is_link(const char *name, const struct sim_port *port)
{
	return !name || strcmp(name, port->link_name) == 0;
}

/* The priority that @pkt leaves with by port @index: that of the first rule that knows it. */
static uint8_t rewritten(const struct oracle *o, const struct node *node, const struct sim_pkt *pkt,
			 uint32_t index)
{
	const struct net_rewrite *rules = o->net->params.rewrites;

	for (uint32_t i = 0; i < o->net->params.rewrite_count; i++)
		if (strcmp(rules[i].at, node->sim->name) == 0 &&
		    is_link(rules[i].in, &node->sim->ports[pkt->port]) &&
		    is_link(rules[i].out, &node->sim->ports[index]) &&
		    rules[i].from >> pkt->priority & 1)
			return rules[i].to;
	return pkt->priority;
}

static bool conweaves(const struct oracle *o)
{
	return o->net->params.extended && o->net->params.more.balance == SIM_BALANCE_WEAVE;
}

void oracle_go_on(struct oracle *o, struct node *node, struct event *event, uint32_t index)
{
	struct sim_pkt *pkt = &event->pkt;
	const uint32_t limit = o->net->params.more.frame_limit;
	const uint8_t came = class_here(o, pkt);
	struct sim_pkt later = *pkt;

	later.priority = rewritten(o, node, pkt, index) & 7u;
	if (node->ports[index].lanes[class_here(o, &later)].shut ||
	    node->ports[pkt->port].lanes[came].shut) {
		node->dropped_watchdog++;
		drop(o, pkt);
		return;
	}
	if (o->net->params.extended && limit && pkt->bytes > limit) {
		oracle_refuse(o, node, pkt, &node->dropped_mtu);
		return;
	}
	if (comes_later(o, event, &node->sim->ports[index]))
		return;
	later.ttl--;
	node->forwarded++;
	node->rewritten[later.priority] += later.priority != pkt->priority;
	if (conweaves(o))
		conweave(o, node, &later, index);
	else
		pass_on(o, node, &later, came, index);
}

static void arrive_at_switch(struct oracle *o, struct node *node, struct event *event)
{
	struct sim_pkt *pkt = &event->pkt;
	const uint32_t own_group = sim_route_table_of(o->net->routes, node->sim)->own_group;
	uint32_t index;

	if (conweaves(o) && pkt->dst == (own_group << 16 | 0xffff)) {
		oracle_conweave_note(o, node, pkt);
		return;
	}
	if (oracle_unknown(o, node, event, class_here(o, pkt)) || oracle_mcast(o, node, event))
		return;
	index = oracle_way(o, node, pkt);
	if (index == UINT32_MAX || pkt->ttl == 0)
		oracle_refuse(o, node, pkt, &node->dropped_route);
	else
		oracle_go_on(o, node, event, index);
}

static void timer(struct oracle *o, struct node *node, uint32_t index, ps_t at)
{
	for (uint8_t q = 0; q < SIM_PRIORITIES_MAX; q++) {
		struct lane *lane = &node->ports[index].lanes[q];

		if (lane->stopped && lane->refresh == at)
			stop(o, node, index, q, at, false);
		if (lane->paused && lane->until == at) {
			lane->paused = false;
			oracle_at_port(o, DEPART, node->sim, index, at);
		}
	}
}

/* The link of port @index has gone down, and nobody obeys who is not heard; or it is @back. */
static void outage(struct oracle *o, struct node *node, uint32_t index, bool back, ps_t at)
{
	for (uint8_t q = 0; q < SIM_PRIORITIES_MAX; q++) {
		struct lane *lane = &node->ports[index].lanes[q];

		if (!back)
			lane->paused = false;
		else if (lane->stopped)
			stop(o, node, index, q, at, false);
		else if (lane->said)
			send_control(o, node, index, SIM_CONTROL_PFC, (uint8_t)(1 << q), 0, at,
				     false);
	}
	oracle_at_port(o, DEPART, node->sim, index, at);
}

void oracle_switch_event(struct oracle *o, struct node *node, struct event *event)
{
	if (event->phase == TIMER && event->port == UINT32_MAX) {
		poll(o, node, event->at);
	} else if (event->phase == TIMER && event->port == ORACLE_WEAVE) {
		oracle_conweave_timer(o, node, event->at);
	} else if (event->phase == TIMER && event->port == ORACLE_OUTAGE) {
		outage(o, node, event->pkt.port, event->number == 1, event->at);
	} else if (event->phase == TIMER) {
		timer(o, node, event->port, event->at);
	} else if (event->phase == DEPART) {
		/* The end of a transmission, or a port that was let go while it stood idle. */
		if (event->at >= node->ports[event->port].end)
			node->ports[event->port].busy = false;
		try_start(o, node, event->port, event->at);
	} else if (event->pkt.frame == SIM_CONTROL) {
		take_control(o, node, event->port, &event->pkt);
	} else {
		arrive_at_switch(o, node, event);
	}
}
