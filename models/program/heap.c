/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/heap.h"

#include "util/check.h"

#include <string.h>
#include <sys/mman.h>

/* What the system is asked for at once, and the pages of no machine are larger than GRAIN. Blocks
 * from LARGE on give their memory back to the system as soon as they are free. */
enum { STEP = 1 << 20, GRAIN = 1 << 16, LARGE = 1 << 18, SMALL_UNITS = 8 };

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0 /* then the address is a wish, and what comes of it is looked at */
#endif

/* In front of the bytes of a block in use. */
struct head {
	uint64_t seal; /* of place, size and state: nothing else looks like it */
	uint32_t class;
	uint32_t offset; /* of this from the start of the block */
};

/* At the start of a free block. */
struct heap_free {
	uint64_t seal;
	struct heap_free *next;
};

_Static_assert(sizeof(struct head) == HEAP_ALIGN, "what follows is aligned");

static const uint64_t in_use = 0x6a09e667f3bcc908u, is_free = 0xbb67ae8584caa73bu;

static uint64_t seal_of(const void *place, uint64_t state, uint64_t what)
{
	uint64_t x = ((uintptr_t)place ^ state) * 0x9e3779b97f4a7c15u;

	x = (x ^ x >> 29 ^ what) * 0xd6e8feb86659fd93u;
	return x ^ x >> 32;
}

/* ---- sizes ---- */

static uint32_t program_heap_class_of(size_t bytes)
{
	const uint64_t units = (bytes + HEAP_ALIGN - 1) / HEAP_ALIGN;
	uint32_t doubling;

	if (units <= SMALL_UNITS)
		return (uint32_t)units;
	doubling = 63u - (uint32_t)__builtin_clzll(units - 1); /* 3 at least */
	return SMALL_UNITS + 1 + (doubling - 3) * 4 + (uint32_t)((units - 1) >> (doubling - 2)) - 4;
}

static size_t class_bytes(uint32_t class)
{
	const uint32_t step = class - SMALL_UNITS - 1;

	if (class <= SMALL_UNITS)
		return (size_t) class * HEAP_ALIGN;
	return ((size_t)(5 + step % 4) << (step / 4 + 1)) * HEAP_ALIGN;
}

/* ---- memory ---- */

static bool program_heap_grow(struct heap *heap, size_t bytes)
{
	const size_t missing = bytes - (size_t)(heap->mapped - heap->top);
	const size_t room = (size_t)(heap->end - heap->mapped);
	size_t more = (missing + STEP - 1) / STEP * STEP;
	void *got;

	if (missing > room)
		return false;
	more = more < room ? more : room;
	got = mmap(heap->mapped, more, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	if (got != MAP_FAILED && got != heap->mapped)
		munmap(got, more);
	if (got != heap->mapped)
		return false;
	heap->mapped += more;
	return true;
}

void heap_init(struct heap *heap, void *base, size_t bytes)
{
	CHECK((uintptr_t)base % GRAIN == 0 && bytes % GRAIN == 0);
	*heap = (struct heap){.base = base, .top = base, .mapped = base};
	heap->end = heap->base + bytes;
}

void heap_fini(struct heap *heap)
{
	if (heap->mapped != heap->base)
		munmap(heap->base, (size_t)(heap->mapped - heap->base));
	*heap = (struct heap){.base = NULL};
}

/* Whole grains inside of it, so that pages of every size leave the same bytes. */
static void program_heap_give_back(uint8_t *block, size_t bytes)
{
	const uintptr_t start = ((uintptr_t)block + sizeof(struct heap_free) + GRAIN - 1) / GRAIN;
	const uintptr_t end = ((uintptr_t)block + bytes) / GRAIN;

	if (bytes >= LARGE)
		madvise((void *)(start * GRAIN), (end - start) * GRAIN, MADV_DONTNEED);
}

/* ---- blocks ---- */

static struct head *head_of(const void *ptr)
{
	return (struct head *)((uintptr_t)ptr - sizeof(struct head));
}

static uint64_t seal_of_head(const struct head *head)
{
	return seal_of(head, in_use, (uint64_t)head->class << 32 | head->offset);
}

static uint8_t *program_heap_take(struct heap *heap, uint32_t class, bool *ret_fresh)
{
	struct heap_free *first = heap->free[class];
	const size_t bytes = class_bytes(class);
	uint8_t *block = heap->top;

	*ret_fresh = !first;
	if (first) {
		CHECK(first->seal == seal_of(first, is_free, class)); /* written after free() */
		heap->free[class] = first->next;
		return (uint8_t *)first;
	}
	if (bytes > (size_t)(heap->mapped - heap->top) && !program_heap_grow(heap, bytes))
		return NULL;
	heap->top += bytes;
	return block;
}

void *heap_alloc(struct heap *heap, size_t bytes, size_t align, bool zero)
{
	const size_t slack = align > HEAP_ALIGN ? align - HEAP_ALIGN : 0;
	struct head *head;
	uint32_t class;
	uintptr_t place;
	uint8_t *block;
	bool is_fresh;

	/* An offset is a number of 32 bits. */
	if (bytes > SIZE_MAX / 4 || slack > UINT32_MAX / 2 ||
	    bytes + slack > (size_t)(heap->end - heap->base))
		return NULL;
	class = program_heap_class_of(sizeof(*head) + (bytes ? bytes : 1) + slack);
	block = class < HEAP_CLASSES ? program_heap_take(heap, class, &is_fresh) : NULL;
	if (!block)
		return NULL;
	place = (uintptr_t)block + sizeof(*head);
	if (slack > 0)
		place = (place + align - 1) & ~((uintptr_t)align - 1);
	if (zero && !is_fresh)
		memset((void *)place, 0, bytes);
	head = head_of((void *)place);
	head->class = class;
	head->offset = (uint32_t)((uintptr_t)head - (uintptr_t)block);
	head->seal = seal_of_head(head);
	return (void *)place;
}

size_t heap_size(const struct heap *heap, const void *ptr)
{
	const uint8_t *at = ptr;
	const struct head *head = head_of(ptr);

	if ((uintptr_t)ptr % HEAP_ALIGN != 0 || at < heap->base + sizeof(*head) ||
	    at >= heap->top || head->seal != seal_of_head(head))
		return 0;
	return class_bytes(head->class) - sizeof(*head) - head->offset;
}

bool heap_free(struct heap *heap, void *ptr)
{
	struct head *head = head_of(ptr);
	struct heap_free *block;
	uint32_t class;

	if (heap_size(heap, ptr) == 0)
		return false;
	block = (struct heap_free *)((uintptr_t)head - head->offset);
	class = head->class;
	head->seal = 0;
	program_heap_give_back((uint8_t *)block, class_bytes(class));
	block->next = heap->free[class];
	block->seal = seal_of(block, is_free, class);
	heap->free[class] = block;
	return true;
}
