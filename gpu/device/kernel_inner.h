/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_KERNEL_INNER_H
#define GPU_KERNEL_INNER_H

/* What multimem.c needs of kernel.c. */
#include "gpu/device/kernel.h"

struct gpu_team;

/* It fails, unless it has done so; false. */
bool gpu_kernel_fail(struct gpu_kernel *kernel, enum gpu_kernel_end how);
/* In this step it moves @bytes to all of @team, or reads so many of each. False: no memory. */
bool gpu_kernel_count_team(struct gpu_kernel *kernel, const struct gpu_team *team, uint64_t bytes,
			   bool writes);

#endif
