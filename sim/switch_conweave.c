/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim/switch_conweave.h"

#include "sim/loss.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

/* Places that are looked at for a flow, from its own on: up to seven tenths of the table every flow
 * finds one. What finds none stays on its way, or arrives as it comes. */
enum { PROBES = 64 };

static uint8_t switch_conweave_after(uint8_t epoch)
{
	return (uint8_t)((epoch + 1u) & 3u);
}

static struct sim_conweave *conweave_of(const struct sim_switch *sw)
{
	return container_of(sw->more->edge, struct sim_conweave, edge);
}

/* ---- notes ---- */

/* In the first word way, priority, epoch and kind, and over them the group; in the second the
 * destination; in the third the flow's hash and the round. */
void sim_conweave_put(const struct sim_conweave_note *note, uint64_t ret_words[SIM_AGENT_WORDS])
{
	ret_words[0] = (uint64_t)note->group << 24 | (uint64_t)note->kind << 21 |
		       (uint64_t)note->epoch << 19 | (uint64_t)note->priority << 16 | note->way;
	ret_words[1] = note->dst;
	ret_words[2] = (uint64_t)note->round << 32 | note->flow_hash;
}

struct sim_conweave_note sim_conweave_get(const uint64_t words[SIM_AGENT_WORDS])
{
	return (struct sim_conweave_note){.kind = words[0] >> 21 & 7,
					  .epoch = words[0] >> 19 & 3,
					  .priority = words[0] >> 16 & 7,
					  .way = (uint16_t)words[0],
					  .group = (uint16_t)(words[0] >> 24),
					  .flow_hash = (uint32_t)words[2],
					  .dst = (uint32_t)words[1],
					  .round = (uint32_t)(words[2] >> 32)};
}

/* ---- tables of flows ---- */

static struct sim_conweave_key switch_conweave_key_of(const struct sim_pkt *pkt)
{
	return (struct sim_conweave_key){
		.dst = pkt->dst, .hash = pkt->flow_hash, .priority = pkt->priority};
}

static struct sim_conweave_key key_in(const struct sim_conweave_note *note)
{
	return (struct sim_conweave_key){
		.dst = note->dst, .hash = note->flow_hash, .priority = note->priority};
}

static bool switch_conweave_same(const struct sim_conweave_key *a, const struct sim_conweave_key *b)
{
	return a->dst == b->dst && a->hash == b->hash && a->priority == b->priority;
}

static uint32_t switch_conweave_place_of(const struct sim_conweave *conweave,
					 const struct sim_conweave_key *key)
{
	const u128 x = (u128)((uint64_t)key->dst << 32 | key->hash) * 0x9e3779b97f4a7c15u;

	return (uint32_t)((uint64_t)x ^ (uint64_t)(x >> 64) ^ key->priority) % conweave->places;
}

static bool switch_conweave_is_over(const struct sim_switch *sw, ps_t last_at, ps_t at)
{
	return at - last_at > sw->more->params.conweave.expiry;
}

/* NULL: unknown, and with @add there is no place, either. A place that was never used ends the
 * search, since nothing is ever taken out; of others the one that is over for the longest is used
 * again. */
static struct sim_conweave_tx *find_tx(struct sim_switch *sw, const struct sim_conweave_key *key,
				       ps_t at, bool add)
{
	const struct sim_conweave *conweave = conweave_of(sw);
	const uint32_t first = switch_conweave_place_of(conweave, key);
	struct sim_conweave_tx *free = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct sim_conweave_tx *tx = &conweave->tx[(first + i) % conweave->places];

		if (!tx->used) {
			free = tx;
			break;
		}
		if (switch_conweave_same(&tx->key, key))
			return tx;
		if (switch_conweave_is_over(sw, tx->last_at, at) &&
		    (!free || tx->last_at < free->last_at))
			free = tx;
	}
	if (!add || !free)
		return NULL;
	*free = (struct sim_conweave_tx){.key = *key};
	return free;
}

static struct sim_conweave_rx *find_rx(struct sim_switch *sw, const struct sim_conweave_key *key,
				       ps_t at)
{
	const struct sim_conweave *conweave = conweave_of(sw);
	const uint32_t first = switch_conweave_place_of(conweave, key);
	struct sim_conweave_rx *free = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		struct sim_conweave_rx *rx = &conweave->rx[(first + i) % conweave->places];

		if (!rx->used) {
			free = rx;
			break;
		}
		if (switch_conweave_same(&rx->key, key))
			return rx;
		if (rx->count == 0 && switch_conweave_is_over(sw, rx->last_at, at) &&
		    (!free || rx->last_at < free->last_at))
			free = rx;
	}
	if (free)
		*free = (struct sim_conweave_rx){.key = *key, .used = true, .last_at = at};
	return free;
}

/* ---- the sender's switch ---- */

/* Until when the way by @port to @group is marked. */
static ps_t *busy_until(const struct sim_switch *sw, uint32_t group, uint32_t port)
{
	CHECK(group < sw->table.group_count);
	CHECK(port < sw->node.port_count);
	return &conweave_of(sw)->busy[(size_t)group * sw->node.port_count + port];
}

/* The first of two drawn that is good; otherwise the first. */
static bool draw_way(const struct sim_switch *sw, const struct sim_pkt *pkt, const uint16_t *set,
		     uint32_t count, uint32_t *ret_way)
{
	const uint64_t key = sw->table.key ^ pkt->at * 0xd6e8feb86659fd93u;
	uint32_t ways[2];

	for (uint32_t i = 0; i < 2; i++) {
		ways[i] = set[sim_route_pick(key + i * 0x9e3779b97f4a7c15u, pkt->flow_hash, count)];
		if (*busy_until(sw, pkt->dst >> 16, ways[i]) <= pkt->at) {
			*ret_way = ways[i];
			return true;
		}
	}
	*ret_way = ways[0];
	return false;
}

static bool is_among(const uint16_t *set, uint32_t count, uint32_t port)
{
	for (uint32_t i = 0; i < count; i++)
		if (set[i] == port)
			return true;
	return false;
}

static void switch_conweave_ask(struct sim_conweave_tx *tx, ps_t at,
				struct sim_conweave_note *ret_note)
{
	tx->state = SIM_WEAVE_ASKING;
	tx->round++;
	tx->asked_at = at;
	ret_note->kind = SIM_WEAVE_REQUEST;
	ret_note->way = tx->way;
	ret_note->round = tx->round;
}

static bool is_late(const struct sim_switch *sw, const struct sim_conweave_tx *tx, ps_t at)
{
	const ps_t rtt = conweave_of(sw)->rtt[tx->key.dst >> 16];

	return tx->state == SIM_WEAVE_ASKING && rtt != PS_NEVER &&
	       at - tx->asked_at > rtt + sw->more->params.conweave.reply;
}

bool sim_conweave_leave(struct sim_switch *sw, struct sim_pkt *pkt, const uint16_t *set,
			uint32_t count, uint32_t *ret_way, struct sim_conweave_note *ret_note)
{
	const struct sim_conweave_key key = switch_conweave_key_of(pkt);
	struct sim_conweave_tx *tx = find_tx(sw, &key, pkt->at, true);
	uint32_t way;

	*ret_note = (struct sim_conweave_note){.dst = pkt->dst,
					       .flow_hash = pkt->flow_hash,
					       .priority = pkt->priority,
					       .group = (uint16_t)sw->table.own_group};
	if (!tx) {
		conweave_of(sw)->stats.untracked++;
		*ret_way = set[sim_route_pick(sw->table.key, pkt->flow_hash, count)];
		return false;
	}
	if (!tx->used || switch_conweave_is_over(sw, tx->last_at, pkt->at) ||
	    !is_among(set, count, tx->way)) {
		/* Nothing of it is on the way any more, or what is will not come. */
		if (draw_way(sw, pkt, set, count, &way) || !tx->used ||
		    !is_among(set, count, tx->way))
			tx->way = (uint16_t)way;
		tx->used = true;
		/* A TAIL may be on its way all the same, and what follows it is waited for. */
		if (tx->state == SIM_WEAVE_ASKING)
			tx->state = SIM_WEAVE_STABLE;
	}
	tx->last_at = pkt->at;
	pkt->tag = tx->epoch & 3u;
	ret_note->epoch = tx->epoch;
	*ret_way = tx->way;
	if (tx->state == SIM_WEAVE_CLEARING && switch_conweave_is_over(sw, tx->asked_at, pkt->at))
		tx->state = SIM_WEAVE_STABLE;
	if (tx->state == SIM_WEAVE_STABLE) {
		switch_conweave_ask(tx, pkt->at, ret_note);
	} else if (is_late(sw, tx, pkt->at)) {
		if (!draw_way(sw, pkt, set, count, &way) || way == tx->way) {
			switch_conweave_ask(tx, pkt->at, ret_note);
			return true;
		}
		ret_note->kind = SIM_WEAVE_TAIL;
		ret_note->way = tx->way = (uint16_t)way;
		tx->state = SIM_WEAVE_CLEARING;
		tx->asked_at = pkt->at;
		tx->epoch = switch_conweave_after(tx->epoch);
		conweave_of(sw)->stats.rerouted++;
	}
	return ret_note->kind != SIM_WEAVE_NONE;
}

static void hear_answer(struct sim_switch *sw, const struct sim_conweave_note *note, ps_t at)
{
	struct sim_conweave *conweave = conweave_of(sw);
	const struct sim_conweave_key key = key_in(note);
	const uint32_t group = note->dst >> 16;
	struct sim_conweave_tx *tx = find_tx(sw, &key, at, false);

	if (note->kind == SIM_WEAVE_BUSY) {
		*busy_until(sw, group, note->way) = at + sw->more->params.conweave.busy;
	} else if (tx && note->kind == SIM_WEAVE_REPLY && tx->state == SIM_WEAVE_ASKING &&
		   tx->round == note->round) {
		if (!is_late(sw, tx, at))
			tx->state = SIM_WEAVE_STABLE;
		if (at - tx->asked_at < conweave->rtt[group])
			conweave->rtt[group] = at - tx->asked_at;
	} else if (tx && note->kind == SIM_WEAVE_CLEAR && tx->state == SIM_WEAVE_CLEARING &&
		   tx->epoch == switch_conweave_after(note->epoch)) {
		tx->state = SIM_WEAVE_STABLE;
	}
}

/* ---- the receiver's ---- */

static void switch_conweave_answer(const struct sim_conweave_rx *rx, enum sim_conweave_kind kind,
				   uint8_t epoch, struct sim_conweave_note *ret_note)
{
	*ret_note = (struct sim_conweave_note){.kind = (uint8_t)kind,
					       .epoch = epoch,
					       .priority = rx->key.priority,
					       .way = rx->ways[epoch],
					       .group = rx->group,
					       .flow_hash = rx->key.hash,
					       .dst = rx->key.dst};
}

bool sim_conweave_come(struct sim_switch *sw, struct sim_pkt *pkt, struct sim_conweave_rx **ret_rx,
		       struct sim_conweave_note *ret_note)
{
	const struct sim_conweave_key key = switch_conweave_key_of(pkt);
	const uint8_t epoch = pkt->tag;
	struct sim_conweave_rx *rx = find_rx(sw, &key, pkt->at);
	uint32_t ahead;

	ret_note->kind = SIM_WEAVE_NONE;
	pkt->tag = 0;
	if (!rx) {
		conweave_of(sw)->stats.untracked++;
		return true;
	}
	ahead = ((uint32_t)epoch - rx->epoch) & 3u;
	/* What was lost sight of begins where it is now. But the next epoch is waited for however
	 * long nothing came: after a pause, too, frames may overtake those that left before
	 * them. */
	if (rx->count == 0 &&
	    (ahead == 2 || (ahead == 3 && switch_conweave_is_over(sw, rx->last_at, pkt->at)))) {
		rx->epoch = epoch;
		ahead = 0;
	}
	rx->last_at = pkt->at;
	if (pkt->ecn == 3 && rx->known >> epoch & 1 &&
	    pkt->at - rx->notified_at >= sw->more->params.conweave.busy / 2) {
		rx->notified_at = pkt->at;
		switch_conweave_answer(rx, SIM_WEAVE_BUSY, epoch, ret_note);
	}
	if (ahead == 0 && rx->count > 0)
		rx->resume_at = pkt->at + sw->more->params.conweave.resume;
	*ret_rx = rx;
	return ahead != 1;
}

void sim_conweave_keep(struct sim_switch *sw, struct sim_conweave_rx *rx, struct sim_pkt *pkt)
{
	struct sim_conweave *conweave = conweave_of(sw);

	if (rx->count++ == 0) {
		rx->resume_at = pkt->at + sw->more->params.conweave.resume;
		rx->next = conweave->keeping;
		conweave->keeping = rx;
		rx->head = pkt;
	} else {
		memcpy((void *)rx->tail, &pkt, sizeof(pkt));
	}
	rx->tail = pkt;
	conweave->edge.kept_count++;
	conweave->edge.kept_bytes += pkt->bytes;
	conweave->stats.kept++;
	if (conweave->edge.kept_bytes > conweave->stats.kept_bytes_max)
		conweave->stats.kept_bytes_max = conweave->edge.kept_bytes;
}

void sim_conweave_hear(struct sim_switch *sw, const struct sim_conweave_note *note, ps_t at,
		       struct sim_conweave_rx **ret_rx, struct sim_conweave_note *ret_note)
{
	const struct sim_conweave_key key = key_in(note);
	const uint8_t next = switch_conweave_after(note->epoch);
	struct sim_conweave_rx *rx;

	*ret_rx = NULL;
	ret_note->kind = SIM_WEAVE_NONE;
	if (note->kind != SIM_WEAVE_REQUEST && note->kind != SIM_WEAVE_TAIL) {
		hear_answer(sw, note, at);
		return;
	}
	rx = find_rx(sw, &key, at);
	if (!rx)
		return;
	rx->last_at = at;
	rx->group = note->group;
	if (note->kind == SIM_WEAVE_REQUEST) {
		rx->ways[note->epoch] = note->way;
		rx->known |= (uint8_t)(1u << note->epoch);
		switch_conweave_answer(rx, SIM_WEAVE_REPLY, note->epoch, ret_note);
		ret_note->round = note->round;
		return;
	}
	rx->ways[next] = note->way;
	rx->known = (uint8_t)(1u << note->epoch | 1u << next);
	switch_conweave_answer(rx, SIM_WEAVE_CLEAR, note->epoch, ret_note);
	if (rx->epoch != note->epoch)
		return; /* it was not waited for any more */
	if (rx->count > 0)
		*ret_rx = rx;
	else
		rx->epoch = next;
}

struct sim_conweave_rx *sim_conweave_first(const struct sim_conweave *conweave, ps_t *ret_at)
{
	struct sim_conweave_rx *first = NULL;

	*ret_at = PS_NEVER;
	for (struct sim_conweave_rx *rx = conweave->keeping; rx; rx = rx->next) {
		const uint64_t mine = (uint64_t)rx->key.dst << 32 | rx->key.hash;
		const uint64_t other = first ? (uint64_t)first->key.dst << 32 | first->key.hash : 0;

		if (first &&
		    (rx->resume_at > first->resume_at ||
		     (rx->resume_at == first->resume_at &&
		      (mine > other || (mine == other && rx->key.priority > first->key.priority)))))
			continue;
		first = rx;
		*ret_at = rx->resume_at;
	}
	return first;
}

struct sim_pkt *sim_conweave_let_go(struct sim_conweave *conweave, struct sim_conweave_rx *rx,
				    uint32_t *ret_count)
{
	struct sim_conweave_rx **link = &conweave->keeping;

	while (*link != rx)
		link = &(*link)->next;
	*link = rx->next;
	*ret_count = rx->count;
	conweave->edge.kept_count -= rx->count;
	rx->count = 0;
	rx->epoch = switch_conweave_after(rx->epoch);
	return rx->head;
}

/* ---- frames ---- */

/* What has waited for a TAIL, or for its time, goes on at @at in its order, behind what the port
 * was to start up to @settled. */
static void let_kept_go(struct engine_thread *et, struct sim_switch *sw, struct sim_conweave_rx *rx,
			ps_t settled, ps_t at)
{
	const uint32_t to = sim_route_port(&sw->table, rx->key.dst, 0);
	struct sim_conweave *conweave = conweave_of(sw);
	uint32_t count;
	struct sim_pkt *pkt = sim_conweave_let_go(conweave, rx, &count);

	sim_switch_settle(et, sw, to, settled);
	while (count-- > 0) {
		struct sim_pkt *next;

		memcpy(&next, (const void *)pkt, sizeof(next));
		conweave->edge.kept_bytes -= pkt->bytes;
		sim_switch_resume(et, sw, pkt, to, at);
		pkt = next;
	}
}

/* What @note says was found in a frame like @cause; it goes to @group by the port @to. */
static void send_note(struct engine_thread *et, struct sim_switch *sw,
		      const struct sim_conweave_note *note, uint32_t group, uint8_t priority,
		      uint32_t to, const struct sim_pkt *cause)
{
	enum { TTL = 64 };
	struct sim_pkt frame = {.at = cause->at,
				.dst = sim_address(group, SIM_ROUTE_HERE),
				.flow_hash = note->flow_hash,
				.port = cause->port,
				.priority = priority & 7u,
				.ttl = TTL};
	uint64_t words[SIM_AGENT_WORDS];

	sim_conweave_put(note, words);
	sw->node.sim->params.body_ops->put_words(&frame, words);
	conweave_of(sw)->stats.notes_sent++;
	sim_switch_send(et, sw, &frame, to);
}

/* To the switch that the flow comes from, before all data. */
static void send_answer(struct engine_thread *et, struct sim_switch *sw,
			const struct sim_conweave_note *note, const struct sim_pkt *cause)
{
	const struct sim_pkt like = {.at = cause->at,
				     .dst = sim_address(note->group, SIM_ROUTE_HERE),
				     .flow_hash = note->flow_hash};
	const uint32_t to =
		note->kind == SIM_WEAVE_NONE ? UINT32_MAX : sim_switch_balance(sw, &like);

	if (to != UINT32_MAX)
		send_note(et, sw, note, note->group, SIM_PRIORITIES - 1, to, cause);
}

static void conweave_on_first(struct sim_edge *edge, struct engine_thread *et,
			      struct sim_switch *sw, struct sim_pkt *pkt)
{
	const struct sim_pkt cause = *pkt;
	const uint16_t *set;
	const uint32_t count = sim_switch_ways(sw, pkt, &set);
	struct sim_conweave_note note;
	uint32_t to;
	const bool more = sim_conweave_leave(sw, pkt, set, count, &to, &note);

	(void)edge;
	sim_switch_pass(et, sw, pkt, to);
	if (more)
		send_note(et, sw, &note, cause.dst >> 16, cause.priority, to, &cause);
}

static void conweave_on_last(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw,
			     struct sim_pkt *pkt, uint32_t to)
{
	const struct sim_pkt cause = *pkt;
	struct sim_conweave_note answer;
	struct sim_conweave_rx *rx;

	(void)edge;
	if (sim_conweave_come(sw, pkt, &rx, &answer))
		sim_switch_pass(et, sw, pkt, to);
	else if (sim_switch_charge(et, sw, pkt))
		sim_conweave_keep(sw, rx, pkt);
	send_answer(et, sw, &answer, &cause);
}

static ps_t conweave_timer_at(struct sim_edge *edge)
{
	ps_t at;

	sim_conweave_first(container_of(edge, struct sim_conweave, edge), &at);
	return at;
}

/* A TAIL has been waited for for too long. */
static void conweave_on_timer(struct sim_edge *edge, struct engine_thread *et,
			      struct sim_switch *sw, ps_t at)
{
	struct sim_conweave *conweave = container_of(edge, struct sim_conweave, edge);
	ps_t first_at;

	conweave->stats.overdue++;
	let_kept_go(et, sw, sim_conweave_first(conweave, &first_at), at - 1, at);
}

static void conweave_on_frame(struct sim_agent *agent, struct sim_thread *th, struct sim_switch *sw,
			      const struct sim_pkt *frame)
{
	struct sim_conweave *conweave = container_of(agent, struct sim_conweave, agent);
	const struct sim_body_ops *body = sw->node.sim->params.body_ops;
	uint64_t words[SIM_AGENT_WORDS];
	struct sim_conweave_note note, answer;
	struct sim_conweave_rx *rx;

	if (!body->get_words(frame, words)) {
		struct sim_pkt unknown = *frame;

		sw->stats.dropped_route++;
		sim_tell_loss(&sw->node, frame->port, frame, SIM_LOSS_ROUTE, frame->at);
		body->release(th, &unknown);
		return;
	}
	note = sim_conweave_get(words);
	conweave->stats.notes_heard++;
	sim_conweave_hear(sw, &note, frame->at, &rx, &answer);
	if (rx)
		let_kept_go(engine_of(th), sw, rx, frame->at, frame->at);
	send_answer(engine_of(th), sw, &answer, frame);
}

/* ---- its life ---- */

static void conweave_finish(struct sim_edge *edge, struct sim_node *node)
{
	const struct sim_conweave *conweave = container_of(edge, struct sim_conweave, edge);

	sim_digest_add(node, 3, conweave->stats.rerouted, conweave->stats.kept);
}

static void conweave_drain(struct sim_edge *edge, struct engine_thread *et, struct sim_switch *sw)
{
	struct sim_conweave *conweave = container_of(edge, struct sim_conweave, edge);

	while (conweave->keeping) {
		uint32_t count;
		struct sim_pkt *pkt = sim_conweave_let_go(conweave, conweave->keeping, &count);

		while (count-- > 0) {
			struct sim_pkt *next;

			memcpy(&next, (const void *)pkt, sizeof(next));
			sim_switch_drop(et, sw, pkt);
			pkt = next;
		}
	}
	edge->kept_bytes = 0;
}

static void conweave_destroy(struct sim_edge *edge)
{
	struct sim_conweave *conweave = container_of(edge, struct sim_conweave, edge);

	util_free(conweave->tx);
	util_free(conweave->rx);
	util_free(conweave->rtt);
	util_free(conweave->busy);
	util_free(conweave);
}

static const struct sim_edge_ops conweave_ops = {
	.on_first = conweave_on_first,
	.on_last = conweave_on_last,
	.timer_at = conweave_timer_at,
	.on_timer = conweave_on_timer,
	.finish = conweave_finish,
	.drain = conweave_drain,
	.destroy = conweave_destroy,
};

int sim_conweave_create(struct sim_switch *sw)
{
	const struct sim_conweave_params *params = &sw->more->params.conweave;
	struct sim_conweave *conweave = util_calloc(1, sizeof(*conweave));
	const uint32_t groups = sw->table.group_count;

	if (!conweave)
		return -ENOMEM;
	conweave->edge.ops = &conweave_ops;
	conweave->agent.on_frame = conweave_on_frame;
	conweave->places = params->flows ? params->flows : SIM_WEAVE_FLOWS;
	conweave->tx = util_calloc(conweave->places, sizeof(*conweave->tx));
	conweave->rx = util_calloc(conweave->places, sizeof(*conweave->rx));
	conweave->rtt = util_calloc(groups + 1, sizeof(*conweave->rtt));
	conweave->busy =
		util_calloc((size_t)groups * sw->node.port_count + 1, sizeof(*conweave->busy));
	if (!conweave->tx || !conweave->rx || !conweave->rtt || !conweave->busy) {
		conweave_destroy(&conweave->edge);
		return -ENOMEM;
	}
	for (uint32_t g = 0; g < groups; g++)
		conweave->rtt[g] = PS_NEVER;
	sw->more->edge = &conweave->edge;
	return 0;
}

int sim_conweave_init(struct sim_switch *sw)
{
	CHECK(sw->more->params.head_bytes == 0 && !sw->fc->ops->heads);
	CHECK(sw->priority_count == SIM_PRIORITIES); /* or there are no tags */
	CHECK(sw->node.sim->params.body_ops->put_words != NULL);
	CHECK(sw->node.sim->params.body_ops->get_words != NULL);
	if (sw->table.own_group == UINT32_MAX)
		return 0; /* no flow begins or ends here */
	if (sim_conweave_create(sw) != 0)
		return -ENOMEM;
	sim_switch_agent(sw, &conweave_of(sw)->agent);
	return 0;
}

struct sim_conweave_stats sim_switch_conweave_stats(const struct sim_switch *sw)
{
	return sw->more && sw->more->edge && sw->more->edge->ops == &conweave_ops
		       ? conweave_of(sw)->stats
		       : (struct sim_conweave_stats){0};
}
