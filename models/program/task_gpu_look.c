/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/program/task.h"
#include "util/alloc.h"

/* What tasks have to know of the driver: what it has of each, when it looks at memory, and its end.
 */

struct task_gpu *task_gpu_own(struct task *task)
{
	struct task_gpu *own = task->gpu;
	struct task *process = task->process;

	if (own)
		return own;
	own = util_calloc(1, sizeof(*own));
	if (!own)
		return NULL;
	if (process == task) {
		own->process = util_calloc(1, sizeof(*own->process));
	} else {
		const struct task_gpu *of_process = task_gpu_own(process);

		own->process = of_process ? of_process->process : NULL;
	}
	if (!own->process) {
		util_free(own);
		return NULL;
	}
	own->thread.program = &own->process->program;
	task->gpu = own;
	return own;
}

/* Adapters say when they have placed something. */
static void listen(struct host *host)
{
	const struct machine *machine = host_machine(host);

	host->placement_waiters++;
	for (uint32_t i = 1; machine && i < machine->count; i++)
		machine->nics[i]->placement_waiters++;
}

/* One context's marks, awaited by streams of another. */
static bool go_on(struct task *task, ps_t now)
{
	const struct gpu_program *program = &task->gpu->process->program;
	bool went = false;

	for (struct CUctx_st *context = gpu_program_next(program, NULL); context;
	     context = gpu_program_next(program, context))
		went |= gpu_context_go_on(&context->streams, now);
	return went;
}

void task_gpu_go_on(struct host *host, ps_t now)
{
	uint32_t awaited = 0;
	bool went = true;

	for (uint32_t i = 0; i < host->gpus->count; i++)
		awaited += host->gpus->gpus[i].marks_awaited;
	while (awaited > 0 && went) {
		went = false;
		for (struct task *task = host->tasks; task; task = task->next)
			if (task->process == task && task->gpu)
				went |= go_on(task, now);
	}
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
		for (struct CUctx_st *context = gpu_program_next(program, NULL); context;
		     context = gpu_program_next(program, context))
			gpu_context_look(&context->streams, now);
	}
}

void task_gpu_end(struct task *task)
{
	struct process_gpu *process = task->gpu->process;

	if (process->program.is_initialised)
		gpu_program_end();
	task_gpu_exports_end(&process->exports);
}

void task_gpu_fini(struct task *task)
{
	struct task_gpu *own = task->gpu;

	if (own && task->process == task) {
		gpu_program_fini(&own->process->program);
		task_gpu_exports_fini(&own->process->exports);
		util_free(own->process);
	}
	if (own)
		gpu_migration_fini(&own->migration);
	util_free(own);
}
