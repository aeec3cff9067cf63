/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_GPU_H
#define MODELS_TASK_GPU_H

#include "transport/verbs/world.h"

/* For struct vrb_provider: of the GPUs of the machine that the calling program runs on. */
bool task_gpu_is_elsewhere(uint64_t address);
/* For struct vrb_world, locate: memory of the GPUs of the machine, as it was allocated. -EFAULT: it
 * is not, or not all of it; -EREMOTEIO: the adapter cannot reach that GPU, as Linux has it of
 * devices whose root complex does not join them (dma_map_sgtable(),
 * Documentation/core-api/dma-api.rst). */
bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length,
		     struct vrb_location *ret_location, int *ret_errno);

#endif
