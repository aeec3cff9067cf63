/* SPDX-License-Identifier: BSD-2-Clause */
#include "tools/live/live.h"

#include "tools/command.h"

#include <stdlib.h>
#include <string.h>

static void live_take(void *owner, const struct nic_board *board, int pid)
{
	struct live *live = owner;
	struct live_device *devices =
		realloc(live->devices, (live->count + 1) * sizeof(*live->devices));

	if (!devices) {
		live->no_memory = true;
		return;
	}
	live->devices = devices;
	devices[live->count++] = (struct live_device){.board = *board, .pid = pid};
}

static int by_place(const void *a, const void *b)
{
	const struct live_device *one = a, *two = b;
	int ret = strcmp(one->board.host, two->board.host);

	if (ret == 0)
		ret = strcmp(one->board.device, two->board.device);
	return ret ? ret : one->pid - two->pid;
}

int live_read(struct live *ret_live)
{
	int ret;

	*ret_live = (struct live){.count = 0};
	ret = command_need_proc("list of devices");
	if (ret != COMMAND_DONE)
		return ret;
	ret = nic_board_each(live_take, ret_live);
	if (ret == 0 && !ret_live->no_memory) {
		if (ret_live->count > 0)
			qsort(ret_live->devices, ret_live->count, sizeof(*ret_live->devices),
			      by_place);
		return COMMAND_DONE;
	}
	command_say("/proc: %s", ret_live->no_memory ? "no memory" : strerror(-ret));
	return COMMAND_BROKEN;
}

void live_free(struct live *live)
{
	free(live->devices);
	live->devices = NULL;
	live->count = 0;
}

void live_gid_text(const uint8_t gid[16], char ret_text[40])
{
	int at = 0;

	for (int k = 0; k < 16; k += 2)
		at += snprintf(ret_text + at, (size_t)(40 - at), "%s%02x%02x", k > 0 ? ":" : "",
			       gid[k], gid[k + 1]);
}
