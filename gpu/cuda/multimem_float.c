/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/multimem.h"

#include <string.h>

void cuda_multimem_add_f32(void *to, const void *other, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof(float)) {
		float a, b;

		memcpy(&a, (const uint8_t *)to + at, sizeof(a));
		memcpy(&b, (const uint8_t *)other + at, sizeof(b));
		a += b;
		memcpy((uint8_t *)to + at, &a, sizeof(a));
	}
}

void cuda_multimem_add_f64(void *to, const void *other, uint64_t bytes)
{
	for (uint64_t at = 0; at < bytes; at += sizeof(double)) {
		double a, b;

		memcpy(&a, (const uint8_t *)to + at, sizeof(a));
		memcpy(&b, (const uint8_t *)other + at, sizeof(b));
		a += b;
		memcpy((uint8_t *)to + at, &a, sizeof(a));
	}
}
