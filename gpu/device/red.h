/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_RED_H
#define GPU_RED_H

/* What a step of a kernel adds to memory, all at once, when it ends. One caller at a time. */
#include <stddef.h>
#include <stdint.h>

/* What is made of two values each: @to is from now on both, of @bytes in all. */
typedef void gpu_combine(void *to, const void *other, uint64_t bytes);

struct gpu_red;
struct gpu_reds { /* zeroed: none */
	struct gpu_red **all;
	size_t count, room;
};

/* @bytes at @at are combined with those of @from. -ENOMEM. */
int gpu_reds_add(struct gpu_reds *reds, uint8_t *at, const void *from, uint64_t bytes,
		 gpu_combine *combine);
/* They are, and there are none any more. */
void gpu_reds_apply(struct gpu_reds *reds);
/* They are lost. */
void gpu_reds_fini(struct gpu_reds *reds);

#endif
