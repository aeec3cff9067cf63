/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_KERNEL_H
#define CUDA_KERNEL_H

#include "gpu/cuda/internal.h"
#include "gpu/device/kernel.h"

struct cuda_shape {
	unsigned int grid[3], block[3], shared_bytes;
};

struct cuda_kernel {
	struct gpu_kernel kernel;
	struct CUctx_st *context;
	vb_kernel_fn *fn;
	struct vb_launch launch;
	const void *args[CUDA_PARAMS_MAX];
	uint32_t arg_bytes[CUDA_PARAMS_MAX];
	/* Of a function that takes an argument for larger than it is. */
	_Alignas(16) uint8_t values[CUDA_PARAM_BYTES_MAX + 64];
};

/* The one that a function has. */
struct gpu_kernel *cuda_kernel_of(struct vb_launch *launch);
/* How many that are, or UINT32_MAX: that has no meaning for anything here. None of @of is 0. */
uint32_t cuda_product(const unsigned int of[3]);
/* Without values, function and context; NULL: no memory. */
struct cuda_kernel *cuda_kernel_make(const struct CUfunc_st *function,
				     const struct cuda_shape *shape);

#endif
