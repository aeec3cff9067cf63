/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MODELS_GPUS_H
#define MODELS_GPUS_H

/* The GPUs of a machine, which are its programs' and whose memory its adapters reach. They belong
 * to the machine's first adapter. */
#include "gpu/device/gpu.h"

struct host;

struct host_gpu_params {
	const struct gpu_profile *profile;
	uint64_t bytes;		  /* of its memory: a multiple of GPU_MEMORY_BLOCK */
	uint64_t window;	  /* of its BAR1 */
	uint32_t writes_ordering; /* CUGPUDirectRDMAWritesOrdering */
	uint32_t part;		  /* of the bus */
	uint32_t pci_domain, pci_bus, pci_device;
};

struct gpu_managed;
struct host_gpus {
	uint32_t count;
	struct gpu *gpus;
	struct gpu_managed *managed; /* models/machine/managed.h; NULL: none yet */
	uint64_t managed_base, managed_bytes;
	/* Bytes of it that CPUs have pulled from each GPU, and that take room on the bus when the
	 * program that did so pays for it. */
	uint64_t pulled[GPU_MANAGED_OWNERS];
	struct gpu_views views; /* their addresses lie elsewhere */
};

/* The machine whose first adapter @host is has these from now on; the first's addresses begin at
 * @base, a multiple of GPU_MEMORY_BLOCK, the next one's behind it. None has more than @reach,
 * another multiple: of a larger one the rest is not given out. -ENOMEM: also where so much
 * memory cannot be reserved. */
int host_gpus_create(struct host *host, const struct host_gpu_params *params, uint32_t count,
		     uint64_t base, uint64_t reach);
void host_gpus_destroy(struct host *host);

/* The n-th, on its bus. Not before the run. */
struct gpu *host_gpu(struct host *host, uint32_t number);
/* What [@address, @address + @length) is, for an adapter: NULL: no memory of a GPU. */
struct gpu *host_gpus_find(const struct host *host, uint64_t address);

#endif
