/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/multimem.h"

#include "gpu/cuda/kernel.h"
#include "gpu/cuda/multimem.h"

#include <string.h>

/* What kernels do with multicast addresses: which operations on which types there are is what PTX
 * has (ISA 9.7.9.14, multimem.ld_reduce, multimem.red). */

#define COMBINE(name, type, expression)                                                            \
	static void name(void *to, const void *other, uint64_t bytes)                              \
	{                                                                                          \
		for (uint64_t at = 0; at < bytes; at += sizeof(type)) {                            \
			type a, b;                                                                 \
                                                                                                   \
			memcpy(&a, (const uint8_t *)to + at, sizeof(a));                           \
			memcpy(&b, (const uint8_t *)other + at, sizeof(b));                        \
			a = (type)(expression);                                                    \
			memcpy((uint8_t *)to + at, &a, sizeof(a));                                 \
		}                                                                                  \
	}

COMBINE(add_u32, uint32_t, a + b)
COMBINE(add_u64, uint64_t, a + b)
COMBINE(min_u32, uint32_t, a < b ? a : b)
COMBINE(min_s32, int32_t, a < b ? a : b)
COMBINE(min_u64, uint64_t, a < b ? a : b)
COMBINE(min_s64, int64_t, a < b ? a : b)
COMBINE(max_u32, uint32_t, a > b ? a : b)
COMBINE(max_s32, int32_t, a > b ? a : b)
COMBINE(max_u64, uint64_t, a > b ? a : b)
COMBINE(max_s64, int64_t, a > b ? a : b)
COMBINE(and_u32, uint32_t, a &b)
COMBINE(and_u64, uint64_t, a &b)
COMBINE(or_u32, uint32_t, a | b)
COMBINE(or_u64, uint64_t, a | b)
COMBINE(xor_u32, uint32_t, a ^ b)
COMBINE(xor_u64, uint64_t, a ^ b)

static const struct combine {
	uint32_t bytes; /* of one value */
	gpu_combine *with[VB_XOR + 1];
} combines[] = {
	[VB_U32] = {4, {add_u32, min_u32, max_u32, and_u32, or_u32, xor_u32}},
	[VB_S32] = {4, {add_u32, min_s32, max_s32, and_u32, or_u32, xor_u32}},
	[VB_U64] = {8, {add_u64, min_u64, max_u64, and_u64, or_u64, xor_u64}},
	[VB_S64] = {8, {add_u64, min_s64, max_s64, and_u64, or_u64, xor_u64}},
	[VB_F32] = {4, {cuda_multimem_add_f32}},
	[VB_F64] = {8, {cuda_multimem_add_f64}},
};

/* NULL: there is none, or the address or the size is not of whole values: it has failed. */
static gpu_combine *find_combine(struct vb_launch *launch, uint64_t address, size_t bytes,
				 enum vb_type type, enum vb_op op)
{
	const bool is_known = type <= VB_F64 && op <= VB_XOR;
	const struct combine *of = is_known ? &combines[type] : NULL;

	if (of && of->with[op] && address % of->bytes == 0 && bytes % of->bytes == 0)
		return of->with[op];
	vb_kernel_trap(launch);
	return NULL;
}

CUDA_PUBLIC int vb_kernel_multimem_reduce(struct vb_launch *launch, void *to, uint64_t from,
					  size_t bytes, enum vb_type type, enum vb_op op)
{
	gpu_combine *combine = find_combine(launch, from, bytes, type, op);

	if (combine && gpu_kernel_reduce(cuda_kernel_of(launch), to, from, bytes, combine))
		return 0;
	memset(to, 0, bytes);
	return -1;
}

CUDA_PUBLIC int vb_kernel_multimem_write(struct vb_launch *launch, uint64_t to, const void *from,
					 size_t bytes)
{
	return gpu_kernel_spread(cuda_kernel_of(launch), to, from, bytes) ? 0 : -1;
}

CUDA_PUBLIC int vb_kernel_multimem_red(struct vb_launch *launch, uint64_t to, const void *from,
				       size_t bytes, enum vb_type type, enum vb_op op)
{
	gpu_combine *combine = find_combine(launch, to, bytes, type, op);

	return combine && gpu_kernel_red(cuda_kernel_of(launch), to, from, bytes, combine) ? 0 : -1;
}
