/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_PROGRAM_TURN_H
#define MODELS_PROGRAM_TURN_H

/* The turn of a task: from one wait to the next, and when the next one is. What is above it says
 * what a task waits for (task.h, rendezvous.h, task_world.h). */
#include "models/program/task.h"

/* What runs on the task's own stack: the whole program. @arg: the struct task. */
void task_turn_main(void *arg);
/* The task's event fires: it goes on until its next wait. */
void task_turn(struct sim_local_event *event, void *context);
/* Gives the host back to the simulation until task->event fires. From inside the task. */
void task_pause(struct task *task);
/* It is not to go on. */
void task_cancel(struct task *task);

#endif
