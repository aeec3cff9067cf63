/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_GPU_H
#define MODELS_TASK_GPU_H

#include "transport/verbs/world.h"

struct host;
struct task;

/* Gives back what the driver has of @task, after the run. */
void task_gpu_fini(struct task *task);
/* Memory of the machine whose first adapter @host is, which has GPUs, may have changed: of commands
 * that wait for that. */
void task_gpu_look(struct host *host, ps_t now);

/* For struct vrb_provider: of the GPUs of the machine that the calling program runs on. */
bool task_gpu_is_elsewhere(uint64_t address);
/* For struct vrb_world, locate: memory of the GPUs of the machine, as it was allocated. -EFAULT: it
 * is not, or not all of it. */
bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length,
		     uint64_t *ret_address, uint16_t *ret_place, int *ret_errno);

#endif
