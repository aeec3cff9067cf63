/* SPDX-License-Identifier: BSD-2-Clause */

/* The packets of the chosen flows, for the ladder. */
#include "tools/report/parts.h"

#include "tools/observe/host_index.h"
#include "tools/report/columns.h"
#include "tools/result/internal.h"

#include <inttypes.h>

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

/* Texts, each once, and their places: @texts is the list, @places an object by text. */
struct dictionary {
	json_t *texts, *places;
};

enum { HEX_MAX = 2 * sizeof(struct packet_headers) + 1, ZEROS_MIN = 3 };

/* Hexadecimal, where so many zero bytes in a row are their number in brackets: much of telemetry
 * and of CNPs is zeros. */
static void write_hex(const uint8_t *bytes, size_t count, char *text)
{
	for (size_t i = 0, zeros; i < count; i += zeros ? zeros : 1) {
		for (zeros = 0; i + zeros < count && bytes[i + zeros] == 0;)
			zeros++;
		if (zeros < ZEROS_MIN)
			zeros = 0;
		text += zeros ? sprintf(text, "(%zu)", zeros) : sprintf(text, "%02x", bytes[i]);
	}
	*text = '\0';
}

/* The place of these bytes. NULL: no memory. */
static json_t *place_of(struct dictionary *dictionary, const uint8_t *bytes, size_t count)
{
	char text[HEX_MAX];
	json_t *place;

	write_hex(bytes, count, text);
	place = json_object_get(dictionary->places, text);
	if (place)
		return json_incref(place);
	place = json_integer((json_int_t)json_array_size(dictionary->texts));
	dictionary->texts = column_add(dictionary->texts, json_string(text));
	if (json_object_set(dictionary->places, text, place) == 0)
		return place;
	json_decref(place);
	return NULL;
}

/* Most headers below the BTH are like many others, and those above like the packet's own on its
 * other links, so each stands there once. */
static json_t *packets_headers_of(const struct packet_flow *flow)
{
	struct dictionary nets = {json_array(), json_object()};
	struct dictionary transports = {json_array(), json_object()};
	json_t *net = json_array(), *transport = json_array();

	for (uint32_t i = 0; i < flow->count; i++) {
		const struct packet_headers *headers = &flow->records[i].headers;

		net = column_add(net, place_of(&nets, headers->net, headers->net_bytes));
		transport = column_add(transport, place_of(&transports, headers->transport,
							   headers->transport_bytes));
	}
	json_decref(nets.places);
	json_decref(transports.places);
	return json_pack("{s:o,s:o,s:o,s:o}", "nets", nets.texts, "transports", transports.texts,
			 "net", net, "transport", transport);
}

/* A number, or a text such as "wr17". */
static json_t *packets_name_of(const struct packet_subject *subject)
{
	char name[SUBJECT_MAX];

	if (!subject->is.is_request)
		return json_integer((json_int_t)subject->is.number);
	return json_string(subject_name(&subject->is, name));
}

/* What the table of flows has for a flow; null: it is one. */
static json_t *packets_request_of(const struct packet_log *log, const struct packet_flow *flow)
{
	const struct events *events = log->events;
	struct host *const *hosts = events->fabric->table.hosts;
	const struct request *request;

	if (!flow->subject.is.is_request)
		return json_null();
	request = request_log_at(events->requests, flow->subject.is.number);
	if (!request)
		return json_null();
	return json_pack("{s:s,s:s,s:s,s:i,s:s,s:s,s:o}", "src", hosts[request->src]->node.name,
			 "dst", host_index_name(events->fabric, request->dst), "program",
			 events->scenario->programs[request->program].name, "rank",
			 (int)request->rank, "opcode", request_opcode_name(request->opcode),
			 "status", request_status(request), "time_ps",
			 request->state == REQUEST_ENDED
				 ? json_integer((json_int_t)(request->end_at - request->posted_at))
				 : json_null());
}

static json_t *packets_flow_of(const struct packet_log *log, const struct packet_flow *flow)
{
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
	return json_pack("{s:o,s:o,s:I,s:i,s:i,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "flow",
			 packets_name_of(&flow->subject), "request", packets_request_of(log, flow),
			 "left_out", (json_int_t)flow->left_out, "requester_qpn",
			 (int)flow->subject.requester.qpn, "responder_qpn",
			 (int)flow->subject.responder.qpn, "states", states_of(flow), "at_ps", at,
			 "port", ports, "opcode", opcodes, "psn", psns, "bytes", bytes,
			 "queue_bytes", queues, "flags", flags, "headers",
			 packets_headers_of(flow));
}

/* Which headers follow the BTH, in their order. */
static json_t *layout_by_number(uint8_t opcode)
{
	const struct wire_op *op = &wire_ops[opcode];
	const struct {
		bool is_there;
		const char *name;
	} all[] = {
		{op->rdeth, "RDETH"}, {op->deth, "DETH"},	{op->xrceth, "XRCETH"},
		{op->feth, "FETH"},   {op->reth, "RETH"},	{op->atomiceth, "AtomicETH"},
		{op->seth, "SETH"},   {op->aeth, "AETH"},	{op->imm, "ImmDt"},
		{op->ieth, "IETH"},   {op->sacketh, "SACKETH"}, {op->atomicacketh, "AtomicAckETH"},
		{op->cnp, "CNP"}};
	json_t *layout = json_array();

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (all[i].is_there)
			layout = column_add(layout, json_string(all[i].name));
	return layout;
}

static json_t *name_by_number(uint8_t opcode)
{
	return json_string(wire_ops[opcode].name);
}

/* What @value says of the opcodes that occur, by number. */
static json_t *opcodes_of(const struct packet_log *log, json_t *(*value)(uint8_t opcode))
{
	json_t *values = json_object();
	bool seen[256] = {false};

	for (uint32_t i = 0; i < log->flow_count; i++)
		for (uint32_t k = 0; k < log->flows[i].count; k++)
			seen[log->flows[i].records[k].opcode] = true;
	for (int i = 0; values && i < 256; i++) {
		char number[16];

		if (!seen[i] || !wire_ops[i].name)
			continue;
		snprintf(number, sizeof(number), "%d", i);
		if (json_object_set_new(values, number, value((uint8_t)i)) != 0) {
			json_decref(values);
			values = NULL;
		}
	}
	return values;
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
	return json_pack("{s:o,s:o,s:o,s:o,s:o}", "flows", flows, "opcodes",
			 opcodes_of(log, name_by_number), "layouts",
			 opcodes_of(log, layout_by_number), "port_node", nodes, "port_link", links);
}
