/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/oracle/internal.h"

/* Rerouting with order restored: flows in plain lists that never forget. */

enum note_kind {
	NOTE_NONE,
	NOTE_REQUEST,
	NOTE_REPLY,
	NOTE_TAIL,
	NOTE_CLEAR,
	NOTE_BUSY,
};

struct note {
	uint32_t kind, epoch, priority, way, group, flow_hash, dst, round;
};

struct sending { /* at the sender's switch */
	struct sending *next;
	struct sim_pkt like; /* dst, flow_hash, priority */
	uint32_t way, epoch, round;
	bool asking, clearing;
	ps_t last_at, since;
};

struct receiving {
	struct receiving *next;
	struct sim_pkt like;
	uint32_t epoch, group, ways[4];
	bool known[4];
	ps_t last_at, told_at, resume_at;
	struct item *head, **tail; /* NULL: nothing is kept */
};

struct conweave {
	struct sending *sending;
	struct receiving *receiving;
	struct {
		uint32_t group, way;
		ps_t until;
	} marked[2048];
	uint32_t marked_count;
	ps_t least[64]; /* round trip, by group; 0: none */
	uint64_t rerouted, kept;
};

static const struct sim_conweave_params *params(const struct oracle *o)
{
	return &o->net->params.more.conweave;
}

static struct conweave *conweave_of(struct node *node)
{
	if (!node->conweave)
		node->conweave = calloc(1, sizeof(*node->conweave));
	CHECK(node->conweave != NULL);
	return node->conweave;
}

static bool alike(const struct sim_pkt *a, uint32_t dst, uint32_t hash, uint32_t priority)
{
	return a->dst == dst && a->flow_hash == hash && a->priority == priority;
}

static struct receiving *receiver(struct conweave *w, uint32_t dst, uint32_t hash,
				  uint32_t priority, ps_t at)
{
	struct receiving *r = w->receiving;

	while (r && !alike(&r->like, dst, hash, priority))
		r = r->next;
	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	CHECK(r != NULL);
	r->like.dst = dst;
	r->like.flow_hash = hash;
	r->like.priority = priority & 7u;
	r->last_at = at;
	r->next = w->receiving;
	return w->receiving = r;
}

static struct sending *sender(struct conweave *w, uint32_t dst, uint32_t hash, uint32_t priority)
{
	for (struct sending *s = w->sending; s; s = s->next)
		if (alike(&s->like, dst, hash, priority))
			return s;
	return NULL;
}

/* ---- notes ---- */

/* Fields of a word from its lowest bit on, and their widths. */
static uint64_t join(const uint32_t fields[], const int bits[], int count)
{
	uint64_t word = 0;

	while (count-- > 0)
		word = word << bits[count] | fields[count];
	return word;
}

static void split(uint64_t word, uint32_t *const ret_fields[], const int bits[], int count)
{
	for (int i = 0; i < count; i++) {
		*ret_fields[i] = (uint32_t)(word & ((1ull << bits[i]) - 1));
		word >>= bits[i];
	}
}

static const int of_flow[] = {16, 3, 2, 3, 16}, of_round[] = {32, 32};

static void write_note(const struct note *n, uint64_t words[SIM_AGENT_WORDS])
{
	words[0] = join((const uint32_t[]){n->way, n->priority, n->epoch, n->kind, n->group},
			of_flow, 5);
	words[1] = n->dst;
	words[2] = join((const uint32_t[]){n->flow_hash, n->round}, of_round, 2);
}

static struct note read_note(const struct oracle *o, const struct sim_pkt *pkt)
{
	uint64_t words[SIM_AGENT_WORDS];
	struct note n;

	CHECK(o->net->body->get_words(pkt, words));
	split(words[0], (uint32_t *const[]){&n.way, &n.priority, &n.epoch, &n.kind, &n.group},
	      of_flow, 5);
	n.dst = (uint32_t)words[1];
	split(words[2], (uint32_t *const[]){&n.flow_hash, &n.round}, of_round, 2);
	return n;
}

static void send_note(struct oracle *o, struct node *node, const struct note *note,
		      const struct sim_pkt *cause, uint32_t dst, uint8_t priority, uint32_t way)
{
	struct sim_pkt pkt = {.at = cause->at,
			      .port = cause->port,
			      .dst = dst,
			      .flow_hash = note->flow_hash,
			      .priority = priority & 7u,
			      .ttl = 64};
	uint64_t words[SIM_AGENT_WORDS];

	write_note(note, words);
	o->net->body->put_words(&pkt, words);
	oracle_pass_on(o, node, &pkt, way);
}

static void answer(struct oracle *o, struct node *node, const struct receiving *r,
		   enum note_kind kind, uint32_t epoch, uint32_t round, const struct sim_pkt *cause)
{
	const struct note note = {.kind = kind,
				  .epoch = epoch,
				  .priority = r->like.priority,
				  .way = r->ways[epoch],
				  .group = r->group,
				  .flow_hash = r->like.flow_hash,
				  .dst = r->like.dst,
				  .round = round};
	const struct sim_pkt back = {
		.at = cause->at, .dst = r->group << 16 | 0xffff, .flow_hash = note.flow_hash};
	const uint32_t way = oracle_way(o, node, &back);

	if (way != UINT32_MAX)
		send_note(o, node, &note, cause, back.dst, 7, way);
}

/* ---- at the sender's switch ---- */

static bool was_marked(const struct conweave *w, uint32_t group, uint32_t way, ps_t at)
{
	for (uint32_t i = 0; i < w->marked_count; i++)
		if (w->marked[i].group == group && w->marked[i].way == way)
			return w->marked[i].until > at;
	return false;
}

/* One of the two that are drawn, UINT32_MAX: both were marked; *ret_first is the first. */
static uint32_t draw(struct conweave *w, uint64_t key, const struct sim_pkt *pkt,
		     const uint16_t *set, uint32_t count, uint32_t *ret_first)
{
	const uint64_t one = key ^ pkt->at * 0xd6e8feb86659fd93u, two = one + 0x9e3779b97f4a7c15u;
	const uint32_t a = set[sim_route_pick(one, pkt->flow_hash, count)],
		       b = set[sim_route_pick(two, pkt->flow_hash, count)];

	*ret_first = a;
	if (!was_marked(w, pkt->dst >> 16, a, pkt->at))
		return a;
	return was_marked(w, pkt->dst >> 16, b, pkt->at) ? UINT32_MAX : b;
}

static void ask(struct sending *s, struct note *note, ps_t at)
{
	s->asking = true;
	s->clearing = false;
	s->since = at;
	note->kind = NOTE_REQUEST;
	note->round = ++s->round;
}

static bool late(const struct oracle *o, const struct conweave *w, const struct sending *s, ps_t at)
{
	const ps_t least = w->least[s->like.dst >> 16];

	return least > 0 && at - s->since > least + params(o)->reply;
}

static bool stays(const struct sending *s, const uint16_t *set, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (set[i] == s->way)
			return true;
	return false;
}

void oracle_conweave_first(struct oracle *o, struct node *node, struct sim_pkt *pkt,
			   const uint16_t *set, uint32_t count, uint64_t key, uint32_t own_group)
{
	struct conweave *w = conweave_of(node);
	struct sending *s = sender(w, pkt->dst, pkt->flow_hash, pkt->priority);
	struct note note = {.dst = pkt->dst,
			    .flow_hash = pkt->flow_hash,
			    .priority = pkt->priority,
			    .group = own_group};
	const struct sim_pkt cause = *pkt;
	uint32_t way, first;
	bool new = !s;

	if (new) {
		s = calloc(1, sizeof(*s));
		CHECK(s != NULL);
		s->like = *pkt;
		s->next = w->sending;
		w->sending = s;
	}
	if (new || pkt->at - s->last_at > params(o)->expiry || !stays(s, set, count)) {
		way = draw(w, key, pkt, set, count, &first);
		if (way != UINT32_MAX)
			s->way = way;
		else if (new || !stays(s, set, count))
			s->way = first;
		s->asking = false;
	}
	s->last_at = pkt->at;
	pkt->tag = s->epoch & 3u;
	note.epoch = s->epoch;
	way = s->way;
	if (s->clearing && pkt->at - s->since > params(o)->expiry)
		s->clearing = false;
	if (!s->asking && !s->clearing) {
		ask(s, &note, pkt->at);
	} else if (s->asking && late(o, w, s, pkt->at)) {
		const uint32_t other = draw(w, key, pkt, set, count, &first);

		if (other == UINT32_MAX || other == way) {
			ask(s, &note, pkt->at);
		} else {
			note.kind = NOTE_TAIL;
			s->way = other;
			s->asking = false;
			s->clearing = true;
			s->since = pkt->at;
			s->epoch = (s->epoch + 1) % 4;
			w->rerouted++;
		}
	}
	note.way = s->way;
	oracle_pass_on(o, node, pkt, way);
	if (note.kind != NOTE_NONE)
		send_note(o, node, &note, &cause, pkt->dst | 0xffff, pkt->priority, way);
}

static void hear_answer(struct oracle *o, struct conweave *w, const struct note *note, ps_t at)
{
	const uint32_t group = note->dst >> 16;
	struct sending *s = sender(w, note->dst, note->flow_hash, note->priority);
	uint32_t i = 0;

	if (note->kind == NOTE_BUSY) {
		while (i < w->marked_count &&
		       (w->marked[i].group != group || w->marked[i].way != note->way))
			i++;
		CHECK(i < 2048);
		w->marked_count += i == w->marked_count;
		w->marked[i].group = group;
		w->marked[i].way = note->way;
		w->marked[i].until = at + params(o)->busy;
	} else if (s && note->kind == NOTE_REPLY && s->asking && s->round == note->round) {
		if (!late(o, w, s, at))
			s->asking = false;
		if (w->least[group] == 0 || at - s->since < w->least[group])
			w->least[group] = at - s->since;
	} else if (s && note->kind == NOTE_CLEAR && s->clearing &&
		   s->epoch == (note->epoch + 1u) % 4) {
		s->clearing = false;
	}
}

/* ---- at the receiver's ---- */

static void let_go(struct oracle *o, struct node *node, struct receiving *r, ps_t at, bool now)
{
	struct item *item = r->head;

	r->head = NULL;
	r->epoch = (r->epoch + 1) % 4;
	while (item) {
		struct item *next = item->next;

		item->next = NULL;
		oracle_queue(o, node, item, oracle_way(o, node, &item->pkt), at, now);
		item = next;
	}
}

void oracle_conweave_timer(struct oracle *o, struct node *node, ps_t at)
{
	for (struct receiving *r = node->conweave->receiving; r; r = r->next)
		if (r->head && r->resume_at == at)
			let_go(o, node, r, at, false);
}

static void resume_after(struct oracle *o, struct node *node, struct receiving *r, ps_t at)
{
	r->resume_at = at + params(o)->resume;
	oracle_push(o, (struct event){.at = r->resume_at,
				      .node_id = node->sim->id,
				      .mix = UINT64_MAX,
				      .link_id = UINT64_MAX,
				      .number = (uint64_t)r->like.dst << 32 | r->like.flow_hash,
				      .phase = TIMER,
				      .node = node->sim,
				      .port = ORACLE_WEAVE});
}

void oracle_conweave_last(struct oracle *o, struct node *node, struct sim_pkt *pkt, uint32_t way)
{
	struct conweave *w = conweave_of(node);
	struct receiving *r = receiver(w, pkt->dst, pkt->flow_hash, pkt->priority, pkt->at);
	const struct sim_pkt cause = *pkt;
	const uint32_t epoch = pkt->tag;
	bool tell, restart;

	if (!r->head && (epoch == (r->epoch + 2) % 4 ||
			 (epoch == (r->epoch + 3) % 4 && pkt->at - r->last_at > params(o)->expiry)))
		r->epoch = epoch;
	r->last_at = pkt->at;
	pkt->tag = 0;
	tell = pkt->ecn == 3 && r->known[epoch] && pkt->at - r->told_at >= params(o)->busy / 2;
	restart = r->head && epoch == r->epoch;
	if (epoch != (r->epoch + 1) % 4) {
		oracle_pass_on(o, node, pkt, way);
	} else if (oracle_room(o, node, pkt)) {
		struct item *item = calloc(1, sizeof(*item));

		CHECK(item != NULL);
		item->pkt = *pkt;
		if (!r->head) {
			r->tail = &r->head;
			restart = true;
		}
		*r->tail = item;
		r->tail = &item->next;
		w->kept++;
	}
	if (restart)
		resume_after(o, node, r, cause.at);
	if (tell) {
		r->told_at = cause.at;
		answer(o, node, r, NOTE_BUSY, epoch, 0, &cause);
	}
}

void oracle_conweave_note(struct oracle *o, struct node *node, const struct sim_pkt *pkt)
{
	const struct note note = read_note(o, pkt);
	struct conweave *w = conweave_of(node);
	struct receiving *r;
	const uint32_t next = (note.epoch + 1u) % 4;

	if (note.kind != NOTE_REQUEST && note.kind != NOTE_TAIL) {
		hear_answer(o, w, &note, pkt->at);
		return;
	}
	r = receiver(w, note.dst, note.flow_hash, note.priority, pkt->at);
	r->last_at = pkt->at;
	r->group = note.group;
	if (note.kind == NOTE_REQUEST) {
		r->ways[note.epoch] = note.way;
		r->known[note.epoch] = true;
		answer(o, node, r, NOTE_REPLY, note.epoch, note.round, pkt);
		return;
	}
	memset(r->known, 0, sizeof(r->known));
	r->known[note.epoch] = r->known[next] = true;
	r->ways[next] = note.way;
	if (r->epoch == note.epoch)
		let_go(o, node, r, pkt->at, true);
	answer(o, node, r, NOTE_CLEAR, note.epoch, 0, pkt);
}

void oracle_conweave_finish(struct node *node)
{
	const struct conweave *w = conweave_of(node);

	sim_digest_add(node->sim, 3, w->rerouted, w->kept);
	while (node->conweave->sending) {
		struct sending *s = node->conweave->sending;

		node->conweave->sending = s->next;
		free(s);
	}
	while (node->conweave->receiving) {
		struct receiving *r = node->conweave->receiving;

		node->conweave->receiving = r->next;
		free(r);
	}
	free(node->conweave);
	node->conweave = NULL;
}
