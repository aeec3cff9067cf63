/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/nic/shm_ring.h"

#include "transport/wire/bth.h"
#include "util/check.h"

#include <stdatomic.h>
#include <string.h>

enum { LINE_BYTES = 64, WHOLE = 0, LENT = 0x80 };
_Static_assert((int)WIRE_HEADERS_MAX < (int)LENT, "a bit of its own");

/* The first line of a place; the payload is in its room. */
struct head {
	/* Number of the packet plus one, the last that is written: nothing is read before it is
	 * right, and there is no other index of this end's to believe. */
	_Atomic uint32_t number;
	uint16_t length;
	uint8_t header_bytes; /* WHOLE: a datagram; | LENT: in the room is an address */
	uint8_t traffic_class;
	uint8_t headers[WIRE_HEADERS_MAX];
	_Atomic uint32_t revoked; /* where LENT */
};

struct nic_ring_shared {
	_Alignas(LINE_BYTES) _Atomic uint32_t taken;  /* how many packets, written by who takes */
	_Alignas(LINE_BYTES) _Atomic uint32_t sleeps; /* on a line that mostly nobody writes */
	_Alignas(LINE_BYTES) struct head heads[NIC_RING_PLACES];
	_Alignas(LINE_BYTES) uint8_t rooms[NIC_RING_PLACES][NIC_RING_ROOM];
};

_Static_assert(sizeof(struct head) == LINE_BYTES, "one line");
_Static_assert((int)NIC_RING_ROOM % (int)LINE_BYTES == 0, "whole lines");

size_t nic_ring_bytes(void)
{
	return sizeof(struct nic_ring_shared);
}

void nic_ring_init(struct nic_ring *ring, void *memory)
{
	*ring = (struct nic_ring){.shared = memory};
}

static struct head *ring_head(const struct nic_ring *ring)
{
	return &ring->shared->heads[ring->next % NIC_RING_PLACES];
}

static uint8_t *ring_room(const struct nic_ring *ring)
{
	return ring->shared->rooms[ring->next % NIC_RING_PLACES];
}

/* Of @length bytes. */
static uint32_t places_of(uint32_t length)
{
	return length <= NIC_RING_ROOM ? 1 : (length + NIC_RING_ROOM - 1) / NIC_RING_ROOM;
}

static uint32_t free_places(const struct nic_ring *ring)
{
	return NIC_RING_PLACES - (ring->next - ring->freed);
}

static uint32_t read_taken(const struct nic_ring *ring)
{
	return atomic_load_explicit(&ring->shared->taken, memory_order_acquire);
}

uint8_t *nic_ring_room(struct nic_ring *ring)
{
	if (ring->is_bad)
		return NULL;
	if (free_places(ring) == 0) {
		const uint32_t taken = read_taken(ring);

		if (ring->next - taken > NIC_RING_PLACES) {
			ring->is_bad = true; /* more than were sent, or fewer than before */
			return NULL;
		}
		ring->freed = taken;
		if (free_places(ring) == 0)
			return NULL;
	}
	/* The other end has read it last: it comes here while the payload is copied. */
	__builtin_prefetch(ring_head(ring), 1);
	return ring_room(ring);
}

uint32_t nic_ring_run(struct nic_ring *ring)
{
	const uint32_t straight = NIC_RING_PLACES - ring->next % NIC_RING_PLACES;
	uint32_t places;

	/* Only what adds to the places: nic_ring_room() has given one, and that stands. */
	if (free_places(ring) < NIC_RING_RUN_PLACES) {
		const uint32_t taken = read_taken(ring);

		if (ring->next - taken < ring->next - ring->freed)
			ring->freed = taken;
	}
	places = free_places(ring) < straight ? free_places(ring) : straight;
	return places < NIC_RING_RUN_PLACES ? places * NIC_RING_ROOM : NIC_RING_RUN;
}

/* Everything else is written, in @places places. */
static void ring_hand_over(struct nic_ring *ring, struct head *head, uint32_t places)
{
	const uint32_t number = ring->next + 1;

	ring->next += places;
	atomic_store_explicit(&head->number, number, memory_order_release);
}

static void put_loan(struct nic_ring *ring, struct head *head, const struct wire_pkt *pkt)
{
	head->header_bytes |= LENT;
	atomic_store_explicit(&head->revoked, 0, memory_order_relaxed);
	memcpy(ring_room(ring), &pkt->address, sizeof(pkt->address));
}

void nic_ring_put(struct nic_ring *ring, const struct wire_pkt *pkt, uint8_t traffic_class)
{
	const uint32_t places = pkt->apart ? 1 : places_of(pkt->length);
	struct head *head = ring_head(ring);
	uint8_t *room = ring_room(ring);

	CHECK(ring->next - ring->freed + places <= NIC_RING_PLACES);
	CHECK(ring->next % NIC_RING_PLACES + places <= NIC_RING_PLACES);
	head->header_bytes =
		(uint8_t)wire_bth_emit_headers(pkt, head->headers, sizeof(head->headers));
	CHECK(head->header_bytes != WHOLE);
	head->length = pkt->length;
	head->traffic_class = traffic_class;
	if (pkt->apart)
		put_loan(ring, head, pkt);
	else if (pkt->synthetic)
		wire_pattern_bytes(pkt->pattern, room, pkt->length);
	else if (pkt->length > 0 && pkt->payload != room)
		memcpy(room, pkt->payload, pkt->length);
	ring_hand_over(ring, head, places);
}

/* A fence: what the sender's program writes from now on comes behind it, so that who has read some
 * of that finds it. */
void nic_ring_revoke(struct nic_ring *ring, uint32_t number)
{
	CHECK(ring->next - number - 1 < NIC_RING_PLACES);
	(void)atomic_exchange(&ring->shared->heads[number % NIC_RING_PLACES].revoked, 1);
}

void nic_ring_put_whole(struct nic_ring *ring, const uint8_t *bytes, uint32_t length,
			uint8_t traffic_class)
{
	struct head *head = ring_head(ring);

	CHECK(ring->next - ring->freed < NIC_RING_PLACES);
	CHECK(length <= NIC_RING_ROOM);
	head->header_bytes = WHOLE;
	head->length = (uint16_t)length;
	head->traffic_class = traffic_class;
	memcpy(ring_room(ring), bytes, length);
	ring_hand_over(ring, head, 1);
}

/* The exchange, and that in nic_ring_sleep(), are fences: either this end sees that the other
 * sleeps, or the other sees the packet. */
bool nic_ring_wakes(struct nic_ring *ring)
{
	return atomic_fetch_and(&ring->shared->sleeps, 0) != 0;
}

bool nic_ring_has(const struct nic_ring *ring)
{
	return !ring->is_bad && atomic_load_explicit(&ring_head(ring)->number,
						     memory_order_acquire) == ring->next + 1;
}

/* Whether the head's copy says what can be. */
static bool is_possible(const struct nic_ring *ring, const struct nic_ring_got *got)
{
	const uint32_t straight = NIC_RING_PLACES - ring->next % NIC_RING_PLACES;

	if (got->is_whole)
		return got->length <= NIC_RING_ROOM;
	return got->header_bytes <= WIRE_HEADERS_MAX && got->length <= NIC_RING_RUN &&
	       ring->at_hand <= straight;
}

bool nic_ring_get(struct nic_ring *ring, struct nic_ring_got *ret_got)
{
	struct head *head;
	uint8_t copy[sizeof(struct head) - offsetof(struct head, length)];
	uint16_t length;

	if (!nic_ring_has(ring))
		return false;
	head = ring_head(ring);
	memcpy(copy, &head->length, sizeof(copy));
	memcpy(&length, copy, sizeof(length));
	ret_got->length = length;
	ret_got->header_bytes = copy[2] & ~(uint32_t)LENT;
	ret_got->is_lent = (copy[2] & LENT) != 0;
	ret_got->traffic_class = copy[3];
	ret_got->is_whole = copy[2] == WHOLE;
	ret_got->bytes = ring_room(ring);
	if (ret_got->is_lent)
		memcpy(&ret_got->address, ret_got->bytes, sizeof(ret_got->address));
	memcpy(ret_got->headers, copy + 4, sizeof(ret_got->headers));
	ring->at_hand = ret_got->is_lent ? 1 : places_of(length);
	ring->is_bad = !is_possible(ring, ret_got);
	return !ring->is_bad;
}

bool nic_ring_peek_loan(const struct nic_ring *ring, uint32_t place, struct nic_ring_loan *ret_loan)
{
	const uint32_t number = ring->next + place;
	const struct head *head = &ring->shared->heads[number % NIC_RING_PLACES];
	uint8_t copy[4 + 8];
	uint16_t length;

	if (atomic_load_explicit(&head->number, memory_order_acquire) != number + 1)
		return false;
	memcpy(copy, &head->length, sizeof(copy));
	memcpy(&length, copy, sizeof(length));
	memcpy(&ret_loan->address, ring->shared->rooms[number % NIC_RING_PLACES],
	       sizeof(ret_loan->address));
	ret_loan->length = length;
	/* IBTA 9.2: the opcode is the first byte of a BTH, its queue pair the sixth to eighth. */
	ret_loan->opcode = copy[4];
	ret_loan->dest_qpn = (uint32_t)copy[9] << 16 | (uint32_t)copy[10] << 8 | copy[11];
	return (copy[2] & LENT) != 0;
}

bool nic_ring_is_revoked(const struct nic_ring *ring)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load(&ring_head(ring)->revoked) != 0;
}

void nic_ring_release(struct nic_ring *ring)
{
	ring->next += ring->at_hand;
	atomic_store_explicit(&ring->shared->taken, ring->next, memory_order_release);
}

void nic_ring_sleep(struct nic_ring *ring, bool sleeps)
{
	(void)atomic_exchange(&ring->shared->sleeps, sleeps);
}

bool nic_ring_parse(struct nic_ring_got *got, struct wire_pkt *ret_pkt)
{
	const uint32_t padded = (got->length + 3u) & ~3u;
	const bool is_long = got->length > WIRE_MTU_MAX;

	CHECK(!got->is_whole);
	/* It looks at the headers alone, all of which are there. Both lengths are as they should be
	 * or the payload's would be another one: the pad makes up for no whole word. What is longer
	 * than a packet may be a run, of which its receiver has to judge. */
	if (!wire_bth_parse(ret_pkt, got->headers,
			    got->header_bytes + (is_long ? (uint32_t)WIRE_MTU_MAX : padded)) ||
	    ret_pkt->length != (is_long ? (uint32_t)WIRE_MTU_MAX : got->length))
		return false;
	ret_pkt->length = (uint16_t)got->length;
	ret_pkt->apart = got->is_lent;
	if (got->is_lent)
		ret_pkt->address = got->address;
	else if (ret_pkt->length > 0)
		ret_pkt->payload = got->bytes;
	return true;
}
