/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SIM_INTERNAL_H
#define SIM_INTERNAL_H

/* The engine's own: windows, inboxes, threads. Window number w is [w * look, (w + 1) * look). */
#include "sim/order.h"
#include "sim/port.h"
#include "sim/sim.h"
#include "util/arena.h"
#include "util/check.h"

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum {
	CHUNK_PKTS = 15,
	CHUNK_BYTES = 1024,
	WAKE_SLOTS = 64,
	INBOX_SLOTS_MAX = 64,
	THREADS_MAX = 256
};

/* Frames of one inbox; the link is touched only where one chunk is not enough. */
struct chunk {
	struct sim_pkt pkt[CHUNK_PKTS];
	struct chunk *next;
	uint64_t spare[7];
};
_Static_assert(sizeof(struct chunk) == CHUNK_BYTES, "chunks are aligned to their size");

/* What one thread has sent to one node for one window. @write stands at the end of a chunk where
 * the next frame needs a new one. */
struct inbox {
	struct sim_pkt *write;
	struct chunk *first;
	uint32_t count;
};
#define INBOX_FULL ((struct sim_pkt *)(uintptr_t)(CHUNK_PKTS * sizeof(struct sim_pkt)))

/* Frames and wake-ups beyond the ring of windows: heaps by window number. */
struct far_frame {
	uint64_t window;
	uint32_t slot;
	struct sim_pkt pkt;
};
struct far_wake {
	uint64_t window;
	uint32_t slot;
};

struct engine_thread {
	struct sim_thread pub; /* first */
	uint64_t window;
	ps_t look, two_looks;
	struct inbox *near[2]; /* of the next window and the one after */
	uint64_t window_mask;  /* of the inbox ring */
	uint64_t any;	       /* bit w % 64: someone has something to do in window w */
	struct inbox *inboxes[INBOX_SLOTS_MAX]; /* by window & mask, then by node slot */
	uint64_t *active[WAKE_SLOTS];		/* bitmaps of node slots */
	struct util_arena chunks;
	struct chunk *spill;	     /* for frames beyond the memory limit, never read */
	uint64_t *keys, *keys_other; /* to be sorted; the other place */
	struct sim_pkt **frames, **arrivals;
	uint32_t arrivals_max;
	uint32_t *visits; /* the nodes of this window */
	struct far_frame *far_frames;
	struct far_wake *far_wakes;
	uint32_t far_frame_count, far_frame_max, far_wake_count, far_wake_max;
	uint64_t *far_wake_at; /* by node slot: the window of its far wake-up, or UINT64_MAX */
	uint32_t first_slot, end_slot;
	uint32_t sort_shift;
	uint64_t hops, events;
	ps_t last_at;
	int error;
	uint8_t apart[128]; /* from the next thread's */
};

struct link {
	char *name;
	uint64_t id, rate_bps;
	ps_t delay;
	struct sim_node *ends[2];
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
	uint32_t node_count, node_max, link_count, link_max, slot_count;
	struct id_set ids;
	struct engine_thread *threads;
	ps_t look;
	uint32_t inbox_slots;
	uint64_t window; /* the next to run */
	ps_t until;
	bool sealed, running, finished, done;
	int error;
	volatile int stop;
	const struct sim_other *other; /* NULL: this engine */
};

/* sim/window.c: everything that one thread does in its window. */
void sim_engine_window(struct engine_thread *et);
void sim_engine_chunk_new(struct engine_thread *et, struct inbox *box, uint32_t slot,
			  uint64_t window);
void sim_engine_activate(struct engine_thread *et, uint32_t slot, uint64_t window);

/* sim/far.c */
void sim_engine_far_send(struct engine_thread *et, uint32_t slot, const struct sim_pkt *pkt,
			 uint64_t window);
/* The earliest window beyond the ring, UINT64_MAX: none. */
uint64_t sim_engine_far_first(const struct engine_thread *et);
/* What has come within the ring goes there. */
void sim_engine_far_near(struct engine_thread *et, uint64_t window);

/* sim/run.c: one thread, while others wait: false where the run has ended. */
bool sim_engine_next_window(struct sim *sim);
/* sim/threads.c */
int sim_engine_run_threads(struct sim *sim);

/* sim/fault.c: faults, taps, another engine. */
void sim_engine_send_hooked(struct engine_thread *et, struct sim_port *port,
			    const struct sim_pkt *pkt, ps_t start, ps_t at);

static inline struct engine_thread *engine_of(struct sim_thread *th)
{
	return container_of(th, struct engine_thread, pub);
}

/* sim/window.c: into a window that is not one of the next two. */
void sim_engine_deliver_later(struct engine_thread *et, uint32_t slot, const struct sim_pkt *pkt,
			      uint16_t port, uint16_t number, ps_t at);

static inline void engine_put(struct engine_thread *et, struct inbox *box, uint32_t slot,
			      uint64_t window, const struct sim_pkt *pkt, uint16_t port,
			      uint16_t number, ps_t at)
{
	struct sim_pkt *frame;

	if (unlikely(((uintptr_t)box->write & (CHUNK_BYTES - 1)) == (uintptr_t)INBOX_FULL))
		sim_engine_chunk_new(et, box, slot, window);
	box->count++;
	frame = box->write++;
	*frame = *pkt;
	frame->at = at;
	frame->port = port;
	frame->number = number;
}

/* @at lies in a later window of the engine's. */
static inline void engine_deliver(struct engine_thread *et, uint32_t slot,
				  const struct sim_pkt *pkt, uint16_t port, uint16_t number,
				  ps_t at)
{
	const ps_t ahead = at - et->pub.until;
	const bool second = ahead >= et->look;

	if (unlikely(ahead >= et->two_looks))
		sim_engine_deliver_later(et, slot, pkt, port, number, at);
	else
		engine_put(et, et->near[second] + slot, slot, et->window + 1 + second, pkt, port,
			   number, at);
}

/* sim_port_send() without its checks; @delay is the link's, or that of control frames. */
static inline void engine_send(struct engine_thread *et, struct sim_port *port,
			       const struct sim_pkt *pkt, ps_t start, ps_t delay)
{
	const ps_t end = start + sim_port_tx_time(port, pkt->bytes);
	const uint16_t number = (uint16_t)port->sent_count++;

	port->free_at = end;
	port->sent_bytes += pkt->bytes;
	port->sent_packets++;
	if (unlikely(port->hooked))
		sim_engine_send_hooked(et, port, pkt, start, end + delay);
	else
		engine_deliver(et, port->peer_slot, pkt, port->peer_port, number, end + delay);
}

#endif
