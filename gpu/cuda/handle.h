/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CUDA_HANDLE_H
#define CUDA_HANDLE_H

/* Handles of cuMemCreate(), cuMulticastCreate() and what imports them. */
#include "gpu/cuda/internal.h"
#include "gpu/device/team.h"

struct cuda_handle {
	uint64_t number; /* n-th of the program, from 1 */
	struct gpu *gpu; /* whose memory it is, from @target on; NULL: it is of ... */
	struct gpu_team *team;
	uint64_t target, bytes;
	CUmemAllocationProp prop;
	uint32_t users, maps;
	bool is_imported; /* its memory is another handle's as well */
	struct cuda_handle *next;
};

/* Of the calling program; NULL: none. */
struct cuda_handle *cuda_find_handle(CUmemGenericAllocationHandle number);
/* The calling program's from now on. */
void cuda_add_handle(struct cuda_handle *handle);
/* What has no user any more, and is mapped nowhere, goes. */
void cuda_handle_let_go(struct cuda_handle *handle);
/* As cuda_find_handle(), where it is of a team once all devices are in that: until then the caller
 * waits. */
struct cuda_handle *cuda_wait_for_team(CUmemGenericAllocationHandle number);
/* Whether kernels of @gpu may touch what @view shows of a team. */
bool cuda_team_is_open(const struct gpu_view *view, const struct gpu *gpu);

#endif
