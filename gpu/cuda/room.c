/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/cuda/internal.h"

/* Room in the memory of a GPU for what is given out of it. */

void cuda_make_room(struct gpu *gpu)
{
	struct gpu_touch touch = {
		.who = gpu->place, .by = GPU_BY_ENGINE, .now = gpu_backend()->now()};

	if (!gpu->managed)
		return;
	gpu_managed_make_room(gpu->managed, &touch);
	if (touch.time > 0)
		gpu_backend()->move(&touch);
}
