/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_TASK_GPU_H
#define MODELS_TASK_GPU_H

#include "transport/verbs/world.h"

struct host;
struct task;

/* The process @task, of which the driver has something, is over. From inside it; it may wait. */
void task_gpu_end(struct task *task);
/* Gives back what the driver has of @task, after the run. */
void task_gpu_fini(struct task *task);
/* Memory of the machine whose first adapter @host is, which has GPUs, may have changed: of commands
 * that wait for that. */
void task_gpu_look(struct host *host, ps_t now);

/* ---- what a process has exported (NULL: nothing), by task_gpu_export.c ---- */

struct gpu_shared;
struct task_gpu_export;

/* A dma-buf of @shared, or a descriptor for other programs, which is held until the last copy of
 * *ret_fd is closed and somebody has collected it; -ENODEV: the system has no /proc; or another
 * negative errno. */
int task_gpu_export(struct task_gpu_export **exports, const struct gpu_shared *shared,
		    bool is_dmabuf, int *ret_fd);
void task_gpu_exports_collect(struct task_gpu_export **exports);
/* Their process is over: nobody else has its dma-bufs but who registered them, and holds them. */
void task_gpu_exports_end(struct task_gpu_export **exports);
void task_gpu_exports_fini(struct task_gpu_export **exports);
/* What @fd was made of for other programs; false: nothing of @exports. */
bool task_gpu_exports_find_shared(const struct task_gpu_export *exports, int fd,
				  struct gpu_shared *ret_shared);
/* As struct vrb_provider, find_dmabuf. */
int task_gpu_exports_find(const struct task_gpu_export *exports, int fd, uint64_t offset,
			  uint64_t length, uint64_t *ret_address);

/* ---- the driver ---- */

/* For struct vrb_provider: of the GPUs of the machine that the calling program runs on. */
bool task_gpu_is_elsewhere(uint64_t address);
int task_gpu_find_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t *ret_address);
/* For struct vrb_world, locate and let_go: memory of the GPUs of the machine, as it was allocated
 * or exported. -EFAULT: it is not, or not all of it; -ENOMEM: a GPU's window has no room for it;
 * -EREMOTEIO: what lies between lets the adapter not write there. */
bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
		     struct vrb_location *ret_location, int *ret_errno);
void task_gpu_let_go(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
		     uint16_t place);

#endif
