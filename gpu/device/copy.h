/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_COPY_H
#define GPU_COPY_H

/* A copy engine of a GPU: moves bytes of one direction between the GPU and memory of its machine or
 * another GPU, over the bus; or a CPU that pushes them. It takes whole copies in the order in which
 * they come, and has so many bursts of one under way as hide the latency of the bus. The bytes of a
 * burst are read when it leaves, or when what asks for it reaches them, and are there when it
 * arrives. One thread. */
#include "gpu/bus/bus.h"

/* How bytes that are moved lie at one end: rows of @width, @rows of them a slice, so far from each
 * other; the first @skip are of another copy. */
struct copy_side {
	uint64_t width; /* 0: they lie in a row */
	uint64_t rows, row_step, slice_step, skip;
};

/* Where the @nth byte is, from the first one of the first row; and how many lie behind it there. */
uint64_t copy_side_at(const struct copy_side *side, uint64_t nth, uint64_t *ret_run);
/* Bytes that lie so to where they lie otherwise. Both may be the same memory where they lie in a
 * row. */
void copy_sides(uint8_t *to, const struct copy_side *to_side, const uint8_t *from,
		const struct copy_side *from_side, uint64_t bytes);

/* One copy, in its owner's memory until on_done(). */
struct copy_job {
	uint64_t bytes; /* > 0 */
	uint8_t *to;	/* where the emulator reaches them; NULL: nothing is to be moved */
	const uint8_t *from;
	struct copy_side to_side, from_side;
	ps_t start;	/* that the engine takes before anything of it moves, ... */
	ps_t least;	/* ... and from there at least, however fast the way is */
	ps_t spread;	/* over which its bursts leave at even distances at least; 0: at once */
	uint64_t held;	/* bytes at its end that may not leave yet: copy_engine_release() */
	uint32_t other; /* the part that it reads or writes */
	uint32_t most;	/* bytes of a burst; 0: as many as the bus takes */
	/* All of it is there. */
	void (*on_done)(struct copy_job *copy, ps_t now);
	/* Some of it, a burst; NULL: nobody looks. */
	void (*on_placed)(struct copy_job *copy, ps_t now);
	/* These bytes are read now. NULL: nobody asks. */
	void (*on_read)(struct copy_job *copy, const uint8_t *from, uint32_t bytes);
	/* The engine's own. */
	uint64_t started, arrived; /* bytes; @arrived: for on_placed() to read, those among them */
	uint32_t under_way, burst_most;
	struct copy_job *next;
	bool is_lost; /* some of it to a team, whose links were down; the engine says so */
};

struct copy_engine;
struct copy_burst {
	struct bus_burst burst;
	struct sim_local_event event; /* it makes room for another one */
	struct copy_engine *engine;
	uint64_t offset;
	uint8_t *room;		 /* for the bytes that were read, kept for the next ones */
	uint32_t room_bytes;	 /* of it */
	bool is_read;		 /* they are there; else there was no memory, they are read later */
	struct copy_burst *next; /* among those that are spare */
};

/* What it has moved, and how long it has had something to do. */
struct copy_stats {
	uint64_t copies, bytes;
	ps_t busy;
};

struct copy_engine {
	struct bus *bus;
	struct sim_local *local;
	uint32_t own; /* the part that has it */
	bool reads;
	struct copy_job *first, *last;
	struct sim_local_event event; /* the first one begins, or ends */
	ps_t began;
	ps_t lag;	 /* from when a burst has arrived until it makes room for another one */
	uint16_t packet; /* as struct bus_burst has it */
	struct bus_multicast
		*multicast; /* all goes to a team, or comes from one; NULL: it does not */
	struct copy_burst *bursts, *spare;
	struct copy_stats stats; /* up to ... */
	ps_t busy_from;		 /* ... then, where it has something to do */
	uint32_t burst_count;
};

/* Of the part @own of @bus, which lives in @local: it reads what it copies from another part, or
 * writes it there, and has @bursts of them under way at most. @key tells its events in @local apart
 * from all others, and the next @bursts keys are its own as well where it is given a lag. -ENOMEM.
 */
int copy_engine_init(struct copy_engine *engine, struct bus *bus, struct sim_local *local,
		     uint32_t own, bool reads, uint64_t key, uint32_t bursts);
/* Nothing is under way, or the run has ended. Zeroed: allowed. */
void copy_engine_fini(struct copy_engine *engine);
void copy_engine_take(struct copy_engine *engine, struct copy_job *copy, ps_t now);
/* Of @copy, which the engine has, no more than @held bytes may not leave any longer. */
void copy_engine_release(struct copy_engine *engine, struct copy_job *copy, uint64_t held,
			 ps_t now);
/* At @at, behind which nothing has happened: copies that are over, and its time so far. */
struct copy_stats copy_engine_stats(const struct copy_engine *engine, ps_t at);

#endif
