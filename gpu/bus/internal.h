/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUS_INTERNAL_H
#define BUS_INTERNAL_H

#include "gpu/bus/bus.h"

struct bus_queue {
	struct bus_burst *first, *last;
};

/* Credits that will be back at @at. */
struct bus_return {
	ps_t at;
	uint32_t headers, data;
};

/* Of one class, as the sender counts them. */
struct bus_pool {
	bool is_endless;
	uint32_t headers, data; /* left */
	/* A ring in the order of time; as many as there can be bursts. */
	struct bus_return *returns;
	uint32_t first, count, room;
	ps_t starved_from; /* PS_NEVER: nothing waits for them */
};

/* One direction of a lane. */
struct bus_way {
	const struct bus_lane_params *lane;
	uint32_t to;
	ps_t started_at, free_at; /* of the last burst, and behind it */
	uint64_t next_order;
	struct bus_queue waiting[BUS_CLASSES];
	struct bus_pool pools[BUS_CLASSES];
	struct sim_local_event event; /* it is free, or credits are back */
	struct bus *bus;
	struct bus_way_stats stats;
};

struct bus_part {
	struct bus_part_params params;
	uint32_t tags; /* that are free */
	struct bus_queue tagless;
	uint64_t next_number; /* of the bursts that it sends */
	ps_t tag_wait;
	struct bus_tag_stats tag_stats; /* by tags_at, but for a wait that lasts since ... */
	ps_t tags_at, dry_from;		/* ... then, where somebody waits */
};

struct bus {
	struct sim_local *local;
	void *context;
	uint32_t part_count, lane_count;
	struct bus_part *parts;
	struct bus_lane_params *lanes;
	struct bus_way *ways;	 /* two for each lane: from a to b, and back */
	struct bus_way **routes; /* [from * part_count + to]: the first lane on the way */
	struct bus_return *returns;
	void (*finish)(struct bus *bus, struct bus_burst *burst, ps_t now); /* it is at its end */
};

static inline struct bus_way *bus_route(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bus->routes[from * bus->part_count + to];
}

static inline void bus_enqueue(struct bus_queue *queue, struct bus_burst *burst)
{
	burst->next = NULL;
	*(queue->first ? &queue->last->next : &queue->first) = burst;
	queue->last = burst;
}

static inline struct bus_burst *bus_dequeue(struct bus_queue *queue)
{
	struct bus_burst *burst = queue->first;

	queue->first = burst->next;
	return burst;
}

/* ---- lane.c ---- */

/* @burst waits for @way, and goes on from there until it has come to its end, of which bus->finish
 * hears. */
void bus_way_take(struct bus_way *way, struct bus_burst *burst, ps_t now);
/* Its room in the buffer at the end of @way is free at @at, not before now. */
void bus_way_give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now);
void bus_way_on_event(struct sim_local_event *event, void *context);

/* ---- stats.c ---- */

/* The number of @part's tags in use is about to change. */
void bus_count_tags(struct bus_part *part, ps_t now);

/* ---- bus.c ---- */

/* All of it is there, and the part has done with it. */
void bus_finish(struct bus *bus, struct bus_burst *burst, ps_t now);

#endif
