/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/traffic/traffic.h"

#include "models/traffic/internal.h"
#include "sim/port.h"
#include "sim/route.h"
#include "sim/switch.h"

/* Packet i is through link k at E(i,k) = max(E(i,k-1), E(i-1,k)) + t(i,k): a store-and-forward
 * pipeline. A switch that cuts through has it at B(i,k-1) + t(head) instead of E(i,k-1), B being
 * where it begins. Where packets are alike the recurrence soon moves on by the same step at every
 * link, and the rest of them is one multiplication. */

enum { LINKS_MAX = 64 };

struct trip { /* the ports that a packet leaves by */
	const struct sim_port *ports[LINKS_MAX];
	/* The switch that the port leads out of sends a frame on once so much of it has come in. 0:
	 * once it is there. */
	uint32_t head_bytes[LINKS_MAX];
	uint32_t count;
	ps_t delays; /* of links and switches together */
};

static uint32_t ideal_head_bytes(const struct fabric *fabric, const struct sim_node *node,
				 const struct sim_port *out, const struct trip *trip)
{
	const struct fabric_switch_params *params = fabric_switch_params(fabric, node);

	if (trip->count == 0 || !params || !params->more ||
	    out->rate_bps > trip->ports[trip->count - 1]->rate_bps)
		return 0;
	return params->more->head_bytes;
}

static bool find_trip(const struct traffic *traffic, const struct host *from, const struct host *to,
		      uint32_t from_qpn, uint32_t to_qpn, struct trip *ret_trip)
{
	struct wire_path path = {.ttl = 64};
	const struct sim_node *node = &from->node;
	struct trip trip = {.count = 0};

	host_ip(to, path.dst_ip);
	if (host_resolve(from, &path, from_qpn, to_qpn) != 0)
		return false;
	for (uint32_t out = 0; node != &to->node;) {
		const struct sim_port *port = &node->ports[out];

		if (trip.count == LINKS_MAX)
			return false;
		trip.head_bytes[trip.count] = ideal_head_bytes(traffic->fabric, node, port, &trip);
		trip.ports[trip.count++] = port;
		trip.delays += port->delay;
		node = port->peer;
		if (node == &to->node)
			break;
		if (node->ops != &sim_switch_ops)
			return false;
		out = sim_route_port(sim_route_table_of(traffic->fabric->routes, node),
				     path.link_dst, path.link_hash);
		if (out >= node->port_count)
			return false;
	}
	*ret_trip = trip;
	return true;
}

/* One packet more: E(i, .) from E(i - 1, .). Returns the step of each link where all are equal, 0
 * where they are not. */
static ps_t ideal_step(const struct trip *trip, uint32_t bytes, ps_t *through)
{
	ps_t before = 0, before_begin = 0, common = 0;
	bool alike = true;

	for (uint32_t k = 0; k < trip->count; k++) {
		const uint32_t head = trip->head_bytes[k];
		const ps_t there =
			head > 0 && head < bytes
				? before_begin + sim_port_tx_time(trip->ports[k - 1], head)
				: before;
		const ps_t begin = there > through[k] ? there : through[k];
		const ps_t end = begin + sim_port_tx_time(trip->ports[k], bytes);

		common = k == 0 ? end - through[k] : common;
		alike = alike && end - through[k] == common;
		before_begin = begin;
		before = through[k] = end;
	}
	return alike ? common : 0;
}

static void run_alike(const struct trip *trip, uint64_t count, uint32_t bytes, ps_t *through)
{
	for (; count > 0; count--) {
		const ps_t common = ideal_step(trip, bytes, through);

		if (!common)
			continue;
		for (uint32_t k = 0; k < trip->count; k++)
			through[k] += common * (count - 1);
		return;
	}
}

struct packets { /* wire sizes of a WRITE */
	uint64_t count;
	uint32_t first, middle, last;
};

/* In-band telemetry, there and back. */
static uint32_t int_bytes(const struct host_params *params)
{
	return params->profile.cc->takes_int ? WIRE_INT_BYTES : 0;
}

/* In a framing every packet of data has the same bytes around it. */
static struct packets framed_packets_of(const struct host_params *params, uint64_t bytes)
{
	const uint32_t mtu = params->profile.mtu_max;
	const uint32_t around = params->profile.framing.data[params->profile.cc->takes_int];
	const uint64_t count = (bytes - 1) / mtu + 1;
	const uint32_t tail = (uint32_t)(bytes - (count - 1) * mtu);

	return (struct packets){.count = count,
				.first = around + (count == 1 ? tail : mtu),
				.middle = around + mtu,
				.last = around + tail};
}

static struct packets ideal_packets_of(const struct host_params *params, uint64_t bytes)
{
	const uint32_t mtu = params->profile.mtu_max;
	const uint32_t around = params->profile.wire_overhead + int_bytes(params) +
				(uint32_t)WIRE_BTH_BYTES + (uint32_t)WIRE_ICRC_BYTES;
	const bool is_selective = params->profile.retransmit == HCA_SELECTIVE && !params->flow_uc;
	const uint32_t reth = is_selective ? WIRE_RETH_BYTES : 0;
	const uint64_t count = (bytes - 1) / mtu + 1;
	const uint32_t imm = params->flow_uc ? WIRE_IMM_BYTES : 0;
	const uint32_t tail = (uint32_t)(bytes - (count - 1) * mtu);
	const uint32_t padded = imm + ((tail + 3) & ~3u);

	return (struct packets){
		.count = count,
		.first = around + (uint32_t)WIRE_RETH_BYTES + (count == 1 ? padded : mtu),
		.middle = around + reth + mtu,
		.last = around + reth + padded,
	};
}

/* One WRITE of the flow, of which @left bytes are left. */
static void write_through(const struct trip *trip, const struct host_params *params, uint64_t left,
			  ps_t *through)
{
	const uint64_t bytes = left < TRAFFIC_WRITE_MAX ? left : TRAFFIC_WRITE_MAX;
	const struct packets packets = hca_framing_is_set(&params->profile.framing)
					       ? framed_packets_of(params, bytes)
					       : ideal_packets_of(params, bytes);

	ideal_step(trip, packets.first, through);
	if (packets.count == 1)
		return;
	run_alike(trip, packets.count - 2, packets.middle, through);
	ideal_step(trip, packets.last, through);
}

static ps_t ack_time(const struct trip *trip, const struct host_params *params)
{
	const struct hca_profile *profile = &params->profile;
	const uint32_t roce = profile->wire_overhead + int_bytes(params) +
			      (uint32_t)WIRE_BTH_BYTES + (uint32_t)WIRE_AETH_BYTES +
			      (uint32_t)WIRE_ICRC_BYTES;
	const uint32_t bytes = hca_framing_is_set(&profile->framing)
				       ? profile->framing.ack[profile->cc->takes_int]
				       : roce;
	ps_t through[LINKS_MAX] = {0};

	ideal_step(trip, bytes, through);
	return through[trip->count - 1] + trip->delays;
}

ps_t traffic_ideal(const struct traffic *traffic, const struct traffic_flow *flow)
{
	const struct host *src = traffic->fabric->table.hosts[flow->src];
	const struct host *dst = traffic->fabric->table.hosts[flow->dst];
	ps_t through[LINKS_MAX] = {0};
	struct trip there, back;

	if (!find_trip(traffic, src, dst, flow->source_qpn, flow->sink_qpn, &there))
		return PS_NEVER;
	for (uint64_t done = 0; done < flow->bytes; done += TRAFFIC_WRITE_MAX)
		write_through(&there, &src->params, flow->bytes - done, through);
	if (src->params.flow_uc)
		return through[there.count - 1] + there.delays;
	if (!find_trip(traffic, dst, src, flow->sink_qpn, flow->source_qpn, &back))
		return PS_NEVER;
	return through[there.count - 1] + there.delays + ack_time(&back, &dst->params);
}
