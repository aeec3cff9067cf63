/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/observe/packet_log.h"

#include "util/check.h"

#include <errno.h>
#include <stdlib.h>

static struct packet_flow *packet_log_flow_of(struct packet_log *log, const struct event *event)
{
	uint64_t flow;

	if (!events_flow(log->events, event, &flow))
		return NULL;
	for (uint32_t i = 0; i < log->flow_count; i++)
		if (log->flows[i].flow == flow)
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

static int packet_log_on_event(struct events_listener *listener, const struct event *event)
{
	struct packet_log *log = container_of(listener, struct packet_log, listener);
	struct packet_flow *flow =
		event->kind == EVENT_DATA ? packet_log_flow_of(log, event) : NULL;
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
	return 0;
}

static void look_at_state(const struct packet_log *log, struct packet_flow *flow, bool is_responder,
			  ps_t at)
{
	const struct traffic_flow *own = &log->events->scenario->flows[flow->flow];
	const struct host *host =
		log->events->fabric->table.hosts[is_responder ? own->dst : own->src];
	const enum hca_qp_state state =
		hca_qp_state_of(host->hca, is_responder ? own->sink_qpn : own->source_qpn);
	enum hca_qp_state last = HCA_QPS_RESET;

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

int packet_log_start(struct packet_log *log, struct events *events, const uint64_t *flows,
		     uint32_t count)
{
	CHECK(count <= PACKET_FLOWS_MAX);
	*log = (struct packet_log){
		.listener = {.on_event = packet_log_on_event, .on_window = packet_log_on_window},
		.events = events};
	for (; log->flow_count < count; log->flow_count++) {
		struct packet_flow *flow = &log->flows[log->flow_count];

		flow->flow = flows[log->flow_count];
		flow->records =
			calloc(PACKET_RECORDS_MAX + PACKET_SPECIALS_MAX, sizeof(*flow->records));
		if (!flow->records)
			return -ENOMEM;
	}
	events_listen(events, &log->listener);
	return 0;
}

void packet_log_fini(struct packet_log *log)
{
	for (uint32_t i = 0; i < PACKET_FLOWS_MAX; i++)
		free(log->flows[i].records);
	*log = (struct packet_log){.events = NULL};
}
