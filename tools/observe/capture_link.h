/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CAPTURE_LINK_H
#define TOOLS_CAPTURE_LINK_H

/* Both ends of one link, wherever it is, as one pcapng: an interface for each end, with what that
 * end sends at the start of the frame, PFC frames among it. Between switches, too. */
#include "tools/observe/capture_file.h"
#include "tools/observe/host_index.h"

enum { CAPTURE_LINK_ENDS = 2 };

struct capture_link_end;

struct capture_link {
	struct fabric_watcher watcher;
	struct capture_file file;
	const struct fabric *fabric;
	struct capture_link_end *ends;
	struct host_index hosts;
};

/* As capture_open(). */
int capture_link_open(struct capture_link *capture, const char *path, uint32_t snaplen);
/* Before the run. @link: its own name. -ENOMEM, -EIO, -ENOENT: there is no such link. */
int capture_link_attach(struct capture_link *capture, struct fabric *fabric, const char *link);
/* As capture_close(). */
int capture_link_close(struct capture_link *capture);

#endif
