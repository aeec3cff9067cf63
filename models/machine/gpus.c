/* SPDX-License-Identifier: BSD-2-Clause */
#include "models/machine/gpus.h"

#include "models/machine/host.h"
#include "util/alloc.h"

#include <errno.h>
#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0
#endif

/* Addresses that nobody may touch, as far as the system lets us have them: where it does not, they
 * are as nobody's as before. -ENOMEM: something is there. */
static int reserve_addresses(uint64_t base, uint64_t bytes)
{
	void *const wish = (void *)(uintptr_t)base;
	void *const got =
		mmap(wish, bytes, PROT_NONE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got == MAP_FAILED)
		return errno == EEXIST ? -ENOMEM : 0;
	if (got == wish)
		return 0;
	munmap(got, bytes);
	return 0;
}

/* Memory is taken page by page, as it is written. */
static int map_bytes(struct gpu *gpu)
{
	void *const got = mmap(NULL, gpu->memory.bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (got == MAP_FAILED)
		return -ENOMEM;
	gpu->bytes = got;
	return reserve_addresses(gpu->memory.base, gpu->memory.bytes);
}

int host_gpus_create(struct host *host, const struct host_gpu_params *params, uint32_t count,
		     uint64_t base)
{
	struct host_gpus *gpus = util_calloc(1, sizeof(*gpus));

	host->gpus = gpus;
	if (!gpus)
		return -ENOMEM;
	gpus->gpus = util_calloc(count, sizeof(*gpus->gpus));
	if (!gpus->gpus)
		return -ENOMEM;
	for (; gpus->count < count; gpus->count++) {
		const struct host_gpu_params *of = &params[gpus->count];
		struct host_gpu *own = &gpus->gpus[gpus->count];

		own->part = of->part;
		own->gpu = (struct gpu){.profile = of->profile,
					.place = (uint16_t)(gpus->count + 1),
					.pci_domain = of->pci_domain,
					.pci_bus = of->pci_bus,
					.pci_device = of->pci_device};
		gpu_memory_init(&own->gpu.memory, base, of->bytes);
		if (map_bytes(&own->gpu) != 0) {
			gpus->count++;
			return -ENOMEM;
		}
		base += of->bytes;
	}
	return 0;
}

void host_gpus_destroy(struct host *host)
{
	struct host_gpus *gpus = host->gpus;

	if (!gpus)
		return;
	for (uint32_t i = 0; i < gpus->count; i++) {
		struct gpu *gpu = &gpus->gpus[i].gpu;

		if (gpu->bytes) {
			munmap(gpu->bytes, gpu->memory.bytes);
			munmap((void *)(uintptr_t)gpu->memory.base, gpu->memory.bytes);
		}
		gpu_memory_fini(&gpu->memory);
	}
	util_free(gpus->gpus);
	util_free(gpus);
	host->gpus = NULL;
}

const struct host_gpu *host_gpus_find(const struct host *host, uint64_t address)
{
	const struct host_gpus *gpus = host->gpus;

	for (uint32_t i = 0; gpus && i < gpus->count; i++)
		if (gpu_memory_has(&gpus->gpus[i].gpu.memory, address))
			return &gpus->gpus[i];
	return NULL;
}

void host_gpu_copy(struct host *host, struct host_gpu *gpu, enum gpu_way way, struct copy_job *copy)
{
	const uint32_t memory = host->params.bus->memory;
	struct bus *bus = host->dma->bus;

	if (!gpu->has_engines) {
		gpu->has_engines = true;
		copy_engine_init(&gpu->to, bus, gpu->part, memory, true);
		copy_engine_init(&gpu->from, bus, gpu->part, memory, false);
		copy_engine_init(&gpu->pushed, bus, memory, gpu->part, false);
	}
	copy_engine_take(way == GPU_TO_DEVICE	  ? &gpu->to
			 : way == GPU_FROM_DEVICE ? &gpu->from
						  : &gpu->pushed,
			 copy, host->now);
}
