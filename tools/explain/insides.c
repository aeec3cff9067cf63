/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/insides.h"

#include "tools/observe/request_log.h"

#include <errno.h>
#include <stdlib.h>

#define INTERVAL PS_US /* from look to look, while anything happens */

int insides_init(struct insides *insides, const struct events *events)
{
	int ret;

	*insides = (struct insides){.events = events, .due = INTERVAL};
	ret = machines_init(&insides->machines, events->scenario, events->fabric);
	if (!ret && insides->machines.count > 0)
		sim_cut(events->fabric->sim, insides->due);
	return ret;
}

void insides_fini(struct insides *insides)
{
	for (int end = 0; end < 2; end++)
		machine_watch_fini(&insides->ends[end]);
	for (uint32_t i = 0; i < insides->rank_count; i++)
		machine_watch_fini(&insides->ranks[i].watch);
	machine_watch_fini(&insides->before);
	free(insides->ranks);
	machines_fini(&insides->machines);
	*insides = (struct insides){.events = NULL};
}

static const struct machine_seen *insides_machine(const struct insides *insides, struct host *host)
{
	return host ? machines_of(&insides->machines, host) : NULL;
}

static int begin_flow(struct insides *insides, const struct account_flow *flow)
{
	const uint32_t hosts[] = {flow->src, flow->dst};
	int ret = 0;

	insides->is_begun = true;
	for (int end = 0; end < 2 && !ret; end++) {
		const bool is_one = hosts[end] < insides->events->fabric->table.count;

		ret = machine_watch_init(
			&insides->ends[end],
			is_one ? insides_machine(insides,
						 insides->events->fabric->table.hosts[hosts[end]])
			       : NULL);
	}
	return ret;
}

/* Nothing has happened since @now, until @next. */
static int look_at_ends(struct insides *insides, const struct account_flow *flow, ps_t now,
			ps_t next)
{
	int ret = 0;

	if (insides->is_over)
		return 0;
	if (!insides->is_begun) {
		ret = begin_flow(insides, flow);
		/* One that nobody knew of before it began; else it began with the run. */
		for (int end = 0; end < 2 && !ret && insides->has_looked; end++)
			machine_watch_begin(&insides->ends[end], now);
	}
	for (int end = 0; end < 2 && !ret; end++)
		if (now <= flow->start_at)
			machine_watch_begin(&insides->ends[end],
					    next < flow->start_at ? next : flow->start_at);
		else
			machine_watch_end(&insides->ends[end], now);
	insides->is_over = flow->has_ended && now >= flow->end_at;
	return ret;
}

/* ---- before a request ---- */

/* NULL: no memory. */
static struct insides_rank *rank_of(struct insides *insides, const struct request *request)
{
	struct insides_rank *ranks = insides->ranks, *own;

	for (uint32_t i = 0; i < insides->rank_count; i++)
		if (ranks[i].program == request->program && ranks[i].rank == request->rank)
			return &ranks[i];
	ranks = realloc(ranks, ((size_t)insides->rank_count + 1) * sizeof(*ranks));
	if (!ranks)
		return NULL;
	insides->ranks = ranks;
	own = &ranks[insides->rank_count];
	*own = (struct insides_rank){
		.program = request->program, .rank = request->rank, .request = UINT64_MAX};
	if (machine_watch_init(
		    &own->watch,
		    insides_machine(insides, insides->events->fabric->table.hosts[request->src])) !=
	    0) {
		machine_watch_fini(&own->watch);
		return NULL;
	}
	insides->rank_count++;
	return own;
}

/* A span begins for the rank whose request has ended. Requests that end out of order are looked at
 * again until those before them have. */
static int look_at_ranks(struct insides *insides, ps_t now)
{
	const struct request_log *log = insides->events->requests;
	const uint64_t count = request_log_count(log);
	bool all_ended = true;

	for (uint64_t i = insides->requests_seen; i < count; i++) {
		const struct request *request = request_log_at(log, i);
		struct insides_rank *own = rank_of(insides, request);

		if (!own)
			return -ENOMEM;
		all_ended = all_ended && request->state != REQUEST_UNFINISHED;
		insides->requests_seen += all_ended;
		if (request->state != REQUEST_ENDED ||
		    (own->request != UINT64_MAX && request->end_at <= own->ended_at))
			continue;
		own->request = i;
		own->ended_at = request->end_at;
		machine_watch_begin(&own->watch, now);
	}
	for (uint32_t i = 0; i < insides->rank_count; i++)
		machine_watch_end(&insides->ranks[i].watch, now);
	return 0;
}

/* It was posted since the last look: what its rank had until now is what came before it. */
static int keep_before(struct insides *insides, const struct account_flow *flow, ps_t now)
{
	const struct request like = {
		.program = flow->program, .rank = flow->rank, .src = flow->src};
	struct insides_rank *own = rank_of(insides, &like);

	if (!own)
		return -ENOMEM;
	machine_watch_end(&own->watch, now);
	insides->has_before = true;
	insides->last_request = own->request;
	insides->before = own->watch;
	own->watch = (struct machine_watch){.machine = NULL};
	return 0;
}

static int look_at_requests(struct insides *insides, const struct account_flow *flow, ps_t now)
{
	if (!insides->asks_before || insides->has_before || !insides->events->requests)
		return 0;
	return flow ? keep_before(insides, flow, now) : look_at_ranks(insides, now);
}

static int look_all(struct insides *insides, const struct account_flow *flow, ps_t now, ps_t next)
{
	int ret = look_at_requests(insides, flow, now);

	if (!ret && flow)
		ret = look_at_ends(insides, flow, now, next);
	insides->has_looked = true;
	return ret;
}

int insides_look(struct insides *insides, const struct account_flow *flow)
{
	struct sim *sim = insides->events->fabric->sim;
	const ps_t next = sim_next_at(sim);
	int ret = 0;

	if (insides->machines.count == 0)
		return 0;
	if (next >= insides->due) {
		ret = look_all(insides, flow, insides->due, next);
		insides->due = next == PS_NEVER ? PS_NEVER : (next / INTERVAL + 1) * INTERVAL;
	}
	if (insides->due != PS_NEVER)
		sim_cut(sim, insides->due);
	return ret;
}

bool insides_limit_of_flow(const struct insides *insides, const struct account_flow *flow,
			   bool sends, struct limit *ret_limit)
{
	const bool is_target = sends == flow->is_answered; /* of a READ it sends */
	const struct machine_watch *watch = &insides->ends[is_target];

	return watch->machine &&
	       limit_find(watch,
			  insides->events->fabric->table.hosts[is_target ? flow->dst : flow->src],
			  sends, ret_limit);
}

const struct machine_watch *insides_before(const struct insides *insides)
{
	const struct machine_watch *watch = &insides->before;

	return watch->machine && watch->until > watch->from ? watch : NULL;
}

const struct machine_watch *insides_meanwhile(const struct insides *insides, bool is_target)
{
	const struct machine_watch *watch = &insides->ends[is_target];

	return watch->machine && watch->until > watch->from ? watch : NULL;
}
