/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_GPU_STATE_H
#define MODELS_TASK_GPU_STATE_H

/* What the files task_gpu*.c share: what the driver has of programs in virtual time. */
#include "gpu/cuda/backend.h"
#include "models/program/task_gpu.h"

/* What the driver has of one process. Host functions run one at a time, in the order in which their
 * turn comes, on a thread of the driver's. */
struct process_gpu {
	struct gpu_program program;
	struct task *driver;
	bool driver_waits;
	struct gpu_command *calls, *last_call;
	struct task_gpu_export *exports;
};

/* Of each thread. */
struct task_gpu {
	struct gpu_thread thread;
	struct process_gpu *process;
	bool waits;
	struct gpu_migration migration; /* of managed memory that it waits for ... */
	struct task *moves;		/* ... until this is NULL */
};
/* NULL: no memory. */
struct task_gpu *task_gpu_own(struct task *task);

/* Something is over on the machine whose first adapter @host is: whoever of its programs waited for
 * that goes on. */
void task_gpu_go_on(struct host *host, ps_t now);

/* On a page of its own, of the program's memory; NULL: there is none. */
void *task_gpu_take(size_t bytes);
void task_gpu_give_back(void *bytes);
bool task_gpu_has_memory(uint64_t address, uint64_t bytes, bool writes);
/* By task_gpu_managed.c: see struct gpu_backend. */
struct gpu_managed *task_gpu_managed(bool makes);
void task_gpu_move(const struct gpu_touch *touch);
void task_gpu_say(const char *line);

#endif
