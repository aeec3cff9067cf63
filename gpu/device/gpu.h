/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_DEVICE_H
#define GPU_DEVICE_H

/* A GPU of a machine: what it is, its memory, and what calls that concern it cost. */
#include "gpu/device/memory.h"
#include "util/units.h"

#include <stdbool.h>

/* What one kind of GPU is. Times are those of calls of the driver API on the CPU that makes them,
 * beside what moves over the bus. */
struct gpu_profile {
	const char *name;
	uint32_t compute_major, compute_minor, multiprocessors, copy_engines;
	uint32_t writes_ordering; /* CUGPUDirectRDMAWritesOrdering */
	uint32_t driver_version;  /* 1000 * major + 10 * minor */
	ps_t init, retain;	  /* of a process */
	ps_t query;		  /* what asks nobody but the driver */
	ps_t alloc, alloc_blocks; /* up to GPU_MEMORY_SMALL, and more */
	ps_t free, free_blocks;
	/* Synchronous copies of pinned memory: up to so many bytes to the GPU are pushed by the CPU
	 * at that rate; what is more, and all from the GPU, waits for a copy engine. */
	uint32_t push_bytes;
	uint64_t push_bps;
	ps_t copy_pushed, copy_to, copy_from; /* beside what moves */
	ps_t copy_within, set;		      /* they return at once */
};

/* An H100 80GB HBM3, driver 580.159.04, as measured; the medians of small sizes. */
extern const struct gpu_profile gpu_h100;

struct gpu {
	const struct gpu_profile *profile;
	struct gpu_memory memory;
	uint8_t *bytes; /* where the emulator reaches the byte at memory.base; not at its address */
	uint16_t place; /* which of the machine's, from 1 */
	uint32_t pci_bus, pci_device, pci_domain;
};

/* Where the emulator reaches @address, which is in its memory. */
static inline uint8_t *gpu_at(const struct gpu *gpu, uint64_t address)
{
	return gpu->bytes + (address - gpu->memory.base);
}

#endif
