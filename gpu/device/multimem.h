/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_MULTIMEM_H
#define GPU_MULTIMEM_H

/* What kernels do with memory of a team, as a multicast address shows it (PTX ISA 9.7.9, multimem):
 * it crosses NVLink once for each of them, and to the GPU, or from it, once for all. Nothing else
 * reaches such an address. For struct gpu_kernel.run(); false as gpu_kernel_read(). */
#include "gpu/device/kernel.h"

/* multimem.ld_reduce: what all members have there, in their order, from @address on. */
bool gpu_kernel_reduce(struct gpu_kernel *kernel, void *to, uint64_t address, uint64_t bytes,
		       gpu_combine *combine);
/* multimem.st: all have it. */
bool gpu_kernel_spread(struct gpu_kernel *kernel, uint64_t address, const void *from,
		       uint64_t bytes);
/* multimem.red: what each has there is combined with it when the step ends, whatever others add
 * meanwhile. */
bool gpu_kernel_red(struct gpu_kernel *kernel, uint64_t address, const void *from, uint64_t bytes,
		    gpu_combine *combine);

#endif
