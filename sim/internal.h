/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

/* The engine's own: windows, inboxes, threads. Window number w is [w * look, (w + 1) * look); it is
 * played at once, or in parts where the run ends in it or somebody wants to look at an instant. */
#include "sim/order.h"
#include "sim/port.h"
#include "sim/sim.h"
#include "util/arena.h"
#include "util/check.h"

#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/* Before a short loop that runs for every frame. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll_count(4)")
#else
#define UNROLL _Pragma("GCC unroll 4")
#endif

/* One function, by its name, in what is optimised as a whole: bench/run counts from one to another.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define KEPT_APART __attribute__((noipa))
#else
#define KEPT_APART __attribute__((noinline))
#endif

enum {
	KEY_BITS = 34, /* of the place of a frame in its store, in bytes */
	CHUNK_KEYS = 15,
	CHUNK_BYTES = 128,
	WAKE_SLOTS = 64,
	INBOX_SLOTS_MAX = 64,
	THREADS_MAX = 256
};
#define KEY_MASK (((uint64_t)1 << KEY_BITS) - 1)
#define FRAMES_MAX ((KEY_MASK + 1) / sizeof(struct sim_pkt))
/* So that a time in a window fits above the place of a frame, and no key has a time of ones alone.
 */
#define LOOK_MAX (((ps_t)1 << (64 - KEY_BITS)) - 1)
_Static_assert((LOOK_MAX - 1) << KEY_BITS < UINT64_MAX - KEY_MASK, "no key looks like none before");

/* What an inbox holds of its frames: the time in the window, then the place in the store. The link
 * is touched only where one chunk is not enough. */
struct chunk {
	uint64_t keys[CHUNK_KEYS];
	struct chunk *next;
};
_Static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunks are aligned to their size");

/* What one thread has sent to one node for one window. @write stands at the end of a chunk where
 * the next key needs a new one. */
struct inbox {
	uint64_t *write;
	struct chunk *first; /* NULL: nothing */
};
#define INBOX_FULL ((uint64_t *)(uintptr_t)(CHUNK_KEYS * sizeof(uint64_t)))

/* Frames and wake-ups beyond the ring of windows: heaps by window number. */
struct far_frame {
	uint64_t window;
	uint32_t slot;
	uint32_t number; /* of the frame in the store */
};
struct far_wake {
	uint64_t window;
	uint32_t slot;
};

/* A thread of the engine, which plays windows; or an island within them, which has neither windows
 * nor inboxes of its own (struct island). */
struct engine_thread {
	struct sim_thread pub; /* first */
	uint64_t window;
	ps_t end; /* of the window; pub.until may come before */
	ps_t look, two_looks;
	struct inbox *near[2]; /* of the next window and the one after */
	uint64_t window_mask;  /* of the inbox ring */
	uint64_t any;	       /* bit w % 64: someone has something to do in window w */
	struct inbox *inboxes[INBOX_SLOTS_MAX]; /* by window & mask, then by node slot */
	uint64_t *active[WAKE_SLOTS];		/* bitmaps of node slots */
	/* Frames: a store for all threads, of which each has a part; a frame is given back to
	 * whatever thread it ends at. What was given back last is in the cache and goes first. */
	struct sim_pkt *store;
	struct sim_pkt *frame_free; /* a list through the first word */
	uint64_t frame_free_count;
	uint32_t frame_fresh, frame_end; /* never used so far: numbers in the store */
	struct util_arena *chunks;	 /* the thread's; an island's are those of its thread */
	struct chunk *spill;		 /* for keys beyond the memory limit, never read */
	uint64_t *keys, *keys_other;	 /* to be sorted; the other place */
	struct sim_pkt **arrivals;
	uint32_t arrivals_max;
	uint32_t *visits; /* the nodes of this window */
	struct far_frame *far_frames;
	struct far_wake *far_wakes;
	uint32_t far_frame_count, far_frame_max, far_wake_count, far_wake_max;
	uint64_t *far_wake_at; /* by node slot: the window of its far wake-up, or UINT64_MAX */
	uint32_t slot_count;
	uint32_t first_slot, end_slot; /* of nodes that are in no island */
	struct sim_node **by_slot;
	/* Who writes to the inboxes of these nodes: all threads; in an island only itself. */
	struct engine_thread *writers;
	uint32_t writer_count;
	struct engine_thread *outer; /* an island's thread; NULL: a thread */
	struct island *islands;	     /* of the thread */
	uint32_t island_count;
	uint32_t sort_shift;
	uint64_t hops, events;
	ps_t last_at;
	int error;
	struct util_arena own_chunks;
	uint8_t apart[128]; /* from the next thread's */
};

struct arrival {
	ps_t at;
	struct sim_pkt *frame;
};

/* One of an island: what comes to it, and when it has a turn. */
struct member {
	ps_t wake;   /* it has asked for a turn then; PS_NEVER: for none */
	ps_t played; /* all before that is done */
	/* From others of the island: a binary heap by time. From outside, all of the part of the
	 * thread's window that is played: in order. Behind both is one at PS_NEVER. */
	struct arrival *inner, *outer;
	uint32_t inner_count, inner_max, outer_first, outer_count, outer_max;
	uint32_t link_count;		   /* to others of the island */
	const struct sim_port *near, *far; /* the ends of one of them */
};

/* Nodes joined by links far shorter than those around them. What comes from outside lies in the
 * inboxes of its thread and goes to its members when a window of the thread begins. */
struct island {
	struct engine_thread own; /* slots are places among the members */
	uint32_t count;
	uint32_t first_slot; /* of the thread: that of the first member, the others behind it */
	ps_t look;	     /* so late at the earliest one of them hears of another */
	uint32_t ports;	     /* of its members */
	struct member *members;
	/* When something is to be done, PS_NEVER: nothing is. A tournament: [n] is the first of
	 * [2 n] and [2 n + 1], [1] of all; those of the members are from [count] on. */
	ps_t *next;
};

struct link {
	char *name;
	uint64_t id, rate_bps;
	ps_t delay;
	struct sim_node *ends[2];
};

struct part { /* @node has its turns with @lead */
	struct sim_node *lead, *node;
	struct part *next; /* of the lead */
};

struct id_set {
	uint64_t *ids;
	uint32_t count, mask;
};

struct barrier;

struct sim {
	struct sim_params params;
	struct sim_node **nodes;   /* in order of addition */
	struct sim_node **by_name; /* in order of name */
	struct sim_node **by_slot;
	struct link *links; /* in order of name once sealed */
	struct sim_port *ports;
	uint64_t *link_ids; /* of the ports, in their order */
	uint32_t node_count, node_max, link_count, link_max, slot_count;
	struct part *parts; /* in the order of sim_add_part() */
	uint32_t part_count, part_max;
	/* By node index: the first of its parts; the index of its lead, or its own. Where there
	 * are no parts, NULL. */
	struct part **first_part;
	uint32_t *lead_of;
	struct id_set ids;
	struct engine_thread *threads;
	struct util_arena store; /* of frames */
	ps_t look, delay_min;
	struct island *islands; /* in order of their threads */
	uint32_t island_count;
	/* While it is sealed, by node index: the least index of its island, UINT32_MAX: none. */
	uint32_t *island_of;
	ps_t *island_look; /* by that index: its windows */
	uint64_t window;   /* at hand */
	ps_t from, until;  /* the part of it that is played */
	ps_t run_until;
	ps_t cut_at; /* sim_cut() */
	bool sealed, running, finished, done;
	int error;
	volatile int stop;
	const struct sim_other *other;	  /* NULL: this engine */
	struct sim_pkt other_frame;	  /* for it: it has none of ours, and copies what it gets */
	struct sim_loss_listener *losses; /* NULL: nobody */
};

/* sim/window.c: everything that one thread does in its window. */
void sim_engine_window(struct engine_thread *et);
/* The part of @window that is [@from, @until), for all nodes but those in islands. */
void sim_engine_play(struct engine_thread *et, uint64_t window, ps_t from, ps_t until);
/* What has arrived at the node of @slot in that part: keys, in et->keys. */
uint32_t sim_engine_collect(struct engine_thread *et, uint32_t slot);
/* The turn of @node in the part of time of et->pub, with what @count keys in et->keys say, which
 * are in order. */
void sim_engine_turn(struct engine_thread *et, struct sim_node *node, uint32_t count);
/* Which of the 64 nodes from 64 * @word on have a turn in that part. */
uint64_t sim_engine_turns(struct engine_thread *et, uint32_t word);
/* For the keys of @count frames; 0 or -ENOMEM. There is always some. */
int sim_engine_make_room(struct engine_thread *et, uint32_t count);
void sim_engine_chunk_new(struct engine_thread *et, struct inbox *box, uint32_t slot,
			  uint64_t window);

/* sim/place.c: @ret_order[node_count]. 0 or -ENOMEM. */
int sim_engine_place(const struct sim *sim, struct sim_node **ret_order);

/* sim/island.c: which nodes form islands, and how long the windows of all others are; 0 or
 * -ENOMEM. */
int sim_engine_find_islands(struct sim *sim);

/* sim/island_play.c: room for the members, whose number is known; 0 or -ENOMEM. */
int sim_engine_island_init(struct island *island);
void sim_engine_island_fini(struct island *island);
/* The islands of @et have their turns in the part of the window that it has just played. */
void sim_engine_islands(struct engine_thread *et);
/* @frame reaches a member at @at. */
void sim_engine_island_post(struct island *island, uint32_t slot, struct sim_pkt *frame, ps_t at);
/* As sim_wake() */
ps_t sim_engine_island_wake(struct island *island, uint32_t slot, ps_t at);

/* sim/run.c: the first window from @window on in which anything is to be done; UINT64_MAX: none. */
uint64_t sim_engine_next_busy(const struct engine_thread *et, uint32_t count, uint64_t window);

/* sim/far.c */
ps_t sim_engine_wake(struct engine_thread *et, uint32_t slot, ps_t at);
/* Whatever window frame->at is in. */
void sim_engine_far_post(struct engine_thread *et, uint32_t slot, struct sim_pkt *frame);
/* The earliest window beyond the ring, UINT64_MAX: none. */
uint64_t sim_engine_far_first(const struct engine_thread *et);
/* What has come within the ring goes there. */
void sim_engine_far_near(struct engine_thread *et, uint64_t window);

/* sim/run.c: one thread, while others wait: false where the run has ended. */
bool sim_engine_next_window(struct sim *sim);
/* sim/threads.c */
int sim_engine_run_threads(struct sim *sim);

/* sim/fault.c: islands, faults, taps, another engine. The frame started at @start and is there at
 * @at. */
void sim_engine_send_hooked(struct engine_thread *et, struct sim_port *port,
			    const struct sim_pkt *pkt, ps_t start, ps_t at);
void sim_engine_forward_hooked(struct engine_thread *et, struct sim_port *port,
			       struct sim_pkt *frame, ps_t start, ps_t at);

static inline struct engine_thread *engine_of(struct sim_thread *th)
{
	return container_of(th, struct engine_thread, pub);
}

static inline struct island *island_of(struct engine_thread *own)
{
	return container_of(own, struct island, own);
}

/* Index of the node in whose turns @node has its own. */
static inline uint32_t engine_lead(const struct sim *sim, const struct sim_node *node)
{
	return sim->lead_of ? sim->lead_of[node->index] : node->index;
}

static inline struct part *engine_first_part(const struct sim *sim, const struct sim_node *node)
{
	return sim->first_part ? sim->first_part[node->index] : NULL;
}

/* ---- wake-ups ---- */

static inline void engine_activate(struct engine_thread *et, uint32_t slot, uint64_t window)
{
	et->active[window % WAKE_SLOTS][slot / 64] |= (uint64_t)1 << slot % 64;
	et->any |= (uint64_t)1 << window % WAKE_SLOTS;
}

/* As sim_wake() */
static inline ps_t engine_wake(struct engine_thread *et, uint32_t slot, ps_t at)
{
	if (at - et->end >= et->look)
		return sim_engine_wake(et, slot, at);
	engine_activate(et, slot, et->window + 1);
	return at;
}

/* ---- frames ---- */

/* NULL: the memory limit; the run ends. */
struct sim_pkt *sim_engine_frame_fresh(struct engine_thread *et);

static inline struct sim_pkt *engine_frame_get(struct engine_thread *et)
{
	struct sim_pkt *frame = et->frame_free;

	if (unlikely(!frame))
		return sim_engine_frame_fresh(et);
	memcpy(&et->frame_free, (const void *)frame, sizeof(et->frame_free));
	et->frame_free_count--;
	return frame;
}

static inline void engine_frame_put(struct engine_thread *et, struct sim_pkt *frame)
{
	memcpy((void *)frame, &et->frame_free, sizeof(et->frame_free));
	et->frame_free = frame;
	et->frame_free_count++;
}

/* @offset: its time in the window. */
static inline uint64_t engine_key(const struct engine_thread *et, const struct sim_pkt *frame,
				  ps_t offset)
{
	return offset << KEY_BITS | ((uintptr_t)frame - (uintptr_t)et->store);
}

static inline struct sim_pkt *engine_frame_of(const struct engine_thread *et, uint64_t key)
{
	return (struct sim_pkt *)(void *)((char *)et->store + (key & KEY_MASK));
}

/* The keys of @chunk, one of @box's; *ret_next: NULL after the last. */
static inline uint32_t engine_chunk_keys(const struct inbox *box, const struct chunk *chunk,
					 struct chunk **ret_next)
{
	const bool last =
		(((uintptr_t)box->write - 1) & ~(uintptr_t)(CHUNK_BYTES - 1)) == (uintptr_t)chunk;

	*ret_next = last ? NULL : chunk->next;
	return last ? (uint32_t)(box->write - chunk->keys) : (uint32_t)CHUNK_KEYS;
}

/* @frame reaches the node of @slot at @at, in a later window of the engine's. */
static inline void engine_post(struct engine_thread *et, uint32_t slot, struct sim_pkt *frame,
			       ps_t at)
{
	const ps_t ahead = at - et->end;
	const bool second = ahead >= et->look;
	struct inbox *box = et->near[second] + slot;

	frame->at = at;
	if (unlikely(ahead >= et->two_looks)) {
		sim_engine_far_post(et, slot, frame);
		return;
	}
	if (unlikely(((uintptr_t)box->write & (CHUNK_BYTES - 1)) == (uintptr_t)INBOX_FULL))
		sim_engine_chunk_new(et, box, slot, et->window + 1 + second);
	*box->write++ = engine_key(et, frame, second ? ahead - et->look : ahead);
}

/* ---- ports ---- */

/* A frame of @bytes starts at @start; when it has left, and its number. */
static inline ps_t engine_start(struct sim_port *port, uint32_t bytes, ps_t start,
				uint16_t *ret_number)
{
	const ps_t end = start + sim_port_tx_time(port, bytes);

	*ret_number = (uint16_t)port->sent_packets++;
	port->free_at = end;
	port->sent_bytes += bytes;
	return end;
}

/* A frame of the store moves on as it is; @delay is the link's, or that of control frames. */
static inline void engine_forward(struct engine_thread *et, struct sim_port *port,
				  struct sim_pkt *frame, ps_t start, ps_t delay)
{
	uint16_t number;
	const ps_t end = engine_start(port, frame->bytes, start, &number);

	if (unlikely(port->hooked)) {
		sim_engine_forward_hooked(et, port, frame, start, end + delay);
		return;
	}
	frame->port = port->peer_place;
	frame->number = number;
	engine_post(et, port->peer_slot, frame, end + delay);
}

#endif
