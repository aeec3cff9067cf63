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

/* What a burst of a class takes of a way: remembered, since most are like the one before. */
struct bus_cost {
	uint64_t shape; /* of the burst; UINT64_MAX: nothing is remembered */
	ps_t head, all; /* how long its first packet and all of it take, without faults */
	struct bus_credits needs;
	uint32_t payload, wire_bytes;
	uint32_t response_bytes; /* of NVLink, where it writes: on the wire back, and ... */
	ps_t response;		 /* ... how long they take */
};

/* What a way has of one class. */
struct bus_share {
	struct bus_queue waiting;
	uint64_t peers_bps; /* what peers have of its lane at most; 0: all of it */
	ps_t peers_at;	    /* by this the next burst of theirs may go */
	/* Credits, as the sender counts them. */
	bool is_endless;
	uint32_t headers, data; /* left */
	/* A ring in the order of time; as many as there can be bursts. */
	struct bus_return *returns;
	uint32_t first, count, room;
	ps_t last_at;	   /* of the last of them */
	ps_t starved_from; /* PS_NEVER: nothing waits for them */
	/* Of the last two kinds of bursts, as of copies and of kernels in turn. */
	uint8_t older; /* which of the two was made first */
	struct bus_cost costs[2];
};

/* What a direction of a lane has done, all its links together. */
struct bus_tally {
	struct bus_way_stats stats;
	ps_t free_at;	   /* no link of it is taken from then on */
	uint32_t starving; /* shares of its links that wait for credits alone */
};

/* One direction of a lane, or of one of its links. */
struct bus_way {
	ps_t started_at, free_at; /* of the last burst, and behind it */
	uint32_t waiting_count;	  /* in all classes */
	uint32_t fault_count;
	uint32_t from, to, link;
	bool responds; /* NVLink: to what is written */
	const struct bus_part *end;
	struct bus_way **onward;  /* the ways from there on to each part but over NVLink */
	ps_t delay, credit_delay; /* of the lane; from room that is free to its credits */
	struct bus_tally *tally;
	struct bus_share shares[BUS_CLASSES];
	uint64_t next_order;
	const struct bus_lane_params *lane;
	struct bus_link split; /* what it is for bursts that a root has split */
	const struct bus_fault *faults;
	uint64_t crossed;	      /* bursts, of a way with faults */
	struct sim_local_event event; /* it is free, or credits are back */
	struct bus *bus;
};

/* One direction of a lane of NVLink: its links are every second way from @first on. */
struct bus_bundle {
	struct bus_way *first;
	uint32_t count;
};

/* One of the links of all bundles of a part, in their order. */
struct bus_choice {
	struct bus_way *way;
	uint32_t place, count; /* among those of its bundle, and how many these are */
};

enum { BUS_APART = UINT8_MAX };
/* Which bundles of a part lead to another one: one, whose number this is, or ... */
enum { BUS_LEADS_MAX = 253, BUS_LEADS_ALL, BUS_LEADS_SOME };

struct bus_mesh {
	bool has_outages; /* links may be down */
	uint8_t *hops;	  /* [from * part_count + to]: lanes, or BUS_APART; NULL: no NVLink */
	uint8_t *leads;	  /* [from * part_count + to] */
	struct bus_choice *choices;
	uint64_t *numbers; /* [(class * part_count + from) * part_count + to]: of the next burst */
	struct bus_bundle *bundles;
	uint32_t most, least; /* that all lanes of NVLink make of the largest burst */
};

struct bus_part {
	struct bus_part_params params;
	struct bus_bundle *bundles; /* that lead from it */
	uint32_t bundle_count;
	struct bus_choice *choices; /* all links of these */
	uint32_t choice_count;
	uint32_t tags; /* that are free */
	struct bus_queue tagless;
	uint64_t next_number; /* of the bursts that it sends */
	ps_t tag_wait;
	uint32_t root, depth; /* the nearest root, and lanes to it; BUS_PARTS_MAX: there is none */
	const struct bus_fault *faults;
	uint32_t fault_count;
	struct bus_tag_stats tag_stats; /* by tags_at, but for a wait that lasts since ... */
	ps_t tags_at, dry_from;		/* ... then, where somebody waits */
};

struct bus {
	struct sim_local *local;
	void *context;
	uint32_t part_count, lane_count, way_count;
	struct bus_part *parts;
	struct bus_lane_params *lanes;
	struct bus_tally *tallies; /* two for each lane */
	struct bus_way *ways;	   /* two for each link of a lane: from a to b, and back */
	struct bus_way **routes;   /* [from * part_count + to]: the first lane but of NVLink */
	struct bus_mesh mesh;
	struct bus_return *returns;
	bool has_peers; /* there is a root, so that others are peers, and ... */
	bool has_rules; /* ... something splits what they send, or sends it up */
	void (*finish)(struct bus *bus, struct bus_burst *burst, ps_t now); /* it is at its end */
};

static inline struct bus_way *bus_route(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bus->routes[from * bus->part_count + to];
}

/* Where @burst, which is at part @at, goes on over lanes other than NVLink. */
static inline struct bus_way *bus_tree_next(const struct bus *bus, uint32_t at,
					    const struct bus_burst *burst)
{
	return bus_route(bus, at, burst->goal);
}

static inline struct bus_way *bus_way_back(const struct bus_way *way)
{
	return way->bus->ways + ((way - way->bus->ways) ^ 1);
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

/* ---- mesh.c ---- */

/* -ENOMEM; bus_mesh_fini() all the same. */
int bus_mesh_create(struct bus *bus);
void bus_mesh_fini(struct bus *bus);
static inline bool bus_mesh_joins(const struct bus *bus, uint32_t from, uint32_t to)
{
	return bus->mesh.hops && bus->mesh.hops[from * bus->part_count + to] <= BUS_HOPS_MAX;
}
/* Whether some way between two parts that are joined is not down, so that bus_mesh_next() finds it.
 */
bool bus_mesh_is_open(const struct bus *bus, uint32_t from, uint32_t to, ps_t now);
/* Of the next burst of @kind between them. */
uint64_t bus_mesh_number(struct bus *bus, uint32_t from, uint32_t to, enum bus_class kind);
/* The link that @burst takes from part @at, of all that are not down; NULL: all are. Those that go
 * to one neighbour have numbers there that follow each other as theirs did, of which *ret_number is
 * the one: so that they take turns there, too. */
struct bus_way *bus_mesh_next(const struct bus *bus, uint32_t at, const struct bus_burst *burst,
			      ps_t now, uint64_t *ret_number);

/* ---- lane.c ---- */

/* The way that @burst takes from part @at, where it then has *ret_number; NULL: none is left. */
static inline struct bus_way *bus_next(const struct bus *bus, uint32_t at,
				       const struct bus_burst *burst, ps_t now,
				       uint64_t *ret_number)
{
	if (burst->is_meshed)
		return bus_mesh_next(bus, at, burst, now, ret_number);
	return bus_tree_next(bus, at, burst);
}

/* @burst waits for @way, and goes on from there until it has come to its end, of which bus->finish
 * hears. */
void bus_way_take(struct bus_way *way, struct bus_burst *burst, ps_t now);
/* @burst, which knows its ends and class, takes its first lane; or once more, where what it was to
 * take is down. */
void bus_depart(struct bus *bus, struct bus_burst *burst, ps_t now);
/* Its room in the buffer at the end of @way is free at @at, not before now. */
void bus_way_give_back(struct bus_way *way, const struct bus_burst *burst, ps_t at, ps_t now);
void bus_way_on_event(struct sim_local_event *event, void *context);

/* ---- peer.c ---- */

/* There are routes. */
void bus_peers_init(struct bus *bus);
/* @burst, whose ends are known, sets out. */
void bus_peers_set_out(const struct bus *bus, struct bus_burst *burst);

/* ---- fault.c ---- */

/* How a burst crosses a way: from its start to when the wire is free again. */
struct bus_crossing {
	ps_t head_at, tail_at; /* its first packet, and all of it, have left, and will be taken */
	uint32_t replays;
	uint64_t replayed_bytes;
};
/* @burst, in packets of @link, starts now on @way, which has faults. */
struct bus_crossing bus_fault_cross(const struct bus_way *way, const struct bus_link *link,
				    const struct bus_burst *burst, ps_t now);
/* When something may start that is there at @at. */
ps_t bus_fault_up_at(const struct bus_way *way, ps_t at);
/* How long @way is taken by so many bytes that start at @at, if it is not down. */
ps_t bus_fault_time(const struct bus_way *way, uint64_t wire_bytes, ps_t at);
/* When @part, which has faults, has done with a read that it would have done with at @at. */
ps_t bus_fault_answer_at(const struct bus_part *part, ps_t at);

/* ---- stats.c ---- */

/* The number of @part's tags in use is about to change. */
void bus_count_tags(struct bus_part *part, ps_t now);

/* ---- bus.c ---- */

/* How large bursts may be over NVLink. */
void bus_mesh_limit(struct bus *bus);
/* All of it is there, and the part has done with it. */
void bus_finish(struct bus *bus, struct bus_burst *burst, ps_t now);

#endif
