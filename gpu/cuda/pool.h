/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_POOL_H
#define CUDA_POOL_H

/* Pools of stream-ordered memory, of the calling program: their books. */
#include "gpu/cuda/backend.h"
#include "include/verbena/cuda.h"

/* Given back, and not yet over. */
struct late_piece {
	uint64_t address, extent;
	const struct gpu_stream *stream;
	uint64_t stream_number, until; /* that one's, and of its last command */
	const struct CUctx_st *context;
	struct late_piece *next;
};

struct pool_chunk {
	uint64_t address, bytes, target;
	struct pool_chunk *next; /* in the order in which they were taken */
};

struct CUmemPoolHandle_st {
	struct gpu *gpu;
	const struct gpu_program *program;
	uint64_t number; /* n-th of the program, from 1 */
	bool is_default, is_doomed;
	uint32_t handle_types;
	uint64_t reuse[3]; /* kept, and without effect */
	uint64_t threshold, most;
	uint64_t reserved, reserved_high, used, used_high;
	struct pool_chunk *chunks;
	struct late_piece *late;
	struct CUmemPoolHandle_st *next;
};

/* NULL: no memory. */
struct CUmemPoolHandle_st *cuda_pool_make(struct gpu *gpu);
struct CUmemPoolHandle_st *cuda_pool_default(struct gpu *gpu);
struct CUmemPoolHandle_st *cuda_pool_current(struct gpu *gpu);
/* @bytes > 0, for @stream, after the time that it takes. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult cuda_pool_take(CUdeviceptr *ret_address, size_t bytes, struct CUmemPoolHandle_st *pool,
			const struct gpu_stream *stream);
/* Chunks that nobody uses go, as long as @pool has @keep left: how long that takes. */
ps_t cuda_pool_trim(struct CUmemPoolHandle_st *pool, uint64_t keep);
/* A pool that was destroyed goes with the last of its memory: how long that takes. */
ps_t cuda_pools_end(void);

#endif
