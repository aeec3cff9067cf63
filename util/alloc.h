/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef UTIL_ALLOC_H
#define UTIL_ALLOC_H

/* Memory for objects that are created and destroyed; never called on the packet path. */
#include <stddef.h>

void *util_alloc(size_t bytes); /* NULL: no memory */
/* What is as large as a cache line or larger begins at one, until util_realloc() moves it. */
void *util_calloc(size_t count, size_t bytes);
void *util_zalloc(size_t bytes); /* all zero, and no more aligned than malloc has it; NULL */
/* Keeps the contents; NULL: no memory, @ptr is as it was. */
void *util_realloc(void *ptr, size_t count, size_t bytes);
void util_free(void *ptr); /* NULL allowed */

/* For tests: the @count-th allocation from now fails (1: the next), 0: none does. */
void util_alloc_fail_after(unsigned count);

#endif
