/* SPDX-License-Identifier: BSD-2-Clause */
#include "tests/swarm/run.h"

#include "models/program/task.h"
#include "sim/port.h"
#include "sim/sim.h"
#include "sim/switch.h"
#include "tests/oracle/oracle.h"
#include "util/check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCENARIO_HASH = 1 };

/* The programs here speak to the adapter itself. */
const struct vrb_provider *vrb_provider(void)
{
	static const struct vrb_provider tasks = {.list = task_list_worlds};

	return &tasks;
}

void run_violation(struct run *run, const char *format, ...)
{
	va_list args;

	if (__atomic_exchange_n(&run->violated, true, __ATOMIC_RELAXED) && !run->options.verbose)
		return;
	va_start(args, format);
	vsnprintf(run->violation, sizeof(run->violation), format, args);
	va_end(args);
	if (run->options.verbose)
		fprintf(stderr, "%s\n", run->violation);
}

static void build(struct run *run)
{
	const struct plan *plan = run->plan;
	struct host_params host = plan->host;
	const struct fabric_params params = {
		.seed = plan->seed,
		.scenario_hash = SCENARIO_HASH,
		.thread_count = run->options.threads,
		.packet_bytes_max = 1u << 28,
		.oob_delay = 20 * PS_US,
		.priority_count = plan->priority_count,
		.ipv6 = plan->ipv6,
		.host = &host,
		.switches = {.buffer_bytes = plan->buffer_bytes,
			     .pfc = plan->fc == PLAN_FC_PFC ? &plan->pfc : NULL,
			     .credit = plan->fc == PLAN_FC_CREDIT ? &plan->credit : NULL,
			     .mtu_bytes = 4300,
			     .more = plan->has_more ? &plan->more : NULL,
			     .ecn = plan->has_ecn ? &plan->ecn : NULL},
	};

	host.through_wire = run->options.through_wire;
	run->has_bus = plan->has_bus || run->options.bus;
	run_bus_init(&run->bus, plan);
	host.bus = run->has_bus ? &run->bus.bus : NULL;
	CHECK(fabric_create(&run->fabric, &plan->topology, &params) == 0);
}

static void attach_faults(struct run *run)
{
	for (uint32_t i = 0; i < run->plan->fault_count; i++) {
		const struct plan_fault *fault = &run->plan->faults[i];
		const struct topology *t = &run->plan->topology;
		const struct topology_link *link = &t->links[fault->link];
		struct sim_fault_params params = fault->params;
		struct sim_port *port =
			sim_port_find(run->fabric.sim, link->name,
				      t->nodes[fault->backwards ? link->b : link->a].name);

		CHECK(port != NULL);
		params.lost_numbers = fault->lost;
		sim_fault_attach(&run->faults[i], port, &params);
	}
}

static void set_rewrites(struct run *run)
{
	const struct plan *plan = run->plan;

	for (uint32_t i = 0; plan->rewrite_count > 0 && i < run->fabric.switch_count; i++)
		net_rewrite(run->fabric.switches[i], plan->rewrites, plan->rewrite_count);
}

static void forget_hosts(struct run *run)
{
	for (uint32_t i = 0; i < run->plan->forget_count; i++) {
		const struct net_forget *forget = &run->plan->forgets[i];

		CHECK(scenario_forget(&run->fabric, forget->at, forget->host, forget->from,
				      forget->until) == 0);
	}
}

/* As a scenario has it. */
static void take_links_down(struct run *run)
{
	const struct plan *plan = run->plan;
	const struct sim_fault_params lost = {.loss_ppb = 1000000000, .control = true};
	struct scenario_fault downs[PLAN_DOWNS_MAX];
	const struct scenario scenario = {.topology = plan->topology,
					  .faults = downs,
					  .fault_count = plan->down_count,
					  .reconverge = plan->reconverge};

	memcpy(downs, plan->downs, sizeof(downs));
	for (uint32_t i = 0; i < plan->down_count; i++) {
		const struct topology_link *link = plan->topology.links;
		const char *ends[2];

		while (strcmp(link->name, downs[i].link) != 0)
			link++;
		ends[0] = plan->topology.nodes[link->a].name;
		ends[1] = plan->topology.nodes[link->b].name;
		for (int end = 0; end < 2; end++) {
			struct sim_fault_params params = lost;

			params.from = downs[i].from_at;
			params.until = downs[i].until_at;
			if (!downs[i].direction || strcmp(downs[i].direction, ends[end]) == 0)
				sim_fault_attach(
					&run->down_faults[i][end],
					sim_port_find(run->fabric.sim, link->name, ends[end]),
					&params);
		}
		CHECK(scenario_take_out(&run->fabric, link, ends, &downs[i]) == 0);
	}
	CHECK(scenario_reroute(&scenario, &run->fabric, &run->reroutes) == 0);
}

static uint64_t play_by_oracle(struct run *run)
{
	const struct plan *plan = run->plan;
	struct net_down downs[PLAN_DOWNS_MAX];

	for (uint32_t i = 0; i < plan->down_count; i++)
		downs[i] = (struct net_down){
			.link = plan->downs[i].link,
			.sender = plan->downs[i].direction,
			.from = plan->downs[i].from_at + plan->downs[i].delay,
			.until = plan->downs[i].until_at + plan->downs[i].delay,
			.back_at = plan->downs[i].until_at,
		};
	return oracle_fabric(&run->fabric,
			     &(struct net_routing){.downs = downs,
						   .down_count = plan->down_count,
						   .reconverge = plan->reconverge,
						   .rewrites = plan->rewrites,
						   .rewrite_count = plan->rewrite_count,
						   .forgets = plan->forgets,
						   .forget_count = plan->forget_count},
			     PS_NEVER);
}

static void play(struct run *run)
{
	if (run->options.oracle) {
		run->digest = play_by_oracle(run);
		return;
	}
	if (fabric_run(&run->fabric, 100 * PS_S) != 0)
		run_violation(run, "the engine gives up");
	run->digest = sim_digest(run->fabric.sim);
}

static void add_counters(const struct run *run, struct events *events)
{
	for (uint32_t i = 0; i < run->fabric.host_count; i++) {
		const struct hca_counters *c = hca_device_counters(run->fabric.hosts[i].hca);
		const struct host_parts *tree = &run->bus.tree;

		for (uint32_t k = 0; run->has_bus && k < tree->lane_count; k++)
			events->replays +=
				bus_way_stats(run->fabric.hosts[i].dma->bus, k, k + 1).replays;

		events->timeouts += c->local_ack_timeout_err;
		events->naks += c->packet_seq_err;
		events->implied_naks += c->implied_nak_seq_err;
		events->rnr_naks += c->rnr_nak_retry_err;
		events->duplicates += c->duplicate_request;
		events->retransmitted += c->packets_retransmitted;
		events->cnps += c->rp_cnp_handled;
		events->overheard += run->fabric.hosts[i].stats.not_mine;
		events->completions += run->fabric.hosts[i].stats.completions;
		events->marked += c->np_ecn_marked_roce_packets;
	}
	for (uint32_t i = 0; i < run->fabric.switch_count; i++) {
		const struct sim_fc *fc = sim_switch_fc(run->fabric.switches[i]);

		const struct sim_conweave_stats conweave =
			sim_switch_conweave_stats(run->fabric.switches[i]);

		events->rerouted += conweave.rerouted;
		events->kept += conweave.kept;
		events->overdue += conweave.overdue;
		for (uint32_t q = 0; q < SIM_PRIORITIES; q++)
			events->rewritten +=
				sim_switch_stats(run->fabric.switches[i])->rewritten[q];
		events->flooded += sim_switch_stats(run->fabric.switches[i])->flooded;
		events->unknown += sim_switch_stats(run->fabric.switches[i])->dropped_unknown;
		events->not_mine += sim_switch_stats(run->fabric.switches[i])->not_mine;
		events->no_route += sim_switch_stats(run->fabric.switches[i])->dropped_route;
		events->dropped += fc->dropped_buffer + fc->dropped_headroom;
		for (uint32_t p = 0; p < fc->node->port_count; p++)
			*(run->plan->fc == PLAN_FC_PFC ? &events->pauses : &events->credits) +=
				sim_fc_gate(fc, p)->controls_sent;
	}
}

static void add_up(const struct run *run, struct matrix *sum, struct events *events)
{
	for (uint32_t i = 0; i < run->tally_count; i++)
		for (int op = 0; op < OP_KINDS; op++)
			for (int f = 0; f < FAULT_KINDS; f++)
				sum->hits[op][f] += run->tallies[i].matrix.hits[op][f];
	events->seeds++;
	events->buses += run->has_bus;
	events->sides += run->plan->side_count;
	for (uint32_t i = 0; i < run->plan->side_count; i++) {
		const struct side_run *side = &run->sides[i];

		events->failed_retry += side->failed && side->status == HCA_WC_RETRY_EXC_ERR;
		events->failed_rnr += side->failed && side->status == HCA_WC_RNR_RETRY_EXC_ERR;
		events->failed_flush += side->failed && side->status == HCA_WC_WR_FLUSH_ERR;
		events->failed_fatal += side->failed && side->plan->ops[side->failed_op].fatal;
	}
	events->learned += run->reroutes.step_count;
	add_counters(run, events);
}

static void check(struct run *run)
{
	tally_finish(run);
	actors_check_done(run);
	memory_check(run);
	if (!run->options.oracle) /* it takes the frames away from the switches */
		tally_check(run);
}

bool run_plan(struct run *run, const struct plan *plan, const struct run_options *options,
	      struct matrix *sum, struct events *events)
{
	memset(run, 0, sizeof(*run));
	run->plan = plan;
	run->options = *options;
	build(run);
	set_rewrites(run);
	forget_hosts(run);
	attach_faults(run);
	take_links_down(run);
	tally_attach(run);
	actors_start(run);
	play(run);
	check(run);
	if (sum)
		add_up(run, sum, events);
	for (uint32_t i = 0; i < plan->host_count; i++)
		run->hosts[i].host->client = NULL;
	for (uint32_t i = 0; i < run->fabric.switch_count; i++)
		sim_switch_drain(run->fabric.switches[i]);
	fabric_fini(&run->fabric);
	scenario_reroutes_fini(&run->reroutes);
	for (uint32_t i = 0; i < plan->host_count; i++)
		free(run->hosts[i].memory);
	return !run->violated;
}
