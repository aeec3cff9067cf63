/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

/* The devices of programs that run now (transport/nic/board.h), in order of host, device and
 * process. */
#include "transport/nic/board.h"

struct live_device {
	struct nic_board board;
	int pid;
};

struct live {
	struct live_device *devices;
	uint32_t count;
	bool no_memory;
};

/* COMMAND_DONE, or COMMAND_BROKEN with a line on stderr; live_free() in any case. */
int live_read(struct live *ret_live);
void live_free(struct live *live);
/* What a GID looks like in a file of the kernel's; 40 bytes of room. */
void live_gid_text(const uint8_t gid[16], char ret_text[40]);

struct command_options;
/* verbena stat without a run: of @who, a process, a host or an address (NULL: of all). enum
 * command_exit; COMMAND_FAILED: there is none, and nothing was said. */
int live_stat(const struct command_options *options, const char *who);

#endif
