/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/program/task_gpu_state.h"

#include "models/machine/machine.h"
#include "models/machine/managed.h"
#include "models/program/task.h"
#include "transport/verbs/mapped.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Memory, as the driver and adapters have it: of the program, given out and pinned; and of GPUs, as
 * far as it can be registered. */

enum { PINNED_ALIGN = 4096 };

/* On a page of its own, behind what says where it begins. */
void *task_gpu_take(size_t bytes)
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

void task_gpu_give_back(void *bytes)
{
	const struct vrb_provider *provider = vrb_provider();
	void *raw;

	memcpy(&raw, (uint8_t *)bytes - sizeof(raw), sizeof(raw));
	if (provider->free)
		provider->free(raw);
	else
		free(raw);
}

bool task_gpu_has_memory(uint64_t address, uint64_t bytes, bool writes)
{
	return vrb_mapped_check(address, bytes, writes) == 0;
}

/* ---- what is registered ---- */

static bool is_managed(const struct host *host, uint64_t address)
{
	const struct gpu_managed *managed = host_managed_find(host);

	return managed && gpu_memory_has(&managed->memory, address);
}

bool task_gpu_is_elsewhere(uint64_t address)
{
	const struct task *task = task_current();

	return task && task->host->gpus &&
	       (host_gpus_find(task->host, address) || is_managed(task->host, address) ||
		gpu_views_find(&task->host->gpus->views, address));
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
static int take_hold_of(struct gpu *gpu, uint64_t address, uint64_t length, bool exported,
			bool is_mapped, const struct gpu_program *program)
{
	const struct gpu_allocation *allocation = gpu_memory_find(&gpu->memory, address);
	const struct CUctx_st *owner = allocation ? allocation->owner : NULL;

	/* Of what is mapped it is known already. */
	if (!exported && !is_mapped &&
	    (!owner || owner->program != program ||
	     length > allocation->bytes - (address - allocation->address)))
		return -EFAULT;
	if (gpu_window_take(gpu, address, length) != 0)
		return -ENOMEM;
	if (!exported || gpu_memory_hold(&gpu->memory, address, length) == 0)
		return 0;
	gpu_window_give_back(gpu, address, length);
	return -ENOMEM;
}

/* Memory that was mapped, so that it can be registered: its address in its GPU. */
static struct gpu *find_mapped(const struct host *host, const struct gpu_program *program,
			       uint64_t *address, uint64_t length)
{
	const struct gpu_views *views = host->gpus ? &host->gpus->views : NULL;
	const struct gpu_view *view =
		gpu_views_have(views, *address) ? gpu_views_find(views, *address) : NULL;
	struct gpu *gpu;

	if (!view || view->owner != program || view->kind != GPU_VIEW_MAPPED || !view->is_rdma ||
	    !gpu_views_resolve(views, *address, length, &gpu, address))
		return NULL;
	return gpu;
}

bool task_gpu_locate(struct vrb_world *world, uint64_t address, uint64_t length, bool exported,
		     struct vrb_location *ret_location, int *ret_errno)
{
	const struct task_device *device = container_of(world, struct task_device, world);
	struct gpu *gpu = host_gpus_find(device->task->host, address);
	const struct bus *bus = device->host->dma->bus;
	const uint32_t nic = device->host->params.bus->nic;
	const struct task_gpu *own = device->task->process->gpu;
	const struct gpu_program *program = own ? &own->process->program : NULL;
	bool is_mapped = false;

	if (!gpu) {
		gpu = find_mapped(device->task->host, program, &address, length);
		is_mapped = gpu;
	}
	/* No adapter reaches managed memory, which may be elsewhere in an instant. */
	if (is_managed(device->task->host, address) ||
	    (!gpu && device->task->host->gpus &&
	     gpu_views_have(&device->task->host->gpus->views, address)))
		*ret_errno = -EFAULT;
	if (!gpu)
		return false;
	*ret_errno = bus_may_write(bus, nic, gpu->part)
			     ? take_hold_of(gpu, address, length, exported, is_mapped, program)
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
