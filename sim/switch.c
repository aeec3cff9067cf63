/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch.h"

#include "sim/internal.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

struct sim_switch {
	struct sim_node node; /* first */
	struct sim_fc *fc;
	struct sim_class *classes; /* fc->classes */
	uint64_t *pending;	   /* bitmap: ports that could start a frame if they were free */
	uint32_t pending_words;
	bool heads, all; /* fc->ops */
	bool holding;	 /* timers are at work: nothing starts before they are done */
	struct sim_route_table table;
	uint64_t mark_key;
	ps_t now;		       /* of the last thing that was played in order */
	const struct sim_mark **marks; /* by port * SIM_PRIORITIES + priority; may be NULL */
	struct sim_switch_stats stats;
};

static inline struct sim_class *class_of(const struct sim_switch *sw, uint32_t port, uint32_t queue)
{
	return &sw->classes[port * SIM_QUEUES + queue];
}

static inline uint32_t ready(const struct sim_port *port)
{
	return port->waiting & ~(uint32_t)port->paused;
}

static inline void refresh(struct sim_switch *sw, const struct sim_port *port)
{
	const uint64_t bit = (uint64_t)1 << port->index % 64;

	if (ready(port))
		sw->pending[port->index / 64] |= bit;
	else
		sw->pending[port->index / 64] &= ~bit;
}

/* ---- queues ---- */

static inline void put(struct sim_switch *sw, struct sim_port *port, struct sim_class *class,
		       uint32_t queue, struct sim_pkt *pkt)
{
	if (class->count++ == 0) {
		class->head = pkt;
		port->waiting |= (uint16_t)(1u << queue);
		refresh(sw, port);
	} else {
		memcpy((void *)class->tail, &pkt, sizeof(pkt));
	}
	class->tail = pkt;
	class->queue_bytes += pkt->bytes;
	if (class->queue_bytes > class->queue_max)
		class->queue_max = class->queue_bytes;
}

static inline struct sim_pkt *take(struct sim_switch *sw, struct sim_port *port,
				   struct sim_class *class, uint32_t queue)
{
	struct sim_pkt *pkt = class->head;

	class->queue_bytes -= pkt->bytes;
	if (--class->count == 0) {
		port->waiting &= (uint16_t) ~(1u << queue);
		refresh(sw, port);
	} else {
		memcpy(&class->head, (const void *)pkt, sizeof(pkt));
		__builtin_prefetch(class->head, 1);
	}
	return pkt;
}

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
						 struct sim_class *class, struct sim_pkt *pkt)
{
	const struct sim_mark *mark = sw->marks[port->index * SIM_PRIORITIES + pkt->priority];
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

/* The best frame of @port that may leave starts at @at. */
static void start(struct engine_thread *et, struct sim_switch *sw, struct sim_port *port, ps_t at)
{
	const uint32_t queue = 31 - (uint32_t)__builtin_clz(ready(port));
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
	class->sent_bytes += bytes;
	class->sent_packets++;
	if (unlikely(class->queue_bytes > class->mark_above) && (pkt->ecn == 1 || pkt->ecn == 2))
		mark_frame(sw, port, class, pkt);
	engine_forward(et, port, pkt, at, port->delay);
	if (unlikely(sw->heads)) {
		sw->fc->ops->on_sent(sw->fc, port->index, (uint8_t)queue, bytes);
		look_at_head(sw, port, queue, at);
	}
	if (unlikely(from->watched)) {
		sw->fc->ops->on_freed(sw->fc, &et->pub, in, (uint8_t)queue, bytes, at);
	} else {
		sw->fc->used -= bytes;
		from->ingress_bytes -= bytes;
	}
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
	if (!sw->holding && ready(port) && port->free_at == at)
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

static const struct sim_fc_user switch_user = {.control = switch_control, .gate = switch_gate};

/* ---- arrivals ---- */

static void drop(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt)
{
	sw->node.sim->params.body_ops->release(&et->pub, pkt);
	engine_frame_put(et, pkt);
}

/* The bounds did not hold. First the model's exact rule on what may be too large, then on what is.
 */
static __attribute__((noinline)) bool admit(struct engine_thread *et, struct sim_switch *sw,
					    struct sim_pkt *pkt, struct sim_class *from)
{
	struct sim_fc *fc = sw->fc;
	const uint64_t used = fc->used + pkt->bytes;
	const uint32_t ingress = from->ingress_bytes + pkt->bytes;

	if (!from->watched && fc->ops->quiet(fc, pkt->priority, used, ingress)) {
		fc->used = used;
		from->ingress_bytes = ingress;
		return true;
	}
	if (fc->eager_count == 0)
		settle_ports(et, sw, pkt->at);
	if (fc->ops->on_buffered(fc, &et->pub, pkt->port, pkt, pkt->at) == SIM_FC_TAKEN)
		return true;
	drop(et, sw, pkt);
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

static inline void arrive(struct engine_thread *et, struct sim_switch *sw, struct sim_pkt *pkt)
{
	const ps_t at = pkt->at;
	const uint32_t bytes = pkt->bytes, priority = pkt->priority;
	struct sim_fc *fc = sw->fc;
	struct sim_port *port;
	struct sim_class *class, *from;
	uint32_t to;

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
		sw->stats.dropped_route += to == UINT32_MAX;
		sw->stats.dropped_ttl += to != UINT32_MAX;
		drop(et, sw, pkt);
		return;
	}
	pkt->ttl--;
	sw->stats.forwarded++;
	port = &sw->node.ports[to];
	class = class_of(sw, to, priority);
	settle(et, sw, port, at);
	if (port->free_at <= at && likely(!(port->paused >> priority & 1) && !sw->all)) {
		class->sent_bytes += bytes;
		class->sent_packets++;
		engine_forward(et, port, pkt, at, port->delay);
		return;
	}
	from = class_of(sw, pkt->port, priority);
	if (likely(fc->used + bytes <= fc->quiet_used &&
		   from->ingress_bytes + bytes <= fc->quiet_ingress && !from->watched)) {
		fc->used += bytes;
		from->ingress_bytes += bytes;
	} else if (!admit(et, sw, pkt, from)) {
		return;
	}
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

static void switch_run(struct sim_thread *th, struct sim_node *node,
		       struct sim_pkt *const *arrivals, uint32_t count)
{
	struct sim_switch *sw = container_of(node, struct sim_switch, node);
	struct engine_thread *et = engine_of(th);
	ps_t next;

	if (!sw->fc) /* no links */
		return;
	for (uint32_t i = 0; i < count; i++)
		arrive(et, sw, arrivals[i]);
	next = play_rest(et, sw);
	next = sw->fc->timer_at < next ? sw->fc->timer_at : next;
	if (next == PS_NEVER)
		return;
	if (likely(!th->sim->other))
		engine_wake(et, node->slot, next);
	else
		sim_wake(th, node, next);
}

static void switch_finish(struct sim_node *node)
{
	const struct sim_switch *sw = container_of(node, struct sim_switch, node);

	sim_digest_add(node, 0, sw->stats.forwarded,
		       sw->stats.dropped_route + sw->stats.dropped_ttl);
	if (!sw->fc)
		return;
	sim_digest_add(node, 0, sw->fc->dropped_buffer, sw->fc->dropped_headroom);
	for (uint32_t p = 0; p < node->port_count; p++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
			if (class_of(sw, p, q)->sent_packets > 0)
				sim_digest_add(node, node->ports[p].link_id + q,
					       class_of(sw, p, q)->sent_bytes,
					       class_of(sw, p, q)->marked);
}

const struct sim_node_ops sim_switch_ops = {
	.kind = "switch",
	.keeps_frames = true,
	.run = switch_run,
	.finish = switch_finish,
};

/* ---- creation and questions ---- */

struct sim_switch *sim_switch_create(const char *name)
{
	struct sim_switch *sw = util_calloc(1, sizeof(*sw));

	if (sw)
		sw->node = (struct sim_node){.ops = &sim_switch_ops, .name = name};
	return sw;
}

struct sim_node *sim_switch_node(struct sim_switch *sw)
{
	return &sw->node;
}

int sim_switch_ready(struct sim_switch *sw, const struct sim_route_table *table, struct sim_fc *fc)
{
	const struct sim *sim = sw->node.sim;

	CHECK(!sw->fc);
	CHECK(fc != NULL);
	CHECK(fc->node == &sw->node);
	sw->pending_words = sw->node.port_count / 64 + 1;
	sw->pending = util_calloc(sw->pending_words, sizeof(uint64_t));
	if (!sw->pending)
		return -ENOMEM;
	sw->fc = fc;
	sw->classes = fc->classes;
	sw->heads = fc->ops->heads;
	sw->all = fc->ops->all;
	sw->table = *table;
	sw->mark_key = sim_mark_key(sim->params.seed, sw->node.id);
	fc->user = &switch_user;
	return 0;
}

int sim_switch_mark(struct sim_switch *sw, uint32_t port, uint8_t priority,
		    const struct sim_mark *mark)
{
	CHECK(port < sw->node.port_count);
	if (!sw->marks)
		sw->marks = util_calloc((size_t)sw->node.port_count * SIM_PRIORITIES,
					sizeof(*sw->marks));
	if (!sw->marks)
		return -ENOMEM;
	sw->marks[port * SIM_PRIORITIES + priority] = mark;
	class_of(sw, port, priority)->mark_above = mark->quiet_bytes;
	return 0;
}

void sim_switch_destroy(struct sim_switch *sw)
{
	if (!sw)
		return;
	sim_fc_destroy(sw->fc);
	util_free(sw->pending);
	util_free(sw->marks);
	util_free(sw);
}

void sim_switch_drain(struct sim_switch *sw)
{
	struct engine_thread *et = &sw->node.sim->threads[0];

	for (uint32_t p = 0; sw->fc && p < sw->node.port_count; p++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++) {
			struct sim_class *class = class_of(sw, p, q);

			while (class->count > 0)
				drop(et, sw, take(sw, &sw->node.ports[p], class, q));
			sw->node.ports[p].waiting = 0;
			class->queue_bytes = 0;
		}
}

struct sim_fc *sim_switch_fc(const struct sim_switch *sw)
{
	return sw->fc;
}

const struct sim_class *sim_switch_class(const struct sim_switch *sw, uint32_t port,
					 uint8_t priority)
{
	return class_of(sw, port, priority);
}

const struct sim_switch_stats *sim_switch_stats(const struct sim_switch *sw)
{
	return &sw->stats;
}

uint64_t sim_switch_queued(const struct sim_switch *sw, uint64_t *ret_bytes)
{
	uint64_t count = 0, bytes = 0;

	for (uint32_t p = 0; sw->fc && p < sw->node.port_count; p++)
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++) {
			count += class_of(sw, p, q)->count;
			bytes += class_of(sw, p, q)->queue_bytes;
		}
	*ret_bytes = bytes;
	return count;
}
