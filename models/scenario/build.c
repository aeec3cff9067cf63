/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/scenario/scenario.h"

#include "models/link/ns3.h"
#include "models/program/space.h"
#include "models/scenario/build.h"
#include "sim/port.h"
#include "sim/route.h"
#include "transport/wire/frame.h"
#include "util/alloc.h"
#include "util/check.h"
#include "util/siphash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- parameters ---- */

static struct hca_profile profile_of(const struct scenario *s)
{
	const struct scenario_nic *nic = &s->nic;
	const uint64_t rate = s->topology.link_count > 0 ? s->topology.links[0].rate_bps : 1;

	return (struct hca_profile){
		.line_rate_bps = rate, /* of each host, later */
		.mtu_max = nic->mtu,
		.retransmit = nic->retransmit,
		.rto_low = nic->rto_low,
		.rto_high = nic->rto_high,
		.psn_window = nic->psn_window,
		.ack_every = nic->ack_every,
		.ack_on_data_priority = nic->ack_priority < 0,
		.ack_priority = nic->ack_priority < 0 ? 0 : (uint8_t)nic->ack_priority,
		.cnp_priority = nic->cnp_priority,
		.cnp_enabled = nic->cc != SCENARIO_CC_NONE && !scenario_cc_ops(nic->cc)->takes_acks,
		.cnp_interval = nic->cnp_interval,
		.cc = scenario_cc_ops(nic->cc),
		.cc_params = cc_dcqcn_params(rate),
		.wire_overhead = wire_frame_overhead(scenario_wire_shape(s)),
		.framing = nic->ns3_headers ? ns3_framing() : (struct hca_framing){.data = {0}},
		.cnp_keeps_marks = nic->cnp_keeps_marks,
		.cnp_on_gap = nic->cnp_on_gap,
		.statuses = nic->statuses,
		.mw_is_2a = nic->mw_is_2a,
		.qp_max = 1u << 22,
		.cq_max = 1u << 16,
		.mr_max = 1u << 20,
		.pd_max = 1u << 16,
		.srq_max = 1u << 16,
		.wr_max = 16384,
		.sge_max = 16,
		.cqe_max = 1u << 20,
		.inline_max = 256,
		.rd_atomic_max = 16,
	};
}

static struct host_params build_host_of(const struct scenario *s,
					const struct scenario_options *options)
{
	struct host_params params = {
		.profile = profile_of(s),
		.cost = s->nic.free_calls ? host_cost_none() : host_cost_generic(),
		.coro_backend = CORO_STACK,
		.loop_delay = s->nic.loop_delay,
		.flow_timeout = s->nic.timeout,
		.flow_pairs = s->nic.qp_per_pair,
		.flow_uc = s->nic.uc,
		.flow_retries = s->nic.retry_cnt,
		.flow_ttl = s->nic.ttl,
		.has_dscp = true,
		.vlan = s->nic.vlan,
		.through_wire = options->through_wire,
	};

	memcpy(params.dscp, s->nic.dscp, sizeof(params.dscp));
	return params;
}

static struct fabric_params params_of(const struct scenario *s,
				      const struct scenario_options *options,
				      struct scenario_built *own)
{
	return (struct fabric_params){
		.seed = s->seed,
		.scenario_hash = s->hash,
		.priority_count = s->priority_count,
		.thread_count = options->thread_count > 0 ? options->thread_count : 1,
		.packet_bytes_max = options->packet_bytes_max > 0 ? options->packet_bytes_max
								  : s->packet_bytes_max,
		.oob_delay = s->program_count > 0 ? s->oob_delay : 0,
		.ipv6 = s->nic.ipv6,
		.host = &own->host,
		.cc_params = s->nic.has_cc_params ? &s->nic.cc_params : NULL,
		.start_rate_bps = s->nic.start_rate_bps,
		.cc_params_of = s->nic.cc == SCENARIO_CC_DCQCN_HPCC ? cc_dcqcn_hpcc_params
								    : cc_dcqcn_params,
		.switches = own->switches[0].params,
		.switch_of = s->group_count > 0 ? own->switch_of : NULL,
		.rx_of = own->rx_of,
		.bus_of = own->bus_of,
		.gpus_of = own->gpus_of,
		.weighted_routes = s->weighted_routes,
		.same_hash = s->same_hash,
	};
}

/* ---- faults ---- */

/* In an order that follows from what they are, so that of two faults of one port the same is always
 * the first. */
static int compare_faults(const void *a, const void *b)
{
	const struct scenario_fault *x = a, *y = b;
	const uint64_t u[] = {x->kind, x->from_at, x->until_at, x->num,	     x->den,
			      x->nth,  x->delay,   x->control,	x->rate_bps, x->priorities};
	const uint64_t v[] = {y->kind, y->from_at, y->until_at, y->num,	     y->den,
			      y->nth,  y->delay,   y->control,	y->rate_bps, y->priorities};

	for (size_t i = 0; i < sizeof(u) / sizeof(u[0]); i++)
		if (u[i] != v[i])
			return u[i] < v[i] ? -1 : 1;
	return 0; /* equal ones are interchangeable */
}

static uint32_t ppb_of(const struct scenario_fault *fault)
{
	return (uint32_t)((u128)fault->num * 1000000000 / fault->den);
}

static struct sim_fault_params fault_params_of(const struct scenario_fault *fault)
{
	struct sim_fault_params params = {
		.from = fault->from_at,
		.until = fault->until_at,
		.control = fault->control,
	};

	switch (fault->kind) {
	case SCENARIO_FAULT_LOSS:
		params.loss_ppb = ppb_of(fault);
		break;
	case SCENARIO_FAULT_CORRUPT:
		params.corrupt_ppb = ppb_of(fault);
		break;
	case SCENARIO_FAULT_DUPLICATE:
		params.duplicate_ppb = ppb_of(fault);
		params.duplicate_delay = fault->delay;
		break;
	case SCENARIO_FAULT_REORDER:
		params.reorder_ppb = ppb_of(fault);
		params.reorder_delay = fault->delay;
		break;
	case SCENARIO_FAULT_DELAY:
		params.delay = fault->delay;
		break;
	case SCENARIO_FAULT_DOWN:
		params.loss_ppb = 1000000000;
		params.is_down = true;
		break;
	case SCENARIO_FAULT_RATE:
		params.rate_bps = fault->rate_bps;
		break;
	case SCENARIO_FAULT_PAUSE: /* the host's */
		break;
	case SCENARIO_FAULT_DROP_NTH:
		params.lost_numbers = &fault->nth;
		params.lost_count = 1;
		break;
	}
	return params;
}

static uint32_t build_attach(struct sim_fault *fault, const struct fabric *fabric, const char *link,
			     const char *from, const struct sim_fault_params *params)
{
	struct sim_port *port = sim_port_find(fabric->sim, link, from);

	CHECK(port);
	sim_fault_attach(fault, port, params);
	return 1;
}

/* Storms of the same host and priorities before the @i-th, by their times: which line they stand in
 * does not matter, equal ones are interchangeable. */
static uint32_t storms_before(const struct scenario *s, uint32_t i)
{
	const struct scenario_fault *own = &s->faults[i];
	uint32_t count = 0;

	for (uint32_t k = 0; k < s->fault_count; k++) {
		const struct scenario_fault *other = &s->faults[k];

		if (other->kind != SCENARIO_FAULT_PAUSE || other->priorities != own->priorities ||
		    strcmp(other->direction, own->direction) != 0)
			continue;
		if (other->from_at != own->from_at)
			count += other->from_at < own->from_at;
		else if (other->until_at != own->until_at)
			count += other->until_at < own->until_at;
		else
			count += k < i;
	}
	return count;
}

static void start_storms(const struct scenario *s, const struct fabric *fabric,
			 struct host_storm *storms)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->fault_count; i++) {
		const struct scenario_fault *fault = &s->faults[i];

		if (fault->kind == SCENARIO_FAULT_PAUSE)
			host_storm_start(
				&storms[n++], fabric_host(fabric, fault->direction),
				&(struct host_storm_params){fault->priorities, fault->from_at,
							    fault->until_at, storms_before(s, i)});
	}
}

static int set_routes(const struct scenario *s, const struct fabric *fabric)
{
	const struct topology *topology = &s->topology;
	int ret = 0;

	for (uint32_t i = 0; i < s->route_count && !ret; i++) {
		const struct scenario_route *route = &s->routes[i];

		ret = fabric_override(fabric, topology->nodes[route->at].name,
				      topology->nodes[route->to].name,
				      topology->nodes[route->via].name);
	}
	return ret;
}

/* Bit errors and losses that belong to the link itself, then those of the scenario. */
static int attach_faults(const struct scenario *s, const struct fabric *fabric,
			 struct sim_fault *faults)
{
	const struct topology *topology = &s->topology;
	uint64_t n = 0;

	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		const struct sim_fault_params params = {.loss_ppb = link->loss_ppb,
							.bit_error_ppt = link->error_ppt};

		if (link->loss_ppb == 0 && link->error_ppt == 0)
			continue;
		n += build_attach(&faults[n], fabric, link->name, topology->nodes[link->a].name,
				  &params);
		n += build_attach(&faults[n], fabric, link->name, topology->nodes[link->b].name,
				  &params);
	}
	if (s->fault_count > 0)
		qsort(s->faults, s->fault_count, sizeof(*s->faults), compare_faults);
	for (uint32_t i = 0; i < s->fault_count; i++) {
		const struct scenario_fault *fault = &s->faults[i];
		const struct sim_fault_params params = fault_params_of(fault);

		for (uint32_t l = 0; l < topology->link_count; l++) {
			const struct topology_link *link = &topology->links[l];
			const char *const ends[] = {topology->nodes[link->a].name,
						    topology->nodes[link->b].name};

			if (strcmp(link->name, fault->link) != 0)
				continue;
			for (int end = 0; end < 2; end++)
				if (!fault->direction || strcmp(fault->direction, ends[end]) == 0)
					n += build_attach(&faults[n], fabric, link->name, ends[end],
							  &params);
			if (fault->kind == SCENARIO_FAULT_DOWN &&
			    scenario_take_out(fabric, link, ends, fault) != 0)
				return -ENOMEM;
		}
	}
	return 0;
}

/* ---- all of it ---- */

static void free_built(void *belongings)
{
	struct scenario_built *own = belongings;

	util_free(own->switches);
	util_free(own->switch_of);
	util_free(own->faults);
	util_free(own->rx_of);
	util_free(own->bus_of);
	util_free(own->gpus_of);
	util_free(own->storms);
	scenario_reroutes_fini(&own->reroutes);
	util_free(own);
}

/* Hosts that receive slowly, and those that have a machine, whose bus takes what they receive;
 * unless it is for credits to say what may come. */
static int find_slow(const struct scenario *s, struct scenario_built *own)
{
	const struct scenario_rx *rx = &s->nic.rx;
	const size_t count = (size_t)s->topology.node_count + 1;

	if (rx->params.buffer_bytes == 0 && s->machine_count == 0)
		return 0;
	own->rx_of = util_calloc(count, sizeof(*own->rx_of));
	own->bus_of = util_calloc(count, sizeof(*own->bus_of));
	if (!own->rx_of || !own->bus_of)
		return -ENOMEM;
	for (uint32_t h = 0; h < rx->host_count; h++)
		own->rx_of[rx->hosts[h]] = &rx->params;
	for (uint32_t i = 0; i < s->machine_count; i++) {
		const struct scenario_machine *machine = &s->machines[i];

		for (uint32_t a = 0; a < machine->adapter_count; a++) {
			const struct scenario_adapter *adapter = &machine->adapters[a];

			own->bus_of[adapter->node] = &machine->nics[adapter->nic];
			own->rx_of[adapter->host] =
				s->switches.fc == SCENARIO_FC_CREDIT ? NULL : &s->nic.rx_by_bus;
		}
	}
	return 0;
}

/* Of managed memory each machine has as many addresses as any other: a power of two. */
enum { MANAGED_SHIFT_MOST = 36 };

static void give_addresses(struct fabric_gpus *gpus, const uint64_t *bytes, size_t count)
{
	uint64_t each = SPACE_MANAGED_BYTES;

	while (each > UINT64_C(1) << MANAGED_SHIFT_MOST || each * count > SPACE_MANAGED_BYTES)
		each /= 2;
	gpus->managed_base = SPACE_MANAGED + gpus->base * each;
	gpus->managed_bytes = each;
	gpus->base = SPACE_GPUS + bytes[gpus->base];
}

/* All that is in them; where this processor has no addresses for so much, as many for each. */
static uint64_t reach_of_gpus(const struct scenario *s)
{
	uint64_t bytes = 0, count = 0;

	for (uint32_t i = 0; i < s->machine_count; i++) {
		const struct scenario_machine *machine = &s->machines[i];

		for (uint32_t a = 0; a < machine->adapter_count; a++)
			for (uint32_t k = 0;
			     machine->adapters[a].nic == 0 && k < machine->gpu_count; k++, count++)
				bytes += machine->gpus[k].bytes;
	}
	if (bytes <= SPACE_GPUS_BYTES)
		return UINT64_MAX;
	return SPACE_GPUS_BYTES / count / GPU_MEMORY_BLOCK * GPU_MEMORY_BLOCK;
}

/* The addresses of one machine's GPUs come behind those of the other's, by the numbers of hosts. */
static int find_gpus(const struct scenario *s, struct scenario_built *own)
{
	const size_t count = (size_t)s->topology.node_count + 1;
	uint64_t *bytes = util_calloc(count, sizeof(*bytes));
	const uint64_t reach = reach_of_gpus(s);

	own->gpus_of = util_calloc(count, sizeof(*own->gpus_of));
	for (uint32_t i = 0; bytes && own->gpus_of && i < s->machine_count; i++) {
		const struct scenario_machine *machine = &s->machines[i];

		for (uint32_t a = 0; a < machine->adapter_count; a++) {
			const struct scenario_adapter *adapter = &machine->adapters[a];

			if (adapter->nic > 0)
				continue;
			own->gpus_of[adapter->node] =
				(struct fabric_gpus){.gpus = machine->gpus,
						     .count = machine->gpu_count,
						     .base = adapter->host,
						     .reach = reach};
			for (uint32_t k = 0; k < machine->gpu_count; k++) {
				const uint64_t all = machine->gpus[k].bytes;

				bytes[adapter->host + 1] += all < reach ? all : reach;
			}
		}
	}
	for (size_t i = 1; bytes && i < count; i++)
		bytes[i] += bytes[i - 1];
	for (size_t i = 0; bytes && own->gpus_of && i < count; i++)
		give_addresses(&own->gpus_of[i], bytes, count);
	util_free(bytes);
	return bytes && own->gpus_of ? 0 : -ENOMEM;
}

static struct scenario_built *make_built(const struct scenario *s,
					 const struct scenario_options *options)
{
	struct scenario_built *own = util_calloc(1, sizeof(*own));
	uint64_t fault_count = 2 * (uint64_t)s->fault_count;

	if (!own)
		return NULL;
	for (uint32_t i = 0; i < s->topology.link_count; i++)
		if (s->topology.links[i].loss_ppb > 0 || s->topology.links[i].error_ppt > 0)
			fault_count += 2;
	own->faults = util_calloc(fault_count + 1, sizeof(*own->faults));
	own->storms = util_calloc((size_t)s->fault_count + 1, sizeof(*own->storms));
	own->host = build_host_of(s, options);
	if (own->faults && own->storms && find_slow(s, own) == 0 && find_gpus(s, own) == 0 &&
	    scenario_build_switches(s, own) == 0)
		return own;
	free_built(own);
	return NULL;
}

static int make_traffic(const struct scenario *scenario, const struct scenario_options *options,
			struct fabric *fabric, struct traffic **ret_traffic)
{
	int ret = traffic_create(fabric, scenario->flows, scenario->flow_count, ret_traffic);

	if (ret || scenario->stream_count == 0)
		return ret;
	ret = traffic_stream_start(*ret_traffic, scenario->streams, scenario->stream_count,
				   options->listener);
	if (ret)
		traffic_destroy(*ret_traffic);
	return ret;
}

int scenario_build(const struct scenario *scenario, const struct scenario_options *options,
		   struct fabric *ret_fabric, struct traffic **ret_traffic)
{
	struct scenario_built *own = make_built(scenario, options);
	struct fabric_params params;
	int ret;

	if (!own)
		return -ENOMEM;
	params = params_of(scenario, options, own);
	ret = fabric_create(ret_fabric, &scenario->topology, &params);
	if (ret) {
		free_built(own);
		return ret;
	}
	ret_fabric->belongings = own;
	ret_fabric->free_belongings = free_built;
	ret = attach_faults(scenario, ret_fabric, own->faults);
	ret = ret ? ret : set_routes(scenario, ret_fabric);
	ret = ret ? ret : scenario_set_rewrites(scenario, ret_fabric);
	ret = ret ? ret : scenario_forget_all(scenario, ret_fabric);
	ret = ret ? ret : scenario_reroute(scenario, ret_fabric, &own->reroutes);
	start_storms(scenario, ret_fabric, own->storms);
	ret = ret ? ret : make_traffic(scenario, options, ret_fabric, ret_traffic);
	if (ret)
		fabric_fini(ret_fabric);
	return ret;
}
