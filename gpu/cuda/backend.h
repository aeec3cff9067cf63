/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_BACKEND_H
#define CUDA_BACKEND_H

/* What stands behind the functions of the CUDA driver API, which exist once, in this folder: the
 * GPUs that the calling program has, and how time passes for it. */
#include "gpu/device/gpu.h"

enum { GPU_MAX = 256 }; /* of a machine: as many as it has parts */

/* What the driver knows of one program (a process). */
struct CUctx_st {
	uint32_t users; /* of the primary context; 0: there is none */
};
struct gpu_program {
	bool is_initialised;
	struct CUctx_st contexts[GPU_MAX]; /* primary ones, by device */
	struct CUctx_st *current;	   /* NULL: none */
};

/* To and from the memory of a GPU by its copy engines, and to it by the CPU. */
enum gpu_way { GPU_TO_DEVICE, GPU_FROM_DEVICE, GPU_PUSHED };

struct gpu_backend {
	/* Of the calling program, all three; outside of programs there are none, and NULL. */
	struct gpu_program *(*program)(void);
	uint32_t (*count)(void);
	struct gpu *(*gpu)(uint32_t number);
	/* So much time passes. */
	void (*pass)(ps_t time);
	/* @bytes move between a GPU and the program's memory, and are there when this returns. */
	void (*move)(struct gpu *gpu, enum gpu_way way, uint64_t bytes);
};

/* Defined once by each final artefact. */
const struct gpu_backend *gpu_backend(void);

#endif
