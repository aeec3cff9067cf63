/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/counters.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

enum { PREAMBLE_AND_GAP = 8 + 12 };

/* ---- the adapter ---- */

static const struct {
	const char *name;
	size_t offset;
} hw_counters[] = {
#define HW(name, field)                                                                            \
	{                                                                                          \
		name, offsetof(struct hca_counters, field)                                         \
	}
	HW("rx_write_requests", rx_write_requests),
	HW("rx_read_requests", rx_read_requests),
	HW("rx_atomic_requests", rx_atomic_requests),
	HW("out_of_buffer", out_of_buffer),
	HW("out_of_sequence", out_of_sequence),
	HW("duplicate_request", duplicate_request),
	HW("rnr_nak_retry_err", rnr_nak_retry_err),
	HW("packet_seq_err", packet_seq_err),
	HW("implied_nak_seq_err", implied_nak_seq_err),
	HW("local_ack_timeout_err", local_ack_timeout_err),
	HW("resp_local_length_error", resp_local_length_error),
	HW("resp_remote_access_errors", resp_remote_access_errors),
	HW("resp_cqe_error", resp_cqe_error),
	HW("req_cqe_error", req_cqe_error),
	HW("req_remote_invalid_request", req_remote_invalid_request),
	HW("req_remote_access_errors", req_remote_access_errors),
	HW("req_transport_retries_exceeded", req_transport_retries_exceeded),
	HW("req_rnr_retries_exceeded", req_rnr_retries_exceeded),
	HW("np_ecn_marked_roce_packets", np_ecn_marked_roce_packets),
	HW("np_cnp_sent", np_cnp_sent),
	HW("rp_cnp_handled", rp_cnp_handled),
	HW("rp_cnp_ignored", rp_cnp_ignored),
	HW("rdma_tx_packets", tx_packets),
	HW("rdma_tx_bytes", tx_bytes),
	HW("rdma_rx_packets", rx_packets),
	HW("rdma_rx_bytes", rx_bytes),
	HW("qkey_violations", qkey_violations),
	HW("packets_retransmitted", packets_retransmitted),
#undef HW
};
enum { HW_COUNT = sizeof(hw_counters) / sizeof(hw_counters[0]) };

/* Besides those of the table: what the port has refused is an error of the adapter, too. */
static const char icrc_name[] = "rx_icrc_encapsulated";

bool counters_is_hw(const char *name)
{
	for (size_t i = 0; i < HW_COUNT; i++)
		if (strcmp(hw_counters[i].name, name) == 0)
			return true;
	return strcmp(name, icrc_name) == 0;
}

bool counters_is_name(const char *name)
{
	return strcmp(name, "ifindex") == 0 || strcmp(name, "ifname") == 0 ||
	       strcmp(name, "port") == 0 || strcmp(name, "link") == 0;
}

/* ---- an object ---- */

struct object {
	json_t *json;
	bool no_memory;
};

static void counters_put(struct object *object, const char *name, uint64_t value)
{
	if (json_object_set_new(object->json, name, json_integer((json_int_t)value)) != 0)
		object->no_memory = true;
}

static void counters_put_text(struct object *object, const char *name, const char *value)
{
	if (json_object_set_new(object->json, name, json_string(value)) != 0)
		object->no_memory = true;
}

static void put_priority(struct object *object, const char *format, uint8_t priority,
			 uint64_t value)
{
	char name[40];
	const char *mark = strchr(format, '%');

	snprintf(name, sizeof(name), "%.*s%u%s", (int)(mark - format), format, priority, mark + 1);
	counters_put(object, name, value);
}

static void put_hw(struct object *object, const struct hca_counters *counters, uint64_t refused)
{
	for (size_t i = 0; i < HW_COUNT; i++)
		counters_put(object, hw_counters[i].name,
			     *(const uint64_t *)(const void *)((const char *)counters +
							       hw_counters[i].offset));
	counters_put(object, icrc_name, refused);
}

/* ---- ports ---- */

struct both { /* a port and the other end of its link */
	const struct result_link *own, *peer;
	const struct result_port *own_rows, *peer_rows; /* of each priority */
	uint32_t priority_count;
	uint64_t around; /* bytes of a packet on the wire that its frame has not */
};

static uint64_t frame_bytes(const struct both *b, uint64_t wire_bytes, uint64_t packets)
{
	return wire_bytes - b->around * packets;
}

static void put_port_sums(struct object *object, const struct both *b)
{
	const uint64_t lost = b->peer->lost + b->peer->refused;
	uint64_t discards = 0;

	for (uint32_t p = 0; p < b->priority_count; p++)
		discards += b->own_rows[p].dropped;
	counters_put(object, "tx_packets_phy", b->own->sent_packets);
	counters_put(object, "tx_bytes_phy",
		     frame_bytes(b, b->own->sent_bytes, b->own->sent_packets));
	counters_put(object, "rx_packets_phy", b->peer->sent_packets - lost + b->peer->duplicated);
	counters_put(object, "rx_discards_phy", discards);
	counters_put(object, "rx_crc_errors_phy", b->peer->refused);
	counters_put(object, "tx_pause_ctrl_phy", b->own->pause_sent + b->own->resume_sent);
	counters_put(object, "rx_pause_ctrl_phy", b->own->pause_received + b->own->resume_received);
}

static void counters_put_port(struct object *object, const struct both *b, uint32_t priorities)
{
	put_port_sums(object, b);
	for (uint8_t p = 0; p < b->priority_count; p++) {
		const struct result_port *own = &b->own_rows[p], *peer = &b->peer_rows[p];

		if (!(priorities >> p & 1))
			continue;
		put_priority(object, "tx_prio%_packets", p, own->sent_packets);
		put_priority(object, "tx_prio%_bytes", p,
			     frame_bytes(b, own->sent_bytes, own->sent_packets));
		put_priority(object, "rx_prio%_pause", p, own->pause_received);
		put_priority(object, "rx_prio%_pause_duration", p, own->paused / PS_US);
		put_priority(object, "rx_prio%_pause_transition", p, own->resume_received);
		put_priority(object, "tx_prio%_pause", p, own->pause_sent);
		put_priority(object, "tx_prio%_pause_duration", p, peer->paused / PS_US);
		put_priority(object, "tx_prio%_pause_transition", p, own->resume_sent);
		put_priority(object, "rx_prio%_discards", p, own->dropped);
		put_priority(object, "tx_prio%_ecn_marked", p, own->marked);
	}
}

/* Ports are in order of node: that of @name and @link. */
static uint64_t find_port(const struct result *result, const char *name, const char *link)
{
	uint64_t low = 0, high = result->link_count;

	while (high - low > 1) {
		const uint64_t middle = (low + high) / 2;
		const struct result_link *at = &result->links[middle];
		const int order = strcmp(at->node, name);

		if (order < 0 || (order == 0 && strcmp(at->link, link) <= 0))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static const struct host *counters_host_of(const struct result *result, const char *name)
{
	return fabric_host(result->fabric, name);
}

struct writer {
	const struct result *result;
	uint32_t priorities; /* that anybody has used */
	json_t *array;
};

static uint32_t used_priorities(const struct result *result)
{
	uint32_t used = 0;

	for (uint64_t i = 0; i < result->port_count; i++) {
		const struct result_port *port = &result->ports[i];

		if (port->sent_packets || port->dropped || port->pause_sent || port->paused)
			used |= 1u << port->priority;
	}
	return used;
}

static json_t *object_of(const struct writer *w, uint64_t i, uint32_t port)
{
	const struct result *result = w->result;
	const struct result_link *own = &result->links[i];
	const uint64_t far = find_port(result, own->peer, own->link);
	const struct both both = {
		.own = own,
		.peer = &result->links[far],
		.own_rows = &result->ports[i * result->priority_count],
		.peer_rows = &result->ports[far * result->priority_count],
		.priority_count = result->priority_count,
		.around = result->scenario->nic.ns3_headers ? 0 : PREAMBLE_AND_GAP,
	};
	struct object object = {.json = json_object()};

	counters_put(&object, "ifindex", json_array_size(w->array) + 1);
	counters_put_text(&object, "ifname", own->node);
	counters_put(&object, "port", port);
	counters_put_text(&object, "link", own->link);
	if (both.own_rows->is_host)
		put_hw(&object, hca_device_counters(counters_host_of(result, own->node)->hca),
		       both.peer->refused);
	counters_put_port(&object, &both, w->priorities);
	if (!object.no_memory)
		return object.json;
	json_decref(object.json);
	return NULL;
}

/* Those of hosts or those of switches; ports of a node are numbered from 1. */
static int counters_append(const struct writer *w, bool hosts)
{
	const struct result *result = w->result;
	uint32_t port = 0;

	for (uint64_t i = 0; i < result->link_count; i++) {
		const bool is_next =
			i > 0 && strcmp(result->links[i].node, result->links[i - 1].node) == 0;

		port = is_next ? port + 1 : 1;
		if (result->ports[i * result->priority_count].is_host == hosts &&
		    json_array_append_new(w->array, object_of(w, i, port)) != 0)
			return -ENOMEM;
	}
	return 0;
}

static json_t *counters_value(const struct result *result)
{
	const struct writer w = {result, used_priorities(result), json_array()};

	if (w.array && counters_append(&w, true) == 0 && counters_append(&w, false) == 0)
		return w.array;
	json_decref(w.array);
	return NULL;
}

int counters_write(const struct result *result, FILE *file)
{
	json_t *array = counters_value(result);
	int ret;

	if (!array)
		return -ENOMEM;
	ret = json_dumpf(array, file, JSON_INDENT(1)) == 0 && fputc('\n', file) != EOF ? 0 : -EIO;
	json_decref(array);
	return ret;
}
