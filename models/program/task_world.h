/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_WORLD_H
#define MODELS_TASK_WORLD_H

/* The world of a task: what libibverbs' calls do to virtual time. */
struct task;

/* The devices of the task, those of its machine. -ENOMEM. */
int task_world_init(struct task *task);
void task_world_fini(struct task *task);

#endif
