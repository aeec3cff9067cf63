/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/program/task.h"
#include "transport/hca/mem.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

_Static_assert((int)GPU_MAX >= (int)BUS_PARTS_MAX, "each GPU of a machine has its context");

/* The GPUs of programs in virtual time: those of the machine that they run on. */

enum { DRIVER_STACK_BYTES = 256 << 10 };

static struct host *machine_host(void)
{
	const struct task *task = task_current();

	return task ? task->host : NULL;
}

static uint32_t task_gpu_count(void)
{
	const struct host *host = machine_host();

	return host && host->gpus ? host->gpus->count : 0;
}

static bool is_overtaken(const struct gpu *gpu, const uint8_t *at, uint64_t bytes)
{
	struct host *host = gpu->owner;
	const struct machine *machine = host_machine(host);

	for (uint32_t i = 0; machine && machine->overtaken > 0 && i < machine->count; i++)
		if (host_dma_is_overtaken(machine->nics[i]->dma, (uintptr_t)at, bytes))
			return true;
	return !machine && host_dma_is_overtaken(host->dma, (uintptr_t)at, bytes);
}

static struct gpu *task_gpu_get(uint32_t number)
{
	struct gpu *gpu = host_gpu(machine_host(), number);

	gpu->is_overtaken = is_overtaken;
	return gpu;
}

/* ---- threads and processes ---- */

static struct gpu_program *task_gpu_program(const struct gpu_program *program)
{
	struct task *task = machine_host()->tasks;

	for (; task; task = task->next) {
		if (task->process != task || !task->gpu)
			continue;
		if (!program)
			return &task->gpu->process->program;
		if (program == &task->gpu->process->program)
			program = NULL;
	}
	return NULL;
}

static struct gpu_thread *task_gpu_thread(void)
{
	struct task *task = task_current();
	struct task_gpu *own = task ? task_gpu_own(task) : NULL;

	return own ? &own->thread : NULL;
}

/* ---- time ---- */

static ps_t task_gpu_now(void)
{
	return machine_host()->now;
}

static void task_gpu_pass(ps_t time)
{
	task_sleep(task_current(), time);
}

static ps_t task_gpu_interrupt(void)
{
	return machine_host()->params.cost.interrupt;
}

static void task_gpu_block(void)
{
	struct task *task = task_current();

	if (task->debt > 0) {
		task_pay(task);
		return; /* what it waits for may be over */
	}
	task->gpu->waits = true;
	task_block(task);
}

/* ---- what is over ---- */

/* Whoever waits for memory to change looks at it; who waits for a value there is among them. */
static void task_gpu_placed(struct gpu_context *context, ps_t now)
{
	struct host *host = context->gpu->owner;

	if (host->placement_waiters > 0)
		task_on_place(host, now);
}

static void task_gpu_stored(struct gpu_context *context, ps_t now)
{
	task_on_place(context->gpu->owner, now);
}

static void wake_all(struct host *host, ps_t now)
{
	for (struct task *task = host->tasks; task; task = task->next)
		if (task->gpu && task->gpu->waits) {
			task->gpu->waits = false;
			task_wake(task, now);
		}
}

static void task_gpu_wake(void)
{
	wake_all(machine_host(), machine_host()->now);
}

static void task_gpu_changed(struct gpu_context *context, ps_t now)
{
	struct host *host = context->gpu->owner;

	task_gpu_go_on(host, now);
	wake_all(host, now);
	if (host->placement_waiters > 0)
		task_on_place(host, now);
	else
		task_gpu_look(host, now);
}

static struct gpu *task_gpu_find(const struct gpu *beside, uint64_t address)
{
	return host_gpus_find(beside->owner, address);
}

/* ---- host functions ---- */

static void driver_main(void *arg)
{
	struct process_gpu *process = arg;
	struct task *task = task_current();
	bool has_slept = true;

	task->gpu->thread.is_driver = true;
	for (;;) {
		struct gpu_command *call = process->calls;
		const struct gpu_profile *profile;

		if (!call) {
			process->driver_waits = has_slept = true;
			task_block(task);
			continue;
		}
		process->calls = call->next_call;
		profile = call->stream->context->gpu->profile;
		task_sleep(task, has_slept ? profile->host_call : profile->host_call_next);
		has_slept = false;
		if (call->stream->context->how == GPU_KERNEL_WELL)
			call->function(call->arg);
		task_pay(task); /* of managed memory that it touched */
		gpu_command_end(call, task->host->now);
	}
}

static int task_gpu_expect_call(void)
{
	struct task *task = task_current()->process;
	struct process_gpu *process = task->gpu->process;
	const size_t bytes = strlen(task->name) + sizeof("/cuda");
	char *name;
	int ret;

	if (process->driver)
		return 0;
	name = util_alloc(bytes);
	if (!name)
		return -ENOMEM;
	memcpy(name, task->name, bytes - sizeof("/cuda"));
	memcpy(name + bytes - sizeof("/cuda"), "/cuda", sizeof("/cuda"));
	ret = task_spawn_thread(task, name, driver_main, process, NULL, DRIVER_STACK_BYTES,
				&process->driver);
	util_free(name);
	if (ret != 0)
		return -ENOMEM;
	process->driver->is_service = true;
	if (task_gpu_own(process->driver))
		return 0;
	task_end(process->driver);
	process->driver = NULL;
	return -ENOMEM;
}

static void task_gpu_call(struct gpu_context *context, struct gpu_command *command, ps_t now)
{
	const struct CUctx_st *own = container_of(context, struct CUctx_st, streams);
	struct process_gpu *process = container_of(own->program, struct process_gpu, program);

	command->next_call = NULL;
	*(process->calls ? &process->last_call->next_call : &process->calls) = command;
	process->last_call = command;
	if (!process->driver_waits)
		return;
	process->driver_waits = false;
	task_wake(process->driver, now);
}

/* ---- GPUDirect ---- */

static int task_gpu_export_range(struct gpu *gpu, uint64_t address, uint64_t bytes, int *ret_fd)
{
	const struct gpu_shared shared = {.gpu = gpu, .address = address, .bytes = bytes};

	return task_gpu_export(&task_current()->gpu->process->exports, &shared, true, ret_fd);
}

/* ---- for other programs ---- */

static int task_gpu_share(const struct gpu_shared *shared, int *ret_fd)
{
	return task_gpu_export(&task_current()->gpu->process->exports, shared, false, ret_fd);
}

/* Of any program of the machine. */
static bool task_gpu_find_shared(int fd, struct gpu_shared *ret_shared)
{
	const struct task *task = machine_host()->tasks;

	for (; task; task = task->next)
		if (task->process == task && task->gpu &&
		    task_gpu_exports_find_shared(task->gpu->process->exports, fd, ret_shared))
			return true;
	return false;
}

/* ---- what is given back ---- */

/* Of all programs of the machine. */
static void task_gpu_collect(struct gpu *gpu)
{
	const struct host *host = gpu->owner;

	for (struct task *task = host->tasks; task; task = task->next)
		if (task->process == task && task->gpu)
			task_gpu_exports_collect(&task->gpu->process->exports);
}

/* As nvidia-peermem has it: the pages of a region are given back under it. */
static void task_gpu_freed(struct gpu *gpu, uint64_t address, uint64_t bytes)
{
	const struct task *process = task_current()->process;

	for (uint32_t i = 0; i < process->device_count; i++)
		hca_mr_revoke(process->devices[i].host->hca, (uintptr_t)gpu_at(gpu, address),
			      bytes);
}

struct word_read {
	struct bus_burst burst;
	struct task *task;
	bool is_over;
};

static void on_read(struct bus_burst *burst, void *context, ps_t now)
{
	struct word_read *word = container_of(burst, struct word_read, burst);

	(void)context;
	word->is_over = true;
	task_wake(word->task, now);
}

static const struct bus_burst_ops word_ops = {.arrived = on_read};

static void task_gpu_read(struct gpu *gpu)
{
	struct word_read word = {.burst = {.ops = &word_ops, .bytes = 4}, .task = task_current()};

	bus_read(gpu->bus, &word.burst, gpu->host_part, gpu->part, machine_host()->now);
	while (!word.is_over)
		task_block(word.task);
}

struct mapped_access {
	struct mapping_access access;
	struct task *task;
	bool is_over;
};

static void on_accessed(struct mapping_access *access, ps_t now)
{
	struct mapped_access *mapped = container_of(access, struct mapped_access, access);

	mapped->is_over = true;
	task_wake(mapped->task, now);
}

/* What the CPU has done before takes its time first. */
static bool task_gpu_access(struct gpu *gpu, struct mapping_access *access)
{
	struct mapped_access mapped = {.access = *access, .task = task_current()};

	if (mapped.task->debt > 0)
		task_pay(mapped.task);
	mapped.access.on_over = on_accessed;
	if (!gpu_access(gpu, &mapped.access, machine_host()->now))
		return false;
	while (!mapped.is_over)
		task_block(mapped.task);
	return true;
}

const struct gpu_backend *gpu_backend(void)
{
	static const struct gpu_backend backend = {.thread = task_gpu_thread,
						   .count = task_gpu_count,
						   .gpu = task_gpu_get,
						   .program = task_gpu_program,
						   .now = task_gpu_now,
						   .pass = task_gpu_pass,
						   .interrupt = task_gpu_interrupt,
						   .block = task_gpu_block,
						   .wake = task_gpu_wake,
						   .take = task_gpu_take,
						   .give_back = task_gpu_give_back,
						   .has_memory = task_gpu_has_memory,
						   .export_range = task_gpu_export_range,
						   .share = task_gpu_share,
						   .find_shared = task_gpu_find_shared,
						   .freed = task_gpu_freed,
						   .managed = task_gpu_managed,
						   .move = task_gpu_move,
						   .collect = task_gpu_collect,
						   .read = task_gpu_read,
						   .access = task_gpu_access,
						   .changed = task_gpu_changed,
						   .call = task_gpu_call,
						   .stored = task_gpu_stored,
						   .placed = task_gpu_placed,
						   .find = task_gpu_find,
						   .say = task_gpu_say,
						   .expect_call = task_gpu_expect_call};

	return &backend;
}
