/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/space.h"

#include "util/check.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0 /* then the address is a wish, and what comes of it is looked at */
#endif

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SPACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) ||                         \
	__has_feature(memory_sanitizer)
#define SPACE_SANITIZED 1
#endif
#endif
#ifndef SPACE_SANITIZED
#define SPACE_SANITIZED 0
#endif

/* A guard is a page of any machine. */
#define GUARD ((size_t)1 << 16)
#define MOST ((size_t)1 << 36)
#define LEAST ((size_t)1 << 25)

bool space_is_supported(void)
{
	return !SPACE_SANITIZED;
}

size_t space_bytes(uint32_t count)
{
	size_t bytes = MOST;

	while (bytes >= LEAST && bytes > SPACE_BYTES / (count ? count : 1))
		bytes /= 2;
	return bytes >= LEAST ? bytes : 0;
}

int space_open(struct space *space, uint32_t number, uint32_t count, size_t stack_bytes)
{
	const size_t bytes = space_bytes(count);
	uint8_t *start, *got;

	*space = (struct space){.number = number};
	if (!space_is_supported())
		return -ENOTSUP;
	if (bytes == 0)
		return -ENOSPC;
	CHECK(number < count && stack_bytes + GUARD <= bytes / 16);
	start = (uint8_t *)(SPACE_BASE + number * bytes);
	got = mmap(start, GUARD + stack_bytes, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK | MAP_FIXED_NOREPLACE,
		   -1, 0);
	if (got == MAP_FAILED)
		return errno == EEXIST ? -EEXIST : -ENOMEM;
	space->start = got;
	space->stack = got + GUARD;
	space->stack_bytes = stack_bytes;
	if (got != start || mprotect(got, GUARD, PROT_NONE) != 0) {
		space_close(space);
		return got != start ? -EEXIST : -ENOMEM;
	}
	heap_init(&space->heap, start + bytes / 16, bytes / 2 - bytes / 16);
	maps_init(&space->maps, (uintptr_t)start + bytes / 2, bytes / 2);
	return 0;
}

void space_close(struct space *space)
{
	if (!space->start)
		return;
	for (size_t i = 0; i < space->maps.count; i++)
		munmap((void *)space->maps.taken[i].start,
		       space->maps.taken[i].end - space->maps.taken[i].start);
	maps_fini(&space->maps);
	heap_fini(&space->heap);
	munmap(space->start, GUARD + space->stack_bytes);
	*space = (struct space){.start = NULL};
}
