/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_MULTIMEM_H
#define CUDA_MULTIMEM_H

/* As gpu_combine: sums of floats, each rounded as IEEE 754 has it, so that they are the same
 * everywhere. Nothing is decided by them. */
#include <stdint.h>

void cuda_multimem_add_f32(void *to, const void *other, uint64_t bytes);
void cuda_multimem_add_f64(void *to, const void *other, uint64_t bytes);

#endif
