/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/event_text.h"

#include "tools/observe/host_index.h"
#include "util/quantity.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[EVENT_KINDS] = {
	[EVENT_DATA] = "data",	   [EVENT_PAUSE] = "pause", [EVENT_RESUME] = "resume",
	[EVENT_CREDIT] = "credit", [EVENT_XOFF] = "xoff",   [EVENT_XON] = "xon",
	[EVENT_SHUT] = "shut",	   [EVENT_OPEN] = "open",   [EVENT_DROP] = "drop",
};

/* ---- a line ---- */

void event_time(ps_t at, FILE *file)
{
	fprintf(file, "%" PRIu64 ".%06" PRIu64 " us", at / PS_US, at % PS_US);
}

/* By the syndrome; NAK codes as IBTA vol. 1 names them, table 45. */
static const char *answer_name(uint8_t syndrome)
{
	if ((syndrome & WIRE_SYN_TYPE_MASK) == WIRE_SYN_RNR)
		return "RNR NAK";
	if ((syndrome & WIRE_SYN_TYPE_MASK) != WIRE_SYN_NAK)
		return "ACK";
	switch (syndrome) {
	case WIRE_NAK_PSN_SEQ:
		return "NAK, PSN sequence error";
	case WIRE_NAK_INVALID_REQUEST:
		return "NAK, invalid request";
	case WIRE_NAK_REMOTE_ACCESS:
		return "NAK, remote access error";
	case WIRE_NAK_REMOTE_OPERATION:
		return "NAK, remote operational error";
	case WIRE_NAK_INVALID_RD_REQUEST:
		return "NAK, invalid RD request";
	default:
		return "NAK";
	}
}

const char *events_reason(const struct event *event)
{
	switch (event->reason) {
	case SIM_LOSS_ROOM:
		return "no room";
	case SIM_LOSS_FAULT:
		return "lost by a fault of the link";
	case SIM_LOSS_DOWN:
		return "the link is down";
	case SIM_LOSS_CORRUPT:
		return "corrupted on the link, and refused";
	case SIM_LOSS_ROUTE:
		return "no route";
	case SIM_LOSS_TTL:
		return "its TTL has run out";
	case SIM_LOSS_MTU:
		return "larger than the switch takes";
	case SIM_LOSS_WATCHDOG:
		return "discarded by the PFC watchdog";
	case SIM_LOSS_FORGOTTEN:
		return "the switch has forgotten whom it is for";
	case SIM_LOSS_OTHERS:
		return "a copy of what was flooded, from another switch";
	case HOST_LOSS_OTHERS:
		return "a copy of what was flooded, for another host";
	case HOST_LOSS_UNKNOWN:
		return "no such queue pair";
	case HOST_LOSS_STATE:
		return "its queue pair does not hear it in its state";
	case HOST_LOSS_KEY:
		return "another Q_Key than its queue pair has";
	case HOST_LOSS_RECEIVE:
		return "no receive is posted";
	default:
		return "its queue pair refuses it";
	}
}

/* Which packet. */
static void put_which(const struct events *events, const struct event *event, FILE *file)
{
	const char *name = wire_ops[event->opcode].name;
	uint64_t flow;

	fprintf(file, "%s psn %u to qp 0x%06x of %s", name ? name : "?", event->psn, event->qpn,
		host_index_name(events->fabric, event->dst));
	if (events_flow(events, event, &flow))
		fprintf(file, ", flow %" PRIu64, flow);
}

static void put_data(const struct events *events, const struct event *event, FILE *file)
{
	put_which(events, event, file);
	if (wire_ops[event->opcode].aeth && wire_ops[event->opcode].response)
		fprintf(file, ", %s", answer_name((uint8_t)(event->word >> 24)));
	fprintf(file, ", %u bytes, priority %u%s%s", event->bytes, event->priority,
		event->ecn == 3 ? ", CE" : "", event->marked ? " marked here" : "");
	if (event->retransmitted)
		fputs(", sent again", file);
	if (event->is_stray)
		fputs(", a copy of a flood", file);
	if (event->queue_bytes)
		fprintf(file, ", %u bytes behind it", event->queue_bytes);
}

static void put_classes(uint16_t classes, FILE *file)
{
	const char *comma = " ";

	for (int q = 0; q < SIM_PRIORITIES_MAX; q++)
		if (classes >> q & 1) {
			fprintf(file, "%s%d", comma, q);
			comma = ",";
		}
}

static void put_control(const struct event *event, FILE *file)
{
	fputs(event->kind == EVENT_PAUSE    ? "PFC pause, priority"
	      : event->kind == EVENT_RESUME ? "PFC resume, priority"
					    : "credits, priority",
	      file);
	put_classes(event->classes, file);
	if (event->kind == EVENT_PAUSE)
		fprintf(file, ", %u quanta", event->quanta);
}

/* On links at its start, elsewhere where it has come to. */
static void put_drop(const struct events *events, const struct event *event, FILE *file)
{
	const bool on_link = event->reason == SIM_LOSS_FAULT || event->reason == SIM_LOSS_DOWN ||
			     event->reason == SIM_LOSS_CORRUPT;

	fprintf(file, "DROP of %u bytes", event->bytes);
	if (!on_link)
		fprintf(file, " from %s", events->ports[event->port].peer);
	fputs(", ", file);
	if (event->classes) {
		fputs("flow control, priority", file);
		put_classes(event->classes, file);
	} else {
		put_which(events, event, file);
		fprintf(file, ", priority %u", event->priority);
	}
	fprintf(file, ": %s", events_reason(event));
}

void event_text(const struct events *events, const struct event *event, FILE *file)
{
	const struct events_port *port = &events->ports[event->port];

	event_time(event->at, file);
	fprintf(file, "  %s > %s  ", port->node, port->peer);
	switch ((enum event_kind)event->kind) {
	case EVENT_DATA:
		put_data(events, event, file);
		break;
	case EVENT_PAUSE:
	case EVENT_RESUME:
	case EVENT_CREDIT:
		put_control(event, file);
		break;
	case EVENT_XOFF:
		fprintf(file,
			"XOFF, priority %u: %" PRIu64
			" bytes from %s are held, the threshold is %" PRIu64,
			event->priority, event->held, port->peer, event->limit);
		break;
	case EVENT_XON:
		fprintf(file,
			"XON, priority %u: %" PRIu64
			" bytes from %s are held, the threshold is %" PRIu64,
			event->priority, event->held, port->peer, event->limit);
		break;
	case EVENT_SHUT:
		fprintf(file, "stops, priority %u", event->priority);
		break;
	case EVENT_OPEN:
		fprintf(file, "goes on, priority %u", event->priority);
		break;
	case EVENT_DROP:
		put_drop(events, event, file);
		break;
	case EVENT_KINDS:
		break;
	}
}

/* ---- filters ---- */

static bool take_text(char (*list)[EVENT_FILTER_TEXT_MAX], uint32_t *count, const char *value,
		      size_t length)
{
	if (*count == EVENT_FILTER_MAX || length == 0 || length >= EVENT_FILTER_TEXT_MAX)
		return false;
	memcpy(list[*count], value, length);
	list[*count][length] = '\0';
	++*count;
	return true;
}

static bool event_text_take_number(const char *value, size_t length, uint64_t max,
				   uint64_t *ret_number)
{
	char text[32], *end;

	if (length == 0 || length >= sizeof(text) || *value < '0' || *value > '9')
		return false;
	memcpy(text, value, length);
	text[length] = '\0';
	*ret_number = strtoull(text, &end, 0);
	return *end == '\0' && *ret_number <= max;
}

static bool take_time(const char *value, size_t length, ps_t *ret_time)
{
	return util_quantity_parse(value, length, UTIL_UNIT_TIME, ret_time) == UTIL_QUANTITY_OK;
}

static bool take_kind(struct event_filter *filter, const char *value, size_t length)
{
	if (length == 4 && strncmp(value, "mark", 4) == 0) {
		filter->marked = true;
		filter->kinds |= 1u << EVENT_DATA;
		return true;
	}
	if (length == 5 && strncmp(value, "again", 5) == 0) {
		filter->retransmitted = true;
		filter->kinds |= 1u << EVENT_DATA;
		return true;
	}
	for (int k = 0; k < EVENT_KINDS; k++)
		if (strlen(kind_names[k]) == length && strncmp(kind_names[k], value, length) == 0) {
			filter->kinds |= 1u << k;
			return true;
		}
	return false;
}

static bool take_subject(struct event_filter *filter, const char *value, size_t length)
{
	struct subject *subject = &filter->flows[filter->flow_count];
	const char *end = value;

	if (!subject_read(&end, subject) || end != value + length || subject->number > INT64_MAX)
		return false;
	filter->flow_count++;
	return true;
}

/* One "key=value". */
static bool event_text_take(struct event_filter *filter, const char *key, size_t key_length,
			    const char *value, size_t length)
{
	uint64_t number = 0;

#define IS(word) (key_length == sizeof(word) - 1 && strncmp(key, word, key_length) == 0)
	if (IS("port"))
		return take_text(filter->ports, &filter->port_count, value, length);
	if (IS("node"))
		return take_text(filter->nodes, &filter->node_count, value, length);
	if (IS("kind"))
		return take_kind(filter, value, length);
	if (IS("from"))
		return take_time(value, length, &filter->from);
	if (IS("until"))
		return take_time(value, length, &filter->until);
	if (IS("qp") && filter->qpn_count < EVENT_FILTER_MAX &&
	    event_text_take_number(value, length, 0xffffff, &number)) {
		filter->qpns[filter->qpn_count++] = (uint32_t)number;
		return true;
	}
	if (IS("flow") && filter->flow_count < EVENT_FILTER_MAX)
		return take_subject(filter, value, length);
	return false;
#undef IS
}

bool event_filter_parse(const char *text, struct event_filter *ret_filter, struct bad_text *ret_why)
{
	*ret_filter = (struct event_filter){.until = PS_NEVER};
	if (strcmp(text, "all") == 0)
		return true;
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		const size_t length = strcspn(at, ",");
		const char *equals = memchr(at, '=', length);
		struct bad_text quoted;

		if (equals && event_text_take(ret_filter, at, (size_t)(equals - at), equals + 1,
					      length - (size_t)(equals - at) - 1))
			continue;
		bad_text(ret_why,
			 "found %s, expected \"all\" or KEY=VALUE,... of port node qp flow kind "
			 "from until, with a kind of data pause resume credit xoff xon shut open "
			 "drop mark again",
			 bad_quote(&quoted, at, length));
		return false;
	}
	return true;
}

bool event_filter_check(struct event_filter *filter, const struct scenario *scenario,
			struct bad_text *ret_why)
{
	const struct topology *topology = &scenario->topology;

	for (uint32_t i = 0; i < filter->port_count; i++) {
		const struct topology_link *link = topology_find_link(topology, filter->ports[i]);

		if (!link) {
			bad_text(ret_why, "found \"%s\", expected the name of a link",
				 filter->ports[i]);
			return false;
		}
		filter->own_ports[i] = link->name;
	}
	for (uint32_t i = 0; i < filter->node_count; i++) {
		const int64_t node = topology_find(topology, filter->nodes[i]);

		if (node < 0) {
			bad_text(ret_why, "found \"%s\", expected a host or a switch",
				 filter->nodes[i]);
			return false;
		}
		filter->own_nodes[i] = topology->nodes[node].name;
	}
	for (uint32_t i = 0; i < filter->flow_count; i++) {
		const struct subject *subject = &filter->flows[i];

		if (subject->is_request && scenario->program_count == 0) {
			bad_text(ret_why,
				 "found wr%" PRIu64 ", expected a flow, for there are no "
				 "programs whose work requests there could be",
				 subject->number);
			return false;
		}
		if (!subject->is_request && scenario->stream_count == 0 &&
		    subject->number >= scenario->flow_count) {
			bad_text(ret_why,
				 "found flow %" PRIu64 ", expected a number below %" PRIu64
				 ", that of flows",
				 subject->number, scenario->flow_count);
			return false;
		}
	}
	return true;
}

static bool wants_packet(const struct event_filter *filter, const struct events *events,
			 const struct event *event)
{
	const bool asks = filter->flow_count || filter->qpn_count;
	uint64_t flow = 0, number = 0;
	const struct traffic_flow *own = asks ? events_flow(events, event, &flow) : NULL;
	const struct request *request =
		asks && !own ? events_request(events, event, &number) : NULL;

	for (uint32_t i = 0; i < filter->qpn_count; i++) {
		const uint32_t qpn = filter->qpns[i];

		if (qpn == event->qpn ||
		    (own && (qpn == own->source_qpn || qpn == own->sink_qpn)) ||
		    (request && (qpn == request->qpn || qpn == request->dest_qpn)))
			return true;
	}
	for (uint32_t i = 0; i < filter->flow_count; i++)
		if (filter->flows[i].is_request ? request && filter->flows[i].number == number
						: own && filter->flows[i].number == flow)
			return true;
	return !asks;
}

bool event_filter_wants(const struct event_filter *filter, const struct events *events,
			const struct event *event)
{
	const struct events_port *port = &events->ports[event->port];
	const bool is_data = event->kind == EVENT_DATA;
	bool wanted = filter->port_count == 0;

	if (event->at < filter->from || event->at >= filter->until)
		return false;
	if (filter->kinds && !(filter->kinds >> event->kind & 1))
		return false;
	if (is_data && (filter->marked || filter->retransmitted) &&
	    !((filter->marked && event->marked) || (filter->retransmitted && event->retransmitted)))
		return false;
	for (uint32_t i = 0; i < filter->port_count && !wanted; i++)
		wanted = strcmp(filter->own_ports[i], port->link) == 0;
	for (uint32_t i = 0; i < filter->node_count; i++)
		if (strcmp(filter->own_nodes[i], port->node) == 0)
			break;
		else if (i + 1 == filter->node_count)
			wanted = false;
	if (!wanted)
		return false;
	return is_data || (event->kind == EVENT_DROP && !event->classes)
		       ? wants_packet(filter, events, event)
		       : filter->qpn_count == 0 && filter->flow_count == 0;
}
