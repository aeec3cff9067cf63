/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/builtin.h"
#include "gpu/cuda/internal.h"

#include <string.h>

/* Those that compute with floats: each product and each sum is rounded, as IEEE 754 has it, so that
 * they are the same everywhere. Nothing is decided by them. */

/* to[i] += factor * from[i] */
static void add(struct vb_launch *launch, uint64_t at, uint64_t other, float factor, uint64_t count)
{
	float to[BUILTIN_PIECE / 4], from[BUILTIN_PIECE / 4];
	uint64_t left = 4 * builtin_words(launch, count);

	for (uint64_t bytes; left > 0; left -= bytes, at += bytes, other += bytes) {
		bytes = left < BUILTIN_PIECE ? left : (uint64_t)BUILTIN_PIECE;
		if (vb_kernel_read(launch, to, at, bytes) != 0 ||
		    vb_kernel_read(launch, from, other, bytes) != 0)
			return;
		for (uint64_t i = 0; i < bytes / 4; i++) {
			const float product = factor * from[i];

			to[i] += product;
		}
		if (vb_kernel_write(launch, at, to, bytes) != 0)
			return;
	}
}

static void axpy(struct vb_launch *launch)
{
	float factor;

	if (!builtin_has(launch, 4))
		return;
	memcpy(&factor, launch->args[2], sizeof(factor));
	add(launch, builtin_u64(launch, 0), builtin_u64(launch, 1), factor, builtin_u64(launch, 3));
}

static void reduce(struct vb_launch *launch)
{
	if (builtin_has(launch, 3))
		add(launch, builtin_u64(launch, 0), builtin_u64(launch, 1), 1,
		    builtin_u64(launch, 2));
}

vb_kernel_fn *cuda_builtin_float(const char *name)
{
	if (strcmp(name, "vb_axpy") == 0)
		return axpy;
	return strcmp(name, "vb_reduce_f32") == 0 ? reduce : NULL;
}
