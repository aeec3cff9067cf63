/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/multimem.h"

#include "gpu/device/kernel_inner.h"
#include "gpu/device/team.h"
#include "util/alloc.h"

#include <string.h>

enum { PIECE = 4096 };

/* What one member's memory gets when the step ends. */
struct gpu_red {
	uint8_t *at;
	gpu_combine *combine;
	uint64_t bytes;
	uint8_t from[];
};

static bool reach_team(struct gpu_kernel *kernel, uint64_t address, uint64_t bytes, bool writes,
		       struct gpu_reach *ret_reach)
{
	if (kernel->how != GPU_KERNEL_WELL)
		return false;
	if (!kernel->find(kernel, address, bytes, ret_reach) || !ret_reach->team)
		return gpu_kernel_fail(kernel, GPU_KERNEL_STRAYED);
	kernel->bytes += bytes;
	return gpu_kernel_count_team(kernel, ret_reach->team, bytes, writes) ||
	       gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
}

/* Where the @nth member has what is @done bytes behind @reach; *bytes: at most so many, and as many
 * as lie in a row there. */
static uint8_t *member_at(const struct gpu_reach *reach, uint32_t nth, uint64_t done,
			  uint64_t *bytes)
{
	uint64_t run;
	uint8_t *at = gpu_team_at(reach->team, nth, reach->offset + done, &run);

	*bytes = run < *bytes ? run : *bytes;
	return at;
}

static void read_member(const struct gpu_kernel *kernel, const struct gpu_reach *reach,
			uint32_t nth, uint64_t from, uint8_t *to, uint64_t bytes)
{
	for (uint64_t done = 0, run; done < bytes; done += run) {
		const uint8_t *at;

		run = bytes - done;
		at = member_at(reach, nth, from + done, &run);
		gpu_note_read(reach->team->members[nth], at, run);
		overlay_read(&kernel->overlay, to + done, at, run);
	}
}

bool gpu_kernel_reduce(struct gpu_kernel *kernel, void *to, uint64_t address, uint64_t bytes,
		       gpu_combine *combine)
{
	struct gpu_reach reach;
	uint8_t *sum = to, other[PIECE];

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	if (!reach_team(kernel, address, bytes, false, &reach)) {
		memset(to, 0, bytes);
		return false;
	}
	for (uint64_t done = 0, piece; done < bytes; done += piece) {
		piece = bytes - done < PIECE ? bytes - done : (uint64_t)PIECE;
		read_member(kernel, &reach, 0, done, sum + done, piece);
		for (uint32_t nth = 1; nth < reach.team->count; nth++) {
			read_member(kernel, &reach, nth, done, other, piece);
			combine(sum + done, other, piece);
		}
	}
	return true;
}

bool gpu_kernel_spread(struct gpu_kernel *kernel, uint64_t address, const void *from,
		       uint64_t bytes)
{
	const uint8_t *source = from;
	struct gpu_reach reach;

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	if (!reach_team(kernel, address, bytes, true, &reach))
		return false;
	for (uint32_t nth = 0; nth < reach.team->count; nth++)
		for (uint64_t done = 0, run; done < bytes; done += run) {
			uint8_t *at;

			run = bytes - done;
			at = member_at(&reach, nth, done, &run);
			if (overlay_write(&kernel->overlay, at, source + done, run) != 0)
				return gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
		}
	return true;
}

/* ---- what is added when the step ends ---- */

static struct gpu_red *add_red(struct gpu_kernel *kernel, uint64_t bytes)
{
	const size_t room = kernel->red_room ? 2 * kernel->red_room : 16;
	struct gpu_red **more, *red;

	if (kernel->red_count == kernel->red_room) {
		more = util_realloc(kernel->reds, room, sizeof(struct gpu_red *));
		if (!more)
			return NULL;
		kernel->reds = more;
		kernel->red_room = room;
	}
	red = util_alloc(sizeof(*red) + bytes);
	if (red)
		kernel->reds[kernel->red_count++] = red;
	return red;
}

bool gpu_kernel_red(struct gpu_kernel *kernel, uint64_t address, const void *from, uint64_t bytes,
		    gpu_combine *combine)
{
	const uint8_t *source = from;
	struct gpu_reach reach;

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	if (!reach_team(kernel, address, bytes, true, &reach))
		return false;
	for (uint32_t nth = 0; nth < reach.team->count; nth++)
		for (uint64_t done = 0, run; done < bytes; done += run) {
			struct gpu_red *red;
			uint8_t *at;

			run = bytes - done;
			at = member_at(&reach, nth, done, &run);
			red = add_red(kernel, run);
			if (!red)
				return gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
			*red = (struct gpu_red){.at = at, .combine = combine, .bytes = run};
			memcpy(red->from, source + done, run);
		}
	return true;
}

void gpu_kernel_apply_reds(struct gpu_kernel *kernel)
{
	for (size_t i = 0; i < kernel->red_count; i++) {
		struct gpu_red *red = kernel->reds[i];

		red->combine(red->at, red->from, red->bytes);
		util_free(red);
	}
	kernel->red_count = 0;
}

void gpu_kernel_free_reds(struct gpu_kernel *kernel)
{
	for (size_t i = 0; i < kernel->red_count; i++)
		util_free(kernel->reds[i]);
	util_free(kernel->reds);
	kernel->reds = NULL;
	kernel->red_count = kernel->red_room = 0;
}
