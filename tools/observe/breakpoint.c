/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/breakpoint.h"

#include "sim/switch.h"
#include "tools/observe/host_index.h"
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
	struct subject subject;

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
	if (subject_read(&first, &subject) && subject.is_request && *first == '\0') {
		breakpoint->kind = BREAKPOINT_REQUEST;
		breakpoint->number = subject.number;
		return words->count == 2 && scenario->program_count > 0 &&
		       strcmp(words->text[1], "ends") == 0;
	}
	first = words->text[0];
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
	if (breakpoint->kind == BREAKPOINT_QUEUE &&
	    util_quantity_parse(words.text[3], strlen(words.text[3]), UTIL_UNIT_BYTES,
				&breakpoint->number) == UTIL_QUANTITY_NO_UNIT) {
		bad_text(ret_why, "found %s, which has no unit, expected bytes such as 100KB",
			 bad_quote(&quoted, words.text[3], strlen(words.text[3])));
		return false;
	}
	bad_text(ret_why,
		 "found %s, expected such as \"drop at s0\", \"pause from s0\", \"cnp to h1\", "
		 "\"queue h0-s0 > 100KB\", \"qp 5 enters ERR\", \"flow 3 ends\", \"wr3 ends\" (a "
		 "work request of a program), of nodes that are there",
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
	    !is_named(b->to, host_index_name(b->events->fabric, event->dst)))
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
	case BREAKPOINT_REQUEST:
		break; /* looked at between windows */
	}
	return false;
}

/* ---- what is shown ---- */

static bool is_at_node(const struct breakpoint *b, const struct event *event, const char *node)
{
	const struct events_port *port = &b->events->ports[event->port];

	return strcmp(port->node, node) == 0 || strcmp(port->peer, node) == 0;
}

/* Of the last events up to @until those of the node. */
static void breakpoint_show_context(const struct breakpoint *b, const char *node, ps_t until)
{
	const uint64_t oldest =
		b->seen_count > BREAKPOINT_CONTEXT ? b->seen_count - BREAKPOINT_CONTEXT : 0;
	uint64_t end = b->seen_count, first, shown = 0;

	while (end > oldest && b->seen[(end - 1) % BREAKPOINT_CONTEXT].at > until)
		end--;
	for (first = end; first > oldest && shown < SHOWN_MAX;)
		shown += is_at_node(b, &b->seen[--first % BREAKPOINT_CONTEXT], node);
	for (; first < end; first++) {
		const struct event *event = &b->seen[first % BREAKPOINT_CONTEXT];

		if (!is_at_node(b, event, node))
			continue;
		fputs("  ", stderr);
		event_text(b->events, event, stderr);
		fputc('\n', stderr);
	}
}

/* @event: what it is; NULL: no event tells it, but @what ended at that instant at @node, or, with
 * NULL, it was so in the window that begins then: queues and the states of queue pairs are looked
 * at once a window. */
static int reach(struct breakpoint *b, const char *node, ps_t at, const struct event *event,
		 const char *what)
{
	b->reached = true;
	fputs("stopped: ", stderr);
	output_line(b->text, stderr);
	fprintf(stderr, ", %s ", event || what ? "at" : "in the window that begins at");
	event_time(at, stderr);
	fputc('\n', stderr);
	breakpoint_show_context(b, node, event || what ? at : PS_NEVER);
	if (event || what)
		fputs("> ", stderr);
	if (event) {
		event_text(b->events, event, stderr);
		fputc('\n', stderr);
	} else if (what) {
		event_time(at, stderr);
		fprintf(stderr, "  %s  %s\n", node, what);
	}
	return -ECANCELED;
}

static int reach_end(struct breakpoint *b, uint32_t host, ps_t at, bool is_ok)
{
	char what[SUBJECT_MAX + 32];

	snprintf(what, sizeof(what), "%s%" PRIu64 " ends%s",
		 b->kind == BREAKPOINT_REQUEST ? "wr" : "flow ", b->number,
		 is_ok ? "" : ", in error");
	return reach(b, b->events->fabric->table.hosts[host]->node.name, at, NULL, what);
}

/* Of a flow of a list. */
static const char *source_of(const struct breakpoint *b)
{
	const struct traffic_flow *flow = &b->events->scenario->flows[b->number];

	return b->events->fabric->table.hosts[flow->src]->node.name;
}

static int breakpoint_on_event(struct events_listener *listener, const struct event *event)
{
	struct breakpoint *b = container_of(listener, struct breakpoint, listener);

	if (is_it(b, event))
		return reach(b, b->events->ports[event->port].node, event->at, event, NULL);
	if (b->kind == BREAKPOINT_FLOW && b->number < b->events->scenario->flow_count &&
	    !is_at_node(b, event, source_of(b)))
		return 0;
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
			return reach(b, node->name, at, NULL, NULL);
		}
	}
	return 0;
}

/* One that has ended. */
static int look_at_flow(struct breakpoint *b)
{
	const struct scenario *scenario = b->events->scenario;
	const struct traffic_flow *flow = b->number < scenario->flow_count
						  ? &scenario->flows[b->number]
						  : traffic_streamed(b->events->traffic, b->number);

	if (!flow || flow->status == TRAFFIC_PENDING)
		return 0;
	return reach_end(b, flow->src, flow->end_at, flow->status == TRAFFIC_OK);
}

static int look_at_request(struct breakpoint *b)
{
	const struct request *request =
		b->events->requests ? request_log_at(b->events->requests, b->number) : NULL;

	if (!request || request->state != REQUEST_ENDED)
		return 0;
	return reach_end(b, request->src, request->end_at, request->status == HCA_WC_SUCCESS);
}

/* A queue pair of a flow is gone when it has failed. */
static int look_at_failed(struct breakpoint *b)
{
	const struct scenario *scenario = b->events->scenario;

	for (uint64_t i = 0; i < scenario->flow_count; i++) {
		const struct traffic_flow *flow = &scenario->flows[i];

		if (flow->status == TRAFFIC_FAILED &&
		    (flow->source_qpn == b->number || flow->sink_qpn == b->number))
			return reach(b, b->events->fabric->table.hosts[flow->src]->node.name,
				     flow->end_at, NULL, NULL);
	}
	return 0;
}

static int look_at_qps(struct breakpoint *b, ps_t at)
{
	const struct fabric *fabric = b->events->fabric;

	for (uint32_t i = 0; i < fabric->host_count; i++)
		if (hca_qp_state_of(fabric->hosts[i].hca, (uint32_t)b->number) == HCA_QPS_ERR)
			return reach(b, fabric->hosts[i].node.name, at, NULL, NULL);
	return 0;
}

static int breakpoint_on_window(struct events_listener *listener, ps_t at)
{
	struct breakpoint *b = container_of(listener, struct breakpoint, listener);
	int ret = 0;

	if (b->kind == BREAKPOINT_QUEUE)
		return look_at_queue(b, at);
	if (b->kind == BREAKPOINT_FLOW)
		return look_at_flow(b);
	if (b->kind == BREAKPOINT_REQUEST)
		return look_at_request(b);
	if (b->kind == BREAKPOINT_QP)
		ret = look_at_failed(b);
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
