/* SPDX-License-Identifier: BSD-2-Clause */
#include "transport/hca/internal.h"
#include "util/alloc.h"

#include <errno.h>

int hca_heap_reserve(struct hca_heap *heap, uint32_t capacity)
{
	struct hca_heap_entry *entries;
	uint32_t larger = heap->capacity * 2 > capacity ? heap->capacity * 2 : capacity;

	if (capacity <= heap->capacity)
		return 0;
	entries = util_realloc(heap->entries, (size_t)larger + 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	heap->entries = entries;
	heap->capacity = larger;
	return 0;
}

void hca_heap_fini(struct hca_heap *heap)
{
	util_free(heap->entries);
}

/* What one instant's alarms are ordered by: no QP is always first. The last step is a bijection of
 * the QPN, so that no two are equal. */
static uint64_t tie_mix(const struct hca_heap *heap, const struct hca_alarm *alarm)
{
	uint64_t x = (heap->key ^ alarm->at) * 0x9e3779b97f4a7c15u;

	x ^= x >> 32;
	x = (x + alarm->qpn) * 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	return x * 0xd6e8feb86659fd93u;
}

static bool is_before(const struct hca_heap *heap, struct hca_heap_entry a, struct hca_heap_entry b)
{
	if (a.at != b.at)
		return a.at < b.at;
	if (a.alarm->qpn != b.alarm->qpn)
		return tie_mix(heap, a.alarm) < tie_mix(heap, b.alarm);
	return a.alarm < b.alarm; /* of one QP: by kind, in whose order they stand */
}

static void hca_heap_put(struct hca_heap *heap, uint32_t place, struct hca_heap_entry entry)
{
	heap->entries[place] = entry;
	entry.alarm->place = place;
}

static void hca_heap_sift_up(struct hca_heap *heap, uint32_t place, struct hca_heap_entry entry)
{
	for (; place > 1 && is_before(heap, entry, heap->entries[place / 2]); place /= 2)
		hca_heap_put(heap, place, heap->entries[place / 2]);
	hca_heap_put(heap, place, entry);
}

static void sift_down(struct hca_heap *heap, uint32_t place, struct hca_heap_entry entry)
{
	for (uint32_t child; (child = place * 2) <= heap->count; place = child) {
		if (child < heap->count &&
		    is_before(heap, heap->entries[child + 1], heap->entries[child]))
			child++;
		if (!is_before(heap, heap->entries[child], entry))
			break;
		hca_heap_put(heap, place, heap->entries[child]);
	}
	hca_heap_put(heap, place, entry);
}

void hca_heap_set(struct hca_heap *heap, struct hca_alarm *alarm, ps_t at)
{
	const struct hca_heap_entry entry = {at, alarm};
	uint32_t place = alarm->place;

	CHECK(at != PS_NEVER);
	if (!place) {
		CHECK(heap->count < heap->capacity);
		place = ++heap->count;
	}
	alarm->at = at;
	if (place > 1 && is_before(heap, entry, heap->entries[place / 2]))
		hca_heap_sift_up(heap, place, entry);
	else
		sift_down(heap, place, entry);
}

void hca_heap_remove(struct hca_heap *heap, struct hca_alarm *alarm)
{
	uint32_t place = alarm->place;
	struct hca_heap_entry last;

	if (!place)
		return;
	alarm->place = 0;
	last = heap->entries[heap->count--];
	if (last.alarm == alarm)
		return;
	if (place > 1 && is_before(heap, last, heap->entries[place / 2]))
		hca_heap_sift_up(heap, place, last);
	else
		sift_down(heap, place, last);
}

/* The order of what is due at one instant depends on the instant: the heap is made anew. */
void hca_heap_move(struct hca_heap *heap, ps_t by)
{
	for (uint32_t i = 1; i <= heap->count; i++)
		heap->entries[i].at = heap->entries[i].alarm->at -= by;
	for (uint32_t i = heap->count; i >= 1; i--)
		sift_down(heap, i, heap->entries[i]);
}
