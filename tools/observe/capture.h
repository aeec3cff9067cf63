/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CAPTURE_H
#define TOOLS_CAPTURE_H

/* All host ports of a run as one pcapng: what a host sends at the start of the frame, what it
 * receives at its last bit. RoCEv2 packets are whole, with headers and ICRC; PFC frames are there;
 * updates of credits, which no Ethernet has, are not. Records come in order of time, then of host
 * name, whatever the number of threads. Remote addresses of programs are those of their memory and
 * so not the same in every run. */
#include "tools/observe/capture_file.h"

struct capture_host;
struct capture_key;

struct capture {
	struct fabric_watcher watcher;
	struct capture_file file;
	struct capture_host *hosts;
	uint64_t *heard; /* a bit for each host that has records of this window */
	struct capture_key
		*keys; /* of the windows before, in order, and room to sort those of this */
	size_t key_count, key_room;
	size_t held; /* bytes of what they are the keys of */
	uint32_t host_count;
};

/* Begins the file. @snaplen: bytes of a frame that are kept at most, 0: all. COMMAND_DONE or
 * COMMAND_BROKEN, with a line on stderr. */
int capture_open(struct capture *capture, const char *path, uint32_t snaplen);
int capture_attach(struct capture *capture,
		   struct fabric *fabric); /* before the run; -ENOMEM, -EIO */
/* Whole, unless it was never attached or not all could be written: then there is none. Zeroed:
 * allowed. As capture_open(). */
int capture_close(struct capture *capture);

#endif
