/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu.h"

#include "gpu/cuda/backend.h"
#include "models/machine/machine.h"
#include "models/program/task.h"
#include "transport/hca/mem.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

_Static_assert((int)GPU_MAX >= (int)BUS_PARTS_MAX, "each GPU of a machine has its context");

/* The GPUs of programs in virtual time: those of the machine that they run on. */

enum { DRIVER_STACK_BYTES = 256 << 10, PINNED_ALIGN = 4096 };

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
};

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

static struct gpu *task_gpu_get(uint32_t number)
{
	return host_gpu(machine_host(), number);
}

/* ---- threads and processes ---- */

static struct task_gpu *own_of(struct task *task)
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
		const struct task_gpu *of_process = own_of(process);

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

static struct gpu_thread *task_gpu_thread(void)
{
	struct task *task = task_current();
	struct task_gpu *own = task ? own_of(task) : NULL;

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

static void task_gpu_block(void)
{
	struct task *task = task_current();

	task->gpu->waits = true;
	task_block(task);
}

/* ---- what is over ---- */

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

static void task_gpu_changed(struct gpu_context *context, ps_t now)
{
	struct host *host = context->gpu->owner;

	for (struct task *task = host->tasks; task; task = task->next)
		if (task->gpu && task->gpu->waits) {
			task->gpu->waits = false;
			task_wake(task, now);
		}
	task_gpu_look(host, now);
}

/* ---- host functions ---- */

static void driver_main(void *arg)
{
	struct process_gpu *process = arg;
	struct task *task = task_current();

	task->gpu->thread.is_driver = true;
	for (;;) {
		struct gpu_command *call = process->calls;

		if (!call) {
			process->driver_waits = true;
			task_block(task);
			continue;
		}
		process->calls = call->next_call;
		task_sleep(task, call->stream->context->gpu->profile->host_call);
		call->function(call->arg);
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
	if (own_of(process->driver))
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

/* ---- host memory ---- */

/* On a page of its own, behind what says where it begins. */
static void *task_gpu_take(size_t bytes)
{
	const struct vrb_provider *provider = vrb_provider();
	const size_t more = PINNED_ALIGN + sizeof(void *);
	uint8_t *raw, *at;

	if (bytes > SIZE_MAX - more)
		return NULL;
	raw = provider->calloc ? provider->calloc(1, bytes + more) : calloc(1, bytes + more);
	if (!raw)
		return NULL;
	at = raw + more - ((uintptr_t)raw + more) % PINNED_ALIGN;
	memcpy(at - sizeof(raw), &raw, sizeof(raw));
	return at;
}

static void task_gpu_give_back(void *bytes)
{
	const struct vrb_provider *provider = vrb_provider();
	void *raw;

	memcpy(&raw, (uint8_t *)bytes - sizeof(raw), sizeof(raw));
	if (provider->free)
		provider->free(raw);
	else
		free(raw);
}

/* msync() answers -ENOMEM where some page of it is not there. */
static bool task_gpu_has_memory(uint64_t address, uint64_t bytes)
{
	const uint64_t start = address & ~((uint64_t)sysconf(_SC_PAGESIZE) - 1);

	return msync((void *)(uintptr_t)start, address + bytes - start, MS_ASYNC) == 0;
}

/* ---- GPUDirect ---- */

static int task_gpu_export_range(struct gpu *gpu, uint64_t address, uint64_t bytes, int *ret_fd)
{
	return task_gpu_export(&task_current()->gpu->process->exports, gpu, address, bytes, ret_fd);
}

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

const struct gpu_backend *gpu_backend(void)
{
	static const struct gpu_backend backend = {.thread = task_gpu_thread,
						   .count = task_gpu_count,
						   .gpu = task_gpu_get,
						   .now = task_gpu_now,
						   .pass = task_gpu_pass,
						   .block = task_gpu_block,
						   .take = task_gpu_take,
						   .give_back = task_gpu_give_back,
						   .has_memory = task_gpu_has_memory,
						   .export_range = task_gpu_export_range,
						   .freed = task_gpu_freed,
						   .collect = task_gpu_collect,
						   .read = task_gpu_read,
						   .changed = task_gpu_changed,
						   .call = task_gpu_call,
						   .expect_call = task_gpu_expect_call};

	return &backend;
}

/* ---- registration ---- */

bool task_gpu_is_elsewhere(uint64_t address)
{
	const struct host *host = machine_host();

	return host && host_gpus_find(host, address);
}

int task_gpu_find_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t *ret_address)
{
	struct task *task = task_current();

	if (!task || !task->process->gpu)
		return -ENOENT;
	return task_gpu_exports_find(task->process->gpu->process->exports, fd, offset, length,
				     ret_address);
}

/* As nvidia-peermem has it: pages of one allocation, of which no part may be missing. What was
 * exported is there for as long as somebody holds it. */
static int take_hold_of(struct gpu *gpu, uint64_t address, uint64_t length, bool exported)
{
	const struct gpu_allocation *allocation = gpu_memory_find(&gpu->memory, address);

	if (!exported &&
	    (!allocation || length > allocation->bytes - (address - allocation->address)))
		return -EFAULT;
	if (gpu_window_take(gpu, address, length) != 0)
		return -ENOMEM;
	if (!exported || gpu_memory_hold(&gpu->memory, address, length) == 0)
		return 0;
	gpu_window_give_back(gpu, address, length);
	return -ENOMEM;
}

bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
		     struct vrb_location *ret_location, int *ret_errno)
{
	const struct task_device *device = container_of(world, struct task_device, world);
	struct gpu *gpu = host_gpus_find(device->task->host, address);
	const struct bus *bus = device->host->dma->bus;
	const uint32_t nic = device->host->params.bus->nic;

	if (!gpu)
		return false;
	*ret_errno = bus_may_write(bus, nic, gpu->part)
			     ? take_hold_of(gpu, address, length, exported)
			     : -EREMOTEIO;
	if (*ret_errno != 0)
		return false;
	*ret_location = (struct vrb_location){.address = (uintptr_t)gpu_at(gpu, address),
					      .place = gpu->place,
					      .is_unreadable = !bus_may_read(bus, nic, gpu->part)};
	return true;
}

void task_gpu_let_go(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
		     uint16_t place)
{
	const struct task_device *device = container_of(world, struct task_device, world);
	struct gpu *gpu = &device->task->host->gpus->gpus[place - 1];

	address = address - (uintptr_t)gpu->bytes + gpu->memory.base;
	gpu_window_give_back(gpu, address, length);
	if (exported)
		gpu_memory_let_go(&gpu->memory, address, length);
}
