/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_OVERLAY_H
#define GPU_OVERLAY_H

/* What a kernel has written and nobody but itself can see yet: bytes in pages that lie over memory
 * until they are laid down, all at once. One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct overlay_page;
struct overlay {
	struct overlay_page **slots; /* by the page; a power of two of them, or none */
	size_t slot_count, count;
};

/* @bytes at @at are those of @from. -ENOMEM. */
int overlay_write(struct overlay *overlay, uint8_t *at, const void *from, size_t bytes);
/* What @at has with them. */
void overlay_read(const struct overlay *overlay, void *to, const uint8_t *at, size_t bytes);
/* They are in memory, and it is empty. */
void overlay_lay_down(struct overlay *overlay);
/* It is empty, and they are lost. Zeroed: allowed. */
void overlay_fini(struct overlay *overlay);

#endif
