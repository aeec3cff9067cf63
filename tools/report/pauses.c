/* SPDX-License-Identifier: BSD-2-Clause */

/* How pauses spread, for the tree: places by columns, and the single pauses. */
#include "tools/report/parts.h"

#include "tools/explain/spells.h"
#include "tools/report/columns.h"

#include <stdlib.h>

static json_t *time_or_null(ps_t at)
{
	return at == PS_NEVER ? json_null() : json_integer((json_int_t)at);
}

/* NULL: nothing is known; else for free(). */
static char *pauses_reason(const struct report *report, const struct events_port *port)
{
	struct host *host = fabric_host(report->result->fabric, port->node);
	struct bad_text when;
	struct limit limit;
	char *text = NULL;
	size_t length;
	FILE *file;

	if (!spells_limit_of_receiver(report->spells, host, &limit) || limit.kind == LIMIT_NONE)
		return NULL;
	file = open_memstream(&text, &length);
	if (!file)
		return NULL;
	limit_reason(&limit, spells_time(report->spells, &limit, &when), file);
	if (fclose(file) == 0)
		return text;
	free(text);
	return NULL;
}

/* Of each place the lane, credits or fault inside of the machine that had its host take packets in
 * slowly; null: it is no such root, or that is not known. */
static json_t *pauses_insides_of(const struct report *report)
{
	const struct pause_tree *tree = report->pauses;
	json_t *insides = json_array();

	for (uint32_t i = 0; i < tree->place_count; i++) {
		const struct events_port *port = &tree->events->ports[tree->places[i].port];
		char *reason = NULL;

		if (port->is_host && tree->places[i].why == PAUSE_QUEUE)
			reason = pauses_reason(report, port);
		insides = column_add(insides, reason ? json_string(reason) : json_null());
		free(reason);
	}
	return insides;
}

static json_t *pauses_places_of(const struct report *report)
{
	const struct pause_tree *tree = report->pauses;
	static const char *const whys[] = {
		[PAUSE_QUEUE] = "queue", [PAUSE_PAUSED] = "paused", [PAUSE_ALONE] = "alone"};
	json_t *parents = json_array(), *nodes = json_array(), *links = json_array();
	json_t *priorities = json_array(), *why = json_array(), *held = json_array();
	json_t *limits = json_array(), *outs = json_array(), *queues = json_array();
	json_t *counts = json_array(), *firsts = json_array(), *lasts = json_array();
	json_t *totals = json_array();

	for (uint32_t i = 0; i < tree->place_count; i++) {
		const struct pause_place *place = &tree->places[i];
		const struct events_port *port = &tree->events->ports[place->port];

		parents = column_add(parents, json_integer(place->parent));
		nodes = column_add(nodes, json_string(port->node));
		links = column_add(links, json_string(port->link));
		priorities = column_add_number(priorities, place->priority);
		why = column_add(why, json_string(whys[place->why]));
		held = column_add_number(held, place->held);
		limits = column_add_number(limits, place->limit);
		outs = column_add(outs, json_string(tree->events->ports[place->way_out].peer));
		queues = column_add_number(queues, place->queue_bytes);
		counts = column_add_number(counts, place->count);
		firsts = column_add_number(firsts, place->first_at);
		lasts = column_add(lasts, time_or_null(place->last_at));
		totals = column_add_number(totals, place->total);
	}
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o,s:o}", "parent",
			 parents, "node", nodes, "link", links, "priority", priorities, "why", why,
			 "held", held, "limit", limits, "way_out", outs, "queue_bytes", queues,
			 "count", counts, "first_ps", firsts, "last_ps", lasts, "total_ps", totals,
			 "inside", pauses_insides_of(report));
}

static json_t *spans_of(const struct pause_tree *tree)
{
	json_t *places = json_array(), *from = json_array(), *until = json_array();

	for (uint32_t i = 0; i < tree->span_count; i++) {
		places = column_add_number(places, tree->spans[i].place);
		from = column_add_number(from, tree->spans[i].from);
		until = column_add(until, time_or_null(tree->spans[i].until));
	}
	return json_pack("{s:o,s:o,s:o}", "place", places, "from_ps", from, "until_ps", until);
}

json_t *report_pauses(const struct report *report)
{
	const struct pause_tree *tree = report->pauses;

	if (!tree || !tree->states)
		return json_null();
	return json_pack("{s:I,s:I,s:I,s:o,s:o}", "count", (json_int_t)tree->pause_count, "deep",
			 (json_int_t)tree->deep_count, "other", (json_int_t)tree->other_count,
			 "places", pauses_places_of(report), "spans", spans_of(tree));
}
