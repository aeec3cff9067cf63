/* SPDX-License-Identifier: BSD-2-Clause */
#include "gpu/device/red.h"

#include "util/alloc.h"

#include <errno.h>
#include <string.h>

struct gpu_red {
	uint8_t *at;
	gpu_combine *combine;
	uint64_t bytes;
	uint8_t from[];
};

static int grow_reds(struct gpu_reds *reds)
{
	const size_t room = reds->room ? 2 * reds->room : 16;
	struct gpu_red **more;

	if (reds->count < reds->room)
		return 0;
	more = util_realloc(reds->all, room, sizeof(struct gpu_red *));
	if (!more)
		return -ENOMEM;
	reds->all = more;
	reds->room = room;
	return 0;
}

int gpu_reds_add(struct gpu_reds *reds, uint8_t *at, const void *from, uint64_t bytes,
		 gpu_combine *combine)
{
	struct gpu_red *red;

	if (grow_reds(reds) != 0)
		return -ENOMEM;
	red = util_alloc(sizeof(*red) + bytes);
	if (!red)
		return -ENOMEM;
	*red = (struct gpu_red){.at = at, .combine = combine, .bytes = bytes};
	memcpy(red->from, from, bytes);
	reds->all[reds->count++] = red;
	return 0;
}

void gpu_reds_apply(struct gpu_reds *reds)
{
	for (size_t i = 0; i < reds->count; i++) {
		struct gpu_red *red = reds->all[i];

		red->combine(red->at, red->from, red->bytes);
		util_free(red);
	}
	reds->count = 0;
}

void gpu_reds_fini(struct gpu_reds *reds)
{
	for (size_t i = 0; i < reds->count; i++)
		util_free(reds->all[i]);
	util_free(reds->all);
	*reds = (struct gpu_reds){.count = 0};
}
