/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/builtin.h"

#include "gpu/cuda/internal.h"

#include <string.h>

/* Kernels that nobody has to register: cuda_kernel.h says what they do. */

uint64_t builtin_u64(const struct vb_launch *launch, unsigned int nth)
{
	uint64_t value;

	memcpy(&value, launch->args[nth], sizeof(value));
	return value;
}

static uint32_t builtin_u32(const struct vb_launch *launch, unsigned int nth)
{
	uint32_t value;

	memcpy(&value, launch->args[nth], sizeof(value));
	return value;
}

bool builtin_has(struct vb_launch *launch, unsigned int count)
{
	if (launch->arg_count == count)
		return true;
	vb_kernel_trap(launch);
	return false;
}

uint64_t builtin_words(struct vb_launch *launch, uint64_t count)
{
	if (count > UINT64_MAX / 4)
		vb_kernel_trap(launch);
	return count > UINT64_MAX / 4 ? 0 : count;
}

static void fill(struct vb_launch *launch)
{
	uint32_t words[BUILTIN_PIECE / 4];
	uint64_t to, left;

	if (!builtin_has(launch, 3))
		return;
	to = builtin_u64(launch, 0);
	for (int i = 0; i < BUILTIN_PIECE / 4; i++)
		words[i] = builtin_u32(launch, 1);
	left = 4 * builtin_words(launch, builtin_u64(launch, 2));
	for (uint64_t bytes; left > 0; left -= bytes, to += bytes) {
		bytes = left < BUILTIN_PIECE ? left : (uint64_t)BUILTIN_PIECE;
		if (vb_kernel_write(launch, to, words, bytes) != 0)
			return;
	}
}

/* In pieces of which one is read before the next is written. */
static void copy(struct vb_launch *launch)
{
	uint8_t piece[BUILTIN_PIECE];
	uint64_t to, from, left;

	if (!builtin_has(launch, 3))
		return;
	to = builtin_u64(launch, 0);
	from = builtin_u64(launch, 1);
	left = builtin_u64(launch, 2);
	for (uint64_t bytes; left > 0; left -= bytes, to += bytes, from += bytes) {
		bytes = left < BUILTIN_PIECE ? left : (uint64_t)BUILTIN_PIECE;
		if (vb_kernel_read(launch, piece, from, bytes) != 0 ||
		    vb_kernel_write(launch, to, piece, bytes) != 0)
			return;
	}
}

static void reduce(struct vb_launch *launch)
{
	uint32_t to[BUILTIN_PIECE / 4], from[BUILTIN_PIECE / 4];
	uint64_t at, other, left;

	if (!builtin_has(launch, 3))
		return;
	at = builtin_u64(launch, 0);
	other = builtin_u64(launch, 1);
	left = 4 * builtin_words(launch, builtin_u64(launch, 2));
	for (uint64_t bytes; left > 0; left -= bytes, at += bytes, other += bytes) {
		bytes = left < BUILTIN_PIECE ? left : (uint64_t)BUILTIN_PIECE;
		if (vb_kernel_read(launch, to, at, bytes) != 0 ||
		    vb_kernel_read(launch, from, other, bytes) != 0)
			return;
		for (uint64_t i = 0; i < bytes / 4; i++)
			to[i] += from[i];
		if (vb_kernel_write(launch, at, to, bytes) != 0)
			return;
	}
}

static void compare(struct vb_launch *launch)
{
	uint8_t a[BUILTIN_PIECE], b[BUILTIN_PIECE];
	uint64_t at, other, left, differ = 0;

	if (!builtin_has(launch, 4))
		return;
	at = builtin_u64(launch, 0);
	other = builtin_u64(launch, 1);
	left = builtin_u64(launch, 2);
	for (uint64_t bytes; left > 0; left -= bytes, at += bytes, other += bytes) {
		bytes = left < BUILTIN_PIECE ? left : (uint64_t)BUILTIN_PIECE;
		if (vb_kernel_read(launch, a, at, bytes) != 0 ||
		    vb_kernel_read(launch, b, other, bytes) != 0)
			return;
		for (uint64_t i = 0; i < bytes; i++)
			differ += a[i] != b[i];
	}
	(void)vb_kernel_write(launch, builtin_u64(launch, 3), &differ, sizeof(differ));
}

/* ---- flags ---- */

static void flag_set(struct vb_launch *launch)
{
	const uint32_t value = builtin_has(launch, 2) ? builtin_u32(launch, 1) : 0;

	if (launch->arg_count == 2)
		(void)vb_kernel_write(launch, builtin_u64(launch, 0), &value, sizeof(value));
}

static void flag_wait(struct vb_launch *launch)
{
	if (builtin_has(launch, 2) && launch->step == 0)
		(void)vb_kernel_wait(launch, builtin_u64(launch, 0), builtin_u32(launch, 1));
}

/* What a step writes is there before the next poll begins. */
static void flag_echo(struct vb_launch *launch)
{
	const uint32_t seen = launch->step;

	if (!builtin_has(launch, 3))
		return;
	if (seen > 0)
		(void)vb_kernel_write(launch, builtin_u64(launch, 1), &seen, sizeof(seen));
	if (seen < builtin_u32(launch, 2))
		(void)vb_kernel_wait(launch, builtin_u64(launch, 0), seen + 1);
}

vb_kernel_fn *cuda_builtin(const char *name)
{
	static const struct {
		const char *name;
		vb_kernel_fn *fn;
	} known[] = {
		{"vb_fill", fill},	     {"vb_copy", copy},		{"vb_reduce_u32", reduce},
		{"vb_compare", compare},     {"vb_flag_set", flag_set}, {"vb_flag_wait", flag_wait},
		{"vb_flag_echo", flag_echo},
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (strcmp(known[i].name, name) == 0)
			return known[i].fn;
	return NULL;
}
