/* SPDX-License-Identifier: BSD-2-Clause */
#include "util/alloc.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

static _Thread_local unsigned fail_after; /* of tests only: one thread */

static bool fails(void)
{
	return fail_after > 0 && --fail_after == 0;
}

void *util_alloc(size_t bytes)
{
	return fails() ? NULL : malloc(bytes ? bytes : 1);
}

void *util_calloc(size_t count, size_t bytes)
{
	size_t size;
	void *ptr;

	if (fails() || __builtin_mul_overflow(count, bytes, &size) || size > SIZE_MAX - CACHE_LINE)
		return NULL;
	if (size < CACHE_LINE)
		return calloc(1, size ? size : 1);
	return posix_memalign(&ptr, CACHE_LINE, size) == 0 ? memset(ptr, 0, size) : NULL;
}

void *util_zalloc(size_t bytes)
{
	return fails() ? NULL : calloc(1, bytes ? bytes : 1);
}

void *util_realloc(void *ptr, size_t count, size_t bytes)
{
	if (fails() || (bytes && count > SIZE_MAX / bytes))
		return NULL;
	return realloc(ptr, count > 0 && bytes > 0 ? count * bytes : 1);
}

void util_free(void *ptr)
{
	free(ptr);
}

void util_alloc_fail_after(unsigned count)
{
	fail_after = count;
}
