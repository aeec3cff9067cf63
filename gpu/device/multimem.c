/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/multimem.h"

#include "gpu/device/kernel_inner.h"
#include "gpu/device/team.h"

#include <string.h>

enum { PIECE = 4096 };

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

/* Each member has it when the step ends: instead of what it has there, or combined with that. */
static bool put_to_each(struct gpu_kernel *kernel, uint64_t address, const uint8_t *from,
			uint64_t bytes, gpu_combine *combine)
{
	struct gpu_reach reach;

	if (bytes == 0)
		return kernel->how == GPU_KERNEL_WELL;
	if (!reach_team(kernel, address, bytes, true, &reach))
		return false;
	for (uint32_t nth = 0; nth < reach.team->count; nth++)
		for (uint64_t done = 0, run; done < bytes; done += run) {
			uint8_t *at;
			int ret;

			run = bytes - done;
			at = member_at(&reach, nth, done, &run);
			ret = combine ? gpu_reds_add(&kernel->reds, at, from + done, run, combine)
				      : overlay_write(&kernel->overlay, at, from + done, run);
			if (ret != 0)
				return gpu_kernel_fail(kernel, GPU_KERNEL_TRAPPED);
		}
	return true;
}

bool gpu_kernel_spread(struct gpu_kernel *kernel, uint64_t address, const void *from,
		       uint64_t bytes)
{
	return put_to_each(kernel, address, from, bytes, NULL);
}

bool gpu_kernel_red(struct gpu_kernel *kernel, uint64_t address, const void *from, uint64_t bytes,
		    gpu_combine *combine)
{
	return put_to_each(kernel, address, from, bytes, combine);
}
