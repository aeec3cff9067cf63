/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_BUILTIN_H
#define CUDA_BUILTIN_H

/* What the kernels that are built in share. */
#include "include/verbena/cuda_kernel.h"

#include <stdbool.h>

enum { BUILTIN_PIECE = 4096 }; /* bytes that they have at a time */

uint64_t builtin_u64(const struct vb_launch *launch, unsigned int nth);
/* False: it was given another number of arguments, and has failed. */
bool builtin_has(struct vb_launch *launch, unsigned int count);
/* @count, or 0 where the bytes of so many words are too many: it has failed. */
uint64_t builtin_words(struct vb_launch *launch, uint64_t count);

#endif
