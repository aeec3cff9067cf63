/* SPDX-License-Identifier: BSD-2-Clause */

/* What a switch does in its window. No header: it is the body of two source files, switch_plain.c
 * and switch_full.c, which say what FULL is, so that plain switches pay for nothing else. */
#include "sim/switch_internal.h"

/* ---- departures ---- */

/* Where credits decide, whether the frame in front fits. */
static void look_at_head(struct sim_switch *sw, struct sim_port *port, uint32_t queue, ps_t at)
{
	const struct sim_class *class = class_of(sw, port->index, queue);
	bool fits = true;

	if (class->count > 0)
		fits = sw->fc->ops->may_send(sw->fc, port->index, (uint8_t)queue,
					     class->head->bytes);
	sim_fc_pause(sw->fc, port->index, (uint8_t)queue, !fits, at);
	refresh(sw, port);
}

static __attribute__((noinline)) void mark_frame(struct sim_switch *sw, struct sim_port *port,
						 struct sim_class *class, uint32_t queue,
						 struct sim_pkt *pkt)
{
	const struct sim_mark *mark = sw->marks[port->index * SIM_PRIORITIES + queue];
	uint64_t facts[2];

	sw->node.sim->params.body_ops->facts(pkt, facts);
	if (!mark->mark(mark, class->queue_bytes,
			sim_mark_draw(sw->mark_key, facts, pkt->flow_hash)))
		return;
	pkt->ecn = 3;
	class->marked++;
}

static void send_control(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port,
			 ps_t at)
{
	struct sim_class *class = class_of(sw, port->index, SIM_CONTROL_QUEUE);

	class->sent_packets++;
	engine_forward(et, port, take(sw, port, class, SIM_CONTROL_QUEUE), at,
		       port->delay + port->control_delay);
}

/* @bytes that came in as @from have started elsewhere. */
static inline void let_go(struct engine_thread *et, struct sim_switch *sw, struct sim_class *from,
		  uint32_t in, uint32_t queue, uint32_t bytes, ps_t at)
{
	if (unlikely(from->watched)) {
		sw->fc->ops->on_freed(sw->fc, &et->pub, in, (uint8_t)queue, bytes, at);
		return;
	}
	from->ingress_bytes -= bytes;
	sw->fc->used -= FULL ? sim_fc_shared(sw->fc, from, (uint8_t)queue, bytes) : bytes;
}

static __attribute__((noinline)) void stamp(struct engine_thread *et, struct sim_switch *sw,
					    const struct sim_port *port,
					    const struct sim_class *class, struct sim_pkt *pkt,
					    ps_t at)
{
	const struct sim_hop hop = {.rate_bps = port->rate_bps,
				    .at = at,
				    .sent_bytes = port->sent_bytes,
				    .queue_bytes = class->queue_bytes};

	sw->node.sim->params.body_ops->stamp(&et->pub, pkt, &hop);
}

/* @pkt, which may have waited, starts at @at. */
static inline void send(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port,
		struct sim_class *class, struct sim_pkt *pkt, ps_t at)
{
	class->sent_bytes += pkt->bytes;
	class->sent_packets++;
	if (FULL && sw->more->params.stamps)
		stamp(et, sw, port, class, pkt, at);
	engine_forward(et, port, pkt, at, port->delay);
}

/* The best frame of @port that may leave starts at @at. */
static void start(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port, ps_t at)
{
	const uint32_t queue = FULL && sw->more->turns
				       ? sim_switch_turn(sw, port, ready(port))
				       : 31 - (uint32_t)__builtin_clz(ready(port));
	struct sim_class *class = class_of(sw, port->index, queue), *from;
	struct sim_pkt *pkt;
	uint32_t bytes, in;

	if (unlikely(queue == SIM_CONTROL_QUEUE)) {
		send_control(et, sw, port, at);
		return;
	}
	pkt = take(sw, port, class, queue);
	bytes = pkt->bytes;
	in = pkt->port;
	from = class_of(sw, in, queue);
	if (unlikely(class->queue_bytes > class->mark_above) && (pkt->ecn == 1 || pkt->ecn == 2))
		mark_frame(sw, port, class, queue, pkt);
	send(et, sw, port, class, pkt, at);
	if (unlikely(sw->heads)) {
		sw->fc->ops->on_sent(sw->fc, port->index, (uint8_t)queue, bytes);
		look_at_head(sw, port, queue, at);
	}
	let_go(et, sw, from, in, queue, bytes, at);
}

static inline void settle(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port,
		  ps_t until)
{
	while (ready(port) && port->free_at <= until)
		start(et, sw, port, port->free_at);
}

/* The port whose turn is first, up to @until; at one instant by chance. NULL: none. */
static struct sim_port *first_due(struct sim_switch *sw, ps_t until)
{
	struct sim_port *first = NULL;
	uint64_t first_mix = 0;

	if (sw->pending_words == 1 && (sw->pending[0] & (sw->pending[0] - 1)) == 0) {
		if (sw->pending[0] == 0)
			return NULL;
		first = &sw->node.ports[__builtin_ctzll(sw->pending[0])];
		return first->free_at <= until ? first : NULL;
	}
	for (uint32_t w = 0; w < sw->pending_words; w++)
		for (uint64_t word = sw->pending[w]; word; word &= word - 1) {
			struct sim_port *port =
				&sw->node.ports[w * 64 + (uint32_t)__builtin_ctzll(word)];

			if (port->free_at > until || (first && port->free_at > first->free_at))
				continue;
			if (first && port->free_at == first->free_at) {
				const uint64_t mix =
					sim_tie(sw->node.tie_key, port->link_id, port->free_at);

				if (first_mix == 0)
					first_mix = sim_tie(sw->node.tie_key, first->link_id,
							    first->free_at);
				if (mix > first_mix ||
				    (mix == first_mix && port->link_id > first->link_id))
					continue;
				first_mix = mix;
			} else {
				first_mix = 0;
			}
			first = port;
		}
	return first;
}

/* Each departure may send something back at its own instant, and each timer may let a port go. */
static void play_in_order(struct engine_thread *et, struct sim_switch *sw, ps_t until)
{
	struct sim_fc *fc = sw->fc;

	for (;;) {
		struct sim_port *port = first_due(sw, until);
		const ps_t start_at = port ? port->free_at : PS_NEVER;

		if (fc->timer_at <= until && fc->timer_at <= start_at) {
			sw->now = fc->timer_at;
			sw->holding = true;
			fc->ops->on_timer(fc, &et->pub, sw->now);
			sw->holding = false;
			CHECK(fc->timer_at > sw->now);
			continue;
		}
		if (!port)
			break;
		CHECK(start_at >= sw->now);
		sw->now = start_at;
		start(et, sw, port, start_at);
	}
	sw->now = until;
}

/* Returns when the next frame starts, PS_NEVER: none is waiting that may. */
static ps_t settle_ports(struct engine_thread *et, struct sim_switch *sw, ps_t until)
{
	ps_t next = PS_NEVER;

	for (uint32_t w = 0; w < sw->pending_words; w++)
		for (uint64_t word = sw->pending[w]; word; word &= word - 1) {
			struct sim_port *port =
				&sw->node.ports[w * 64 + (uint32_t)__builtin_ctzll(word)];

			settle(et, sw, port, until);
			if (ready(port) && port->free_at < next)
				next = port->free_at;
		}
	sw->now = until;
	return next;
}

/* Nothing starts and no timer is due up to @until. */
static inline bool is_still(const struct sim_switch *sw, ps_t until)
{
	uint64_t word = sw->pending[0];

	if (sw->pending_words > 1 || sw->fc->timer_at <= until)
		return false;
	for (; word; word &= word - 1)
		if (sw->node.ports[__builtin_ctzll(word)].free_at <= until)
			return false;
	return true;
}

/* ---- the seam's callbacks: the ports are settled ---- */

/* Something is there for a port that may have been idle: nothing starts before @at. */
static void kick(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port, ps_t at)
{
	if (port->free_at < at)
		port->free_at = at;
	if (sw->holding || !ready(port) || port->free_at != at)
		return;
	start(et, sw, port, at);
}

static void switch_control(struct sim_thread *th, struct sim_node *node, uint32_t port,
			   const struct sim_pkt *pkt, ps_t at)
{
	struct sim_switch *sw = container_of(node, struct sim_switch, node);
	struct engine_thread *et = engine_of(th);
	struct sim_pkt *frame = engine_frame_get(et);

	CHECK(at >= sw->now); /* or it would go back into the past of a port */
	if (!frame)
		return;
	*frame = *pkt;
	put(sw, &node->ports[port], class_of(sw, port, SIM_CONTROL_QUEUE), SIM_CONTROL_QUEUE,
	    frame);
	kick(et, sw, &node->ports[port], at);
}

static void switch_gate(struct sim_thread *th, struct sim_node *node, uint32_t port, ps_t at)
{
	struct sim_switch *sw = container_of(node, struct sim_switch, node);

	CHECK(at >= sw->now);
	for (uint32_t queue = 0; sw->heads && queue < SIM_PRIORITIES; queue++)
		look_at_head(sw, &node->ports[port], queue, at);
	refresh(sw, &node->ports[port]);
	kick(engine_of(th), sw, &node->ports[port], at);
}

/* What waits is dropped, in its order. */
static void switch_shut(struct sim_thread *th, struct sim_node *node, uint32_t port,
			uint8_t priority, ps_t at)
{
	struct sim_switch *sw = container_of(node, struct sim_switch, node);
	struct sim_class *class = class_of(sw, port, priority);

	CHECK(at >= sw->now);
	class->shut = 1;
	while (class->count > 0) {
		struct sim_pkt *pkt = take(sw, &node->ports[port], class, priority);
		const uint32_t in = pkt->port, bytes = pkt->bytes;

		sw->stats.dropped_watchdog++;
		sim_switch_drop(engine_of(th), sw, pkt);
		let_go(engine_of(th), sw, class_of(sw, in, priority), in, priority, bytes, at);
	}
}

/* ---- arrivals ---- */

/* The bounds did not hold. First the model's exact rule on what may be too large, then on what is.
 */
static __attribute__((noinline)) bool admit(struct engine_thread *et, struct sim_switch *sw,
					    struct sim_pkt *pkt, struct sim_class *from,
					    uint32_t priority)
{
	struct sim_fc *fc = sw->fc;
	const uint32_t ingress = from->ingress_bytes + pkt->bytes;
	const uint64_t used =
		fc->used + (FULL ? sim_fc_shared(fc, from, (uint8_t)priority, pkt->bytes)
				 : pkt->bytes);

	if (!from->watched && fc->ops->quiet(fc, (uint8_t)priority, used, ingress)) {
		fc->used = used;
		from->ingress_bytes = ingress;
		return true;
	}
	if (fc->eager_count == 0)
		settle_ports(et, sw, pkt->at);
	if (fc->ops->on_buffered(fc, &et->pub, pkt->port, (uint8_t)priority, pkt->bytes, pkt->at) ==
	    SIM_FC_TAKEN)
		return true;
	sim_switch_drop(et, sw, pkt);
	return false;
}

static __attribute__((noinline)) void arrive_control(struct engine_thread *et,
						     struct sim_switch *sw, struct sim_pkt *pkt)
{
	if (sw->fc->eager_count == 0)
		settle(et, sw, &sw->node.ports[pkt->port], pkt->at);
	sw->fc->ops->on_control(sw->fc, &et->pub, pkt->port, pkt);
	engine_frame_put(et, pkt);
}

/* Whether there is room for the frame in its class; it is charged. */
static inline bool charge(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		  uint32_t priority)
{
	struct sim_class *from = class_of(sw, pkt->port, priority);
	struct sim_fc *fc = sw->fc;
	const uint32_t bytes = pkt->bytes;
	const uint32_t shared =
		FULL ? sim_fc_shared(fc, from, (uint8_t)priority, bytes) : bytes;

	if (likely(fc->used + shared <= fc->quiet_used &&
		   from->ingress_bytes + bytes <= fc->quiet_ingress && !from->watched)) {
		fc->used += shared;
		from->ingress_bytes += bytes;
		return true;
	}
	return admit(et, sw, pkt, from, priority);
}

/* A frame that ends here for a reason of its own. */
static __attribute__((noinline)) void refuse(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
		   uint64_t *counter)
{
	++*counter;
	sim_switch_drop(et, sw, pkt);
}

/* What only a switch with more looks at; false: the frame has gone elsewhere. */
static inline bool look_closer(struct engine_thread *et, struct sim_switch *sw,
			       struct sim_port *port, struct sim_pkt *pkt, bool whole)
{
	const struct sim_port *in = &sw->node.ports[pkt->port];

	if (class_of(sw, port->index, pkt->priority)->shut ||
	    class_of(sw, pkt->port, pkt->priority)->shut) {
		refuse(et, sw, pkt, &sw->stats.dropped_watchdog);
		return false;
	}
	if (!whole && sw->more->params.head_bytes > 0 && port->rate_bps > in->rate_bps &&
	    pkt->bytes > sw->more->params.head_bytes) {
		sim_switch_wait(et, sw, pkt);
		return false;
	}
	return true;
}

/* Whether the queue that @pkt is for has room for it, first by what may be too large. */
static bool may_queue(struct engine_thread *et, struct sim_switch *sw, struct sim_class *class,
		      uint32_t priority, struct sim_pkt *pkt)
{
	const struct sim_fc *fc = sw->fc;
	const uint32_t bytes = class->queue_bytes + pkt->bytes;

	if (!fc->ops->may_queue || fc->ops->may_queue(fc, (uint8_t)priority, bytes))
		return true;
	if (fc->eager_count == 0)
		settle_ports(et, sw, pkt->at);
	if (fc->ops->may_queue(fc, (uint8_t)priority, bytes))
		return true;
	class_of(sw, pkt->port, priority)->dropped++;
	refuse(et, sw, pkt, &sw->fc->dropped_buffer);
	return false;
}

static inline void arrive(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt,
			  bool whole)
{
	const ps_t at = pkt->at;
	struct sim_fc *fc = sw->fc;
	struct sim_port *port;
	struct sim_class *class;
	uint32_t to, priority;

	if (unlikely(fc->eager_count > 0)) {
		if (is_still(sw, at))
			sw->now = at;
		else
			play_in_order(et, sw, at);
	}
	if (unlikely(pkt->frame == SIM_CONTROL)) {
		arrive_control(et, sw, pkt);
		return;
	}
	to = sim_route_port(&sw->table, pkt->dst, pkt->flow_hash);
	if (unlikely(to == UINT32_MAX || pkt->ttl == 0)) {
		refuse(et, sw, pkt,
		       to == UINT32_MAX ? &sw->stats.dropped_route : &sw->stats.dropped_ttl);
		return;
	}
	port = &sw->node.ports[to];
	if (FULL && !look_closer(et, sw, port, pkt, whole))
		return;
	pkt->ttl--;
	sw->stats.forwarded++;
	priority = pkt->priority;
	class = class_of(sw, to, priority);
	settle(et, sw, port, at);
	if (port->free_at <= at && likely(!(port->paused >> priority & 1) && !sw->all)) {
		send(et, sw, port, class, pkt, at);
		return;
	}
	if (FULL && unlikely(!may_queue(et, sw, class, priority, pkt)))
		return;
	if (unlikely(!charge(et, sw, pkt, priority)))
		return;
	put(sw, port, class, priority, pkt);
	if (unlikely(sw->heads)) {
		look_at_head(sw, port, priority, at);
		kick(et, sw, port, at);
	}
}

/* ---- the window ---- */

/* When the next frame starts. */
static ps_t next_at(const struct sim_switch *sw)
{
	ps_t next = PS_NEVER;

	for (uint32_t w = 0; w < sw->pending_words; w++)
		for (uint64_t word = sw->pending[w]; word; word &= word - 1) {
			const ps_t free_at =
				sw->node.ports[w * 64 + (uint32_t)__builtin_ctzll(word)].free_at;

			next = free_at < next ? free_at : next;
		}
	return next;
}

/* Plays the rest of the window. Returns when the next frame starts after it. */
static ps_t play_rest(struct engine_thread *et, struct sim_switch *sw)
{
	const ps_t until = et->pub.until - 1;

	if (unlikely(sw->fc->eager_count > 0)) {
		play_in_order(et, sw, until);
		return next_at(sw);
	}
	if (sw->pending[0] == 0 && sw->pending_words == 1) {
		sw->now = until;
		return PS_NEVER;
	}
	return settle_ports(et, sw, until);
}

static void run(struct sim_thread *th, struct sim_switch *sw, struct sim_pkt *const *arrivals,
	       uint32_t count)
{
	struct engine_thread *et = engine_of(th);
	ps_t next;

	for (uint32_t i = 0; i < count; i++) {
		while (FULL && sw->more->late_count > 0 &&
		       sim_switch_before(sw, sw->more->late[0], arrivals[i]))
			arrive(et, sw, sim_switch_late_take(sw), true);
		arrive(et, sw, arrivals[i], false);
	}
	while (FULL && sw->more->late_count > 0 && sw->more->late[0]->at < th->until)
		arrive(et, sw, sim_switch_late_take(sw), true);
	next = play_rest(et, sw);
	next = sw->fc->timer_at < next ? sw->fc->timer_at : next;
	if (FULL && sw->more->late_count > 0 && sw->more->late[0]->at < next)
		next = sw->more->late[0]->at;
	if (next == PS_NEVER)
		return;
	if (likely(!th->sim->other))
		engine_wake(et, sw->node.slot, next);
	else
		sim_wake(th, &sw->node, next);
}

