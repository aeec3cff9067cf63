/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_RING_H
#define VERBS_RING_H

/* Events on their way up from an adapter to the front. The ring is a piece of memory that both
 * sides see, one who puts (the adapter, under its own lock) and one who takes (the front, under
 * its own), and holds bytes: neither side finds a pointer of the other in it.
 *
 * A full ring loses nothing: the adapter notes with the object what is still to be told, sets
 * @more, and puts it when the front, having emptied the ring, calls vrb_backend.refill(). While an
 * object has something noted, what happens to it is noted, too, so that nothing overtakes. */
#include <stdbool.h>
#include <stdint.h>

enum vrb_event_kind {
	VRB_EVENT_COMPLETION = 1, /* an armed CQ fired; value: how many times */
	VRB_EVENT_ASYNC,	  /* value: enum ibv_event_type */
};

struct vrb_event {
	/* Of the CQ or QP it is about; of the port: of the channel that is told. */
	uint64_t object;
	uint32_t kind; /* enum vrb_event_kind */
	uint32_t value;
};

enum { VRB_RING_EVENTS = 32, VRB_EVENT_BYTES = 16 };

struct vrb_ring {	/* zeroed: empty */
	uint32_t taken; /* events so far; the front's */
	uint32_t put;	/* events so far; the adapter's */
	uint32_t more;	/* the adapter's: 1 where some found no room */
	uint8_t events[VRB_RING_EVENTS][VRB_EVENT_BYTES];
};

bool vrb_ring_put(struct vrb_ring *ring, const struct vrb_event *event); /* false: full */
bool vrb_ring_take(struct vrb_ring *ring, struct vrb_event *ret_event);	 /* false: empty */

static inline bool vrb_ring_has_more(const struct vrb_ring *ring)
{
	return __atomic_load_n(&ring->more, __ATOMIC_ACQUIRE) != 0;
}

#endif
