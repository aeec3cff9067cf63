/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/verbs/ring.h"

#include "transport/verbs/cursor.h"

static bool pass_event(struct vrb_cursor c, struct vrb_event *event)
{
	vrb_pass_u64(&c, &event->object);
	vrb_pass_u32(&c, &event->kind);
	vrb_pass_u32(&c, &event->value);
	return !c.is_bad;
}

bool vrb_ring_put(struct vrb_ring *ring, const struct vrb_event *event)
{
	uint8_t *bytes = ring->events[ring->put % VRB_RING_EVENTS];
	struct vrb_event copy = *event;

	if (ring->put - __atomic_load_n(&ring->taken, __ATOMIC_ACQUIRE) >= VRB_RING_EVENTS)
		return false;
	(void)pass_event(vrb_cursor_emit(bytes, VRB_EVENT_BYTES), &copy);
	__atomic_store_n(&ring->put, ring->put + 1, __ATOMIC_RELEASE);
	return true;
}

bool vrb_ring_take(struct vrb_ring *ring, struct vrb_event *ret_event)
{
	const uint32_t put = __atomic_load_n(&ring->put, __ATOMIC_ACQUIRE);
	uint8_t *bytes = ring->events[ring->taken % VRB_RING_EVENTS];

	if (put == ring->taken)
		return false;
	(void)pass_event(vrb_cursor_parse(bytes, VRB_EVENT_BYTES), ret_event);
	__atomic_store_n(&ring->taken, ring->taken + 1, __ATOMIC_RELEASE);
	return true;
}
