/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/team.h"

#include "gpu/device/gpu.h"
#include "util/alloc.h"
#include "util/check.h"

#include <errno.h>
#include <string.h>

struct gpu_team *gpu_team_create(uint64_t number, uint64_t bytes, uint32_t size)
{
	struct gpu_team *team = util_calloc(1, sizeof(*team));

	if (!team)
		return NULL;
	*team = (struct gpu_team){.number = number,
				  .bytes = bytes,
				  .size = size,
				  .users = 1,
				  .members = util_calloc(size, sizeof(struct gpu *))};
	if (team->members)
		return team;
	util_free(team);
	return NULL;
}

static void let_go_bound(const struct gpu_binding *binding)
{
	gpu_memory_let_go(&binding->gpu->memory, binding->target, binding->bytes);
}

void gpu_team_put(struct gpu_team *team)
{
	if (!team || --team->users > 0)
		return;
	for (size_t i = 0; i < team->bound_count; i++)
		let_go_bound(&team->bound[i]);
	util_free(team->bound);
	util_free(team->members);
	util_free(team);
}

/* ---- members ---- */

bool gpu_team_has(const struct gpu_team *team, const struct gpu *gpu)
{
	for (uint32_t i = 0; i < team->count; i++)
		if (team->members[i] == gpu)
			return true;
	return false;
}

int gpu_team_add(struct gpu_team *team, struct gpu *gpu)
{
	uint32_t at = team->count;

	if (gpu_team_has(team, gpu))
		return -EEXIST;
	if (gpu_team_is_full(team))
		return -ENOSPC;
	for (; at > 0 && team->members[at - 1]->place > gpu->place; at--)
		team->members[at] = team->members[at - 1];
	team->members[at] = gpu;
	team->count++;
	return 0;
}

/* ---- memory ---- */

static bool is_before(const struct gpu_binding *a, const struct gpu_binding *b)
{
	return a->gpu->place < b->gpu->place || (a->gpu == b->gpu && a->offset < b->offset);
}

static bool overlaps(const struct gpu_binding *a, const struct gpu_binding *b)
{
	return a->gpu == b->gpu && a->offset < b->offset + b->bytes &&
	       b->offset < a->offset + a->bytes;
}

static int grow_bound(struct gpu_team *team)
{
	const size_t room = team->bound_room ? 2 * team->bound_room : 8;
	struct gpu_binding *more;

	if (team->bound_count < team->bound_room)
		return 0;
	more = util_realloc(team->bound, room, sizeof(*more));
	if (!more)
		return -ENOMEM;
	team->bound = more;
	team->bound_room = room;
	return 0;
}

int gpu_team_bind(struct gpu_team *team, const struct gpu_binding *binding)
{
	size_t at = 0;

	CHECK(gpu_team_has(team, binding->gpu));
	if (binding->bytes == 0 || binding->offset > team->bytes ||
	    binding->bytes > team->bytes - binding->offset)
		return -EINVAL;
	for (size_t i = 0; i < team->bound_count; i++) {
		if (overlaps(&team->bound[i], binding))
			return -EINVAL;
		at += is_before(&team->bound[i], binding);
	}
	if (grow_bound(team) != 0 ||
	    gpu_memory_hold(&binding->gpu->memory, binding->target, binding->bytes) != 0)
		return -ENOMEM;
	memmove(team->bound + at + 1, team->bound + at,
		(team->bound_count - at) * sizeof(*team->bound));
	team->bound[at] = *binding;
	team->bound_count++;
	return 0;
}

/* The binding of @gpu that has @offset; NULL: none. */
static struct gpu_binding *find_bound(const struct gpu_team *team, const struct gpu *gpu,
				      uint64_t offset)
{
	for (size_t i = 0; i < team->bound_count; i++)
		if (team->bound[i].gpu == gpu &&
		    offset - team->bound[i].offset < team->bound[i].bytes)
			return &team->bound[i];
	return NULL;
}

/* How much of @gpu's, from @offset on, is bound without a gap. */
static uint64_t bound_from(const struct gpu_team *team, const struct gpu *gpu, uint64_t offset)
{
	const struct gpu_binding *binding = find_bound(team, gpu, offset);
	uint64_t end = offset;

	for (; binding; binding = find_bound(team, gpu, end))
		end = binding->offset + binding->bytes;
	return end - offset;
}

int gpu_team_unbind(struct gpu_team *team, const struct gpu *gpu, uint64_t offset, uint64_t bytes)
{
	const struct gpu_binding *first = find_bound(team, gpu, offset);
	const struct gpu_binding *last = find_bound(team, gpu, offset + bytes - 1);
	size_t count;

	if (bytes == 0 || !first || !last || first > last || first->offset != offset ||
	    last->offset + last->bytes != offset + bytes || bound_from(team, gpu, offset) < bytes)
		return -EINVAL;
	count = (size_t)(last - first) + 1;
	for (size_t i = 0; i < count; i++)
		let_go_bound(&first[i]);
	memmove(team->bound + (first - team->bound), last + 1,
		(size_t)(team->bound + team->bound_count - (last + 1)) * sizeof(*team->bound));
	team->bound_count -= count;
	return 0;
}

bool gpu_team_reaches(const struct gpu_team *team, uint64_t offset, uint64_t bytes)
{
	for (uint32_t i = 0; i < team->count; i++)
		if (bound_from(team, team->members[i], offset) < bytes)
			return false;
	return gpu_team_is_full(team);
}

uint8_t *gpu_team_at(const struct gpu_team *team, uint32_t nth, uint64_t offset, uint64_t *ret_run)
{
	const struct gpu_binding *binding = find_bound(team, team->members[nth], offset);

	CHECK(binding);
	*ret_run = binding->bytes - (offset - binding->offset);
	return gpu_at(binding->gpu, binding->target + (offset - binding->offset));
}
