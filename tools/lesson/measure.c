/* SPDX-License-Identifier: BSD-2-Clause */

/* A lesson's scenario is run, and what its questions are about is looked up. */
#include "tools/explain/explain.h"
#include "tools/lesson/lesson.h"
#include "tools/replay.h"

#include <stdio.h>
#include <string.h>

struct measure {
	struct replay replay;
	struct explain explain;
	struct events_listener cnps;
	ps_t first_cnp_at;
};

static int measure_on_event(struct events_listener *listener, const struct event *event)
{
	struct measure *m = container_of(listener, struct measure, cnps);

	if (m->first_cnp_at == PS_NEVER && event->kind == EVENT_DATA && event->opcode == WIRE_CNP &&
	    !m->replay.events.ports[event->port].is_host)
		m->first_cnp_at = event->at;
	return 0;
}

static void take_account(const struct explain *explain, struct lesson_facts *facts)
{
	const struct account_sum sum = account_close(explain->account);

	facts->packets = sum.packets;
	facts->whole = sum.whole;
	facts->paused = sum.parts[ACCOUNT_PAUSED];
	facts->back = sum.parts[ACCOUNT_BACK_WIRE] + sum.parts[ACCOUNT_BACK_PAUSED] +
		      sum.parts[ACCOUNT_BACK_QUEUED];
}

/* As "explain --why pfc" tells it. */
static void take_pauses(const struct explain *explain, struct lesson_facts *facts)
{
	const struct explain_xoff *xoff = explain->xoffs;
	const struct events_port *out;

	facts->pauses = explain->xoff_count;
	facts->first_pause_at = explain->xoff_count > 0 ? xoff->at : PS_NEVER;
	if (explain->xoff_count == 0)
		return;
	for (uint64_t i = 1; i < explain->xoff_count; i++)
		if (explain->xoffs[i].depth > xoff->depth)
			xoff = &explain->xoffs[i];
	facts->chain = xoff->depth;
	while (xoff->cause >= 0)
		xoff = &explain->xoffs[xoff->cause];
	out = &explain->events->ports[xoff->way_out];
	snprintf(facts->root_node, sizeof(facts->root_node), "%s", out->node);
	snprintf(facts->root_peer, sizeof(facts->root_peer), "%s", out->peer);
}

static void take_result(const struct result *result, struct lesson_facts *facts)
{
	facts->dropped = result->drops.buffer + result->drops.fault + result->drops.no_route +
			 result->drops.icrc + result->drops.ttl + result->drops.mtu +
			 result->drops.watchdog + result->drops.unknown;
	for (uint32_t i = 0; i < result->class_count && i < LESSON_CLASSES_MAX; i++) {
		const struct result_class *from = &result->classes[i];
		struct lesson_class *to = &facts->classes[i];

		snprintf(to->name, sizeof(to->name), "%s", from->name);
		to->all_ok = from->count == from->posted;
		to->slowdown = from->slowdown_mean;
		to->goodput_bps = from->goodput_bps;
	}
}

static int measure_take(struct measure *m, const struct lesson_ask *ask, struct lesson_facts *facts)
{
	const struct result_source source = replay_source(&m->replay);
	struct result result;
	const int error = result_collect(&source, &result);

	*facts = (struct lesson_facts){.first_cnp_at = m->first_cnp_at,
				       .buffer_bytes = m->replay.scenario.switches.buffer_bytes};
	if (!error) {
		take_result(&result, facts);
		take_pauses(&m->explain, facts);
		if (ask->key)
			take_account(&m->explain, facts);
	}
	result_free(&result);
	return error;
}

static int measure_run(struct measure *m, const struct lesson_ask *ask, struct lesson_facts *facts)
{
	int ret = replay_build(&m->replay), error;

	if (ret)
		return ret;
	error = explain_start(&m->explain, &m->replay.events, ask->key);
	m->cnps.on_event = measure_on_event;
	events_listen(&m->replay.events, &m->cnps);
	error = error ? error : replay_run(&m->replay);
	error = !error && m->replay.is_cut ? -ENOMEM : error;
	if (!error && ask->key)
		account_find(m->explain.account);
	error = error ? error : measure_take(m, ask, facts);
	if (error)
		command_say("%s: %s", ask->path, strerror(-error));
	return error ? COMMAND_BROKEN : COMMAND_DONE;
}

int lesson_measure(const struct lesson_ask *ask, struct lesson_facts *ret_facts)
{
	const struct command_options options = {
		.overrides = {.sets = ask->sets, .set_count = ask->set_count}, .quiet = true};
	struct measure m = {.first_cnp_at = PS_NEVER};
	int ret = replay_open(&m.replay, ask->path, &options);

	ret = ret ? ret : measure_run(&m, ask, ret_facts);
	explain_fini(&m.explain);
	replay_fini(&m.replay);
	return ret;
}

const struct lesson_class *lesson_class_of(const struct lesson_facts *facts, const char *name)
{
	for (uint32_t i = 0; i < LESSON_CLASSES_MAX; i++)
		if (strcmp(facts->classes[i].name, name) == 0)
			return &facts->classes[i];
	return NULL;
}
