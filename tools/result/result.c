/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/result/result.h"

#include "sim/fault.h"
#include "sim/switch.h"
#include "tools/observe/flow_log.h"
#include "tools/program.h"
#include "tools/result/internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct place { /* a node with what controls its links */
	const struct sim_node *node;
	const struct sim_fc *fc;
	const struct host *host; /* NULL: a switch */
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return strcmp(x->node->name, y->node->name); /* names are unique */
}

static struct place *result_places_of(const struct fabric *fabric, uint32_t *ret_count)
{
	struct place *places =
		calloc((size_t)fabric->host_count + fabric->switch_count + 1, sizeof(*places));
	uint32_t count = 0;

	for (uint32_t i = 0; places && i < fabric->host_count; i++) {
		const struct host *host = &fabric->hosts[i];

		places[count++] = (struct place){&host->node, host->fc, host};
	}
	for (uint32_t i = 0; places && i < fabric->switch_count; i++) {
		struct sim_switch *sw = fabric->switches[i];

		if (sim_switch_fc(sw)) /* it has links */
			places[count++] =
				(struct place){sim_switch_node(sw), sim_switch_fc(sw), NULL};
	}
	if (places)
		qsort(places, count, sizeof(*places), compare_places);
	*ret_count = count;
	return places;
}

static struct result_link result_link_of(const struct place *place, uint32_t number)
{
	const struct sim_port *port = &place->node->ports[number];
	const struct sim_gate *gate = sim_fc_gate(place->fc, number);
	const bool credits = place->fc->ops->heads;
	struct result_link link = {
		.node = place->node->name,
		.link = port->link_name,
		.peer = port->peer->name,
		.rate_bps = port->rate_bps,
		.sent_bytes = port->sent_bytes,
		.sent_packets = port->sent_packets,
		.resume_sent = gate->resumes_sent,
		.resume_received = gate->resumes_received,
	};

	*(credits ? &link.credit_sent : &link.pause_sent) = gate->controls_sent;
	*(credits ? &link.credit_received : &link.pause_received) = gate->controls_received;
	for (const struct sim_fault *fault = port->fault; fault; fault = fault->next) {
		link.lost += fault->lost;
		link.corrupted += fault->corrupted;
		link.refused += fault->refused;
		link.duplicated += fault->duplicated;
		link.reordered += fault->reordered;
	}
	return link;
}

static struct result_port result_port_of(const struct place *place, uint32_t number,
					 uint8_t priority, ps_t now)
{
	const struct sim_port *port = &place->node->ports[number];
	const struct sim_class *class = sim_fc_class(place->fc, number, priority);
	const struct sim_lane *lane = sim_fc_lane(place->fc, number, priority);
	struct result_port row = {
		.node = place->node->name,
		.link = port->link_name,
		.peer = port->peer->name,
		.is_host = place->host != NULL,
		.priority = priority,
		.rate_bps = port->rate_bps,
		.sent_bytes = class->sent_bytes,
		.sent_packets = class->sent_packets,
		.queue_bytes = class->queue_bytes,
		.queue_max = class->queue_max,
		.ingress_bytes = class->ingress_bytes,
		.headroom_bytes = class->headroom_bytes,
		.marked = class->marked,
		.dropped = class->dropped,
		.paused = sim_fc_paused_time(place->fc, number, priority, now),
		.paused_since = port->paused >> priority & 1 ? lane->paused_since : PS_NEVER,
	};

	row.pause_sent = lane->pauses_sent;
	row.pause_received = lane->pauses_received;
	row.resume_sent = lane->resumes_sent;
	row.resume_received = lane->resumes_received;
	if (place->fc->storms_of) {
		const struct sim_storms *storms =
			&place->fc->storms_of[number * place->fc->priority_count + priority];

		row.storms = storms->found;
		row.storms_over = storms->over;
		row.storm_dropped = storms->dropped;
	}
	if (place->host) {
		row.sent_bytes = place->host->stats.sent[priority].bytes;
		row.sent_packets = place->host->stats.sent[priority].packets;
	}
	return row;
}

static void sum_link(struct result *result, const struct result_link *link)
{
	result->pfc.pause_sent += link->pause_sent;
	result->pfc.resume_sent += link->resume_sent;
	result->drops.fault += link->lost;
	result->drops.icrc += link->refused;
}

static void sum_port(struct result *result, const struct result_port *port)
{
	result->pfc.paused += port->paused;
	result->pfc.paused_at_end += port->paused_since != PS_NEVER;
	result->pfc.storms += port->storms;
	result->pfc.storms_over += port->storms_over;
	result->marked += port->marked;
	if (port->queue_max > result->queue_max_bytes)
		result->queue_max_bytes = port->queue_max;
}

static int collect_ports(struct result *result)
{
	uint32_t place_count;
	struct place *places = result_places_of(result->fabric, &place_count);
	size_t links = 0;

	for (uint32_t i = 0; places && i < place_count; i++)
		links += places[i].node->port_count;
	result->links = calloc(links + 1, sizeof(*result->links));
	result->priority_count = sim_priority_count(result->fabric->sim);
	result->ports = calloc(links * result->priority_count + 1, sizeof(*result->ports));
	if (!places || !result->links || !result->ports) {
		free(places);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < place_count; i++)
		for (uint32_t number = 0; number < places[i].node->port_count; number++) {
			struct result_link *link = &result->links[result->link_count++];

			*link = result_link_of(&places[i], number);
			sum_link(result, link);
			for (uint8_t p = 0; p < result->priority_count; p++) {
				struct result_port *port = &result->ports[result->port_count++];

				*port = result_port_of(&places[i], number, p, result->time);
				sum_port(result, port);
			}
		}
	free(places);
	return 0;
}

static void add_reroutes(struct sim_conweave_stats *sum, const struct sim_switch *sw)
{
	const struct sim_conweave_stats stats = sim_switch_conweave_stats(sw);

	sum->rerouted += stats.rerouted;
	sum->kept += stats.kept;
	sum->overdue += stats.overdue;
	sum->untracked += stats.untracked;
	if (stats.kept_bytes_max > sum->kept_bytes_max)
		sum->kept_bytes_max = stats.kept_bytes_max;
}

static void collect_counters(struct result *result)
{
	const struct fabric *fabric = result->fabric;

	for (uint32_t i = 0; i < fabric->host_count; i++) {
		const struct hca_counters *c = hca_device_counters(fabric->hosts[i].hca);
		const struct sim_fc *fc = fabric->hosts[i].fc;

		result->drops.buffer += fc ? fc->dropped_buffer + fc->dropped_headroom : 0;
		result->packets_retransmitted += c->packets_retransmitted;
		result->floods.discarded += fabric->hosts[i].stats.not_mine;
		result->multicast.discarded += fabric->hosts[i].stats.not_joined;
		result->cnp_sent += c->np_cnp_sent;
		result->cnp_handled += c->rp_cnp_handled;
		result->cnp_ignored += c->rp_cnp_ignored;
	}
	for (uint32_t i = 0; i < fabric->switch_count; i++) {
		const struct sim_switch_stats *stats = sim_switch_stats(fabric->switches[i]);
		const struct sim_fc *fc = sim_switch_fc(fabric->switches[i]);

		add_reroutes(&result->reroutes, fabric->switches[i]);
		result->drops.no_route += stats->dropped_route;
		result->drops.ttl += stats->dropped_ttl;
		result->drops.mtu += stats->dropped_mtu;
		result->drops.watchdog += stats->dropped_watchdog;
		result->drops.unknown += stats->dropped_unknown;
		result->floods.packets += stats->flooded;
		result->floods.copies += stats->flood_copies;
		result->floods.discarded += stats->not_mine;
		result->multicast.packets += stats->mcast;
		result->multicast.copies += stats->mcast_copies;
		if (fc)
			result->drops.buffer += fc->dropped_buffer + fc->dropped_headroom;
	}
}

static int collect_program(const struct scenario_program *program, struct program_run *run,
			   const struct fabric *fabric, struct result_program *ret)
{
	ret->name = program->name;
	ret->run = program->run;
	ret->ranks = calloc((size_t)program->host_count + 1, sizeof(*ret->ranks));
	if (!ret->ranks)
		return -ENOMEM;
	ret->rank_count = program->host_count;
	ret->fixed = program_is_fixed(run);
	for (uint32_t i = 0; i < ret->rank_count; i++) {
		const struct program_result *rank = program_result(run, i);

		ret->ranks[i] = (struct result_rank){
			.host = fabric->table.hosts[program->hosts[i]]->node.name, .result = rank};
		ret->failed += rank->ended && rank->result != 0;
		ret->unfinished += !rank->ended;
	}
	return 0;
}

static int collect_programs(struct result *result, struct program_run *const *runs)
{
	const struct scenario *scenario = result->scenario;
	int ret = 0;

	result->programs = calloc((size_t)scenario->program_count + 1, sizeof(*result->programs));
	if (!result->programs)
		return -ENOMEM;
	for (uint32_t i = 0; i < scenario->program_count && !ret; i++) {
		ret = collect_program(&scenario->programs[i], runs[i], result->fabric,
				      &result->programs[i]);
		result->program_count++;
	}
	return ret;
}

ps_t result_time(const struct result_source *source)
{
	const struct scenario *scenario = source->scenario;
	ps_t last = sim_now(source->fabric->sim);

	for (uint64_t i = 0; i < scenario->flow_count; i++) {
		const struct traffic_flow *flow = &scenario->flows[i];

		if (flow->status != TRAFFIC_PENDING && flow->end_at > last)
			last = flow->end_at;
	}
	if (flow_log_last_end(source->log) > last)
		last = flow_log_last_end(source->log);
	for (uint32_t i = 0; i < scenario->program_count; i++)
		for (uint32_t k = 0; k < scenario->programs[i].host_count; k++) {
			const struct program_result *rank = program_result(source->programs[i], k);

			if (rank->ended && rank->end_at > last)
				last = rank->end_at;
		}
	return last;
}

int result_collect(const struct result_source *source, struct result *ret_result)
{
	const struct sim *sim = source->fabric->sim;
	int ret;

	*ret_result = (struct result){
		.scenario = source->scenario,
		.fabric = source->fabric,
		.log = source->log,
		.version = source->version,
		.digest = sim_digest(sim),
		.partial = source->partial,
		.cut = source->partial || !sim_is_done(sim),
		.time = result_time(source),
		.wall_s = source->wall_s,
		.events = sim_events(sim),
		.packet_hops = sim_packet_hops(sim),
	};
	ret = collect_ports(ret_result);
	if (ret)
		return ret;
	collect_counters(ret_result);
	ret = result_collect_machines(ret_result);
	if (ret)
		return ret;
	ret = collect_programs(ret_result, source->programs);
	ret = ret ? ret : result_collect_requests(ret_result, source->requests);
	return ret ? ret : result_collect_flows(ret_result, source->traffic);
}

static int zero_program(const struct scenario_program *program, struct result_program *ret)
{
	static const struct program_result none = {.ended = true};

	*ret = (struct result_program){.name = program->name, .run = program->run};
	ret->ranks = calloc((size_t)program->host_count + 1, sizeof(*ret->ranks));
	if (!ret->ranks)
		return -ENOMEM;
	ret->rank_count = program->host_count;
	for (uint32_t i = 0; i < ret->rank_count; i++)
		ret->ranks[i] = (struct result_rank){.host = "", .result = &none};
	return 0;
}

int result_zero(const struct scenario *scenario, struct result *ret_result)
{
	int ret = 0;

	*ret_result = (struct result){.scenario = scenario, .version = ""};
	ret_result->classes =
		calloc((size_t)scenario->class_count + 1, sizeof(*ret_result->classes));
	ret_result->programs =
		calloc((size_t)scenario->program_count + 1, sizeof(*ret_result->programs));
	if (!ret_result->classes || !ret_result->programs)
		return -ENOMEM;
	for (; ret_result->class_count < scenario->class_count; ret_result->class_count++)
		ret_result->classes[ret_result->class_count].name =
			scenario->classes[ret_result->class_count];
	for (uint32_t i = 0; i < scenario->program_count && !ret; i++)
		ret = zero_program(&scenario->programs[i],
				   &ret_result->programs[ret_result->program_count++]);
	return ret ? ret : result_collect_machines(ret_result);
}

void result_free(struct result *result)
{
	for (uint32_t i = 0; i < result->expect_count; i++)
		free(result->expects[i].found);
	free(result->expects);
	for (uint32_t i = 0; i < result->program_count; i++)
		free(result->programs[i].ranks);
	free(result->programs);
	result_free_machines(result);
	free(result->ports);
	free(result->links);
	free(result->flows);
	free(result->classes);
	*result = (struct result){.scenario = NULL};
}
