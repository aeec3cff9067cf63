/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BUS_H
#define BUS_H

/* The inside of a machine: parts (sockets with their memory, PCIe switches, adapters, GPUs) that
 * are joined by lanes, and what moves between them. It knows neither verbs nor CUDA.
 *
 * What moves is a burst: what one request moves, at most BUS_BURST_MAX bytes. It takes each lane
 * for exactly what its packets (TLPs) take, and credits in their units: of the receiver's buffer,
 * by class. Parts in between cut through: the next lane may begin as soon as the head is there and
 * the rest will not be late. What waits for a lane goes in the order of PCI Express (base
 * specification 2.4.1): nothing passes a posted burst, unless completions are relaxed; completions
 * do not wait for requests.
 *
 * Lanes of NVLink are a second graph on the same parts, each of one or more links. Two parts that
 * it joins, as neighbours or through NVSwitches, have all between them go over it: a sender numbers
 * the bursts of a class to a part, and by their numbers they take turns on all links that lead
 * there. So one link keeps their order, and several together do not. What is written has a response
 * sent back, which takes its time of the other direction.
 *
 * Sans I/O: everything happens in the local events of the node (sim/local.h); nothing is
 * allocated after bus_create(). A bus belongs to one thread at a time. */
#include "gpu/bus/fault.h"
#include "gpu/bus/link.h"
#include "sim/local.h"

enum {
	BUS_PARTS_MAX = 256,
	BUS_HOPS_MAX = 8,
	BUS_BURST_MAX = 4096,
	BUS_CREDIT_BYTES = 16, /* of a unit of data credits */
};

/* What a root complex does with traffic of peers, between two parts that are no root. */
enum bus_peers {
	BUS_PEERS_FULL,
	BUS_PEERS_WRITES, /* nobody may read: bus_may_read() */
	BUS_PEERS_NONE,	  /* nor write: bus_may_write() */
};

struct bus_part_params {
	/* Between two lanes: from the head in one to the head in the other. At the end of a way:
	 * from the last byte until what was written is there, or an answer may start. */
	ps_t latency;
	/* Reads over PCI Express that it may have under way, each of at most mrrs; 0: any number.
	 */
	uint32_t tags;
	/* A root complex, with memory of the host. What peers send through it goes on from it in
	 * packets of at most @peer_payload over PCIe, down to its end: a power of two from 64 to
	 * 4096; 0: as each lane has it. */
	bool is_root;
	uint8_t peers; /* enum bus_peers */
	uint16_t peer_payload;
	/* A switch with access control services: what peers send through it and would turn around
	 * there goes up to the nearest root, and down again. */
	bool redirects;
	bool is_nvswitch; /* passes on what comes over NVLink, which is all that it has */
};

/* What a receiver has room for, of each link; 0: it is without end. */
struct bus_credits {
	uint32_t headers; /* TLPs */
	uint32_t data;	  /* units of 16 bytes */
};

struct bus_lane_params {
	uint32_t a, b; /* numbers of parts */
	struct bus_link link;
	ps_t delay;			      /* of a bit, from end to end */
	struct bus_credits room[BUS_CLASSES]; /* at either end; not less than one TLP takes */
	ps_t update;  /* from room that is free until its credits are on the wire back */
	bool relaxed; /* completions may pass posted bursts */
	/* Of peers, payload of writes and of what answers reads, in each direction; 0: no limit. */
	uint64_t peer_writes_bps, peer_reads_bps;
	uint32_t entry; /* for people: which of their list it is, from 0 */
};

struct bus;
struct bus_way;
struct bus_burst;

/* What the owner of a burst hears. From the local events of the node, with the context of the bus.
 */
struct bus_burst_ops {
	/* It is there: what was written, or the bytes of a read have come back. It is the owner's
	 * again. */
	void (*arrived)(struct bus_burst *burst, void *context, ps_t now);
	/* A read has come to the part that it reads, which may look at its memory now. True: the
	 * answer starts; false: it waits for bus_answer(). NULL: always true. */
	bool (*reached)(struct bus_burst *burst, void *context, ps_t now);
	/* What is written leaves the part that writes: it is on its first lane from now on; or on
	 * another one, after a link of NVLink in between was down. NULL: nobody asks. */
	void (*left)(struct bus_burst *burst, void *context, ps_t now);
};

/* One burst, in the owner's memory from bus_write() or bus_read() until it has arrived. */
struct bus_burst {
	const struct bus_burst_ops *ops;
	uint32_t bytes; /* at most bus_burst_most() */
	bool is_part;	/* for the owner: of something larger */
	/* An NVSwitch was one of its ends, and no link leads there any more: it has not arrived. */
	bool is_lost;
	/* Over PCI Express and NVLink: what its packets, or those that answer it, have of it at
	 * most; 0: as each lane has it. */
	uint16_t packet;
	/* The bus's own. */
	uint16_t from, to;
	uint8_t kind; /* enum bus_class */
	bool is_read;
	bool is_peer, is_split;	      /* between peers; and through a root, which splits it */
	uint16_t via;		      /* the root that it goes to first; BUS_PARTS_MAX: none */
	struct sim_local_event event; /* key: @from and the number of its bursts */
	struct bus_burst *next;
	uint64_t order;
	bool is_meshed;	    /* it goes over NVLink, and ... */
	uint64_t number;    /* ... which link is next comes of this */
	struct bus_way *on; /* the last lane that it took; NULL: none yet */
};

/* Of @part_count parts (2 to BUS_PARTS_MAX) and @lane_count lanes, which make a tree: one way
 * between any two, of at most BUS_HOPS_MAX lanes; of NVLink at most one lane between two, and to
 * NVSwitches nothing else. @local: of the node, in which everything happens,
 * @context: for the callbacks and those of @local. *ret_bus: 0; -EINVAL: no tree, or a lane that
 * cannot be; -ENOMEM. */
int bus_create(struct sim_local *local, void *context, const struct bus_part_params *parts,
	       uint32_t part_count, const struct bus_lane_params *lanes, uint32_t lane_count,
	       struct bus **ret_bus);
/* Before anything is under way: what will go wrong between neighbours and in parts, in the order of
 * bus_fault_order(). @faults stays the caller's, and lives as long as @bus. */
void bus_set_faults(struct bus *bus, const struct bus_fault *faults, uint32_t count);
/* Nothing is under way. NULL allowed. */
void bus_destroy(struct bus *bus);

/* The largest burst between two parts: at most BUS_BURST_MAX, and an eighth of the room that any
 * buffer on the way has, or one TLP. */
uint32_t bus_burst_most(const struct bus *bus, uint32_t from, uint32_t to);
/* Whether the roots between two parts let one write to the other, or read it. */
bool bus_may_write(const struct bus *bus, uint32_t from, uint32_t to);
bool bus_may_read(const struct bus *bus, uint32_t from, uint32_t to);
/* Whether lanes of NVLink join them, be they down or not. */
bool bus_has_nvlink(const struct bus *bus, uint32_t from, uint32_t to);
/* The parts that a burst passes from @from to @to over lanes other than NVLink, @from first and @to
 * last: room for BUS_PATH_MAX. How many. */
enum { BUS_PATH_MAX = 2 * BUS_HOPS_MAX + 1 };
uint32_t bus_path(const struct bus *bus, uint32_t from, uint32_t to, uint32_t *ret_parts);
/* burst->bytes go from part @from to another one, @to, as posted writes. */
void bus_write(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to, ps_t now);
/* Part @from reads so many bytes of @to: requests there, completions back. */
void bus_read(struct bus *bus, struct bus_burst *burst, uint32_t from, uint32_t to, ps_t now);
/* The answer to a read that has reached its part starts. */
void bus_answer(struct bus *bus, struct bus_burst *burst, ps_t now);

/* What a direction of a lane has done: all its links together. */
struct bus_way_stats {
	uint64_t bursts, bytes, wire_bytes; /* bytes: of payload */
	ps_t busy;			    /* that it was taken */
	ps_t starved[BUS_CLASSES];	    /* that something waited for credits alone */
	uint64_t replays, replayed_bytes;   /* by faults; bytes on the wire */
};
/* Of the lane from @from to its neighbour @to that is not of NVLink, and of that which is. */
struct bus_way_stats bus_way_stats(const struct bus *bus, uint32_t from, uint32_t to);
struct bus_way_stats bus_nvlink_stats(const struct bus *bus, uint32_t from, uint32_t to);
/* The same two as they stand at @at, where nothing has happened on the bus behind that: a burst on
 * the wire and a wait that lasts count as far as they have come. */
struct bus_way_stats bus_way_stats_at(const struct bus *bus, uint32_t from, uint32_t to, ps_t at);
struct bus_way_stats bus_nvlink_stats_at(const struct bus *bus, uint32_t from, uint32_t to,
					 ps_t at);
/* Of these, how long it was taken. */
ps_t bus_busy_at(const struct bus *bus, uint32_t from, uint32_t to, bool is_nvlink, ps_t at);
/* When the last burst that any lane has begun is through it. */
ps_t bus_busy_until(const struct bus *bus);
/* How long reads of that part waited for a tag, all together. */
ps_t bus_tag_wait(const struct bus *bus, uint32_t part);

/* What the tags of a part have done by @at, as above; all 0 where it has any number of them. */
struct bus_tag_stats {
	uint64_t taken; /* tags, by reads that have begun */
	ps_t held;	/* all of them together: @held / @taken is one round trip in the mean */
	ps_t dry;	/* that any read waited for one */
};
struct bus_tag_stats bus_tag_stats(const struct bus *bus, uint32_t part, ps_t at);

#endif
