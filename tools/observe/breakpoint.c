/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/breakpoint.h"

#include "sim/switch.h"
#include "tools/result/output.h"
#include "util/quantity.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 5, SHOWN_MAX = 10 };

/* ---- what is meant ---- */

struct words {
	char text[WORDS_MAX][EVENT_FILTER_TEXT_MAX];
	uint32_t count;
};

static bool split(const char *text, struct words *words)
{
	*words = (struct words){.count = 0};
	for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
		const size_t length = strcspn(text, " ");

		if (words->count == WORDS_MAX || length >= EVENT_FILTER_TEXT_MAX)
			return false;
		memcpy(words->text[words->count++], text, length);
		text += length;
	}
	return words->count > 0;
}

static const struct {
	const char *word;
	enum breakpoint_kind kind;
	const char *prepositions; /* of the node behind it */
} kinds[] = {
	{"drop", BREAKPOINT_DROP, "at"},
	{"mark", BREAKPOINT_MARK, "at"},
	{"pause", BREAKPOINT_PAUSE, "from to"},
	{"resume", BREAKPOINT_RESUME, "from to"},
	{"cnp", BREAKPOINT_CNP, "from to"},
	{"nak", BREAKPOINT_NAK, "from to"},
	{"retransmission", BREAKPOINT_AGAIN, "from to"},
};

static bool take_nodes(struct breakpoint *breakpoint, const struct words *words,
		       const char *prepositions, const struct scenario *scenario)
{
	const struct topology *topology = &scenario->topology;

	if (words->count % 2 == 0)
		return false;
	for (uint32_t i = 1; i < words->count; i += 2) {
		const bool is_to = strcmp(words->text[i], "to") == 0;
		const int64_t node = topology_find(topology, words->text[i + 1]);

		if (!strstr(prepositions, words->text[i]) || node < 0)
			return false;
		*(is_to ? &breakpoint->to : &breakpoint->from) = topology->nodes[node].name;
	}
	return true;
}

static bool breakpoint_take_number(const char *text, uint64_t *ret_number)
{
	char *end;

	*ret_number = strtoull(text, &end, 0);
	return *text >= '0' && *text <= '9' && *end == '\0';
}

static bool take_queue(struct breakpoint *breakpoint, const struct words *words,
		       const struct scenario *scenario)
{
	const struct topology_link *link = topology_find_link(&scenario->topology, words->text[1]);

	if (!link || words->count != 4 || strcmp(words->text[2], ">") != 0)
		return false;
	breakpoint->kind = BREAKPOINT_QUEUE;
	breakpoint->link = link->name;
	return util_quantity_parse(words->text[3], strlen(words->text[3]), UTIL_UNIT_BYTES,
				   &breakpoint->number) == UTIL_QUANTITY_OK;
}

static bool take_words(struct breakpoint *breakpoint, const struct words *words,
		       const struct scenario *scenario)
{
	const char *first = words->text[0];

	if (strcmp(first, "queue") == 0)
		return take_queue(breakpoint, words, scenario);
	if (strcmp(first, "qp") == 0) {
		breakpoint->kind = BREAKPOINT_QP;
		return words->count == 4 &&
		       breakpoint_take_number(words->text[1], &breakpoint->number) &&
		       strcmp(words->text[2], "enters") == 0 && strcmp(words->text[3], "ERR") == 0;
	}
	if (strcmp(first, "flow") == 0) {
		breakpoint->kind = BREAKPOINT_FLOW;
		return words->count == 3 &&
		       breakpoint_take_number(words->text[1], &breakpoint->number) &&
		       (breakpoint->number < scenario->flow_count || scenario->stream_count > 0) &&
		       strcmp(words->text[2], "ends") == 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strcmp(kinds[i].word, first) == 0) {
			breakpoint->kind = kinds[i].kind;
			return take_nodes(breakpoint, words, kinds[i].prepositions, scenario);
		}
	return false;
}

bool breakpoint_parse(struct breakpoint *breakpoint, const char *text,
		      const struct scenario *scenario, struct bad_text *ret_why)
{
	struct bad_text quoted;
	struct words words;

	*breakpoint = (struct breakpoint){.text = text};
	if (split(text, &words) && take_words(breakpoint, &words, scenario))
		return true;
	bad_text(ret_why,
		 "found %s, expected such as \"drop at s0\", \"pause from s0\", \"cnp to h1\", "
		 "\"queue h0-s0 > 100KB\", \"qp 5 enters ERR\", \"flow 3 ends\", of nodes that are "
		 "there",
		 bad_quote(&quoted, text, strlen(text)));
	return false;
}

/* ---- whether it is this one ---- */

static bool is_named(const char *wanted, const char *name)
{
	return !wanted || strcmp(wanted, name) == 0;
}

static bool is_nak(const struct event *event)
{
	return wire_ops[event->opcode].aeth && wire_ops[event->opcode].response &&
	       (event->word >> 24 & WIRE_SYN_TYPE_MASK) != WIRE_SYN_ACK;
}

/* Of packets of adapters: as they leave their host. */
static bool is_packet(const struct breakpoint *b, const struct event *event)
{
	const struct events_port *port = &b->events->ports[event->port];

	if (event->kind != EVENT_DATA || !port->is_host || !is_named(b->from, port->node) ||
	    !is_named(b->to, b->events->fabric->table.hosts[event->dst]->node.name))
		return false;
	return b->kind == BREAKPOINT_CNP   ? event->opcode == WIRE_CNP
	       : b->kind == BREAKPOINT_NAK ? is_nak(event)
					   : event->retransmitted;
}

static bool is_it(const struct breakpoint *b, const struct event *event)
{
	const struct events_port *port = &b->events->ports[event->port];

	switch (b->kind) {
	case BREAKPOINT_DROP:
		return event->kind == EVENT_DROP && is_named(b->from, port->node);
	case BREAKPOINT_MARK:
		return event->marked && is_named(b->from, port->node);
	case BREAKPOINT_PAUSE:
	case BREAKPOINT_RESUME:
		return event->kind == (b->kind == BREAKPOINT_PAUSE ? EVENT_PAUSE : EVENT_RESUME) &&
		       is_named(b->from, port->node) && is_named(b->to, port->peer);
	case BREAKPOINT_CNP:
	case BREAKPOINT_NAK:
	case BREAKPOINT_AGAIN:
		return is_packet(b, event);
	case BREAKPOINT_QUEUE:
	case BREAKPOINT_QP:
	case BREAKPOINT_FLOW:
		break; /* looked at between windows */
	}
	return false;
}

/* ---- what is shown ---- */

/* Of the last events those of the node; all of the last where it is NULL. */
static void breakpoint_show_context(const struct breakpoint *b, const char *node)
{
	const uint64_t kept =
		b->seen_count < BREAKPOINT_CONTEXT ? b->seen_count : BREAKPOINT_CONTEXT;
	uint64_t first = b->seen_count, shown = 0;

	while (b->seen_count - first < kept && shown < SHOWN_MAX) {
		const struct event *event = &b->seen[--first % BREAKPOINT_CONTEXT];
		const struct events_port *port = &b->events->ports[event->port];

		shown += !node || strcmp(port->node, node) == 0 || strcmp(port->peer, node) == 0;
	}
	for (; first < b->seen_count; first++) {
		const struct event *event = &b->seen[first % BREAKPOINT_CONTEXT];
		const struct events_port *port = &b->events->ports[event->port];

		if (node && strcmp(port->node, node) != 0 && strcmp(port->peer, node) != 0)
			continue;
		fputs("  ", stderr);
		event_text(b->events, event, stderr);
		fputc('\n', stderr);
	}
}

static int reach(struct breakpoint *b, const char *node, ps_t at, const struct event *event)
{
	/* Queues and the states of queue pairs are looked at once a window. */
	const bool is_exact = event || b->kind == BREAKPOINT_FLOW;

	b->reached = true;
	fputs("stopped: ", stderr);
	output_line(b->text, stderr);
	fprintf(stderr, ", %s ", is_exact ? "at" : "in the window that begins at");
	event_time(at, stderr);
	fputc('\n', stderr);
	breakpoint_show_context(b, node);
	if (event) {
		fputs("> ", stderr);
		event_text(b->events, event, stderr);
		fputc('\n', stderr);
	}
	return -ECANCELED;
}

static int breakpoint_on_event(struct events_listener *listener, const struct event *event)
{
	struct breakpoint *b = container_of(listener, struct breakpoint, listener);

	if (is_it(b, event))
		return reach(b, b->events->ports[event->port].node, event->at, event);
	b->seen[b->seen_count++ % BREAKPOINT_CONTEXT] = *event;
	return 0;
}

/* ---- what no event tells ---- */

static int look_at_queue(struct breakpoint *b, ps_t at)
{
	const struct fabric *fabric = b->events->fabric;

	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);
		const struct sim_node *node = sim_switch_node(fabric->switches[i]);

		const uint32_t priorities = b->events->priority_count;

		for (uint32_t p = 0; fc && p < node->port_count * priorities; p++) {
			const char *link = node->ports[p / priorities].link_name;
			const struct sim_class *class =
				sim_fc_class(fc, p / priorities, p % priorities);

			if (strcmp(link, b->link) != 0 || class->queue_max <= b->number)
				continue;
			fprintf(stderr, "%s towards %s, priority %u: %u bytes in the queue\n",
				node->name, node->ports[p / priorities].peer->name, p % priorities,
				class->queue_max);
			return reach(b, node->name, at, NULL);
		}
	}
	return 0;
}

static int look_at_flows(struct breakpoint *b)
{
	const struct scenario *scenario = b->events->scenario;
	const struct traffic_flow *streamed =
		b->kind == BREAKPOINT_FLOW && b->number >= scenario->flow_count
			? traffic_streamed(b->events->traffic, b->number)
			: NULL;

	if (streamed && streamed->status != TRAFFIC_PENDING)
		return reach(b, b->events->fabric->table.hosts[streamed->src]->node.name,
			     streamed->end_at, NULL);
	for (uint64_t i = 0; i < scenario->flow_count; i++) {
		const struct traffic_flow *flow = &scenario->flows[i];
		const bool is_meant = b->kind == BREAKPOINT_FLOW
					      ? i == b->number && flow->status != TRAFFIC_PENDING
					      : flow->status == TRAFFIC_FAILED &&
							(flow->source_qpn == b->number ||
							 flow->sink_qpn == b->number);

		if (is_meant)
			return reach(b, b->events->fabric->table.hosts[flow->src]->node.name,
				     flow->end_at, NULL);
	}
	return 0;
}

static int look_at_qps(struct breakpoint *b, ps_t at)
{
	const struct fabric *fabric = b->events->fabric;

	for (uint32_t i = 0; i < fabric->host_count; i++)
		if (hca_qp_state_of(fabric->hosts[i].hca, (uint32_t)b->number) == HCA_QPS_ERR)
			return reach(b, fabric->hosts[i].node.name, at, NULL);
	return 0;
}

static int breakpoint_on_window(struct events_listener *listener, ps_t at)
{
	struct breakpoint *b = container_of(listener, struct breakpoint, listener);
	int ret = 0;

	if (b->kind == BREAKPOINT_QUEUE)
		return look_at_queue(b, at);
	if (b->kind == BREAKPOINT_FLOW || b->kind == BREAKPOINT_QP)
		ret = look_at_flows(b);
	if (b->kind == BREAKPOINT_QP && !ret)
		ret = look_at_qps(b, at);
	return ret;
}

void breakpoint_start(struct breakpoint *breakpoint, struct events *events)
{
	breakpoint->events = events;
	breakpoint->listener = (struct events_listener){.on_event = breakpoint_on_event,
							.on_window = breakpoint_on_window};
	events_listen(events, &breakpoint->listener);
}
