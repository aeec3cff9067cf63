/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/gpus.h"

#include "gpu/device/stream.h"
#include "models/machine/machine.h"
#include "models/machine/managed.h"
#include "models/program/space.h"
#include "util/alloc.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

enum { REACH = 1 << 30 };

/* Addresses that nobody may touch, as far as the system lets us have them: where it does not, they
 * are as nobody's as before. What is there already is of another run that has not been given back:
 * nobody else has addresses there. */
static void reserve_addresses(uint64_t base, uint64_t bytes)
{
	void *const wish = (void *)(uintptr_t)base;
	void *const got =
		mmap(wish, bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != MAP_FAILED && got != wish)
		munmap(got, bytes);
}

/* As many addresses as there are to have, of @reach: all, or where there is a limit, or one in a
 * debugger, REACH. The programs' addresses are the same; what would lie behind these is not given
 * out. */
static int map_bytes(struct gpu *gpu, uint64_t reach)
{
	struct gpu_memory *memory = &gpu->memory;
	const int prot = PROT_READ | PROT_WRITE;
	const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
	struct rlimit limit;
	void *got = MAP_FAILED;

	if (memory->reach > reach)
		memory->reach = reach;
	/* Memory is taken page by page, as it is written. */
	if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
		got = mmap(NULL, memory->reach, prot, flags, -1, 0);
	if (got == MAP_FAILED) {
		if (memory->reach > REACH)
			memory->reach = REACH;
		got = mmap(NULL, memory->reach, prot, flags, -1, 0);
	}
	if (got == MAP_FAILED)
		return -ENOMEM;
	gpu->bytes = got;
	reserve_addresses(memory->base, memory->reach);
	return 0;
}

enum { FACT_GPU = 5 }; /* of the digest: behind those of host.c */

/* What a GPU has done is a fact of the run, as what adapters have placed is. */
static void note_command(struct gpu *gpu, const struct gpu_command *command, ps_t now)
{
	struct host *host = gpu->owner;

	sim_digest_add(&host->node, now,
		       (uint64_t)FACT_GPU << 56 | (uint64_t)gpu->place << 40 |
			       (uint64_t)command->work << 32 |
			       (command->stream->number & UINT32_MAX),
		       command->bytes);
}

/* As many addresses for views as the machine has for memory, as far as there are so many. Of a run
 * with more memory than that the last machines have fewer, or none. */
static void make_views(struct host_gpus *gpus, uint64_t base, uint64_t bytes)
{
	const uint64_t offset = base >= SPACE_GPUS ? base - SPACE_GPUS : SPACE_VIEWS_BYTES;

	if (offset >= SPACE_VIEWS_BYTES)
		return;
	if (bytes > SPACE_VIEWS_BYTES - offset)
		bytes = SPACE_VIEWS_BYTES - offset;
	gpu_views_init(&gpus->views, SPACE_VIEWS + offset, bytes);
	reserve_addresses(gpus->views.base, bytes);
}

int host_gpus_create(struct host *host, const struct host_gpu_params *params, uint32_t count,
		     uint64_t base, uint64_t reach)
{
	struct host_gpus *gpus = util_calloc(1, sizeof(*gpus));
	const uint64_t first = base;

	host->gpus = gpus;
	if (!gpus)
		return -ENOMEM;
	gpus->gpus = util_calloc(count, sizeof(*gpus->gpus));
	if (!gpus->gpus)
		return -ENOMEM;
	for (; gpus->count < count; gpus->count++) {
		const struct host_gpu_params *of = &params[gpus->count];
		struct gpu *gpu = &gpus->gpus[gpus->count];

		*gpu = (struct gpu){.profile = of->profile,
				    .place = (uint16_t)(gpus->count + 1),
				    .part = of->part,
				    .views = &gpus->views,
				    .window = of->window,
				    .writes_ordering = of->writes_ordering,
				    .pci_domain = of->pci_domain,
				    .pci_bus = of->pci_bus,
				    .pci_device = of->pci_device,
				    .on_done = note_command,
				    .owner = host};
		gpu_memory_init(&gpu->memory, base, of->bytes);
		if (map_bytes(gpu, reach) != 0) {
			gpus->count++;
			return -ENOMEM;
		}
		base += of->bytes < reach ? of->bytes : reach;
	}
	make_views(gpus, first, base - first);
	return 0;
}

void host_gpus_destroy(struct host *host)
{
	struct host_gpus *gpus = host->gpus;

	if (!gpus)
		return;
	host_managed_destroy(host);
	for (uint32_t i = 0; i < gpus->count; i++) {
		struct gpu *gpu = &gpus->gpus[i];

		if (gpu->bytes) {
			munmap(gpu->bytes, gpu->memory.reach);
			munmap((void *)(uintptr_t)gpu->memory.base, gpu->memory.reach);
		}
		gpu_fini(gpu);
	}
	if (gpus->views.bytes > 0)
		munmap((void *)(uintptr_t)gpus->views.base, gpus->views.bytes);
	gpu_views_fini(&gpus->views);
	util_free(gpus->gpus);
	util_free(gpus);
	host->gpus = NULL;
}

struct gpu *host_gpu(struct host *host, uint32_t number)
{
	struct gpu *gpu = &host->gpus->gpus[number];
	struct machine *machine = host_machine(host);

	if (!gpu->local)
		gpu_join(gpu, host->dma->bus,
			 machine && machine->bus ? &machine->inside : &host->local,
			 host->params.bus->memory);
	return gpu;
}

struct gpu *host_gpus_find(const struct host *host, uint64_t address)
{
	const struct host_gpus *gpus = host->gpus;

	for (uint32_t i = 0; gpus && i < gpus->count; i++)
		if (gpu_memory_has(&gpus->gpus[i].memory, address))
			return &gpus->gpus[i];
	return NULL;
}
