/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/internal.h"

#include "models/fabric/flow_control.h"
#include "models/link/ns3.h"
#include "transport/wire/bth.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

/* What a topology must be, and what a switch must have, to make a fabric. */

enum { PORTS_MAX = 32000 };

static void scenario_fabric_count_ports(const struct topology *topology, uint32_t *ports)
{
	for (uint32_t i = 0; i < topology->link_count; i++) {
		ports[topology->links[i].a]++;
		ports[topology->links[i].b]++;
	}
}

static void check_ports(struct scenario_reader *r, const struct bad_at *at, const char *key,
			const uint32_t *ports)
{
	const struct topology *topology = &r->scenario->topology;
	struct bad_text found, expected;
	uint32_t hosts = 0;

	for (uint32_t i = 0; i < topology->node_count; i++) {
		const struct topology_node *node = &topology->nodes[i];

		hosts += !node->is_switch;
		bad_text(&found, "%s %s with %u links", node->is_switch ? "switch" : "host",
			 node->name, ports[i]);
		bad_text(&expected, "1 to %u", PORTS_MAX);
		if (!node->is_switch && ports[i] != 1)
			bad(r->errors, at, key, found.text, "one link a host");
		else if (ports[i] == 0 || ports[i] > PORTS_MAX)
			bad(r->errors, at, key, found.text, expected.text);
	}
	if (hosts == 0)
		bad(r->errors, at, key, "no host", "at least one");
}

static int scenario_fabric_compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static void scenario_fabric_check_names(struct scenario_reader *r, const struct bad_at *at,
					const char *key)
{
	const struct topology *topology = &r->scenario->topology;
	const char **names = scenario_alloc(r, topology->link_count + 1, sizeof(char *));
	struct bad_text found;

	if (!names)
		return;
	for (uint32_t i = 0; i < topology->link_count; i++)
		names[i] = topology->links[i].name;
	qsort(names, topology->link_count, sizeof(char *), scenario_fabric_compare_names);
	for (uint32_t i = 1; i < topology->link_count; i++)
		if (strcmp(names[i], names[i - 1]) == 0)
			bad(r->errors, at, key, bad_text(&found, "two links %s", names[i]),
			    "another name for each link");
	util_free(names);
}

static uint32_t root_of(uint32_t *parent, uint32_t i)
{
	while (parent[i] != i) {
		parent[i] = parent[parent[i]];
		i = parent[i];
	}
	return i;
}

static void check_one_piece(struct scenario_reader *r, const struct bad_at *at, const char *key)
{
	const struct topology *topology = &r->scenario->topology;
	uint32_t *parent = scenario_alloc(r, topology->node_count + 1, sizeof(*parent));
	struct bad_text found;

	if (!parent)
		return;
	for (uint32_t i = 0; i < topology->node_count; i++)
		parent[i] = i;
	for (uint32_t i = 0; i < topology->link_count; i++)
		parent[root_of(parent, topology->links[i].a)] =
			root_of(parent, topology->links[i].b);
	for (uint32_t i = 1; i < topology->node_count; i++) {
		if (root_of(parent, i) == root_of(parent, 0))
			continue;
		bad(r->errors, at, key,
		    bad_text(&found, "no way from %s to %s", topology->nodes[0].name,
			     topology->nodes[i].name),
		    "a way between all nodes");
		break;
	}
	util_free(parent);
}

void scenario_check_topology(struct scenario_reader *r, const struct bad_at *at, const char *key)
{
	const uint32_t errors = r->errors->error_count;
	uint32_t *ports = scenario_alloc(r, r->scenario->topology.node_count + 1, sizeof(*ports));

	if (!ports)
		return;
	scenario_fabric_count_ports(&r->scenario->topology, ports);
	check_ports(r, at, key, ports);
	if (r->errors->error_count == errors)
		check_one_piece(r, at, key);
	scenario_fabric_check_names(r, at, key);
	util_free(ports);
}

unsigned scenario_wire_shape(const struct scenario *scenario)
{
	return (scenario->nic.ipv6 ? WIRE_SHAPE_IPV6 : 0u) |
	       (scenario->nic.vlan ? WIRE_SHAPE_VLAN : 0u);
}

uint32_t scenario_frame_bytes(const struct scenario *scenario)
{
	const uint32_t overhead = wire_frame_overhead(scenario_wire_shape(scenario));
	const bool takes_int = scenario_cc_ops(scenario->nic.cc)->takes_int;

	if (scenario->nic.ns3_headers)
		return scenario->nic.mtu + ns3_framing().data[takes_int];
	return overhead + (takes_int ? WIRE_INT_BYTES : 0) +
	       (uint32_t)(WIRE_DATA_HEADERS_MAX + WIRE_ICRC_BYTES) + scenario->nic.mtu;
}

uint32_t scenario_headroom_bytes(const struct scenario *scenario, const struct scenario_switch *sw,
				 const struct topology_link *link)
{
	const struct fabric_headroom headroom = {
		.rate_bps = link->rate_bps,
		.delay = link->delay,
		.latency = sw->latency,
		.response_delay = sw->response_delay,
		.frame_bytes = scenario_frame_bytes(scenario),
	};

	return sw->headroom_auto ? fabric_headroom_bytes(&headroom) : sw->headroom_bytes;
}
