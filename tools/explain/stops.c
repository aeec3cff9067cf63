/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/explain/stops.h"

#include <errno.h>
#include <stdlib.h>

int stops_init(struct stops *stops, uint32_t port_count, uint32_t priority_count)
{
	*stops = (struct stops){.priority_count = priority_count};
	stops->lists = calloc((size_t)port_count * priority_count + 1, sizeof(*stops->lists));
	if (!stops->lists)
		return -ENOMEM;
	stops->list_count = port_count * priority_count;
	return 0;
}

void stops_fini(struct stops *stops)
{
	for (uint32_t i = 0; i < stops->list_count; i++)
		free(stops->lists[i].stops);
	free(stops->lists);
	*stops = (struct stops){.lists = NULL};
}

static struct stop_list *list_of(const struct stops *stops, uint32_t port, uint8_t priority)
{
	return &stops->lists[port * stops->priority_count + priority];
}

/* The length of a stop until @at. */
static ps_t length_of(const struct stop *stop, ps_t at)
{
	const ps_t until = stop->until < at ? stop->until : at;

	return until > stop->from ? until - stop->from : 0;
}

bool stops_lasts(const struct stops *stops, uint32_t port, uint8_t priority)
{
	const struct stop_list *list = list_of(stops, port, priority);

	return list->count > 0 && list->stops[list->count - 1].until == PS_NEVER;
}

int stops_begin(struct stops *stops, uint32_t port, uint8_t priority, ps_t at)
{
	struct stop_list *list = list_of(stops, port, priority);
	const struct stop *last;

	if (stops_lasts(stops, port, priority))
		return 0;
	if (list->count == list->room) {
		const uint32_t room = list->room ? 2 * list->room : 16;
		struct stop *more = realloc(list->stops, room * sizeof(*more));

		if (!more)
			return -ENOMEM;
		list->stops = more;
		list->room = room;
	}
	last = list->count > 0 ? &list->stops[list->count - 1] : NULL;
	list->stops[list->count++] = (struct stop){
		.from = at,
		.until = PS_NEVER,
		.before = last ? last->before + length_of(last, last->until) : 0,
	};
	return 0;
}

void stops_end(struct stops *stops, uint32_t port, uint8_t priority, ps_t at)
{
	struct stop_list *list = list_of(stops, port, priority);

	if (stops_lasts(stops, port, priority))
		list->stops[list->count - 1].until = at;
}

/* All of them up to @at. */
static ps_t sum_until(const struct stop_list *list, ps_t at)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;

		if (list->stops[middle].from < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low == 0 ? 0 : list->stops[low - 1].before + length_of(&list->stops[low - 1], at);
}

ps_t stops_between(const struct stops *stops, uint32_t port, uint8_t priority, ps_t from, ps_t to)
{
	const struct stop_list *list = list_of(stops, port, priority);

	return to > from ? sum_until(list, to) - sum_until(list, from) : 0;
}
