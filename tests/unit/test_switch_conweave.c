/* SPDX-License-Identifier: BSD-2-Clause */
/* What a switch that reroutes decides, frame by frame: no frame is moved here. */
#include "sim/switch_conweave.h"

#include "tests/test.h"

enum { HERE = 0, THERE = 1 }; /* groups */

static const uint16_t both[] = {3, 4};

struct leaf {
	struct sim_switch sw;
	struct sim_switch_more more;
};

static struct sim_conweave *conweave_of(struct leaf *leaf)
{
	return container_of(leaf->more.edge, struct sim_conweave, edge);
}

static void make_leaf_of(struct leaf *leaf, uint32_t group, uint32_t flows)
{
	*leaf = (struct leaf){.more.params.conweave = {.reply = 4 * PS_US,
						       .busy = 16 * PS_US,
						       .resume = 200 * PS_US,
						       .expiry = 300 * PS_US,
						       .flows = flows}};
	leaf->sw.more = &leaf->more;
	leaf->sw.table.group_count = 40;
	leaf->sw.node.port_count = 5;
	leaf->sw.table.own_group = group;
	assert_int_equal(sim_conweave_create(&leaf->sw), 0);
}

static void make_leaf(struct leaf *leaf, uint32_t group)
{
	make_leaf_of(leaf, group, 0);
}

static void end_leaf(struct leaf *leaf)
{
	leaf->more.edge->ops->destroy(leaf->more.edge);
}

static struct sim_pkt frame(uint32_t flow, uint8_t epoch, ps_t at)
{
	return (struct sim_pkt){.at = at,
				.dst = sim_address(THERE, 0),
				.flow_hash = flow * 2654435761u,
				.bytes = 1106,
				.tag = epoch & 3u};
}

/* The note that follows a frame of @flow on its way; *ret_pkt is the frame. */
static struct sim_conweave_note leave(struct leaf *leaf, uint32_t flow, ps_t at,
				      const uint16_t *set, uint32_t count, struct sim_pkt *ret_pkt,
				      uint32_t *ret_way)
{
	struct sim_conweave_note note;

	*ret_pkt = frame(flow, 0, at);
	if (!sim_conweave_leave(&leaf->sw, ret_pkt, set, count, ret_way, &note))
		note.kind = SIM_WEAVE_NONE;
	return note;
}

/* What is answered. */
static struct sim_conweave_note hear(struct leaf *leaf, const struct sim_conweave_note *note,
				     ps_t at)
{
	struct sim_conweave_note answer;
	struct sim_conweave_rx *rx;
	uint32_t count;

	sim_conweave_hear(&leaf->sw, note, at, &rx, &answer);
	if (rx)
		sim_conweave_let_go(conweave_of(leaf), rx, &count);
	return answer;
}

/* Whether it goes on at once. */
static bool come(struct leaf *leaf, struct sim_pkt *pkt)
{
	struct sim_conweave_rx *rx;
	struct sim_conweave_note note;

	if (sim_conweave_come(&leaf->sw, pkt, &rx, &note))
		return true;
	sim_conweave_keep(&leaf->sw, rx, pkt);
	return false;
}

/* A request answered in time, another one not at all; then *ret_tail leaves. Returns when. */
static ps_t reroute(struct leaf *from, struct leaf *to, uint32_t *ret_way,
		    struct sim_conweave_note *ret_tail)
{
	struct sim_pkt pkt;
	struct sim_conweave_note note = leave(from, 1, PS_US, both, 2, &pkt, ret_way), answer;
	ps_t at = 20 * PS_US;

	assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
	assert_true(come(to, &pkt));
	answer = hear(to, &note, 6 * PS_US);
	assert_int_equal(answer.kind, SIM_WEAVE_REPLY);
	hear(from, &answer, 11 * PS_US);
	note = leave(from, 1, at, both, 2, &pkt, ret_way);
	assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
	/* A way that is drawn may be the old one: then it asks again. */
	while (note.kind != SIM_WEAVE_TAIL) {
		at += 15 * PS_US;
		note = leave(from, 1, at, both, 2, &pkt, ret_way);
	}
	assert_int_equal(pkt.tag, 0);
	assert_int_equal(note.epoch, 0);
	*ret_tail = note;
	return at;
}

/* A link at the switch goes down just after a flow has moved to it: what the flow has sent before
 * is still waited for at the other end, so there is no third way yet. */
static void a_way_that_is_gone_ends_no_clearing(void **state)
{
	struct leaf from, to;
	struct sim_pkt pkt;
	struct sim_conweave_note tail, note, clear;
	uint32_t old, way;
	uint16_t left;
	ps_t at;

	(void)state;
	make_leaf(&from, HERE);
	make_leaf(&to, THERE);
	at = reroute(&from, &to, &old, &tail);
	left = (uint16_t)old;
	note = leave(&from, 1, at + PS_US, &left, 1, &pkt, &way);
	assert_int_equal(way, old);
	assert_int_equal(pkt.tag, 1);
	assert_int_equal(note.kind, SIM_WEAVE_NONE);
	clear = hear(&to, &tail, at + 50 * PS_US);
	assert_int_equal(clear.kind, SIM_WEAVE_CLEAR);
	hear(&from, &clear, at + 60 * PS_US);
	note = leave(&from, 1, at + 61 * PS_US, &left, 1, &pkt, &way);
	assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
	end_leaf(&from);
	end_leaf(&to);
}

/* A flow that starts again after a pause may be rerouted before its first frame has arrived. */
static void the_next_epoch_waits_after_a_pause(void **state)
{
	struct sim_pkt first = frame(1, 0, PS_US), early = frame(1, 1, 900 * PS_US),
		       late = frame(1, 0, 901 * PS_US);
	struct leaf leaf;

	(void)state;
	make_leaf(&leaf, THERE);
	assert_true(come(&leaf, &first));
	assert_false(come(&leaf, &early));
	assert_true(come(&leaf, &late));
	end_leaf(&leaf);
}

/* Epochs that passed unseen: the flow goes on where it is. */
static void what_was_lost_sight_of_goes_on(void **state)
{
	static const struct {
		uint8_t epoch;
		ps_t at;
	} seen[] = {{2, 2 * PS_US}, {3, 900 * PS_US}};

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_pkt first = frame(1, 0, PS_US),
			       next = frame(1, seen[i].epoch, seen[i].at),
			       after = frame(1, (uint8_t)(seen[i].epoch + 1), seen[i].at + PS_US);
		struct leaf leaf;

		make_leaf(&leaf, THERE);
		assert_true(come(&leaf, &first));
		assert_true(come(&leaf, &next));
		assert_false(come(&leaf, &after));
		end_leaf(&leaf);
	}
}

/* Of two ways one is marked: a flow takes it only if it draws it twice, whatever is marked
 * elsewhere. */
static void marks_of_many_groups_are_apart(void **state)
{
	struct sim_conweave_note busy = {.kind = SIM_WEAVE_BUSY, .way = both[0]};
	struct leaf leaf;
	struct sim_pkt pkt;
	uint32_t way, taken = 0;

	(void)state;
	make_leaf(&leaf, HERE);
	for (uint32_t group = THERE; group < 40; group++) {
		busy.dst = sim_address(group, 0);
		hear(&leaf, &busy, PS_US);
	}
	for (uint32_t flow = 0; flow < 400; flow++) {
		leave(&leaf, flow, 2 * PS_US, both, 2, &pkt, &way);
		taken += way == both[0];
	}
	assert_in_range(taken, 70, 130);
	end_leaf(&leaf);
}

static void many_flows_find_their_places(void **state)
{
	struct leaf from, to;
	struct sim_conweave_note note;
	struct sim_pkt pkt;
	uint32_t way;

	(void)state;
	make_leaf(&from, HERE);
	make_leaf(&to, THERE);
	for (uint32_t flow = 0; flow < SIM_WEAVE_FLOWS / 10 * 7; flow++) {
		note = leave(&from, flow, PS_US, both, 2, &pkt, &way);
		assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
		note = hear(&to, &note, 3 * PS_US);
		assert_int_equal(note.kind, SIM_WEAVE_REPLY);
	}
	assert_int_equal(conweave_of(&from)->stats.untracked, 0);
	end_leaf(&from);
	end_leaf(&to);
}

/* A flow too many stays on one way and is counted, until one of the others is over. */
static void as_many_flows_are_known_as_asked_for(void **state)
{
	const uint64_t *untracked;
	struct leaf from, to;
	struct sim_conweave_note note;
	struct sim_pkt pkt;
	uint32_t way;

	(void)state;
	make_leaf_of(&from, HERE, 64);
	make_leaf_of(&to, THERE, 64);
	untracked = &conweave_of(&from)->stats.untracked;
	for (uint32_t flow = 0; flow < 64; flow++) {
		note = leave(&from, flow, PS_US, both, 2, &pkt, &way);
		assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
		assert_int_equal(hear(&to, &note, 2 * PS_US).kind, SIM_WEAVE_REPLY);
	}
	assert_int_equal(*untracked, 0);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(leave(&from, 64, 3 * PS_US, both, 2, &pkt, &way).kind,
				 SIM_WEAVE_NONE);
		assert_true(come(&to, &pkt));
	}
	assert_int_equal(*untracked, 3);
	assert_int_equal(conweave_of(&to)->stats.untracked, 3);
	note = leave(&from, 64, 302 * PS_US, both, 2, &pkt, &way);
	assert_int_equal(note.kind, SIM_WEAVE_REQUEST);
	assert_int_equal(*untracked, 3);
	end_leaf(&from);
	end_leaf(&to);
}

/* Whoever joins the two and brings the frame along does not read it: each field is in its bits. */
static void a_note_is_three_words(void **state)
{
	static const struct sim_conweave_note notes[] = {
		{.kind = SIM_WEAVE_BUSY,
		 .epoch = 3,
		 .priority = 7,
		 .way = 0xffff,
		 .group = 0xffff,
		 .flow_hash = UINT32_MAX,
		 .dst = UINT32_MAX,
		 .round = UINT32_MAX},
		{.kind = SIM_WEAVE_REQUEST,
		 .epoch = 2,
		 .priority = 4,
		 .way = 0x8001,
		 .group = 0x4002,
		 .flow_hash = 0x12345678,
		 .dst = 0x20003,
		 .round = 5},
	};
	uint64_t words[SIM_AGENT_WORDS];

	(void)state;
	for (uint32_t i = 0; i < 2; i++) {
		struct sim_conweave_note read;

		sim_conweave_put(&notes[i], words);
		read = sim_conweave_get(words);
		assert_int_equal(read.kind, notes[i].kind);
		assert_int_equal(read.epoch, notes[i].epoch);
		assert_int_equal(read.priority, notes[i].priority);
		assert_int_equal(read.way, notes[i].way);
		assert_int_equal(read.group, notes[i].group);
		assert_int_equal(read.flow_hash, notes[i].flow_hash);
		assert_int_equal(read.dst, notes[i].dst);
		assert_int_equal(read.round, notes[i].round);
	}
	assert_true(words[0] == 0x4002348001u);
	assert_true(words[1] == 0x20003);
	assert_true(words[2] == 0x512345678u);
}

RUN(T(a_note_is_three_words), T(a_way_that_is_gone_ends_no_clearing),
    T(the_next_epoch_waits_after_a_pause), T(what_was_lost_sight_of_goes_on),
    T(marks_of_many_groups_are_apart), T(many_flows_find_their_places),
    T(as_many_flows_are_known_as_asked_for))
