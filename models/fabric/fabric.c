/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/fabric/fabric.h"

#include "models/fabric/flow_control.h"
#include "models/machine/managed.h"
#include "sim/port.h"
#include "sim/route.h"
#include "sim/switch.h"
#include "transport/wire/icrc.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

enum { HEAD_BYTES_MIN = 46 }; /* preamble, Ethernet, IPv4 and a bit: shorter than any header */

static int fabric_between(struct sim *sim, void *owner)
{
	struct fabric *fabric = owner;
	int ret;

	(void)sim;
	packet_pools_balance(&fabric->pools);
	ret = fabric->pools.exhausted ? -ENOMEM : 0;
	if (!ret && fabric->table.rendezvous)
		ret = rendezvous_between(fabric->table.rendezvous);
	for (struct fabric_watcher *w = fabric->watchers; w && !ret; w = w->next)
		ret = w->between(w, fabric);
	return ret;
}

void fabric_watch(struct fabric *fabric, struct fabric_watcher *watcher)
{
	watcher->next = fabric->watchers;
	fabric->watchers = watcher;
}

/* @place: of its node in the topology, @rate_bps: of its link. */
static int add_host(struct fabric *fabric, const char *name, uint32_t place, uint64_t rate_bps,
		    struct sim_node **ret_node)
{
	struct host *host = &fabric->hosts[fabric->host_count];
	struct host_params params = *fabric->params.host;
	const struct fabric_gpus *gpus =
		fabric->params.gpus_of ? &fabric->params.gpus_of[place] : NULL;
	const struct host_bus *bus = fabric->params.bus_of ? fabric->params.bus_of[place] : NULL;
	const struct host_memory memory = {
		.frames = util_arena_get(&fabric->host_frames),
		.sent = &fabric->host_sent[(size_t)fabric->host_count *
					   sim_priority_count(fabric->sim)],
		.room = &fabric->pools.room};
	int ret;

	params.priority_count = sim_priority_count(fabric->sim);
	params.bus = bus ? bus : params.bus;
	if (fabric->params.cc_params_of && rate_bps > 0) {
		params.profile.line_rate_bps = rate_bps;
		params.profile.cc_params = fabric->params.cc_params
						   ? *fabric->params.cc_params
						   : fabric->params.cc_params_of(rate_bps);
		params.profile.cc_params.line_rate_bps = rate_bps;
		params.profile.cc_params.start_rate_bps = fabric->params.start_rate_bps;
	}
	ret = host_init(host, name, fabric->params.seed, &params, &memory);
	if (ret)
		return ret;
	fabric->host_count++;
	*ret_node = &host->node;
	if (gpus && gpus->count > 0)
		ret = host_gpus_create(host, gpus->gpus, gpus->count, gpus->base,
				       gpus->reach > 0 ? gpus->reach : UINT64_MAX);
	if (ret)
		return ret;
	if (host->gpus)
		host_managed_at(host, gpus->managed_base, gpus->managed_bytes);
	return sim_add_node(fabric->sim, &host->node);
}

static int add_switch(struct fabric *fabric, const char *name, uint32_t place,
		      struct sim_node **ret_node)
{
	const struct fabric_params *params = &fabric->params;
	const struct fabric_switch_params *own =
		params->switch_of ? params->switch_of[place] : NULL;
	struct sim_switch *sw = sim_switch_create(name);

	if (!sw)
		return -ENOMEM;
	fabric->switches[fabric->switch_count++] = sw;
	*ret_node = sim_switch_node(sw);
	fabric->switch_params[place] = own ? own : &params->switches;
	return sim_add_node(fabric->sim, *ret_node);
}

/* By node, of the last of its links: a host has one. */
static uint64_t *fabric_rates_of(const struct topology *topology)
{
	uint64_t *rates = util_calloc(topology->node_count, sizeof(*rates));

	for (uint32_t i = 0; rates && i < topology->link_count; i++)
		rates[topology->links[i].a] = rates[topology->links[i].b] =
			topology->links[i].rate_bps;
	return rates;
}

/* Adapters of one machine, once all hosts are there. */
static int join_machines(struct fabric *fabric, const struct topology *topology,
			 struct sim_node *const *nodes)
{
	uint32_t machines = 0, nics = 0, m = 0;
	struct machine **of;
	int ret = 0;

	for (uint32_t i = 0; i < topology->node_count; i++)
		if (topology->nodes[i].nic_count > 1) {
			machines++;
			nics += topology->nodes[i].nic_count;
		}
	if (machines == 0)
		return 0;
	of = util_calloc(topology->node_count, sizeof(struct machine *));
	fabric->machines = util_calloc(machines, sizeof(*fabric->machines));
	fabric->nics = util_calloc(nics, sizeof(struct host *));
	if (!of || !fabric->machines || !fabric->nics)
		ret = -ENOMEM;
	for (uint32_t i = 0, n = 0; i < topology->node_count && !ret; i++)
		if (topology->nodes[i].nic_count > 1) {
			of[i] = &fabric->machines[m++];
			fabric->machine_count = m;
			*of[i] = (struct machine){.nics = fabric->nics + n,
						  .count = topology->nodes[i].nic_count};
			n += topology->nodes[i].nic_count;
		}
	for (uint32_t i = 0; i < topology->node_count && !ret; i++) {
		const struct topology_node *node = &topology->nodes[i];

		if (!node->is_switch && of[node->machine])
			of[node->machine]->nics[node->nic] =
				container_of(nodes[i], struct host, node);
	}
	for (uint32_t i = 0; i < machines && !ret; i++)
		ret = machine_join(&fabric->machines[i], i, fabric->sim);
	util_free(of);
	return ret;
}

static int add_all(struct fabric *fabric, const struct topology *topology, struct sim_node **nodes)
{
	uint64_t *rates = fabric_rates_of(topology);
	int ret = rates ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < topology->node_count && !ret; i++) {
		const struct topology_node *node = &topology->nodes[i];

		ret = node->is_switch ? add_switch(fabric, node->name, i, &nodes[i])
				      : add_host(fabric, node->name, i, rates[i], &nodes[i]);
	}
	util_free(rates);
	ret = ret ? ret : join_machines(fabric, topology, nodes);
	for (uint32_t i = 0; i < topology->link_count && !ret; i++) {
		const struct topology_link *link = &topology->links[i];
		const struct sim_link_params params = {
			.name = link->name, .rate_bps = link->rate_bps, .delay = link->delay};

		ret = sim_add_link(fabric->sim, nodes[link->a], nodes[link->b], &params);
	}
	return ret;
}

static int ready_hosts(struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->host_count; i++) {
		struct host *host = &fabric->hosts[i];
		const struct host_rx_params *rx =
			fabric->params.rx_of ? fabric->params.rx_of[host->number] : NULL;
		struct sim_fc *fc;

		if (host->node.port_count != 1)
			return -EINVAL;
		host->address = sim_route_address(fabric->routes, &host->node);
		fc = fabric_host_fc(fabric, host, rx);
		if (!fc)
			return -ENOMEM;
		host_attach(host, fc);
		host->sifts = rx != NULL;
		if (rx && host_rx_create(host, rx) != 0)
			return -ENOMEM;
	}
	return 0;
}

static int ready_switches(struct fabric *fabric)
{
	int ret = 0;

	for (uint32_t i = 0; i < fabric->switch_count && !ret; i++) {
		struct sim_switch *sw = fabric->switches[i];
		struct sim_node *node = sim_switch_node(sw);
		struct sim_fc *fc = fabric_switch_fc(fabric, node);

		ret = fc ? sim_switch_ready(sw, sim_route_table_of(fabric->routes, node), fc)
			 : -ENOMEM;
		if (ret)
			sim_fc_destroy(fc);
		ret = ret ? ret : fabric_extend(fabric, sw);
		ret = ret ? ret : fabric_mark(fabric, sw);
	}
	return ret;
}

/* What comes in at a switch is on its way for longer; but control frames are for the port, which
 * has them at once. (Sums of delays are modulo 2^64.) */
static void add_latency(struct fabric *fabric)
{
	for (uint32_t i = 0; i < sim_node_count(fabric->sim); i++) {
		struct sim_node *node = sim_node_at(fabric->sim, i);

		for (uint32_t p = 0; p < node->port_count; p++) {
			const struct fabric_switch_params *params =
				fabric_switch_params(fabric, node->ports[p].peer);

			if (!params)
				continue;
			node->ports[p].delay += params->latency;
			node->ports[p].control_delay -= params->latency;
		}
	}
}

/* Where credits are counted, copies of what has taken one are not accounted for. */
static bool has_credits(const struct fabric *fabric)
{
	bool has = fabric->params.switches.credit != NULL;

	for (uint32_t i = 0; i < fabric->switch_count; i++)
		has = has ||
		      fabric_switch_params(fabric, sim_switch_node(fabric->switches[i]))->credit;
	return has;
}

static int seal(struct fabric *fabric)
{
	struct host **by_name = util_calloc(fabric->host_count, sizeof(struct host *));
	int ret;

	if (!by_name)
		return -ENOMEM;
	for (uint32_t i = 0; i < fabric->host_count; i++)
		by_name[i] = &fabric->hosts[i];
	host_table_init(&fabric->table, by_name, fabric->host_count, fabric->machines);
	fabric->table.ipv6 = fabric->params.ipv6;
	fabric->table.mcast_max = has_credits(fabric) ? 0 : HOST_MCAST_MAX;
	ret = sim_seal(fabric->sim);
	ret = ret ? ret : sim_routes_create(fabric->sim, &sim_switch_ops, &fabric->routes);
	if (!ret && fabric->params.weighted_routes)
		ret = sim_routes_weigh(fabric->routes);
	if (!ret && fabric->params.same_hash)
		sim_routes_polarise(fabric->routes);
	ret = ret ? ret : ready_hosts(fabric);
	ret = ret ? ret : ready_switches(fabric);
	ret = ret ? ret : fabric_introduce(fabric);
	if (ret)
		return ret;
	add_latency(fabric);
	fabric->sealed = true;
	if (fabric->params.oob_delay == 0)
		return 0;
	fabric->table.rendezvous = rendezvous_create(fabric->sim, fabric->params.thread_count,
						     fabric->params.oob_delay);
	return fabric->table.rendezvous ? 0 : -ENOMEM;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* A SEND of nothing has no more than a BTH, which frames of the model are not padded for; where
 * switches cut through, the head of a frame is heard of. */
static uint32_t shortest_frame(const struct fabric_params *params)
{
	const struct hca_profile *profile = &params->host->profile;
	const struct sim_switch_params *more = params->switches.more;
	const uint32_t packet =
		profile->wire_overhead + (uint32_t)WIRE_BTH_BYTES + (uint32_t)WIRE_ICRC_BYTES;
	const uint32_t head = more && more->head_bytes > 0 ? more->head_bytes : packet;

	if (hca_framing_is_set(&profile->framing) || params->switch_of)
		return HEAD_BYTES_MIN;
	return least(least(head, packet), PFC_FRAME_BYTES);
}

static int fabric_build(struct fabric *fabric, const struct topology *topology)
{
	const struct sim_params params = {
		.seed = fabric->params.seed,
		.scenario_hash = fabric->params.scenario_hash,
		.thread_count = fabric->params.thread_count,
		.priority_count = fabric->params.priority_count,
		.body_ops = &packet_body_ops,
		.between = fabric_between,
		.owner = fabric,
		.window_max = fabric->params.oob_delay,
		.frame_bytes_min = shortest_frame(&fabric->params),
	};
	struct sim_node **nodes = util_calloc(topology->node_count, sizeof(*nodes));
	size_t hosts = 0;
	int ret;

	fabric->sim = sim_create(&params);
	for (uint32_t i = 0; i < topology->node_count; i++)
		hosts += !topology->nodes[i].is_switch;
	fabric->hosts = util_calloc(hosts + 1, sizeof(*fabric->hosts));
	if (fabric->sim)
		fabric->host_sent = util_calloc(hosts * sim_priority_count(fabric->sim) + 1,
						sizeof(*fabric->host_sent));
	fabric->switches = util_calloc(topology->node_count, sizeof(*fabric->switches));
	fabric->switch_params = util_calloc(topology->node_count, sizeof(*fabric->switch_params));
	ret = util_arena_init(&fabric->host_frames, HOST_FRAMES * sizeof(struct sim_pkt),
			      topology->node_count);
	if (!nodes || ret || !fabric->switch_params || !fabric->hosts || !fabric->host_sent ||
	    !fabric->switches || !fabric->sim)
		ret = -ENOMEM;
	else
		ret = add_all(fabric, topology, nodes);
	util_free(nodes);
	return ret ? ret : seal(fabric);
}

int fabric_create(struct fabric *fabric, const struct topology *topology,
		  const struct fabric_params *params)
{
	int ret;

	*fabric = (struct fabric){.params = *params};
	ret = packet_pools_init(&fabric->pools, params->thread_count, params->host->profile.mtu_max,
				params->packet_bytes_max);
	ret = ret ? ret : fabric_build(fabric, topology);
	if (ret)
		fabric_fini(fabric);
	return ret;
}

/* Everything that still holds payload gives it back; then none may be missing. */
static void collect_slabs(struct fabric *fabric)
{
	for (uint32_t i = 0; i < fabric->host_count; i++)
		host_drain(&fabric->hosts[i], &fabric->pools);
	/* A run that an error ended leaves frames where they were. */
	if (fabric->error == 0)
		CHECK(packet_pools_used(&fabric->pools) == 0);
}

void fabric_fini(struct fabric *fabric)
{
	for (uint32_t i = 0; fabric->sealed && i < fabric->switch_count; i++)
		sim_switch_drain(fabric->switches[i]);
	sim_destroy(fabric->sim);
	collect_slabs(fabric);
	for (uint32_t i = 0; i < fabric->host_count; i++)
		host_fini(&fabric->hosts[i]);
	for (uint32_t i = 0; i < fabric->machine_count; i++)
		machine_fini(&fabric->machines[i]);
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		sim_switch_destroy(fabric->switches[i]);
	rendezvous_destroy(fabric->table.rendezvous);
	sim_routes_destroy(fabric->routes);
	util_free(fabric->table.hosts);
	util_free(fabric->hosts);
	util_free(fabric->machines);
	util_free(fabric->nics);
	util_free(fabric->host_sent);
	util_arena_fini(&fabric->host_frames);
	util_free(fabric->switches);
	util_free(fabric->switch_params);
	if (fabric->free_belongings)
		fabric->free_belongings(fabric->belongings);
	packet_pools_fini(&fabric->pools);
	*fabric = (struct fabric){.sim = NULL};
}

struct sim_switch *fabric_switch(const struct fabric *fabric, const char *name)
{
	for (uint32_t i = 0; i < fabric->switch_count; i++)
		if (strcmp(sim_switch_node(fabric->switches[i])->name, name) == 0)
			return fabric->switches[i];
	return NULL;
}

int fabric_override(const struct fabric *fabric, const char *at, const char *to, const char *via)
{
	const struct sim_node *node = sim_switch_node(fabric_switch(fabric, at));
	struct sim_switch *sw = fabric_switch(fabric, to);
	const struct sim_node *end = sw ? sim_switch_node(sw) : &fabric_host(fabric, to)->node;

	for (uint32_t p = 0; p < node->port_count; p++)
		if (strcmp(node->ports[p].peer->name, via) == 0)
			return sim_route_override(fabric->routes, node, end, p);
	return -EINVAL;
}

struct host *fabric_host(const struct fabric *fabric, const char *name)
{
	return host_table_find(&fabric->table, name);
}

int fabric_run(struct fabric *fabric, ps_t until)
{
	fabric->error = sim_run(fabric->sim, until);
	sim_finish(fabric->sim);
	return fabric->error;
}
