/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/packet_log.h"

#include "tools/observe/host_index.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A CNP has no PSN: it is of the request during which it comes. */
static bool is_cnp_of(const struct packet_log *log, const struct packet_subject *subject,
		      const struct event *event)
{
	const struct request *request = request_log_at(log->events->requests, subject->is.number);

	return event->opcode == WIRE_CNP && request && event->dst == subject->requester.host &&
	       event->qpn == subject->requester.qpn && event->at >= request->posted_at &&
	       (request->state != REQUEST_ENDED || event->at < request->end_at);
}

static bool is_of(const struct packet_log *log, const struct packet_subject *subject,
		  const struct event *event)
{
	uint64_t number;

	if (!subject->is.is_request)
		return events_flow(log->events, event, &number) && number == subject->is.number;
	if (!log->events->requests)
		return false;
	if (events_request(log->events, event, &number))
		return number == subject->is.number;
	return is_cnp_of(log, subject, event);
}

static struct packet_flow *packet_log_flow_of(struct packet_log *log, const struct event *event)
{
	for (uint32_t i = 0; i < log->flow_count; i++)
		if (is_of(log, &log->flows[i].subject, event))
			return &log->flows[i];
	return NULL;
}

static uint8_t flags_of(const struct event *event)
{
	const struct wire_op *op = &wire_ops[event->opcode];
	const uint32_t type = event->word >> 24 & WIRE_SYN_TYPE_MASK;
	uint8_t flags = 0;

	if (event->marked)
		flags |= PACKET_MARKED;
	if (event->ecn == 3)
		flags |= PACKET_CE;
	if (event->retransmitted)
		flags |= PACKET_AGAIN;
	if (event->opcode == WIRE_CNP)
		flags |= PACKET_CNP;
	if (op->aeth && op->response && type == WIRE_SYN_NAK)
		flags |= PACKET_NAK;
	if (op->aeth && op->response && type == WIRE_SYN_RNR)
		flags |= PACKET_RNR;
	return flags;
}

/* Of the frame that starts: its headers, and the ICRC behind the payload. */
static void packet_log_headers_of(const struct packet_log *log, const struct event *event,
				  struct packet_headers *ret_headers)
{
	uint8_t frame[WIRE_FRAME_MAX];
	const size_t length = events_frame(log->events, event, frame, sizeof(frame));
	struct wire_path path;
	struct wire_pkt pkt;
	size_t net, transport, icrc;

	if (length == 0 || wire_frame_parse_stamped(&path, &pkt, frame, length) != WIRE_OK)
		return;
	net = WIRE_ETH_BYTES + WIRE_UDP_BYTES + (path.vlan ? (size_t)WIRE_VLAN_BYTES : 0) +
	      (wire_path_is_ipv4(&path) ? (size_t)WIRE_IPV4_BYTES : WIRE_IPV6_BYTES);
	transport = wire_ops[pkt.opcode].header_bytes +
		    (pkt.has_rare && pkt.rare.has_int ? (size_t)WIRE_INT_BYTES : 0);
	icrc = net + wire_pkt_bytes(&pkt) - WIRE_ICRC_BYTES;
	CHECK(net <= sizeof(ret_headers->net));
	CHECK(transport + WIRE_ICRC_BYTES <= sizeof(ret_headers->transport));
	memcpy(ret_headers->net, frame, net);
	memcpy(ret_headers->transport, frame + net, transport);
	memcpy(ret_headers->transport + transport, frame + icrc, WIRE_ICRC_BYTES);
	ret_headers->net_bytes = (uint8_t)net;
	ret_headers->transport_bytes = (uint8_t)(transport + WIRE_ICRC_BYTES);
}

static int packet_log_on_event(struct events_listener *listener, const struct event *event)
{
	struct packet_log *log = container_of(listener, struct packet_log, listener);
	struct packet_flow *flow = event->kind == EVENT_DATA && !event->is_stray
					   ? packet_log_flow_of(log, event)
					   : NULL;
	uint8_t flags;

	if (!flow)
		return 0;
	flags = flags_of(event);
	if (flow->count >= PACKET_RECORDS_MAX) {
		const bool is_special = flags & (uint8_t)~PACKET_CE;

		if (!is_special || flow->special_count == PACKET_SPECIALS_MAX) {
			flow->left_out++;
			return 0;
		}
		flow->special_count++;
	}
	flow->records[flow->count++] = (struct packet_record){.at = event->at,
							      .port = event->port,
							      .psn = event->psn,
							      .bytes = event->bytes,
							      .queue_bytes = event->queue_bytes,
							      .opcode = event->opcode,
							      .flags = flags};
	packet_log_headers_of(log, event, &flow->records[flow->count - 1].headers);
	return 0;
}

static void look_at_state(const struct packet_log *log, struct packet_flow *flow, bool is_responder,
			  ps_t at)
{
	const struct events_end *end =
		is_responder ? &flow->subject.responder : &flow->subject.requester;
	enum hca_qp_state state, last = HCA_QPS_RESET;

	if (end->host == HOST_INDEX_MCAST) /* of many */
		return;
	state = hca_qp_state_of(log->events->fabric->table.hosts[end->host]->hca, end->qpn);
	for (uint32_t i = 0; i < flow->state_count; i++)
		if (flow->states[i].is_responder == is_responder)
			last = flow->states[i].state;
	if (state != last && flow->state_count < PACKET_STATES_MAX)
		flow->states[flow->state_count++] = (struct packet_state){at, is_responder, state};
}

static int packet_log_on_window(struct events_listener *listener, ps_t at)
{
	struct packet_log *log = container_of(listener, struct packet_log, listener);

	for (uint32_t i = 0; i < log->flow_count; i++) {
		look_at_state(log, &log->flows[i], false, at);
		look_at_state(log, &log->flows[i], true, at);
	}
	return 0;
}

struct packet_subject packet_subject_of_flow(const struct scenario *scenario, uint64_t flow)
{
	const struct traffic_flow *own = &scenario->flows[flow];

	return (struct packet_subject){.is = {false, flow},
				       .requester = {own->src, own->source_qpn},
				       .responder = {own->dst, own->sink_qpn}};
}

struct packet_subject packet_subject_of_request(const struct request_log *requests, uint64_t number)
{
	const struct request *own = request_log_at(requests, number);

	return (struct packet_subject){.is = {true, number},
				       .requester = {own->src, own->qpn},
				       .responder = {own->dst, own->dest_qpn}};
}

int packet_log_start(struct packet_log *log, struct events *events,
		     const struct packet_subject *subjects, uint32_t count)
{
	struct events_end ends[EVENTS_KEPT_MAX];

	CHECK(count <= PACKET_FLOWS_MAX);
	*log = (struct packet_log){
		.listener = {.on_event = packet_log_on_event, .on_window = packet_log_on_window},
		.events = events};
	for (; log->flow_count < count; log->flow_count++) {
		struct packet_flow *flow = &log->flows[log->flow_count];

		flow->subject = subjects[log->flow_count];
		ends[2 * log->flow_count] = flow->subject.requester;
		ends[2 * log->flow_count + 1] = flow->subject.responder;
		flow->records =
			calloc(PACKET_RECORDS_MAX + PACKET_SPECIALS_MAX, sizeof(*flow->records));
		if (!flow->records)
			return -ENOMEM;
	}
	events_keep_frames(events, ends, 2 * count);
	events_listen(events, &log->listener);
	return 0;
}

void packet_log_fini(struct packet_log *log)
{
	for (uint32_t i = 0; i < PACKET_FLOWS_MAX; i++)
		free(log->flows[i].records);
	*log = (struct packet_log){.events = NULL};
}
