/* SPDX-License-Identifier: BSD-2-Clause */

/* The packets of the chosen flows, for the ladder. */
#include "tools/report/parts.h"

#include "tools/report/columns.h"

static const char *state_name(enum hca_qp_state state)
{
	static const char *const names[] = {
		[HCA_QPS_RESET] = "gone", [HCA_QPS_INIT] = "INIT", [HCA_QPS_RTR] = "RTR",
		[HCA_QPS_RTS] = "RTS",	  [HCA_QPS_SQD] = "SQD",   [HCA_QPS_SQE] = "SQE",
		[HCA_QPS_ERR] = "ERR"};

	return names[state];
}

static json_t *states_of(const struct packet_flow *flow)
{
	json_t *states = json_array();

	for (uint32_t i = 0; i < flow->state_count; i++) {
		const struct packet_state *state = &flow->states[i];

		states = column_add(
			states, json_pack("{s:I,s:s,s:s}", "at_ps", (json_int_t)state->at, "end",
					  state->is_responder ? "responder" : "requester", "state",
					  state_name(state->state)));
	}
	return states;
}

static json_t *packets_flow_of(const struct packet_log *log, const struct packet_flow *flow)
{
	const struct traffic_flow *own = &log->events->scenario->flows[flow->flow];
	json_t *at = json_array(), *ports = json_array(), *opcodes = json_array();
	json_t *psns = json_array(), *bytes = json_array(), *queues = json_array();
	json_t *flags = json_array();

	for (uint32_t i = 0; i < flow->count; i++) {
		const struct packet_record *record = &flow->records[i];

		at = column_add_number(at, record->at);
		ports = column_add_number(ports, record->port);
		opcodes = column_add_number(opcodes, record->opcode);
		psns = column_add_number(psns, record->psn);
		bytes = column_add_number(bytes, record->bytes);
		queues = column_add_number(queues, record->queue_bytes);
		flags = column_add_number(flags, record->flags);
	}
	return json_pack("{s:I,s:I,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "flow",
			 (json_int_t)flow->flow, "left_out", (json_int_t)flow->left_out,
			 "requester_qpn", (int)own->source_qpn, "responder_qpn", (int)own->sink_qpn,
			 "states", states_of(flow), "at_ps", at, "port", ports, "opcode", opcodes,
			 "psn", psns, "bytes", bytes, "queue_bytes", queues, "flags", flags);
}

/* Names of the opcodes that occur, by number. */
static json_t *opcodes_of(const struct packet_log *log)
{
	json_t *names = json_object();
	bool seen[256] = {false};

	for (uint32_t i = 0; i < log->flow_count; i++)
		for (uint32_t k = 0; k < log->flows[i].count; k++)
			seen[log->flows[i].records[k].opcode] = true;
	for (int i = 0; names && i < 256; i++) {
		char number[16];

		if (!seen[i] || !wire_ops[i].name)
			continue;
		snprintf(number, sizeof(number), "%d", i);
		if (json_object_set_new(names, number, json_string(wire_ops[i].name)) != 0) {
			json_decref(names);
			names = NULL;
		}
	}
	return names;
}

json_t *report_packets(const struct report *report)
{
	const struct packet_log *log = report->packets;
	json_t *flows, *nodes, *links;

	if (!log || !log->events)
		return json_null();
	nodes = json_array();
	links = json_array();
	flows = json_array();
	for (uint32_t i = 0; i < log->flow_count; i++)
		flows = column_add(flows, packets_flow_of(log, &log->flows[i]));
	for (uint32_t i = 0; i < log->events->port_count; i++) {
		nodes = column_add(nodes, json_string(log->events->ports[i].node));
		links = column_add(links, json_string(log->events->ports[i].link));
	}
	return json_pack("{s:o,s:o,s:o,s:o}", "flows", flows, "opcodes", opcodes_of(log),
			 "port_node", nodes, "port_link", links);
}
