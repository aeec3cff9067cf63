/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPU_TEAM_H
#define GPU_TEAM_H

/* A multicast object of the CUDA driver API: GPUs of a machine, and at each offset memory of each
 * of them, which kernels reach all at once through NVSwitches (gpu/bus/multicast.h). Books only.
 * One caller at a time. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gpu;

/* Memory of @gpu that shows from @offset on. It stays taken as long as it is bound. */
struct gpu_binding {
	struct gpu *gpu;
	uint64_t offset, bytes;
	uint64_t target; /* an address of @gpu's memory */
};

struct gpu_team {
	uint64_t number; /* n-th of the machine, from 1 */
	uint64_t bytes;
	uint32_t size, count;	   /* how many it is to have, and has */
	uint32_t handle_types;	   /* CUmemAllocationHandleType, that it may be shared with */
	uint32_t users;		   /* handles, descriptors and what maps it */
	struct gpu **members;	   /* in the order of the machine */
	struct gpu_binding *bound; /* in order of the offsets of each GPU, and these as members */
	size_t bound_count, bound_room;
};

/* With one user and nobody in it; NULL: no memory. @size, @bytes: > 0. */
struct gpu_team *gpu_team_create(uint64_t number, uint64_t bytes, uint32_t size);
/* One user less: with the last it goes, and all that was bound is let go. NULL allowed. */
void gpu_team_put(struct gpu_team *team);

static inline bool gpu_team_is_full(const struct gpu_team *team)
{
	return team->count == team->size;
}
bool gpu_team_has(const struct gpu_team *team, const struct gpu *gpu);
/* -EEXIST: it is there; -ENOSPC: the team is full. */
int gpu_team_add(struct gpu_team *team, struct gpu *gpu);

/* -EINVAL: not within the team, or something is bound there; -ENOMEM. The GPU is a member. */
int gpu_team_bind(struct gpu_team *team, const struct gpu_binding *binding);
/* What is bound of @gpu in [@offset, @offset + @bytes), which is whole bindings. -EINVAL: it is
 * not, and nothing is done. */
int gpu_team_unbind(struct gpu_team *team, const struct gpu *gpu, uint64_t offset, uint64_t bytes);

/* Whether each of all members has memory in all of [@offset, @offset + @bytes). */
bool gpu_team_reaches(const struct gpu_team *team, uint64_t offset, uint64_t bytes);
/* Where the emulator reaches what the @nth member has at @offset, and how many bytes of it lie in a
 * row. There is some. */
uint8_t *gpu_team_at(const struct gpu_team *team, uint32_t nth, uint64_t offset, uint64_t *ret_run);

#endif
