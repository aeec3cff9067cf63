/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu.h"

#include "gpu/cuda/backend.h"
#include "models/machine/gpus.h"
#include "models/program/task.h"
#include "util/alloc.h"

#include <errno.h>

_Static_assert((int)GPU_MAX >= (int)BUS_PARTS_MAX, "each GPU of a machine has its context");

/* The GPUs of programs in virtual time: those of the machine that they run on. */

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
	return &machine_host()->gpus->gpus[number].gpu;
}

static struct gpu_program *task_gpu_program(void)
{
	struct task *task = task_current();

	if (!task)
		return NULL;
	task = task->process;
	if (!task->gpu)
		task->gpu = util_calloc(1, sizeof(*task->gpu));
	return task->gpu;
}

static void task_gpu_pass(ps_t time)
{
	task_sleep(task_current(), time);
}

struct move {
	struct copy_job copy;
	struct task *task;
	bool is_done;
};

static void on_moved(struct copy_job *copy, ps_t now)
{
	struct move *move = container_of(copy, struct move, copy);

	move->is_done = true;
	task_wake(move->task, now);
}

static void task_gpu_move(struct gpu *gpu, enum gpu_way way, uint64_t bytes)
{
	struct move move = {.copy = {.bytes = bytes, .on_done = on_moved}, .task = task_current()};
	struct host_gpu *own = container_of(gpu, struct host_gpu, gpu);

	host_gpu_copy(machine_host(), own, way, &move.copy);
	while (!move.is_done)
		task_block(move.task);
}

const struct gpu_backend *gpu_backend(void)
{
	static const struct gpu_backend backend = {.program = task_gpu_program,
						   .count = task_gpu_count,
						   .gpu = task_gpu_get,
						   .pass = task_gpu_pass,
						   .move = task_gpu_move};

	return &backend;
}

bool task_gpu_is_elsewhere(uint64_t address)
{
	const struct host *host = machine_host();

	return host && host_gpus_find(host, address);
}

/* As nvidia-peermem has it: pages of one allocation, of which no part may be missing. */
bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length,
		     struct vrb_location *ret_location, int *ret_errno)
{
	const struct task_device *device = container_of(world, struct task_device, world);
	const struct host_gpu *own = host_gpus_find(device->task->host, address);
	const struct bus *bus = device->host->dma->bus;
	const uint32_t nic = device->host->params.bus->nic;
	const struct gpu_allocation *allocation;

	if (!own)
		return false;
	allocation = gpu_memory_find(&own->gpu.memory, address);
	if (!allocation || length > allocation->bytes - (address - allocation->address)) {
		*ret_errno = -EFAULT;
		return false;
	}
	if (!bus_may_write(bus, nic, own->part)) {
		*ret_errno = -EREMOTEIO;
		return false;
	}
	*ret_location = (struct vrb_location){.address = (uintptr_t)gpu_at(&own->gpu, address),
					      .place = own->gpu.place,
					      .is_unreadable = !bus_may_read(bus, nic, own->part)};
	return true;
}
