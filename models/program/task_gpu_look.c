/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/program/task.h"
#include "util/alloc.h"

/* What tasks have to know of the driver: when it looks at memory, and its end. */

/* Adapters say when they have placed something. */
static void listen(struct host *host)
{
	const struct machine *machine = host_machine(host);

	host->placement_waiters++;
	for (uint32_t i = 1; machine && i < machine->count; i++)
		machine->nics[i]->placement_waiters++;
}

void task_gpu_look(struct host *host, ps_t now)
{
	uint32_t awaited = 0;

	for (uint32_t i = 0; i < host->gpus->count; i++)
		awaited += host->gpus->gpus[i].values_awaited;
	if (awaited == 0)
		return;
	listen(host);
	for (struct task *task = host->tasks; task; task = task->next) {
		struct gpu_program *program;

		if (task->process != task || !task->gpu)
			continue;
		program = &task->gpu->process->program;
		for (uint32_t i = 0; i < host->gpus->count; i++)
			if (program->contexts[i])
				gpu_context_look(&program->contexts[i]->streams, now);
	}
}

void task_gpu_fini(struct task *task)
{
	struct task_gpu *own = task->gpu;

	if (own && task->process == task) {
		gpu_program_fini(&own->process->program);
		task_gpu_exports_fini(&own->process->exports);
		util_free(own->process);
	}
	util_free(own);
}
